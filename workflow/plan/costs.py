"""What a run costs: CPU seconds of one thread and peak memory, as the published records of its
curve have them.

papers/measured.csv has a line for each curve on a problem, and for each study; publishing writes
the table anew (workflow/operate/publish.py). Costs decide how many seeds share a job, what a
cluster is asked for, and which work begins first. They are measurements of several machines, and
nobody needs them to be exact: a job that reaches a limit is tried again with a higher one.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from workflow import ROOT
from workflow.trace.curves import STUDIES, Curve, Study, algorithm_of

TABLE = "papers/measured.csv"
TOGETHER_SECONDS = 300  # all seeds of a curve share a process up to about this long
STUDY_SHARE = 0.1  # of a study's cost at scale paper, at smaller ones


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

    def cost(self, evaluations: float, *, measured: bool = False) -> Cost:
        """The same for so many evaluations, in proportion."""
        share = evaluations / self.evaluations
        return Cost(self.seconds * share, self.most * share, self.mib, measured)


@cache
def table() -> tuple[Measured, ...]:
    """papers/measured.csv; empty where there is none."""
    path = ROOT / TABLE
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))[1:]
    return tuple(
        Measured(paper, problem, curve, int(evaluations), float(seconds), float(most), float(mib))
        for paper, problem, curve, evaluations, seconds, most, mib in rows
    )


def of(part: Curve | Study) -> Cost:
    """The cost of one seed of a curve or a study."""
    cut = STUDY_SHARE if isinstance(part, Study) and part.scale != "paper" else 1.0
    return estimate(part.paper, *part.place, part.budget if isinstance(part, Curve) else cut)


def seconds(part: Curve | Study) -> float:
    """CPU seconds of all seeds."""
    return len(part.seeds) * of(part).seconds


def minutes(part: Curve | Study, seeds: int) -> int:
    """A generous time limit of a job that makes so many seeds, for a cluster."""
    return 10 + round(3 * seeds * of(part).most / 60)


def memory_mb(part: Curve | Study) -> int:
    """A generous memory limit of a job, for a cluster."""
    return 500 + round(1.5 * of(part).mib)


@cache
def estimate(paper: str, problem: str, curve: str, evaluations: float) -> Cost:
    """The cost of one seed of a curve on `problem[@reading]`, or of a study: as was measured of it,
    else as of the dearest that resembles it.

    Curves of the algorithm on the same problem resemble it most, then those of the algorithm on any
    problem of any paper. A study resembles those of its paper.
    """
    here = [line for line in table() if line.paper == paper]
    for line in here:
        if (line.problem, line.curve) == (problem, curve):
            return line.cost(evaluations, measured=evaluations <= line.evaluations)
    base, algorithm = problem.partition("@")[0], algorithm_of(curve)
    alike = [line for line in here if line.problem.partition("@")[0] == base]
    if problem != STUDIES:
        every = [line for line in table() if line.problem != STUDIES]
        alike = [line for line in alike if algorithm_of(line.curve) == algorithm] or [
            line for line in every if algorithm_of(line.curve) == algorithm
        ]
    costs = (line.cost(evaluations) for line in alike)
    return max(costs, key=lambda cost: cost.most, default=UNKNOWN)


def duration(seconds: float) -> str:
    """For people."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    for unit, size, most in (("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{seconds / size:.{0 if unit == 'min' else 1}f} {unit}"
    return f"{seconds / 86400:.1f} days"
