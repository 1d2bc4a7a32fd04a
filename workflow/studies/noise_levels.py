"""How fast a Gaussian process learns 10 sin(x)/x near 0 under noise: the supplementary Figure 3 of
bardou2024dumbo.

Neither the levels of noise nor where the observations lie are stated there. The scales are known,
so that the function itself matters for the error of the mean alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from algorithms.parts.factors.additive_process import Distances, Factors, equal_kernel, solve
from problems.api import Problem
from workflow.studies.paired import Columns, tidy
from workflow.trace.seeds import rng

FACTOR = ((0,),)
ORIGIN = np.zeros(1)
PEAK = 10.0  # of the function, at 0


def run(
    seed: int,
    problem: Problem,
    *,
    levels: Sequence[float],
    most: int,
    width: float,
    lengthscale: float,
    outputscale: float,
) -> Columns:
    """One row for each level of noise and n = 1..most observations, uniform on [-width, width] and
    the same for all levels.

    `noise` and the posterior `deviation` at 0 are standard deviations, `error` is how far the
    posterior mean is from 10, and `repeated` = noise / sqrt(n) what n observations at 0 would
    leave. Matern-5/2 in x itself; `problem` is not used.
    """
    draw = rng(seed, "study", "design")
    X, normal = draw.uniform(-width, width, (most, 1)), draw.standard_normal(most)
    f = PEAK * np.sinc(X[:, 0] / np.pi)
    rows: list[dict[str, float]] = []
    for noise in levels:
        kernel = equal_kernel(1, outputscale=outputscale, lengthscale=lengthscale, noise=noise**2)
        y = f + noise * normal
        for n in range(1, most + 1):
            solved = solve(Distances(X[:n]), FACTOR, kernel, y[:n])
            mean, variance = Factors.of([(FACTOR, solved)], X[:n]).moments(ORIGIN)
            error, deviation = abs(mean[0] - PEAK), np.sqrt(variance[0])
            rows.append(
                {
                    "n": n,
                    "noise": noise,
                    "deviation": float(deviation),
                    "error": float(error),
                    "repeated": noise / np.sqrt(n),
                }
            )
    return tidy(rows)
