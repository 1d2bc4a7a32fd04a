"""How far a scale is: `python -m workflow.status [--scale paper] [--papers a,b] [--seeds 0-4]
[--fresh]`.

A run is one seed of a curve or a study. It is done if its record in results/ is one of today's code
and parameters, else published, else stale, else missing. Costs are CPU seconds of one thread, as
records have them; those to go as papers/measured.csv has them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from workflow.measure.store import Store, without_published
from workflow.plan import costs
from workflow.plan.costs import duration
from workflow.plan.expand import chosen_papers, load
from workflow.plan.paper import Paper
from workflow.plan.wishes import check_folders
from workflow.trace import record
from workflow.trace.curves import AnyCurve, PlanError

STATES = ("done", "published", "timeout", "stale", "missing")
SPENT, TO_GO = ("done", "timeout"), ("stale", "missing")


def runs(plan: Paper, root: Path = Path()) -> list[tuple[str, str, str, float]]:
    """Paper, problem and state of every run of a plan, as it is now, and the CPU seconds that it
    has cost or, where it is to be made, will cost. A seed that its plan says is published counts
    as that where results/ has none.
    """
    store = Store(plan, root)
    return [
        (plan.name, curve.place[0], state, spent if spent else costs.of(curve).seconds)
        for curve in plan.every_curve
        for seed in curve.seeds
        for state, spent in [_state(store, plan, curve, seed)]
    ]


def _state(store: Store, plan: Paper, curve: AnyCurve, seed: int) -> tuple[str, float]:
    """What became of a run, and what it has cost; 0 where that is not known."""
    path = store.root / curve.record(seed)
    header = record.read_header(path) if path.exists() else {}
    status = header.get("status", "complete")
    is_its_own = header.get("seed") == seed  # a digest is the same for all seeds
    if is_its_own and status in record.FINAL and store.is_current(curve, header):
        return "done" if status == "complete" else "timeout", float(header.get("cpu_seconds", 0.0))
    if (curve.name, seed) in plan.not_made:
        return "published", 0.0
    return ("stale" if path.exists() else "missing"), 0.0


def summary(plans: Iterable[Paper], root: Path = Path()) -> pd.DataFrame:
    """A row for every paper and problem, and their sum: how many runs there are and in which
    states, and the hours of one core that they have cost and will cost.
    """
    rows = [run for plan in plans for run in runs(plan, root)]
    frame = pd.DataFrame(rows, columns=["paper", "problem", "state", "seconds"])
    hours = frame["seconds"] / 3600
    counted = pd.get_dummies(frame["state"]).reindex(columns=STATES, fill_value=False).astype(int)
    columns: dict[str, Any] = {
        "runs": 1,
        **counted,
        "core-h spent": hours.where(frame["state"].isin(SPENT), 0.0),
        "to go": hours.where(frame["state"].isin(TO_GO), 0.0),
    }
    table = frame[["paper", "problem"]].assign(**columns)
    table = table.groupby(["paper", "problem"], sort=False, as_index=False).sum()
    table.loc[len(table)] = ["total", "", *table.iloc[:, 2:].sum()]
    return table


def sentence(total: pd.Series, cores: int) -> str:
    """The last row of a table in words."""
    said = ", ".join(f"{total[state]} {state}" for state in STATES if total[state])
    wait = f"; about {duration(3600 * total['to go'] / cores)} to go on {cores} cores"
    return f"{total['runs']} runs: {said}{wait if total['to go'] else ''}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.status",
        description="What is done at a scale, and what the rest will cost.",
    )
    parser.add_argument("--scale", default="paper")
    parser.add_argument(
        "--papers", default="", help="such as bbkb,bkb; default: all papers, no comparison"
    )
    parser.add_argument("--seeds", default="", help="one seed or a range such as 0-4")
    parser.add_argument(
        "--cores",
        type=int,
        default=os.cpu_count() or 1,
        help="the number of cores for the remaining runs (default: all)",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="count no published records, only those in results/"
    )
    options = parser.parse_args(arguments)
    if options.cores < 1:
        parser.error(f"--cores: expected a positive number, got {options.cores}")
    try:
        check_folders()
        plans = [
            load(name, options.scale, seeds=options.seeds) for name in chosen_papers(options.papers)
        ]
        plans = plans if options.fresh else [without_published(plan) for plan in plans]
    except (PlanError, record.BadRecord) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    table = summary(plans)
    print(table.to_string(index=False, float_format="%.2f"))
    print(f"\n{sentence(table.iloc[-1], options.cores)}")
    return 0
