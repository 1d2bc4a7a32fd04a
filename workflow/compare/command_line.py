"""Compare a method of your own with a paper's: `python -m workflow.compare METHOD PAPER/FIGURE`,
called by `make compare`.

METHOD is a file of algorithms/ with one class that inherits from Optimizer; its parameters stand in
algorithms/METHOD.yaml. It alone is run, on the problems of the figure, with the instances, initial
designs and noise of the paper's own methods, five seeds at scale paper; what was run before is
used again. Everything is written to build/compare/PAPER-FIGURE-METHOD/.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from workflow.plan.costs import duration
from workflow.plan.guest import SCALE, Visit, visit
from workflow.plan.wishes import check_folders
from workflow.run.job import all_made
from workflow.run.target import Limits, Target
from workflow.trace.cells import Cell, PlanError, parse_seeds, seed_range


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        check_folders()
        if options.cores < 1:
            raise PlanError(f"--cores: expected a positive number, got {options.cores}")
        found = visit(options.method, options.figure, options.parameters)
        _check_folder(found.folder)
        return _made(found, *options.only) if options.only else _compared(found, options)
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped: what is finished counts; the same command goes on", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m workflow.compare",
        description="Run a method of your own in a paper's figure, draw it over the published"
        " curves, and judge it against each of them.",
    )
    options.add_argument("method", help="a file of algorithms/, such as my_method")
    options.add_argument("figure", help="PAPER/FIGURE, such as go_ucb/fig2")
    options.add_argument(
        "--parameters",
        type=Path,
        metavar="FILE",
        help="a YAML file with its parameters (default: algorithms/METHOD.yaml)",
    )
    options.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    options.add_argument(
        "--only",
        nargs=3,
        metavar=("PROBLEM", "CURVE", "SEEDS"),
        help="make these runs of the method alone, and draw nothing",
    )
    return options


def _check_folder(folder: Path) -> None:
    """Refuse a file where the results belong. Raises PlanError."""
    for path in [folder, *folder.parents[:-1]]:
        if path.exists() and not path.is_dir():
            raise PlanError(f"{path}: expected a folder, got a file of that name: move it away")


def _made(found: Visit, problem: str, curve: str, seeds: str) -> int:
    """Make some runs of the guest in children of this process, which imports no numerical library.

    Raises PlanError.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    places = {(cell.problem_name, cell.curve): cell for cell in found.cells}
    cell, wanted = places.get((problem, curve)), parse_seeds(seeds)
    if cell is None or not set(wanted) <= set(cell.seeds):
        known = ", ".join(f"{' '.join(at)} {seed_range(one.seeds)}" for at, one in places.items())
        raise PlanError(f"--only: expected some of {known}, got {problem} {curve} {seeds}")
    targets = [Target("run", cell, seed, cell.record(seed)) for seed in wanted]
    wrong: set[str] = set()
    all_made(targets, Limits(), wrong)
    return int(bool(wrong))


def _compared(found: Visit, options: argparse.Namespace) -> int:
    """Make what is missing, draw, judge, and say what came of it; 1 where some runs failed."""
    # here, since they load numerical libraries
    from workflow.compare import making, sheet
    from workflow.trace.record import BadRecord

    began, name = time.monotonic(), found.guest.name
    needs = making.missing(found)
    print(_announced(found, needs, options.cores), flush=True)
    if needs:
        print(f"what they say: {making.logs(found)}/", flush=True)
    again = [options.method, options.figure]
    again += ["--parameters", str(options.parameters)] if options.parameters else []
    errors = making.make(found, needs, options.cores, again) if needs else []
    for sentence in errors:
        print(f"error: {sentence}", file=sys.stderr)
    try:
        lines = sheet.write(found)
    except BadRecord as error:  # of a curve, or of the guest: whatever was run stays
        raise PlanError(str(error)) from None
    if not lines:
        print(f"error: {name} has no finished run: nothing is drawn", file=sys.stderr)
        return 1
    print("\n".join(lines))
    print(f"{found.folder}/ ({duration(time.monotonic() - began)})")
    return int(bool(errors))


def _announced(found: Visit, needs: Mapping[Cell, list[int]], cores: int) -> str:
    """What is run."""
    every = sum(len(cell.seeds) for cell in found.cells)
    left = sum(map(len, needs.values()))
    what = ", ".join(f"{cell.problem_name} ({cell.budget} evaluations)" for cell in found.cells)
    there = f", {every - left} of which are there" if left < every else ""
    return (
        f"{found.guest.name} in {found.name} at scale {SCALE}: {every} runs{there}; {what};"
        f" cores: {cores}"
    )
