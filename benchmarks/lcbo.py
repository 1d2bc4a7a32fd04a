"""Seconds of LCBO's iterations and of its baselines' batches: `python -m benchmarks.lcbo
[--iterations 20]`.

The functions are those of the paper's synthetic tasks, an objective and two constraints; the
parameters are those of papers/lcbo.yaml. An iteration of LCBO is the step, the plan of the next
one, and handing it out; a batch of a baseline is an ask and a tell after n evaluations, five of
them in a row, so that one of them fits where fits are due. Seconds are CPU seconds on one thread;
refits, once in five, show in the mean.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

from workflow.plan.expand import load
from workflow.plan.parameters import flat, nested, parameters_of
from workflow.plan.resolve import own_parameters
from workflow.trace import record
from workflow.trace.seeds import rng

# isort: split
import numpy as np

import algorithms
from algorithms.api import Optimizer
from algorithms.lcbo import LCBO
from problems.api import Problem
from problems.gp_samples import within_model

SIDES: Mapping[str, Mapping[str, Any]] = {
    "joint, 10 starts": {},
    "greedy, 10 starts": {"acquisition.selection": "greedy"},
    "greedy, 5 starts": {
        "acquisition.selection": "greedy",
        "climb.starts": 5,
        "climb.rate": 0.05,
    },
    "joint, 10 starts, fit": {"surrogate.kernels": "fit", "surrogate.standard": "sample"},
}


def functions(d: int) -> Problem:
    """An instance of the synthetic task."""
    return within_model(
        rng(0, "instance", d),
        d=d,
        constraints=2,
        offset=0.5,
        features=500,
        noise=0.1,
        lengthscales="official-code",
    )


def built(problem: Problem, cell: str, changes: Mapping[str, Any]) -> Optimizer:
    """The optimizer of a cell, PROBLEM/CURVE, at published size."""
    entry = load("lcbo", "paper").cell(*cell.split("/")).algorithm_entry
    known = parameters_of(entry["is"], "algorithms")[1]
    parameters = {**flat(own_parameters(entry), known), **changes}
    if parameters["surrogate.kernels"] != "fit":
        parameters["surrogate.kernels"] = problem.reveals["kernels"]
    return algorithms.build(entry["is"], problem.domain, rng(0, "optimizer"), nested(parameters))


def told(optimizer: Optimizer, problem: Problem, n: int) -> None:
    """n uniform evaluations, in one block."""
    query = rng(0, "init").random((n, problem.domain.d))
    optimizer.tell(query, problem.evaluate(query, rng(0, "noise")).seen)


def turn(optimizer: Optimizer, problem: Problem) -> float:
    """CPU seconds of one ask and the tell of what it asked for."""
    began = time.process_time()
    query = optimizer.ask(1000, np.empty((0, problem.domain.d)))
    spent = time.process_time() - began
    seen = problem.evaluate(query, rng(0, "noise", len(optimizer.y))).seen
    began = time.process_time()
    optimizer.tell(query, seen)
    return spent + time.process_time() - began


def iterations_of_lcbo(d: int, changes: Mapping[str, Any], iterations: int) -> list[float]:
    """CPU seconds of each iteration after the window is full."""
    problem = functions(d)
    optimizer = built(problem, "syn-25/LCBO", changes)
    if not isinstance(optimizer, LCBO):
        raise TypeError(f"expected LCBO, got {type(optimizer).__name__}")
    told(optimizer, problem, 2 * d)
    spent = []
    for k in range(1, 1 + iterations):
        total = 0.0
        while optimizer.k == k:
            total += turn(optimizer, problem)
        spent.append(total)
    return spent


def batches(curve: str, d: int, n: int) -> list[float]:
    """CPU seconds of five batches of a baseline after n evaluations, its kernels fitted."""
    problem = functions(d)
    optimizer = built(problem, f"halfcheetah/{curve}", {})
    told(optimizer, problem, n)
    return [turn(optimizer, problem) for _ in range(5)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lcbo", description=__doc__)
    parser.add_argument("--iterations", type=int, default=20)
    iterations = parser.parse_args().iterations
    for side in SIDES.values():
        iterations_of_lcbo(2, side, 6)  # torch loads parts of itself with the first fit
    print(f"machine: {record.provenance()['machine']}, one thread")
    row = "{:>5} {:>5}  {:<28}{:>10}{:>10}{:>10}".format
    print(row("d", "n", "", "median s", "least s", "mean s"))
    for d in (25, 50, 100):
        for name, side in SIDES.items():
            print(
                row(d, 2 * d, f"LCBO, {name}", *summary(iterations_of_lcbo(d, side, iterations))),
                flush=True,
            )
    for curve in ("CEI", "EPBO", "SCBO", "HDsafeBO"):
        for n in (500, 1000):
            print(row(100, n, curve, *summary(batches(curve, 100, n))), flush=True)


def summary(spent: list[float]) -> tuple[str, str, str]:
    return f"{median(spent):.4f}", f"{min(spent):.4f}", f"{sum(spent) / len(spent):.4f}"


if __name__ == "__main__":
    main()
