"""What a run costs, measured: papers/costs.yaml, which `python -m benchmarks.costs` writes from records.

A cost is CPU seconds of one thread and peak memory. It decides how many seeds share a job, what a cluster is asked
for, and the core-hours that the plan prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from workflow.resolve import ROOT, seed_range

JOB_SECONDS = 300  # seeds share a job up to about this long


@dataclass(frozen=True)
class Cost:
    """What one seed costs: CPU seconds, peak memory in MiB, and whether that was measured on this very cell."""

    seconds: float
    mib: float
    measured: bool


@cache
def table() -> dict[str, Any]:
    path = ROOT / "papers" / "costs.yaml"
    return yaml.safe_load(path.read_text()) if path.exists() else {}


def estimate(paper: str, problem: str, curve: str, algorithm: str, share: float) -> Cost:
    """The cost of one seed from papers/costs.yaml, scaled by the share of the budget that is run.

    A cell that was never measured takes the dearest measured cell of its algorithm on its problem, else of its
    problem, else of its paper.
    """
    measured = table().get(paper, {})
    here = measured.get(problem, {})
    if curve in here:
        seconds, mib = here[curve]
        return Cost(seconds * share, mib, measured=True)
    like = [value for name, value in here.items() if re.split("[@+]", name)[0] == algorithm]
    like = like or list(here.values()) or [value for part in measured.values() for value in part.values()] or [(60.0, 1000.0)]
    return Cost(max(value[0] for value in like) * share, max(value[1] for value in like), measured=False)


def markers(folder: Path, seeds: tuple[int, ...], seconds: float) -> list[str]:
    """One list of records a job: as many seeds together as take about five minutes."""
    many = max(1, int(JOB_SECONDS / max(seconds, 0.1)))
    chunks = [seeds[start : start + many] for start in range(0, len(seeds), many)]
    return [str(folder / f"seeds-{seed_range(chunk)}.json") for chunk in chunks]


def minutes(seeds: tuple[int, ...], seconds: float) -> int:
    many = min(len(seeds), max(1, int(JOB_SECONDS / max(seconds, 0.1))))
    return 10 + round(3 * many * seconds / 60)
