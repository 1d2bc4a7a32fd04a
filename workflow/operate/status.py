"""How far a scale is: `python -m workflow.status [--scale quick] [--papers a,b] [--seeds 0-4]
[--watch SECONDS] [--json] [--fresh]`.

What is counted and how: workflow/operate/tally.py. What starting jobs has cost beside the runs is
told as overhead.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from workflow.operate.tally import ENDED, STATES, Results, Run, Tally, by_problem, tally
from workflow.plan.costs import duration
from workflow.plan.expand import chosen_papers, load
from workflow.plan.resolve import PlanError
from workflow.plan.wishes import check_folders
from workflow.run.lease import Failure

RARE = ("published", "timeout", "damaged")
SHOWN = 5  # errors, where not all are asked for
CLEAR = "\033[H\033[2J"


def table(runs: Sequence[Run], cores: int) -> list[str]:
    """Lines of text: a row for every paper and problem, their sum, and how long the rest takes."""
    total = tally(runs)
    unit, size = ("core-h", 3600) if total.spent + total.remaining >= 3600 else ("core-min", 60)
    # columns of zeros, nearly always
    states = [state for state in STATES if state not in RARE or total.states[state]]
    rows = [["paper", "problem", "runs", *states, f"{unit} spent", "to go"]]
    for place, found in {**by_problem(runs), ("total", ""): total}.items():
        counts = [str(found.states[state] or "-") for state in states]
        rows.append(
            [
                *place,
                str(found.runs),
                *counts,
                f"{found.spent / size:.2f}",
                f"{found.remaining / size:.2f}",
            ]
        )
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = ["  ".join(map(str.ljust, row[:2], wide)) for row in rows]
    numbers = ["  ".join(map(str.rjust, row[2:], wide[2:])) for row in rows]
    return [*map("  ".join, zip(names, numbers, strict=True)), "", line(total, cores)]


def line(total: Tally, cores: int) -> str:
    """A tally as a sentence."""
    counts = ", ".join(f"{count} {state}" for state, count in total.states.items() if count)
    rest = (
        f"; about {duration(total.wait(cores))} to go on {cores} cores" if total.remaining else ""
    )
    return f"{total.runs} runs: {counts}{rest}"


def under_way(runs: Iterable[Run]) -> list[str]:
    """Lines that say who makes what."""
    lines = [
        f"  {run.name}: {duration(run.owner.elapsed)}, {run.owner}"
        for run in runs
        if run.state == "running"
    ]
    return ["", "running:", *lines] if lines else []


def damages(runs: Iterable[Run], *, everything: bool) -> list[str]:
    """Lines that say which records are damaged, how, and what to do."""
    found = [run.damage for run in runs if run.damage]
    lines = [f"  {sentence}" for sentence in (found if everything else found[:SHOWN])]
    left = len(found) - len(lines)
    more = [f"  ... and {left} more: --failures lists all"] if left else []
    return ["", "damaged:", *lines, *more] if found else []


def failures(runs: Iterable[Run], *, everything: bool) -> list[str]:
    """Lines that say why runs failed and how to make them; without `everything` equal errors are
    told once.
    """
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.told is not None:
            alike.setdefault(
                (run.told.type, run.name if everything else run.told.error), []
            ).append(run)
    groups = list(alike.values())
    shown = groups if everything else groups[:SHOWN]
    lines = [text for group in shown for text in _failure(group[0], len(group) - 1)]
    more = (
        [f"  ... and {len(groups) - len(shown)} more errors: --failures lists all"]
        if len(groups) > len(shown)
        else []
    )
    return ["", "failed:", *lines, *more] if groups else []


def _failure(run: Run, others: int) -> list[str]:
    """Lines on a run that failed as others did."""
    told = run.told or Failure("", "", "")
    reached = f", after {told.evaluations} evaluations" if told.evaluations else ""
    more = f" (and {others} more)" if others else ""
    sentence = told.error.replace("\n", "\n    ")
    return [f"  {run.name}{more}{reached}: {told.type}: {sentence}", f"    {run.command}"]


def as_json(
    runs: Sequence[Run], failed: Iterable[Run], notes: Iterable[str], scale: str, cores: int
) -> dict[str, object]:
    """The same for programs; seconds are CPU seconds but for `wait_seconds`."""

    def entry(found: Tally) -> dict[str, object]:
        return {
            "runs": found.runs,
            **found.states,
            "spent_seconds": found.spent,
            "remaining_seconds": found.remaining,
        }

    total = tally(runs)
    problems = [
        {"paper": paper, "problem": problem, **entry(found)}
        for (paper, problem), found in by_problem(runs).items()
    ]
    owners = {run.name: run.owner for run in runs if run.state == "running"}
    busy = [
        {"run": name, "elapsed_seconds": owner.elapsed, **asdict(owner)}
        for name, owner in owners.items()
    ]
    told = [
        {"run": run.name, "command": run.command, **asdict(run.told)}
        for run in failed
        if run.told is not None
    ]
    damaged = [{"run": run.name, "error": run.damage} for run in failed if run.damage]
    return {
        "scale": scale,
        "cores": cores,
        "total": {**entry(total), "wait_seconds": total.wait(cores)},
        "problems": problems,
        "running": busy,
        "failures": told,
        "damaged": damaged,
        "notes": list(notes),
    }


def report(results: Results, options: argparse.Namespace) -> tuple[str, Tally]:
    """What is to be printed now, and its sum."""
    runs = results.runs()
    failed = [*results.initial_failures(), *results.initial_damages(), *runs]
    beside = results.overhead()
    if options.json:
        found = {
            **as_json(runs, failed, results.notes, options.scale, options.cores),
            "overhead": asdict(beside),
        }
        return json.dumps(found, indent=None if options.watch else 1), tally(runs)
    lines = [*table(runs, options.cores), *([str(beside)] if beside.jobs else []), *under_way(runs)]
    lines += damages(failed, everything=options.failures)
    lines += failures(failed, everything=options.failures)
    return "\n".join(lines + [text for note in results.notes for text in ("", note)]), tally(runs)


def watch(results: Results, options: argparse.Namespace) -> None:
    """Print until everything is done or failed: a live table on a terminal, elsewhere a line for
    every change.
    """
    live = sys.stdout.isatty() and not options.json
    last: Mapping[str, int] = {}
    while True:
        text, total = report(results, options)
        short = text if options.json else f"{datetime.now():%H:%M:%S} {line(total, options.cores)}"
        if live or total.states != last:
            print(CLEAR + text if live else short, flush=True)
        if sum(total.states[state] for state in ENDED) == total.runs:
            return
        last = total.states
        time.sleep(options.watch)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.status",
        description="What is done at a scale, and what the rest will cost.",
    )
    parser.add_argument("--scale", default="quick")
    parser.add_argument("--papers", default="", help="such as bbkb,bkb; default: all")
    parser.add_argument("--seeds", default="", help="one seed or a range such as 0-4")
    parser.add_argument(
        "--cores",
        type=int,
        default=os.cpu_count() or 1,
        help="the number of cores for the remaining runs (default: all)",
    )
    parser.add_argument(
        "--failures", action="store_true", help="list all that failed or are damaged"
    )
    parser.add_argument(
        "--watch",
        type=float,
        metavar="SECONDS",
        help="print again after so many seconds, until everything is done or has failed",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON; with --watch a line for every change"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="count no published records, only those in results/"
    )
    options = parser.parse_args(arguments)
    if options.cores < 1 or (options.watch is not None and not options.watch > 0):
        parser.error("--cores and --watch: expected a positive number")
    try:
        check_folders()
        results = Results(
            [
                load(name, options.scale, seeds=options.seeds)
                for name in chosen_papers(options.papers)
            ],
            fresh=options.fresh,
        )
        if options.watch:
            watch(results, options)
        else:
            print(report(results, options)[0])
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
    return 0
