"""How far a scale is: `python -m workflow.status [--scale paper] [--papers a,b] [--seeds 0-4]
[--json] [--fresh]`.

A run is one seed of a curve or a study. It is done if its record in results/ is one of today's code
and parameters, else published, else stale, else missing. Costs are CPU seconds of one thread, as
records have them; those to go as papers/measured.csv has them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow.measure.store import Store, without_published
from workflow.plan import costs
from workflow.plan.costs import duration
from workflow.plan.expand import chosen_papers, load
from workflow.plan.paper import Paper
from workflow.plan.wishes import check_folders
from workflow.trace import record
from workflow.trace.cells import Cell, PlanError, Study

STATES = ("done", "published", "timeout", "stale", "missing")
TO_GO = ("stale", "missing")


@dataclass(frozen=True)
class Run:
    """One seed of a curve or a study: what became of it, and CPU seconds that it has cost or, where
    it is to be made, will cost.
    """

    paper: str
    problem: str
    state: str
    seconds: float


def runs(plan: Paper, root: Path = Path()) -> list[Run]:
    """Every run of a plan, as it is now; a seed that its plan says is published counts as that
    where results/ has none.
    """
    store = Store(plan, root)
    return [
        Run(plan.name, part.place[0], state, spent if spent else costs.of(part).seconds)
        for part in plan.parts
        for seed in part.seeds
        for state, spent in [_state(store, plan, part, seed)]
    ]


def _state(store: Store, plan: Paper, part: Cell | Study, seed: int) -> tuple[str, float]:
    """What became of a run, and what it has cost; 0 where that is not known."""
    path = store.root / part.record(seed)
    header = record.read_header(path) if path.exists() else {}
    status = header.get("status", "complete")
    if header and status in record.FINAL and store.is_current(part, header):
        return "done" if status == "complete" else "timeout", float(header.get("cpu_seconds", 0.0))
    if (part.name, seed) in plan.lent:
        return "published", 0.0
    return ("stale" if path.exists() else "missing"), 0.0


def table(found: Sequence[Run], cores: int) -> list[str]:
    """Lines of text: a row for every paper and problem, their sum, and how long the rest takes."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in found:
        groups.setdefault((run.paper, run.problem), []).append(run)
    rows = [["paper", "problem", "runs", *STATES, "core-h spent", "to go"]]
    for place, group in {**groups, ("total", ""): list(found)}.items():
        counts = Counter(run.state for run in group)
        hours = [f"{seconds / 3600:.2f}" for seconds in (_spent(group), _to_go(group))]
        states = [str(counts[state] or "-") for state in STATES]
        rows.append([*place, str(len(group)), *states, *hours])
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = ["  ".join(map(str.ljust, row[:2], wide)) for row in rows]
    numbers = ["  ".join(map(str.rjust, row[2:], wide[2:])) for row in rows]
    return [*map("  ".join, zip(names, numbers, strict=True)), "", line(found, cores)]


def line(found: Sequence[Run], cores: int) -> str:
    """The same as a sentence."""
    counts = Counter(run.state for run in found)
    said = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    rest = _to_go(found)
    wait = f"; about {duration(rest / cores)} to go on {cores} cores" if rest else ""
    return f"{len(found)} runs: {said}{wait}"


def as_json(found: Sequence[Run], scale: str, cores: int) -> dict[str, object]:
    """The same for programs, in CPU seconds but for `wait_seconds`."""
    counts = Counter(run.state for run in found)
    return {
        "scale": scale,
        "cores": cores,
        "runs": len(found),
        **{state: counts[state] for state in STATES},
        "spent_seconds": _spent(found),
        "remaining_seconds": _to_go(found),
        "wait_seconds": _to_go(found) / cores,
    }


def _spent(found: Iterable[Run]) -> float:
    return sum(run.seconds for run in found if run.state in ("done", "timeout"))


def _to_go(found: Iterable[Run]) -> float:
    return sum(run.seconds for run in found if run.state in TO_GO)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.status",
        description="What is done at a scale, and what the rest will cost.",
    )
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--papers", default="", help="such as bbkb,bkb; default: all")
    parser.add_argument("--seeds", default="", help="one seed or a range such as 0-4")
    parser.add_argument(
        "--cores",
        type=int,
        default=os.cpu_count() or 1,
        help="the number of cores for the remaining runs (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
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
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    plans = plans if options.fresh else [without_published(plan) for plan in plans]
    found = [run for plan in plans for run in runs(plan)]
    if options.json:
        print(json.dumps(as_json(found, options.scale, options.cores), indent=1))
    else:
        print("\n".join(table(found, options.cores)))
    return 0
