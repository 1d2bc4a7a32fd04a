"""What starting costs: the CPU time of a workflow that no optimizer and no problem had.

The list of records that a job leaves says what its process has cost, imports and all, what of that
was work (asking, telling and evaluating), and what the Snakemakes have cost that a cluster starts
for the job alone (workflow/run/spent.py). Drawing and judging are no part of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Overhead:
    """CPU seconds of the jobs that made records and of Snakemake itself,
    and what of them was work.
    """

    jobs: int
    processes: float
    work: float
    snakemake: float

    @property
    def share(self) -> float:
        """Of everything that is no work in all CPU time; 0 where nothing was run."""
        total = self.processes + self.snakemake
        return 1 - self.work / total if total else 0.0

    def __str__(self) -> str:
        beside = self.processes - self.work
        return (
            f"overhead {100 * self.share:.1f} % of {self.processes + self.snakemake:.0f} CPU"
            f" seconds: {beside:.0f} s in {self.jobs} jobs (imports, plans, records),"
            f" {self.snakemake:.0f} s in Snakemake itself"
        )


def measured(lists: Iterable[Mapping[str, Any]], logs: Iterable[Path]) -> Overhead:
    """The sum over what the lists of records say that say what they cost, and over the workflows in
    the logs.
    """
    found = [entry for entry in lists if "work_seconds" in entry]
    on_nodes = sum(float(entry.get("snakemake_seconds", 0)) for entry in found)
    lines = [
        line
        for log in logs
        if log.exists()
        for line in log.read_text(encoding="utf-8").splitlines()
    ]
    snakemake = on_nodes + sum(float(entry.get("cpu_seconds", 0)) for entry in map(_parsed, lines))
    processes = sum(float(entry["cpu_seconds"]) for entry in found)
    return Overhead(
        len(found), processes, sum(float(entry["work_seconds"]) for entry in found), snakemake
    )


def _parsed(text: str) -> dict[str, Any]:
    """{} where it is not written to the end."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
