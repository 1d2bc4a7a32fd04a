"""From records to numbers: the verified records of a paper, read one at a time, and metrics of
them.

A record counts only if it exists, verifies, and was made by the current code, parameters and data:
its digest is compared with the plan's, so that a stale or foreign file is refused even when
Snakemake's memory is lost. Where results/ has no such record, a published one serves as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow.data import fetch
from workflow.data.places import (
    DataUnavailable,
    is_substitute,
    prepared_path,
    substitutes_allowed,
)
from workflow.data.simulators import built, version_sha256
from workflow.measure import mixture
from workflow.measure.condense import TRACES, parts_of_trace
from workflow.measure.metrics import (
    RECOMMENDATION,
    REPORTS,
    TIME,
    Array,
    feasible,
    metric,
    ratio_to,
)
from workflow.measure.published_records import PublishedRecords, bytes_of, digest_today
from workflow.measure.recent import Recent
from workflow.plan.paper import Paper
from workflow.plan.selection import companions
from workflow.trace.curves import PUBLISHED, AnyCurve, Curve, PlanError, Study, with_data
from workflow.trace.record import FINAL, TIMEOUT, BadRecord, Record, read

SHOWN = 12  # refused records that a message names
NAMED = 3  # runs of other code that a sentence names
AGAIN = "move it away and run the workflow again"
ANEW = "run the workflow, which makes it anew"
CARRY = f"`make carry` tells whether today's code makes the same; or {ANEW}"
REPUBLISH = "make it anew with FRESH=1, and publish that (`python -m workflow.publish --replace`)"


class BadRecords(BadRecord):
    """Every record that a report refused: what was expected, found, and what to do."""


class NotRun(LookupError):
    """A partial report asked for a run of which no record exists."""


@dataclass
class _Checked:
    """The verified records of a run: their headers by seed; which seeds count, which timed out, and
    which of both other code, parameters or data made.
    """

    headers: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    other: tuple[int, ...] = ()


class Store:
    """The verified records of one paper at one scale, and metrics of them: what a report reads, not
    the store of all complete records (workflow/trace/by_digest.py).

    Records are read one at a time and forgotten; what stays of a run is a few numbers for each seed
    (`remembered`). `partial` reports on the seeds that have been run, also on published records of
    other code, parameters or data where there is no current one (`made_by_other_code`); otherwise
    these and missing ones are refused. `fresh` ignores published records; `published` is the
    checkout with the published records, if that is not `root`.
    """

    def __init__(
        self,
        paper: Paper,
        root: Path = Path(),
        *,
        published: Path | None = None,
        partial: bool = False,
        fresh: bool = False,
    ) -> None:
        self.paper, self.root, self.partial, self.fresh = paper, root, partial, fresh
        self._published = PublishedRecords(root if published is None else published)
        self._read_published: set[tuple[str, int]] = set()  # runs
        self._checked: dict[str, _Checked] = {}
        self._hashes: dict[tuple[object, object], str] = {}
        self._values: Recent[tuple[str, str], Array] = Recent(lambda values: values.nbytes)
        self._records: Recent[Path, Record] = Recent(bytes_of)
        self._numbers: dict[Hashable, Array] = {}
        self._best: dict[str, float] = {}
        self._traces: dict[tuple[str, int], dict[str, str]] = {}

    def check(self, runs: Iterable[AnyCurve]) -> None:
        """Verify all records of these runs. Raises BadRecords, which names them."""
        refused: list[str] = []
        new = {name: run for run in runs if (name := run.name) not in self._checked}
        for name, run in new.items():
            checked, bad = self._verify(run)
            refused += bad
            if not bad:
                self._checked[name] = checked
        if refused:
            more = [f"... and {len(refused) - SHOWN} more"] if len(refused) > SHOWN else []
            lines = "\n".join(f"  {line}" for line in [*refused[:SHOWN], *more])
            raise BadRecords(
                f"{self.paper.name} at scale {self.paper.scale}: {len(refused)} records are"
                f" refused:\n{lines}"
            )

    def seeds(self, curve: AnyCurve) -> tuple[int, ...]:
        """The seeds of a run that are there, verified.

        Raises NotRun where a partial report finds none.
        """
        there = self._of(curve)
        if not there.seeds:
            what = "all seeds timed out" if there.late else "not run"
            raise NotRun(f"{curve.name}: {what} at scale {self.paper.scale}")
        return there.seeds

    def headers(self, curve: AnyCurve) -> Mapping[int, Mapping[str, Any]]:
        """The headers of all records of a run that count, by seed; those that timed out, too."""
        return self._of(curve).headers

    def timeouts(self, curve: AnyCurve) -> tuple[int, ...]:
        """The seeds of a run whose result is that an evaluation took too long: no report shows
        them, and it says so.
        """
        return self._of(curve).late

    def is_short(self, runs: Iterable[AnyCurve]) -> bool:
        """Whether a partial report lacks planned seeds of some runs."""
        every = list(runs)
        self.check(every)
        return any(len(self.headers(run)) < len(run.seeds) for run in every)

    def made_by_other_code(self, curve: AnyCurve) -> tuple[int, ...]:
        """The seeds of a run whose records other code, parameters or data made than the present
        ones: whoever admits such records says so.
        """
        return self._of(curve).other

    def of_other_code(self, runs: Iterable[AnyCurve]) -> str:
        """How many records of which of these runs other code made, in words; "" where none."""
        every = {run.name: run for run in runs}
        parts = [
            f"{len(other)} of {len(self.headers(run))} records of {name.partition('/')[2]}"
            for name, run in every.items()
            if (other := self.made_by_other_code(run))
        ]
        more = [f"and of {len(parts) - NAMED} more runs"] if len(parts) > NAMED else []
        return ", ".join([*parts[:NAMED], *more])

    def processors(self, runs: Iterable[AnyCurve]) -> list[str]:
        """On which processors the records of these runs were made, as far as these are there."""
        headers = (one for run in runs if self.has(run) for one in self.headers(run).values())
        machines = {one["provenance"]["machine"] for one in headers}  # system, processor, cores
        return sorted({", ".join(one.split(", ")[1:-1]) or one for one in machines})

    def mixed(self) -> list[str]:
        """Sentences on what the records verified so far were made with, where that is not one code
        path of the CPU, one version of each library and the present code.
        """
        every = [header for one in self._checked.values() for header in one.headers.values()]
        sentences = mixture.sentences(every)
        if other := sum(len(one.other) for one in self._checked.values()):
            sentences.append(
                f"{other} of {len(every)} records here were made by other code, parameters or data"
                " than today's, which may give other numbers (docs/data.md)."
            )
        return sentences

    def _of(self, curve: AnyCurve) -> _Checked:
        self.check([curve])
        return self._checked[curve.name]

    def lacks(self, runs: Mapping[str, AnyCurve]) -> list[str]:
        """Of which runs, by their labels, how many seeds lack since an evaluation took too long."""
        late = {label: (len(self.timeouts(run)), len(run.seeds)) for label, run in runs.items()}
        return [
            f"{count} of {planned} seeds of {label}"
            for label, (count, planned) in late.items()
            if count
        ]

    def has(self, curve: AnyCurve) -> bool:
        """Whether any seed of a curve counts; in a partial report one that only decides an optimum
        may have none.
        """
        return bool(self._of(curve).seeds)

    def record(self, curve: AnyCurve, seed: int) -> Record:
        """A record; where its problem's optimum is the best value seen, with that as `best`."""
        record = self._found(curve, seed)
        if isinstance(curve, Curve) and curve.problem_entry.get("optimum") == "best-seen":
            return replace(
                record,
                header={**record.header, "best": self._best_seen(curve), "best_kind": "best-seen"},
            )
        return record

    def values(self, curve: Curve, name: str) -> Array:
        """A metric of a curve, one row per seed; over iterations, of which seeds may have different
        numbers, all rows end where the shortest does.
        """

        def rows() -> Array:
            of = metric(name).of
            every = [of(self.record(curve, seed)) for seed in self.seeds(curve)]
            return np.stack([row[: min(map(len, every))] for row in every])

        return self._values.get((curve.name, name), rows)

    def column(
        self, study: Study, seed: int, name: str, rows: Mapping[str, float | str] | None = None
    ) -> Array:
        """A column of a study, (n,), of the rows in which some columns have these values: a seed
        may have more rows than another one, as where a row is a batch. Raises PlanError where the
        study has no such column.
        """
        columns, wanted = self.record(study, seed).columns, rows or {}
        for one in (name, *wanted):
            if one not in columns:
                known = ", ".join(columns)
                raise PlanError(f"study {study.id}: no column {one!r}; known: {known}")
        chosen = np.ones(len(columns[name]), dtype=bool)
        for one, value in wanted.items():
            chosen &= np.isclose(columns[one].astype(np.float64), value)
        return columns[name][chosen].astype(np.float64)

    def remembered(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """A few numbers for each seed of a run, made once; `key` says of which run, and which
        numbers.
        """
        if key not in self._numbers:
            self._numbers[key] = make().copy()  # a view would hold all the rows
        return self._numbers[key]

    def relative(self, curve: Curve, name: str, base: Curve) -> Array:
        """A metric over the mean over seeds of another curve's at the same evaluation, (n, T); NaN
        where that is zero.
        """
        return ratio_to(self.values(curve, name), self.values(base, name).mean(axis=0))

    def data(self, curve: AnyCurve) -> str:
        """`real`, `none` or `substitute: ...`: what the records of a run were made of."""
        return str(self.headers(curve)[self.seeds(curve)[0]].get("data", "none"))

    def is_same(self, one: Curve, other: Curve, reads: str = "") -> bool:
        """Whether two curves have the same traces: in every seed that both have, of which there is
        at least one, they ended alike and evaluated the same points with the same values, measured
        from the same optimum.

        What `reads` names beside that has to be the same too: reports of the optimizer, or its
        recommendation. Diagnostics that a metric does not read may differ. Times are measured anew
        by every run, so that for `reads` of times two curves are never the same.
        """
        if one.name == other.name:
            return True
        self.check([one, other])
        common = self.headers(one).keys() & self.headers(other).keys()
        return (
            reads != TIME
            and bool(common)
            and all(self._trace(one, s, reads) == self._trace(other, s, reads) for s in common)
        )

    def _trace(self, curve: Curve, seed: int, reads: str) -> tuple[str, ...]:
        """What has to be the same of a record; a few hashes stay of each."""
        key = (curve.name, seed)
        if key not in self._traces:
            record = self.record(curve, seed)
            said = [json.dumps(record.header.get(name)) for name in ("status", "best")]
            parts = record.header.get(TRACES) or parts_of_trace(record)
            self._traces[key] = {
                "": parts[""] + "".join(said),
                REPORTS: parts[REPORTS],
                RECOMMENDATION: parts[RECOMMENDATION],
            }
        return self._traces[key][""], self._traces[key][reads]

    def versions(self, curve: Curve) -> list[str]:
        """The libraries that a problem's values belong to, with the versions that its records were
        made with.
        """
        made = self.headers(curve)[self.seeds(curve)[0]].get("provenance", {})
        libraries = made.get("libraries", {})
        absent = "not installed" if is_substitute(self.data(curve)) else "unknown"
        return [
            f"{name} {libraries.get(name, absent)}"
            for name in curve.problem_entry.get("libraries", [])
        ]

    def _best_seen(self, curve: Curve) -> float:
        """The greatest feasible true value in any record on the problem of a curve, all algorithms,
        readings and seeds.
        """
        if curve.problem_name not in self._best:
            curves = companions(self.paper, curve)
            self.check(curves)
            records = (
                self._found(other, seed) for other in curves for seed in self._of(other).seeds
            )
            self._best[curve.problem_name] = float(
                max(
                    record.columns["true"][feasible(record)].max(initial=-np.inf)
                    for record in records
                )
            )
        return self._best[curve.problem_name]

    def _found(self, curve: AnyCurve, seed: int) -> Record:
        """The record of a run that was checked, as it is."""
        if (curve.name, seed) in self._read_published:
            return self._published.record(curve, seed)
        return self._read(self.root / curve.record(seed))

    def _read(self, path: Path) -> Record:
        return self._records.get(path, lambda: read(path))

    def _verify(self, curve: AnyCurve) -> tuple[_Checked, list[str]]:
        """The records of a run, and a sentence for each that is refused."""
        checked = _Checked()
        bad: list[str] = []
        for seed in curve.seeds:
            try:
                record = self._admitted(curve, seed)
            except DataUnavailable as error:
                return checked, [f"{curve.name}: {error}"]
            except BadRecord as error:
                bad = [*dict.fromkeys([*bad, str(error)])]  # a file that all seeds share once
                continue
            if record is None:
                continue
            checked.headers[seed] = record.header
            if record.header.get("status") == TIMEOUT:
                checked.late += (seed,)
            else:
                checked.seeds += (seed,)
            if not self.is_current(curve, record.header):
                checked.other += (seed,)
        return checked, bad

    def _admitted(self, curve: AnyCurve, seed: int) -> Record | None:
        """The record of a seed: that of results/, or the published one where that is missing, stale
        or not finished; None where a partial report passes over a seed.

        Raises BadRecord, DataUnavailable.
        """
        path = self.root / curve.record(seed)
        header = {} if self.fresh else self._published.headers(curve).get(seed, {})
        is_published = bool(header) and (self.partial or self.is_current(curve, header))
        if path.exists():
            record = self._read(path)
            if not is_published or self._is_final(curve, record.header):
                admit(record, path, curve, seed, self._expected(curve), AGAIN)
                return record
        if is_published:
            record = self._published.record(curve, seed)
            admit(
                record, self._published.place(curve), curve, seed, str(header["digest"]), REPUBLISH
            )
            self._read_published.add((curve.name, seed))
            return record
        if header:
            self._refuse(curve, seed, header)
        if self.partial:
            return None
        self._expected(curve)  # where data are missing, that is what has to be told
        return self._read(path)  # says that there is none

    def _is_final(self, curve: AnyCurve, header: Mapping[str, Any]) -> bool:
        status = header.get("status", "complete")
        return status in FINAL and self.is_current(curve, header)

    def _refuse(self, curve: AnyCurve, seed: int, header: Mapping[str, Any]) -> None:
        """Raise BadRecord: a published record is all there is of a seed, and of other code."""
        raise BadRecord(
            f"{self._published.place(curve)}: expected seed {seed} with digest"
            f" {self._expected(curve)[:12]} of the current code, parameters and data, found"
            f" {str(header.get('digest'))[:12]}: it was made by others; {CARRY}"
        )

    def _expected(self, curve: AnyCurve) -> str:
        """The digest of the records of a run today. Raises DataUnavailable."""
        key = (curve.problem_entry.get("simulator"), curve.problem_entry.get("data"))
        if key not in self._hashes:
            self._hashes[key] = self.data_sha256(curve)
        return with_data(curve.digest, self._hashes[key])

    def is_current(self, curve: AnyCurve, header: Mapping[str, Any]) -> bool:
        """Whether a record with this header was made by the present code, parameters and data; by
        the data that it names where those of its problem are not on this machine.
        """
        try:
            expected = self._expected(curve)
        except DataUnavailable:
            expected = digest_today(curve, header)
        return header.get("digest") == expected

    def data_sha256(self, curve: AnyCurve) -> str:
        """The hash of the prepared table or of the simulator's version that the run's problem has
        now; "" without either. Raises DataUnavailable.
        """
        if "simulator" in curve.problem_entry:
            return version_sha256(built(curve.problem_entry["simulator"], root=self.root))
        name = curve.problem_entry.get("data")
        if name is None:
            return ""
        allowed = substitutes_allowed(curve.scale)
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


def without_published(paper: Paper, root: Path = Path()) -> Paper:
    """The same plan, whose jobs leave out the seeds that are published, made by the present code,
    parameters and data. Raises BadRecord where a published file is damaged.
    """
    if not (root / PUBLISHED / paper.scale / paper.name).is_dir():
        return paper
    store, records = Store(paper, root), PublishedRecords(root)
    current = {
        (run.name, seed)
        for run in paper.every_curve
        for seed, header in records.headers(run).items()
        if store.is_current(run, header)
    }
    return replace(paper, not_made=frozenset(current))


def study_table(
    store: Store, study: Study, names: Collection[str], rows: Mapping[str, float | str]
) -> pd.DataFrame:
    """Columns of a study and `seed`, of the rows in which some columns have these values.

    Raises NotRun.
    """
    return pd.concat(
        pd.DataFrame({name: store.column(study, seed, name, rows) for name in names}).assign(
            seed=seed
        )
        for seed in store.seeds(study)
    )


def admit(
    record: Record, path: Path, curve: AnyCurve, seed: int, expected: str, again: str
) -> None:
    """Raise BadRecord unless a verified record is the final, current one of exactly this run and
    seed; `again` says what is to be done.
    """
    header = record.header
    if header.get("digest") != expected:
        raise BadRecord(
            f"{path}: expected digest {expected[:12]} of the current code, parameters and data, "
            f"found {str(header.get('digest', 'none'))[:12]}: it is stale; {again}"
        )
    if header.get("seed") != seed or header.get("paper") != curve.paper:
        raise BadRecord(
            f"{path}: expected {curve.paper} seed {seed}, found {header.get('paper')} seed"
            f" {header.get('seed')}: a copy of another record; {again}"
        )
    status = header.get("status", "complete")
    if status == TIMEOUT:
        return
    if status != "complete":
        raise BadRecord(
            f"{path}: expected a complete run, found {status!r} after {record.rows} rows; run it"
            " again"
        )
    if isinstance(curve, Curve) and record.rows != curve.budget:
        raise BadRecord(
            f"{path}: expected {curve.budget} evaluations, found {record.rows}; {again}"
        )


def made_of(data: Iterable[str]) -> str:
    """What several records were made of, as one status;
    a single substitute makes it a substitute.
    """
    statuses = sorted(set(data))
    substitutes = list(filter(is_substitute, statuses))
    return "; ".join(substitutes) or ", ".join(statuses) or "none"
