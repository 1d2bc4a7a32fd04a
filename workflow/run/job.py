"""Make records: `python -m workflow.run PAPER PROBLEM CURVE SEEDS [-o FILE ...]`.

A curve is `algorithm[@reading][+variant]`; a study is a curve of the problem `studies`. The jobs of
the workflow are given what decides their runs (--given), and plan nothing again. A record that is
in the store is handed out, unless NOREGRET_AGAIN=1 is set. Runs that failed are told in a sentence,
and the other seeds are made all the same.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from pathlib import Path

from workflow.run.lease import Failed
from workflow.run.target import Target
from workflow.trace import curves, one_path
from workflow.trace.curves import AnyCurve, PlanError, parse_seeds

DEPTH = 5  # of a record below the folder that has results/


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.run", description=__doc__)
    parser.add_argument("paper")
    parser.add_argument(
        "problem",
        help=(
            "as in the paper's YAML, with @READING where a reading changes the problem; `studies`"
            " for a study"
        ),
    )
    parser.add_argument("curve", help="algorithm[@reading][+variant], or the name of a study")
    parser.add_argument("seeds", help="one seed or a range such as 0-9")
    parser.add_argument("--scale", default="paper")
    parser.add_argument(
        "--given",
        type=Path,
        metavar="FILE",
        help="read what decides the runs from a file, as the workflow gives it",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="files for the records, one a seed (default: results/ and its store)",
    )
    parser.add_argument(
        "--checkpoint-every",
        type=float,
        default=Target.checkpoint_every,
        help="seconds between checkpoints",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=Target.wait,
        help="seconds to wait for a process that makes the same record",
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        targets = _targets(options)
        one_path.take()
    except (PlanError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    # here, since libraries are loaded with the kernels of the path that was taken
    from workflow.run import supervisor

    said: set[str] = set()
    for target in targets:
        try:
            supervisor.make(target)
        except Failed as error:
            if str(error) not in said:  # it may be the same for several records
                print(f"error: {error}", file=sys.stderr)
            said.add(str(error))
            if error.everywhere:
                break
    return 1 if said else 0


def _targets(options: argparse.Namespace) -> list[Target]:
    """The records that a command line names. Raises PlanError."""
    seeds = parse_seeds(options.seeds)
    curve = (
        curves.from_json(options.given.read_text(encoding="utf-8"))
        if options.given
        else _planned(options)
    )
    outputs = options.output or [curve.record(seed) for seed in seeds]
    if len(outputs) != len(seeds):
        raise PlanError(
            f"-o: expected a file for each of {len(seeds)} seeds, got {len(outputs)} files"
        )
    if options.given and len(outputs[0].parents) <= DEPTH:
        raise PlanError(
            "-o: expected FOLDER/results/SCALE/PAPER/PROBLEM/CURVE/SEED.parquet beside --given, got"
            f" {outputs[0]}"
        )
    root = outputs[0].parents[DEPTH] if options.given else Path()
    again = os.environ.get("NOREGRET_AGAIN") == "1"
    stored = bool(options.given) or options.output is None
    return [
        Target(curve, seed, path, root, again, stored, options.checkpoint_every, options.wait)
        for seed, path in zip(seeds, outputs, strict=True)
    ]


def _planned(options: argparse.Namespace) -> AnyCurve:
    """The curve or study that a command line names. Raises PlanError."""
    # what a job of the workflow does not need
    from workflow.plan.expand import load
    from workflow.plan.wishes import check_folders

    check_folders()
    return load(options.paper, options.scale).any_curve(options.problem, options.curve)
