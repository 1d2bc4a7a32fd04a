"""What a run costs, measured: papers/costs.yaml, which `python -m workflow.costs` writes from the records at hand.

A cost is CPU seconds of one thread and peak memory. It decides how many seeds share a job, what a cluster is asked
for, and the core-hours that the plan prints.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from workflow import record
from workflow.resolve import ROOT, seed_range

HEAD = """# Measured: CPU seconds (one thread) and peak MiB of one seed at paper scale, by paper, problem and curve.
# Written by `python -m workflow.costs` from records; numbers of a 2-core AMD EPYC machine.
"""
JOB_SECONDS = 300  # seeds share a job up to about this long


@dataclass(frozen=True)
class Cost:
    """What one seed costs: CPU seconds, peak memory in MiB, and whether that was measured on this very cell."""

    seconds: float
    mib: float
    measured: bool


@cache
def _table() -> dict[str, Any]:
    path = ROOT / "papers" / "costs.yaml"
    return yaml.safe_load(path.read_text()) if path.exists() else {}


def estimate(paper: str, problem: str, curve: str, algorithm: str, share: float) -> Cost:
    """The cost of one seed from papers/costs.yaml, scaled by the share of the budget that is run.

    A cell that was never measured takes the dearest measured cell of its algorithm on its problem, else of its
    problem, else of its paper.
    """
    table = _table().get(paper, {})
    here = table.get(problem, {})
    if curve in here:
        seconds, mib = here[curve]
        return Cost(seconds * share, mib, measured=True)
    like = [value for name, value in here.items() if re.split("[@+]", name)[0] == algorithm]
    like = like or list(here.values()) or [value for part in table.values() for value in part.values()] or [(60.0, 1000.0)]
    return Cost(max(value[0] for value in like) * share, max(value[1] for value in like), measured=False)


def markers(folder: Path, seeds: tuple[int, ...], seconds: float) -> list[str]:
    """One list of records a job: as many seeds together as take about five minutes."""
    many = max(1, int(JOB_SECONDS / max(seconds, 0.1)))
    chunks = [seeds[start : start + many] for start in range(0, len(seeds), many)]
    return [str(folder / f"seeds-{seed_range(chunk)}.json") for chunk in chunks]


def minutes(seeds: tuple[int, ...], seconds: float) -> int:
    many = min(len(seeds), max(1, int(JOB_SECONDS / max(seconds, 0.1))))
    return 10 + round(3 * many * seconds / 60)


def main(arguments: list[str] | None = None) -> int:
    """Write papers/costs.yaml from the complete records below results/<scale>; what it does not see is kept."""
    parser = argparse.ArgumentParser(prog="python -m workflow.costs", description=main.__doc__)
    parser.add_argument("--scale", default="paper")
    options = parser.parse_args(arguments)
    seen: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    for path in sorted(Path("results", options.scale).rglob("[0-9]*.parquet")):
        found = record.read(path)
        place = path.parent.parts[2:]
        if "cpu_seconds" in found.header and len(place) == 3:
            seen[place[0], place[1], place[2]].append((found.header["cpu_seconds"], found.header["peak_mib"]))
    table = _table()
    for (paper, problem, curve), costs in seen.items():
        mean, peak = sum(cost[0] for cost in costs) / len(costs), max(cost[1] for cost in costs)
        table.setdefault(paper, {}).setdefault(problem, {})[curve] = [float(f"{mean:.2g}"), round(peak)]
    text = yaml.safe_dump(table, default_flow_style=None, sort_keys=True, width=120)
    (ROOT / "papers" / "costs.yaml").write_text(HEAD + text)
    print(f"papers/costs.yaml: {sum(map(len, seen.values()))} records of {len(seen)} cells", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
