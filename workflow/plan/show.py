"""What a scale runs and what it costs, as a table: `python -m workflow.plan`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from workflow.plan import costs
from workflow.plan.expand import chosen_papers, load
from workflow.plan.paper import Paper
from workflow.trace.cells import Cell, PlanError, Study

NOTE = "Core-hours as the published records of each curve took them (papers/measured.csv)."


def main(arguments: list[str] | None = None) -> int:
    """Print the table of runs with their counts and core-hours."""
    parser = argparse.ArgumentParser(
        prog="python -m workflow.plan", description="What a scale runs and what it costs."
    )
    parser.add_argument("papers", nargs="*", help="default: all papers")
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--seeds", default="", help="cut the seeds by hand, e.g. 0-4")
    parser.add_argument(
        "--cells", action="store_true", help="one line for each cell instead of each algorithm"
    )
    options = parser.parse_args(arguments)
    try:
        plans = [
            load(name, options.scale, seeds=options.seeds)
            for name in chosen_papers(",".join(options.papers))
        ]
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for plan in plans:
        print("\n".join(_table(plan, cells=options.cells)), end="\n\n")
    if len(plans) > 1:
        print(_sum("all papers", [part for plan in plans for part in plan.parts]))
    print(NOTE)
    return 0


def _table(plan: Paper, *, cells: bool) -> list[str]:
    """Lines of text: runs and core-hours by problem and algorithm (or cell), and their sum."""
    rows: dict[tuple[str, str], list[Cell | Study]] = {}
    for cell in plan.cells:
        rows.setdefault((cell.problem_name, cell.curve if cells else cell.algorithm), []).append(
            cell
        )
    for study in plan.studies.values():
        rows.setdefault(("studies", study.id), []).append(study)
    wide = max(10, *(len(problem) for problem, _ in rows))
    heads = f"{'problem':<{wide}} {'what':<38} {'cells':>5} {'runs':>5} {'core-hours':>11}"
    lines = [f"{plan.name} at scale {plan.scale}", heads]
    for (problem, name), group in rows.items():
        mark = "measured" if all(costs.of(part).measured for part in group) else "estimated"
        lines.append(f"{_sum(f'{problem:<{wide}} {name:<38}', group)} {mark}")
    everything = [part for group in rows.values() for part in group]
    lines.append(_sum(f"{'sum':<{wide + 39}}", everything))
    return lines


def _sum(head: str, parts: Sequence[Cell | Study]) -> str:
    """A line: how many parts and runs, and their core-hours."""
    runs = sum(len(part.seeds) for part in parts)
    hours = sum(map(costs.seconds, parts)) / 3600
    return f"{head} {len(parts):>5} {runs:>5} {hours:>11.3f}"
