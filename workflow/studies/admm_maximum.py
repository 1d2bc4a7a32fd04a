"""Does ADMM find the maximum of (8), as bardou2024dumbo takes from its Theorem 5.1 (Sec. 4 and 5,
Alg. 1)?

Small additive processes, whose acquisition functions a grid and local searches from its peaks
maximise directly. With c_i frozen, as in Algorithm 1, what each factor climbs feels its variance
under its own root alone, so that the gradients of all factors sum to that of another function:
    mu + beta^(1/2) sum_i sqrt(sum_{k in N_i} sigma_k^2 / |N_k|^2) / |N_i|
exactly where all neighbours of a factor are neighbours of one another; `frozen_gap` is how far from
its maximum ADMM ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, cast

import numpy as np
from scipy.ndimage import maximum_filter

import algorithms
from algorithms.api import Array, Box
from algorithms.dumbo import EXPLORATIONS, Agreement, DuMBO, Search, agree
from algorithms.parts.factors.additive_process import Bucket, Distances, Factors, Kernel, solve
from algorithms.parts.factors.decomposition import Decomposition, singletons, whole
from algorithms.parts.factors.factor_graph import FactorGraph
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.linalg import safe_cholesky
from problems.api import Problem
from workflow.studies.paired import Columns, tidy
from workflow.studies.regret_bound import prior_covariances
from workflow.studies.variance_bounds import Range, random_kernel
from workflow.trace.seeds import rng

GRAPHS: Mapping[str, Decomposition] = {  # their order gives the codes of column `graph`
    "triangle": ((0, 1), (1, 2), (0, 2)),
    "chain": ((0, 1), (1, 2), (2, 3)),
    "singletons": singletons(3),
    "whole": whole(3),
}
PEAKS = 5  # of the grid, from which local searches start
HALVINGS, MOVES = 16, 3  # of the steps of these searches, and how many there are of each length
NEAR = 0.01  # a gap up to this counts as success


def run(
    seed: int,
    problem: Problem,
    *,
    graphs: Sequence[str],
    instances: int,
    observations: int,
    lengthscale: Range,
    outputscale: Range,
    noise: Range,
    grid: int,
    settings: Sequence[tuple[str, float, int]],
    optimizer: Mapping[str, Any],
) -> Columns:
    """One row for each graph, instance and setting, which is a kind of exploration, a tolerance and
    a number of rounds.

    `gap` is (greatest (8) - (8) at x-bar) / (greatest (8) - its median over the grid), `frozen_gap`
    the same for the other function; `near` is 1 where the gap is at most 0.01, `met` where the
    stopping rule was. `rank` is the place of a gap among those of its graph and setting, as a
    share. Everything else of the search, and beta, is `optimizer`'s. Functions, observed with noise
    at uniform points, are drawn from processes whose scales are drawn evenly in the logarithm.
    `problem` is not used.
    """
    built = {name: value for name, value in optimizer.items() if name != "is"}
    rows: list[dict[str, float]] = []
    for name in graphs:
        factors = chosen(GRAPHS, name, "graphs")
        d = 1 + max(map(max, factors))
        stream = rng(seed, "study", "optimizer")
        method = cast(DuMBO, algorithms.build("dumbo.DuMBO", Box(d), stream, built))
        searches = [
            replace(
                method.search,
                complete=chosen(EXPLORATIONS, kind, "exploration"),
                admm=replace(method.search.admm, tolerance=tolerance, rounds=rounds),
            )
            for kind, tolerance, rounds in settings
        ]
        width = sqrt(method.width.beta(observations, d))
        found: list[list[dict[str, float]]] = [[] for _ in settings]
        for i in range(instances):
            draw = rng(seed, "study", name, i)
            kernel = random_kernel(
                draw, len(factors), lengthscale=lengthscale, outputscale=outputscale, noise=noise
            )
            process = Process.of(
                FactorGraph.of(factors, d), drawn(draw, factors, d, observations, kernel)
            )
            both = [
                Target.of(kind, process, width, np.linspace(0.0, 1.0, grid))
                for kind in (paper, frozen)
            ]
            for own, search in zip(found, searches, strict=True):
                agreement = agree(
                    process.factors,
                    process.graph,
                    width,
                    rng(seed, "study", "admm", name, i),
                    search,
                )
                own.append(row(agreement, search, *(target.gap(agreement.x) for target in both)))
        for k, own in enumerate(found):
            places = np.argsort(np.argsort([each["gap"] for each in own], kind="stable")) + 1
            head = {"graph": list(GRAPHS).index(name), "setting": k}
            rows += [
                {**head, **each, "rank": place / instances}
                for each, place in zip(own, places, strict=True)
            ]
    return tidy(rows)


def row(agreement: Agreement, search: Search, gap: float, frozen_gap: float) -> dict[str, float]:
    """How one search ended."""
    return {
        "complete": int(search.complete),
        "tolerance": search.admm.tolerance,
        "gap": gap,
        "frozen_gap": frozen_gap,
        "near": int(gap <= NEAR),
        "met": int(agreement.residual < search.admm.tolerance),
        "residual": agreement.residual,
        "rounds": agreement.rounds,
    }


def drawn(
    draw: np.random.Generator, factors: Decomposition, d: int, n: int, kernel: Kernel
) -> Factors:
    """The factors of a process, given n noisy values of a function that is drawn from it."""
    X = draw.random((n, d))
    K = prior_covariances(factors, kernel, X).sum(0) + kernel.noise * np.eye(n)
    y = safe_cholesky(K) @ draw.standard_normal(n)
    return Factors.of([(factors, solve(Distances(X), factors, kernel, y))], X)


@dataclass(frozen=True, eq=False)
class Process:
    """An additive process given its data, anywhere on [0,1]^d."""

    graph: FactorGraph
    factors: Factors
    buckets: Sequence[Bucket]

    @classmethod
    def of(cls, graph: FactorGraph, factors: Factors) -> Process:
        return cls(graph, factors, factors.buckets())

    def moments(self, X: Array) -> tuple[Array, Array]:
        """The mean of f (s,) at X (s, d) and the variances of its factors (s, F)."""
        mean, variance = np.zeros(len(X)), np.empty((len(X), len(self.graph.factors)))
        for bucket in self.buckets:
            m, v = bucket(X[:, bucket.variables].transpose(1, 0, 2))
            mean += m.sum(0)
            variance[:, bucket.index] = np.maximum(v, 0.0).T
        return mean, variance

    def moments_on(self, axis: Array) -> tuple[Array, Array]:
        """The same on the grid of all combinations of the values (g,): (g, ..., g) and (g, ..., g,
        F).
        """
        d = self.graph.d
        mean, variance = (
            np.zeros([len(axis)] * d),
            np.empty([len(axis)] * d + [len(self.graph.factors)]),
        )
        for bucket in self.buckets:
            m = bucket.variables.shape[1]
            found = bucket(
                np.broadcast_to(combinations(axis, m), (len(bucket.index), len(axis) ** m, m))
            )
            for i, V, own_mean, own_variance in zip(
                bucket.index, bucket.variables, *found, strict=True
            ):
                # the variables of a factor increase
                shape = [len(axis) if j in V else 1 for j in range(d)]
                mean += own_mean.reshape(shape)
                variance[..., i] = np.maximum(own_variance, 0.0).reshape(shape)
        return mean, variance


def paper(graph: FactorGraph, width: float, mean: Array, variance: Array) -> Array:
    """Eq. (8) from means (...) and variances (..., F)."""
    return mean + width * np.asarray(graph.exploration(variance))


def frozen(graph: FactorGraph, width: float, mean: Array, variance: Array) -> Array:
    """What becomes of it where each factor climbs its own root alone."""
    roots = np.sqrt(graph.terms(variance) @ graph.adjacency)
    return mean + width * (roots @ (1 / graph.sizes))


@dataclass(frozen=True, eq=False)
class Target:
    """A function to be maximised, the greatest value found, and its median over a grid."""

    value: Callable[[Array], Array]
    greatest: float
    median: float

    @classmethod
    def of(
        cls,
        kind: Callable[[FactorGraph, float, Array, Array], Array],
        process: Process,
        width: float,
        axis: Array,
    ) -> Target:
        """The best of local searches from the peaks of a grid."""

        def value(X: Array) -> Array:
            return kind(process.graph, width, *process.moments(X))

        cube = kind(process.graph, width, *process.moments_on(axis))
        peaks = np.flatnonzero(cube == maximum_filter(cube, size=3))
        best = peaks[np.argsort(-cube.ravel()[peaks], kind="stable")[:PEAKS]]
        starts = axis[np.stack(np.unravel_index(best, cube.shape), axis=1)]
        return cls(
            value, max(climbed(value, x, axis[1] - axis[0]) for x in starts), float(np.median(cube))
        )

    def gap(self, x: Array) -> float:
        """How far the value at x (d,) is below the greatest one, which it may turn out to be
        itself.
        """
        value = float(self.value(x[None])[0])
        greatest = max(self.greatest, value)
        return (greatest - value) / (greatest - self.median)


def combinations(values: Array, d: int) -> Array:
    """All points (g^d, d) with coordinates among the values (g,), the last one fastest."""
    return np.stack(np.meshgrid(*[values] * d, indexing="ij"), -1).reshape(-1, d)


def climbed(value: Callable[[Array], Array], x: Array, step: float) -> float:
    """The greatest value of a search from x (d,) by ever shorter steps along all axes and
    diagonals.
    """
    moves = combinations(np.array([0.0, -1.0, 1.0]), len(x))  # the first one stays
    greatest = -np.inf
    for length in np.repeat(step * 0.5 ** np.arange(HALVINGS), MOVES):
        around = np.clip(x + length * moves, 0.0, 1.0)
        found = value(around)
        x, greatest = around[int(np.argmax(found))], max(greatest, float(found.max()))
    return greatest
