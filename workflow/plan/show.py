"""What a scale runs and what it costs, as a table: `python -m workflow.plan`."""

from __future__ import annotations

import argparse
import sys

from workflow.plan.cells import Cell, Paper, Study
from workflow.plan.expand import chosen_papers, load
from workflow.plan.resolve import PlanError


def main(arguments: list[str] | None = None) -> int:
    """Print the table of runs with their counts and core-hours."""
    parser = argparse.ArgumentParser(
        prog="python -m workflow.plan", description="What a scale runs and what it costs."
    )
    parser.add_argument("papers", nargs="*", help="default: all papers")
    parser.add_argument("--scale", default="quick")
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
    return 0


def _table(plan: Paper, *, cells: bool) -> list[str]:
    """Lines of text: runs, evaluations and core-hours by problem and algorithm (or cell), and their
    sum.
    """
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
        hours = sum(len(part.seeds) * part.cost.seconds for part in group) / 3600
        mark = "measured" if all(part.cost.measured for part in group) else "estimated"
        runs = sum(len(part.seeds) for part in group)
        lines.append(
            f"{problem:<{wide}} {name:<38} {len(group):>5} {runs:>5} {hours:>11.3f} {mark}"
        )
    everything = [part for group in rows.values() for part in group]
    total = sum(len(part.seeds) * part.cost.seconds for part in everything) / 3600
    lines.append(
        f"{'sum':<{wide + 39}} {len(everything):>5}"
        f" {sum(len(part.seeds) for part in everything):>5} {total:>11.3f}"
    )
    return lines
