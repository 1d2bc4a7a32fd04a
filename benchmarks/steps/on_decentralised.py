"""Steps of DuMBO: the tell of one evaluation, which fits, samples five decompositions and makes
their factors agree, and the ask that hands out the query. A turn takes some in a row, since what
one computes depends on what it draws.

The evaluations before the t-th are uniform and told in ten blocks, so that the chain of
decompositions has left its start. Problem and parameters are those of papers/dumbo.yaml. "first
values" does the work of the public code, 200 steps for every fit; "inherited" fits for 20 steps
from what a model has of the one before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import algorithms
from algorithms.api import Array, Optimizer
from benchmarks.race import Size, Turn, Work, along
from problems.api import Problem
from workflow.plan.expand import load
from workflow.run.instance import build_problem
from workflow.trace.cells import own_parameters
from workflow.trace.seeds import rng

BLOCKS, STEPS, SEED = 10, 3, 300


def told(problem: Problem, parameters: Any, t: int) -> tuple[Optimizer, Array]:
    """The optimizer before evaluation t is told, and its query."""
    stream = rng(SEED, "optimizer")
    optimizer = algorithms.build("dumbo.DuMBO", problem.domain, stream, parameters)
    design = rng(SEED, "init").random((t - 1, problem.domain.d))
    for query in np.array_split(design, BLOCKS):
        optimizer.tell(query, problem.evaluate(query, rng(SEED, "noise")).seen)
    return optimizer, optimizer.ask(1, optimizer.x[:0])


def steps(name: str, curve: str) -> Callable[[Size], Turn]:
    """The steps from evaluation t on; evaluating a closed form is in the time."""

    def task(size: Size) -> Turn:
        cell = load("dumbo", "paper").cell(name, curve)
        problem = build_problem(cell, SEED)
        optimizer, query = told(problem, own_parameters(cell.algorithm_entry), size["t"])

        def turn() -> Callable[[], object]:
            own = copy.deepcopy(optimizer)

            def run() -> None:
                following = query
                for _ in range(STEPS):
                    own.tell(following, problem.evaluate(following, rng(SEED, "noise")).seen)
                    following = own.ask(1, own.x[:0])

            return run

        return turn

    return task


WORKS = [
    Work(
        f"DuMBO on {name}, {STEPS} steps, {fits}",
        along("t", ts),
        steps(name, curve),
        f"no library has DuMBO. For {STEPS} steps its public code took, in wall seconds with two"
        f" processes on a machine of this class, {5.7 * STEPS:.0f} s at t = 20 on Hartmann's"
        f" function and {10.9 * STEPS:.0f} s at t = 15 on Powell's, for the work of `first values`",
    )
    for name, fits, curve, ts in (
        ("hartmann", "first values", "DuMBO", (20, 40, 80)),
        ("powell", "first values", "DuMBO", (15, 30, 45)),
        ("powell", "inherited", "DuMBO@warm-fits", (15, 30, 45)),
    )
]
