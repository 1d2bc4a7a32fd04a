"""What the lines of `make figures` are told before the work begins: what each job is expected to
cost. The package snakemake_logger_plugin_noregret prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from workflow.plan.cells import Paper

PLUGIN = "snakemake_logger_plugin_noregret"


def expected(plans: Iterable[Paper], root: Path = Path()) -> dict[str, float]:
    """Core-seconds on the reference machine of every job that makes records and has left no list of
    them yet: its speed tells how long they take here.
    """
    return {
        marker: len(job.seeds) * sum(part.cost.seconds for part in job.parts)
        for plan in plans
        for marker, job in plan.jobs.items()
        if not (root / marker).exists()
    }


def announce(plans: Iterable[Paper]) -> None:
    """Say it to the plugin, where Snakemake has found it."""
    if plugin := sys.modules.get(PLUGIN):
        plugin.expect(expected(plans))


def priorities(plans: Iterable[Paper]) -> dict[str, int]:
    """Which paper's jobs begin first, by its name, the higher the sooner: that which costs least,
    so that something is decided soon.
    """
    costs = {plan.name: sum(part.seconds for part in plan.parts) for plan in plans}
    dearest_first = sorted(costs, key=lambda name: (-costs[name], name))
    return {name: 10 * (rank + 1) for rank, name in enumerate(dearest_first)}
