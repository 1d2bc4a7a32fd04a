"""Does GO-UCB's ball keep the true parameters of a function that its network can represent
(liu2023goucb, Lemma 5.3)?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import algorithms
from algorithms.api import Array, Box
from algorithms.go_ucb import GOUCB
from problems.api import Problem
from workflow.run import loop
from workflow.studies.paired import Columns, noise, tidy
from workflow.trace.seeds import rng


def run(
    seed: int, problem: Problem, *, n: int, T: int, parameter: float, optimizer: Mapping[str, Any]
) -> Columns:
    """One row a round t of Phase II: the squared distance of w* to the centre of Ball_t in the norm
    of Sigma_t, and beta_t.

    `parameter` is the value that all entries of w* share; `n` uniform points are told before the
    first round.
    """
    if not isinstance(problem.domain, Box):
        raise TypeError(
            f"expected a problem on a Box, got {type(problem.domain).__name__}: choose f1 in"
            " papers/go_ucb.yaml"
        )
    built = {name: value for name, value in optimizer.items() if name != "is"}
    method = GOUCB(
        problem.domain, rng(seed, "study", "optimizer"), **algorithms.grouped(GOUCB.__init__, built)
    )
    progress = loop.Progress(method)
    design = rng(seed, "study", "init").random((n, problem.domain.d))
    loop.start(progress, design, loop.evaluate(problem, design, noise(seed), first=0))
    true = np.full(method.network.size, parameter)
    rows: list[dict[str, float]] = []
    for t in range(1, T + 1):
        rows.append({"t": t, "beta": method.beta, **distances(method, true)})
        loop.step(problem, progress, budget=n + T, room=1, noise=noise(seed))
    return tidy(rows)


def distances(method: GOUCB, true: Array) -> dict[str, float]:
    """How far the true parameters (d_w,) are from the centre of the ball, squared: in the norm of
    Sigma_t, and plainly.
    """
    away = true - method.w
    return {"distance": float(away @ method.Sigma @ away), "euclidean": float(away @ away)}
