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
from workflow.trace.curves import STUDIES, AnyCurve, Curve, Study, algorithm_of

TABLE = "papers/measured.csv"
TOGETHER_SECONDS = 300  # all seeds of a curve share a process up to about this long
STUDY_SHARE = 0.1  # of a study's cost at scale paper, at smaller ones


@dataclass(frozen=True)
class Cost:
    """What one seed costs: CPU seconds in the mean over the seeds that were measured, those of the
    dearest one, and peak memory in MiB.
    """

    seconds: float
    most: float
    mib: float


UNKNOWN = Cost(60.0, 60.0, 1000.0)  # where nothing is known


class Measured(NamedTuple):
    """A line of the table: what the published seeds of a curve took."""

    paper: str
    problem: str  # with its reading
    curve: str
    evaluations: int  # of a seed; 1 of a study
    seconds: float  # the mean over the seeds
    most: float  # the largest of them
    mib: float  # the largest of them

    def cost(self, evaluations: float) -> Cost:
        """The same for so many evaluations, in proportion."""
        share = evaluations / self.evaluations
        return Cost(self.seconds * share, self.most * share, self.mib)


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


def of(curve: AnyCurve) -> Cost:
    """The cost of one seed of a curve or a study."""
    cut = STUDY_SHARE if isinstance(curve, Study) and curve.scale != "paper" else 1.0
    return estimate(curve.paper, *curve.place, curve.budget if isinstance(curve, Curve) else cut)


def seconds(curve: AnyCurve) -> float:
    """CPU seconds of all seeds."""
    return len(curve.seeds) * of(curve).seconds


def minutes(curve: AnyCurve, seeds: int) -> int:
    """A generous time limit of a job that makes so many seeds, for a cluster."""
    return 10 + round(3 * seeds * of(curve).most / 60)


def memory_mb(curve: AnyCurve) -> int:
    """A generous memory limit of a job, for a cluster."""
    return 500 + round(1.5 * of(curve).mib)


@cache
def estimate(paper: str, problem: str, label: str, evaluations: float) -> Cost:
    """The cost of one seed of a curve on `problem[@reading]`, or of a study: as was measured of it,
    else as of the dearest that resembles it.

    Curves of the algorithm on the same problem resemble it most, then those of the algorithm on any
    problem of any paper. A study resembles those of its paper.
    """
    here = [line for line in table() if line.paper == paper]
    for line in here:
        if (line.problem, line.curve) == (problem, label):
            return line.cost(evaluations)
    base, algorithm = problem.partition("@")[0], algorithm_of(label)
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
