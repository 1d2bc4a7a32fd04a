"""What was run and what it cost, for the page `Runs`: a line for each run-set of a paper, from the
report's list of runs, beside what is published of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow.judge.record_table import STUDIES
from workflow.plan import reader
from workflow.site.folder import Report
from workflow.trace import curve_file
from workflow.trace.cells import PUBLISHED
from workflow.trace.curve_file import CARRIED, LABEL

Entry = Mapping[str, Any]
SECONDS = 3600  # of an hour


@dataclass(frozen=True)
class File:
    """The published records of a curve or study: its path in the repository, how many records it
    holds, and how many of them have the very traces of the report; CPU seconds of the others; how
    many were carried over a change of code, and how many other code is known to have made.
    """

    curve: str
    path: str
    records: int
    same: int
    seconds_alone: float
    carried: int
    other_code: int

    @property
    def alone(self) -> int:
        """How many of its records the report does not have."""
        return self.records - self.same


@dataclass(frozen=True)
class Total:
    """Sums over run-sets."""

    curves: int
    records: int
    seconds: float
    published: int
    carried: int
    other_code: int
    timeouts: int

    @property
    def hours(self) -> float:
        """Core-hours: every run has one thread, so that its CPU seconds are those of a core."""
        return self.seconds / SECONDS


@dataclass(frozen=True)
class Line:
    """A run-set: all runs on one problem under one reading of it, or all studies. `published` are
    its records whose traces are published; `files` what the repository holds of it, other records
    than the report's included.
    """

    problem: str
    page: str
    runs: Sequence[Entry]
    files: Sequence[File]

    @property
    def seeds(self) -> str:
        """How many seeds its runs have: `5`, or `1 to 5`."""
        return _seeds([self])

    @property
    def total(self) -> Total:
        return Total(
            curves=len(self.runs),
            records=sum(len(run["trace_sha256"]) for run in self.runs),
            seconds=sum(float(run["cpu_seconds"]) for run in self.runs),
            published=sum(file.same for file in self.files),
            carried=sum(file.carried for file in self.files),
            other_code=sum(file.other_code for file in self.files),
            timeouts=sum(len(run["timeouts"]) for run in self.runs),
        )

    @property
    def code_paths(self) -> list[str]:
        return _named([self], "code_paths")


@dataclass(frozen=True)
class Account:
    """A paper: its run-sets, and what is published of it that its report does not have."""

    name: str
    label: str
    lines: Sequence[Line]
    others: Sequence[File] = ()

    @property
    def total(self) -> Total:
        return summed(line.total for line in self.lines)

    @property
    def seeds(self) -> str:
        """How many seeds its runs have, as for a line; "" where it has none."""
        return _seeds(self.lines)

    @property
    def alone(self) -> int:
        """How many published records the report does not have."""
        return sum(file.alone for file in self.files)

    @property
    def hours_alone(self) -> float:
        """Core-hours of these."""
        return sum(file.seconds_alone for file in self.files) / SECONDS

    @property
    def files(self) -> list[File]:
        return [*(file for line in self.lines for file in line.files), *self.others]

    @property
    def mixed(self) -> dict[str, list[str]]:
        """Commits, machines, code paths and libraries of all its runs."""
        keys = ("commits", "machines", "code_paths", "libraries")
        return {key: _named(self.lines, key) for key in keys}


def accounts(reports: Sequence[Report], root: Path, *, others: bool) -> list[Account]:
    """An account for each report, and with `others` one for whatever else is published at their
    scales, by what is below `root`.
    """
    found = [_account(report, root) for report in reports]
    names = {report.name for report in reports}
    for scale in sorted({report.scale for report in reports}) if others else []:
        for folder in sorted((root / PUBLISHED / scale).glob("*")):
            if folder.name not in names:
                files = [_file(path, root, {}) for path in sorted(folder.rglob("*.parquet"))]
                label = reader.read(folder.name, root)["paper"].get("label", folder.name)
                found.append(Account(folder.name, str(label), (), tuple(files)))
    return found


def summed(totals: Iterable[Total]) -> Total:
    """The sum of some totals; nought of none."""
    each = [vars(total) for total in totals]
    return Total(**{name: sum(one[name] for one in each) for name in Total.__annotations__})


def _account(report: Report, root: Path) -> Account:
    folder = root / PUBLISHED / report.scale / report.name
    left = sorted(folder.rglob("*.parquet"))
    lines = []
    for problem in report.problems:
        runs, page = report.on(problem), f"{'runs-' * (problem != STUDIES)}{problem}"
        files = []
        for run in runs:
            path = folder / problem / f"{run['curve']}.parquet"
            if path in left:
                left.remove(path)
                files.append(_file(path, root, run["trace_sha256"]))
        lines.append(Line(problem, f"{report.name}/{page}.html", runs, files))
    others = [_file(path, root, {}) for path in left]
    return Account(report.name, report.label, lines, others)


def _file(path: Path, root: Path, traces: Mapping[str, str]) -> File:
    """What the headers of published records say; `traces` are the report's, by seed."""
    headers = curve_file.headers(path)
    alone = [
        header
        for seed, header in headers.items()
        if traces.get(str(seed)) != header.get("trace_sha256", "")
    ]
    return File(
        curve=path.stem,
        path=path.relative_to(root).as_posix(),
        records=len(headers),
        same=len(headers) - len(alone),
        seconds_alone=sum(float(header.get("cpu_seconds", 0)) for header in alone),
        carried=sum(bool(header.get(CARRIED)) for header in headers.values()),
        other_code=sum(bool(header.get(LABEL)) for header in headers.values()),
    )


def _seeds(lines: Iterable[Line]) -> str:
    numbers = sorted(len(run["trace_sha256"]) for line in lines for run in line.runs)
    return " to ".join(dict.fromkeys(map(str, numbers[:1] + numbers[-1:])))


def _named(lines: Iterable[Line], key: str) -> list[str]:
    """All values of a list that the runs of some lines have."""
    return sorted({value for line in lines for run in line.runs for value in run[key]})
