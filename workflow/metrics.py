"""From records to numbers: verified runs of a paper, and metrics as arrays over evaluations (lower is better).

A record counts only if it exists, verifies, and was made by the current code, parameters and data: its digest is
compared with the plan's, so that a stale or foreign file is refused even when Snakemake's memory is lost.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from workflow import fetch, record
from workflow.digest import with_data
from workflow.plan import Cell, Paper, PlanError, Study
from workflow.prepared import DataUnavailable, prepared_path, substitutes_allowed
from workflow.record import Record
from workflow.selection import companions
from workflow.simulators import built, version_sha256

Array = NDArray[np.float64]
Run = Cell | Study
SHOWN = 12  # refused records that a message names
GRID = 400  # points of a drawn curve
OPTIMAL = 1e-12  # a value this close to the optimum is the optimum
KEPT = 1 << 25  # bytes of records, and as many of metrics, that a report has at hand
HEADER = 1 << 14  # bytes of a record beside its columns, about
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BadRecords(record.BadRecord):
    """Every record that a report refused: what was expected, found, and what to do."""


class NotRun(LookupError):
    """A partial report asked for a run of which no record exists."""


@dataclass(frozen=True)
class Metric:
    """One number per evaluation of a record; a single number where only the end of a run has one."""

    label: str
    unit: str
    of: Callable[[Record], Array]
    over: str = "evaluations"
    index: str = "t"

    @property
    def axis(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


def cumulative_regret(found: Record) -> Array:
    """Sum over the evaluations so far of the optimum minus the true value."""
    return np.cumsum(found.header["best"] - found.columns["true"])


def simple_regret(found: Record) -> Array:
    """The optimum minus the best true value evaluated so far."""
    return found.header["best"] - np.maximum.accumulate(found.columns["true"])


def mean_regret(found: Record) -> Array:
    """Mean regret of the evaluations so far after the initial design: what one of them drawn uniformly is expected to cost."""
    regret, later = found.header["best"] - found.columns["true"], found.columns["batch"] > 0
    with np.errstate(invalid="ignore"):
        return np.cumsum(regret * later) / np.cumsum(later)  # NaN within the design


def final_regret(found: Record) -> Array:
    """Mean regret of the last tenth of the evaluations: what the arm that a run has settled on costs a step."""
    last = max(1, found.rows // 10)
    return np.array([found.header["best"] - found.columns["true"][-last:].mean()])


def recommendation_regret(found: Record) -> Array:
    """The optimum minus the true value of what the optimizer would return at its end."""
    return np.array([found.header["best"] - found.header["recommendation"]["true"]])


def stuck(found: Record) -> Array:
    """1 where the recommendation at the end is not optimal; its mean over the seeds is a share."""
    return (recommendation_regret(found) > OPTIMAL).astype(np.float64)


def feasible(found: Record) -> NDArray[np.bool_]:
    """Whether each evaluation is feasible by its true values; without constraints all are."""
    return np.all(found.columns.get("true_g", np.empty((found.rows, 0))) <= 0, axis=1)


def best_feasible(found: Record) -> Array:
    """The least true objective, as a paper minimises it, of the feasible evaluations so far; infinite before the first one."""
    return np.minimum.accumulate(np.where(feasible(found), -found.columns["true"], np.inf))


def mean_objective(found: Record) -> Array:
    """Mean true objective, as a paper minimises it, of the evaluations so far."""
    return np.cumsum(-found.columns["true"]) / np.arange(1, found.rows + 1)


def centre_distance(found: Record) -> Array:
    """How far a variable lies from the centre of its range, the mean over the variables: 1/4 at uniform points, at most 1/2."""
    return np.abs(found.columns["query"] - 0.5).mean(axis=1)


def last_objective(found: Record) -> Array:
    """The true objective of each evaluation, as a paper minimises it."""
    return -found.columns["true"].astype(np.float64)


def best_feasible_iterate(found: Record) -> Array:
    """As `best_feasible`, of the evaluations at iterates alone: the optimizer reports the role 1 of a query."""
    iterates = feasible(found) & (reported("role")(found) == 1)
    return np.minimum.accumulate(np.where(iterates, -found.columns["true"], np.inf))


def best_feasible_by_iteration(found: Record) -> Array:
    """`best_feasible` at the end of each iteration that the optimizer reports, one entry each; NaN where it reports none."""
    iteration = reported("iteration")(found)
    last = np.flatnonzero(np.diff(iteration, append=np.inf) > 0)
    return best_feasible(found)[last] if len(last) else np.array([np.nan])


def infeasible(found: Record) -> Array:
    """1 while no evaluation so far is feasible; its mean over the seeds is a share."""
    return np.isinf(best_feasible(found)).astype(np.float64)


def feasible_evaluations(found: Record) -> Array:
    """How many evaluations after the initial design are feasible so far."""
    return np.cumsum(feasible(found) & (found.columns["batch"] > 0)).astype(np.float64)


def search_for_feasible(found: Record) -> Array:
    """Evaluations after the initial design up to the first feasible one; NaN where the design has one, infinite where none is."""
    own = found.columns["batch"] > 0
    hits = feasible(found)
    if hits[~own].any():
        return np.array([np.nan])
    return np.array([float(np.argmax(hits[own]) + 1) if hits[own].any() else np.inf])


def late_descent(found: Record) -> Array:
    """By how much the last 30 % of the evaluations lower `best_feasible`; 0 where it stays infinite."""
    best = best_feasible(found)
    before, after = best[max(7 * found.rows // 10, 1) - 1], best[-1]
    return np.array([0.0 if before == after else before - after])


def seconds(found: Record) -> Array:
    """CPU seconds of the algorithm so far (its construction, ask and tell); evaluations cost nothing here."""
    return found.header.get("setup_seconds", 0.0) + np.cumsum(found.columns["timing.ask"] + found.columns["timing.tell"])


def step_seconds(found: Record) -> Array:
    """Seconds of the algorithm per evaluation, those of a batch spread evenly over it."""
    spent = found.columns["timing.ask"] + found.columns["timing.tell"]
    batch = found.columns["batch"].astype(np.int64)
    return np.bincount(batch, weights=spent)[batch] / np.bincount(batch)[batch]


def experiment_seconds(found: Record) -> Array:
    """Simulated seconds until an evaluation is known: a batch costs its slowest member, batches follow one another."""
    if "finished" in found.columns:  # workers that do not wait for one another
        return found.columns["finished"].astype(np.float64)
    batch = found.columns["batch"].astype(np.int64)
    slowest = np.zeros(batch[-1] + 1)
    np.maximum.at(slowest, batch, found.columns["seconds"])
    return np.cumsum(slowest)[batch]


def total_seconds(found: Record) -> Array:
    """Time of the experiments and of the algorithm, which never overlap here."""
    return experiment_seconds(found) + seconds(found)


def given_seconds(found: Record) -> Array:
    """CPU seconds of learning from the evaluations that existed before the run."""
    return np.array([found.header.get("given_seconds", 0.0)])


def batch_size(found: Record) -> Array:
    """Size of the batch of each evaluation; NaN in the initial design and in the last batch, which the budget cuts."""
    batch = found.columns["batch"].astype(np.int64)
    size = np.bincount(batch).astype(np.float64)[batch]
    return np.where((batch == 0) | (batch == batch[-1]), np.nan, size)


def batch_sizes(found: Record) -> Array:
    """Sizes of the complete batches, one entry each."""
    sizes = np.bincount(found.columns["batch"].astype(np.int64))
    return sizes[1:-1].astype(np.float64)


def batches(found: Record) -> Array:
    """Batches begun so far, the initial design left out."""
    return found.columns["batch"].astype(np.float64)


def reported(name: str) -> Callable[[Record], Array]:
    """A diagnostic of the optimizer; NaN before its first batch and where it reports no such thing."""

    def of(found: Record) -> Array:
        column = found.columns.get(f"report.{name}")
        return np.full(found.rows, np.nan) if column is None else column.astype(np.float64)

    return of


METRICS: Mapping[str, Metric] = {
    "cumulative_regret": Metric("cumulative regret", "unit of y", cumulative_regret),
    "simple_regret": Metric("simple regret", "unit of y", simple_regret),
    "mean_regret": Metric("mean regret after the initial design", "unit of y", mean_regret),
    "final_regret": Metric("mean regret of the last tenth", "unit of y", final_regret),
    "recommendation_regret": Metric("regret of the recommended arm", "unit of y", recommendation_regret),
    "best_feasible": Metric("best feasible objective", "unit of f", best_feasible),
    "mean_objective": Metric("mean objective so far", "unit of f", mean_objective),
    "last_objective": Metric("objective of the evaluation", "unit of f", last_objective),
    "best_feasible_iterate": Metric("best feasible objective at iterates", "unit of f", best_feasible_iterate),
    "best_feasible_by_iteration": Metric("best feasible objective", "unit of f", best_feasible_by_iteration, "iterations", "k"),
    "infeasible": Metric("nothing feasible found", "share of seeds", infeasible),
    "feasible_evaluations": Metric("feasible evaluations after the initial design", "", feasible_evaluations),
    "search_for_feasible": Metric("evaluations to the first feasible one", "", search_for_feasible),
    "centre_distance": Metric("mean distance of a variable from the centre", "range", centre_distance),
    "late_descent": Metric("descent over the last 30 % of the evaluations", "unit of f", late_descent),
    "stuck": Metric("recommendation not optimal", "share of seeds", stuck),
    "seconds": Metric("time of the algorithm", "s", seconds),
    "step_seconds": Metric("time of the algorithm per evaluation", "s", step_seconds),
    "experiment_seconds": Metric("time of the experiments", "simulated s", experiment_seconds),
    "total_seconds": Metric("time of algorithm and experiments", "s", total_seconds),
    "given_seconds": Metric("time to learn from existing data", "s", given_seconds),
    "batch_size": Metric("batch size", "evaluations", batch_size),
    "batches": Metric("batches so far", "", batches),
}
REPORTED = {
    "dictionary": ("dictionary size", "arms"),
    "distinct_arms": ("distinct arms pulled", "arms"),
    "resparsifications": ("resparsifications so far", ""),
    "alpha": ("width of the confidence bound", "alpha"),
    "beta": ("width of the confidence bound", "beta"),
}


def metric(name: str) -> Metric:
    """The metric of a name in the YAML; `report.x` is a diagnostic of the optimizer. Raises PlanError."""
    if name.startswith("report."):
        short = name.removeprefix("report.")
        return Metric(*REPORTED.get(short, (short.replace("_", " "), "")), reported(short))
    if name not in METRICS:
        raise PlanError(f"unknown metric {name!r}; known: {', '.join(METRICS)}, report.NAME")
    return METRICS[name]


class Recent(Generic[K, V]):
    """What was made last, as much as goes into KEPT bytes: the memory of a report does not grow with the number of runs."""

    def __init__(self, size: Callable[[V], int]) -> None:
        self._size, self._bytes = size, 0
        self._kept: dict[K, V] = {}  # the one asked for last is the last

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, made anew if it is no longer kept."""
        if key in self._kept:
            self._kept[key] = value = self._kept.pop(key)
            return value
        self._kept[key] = value = make()
        self._bytes += self._size(value)
        while self._bytes > KEPT and len(self._kept) > 1:
            self._bytes -= self._size(self._kept.pop(next(iter(self._kept))))
        return value


def _bytes(found: Record) -> int:
    return HEADER + sum(values.nbytes for values in found.columns.values())


class Store:
    """The verified records of one paper at one scale, and metrics of them.

    Records are read one at a time and forgotten; what stays of a run is a few numbers for each seed (`remembered`).
    `partial` reports on the seeds that have been run; otherwise a missing record is refused like a bad one.
    """

    def __init__(self, paper: Paper, root: Path = Path(), *, partial: bool = False) -> None:
        self.paper, self.root, self.partial = paper, root, partial
        self._seeds: dict[str, tuple[int, ...]] = {}
        self._values: Recent[tuple[str, str], Array] = Recent(lambda values: values.nbytes)
        self._records: Recent[Path, Record] = Recent(_bytes)
        self._numbers: dict[Hashable, Array] = {}
        self._data: dict[str, str] = {}
        self._late: dict[str, tuple[int, ...]] = {}
        self._best: dict[str, float] = {}

    def check(self, runs: Iterable[Run]) -> None:
        """Verify all records of these runs. Raises BadRecords, which names them."""
        refused: list[str] = []
        for run in {run.name: run for run in runs}.values():
            if run.name not in self._seeds:
                good, bad = self._verify(run)
                refused += bad
                if not bad:
                    self._seeds[run.name] = good
        if refused:
            more = [f"... and {len(refused) - SHOWN} more"] if len(refused) > SHOWN else []
            lines = "\n".join(f"  {line}" for line in [*refused[:SHOWN], *more])
            raise BadRecords(f"{self.paper.name} at scale {self.paper.scale}: {len(refused)} records are refused:\n{lines}")

    def seeds(self, run: Run) -> tuple[int, ...]:
        """The seeds of a run that are there, verified. Raises NotRun where a partial report finds none."""
        self.check([run])
        if not self._seeds[run.name]:
            what = "all seeds timed out" if self._late.get(run.name) else "not run"
            raise NotRun(f"{run.name}: {what} at scale {self.paper.scale}")
        return self._seeds[run.name]

    def timeouts(self, run: Run) -> tuple[int, ...]:
        """The seeds of a run whose result is that an evaluation took too long: no report shows them, and it says so."""
        self.check([run])
        return self._late.get(run.name, ())

    def lacks(self, runs: Mapping[str, Run]) -> list[str]:
        """Of which runs, by their labels, how many seeds lack since an evaluation took too long."""
        late = {label: (len(self.timeouts(run)), len(run.seeds)) for label, run in runs.items()}
        return [f"{count} of {planned} seeds of {label}" for label, (count, planned) in late.items() if count]

    def has(self, run: Run) -> bool:
        """Whether a run has records: in a partial report those that only decide an optimum may be missing."""
        self.check([run])
        return bool(self._seeds[run.name])

    def record(self, run: Run, seed: int) -> Record:
        """A record; where its problem's optimum is the best value seen, with that as `best`."""
        found = self._read(self.root / run.record(seed))
        if isinstance(run, Cell) and run.problem_entry.get("optimum") == "best-seen":
            return replace(found, header={**found.header, "best": self._best_seen(run), "best_kind": "best-seen"})
        return found

    def values(self, run: Run, name: str) -> Array:
        """A metric of a cell or a column of a study, one row per seed; longer seeds are cut to the shortest."""
        return self._values.get((run.name, name), lambda: self._rows(run, name))

    def remembered(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """A few numbers for each seed of a run, made once; `key` says of which run, and which numbers."""
        if key not in self._numbers:
            self._numbers[key] = make().copy()  # a view would hold all the rows
        return self._numbers[key]

    def relative(self, cell: Cell, name: str, base: Cell) -> Array:
        """A metric over the mean over seeds of another cell's at the same evaluation, (n, T); NaN where that is zero."""
        above, below = self.values(cell, name), self.values(base, name).mean(axis=0)
        length = min(above.shape[1], len(below))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = above[:, :length] / below[:length]
        ratio[:, below[:length] == 0] = np.nan
        return ratio

    def data(self, run: Run) -> str:
        """`real`, `none` or `substitute: ...`: what the records of a run were made of."""
        if run.name not in self._data:
            self._data[run.name] = str(self._read(self.root / run.record(self.seeds(run)[0])).header.get("data", "none"))
        return self._data[run.name]

    def versions(self, cell: Cell) -> list[str]:
        """The libraries that a problem's values belong to, with the versions that its records were made with."""
        libraries = self.record(cell, self.seeds(cell)[0]).header.get("provenance", {}).get("libraries", {})
        absent = "not installed" if self.data(cell).startswith("substitute") else "unknown"
        return [f"{name} {libraries.get(name, absent)}" for name in cell.problem_entry.get("libraries", [])]

    def _best_seen(self, cell: Cell) -> float:
        """The greatest feasible true value in any record on the problem of a cell, all algorithms, readings and seeds."""
        if cell.problem_name not in self._best:
            cells = companions(self.paper, cell)
            self.check(cells)
            records = (self._read(self.root / other.record(seed)) for other in cells for seed in self._seeds[other.name])
            self._best[cell.problem_name] = float(
                max(found.columns["true"][feasible(found)].max(initial=-np.inf) for found in records)
            )
        return self._best[cell.problem_name]

    def _read(self, path: Path) -> Record:
        return self._records.get(path, lambda: record.read(path))

    def _rows(self, run: Run, name: str) -> Array:
        rows = [self._row(run, seed, name) for seed in self.seeds(run)]
        shortest = min(map(len, rows))
        return np.stack([row[:shortest] for row in rows])

    def _row(self, run: Run, seed: int, name: str) -> Array:
        found = self.record(run, seed)
        if isinstance(run, Cell):
            return metric(name).of(found)
        if name not in found.columns:
            raise PlanError(f"study {run.id}: no column {name!r}; known: {', '.join(found.columns)}")
        return found.columns[name].astype(np.float64)

    def _verify(self, run: Run) -> tuple[tuple[int, ...], list[str]]:
        """The good seeds of a run and a sentence for each record that is refused."""
        if len(set(run.seeds)) != len(run.seeds):
            return (), [f"{run.name}: expected distinct seeds, got {run.seeds}"]
        if self.partial and not any((self.root / run.record(seed)).exists() for seed in run.seeds):
            return (), []
        try:
            expected = with_data(run.digest, self.data_sha256(run))
        except DataUnavailable as error:
            return (), [f"{run.name}: {error}"]
        good: list[int] = []
        late: list[int] = []
        bad: list[str] = []
        for seed in run.seeds:
            path = self.root / run.record(seed)
            if self.partial and not path.exists():
                continue
            try:
                found = self._read(path)
                _admit(found, path, run, seed, expected)
                (late if found.header.get("status") == record.TIMEOUT else good).append(seed)
            except record.BadRecord as error:
                bad.append(str(error))
        self._late[run.name] = tuple(late)
        return tuple(good), bad

    def data_sha256(self, run: Run) -> str:
        """The hash of the prepared table or of the simulator's version that the run's problem has now; "" without either."""
        if "simulator" in run.problem_entry:
            return version_sha256(built(run.problem_entry["simulator"], root=self.root))
        name = run.problem_entry.get("data")
        if name is None:
            return ""
        allowed = substitutes_allowed(run.scale)
        path = prepared_path(name, root=self.root, substitutes=allowed)
        if not path.exists():
            remedy = f"run `python -m workflow.fetch {name}{' --substitutes allowed' if allowed else ''}`"
            if not allowed:
                remedy += ", or set NOREGRET_SUBSTITUTES=allowed (or preferred) if the runs were made with it"
            raise DataUnavailable(f"{path}: expected the prepared table, found none: {remedy}")
        return str(fetch.provenance(path)["content_sha256"])


def _admit(found: Record, path: Path, run: Run, seed: int, expected: str) -> None:
    """Raise BadRecord unless a verified record is the final, current one of exactly this run and seed."""
    header = found.header
    again = "move it away and run the workflow again"
    if header.get("digest") != expected:
        raise record.BadRecord(
            f"{path}: expected digest {expected[:12]} of the current code, parameters and data, "
            f"found {str(header.get('digest', 'none'))[:12]}: it is stale; {again}"
        )
    if header.get("seed") != seed or header.get("paper") != run.paper:
        raise record.BadRecord(
            f"{path}: expected {run.paper} seed {seed}, found {header.get('paper')} seed {header.get('seed')}: "
            f"a copy of another record; {again}"
        )
    status = header.get("status", "complete")
    if status == record.TIMEOUT:
        return
    if status != "complete":
        raise record.BadRecord(f"{path}: expected a complete run, found {status!r} after {found.rows} rows; run it again")
    if isinstance(run, Cell) and found.rows != run.budget:
        raise record.BadRecord(f"{path}: expected {run.budget} evaluations, found {found.rows}; {again}")


def made_of(data: Iterable[str]) -> str:
    """What several records were made of, as one status; a single substitute makes it a substitute."""
    found = sorted(set(data))
    substitutes = [status for status in found if status.startswith("substitute")]
    return "; ".join(substitutes) or ", ".join(found) or "none"


def thin(length: int, *, log: bool = False) -> NDArray[np.int64]:
    """At most GRID of the indices 0 .. length-1, the first and the last among them, evenly or log-spaced."""
    if length <= GRID:
        return np.arange(length)
    points = np.geomspace(1, length, GRID) - 1 if log else np.linspace(0, length - 1, GRID)
    return np.unique(np.rint(points).astype(np.int64))


def parser(prog: str, about: str | None, what: str = "") -> argparse.ArgumentParser:
    """The command line that figures, tables and claims share."""
    options = argparse.ArgumentParser(prog=f"python -m workflow.{prog}", description=about)
    options.add_argument("paper")
    if what:
        options.add_argument(what)
    options.add_argument("--scale", default="quick")
    options.add_argument("--seeds", default="", help="one seed or a range such as 0-4, if the records were cut by hand")
    options.add_argument("--partial", action="store_true", help="report on the records that are there; say which are not")
    options.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: figures/SCALE/PAPER")
    return options
