"""Run cells of the plan: `python -m workflow.run PAPER PROBLEM CURVE SEEDS [-o FILE]`.

A curve is `algorithm[@reading][+variant]`, or `initial` for the initial design that all algorithms
share; a study is named after `studies`. Runs that failed are told in a sentence, and the others of
the same command are made all the same.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from workflow.plan.cells import Cell, Paper
from workflow.plan.expand import load
from workflow.plan.resolve import PlanError, parse_seeds, seed_range
from workflow.plan.wishes import check_folders
from workflow.run import spent
from workflow.run.lease import Refused
from workflow.run.target import Limits, Made, Target
from workflow.trace import listing, one_path
from workflow.trace.atomic import atomic


def _shortened(cell: Cell, options: argparse.Namespace) -> Cell:
    """A hand-made shorter run, never in the place of a record of the plan."""
    if options.evaluations is None:
        return cell
    if options.output is None:
        raise PlanError("--evaluations makes a shorter run than planned: name its file with -o")
    return replace(cell, budget=min(cell.budget, options.evaluations))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.run", description=__doc__)
    parser.add_argument("paper")
    parser.add_argument(
        "problem", help="as in the paper's YAML, with @READING where a reading changes the problem"
    )
    parser.add_argument(
        "curve",
        help=(
            "algorithm[@reading][+variant], or several with commas; `initial` for the shared"
            " initial design; a study after `studies`, or several"
        ),
    )
    parser.add_argument("seeds", help="one seed or a range such as 0-9")
    parser.add_argument("--scale", default="paper")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the record of a single seed (default: its place in results/)",
    )
    parser.add_argument(
        "--evaluations",
        type=int,
        help="a smaller budget, with -o only: the exact prefix of the full run",
    )
    parser.add_argument(
        "--marker",
        type=Path,
        help="when all records are made, write a list of them and their hashes here",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=Limits.seconds,
        help="stop after the first step that ends later than this",
    )
    parser.add_argument(
        "--checkpoint-every",
        type=float,
        default=Limits.checkpoint_every,
        help="seconds between checkpoints",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=Limits.wait,
        help="seconds to wait for a process that makes the same record",
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        check_folders()
        one_path.instead()
        plan, seeds = load(options.paper, options.scale), parse_seeds(options.seeds)
        if options.output and (len(seeds) > 1 or "," in options.curve):
            raise PlanError(
                f"-o names the record of one seed of one curve, got {options.curve} seeds"
                f" {options.seeds}"
            )
    except (PlanError, one_path.BadPath, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    wrong: set[str] = set()
    targets = list(_targets(plan, seeds, options, wrong))
    made = all_made(targets, Limits(options.seconds, options.checkpoint_every, options.wait), wrong)
    if wrong:
        return 1
    if (
        options.marker and options.seconds == Limits.seconds
    ):  # a run that may have been cut is not finished
        _mark(options.marker, seed_range(seeds), made)
    return 0


def _targets(
    plan: Paper, seeds: Sequence[int], options: argparse.Namespace, wrong: set[str]
) -> Iterator[Target]:
    """The records that a command line names; what names none is told, and keeps no other from
    being made.
    """
    for curve, seed in product(options.curve.split(","), seeds):
        try:
            yield _target(plan, curve, seed, options)
        except PlanError as error:
            _tell(error, wrong)


def _target(plan: Paper, curve: str, seed: int, options: argparse.Namespace) -> Target:
    """Raises PlanError."""
    if curve == "initial":
        cell = plan.first_cell(options.problem)
        return Target("initial", cell, seed, cell.initial_folder / f"{seed}.parquet")
    if options.problem == "studies":
        study = plan.study(curve)
        return Target("study", study, seed, study.record(seed))
    cell = _shortened(plan.cell(options.problem, curve), options)
    return Target("run", cell, seed, options.output or cell.record(seed))


def all_made(targets: Sequence[Target], limits: Limits, wrong: set[str]) -> dict[Target, Made]:
    """The records. What went wrong with one is told and added to `wrong`, and keeps no other from
    being made.
    """

    one_path.take()
    # here, since libraries are loaded with the kernels of the path that was taken
    from workflow.run import supervisor

    made: dict[Target, Made] = {}
    for target in targets:
        try:
            made[target] = supervisor.made(target, limits)
        except Refused as error:
            _tell(error, wrong)
        except supervisor.Failed as error:
            _tell(error, wrong)
            if error.everywhere:
                break
    return made


def _tell(error: Exception, told: set[str]) -> None:
    """Say what went wrong, once where it is the same for several records."""
    sentence = str(error)
    if sentence not in told:
        print(f"error: {sentence}", file=sys.stderr)
    told.add(sentence)


def _mark(marker: Path, seeds: str, made: Mapping[Target, Made]) -> None:
    """The list of finished records that Snakemake tracks, and what making them has cost this
    process and its children, which have ended.
    """
    traces: dict[str, dict[int, str]] = {}
    for target, one in made.items():
        traces.setdefault(target.curve, {})[target.seed] = one.trace_sha256
    text = {
        "seeds": seeds,
        "trace_sha256": traces,
        "files": listing.files(marker, traces),
        "timeouts": sum(one.status == "timeout" for one in made.values()),
        "cpu_seconds": sum(_used(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)),
        "work_seconds": sum(one.seconds for one in made.values()),
        "snakemake_seconds": spent.of_this_job(),
    }
    with atomic(marker) as temporary:
        temporary.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


def _used(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime
