"""From records to numbers: the verified records of a paper, read one at a time, and metrics of
them.

A record counts only if it exists, verifies, and was made by the current code, parameters and data:
its digest is compared with the plan's, so that a stale or foreign file is refused even when
Snakemake's memory is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from workflow.data import fetch
from workflow.data.places import DataUnavailable, prepared_path, substitutes_allowed
from workflow.data.simulators import built, version_sha256
from workflow.measure.metrics import (
    DESCENT,
    RECOMMENDATION,
    REPORTS,
    TIME,
    Array,
    feasible,
    metric,
    ratio_to,
)
from workflow.measure.mixture import Mixture
from workflow.plan.cells import Cell, Paper, Study
from workflow.plan.digest import with_data
from workflow.plan.resolve import PlanError
from workflow.plan.selection import companions
from workflow.trace import record
from workflow.trace.record import Record

Run = Cell | Study
SHOWN = 12  # refused records that a message names
KEPT = 1 << 25  # bytes of records, and as many of metrics, that a report has at hand
HEADER = 1 << 14  # bytes of a record beside its columns, about
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BadRecords(record.BadRecord):
    """Every record that a report refused: what was expected, found, and what to do."""


class NotRun(LookupError):
    """A partial report asked for a run of which no record exists."""


class Recent(Generic[K, V]):
    """What was made last, as much as goes into KEPT bytes: the memory of a report does not grow
    with the number of runs.
    """

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

    Records are read one at a time and forgotten; what stays of a run is a few numbers for each seed
    (`remembered`). `partial` reports on the seeds that have been run; otherwise a missing record is
    refused like a bad one.
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
        self._traces: dict[tuple[str, int], dict[str, str]] = {}
        self._mixture = Mixture()

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
            raise BadRecords(
                f"{self.paper.name} at scale {self.paper.scale}: {len(refused)} records are"
                f" refused:\n{lines}"
            )

    def seeds(self, run: Run) -> tuple[int, ...]:
        """The seeds of a run that are there, verified.

        Raises NotRun where a partial report finds none.
        """
        self.check([run])
        if not self._seeds[run.name]:
            what = "all seeds timed out" if self._late.get(run.name) else "not run"
            raise NotRun(f"{run.name}: {what} at scale {self.paper.scale}")
        return self._seeds[run.name]

    def timeouts(self, run: Run) -> tuple[int, ...]:
        """The seeds of a run whose result is that an evaluation took too long: no report shows
        them, and it says so.
        """
        self.check([run])
        return self._late.get(run.name, ())

    def mixed(self) -> list[str]:
        """Sentences on what the records verified so far were made with, where that is not one code
        path of the CPU and one version of each library.
        """
        return self._mixture.sentences()

    def lacks(self, runs: Mapping[str, Run]) -> list[str]:
        """Of which runs, by their labels, how many seeds lack since an evaluation took too long."""
        late = {label: (len(self.timeouts(run)), len(run.seeds)) for label, run in runs.items()}
        return [
            f"{count} of {planned} seeds of {label}"
            for label, (count, planned) in late.items()
            if count
        ]

    def has(self, run: Run) -> bool:
        """Whether a run has records: in a partial report those that only decide an optimum may be
        missing.
        """
        self.check([run])
        return bool(self._seeds[run.name])

    def record(self, run: Run, seed: int) -> Record:
        """A record; where its problem's optimum is the best value seen, with that as `best`."""
        found = self._read(self.root / run.record(seed))
        if isinstance(run, Cell) and run.problem_entry.get("optimum") == "best-seen":
            return replace(
                found,
                header={**found.header, "best": self._best_seen(run), "best_kind": "best-seen"},
            )
        return found

    def values(self, run: Run, name: str) -> Array:
        """A metric of a cell or a column of a study, one row per seed; longer seeds are cut to the
        shortest.
        """
        return self._values.get((run.name, name), lambda: self._rows(run, name))

    def remembered(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """A few numbers for each seed of a run, made once; `key` says of which run, and which
        numbers.
        """
        if key not in self._numbers:
            self._numbers[key] = make().copy()  # a view would hold all the rows
        return self._numbers[key]

    def relative(self, cell: Cell, name: str, base: Cell) -> Array:
        """A metric over the mean over seeds of another cell's at the same evaluation, (n, T); NaN
        where that is zero.
        """
        return ratio_to(self.values(cell, name), self.values(base, name).mean(axis=0))

    def data(self, run: Run) -> str:
        """`real`, `none` or `substitute: ...`: what the records of a run were made of."""
        if run.name not in self._data:
            self._data[run.name] = str(
                self._read(self.root / run.record(self.seeds(run)[0])).header.get("data", "none")
            )
        return self._data[run.name]

    def is_same(self, one: Cell, other: Cell, reads: str = "") -> bool:
        """Whether two cells have the same traces: in every seed that both have, of which there is
        at least one, they ended alike and evaluated the same points with the same values, measured
        from the same optimum.

        What `reads` names beside that has to be the same too: reports of the optimizer, its
        recommendation, or where a local search from its best point ends. Diagnostics that a metric
        does not read may differ. Times are measured anew by every run, so that for `reads` of times
        two cells are never the same.
        """
        if one.name == other.name:
            return True
        self.check([one, other])
        there = [{*self._seeds[cell.name], *self.timeouts(cell)} for cell in (one, other)]
        common = there[0] & there[1]
        return (
            reads != TIME
            and bool(common)
            and all(self._trace(one, s, reads) == self._trace(other, s, reads) for s in common)
        )

    def _trace(self, cell: Cell, seed: int, reads: str) -> tuple[str, ...]:
        """What has to be the same of a record; a few hashes stay of each."""
        key = (cell.name, seed)
        if key not in self._traces:
            found = self.record(cell, seed)
            said = {
                name: json.dumps(found.header.get(name), sort_keys=True)
                for name in ("status", "best", RECOMMENDATION, DESCENT)
            }
            reports = {n: v for n, v in found.columns.items() if n.startswith(f"{REPORTS}.")}
            others = {n: v for n, v in found.columns.items() if n not in reports}
            self._traces[key] = {
                "": record.trace_hash(others) + said["status"] + said["best"],
                REPORTS: record.trace_hash(reports),
                RECOMMENDATION: said[RECOMMENDATION],
                DESCENT: said[DESCENT],
            }
        return self._traces[key][""], self._traces[key][reads]

    def versions(self, cell: Cell) -> list[str]:
        """The libraries that a problem's values belong to, with the versions that its records were
        made with.
        """
        libraries = (
            self.record(cell, self.seeds(cell)[0]).header.get("provenance", {}).get("libraries", {})
        )
        absent = "not installed" if self.data(cell).startswith("substitute") else "unknown"
        return [
            f"{name} {libraries.get(name, absent)}"
            for name in cell.problem_entry.get("libraries", [])
        ]

    def _best_seen(self, cell: Cell) -> float:
        """The greatest feasible true value in any record on the problem of a cell, all algorithms,
        readings and seeds.
        """
        if cell.problem_name not in self._best:
            cells = companions(self.paper, cell)
            self.check(cells)
            records = (
                self._read(self.root / other.record(seed))
                for other in cells
                for seed in self._seeds[other.name]
            )
            self._best[cell.problem_name] = float(
                max(
                    found.columns["true"][feasible(found)].max(initial=-np.inf) for found in records
                )
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
            raise PlanError(
                f"study {run.id}: no column {name!r}; known: {', '.join(found.columns)}"
            )
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
                self._mixture.add(path, found.header)
            except record.BadRecord as error:
                bad.append(str(error))
        self._late[run.name] = tuple(late)
        return tuple(good), bad

    def data_sha256(self, run: Run) -> str:
        """The hash of the prepared table or of the simulator's version that the run's problem has
        now; "" without either.
        """
        if "simulator" in run.problem_entry:
            return version_sha256(built(run.problem_entry["simulator"], root=self.root))
        name = run.problem_entry.get("data")
        if name is None:
            return ""
        allowed = substitutes_allowed(run.scale)
        path = prepared_path(name, root=self.root, substitutes=allowed)
        if not path.exists():
            remedy = (
                "run `python -m workflow.fetch"
                f" {name}{' --substitutes allowed' if allowed else ''}`"
            )
            if not allowed:
                remedy += (
                    ", or set NOREGRET_SUBSTITUTES=allowed (or preferred) if the runs were made"
                    " with it"
                )
            raise DataUnavailable(f"{path}: expected the prepared table, found none: {remedy}")
        return str(fetch.provenance(path)["content_sha256"])


def _admit(found: Record, path: Path, run: Run, seed: int, expected: str) -> None:
    """Raise BadRecord unless a verified record is the final, current one of exactly this run and
    seed.
    """
    header = found.header
    again = "move it away and run the workflow again"
    if header.get("digest") != expected:
        raise record.BadRecord(
            f"{path}: expected digest {expected[:12]} of the current code, parameters and data, "
            f"found {str(header.get('digest', 'none'))[:12]}: it is stale; {again}"
        )
    if header.get("seed") != seed or header.get("paper") != run.paper:
        raise record.BadRecord(
            f"{path}: expected {run.paper} seed {seed}, found {header.get('paper')} seed"
            f" {header.get('seed')}: a copy of another record; {again}"
        )
    status = header.get("status", "complete")
    if status == record.TIMEOUT:
        return
    if status != "complete":
        raise record.BadRecord(
            f"{path}: expected a complete run, found {status!r} after {found.rows} rows; run it"
            " again"
        )
    if isinstance(run, Cell) and found.rows != run.budget:
        raise record.BadRecord(
            f"{path}: expected {run.budget} evaluations, found {found.rows}; {again}"
        )


def made_of(data: Iterable[str]) -> str:
    """What several records were made of, as one status;
    a single substitute makes it a substitute.
    """
    found = sorted(set(data))
    substitutes = [status for status in found if status.startswith("substitute")]
    return "; ".join(substitutes) or ", ".join(found) or "none"
