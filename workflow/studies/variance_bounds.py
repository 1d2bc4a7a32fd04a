"""Does (6) lie between sigma_t and the sum of the factors' deviations (bardou2024dumbo, Thm. 3.5)?
It depends on what sigma_t is.

The paper means sqrt(sum_i sigma_i^2): see Lemma G.1. But factors that are known by their sum alone
are correlated, so that the posterior variance of f counts their covariances, too. The largest ratio
of derivatives in the paper's proof, Q_k of (31), which is said not to exceed 1, stands beside both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from algorithms.api import Array
from algorithms.parts.factors.additive_process import (
    Distances,
    Factors,
    Kernel,
    equal_kernel,
    solve,
)
from algorithms.parts.factors.decomposition import (
    Decomposition,
    random_partition,
    singletons,
    whole,
)
from algorithms.parts.factors.factor_graph import FactorGraph
from problems.api import Problem
from workflow.studies.paired import Columns, tidy
from workflow.trace.seeds import rng

INDEPENDENT, CORRELATED, FAMILY, OBSERVED = range(4)  # the codes of column `kind`
ANY, PARTITION, COMPLETE, STAR = range(4)  # the codes of column `graph`
NONE = 0.2  # the share of deviations that are 0 where they are drawn
DECADES = 3  # over which the others are spread
Range = Sequence[float]


def run(
    seed: int,
    problem: Problem,
    *,
    graphs: int,
    posteriors: int,
    factors: Sequence[int],
    dims: Sequence[int],
    observations: Sequence[int],
    lengthscale: Range,
    outputscale: Range,
    noise: Range,
    family: Sequence[int],
) -> Columns:
    """One row an instance: `lower` = sigma_t/(6), `upper` = (6)/sum_i sigma_i; the theorem says
    that neither exceeds 1.

    kind 0: `graphs` random graphs and deviations, sigma_t^2 their sum of squares. Kinds 1 and 3:
    `posteriors` additive processes given n noisy sums, with sigma_t of f itself, and given the
    outputs of each factor (App. C), at one uniform point. Kind 2: the counter-example for each m in
    `family`. Ranges are inclusive; scales and noise (a variance) are drawn evenly in the logarithm.
    `together` = sigma_t / sqrt(sum_i sigma_i^2), `proof` = max_k Q_k, `neighbours` = mean |N_i|.
    `problem` is not used.
    """
    rows: list[dict[str, float]] = []
    for i in range(graphs):
        draw = rng(seed, "study", "graph", i)
        code, graph = random_graph(draw, factors, dims)
        variance = random_variances(draw, len(graph.factors))
        rows.append(row(INDEPENDENT, code, 0, graph, variance, float(variance.sum())))
    for i in range(posteriors):
        draw = rng(seed, "study", "posterior", i)
        code, graph = random_graph(draw, factors, dims)
        n = int(draw.integers(observations[0], observations[1] + 1))
        kernel = random_kernel(
            draw, len(graph.factors), lengthscale=lengthscale, outputscale=outputscale, noise=noise
        )
        X, x = draw.random((n, graph.d)), draw.random(graph.d)
        covariance = from_sums(graph.factors, kernel, X, x)
        rows.append(row(CORRELATED, code, n, graph, covariance.diagonal(), float(covariance.sum())))
        variance = from_outputs(graph.factors, kernel, X, x)
        rows.append(row(OBSERVED, code, n, graph, variance, float(variance.sum())))
    for m in family:
        graph, kernel, X, x = counter_example(m)
        covariance = from_sums(graph.factors, kernel, X, x)
        rows.append(row(FAMILY, COMPLETE, m, graph, covariance.diagonal(), float(covariance.sum())))
    return tidy(rows)


def row(
    kind: int, code: int, n: int, graph: FactorGraph, variance: Array, whole_variance: float
) -> dict[str, float]:
    """Both ratios for one graph, the variances (F,) of its factors and sigma_t^2."""
    middle, deviation = float(graph.exploration(variance)), np.sqrt(whole_variance)  # eq. (6)
    return {
        "kind": kind,
        "graph": code,
        "size": len(graph.factors),
        "observations": n,
        "neighbours": float(graph.sizes.mean()),
        "lower": float(deviation / middle),
        "upper": middle / float(np.sqrt(variance).sum()),
        "together": float(deviation / np.sqrt(variance.sum())),
        "proof": float(derivative_ratios(graph, variance).max()),
    }


def derivative_ratios(graph: FactorGraph, variance: Array) -> Array:
    """Q_k (F,), the derivative of sqrt(sum_i sigma_i^2) over that of (6), both over sigma_k^2."""
    with np.errstate(divide="ignore"):
        # infinite where no neighbour varies
        inner = 0.5 / np.sqrt(graph.terms(variance) @ graph.adjacency)
    right = np.where(graph.adjacency, inner, 0.0).sum(axis=1) / graph.sizes**2  # eq. (30)
    ratios: Array = 0.5 / np.sqrt(variance.sum()) / right  # eqs. (29), (31)
    return ratios


def random_graph(
    draw: np.random.Generator, factors: Sequence[int], dims: Sequence[int]
) -> tuple[int, FactorGraph]:
    """A code of column `graph` and such a graph; the numbers of its factors and variables are drawn
    from inclusive ranges.

    A partition and a star have as many factors as their variables allow.
    """
    code = int(draw.integers(4))
    n, d = (int(draw.integers(low, high + 1)) for low, high in (factors, dims))
    if code == PARTITION:
        return code, FactorGraph.of(random_partition(draw, d, largest=d), d)
    if code == STAR:
        return code, FactorGraph.of((*whole(d), *singletons(d)), d)
    held = draw.random((n, d)) < draw.random()
    held[:, 0] |= code == COMPLETE  # all share a variable
    empty = np.flatnonzero(~held.any(axis=1))
    held[empty, draw.integers(d, size=len(empty))] = True
    left = np.flatnonzero(~held.any(axis=0))
    held[draw.integers(n, size=len(left)), left] = True
    return code, FactorGraph.of([tuple(np.flatnonzero(own).tolist()) for own in held], d)


def random_variances(draw: np.random.Generator, n: int) -> Array:
    """Variances (n,) over many orders of magnitude, some of them 0 but not all."""
    variance = 10 ** draw.uniform(-DECADES, DECADES, n)
    none = draw.random(n) < NONE
    none[draw.integers(n)] = False
    return np.where(none, 0.0, variance)


def random_kernel(
    draw: np.random.Generator, n: int, *, lengthscale: Range, outputscale: Range, noise: Range
) -> Kernel:
    """Scales of n factors and a noise variance,
    each drawn evenly in the logarithm from its range.
    """
    return Kernel(
        _log_uniform(draw, outputscale, n),
        _log_uniform(draw, lengthscale, n),
        float(_log_uniform(draw, noise, 1)[0]),
    )


def _log_uniform(draw: np.random.Generator, bounds: Range, size: int) -> Array:
    low, high = np.log(bounds)
    return np.exp(draw.uniform(low, high, size))


def from_sums(factors: Decomposition, kernel: Kernel, X: Array, x: Array) -> Array:
    """Posterior covariance (F, F) of the factors at x (d,) given noisy values of their sum at X (n,
    d): eq. (5) and beside it.
    """
    solved = solve(Distances(X), factors, kernel, np.zeros(len(X)))
    return Factors.of([(factors, solved)], X).covariances(x)[0]


def from_outputs(factors: Decomposition, kernel: Kernel, X: Array, x: Array) -> Array:
    """Posterior variances (F,) of the factors at x (d,), each given its own outputs at X (n, d),
    eq. (24).

    Each output bears an equal share of the noise of the sum.
    """
    distances, share = Distances(X), kernel.noise / len(factors)
    models = []
    for factor, scale, length in zip(factors, kernel.outputscale, kernel.lengthscale, strict=True):
        own = equal_kernel(1, outputscale=scale, lengthscale=length, noise=share)
        models.append(((factor,), solve(distances, (factor,), own, np.zeros(len(X)))))
    return Factors.of(models, X).moments(x)[1]


def counter_example(m: int) -> tuple[FactorGraph, Kernel, Array, Array]:
    """Graph, kernel, data (m, m + 2) and a point at which sigma_t exceeds (6): by 5 % for m = 2,
    towards sqrt(2) for large m.

    Factors f_i(x_0, x_i), i = 1..m+1, of unit Matern processes, all seen through x_0 = 0. Datum i
    agrees with the point 0 in x_i and is far from it in all other variables, so that K = 2 I + (m -
    1) 1 1', k_i = e_i and k_{m+1} = 0; there is no noise.
    """
    far = 1 - np.eye(m, m + 1)
    X = np.concatenate([np.zeros((m, 1)), far], axis=1)
    graph = FactorGraph.of([(0, i) for i in range(1, m + 2)], m + 2)
    return (
        graph,
        equal_kernel(m + 1, outputscale=1.0, lengthscale=0.01, noise=0.0),
        X,
        np.zeros(m + 2),
    )
