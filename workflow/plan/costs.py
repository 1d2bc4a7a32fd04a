"""What a run costs: CPU seconds of one thread and peak memory, as the published records of its
curve have them.

papers/measured.csv has a line for each curve on a problem, and for each study; publishing writes
the table anew (workflow/operate/publish.py). Costs decide how many seeds share a job, what a
cluster is asked for, and which work begins first. They are measurements of several machines, and
nobody needs them to be exact: a job that reaches a limit is tried again with a higher one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeVar

from workflow.plan.resolve import ROOT

TABLE = "papers/measured.csv"
STUDIES = "studies"  # in the place of a problem
JOB_SECONDS = 300  # seeds share a job up to about this long
PART_SECONDS = 100  # the same where a scale runs a small part of a plan: no core waits for long
SHORT_SECONDS = 30  # cells on one problem share a job up to about this long
STUDY_SHARE = 0.1  # of a study's cost at scale paper, at smaller ones
T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What one seed costs: CPU seconds in the mean over the seeds that were measured, those of the
    dearest one, peak memory in MiB, and whether it was this very curve that was measured.
    """

    seconds: float
    most: float
    mib: float
    measured: bool


UNKNOWN = Cost(60.0, 60.0, 1000.0, measured=False)  # where nothing is known


class Measured(NamedTuple):
    """A line of the table: what the published seeds of a curve took."""

    paper: str
    problem: str  # with its reading
    curve: str
    evaluations: int  # of a seed; 1 of a study
    seconds: float  # the mean over the seeds
    most: float  # the largest of them
    mib: float  # the largest of them

    @property
    def algorithm(self) -> str:
        return algorithm_of(self.curve)

    def cost(self, evaluations: int, *, measured: bool = False) -> Cost:
        """The same for so many evaluations, in proportion."""
        share = evaluations / self.evaluations
        return Cost(self.seconds * share, self.most * share, self.mib, measured)


def algorithm_of(curve: str) -> str:
    """The algorithm of `algorithm[@reading][+variant]`."""
    return curve.partition("@")[0].partition("+")[0]


@cache
def table() -> tuple[Measured, ...]:
    """papers/measured.csv; empty where there is none."""
    path = ROOT / TABLE
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(
            Measured(
                line["paper"],
                line["problem"],
                line["curve"],
                int(line["evaluations"]),
                float(line["seconds"]),
                float(line["most"]),
                float(line["mib"]),
            )
            for line in csv.DictReader(lines)
        )


def estimate(paper: str, problem: str, curve: str, evaluations: int) -> Cost:
    """The cost of one seed of a curve on `problem[@reading]`: as was measured of it, else as of the
    dearest curve that resembles it.

    Curves of the algorithm on the same problem resemble it most, then those of the algorithm on any
    problem of any paper.
    """
    base = problem.partition("@")[0]
    here = [line for line in table() if line.paper == paper]
    for line in here:
        if (line.problem, line.curve) == (problem, curve):
            return line.cost(evaluations, measured=evaluations <= line.evaluations)
    algorithm = algorithm_of(curve)
    alike = [line for line in table() if line.algorithm == algorithm and line.problem != STUDIES]
    nearest = [
        line for line in alike if line.paper == paper and line.problem.partition("@")[0] == base
    ]
    return _dearest(line.cost(evaluations) for line in nearest or alike)


def estimate_study(paper: str, study: str, *, is_cut: bool = False) -> Cost:
    """The cost of one seed of a study: its own, else that of the dearest of its paper."""
    share = STUDY_SHARE if is_cut else 1.0
    known = [line for line in table() if (line.paper, line.problem) == (paper, STUDIES)]
    mine = [line for line in known if line.curve == study]
    found = _dearest(line.cost(1, measured=bool(mine)) for line in mine or known)
    return Cost(found.seconds * share, found.most * share, found.mib, found.measured)


def _dearest(costs: Iterator[Cost]) -> Cost:
    return max(costs, key=lambda cost: cost.most, default=UNKNOWN)


def duration(seconds: float) -> str:
    """For people."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    for unit, size, most in (("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{seconds / size:.{0 if unit == 'min' else 1}f} {unit}"
    return f"{seconds / 86400:.1f} days"


def chunks(
    seeds: tuple[int, ...], seconds: float, most: float = JOB_SECONDS
) -> list[tuple[int, ...]]:
    """Seeds by job: as many together as take about so many seconds."""
    many = max(1, int(most / max(seconds, 0.1)))
    return [seeds[start : start + many] for start in range(0, len(seeds), many)]


def packed(things: Sequence[T], seconds: Iterable[float]) -> list[list[T]]:
    """Neighbours together as long as they take no more than a short run may: starting a process
    costs seconds, too.
    """
    bins: list[list[T]] = []
    room = 0.0
    for thing, cost in zip(things, seconds, strict=True):
        if not bins or cost > room:
            bins.append([])
            room = SHORT_SECONDS
        bins[-1].append(thing)
        room -= cost
    return bins
