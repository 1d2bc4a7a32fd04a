"""What a factor's posterior variance gains where its own outputs are observed (bardou2024dumbo,
App. C, eqs. (5) and (24)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from problems.api import Problem
from workflow.studies.paired import Columns, tidy
from workflow.studies.variance_bounds import (
    Range,
    from_outputs,
    from_sums,
    random_graph,
    random_kernel,
)
from workflow.trace.seeds import rng


def run(
    seed: int,
    problem: Problem,
    *,
    instances: int,
    factors: Sequence[int],
    dims: Sequence[int],
    observations: Sequence[int],
    lengthscale: Range,
    outputscale: Range,
    noise: Range,
) -> Columns:
    """One row a random additive process, given values at uniform points, at another one: the ratios
    (24) / (5) of its factors.

    `largest`, `median` and `smallest` are taken over the factors, `whole` is the ratio of the
    variances of f itself; none exceeds 1 where outputs tell no less than their sum. The outputs
    bear equal shares of the noise of the sum. Ranges are inclusive; scales and noise (a variance)
    are drawn evenly in the logarithm. `graph` has the codes of variance_bounds, `problem` is not
    used.
    """
    rows: list[dict[str, float]] = []
    for i in range(instances):
        draw = rng(seed, "study", "outputs", i)
        code, graph = random_graph(draw, factors, dims)
        kernel = random_kernel(
            draw, len(graph.factors), lengthscale=lengthscale, outputscale=outputscale, noise=noise
        )
        n = int(draw.integers(observations[0], observations[1] + 1))
        X, x = draw.random((n, graph.d)), draw.random(graph.d)
        covariance, variance = (
            from_sums(graph.factors, kernel, X, x),
            from_outputs(graph.factors, kernel, X, x),
        )
        ratio = variance / covariance.diagonal()
        rows.append(
            {
                "graph": code,
                "size": len(variance),
                "observations": n,
                "largest": float(ratio.max()),
                "median": float(np.median(ratio)),
                "smallest": float(ratio.min()),
                "whole": float(variance.sum() / covariance.sum()),
            }
        )
    return tidy(rows)
