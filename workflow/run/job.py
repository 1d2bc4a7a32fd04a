"""Run cells of the plan: `python -m workflow.run PAPER PROBLEM CURVE SEEDS [-o FILE]`.

A curve is `algorithm[@reading][+variant]`, or `initial` for the initial design that all algorithms
share; a study is named after `studies`. Runs that failed are told in a sentence, and the others of
the same command are made all the same.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import resource
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from workflow.data import fetch
from workflow.plan.cells import Cell, Paper
from workflow.plan.expand import load
from workflow.plan.resolve import PlanError, parse_seeds, seed_range
from workflow.plan.wishes import check_folders
from workflow.run import lease, spent
from workflow.run.lease import Refused
from workflow.run.make import Limits, Made, peak_mib, run_cell, run_initial, run_study
from workflow.trace import listing, record

log = logging.getLogger("noregret.run")
WRONG = (  # what an algorithm, a parameter or a simulator that is wrong may raise
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    NameError,
    RuntimeError,
    AssertionError,
    BufferError,
    EOFError,
)
TOLD = (
    PlanError,
    Refused,
    record.BadRecord,
    fetch.DataUnavailable,
    ArithmeticError,
    np.linalg.LinAlgError,
    ImportError,
    ChildProcessError,
    MemoryError,
    OSError,
)


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
        plan, seeds = load(options.paper, options.scale), parse_seeds(options.seeds)
    except TOLD as error:
        print(f"error: {_sentence(error)}", file=sys.stderr)
        return 1
    made = _all_made(plan, seeds, options)
    if made is None:
        return 1
    if (
        options.marker and options.seconds == Limits.seconds
    ):  # a run that may have been cut is not finished
        _mark(options.marker, seed_range(seeds), made)
    return 0


def _all_made(
    plan: Paper, seeds: tuple[int, ...], options: argparse.Namespace
) -> dict[str, dict[int, Made]] | None:
    """The records by curve and seed; None if one failed, which is told and keeps no other from
    being made.
    """
    made: dict[str, dict[int, Made]] = {}
    told: set[str] = set()
    for curve, seed in product(options.curve.split(","), seeds):
        same_for_all = False
        try:
            made.setdefault(curve, {}).update(_made(plan, curve, (seed,), options))
            continue
        except TOLD as error:
            sentence, same_for_all = _sentence(error), isinstance(error, fetch.DataUnavailable)
        except WRONG as error:
            who = f"{plan.name}/{options.problem}/{curve} seed {seed}"
            log.exception(who)
            sentence = (
                f"{who}: {type(error).__name__}: {error}: correct its parameters, code or"
                " simulator, then run again"
            )
        if sentence not in told:
            print(f"error: {sentence}", file=sys.stderr)
        told.add(sentence)
        if same_for_all:
            break
    return None if told else made


def _made(
    plan: Paper, curve: str, seeds: tuple[int, ...], options: argparse.Namespace
) -> dict[int, Made]:
    """The records, by seed, of what the command line names. Raises what TOLD lists."""
    limits = Limits(options.seconds, options.checkpoint_every, options.wait)
    if options.output and (len(parse_seeds(options.seeds)) > 1 or "," in options.curve):
        raise PlanError(
            f"-o names the record of one seed of one curve, got {options.curve} seeds"
            f" {options.seeds}"
        )
    if curve == "initial":
        return run_initial(replace(plan.first_cell(options.problem), seeds=seeds), limits=limits)
    if options.problem == "studies":
        return run_study(replace(plan.study(curve), seeds=seeds), limits=limits)
    cell = _shortened(replace(plan.cell(options.problem, curve), seeds=seeds), options)
    return run_cell(cell, output=options.output, limits=limits)


def _mark(marker: Path, seeds: str, made: Mapping[str, Mapping[int, Made]]) -> None:
    """The list of finished records that Snakemake tracks, and what making them has cost this
    process.
    """
    records = [one for by_seed in made.values() for one in by_seed.values()]
    text = {
        "seeds": seeds,
        "trace_sha256": {
            curve: {seed: one.trace_sha256 for seed, one in by_seed.items()}
            for curve, by_seed in made.items()
        },
        "files": listing.files(marker, made),
        "timeouts": sum(one.status == record.TIMEOUT for one in records),
        "cpu_seconds": sum(_used(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)),
        "work_seconds": sum(one.seconds for one in records),
        "snakemake_seconds": spent.of_this_job(),
    }
    with record.atomic(marker) as temporary:
        temporary.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


def _used(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _sentence(error: Exception) -> str:
    """What happened and what to do."""
    if isinstance(error, MemoryError):
        return (
            f"out of memory at {peak_mib()} MiB: give it more (snakemake --set-resources"
            " run:mem_mb=8000), or a larger machine"
        )
    if isinstance(error, OSError) and error.errno in lease.REMEDY:
        return (
            f"{error}: {lease.REMEDY[error.errno]}, then run again: it goes on from its last"
            " checkpoint"
        )
    if isinstance(error, OSError) and error.errno == errno.EROFS:
        return f"{error}: expected a folder that can be written; remount it or work in another one"
    return str(error) or type(error).__name__
