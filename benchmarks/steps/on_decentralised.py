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
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

import algorithms
from algorithms.api import Array, Optimizer
from algorithms.parts.factors import interactions
from algorithms.parts.factors.additive_process import Bucket, Distances
from benchmarks.effort import NOTHING, Effort, additive_evidence, elementwise, product
from benchmarks.race import Size, Task, Work
from benchmarks.steps.given import noted
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


def steps(name: str, curve: str) -> Callable[[Size], Task]:
    """The steps from evaluation t on; evaluating a closed form is in the time."""

    def task(size: Size) -> Task:
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

        return Task(turn, counted(turn()))

    return task


def counted(run: Callable[[], object]) -> Effort:
    """Evidences of all fits, and moments of all factors; bookkeeping is left out."""
    spent = [NOTHING]
    original = interactions.fit

    def fits(distances: Distances, factors: Sequence[object], *rest: Any, **named: Any) -> Any:
        spent.append(named["steps"] * additive_evidence(distances.n, len(factors)))
        return original(distances, factors, *rest, **named)

    def moments(bucket: Bucket, u: Array) -> None:
        G, s, m = u.shape
        n = bucket.X.shape[1]
        spent.append(G * (product(s, m, n) + product(s, n, n) + elementwise(s * n, 10)))

    def slopes(bucket: Bucket, u: Array) -> None:
        moments(bucket, u)
        G, s, m = u.shape
        n = bucket.X.shape[1]
        spent.append(G * (2 * product(s, n, m) + elementwise(s * n, 4)))

    with (
        patch.object(interactions, "fit", fits),
        noted(Bucket, "__call__", moments),
        noted(Bucket, "slopes", slopes),
    ):
        run()
    return sum(spent[1:], NOTHING)


WORKS = tuple(
    Work(
        family="decentralised",
        name=f"DuMBO on {name}, {STEPS} steps, {fits}",
        axis="t",
        sizes=[{"t": t} for t in ts],
        full=[{"t": t} for t in full],
        ours=steps(name, curve),
        exponents=(3, None),
        same=(
            f"no library has DuMBO. For {STEPS} steps its public code took, in wall seconds with"
            f" two processes on a machine of this class, {5.7 * STEPS:.0f} s at t = 20 on"
            f" Hartmann's function and {10.9 * STEPS:.0f} s at t = 15 on Powell's, for the work of"
            " `first values`"
        ),
        below=(
            "elementwise exponentials over pairs of data and over narrow batches of candidates,"
            " and small calls of NumPy and LAPACK; the sampling of decompositions and the"
            " bookkeeping of agreements are not counted as flops at all"
        ),
    )
    for name, fits, curve, ts, full in (
        ("hartmann", "first values", "DuMBO", (20, 40, 80), (160,)),
        ("powell", "first values", "DuMBO", (15, 30, 45), (60, 100, 150)),
        ("powell", "inherited", "DuMBO@warm-fits", (15, 30, 45), (60, 100, 150)),
    )
)
