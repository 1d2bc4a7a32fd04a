"""What a run costs, measured: papers/costs.yaml, which `python -m benchmarks.costs` writes from
records.

A cost is CPU seconds of one thread and peak memory. It decides how many seeds share a job, what a
cluster is asked for, and the core-hours that the plan prints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import yaml

from workflow.plan.resolve import ROOT

JOB_SECONDS = 300  # seeds share a job up to about this long
SHORT_SECONDS = 30  # cells on one problem share a job up to about this long
T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What one seed costs: CPU seconds, peak memory in MiB, and whether that was measured on this
    very cell.
    """

    seconds: float
    mib: float
    measured: bool


def duration(seconds: float) -> str:
    """For people."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    for unit, size, most in (("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{seconds / size:.{0 if unit == 'min' else 1}f} {unit}"
    return f"{seconds / 86400:.1f} days"


@cache
def table() -> dict[str, Any]:
    path = ROOT / "papers" / "costs.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


def estimate(paper: str, problem: str, curve: str, algorithm: str, share: float) -> Cost:
    """The cost of one seed from papers/costs.yaml, scaled by the share of the budget that is run.

    A cell that was never measured takes the dearest measured cell of its algorithm on its problem,
    else of its problem, else of its paper.
    """
    measured = table().get(paper, {})
    here = measured.get(problem, {})
    if curve in here:
        seconds, mib = here[curve]
        return Cost(seconds * share, mib, measured=True)
    like = [value for name, value in here.items() if re.split("[@+]", name)[0] == algorithm]
    like = (
        like
        or list(here.values())
        or [value for part in measured.values() for value in part.values()]
        or [(60.0, 1000.0)]
    )
    return Cost(
        max(value[0] for value in like) * share, max(value[1] for value in like), measured=False
    )


def chunks(seeds: tuple[int, ...], seconds: float) -> list[tuple[int, ...]]:
    """Seeds by job: as many together as take about five minutes."""
    many = max(1, int(JOB_SECONDS / max(seconds, 0.1)))
    return [seeds[start : start + many] for start in range(0, len(seeds), many)]


def packed(things: Sequence[T], seconds: Sequence[float]) -> list[list[T]]:
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
