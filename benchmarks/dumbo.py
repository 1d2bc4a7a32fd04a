"""Seconds of one step of DuMBO: `python -m benchmarks.dumbo [--steps 5]`.

A step is the tell of one evaluation, which fits, samples five decompositions and makes their
factors agree, and the ask that hands out the query. The evaluations before the t-th are uniform and
told in ten blocks, so that the chain of decompositions has left its start. "first values" does the
work of the public code: 200 steps for every fit, each new one from the first values. "inherited"
fits for 20 steps from what a model has of the one before. Problems and parameters are those of
papers/dumbo.yaml. Seconds are CPU seconds on one thread; the public code's are wall seconds with
two processes on a machine of this class, which the first kind of fits is to beat five times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from statistics import mean, median
from typing import Any
from unittest.mock import patch

from workflow.plan.expand import load
from workflow.plan.resolve import own_parameters
from workflow.run.instance import build_problem
from workflow.trace import record
from workflow.trace.seeds import rng

# isort: split
import numpy as np

import algorithms
from algorithms.parts import interactions
from problems.api import Problem

FITS = {"first values": "DuMBO", "inherited": "DuMBO@warm-fits"}
PUBLIC_CODE = {("Hartmann", 20): 5.7, ("Powell", 15): 10.9}  # seconds of a step
BLOCKS = 10
ROW = "{:<10} {:>4} {:>4}  {:<13}{:>9}{:>9}{:>9}{:>11}{:>9}{:>9}{:>9}".format


def steps(
    problem: Problem, t: int, parameters: Mapping[str, Any], count: int
) -> list[dict[str, float]]:
    """Of each of `count` steps, the first of which tells evaluation t: seconds, evidence
    evaluations, and the report.
    """
    optimizer = algorithms.build("dumbo.DuMBO", problem.domain, rng(0, "optimizer"), parameters)
    design = rng(0, "init").random((t - 1, problem.domain.d))
    for query in np.array_split(design, BLOCKS):
        optimizer.tell(query, problem.evaluate(query, rng(0, "noise")).seen)
    done, nobody = [], np.empty((0, problem.domain.d))
    query = optimizer.ask(1, nobody)
    for _ in range(count):
        seen = problem.evaluate(query, rng(0, "noise")).seen
        with patch.object(interactions, "fit", wraps=interactions.fit) as fit:
            began = time.process_time()
            optimizer.tell(query, seen)
            query = optimizer.ask(1, nobody)
            seconds = time.process_time() - began
        evidences = sum(call.kwargs["steps"] for call in fit.call_args_list)
        done.append({**optimizer.report(), "seconds": seconds, "evidences": evidences})
    return done


def row(name: str, t: int, fits: str, done: list[dict[str, float]], d: int) -> str:
    """A line of the table."""
    seconds = [step["seconds"] for step in done]
    theirs = PUBLIC_CODE.get((name, t))
    return ROW(
        name,
        d,
        t,
        fits,
        f"{median(seconds):.3f}",
        f"{min(seconds):.3f}",
        f"{mean(seconds):.3f}",
        f"{mean(step['evidences'] for step in done):.0f}",
        f"{mean(step['rounds'] for step in done):.1f}",
        f"{mean(step['factors'] for step in done):.1f}",
        f"{theirs / median(seconds):.1f}" if theirs else "",
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dumbo", description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    count = parser.parse_args().steps
    print(
        f"machine: {record.provenance()['machine']}, one thread, {count} steps from the t-th"
        " evaluation on"
    )
    print(
        ROW(
            "",
            "d",
            "t",
            "fits from",
            "median s",
            "least s",
            "mean s",
            "evidences",
            "rounds",
            "factors",
            "faster",
        )
    )
    paper = load("dumbo", "paper")
    for name, t in (("Hartmann", 20), ("Powell", 15), ("Powell", 100), ("Rastrigin", 100)):
        for fits, curve in FITS.items():
            cell = paper.cell(name.lower(), curve)
            problem, parameters = build_problem(cell, 0), own_parameters(cell.algorithm_entry)
            print(
                row(name, t, fits, steps(problem, t, parameters, count), problem.domain.d),
                flush=True,
            )


if __name__ == "__main__":
    main()
