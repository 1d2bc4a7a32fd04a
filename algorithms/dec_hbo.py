"""DEC-HBO: decentralised high-dimensional optimization by max-sum over a factor graph
(hoang2018dechbo).

Factors hold few variables, may share them, and are sampled with their decompositions
(parts/factors/interactions). The bound is a sum of factors. Messages between factors and variables
look for its largest value on a discrete domain (rogers2011maxsum), exactly where the graph has no
cycle. The domain is drawn anew for each query, one uniform value within each of g equal slices of
every variable, so that no fixed grid is kept to.

Paper -> here:  phi_I -> tables, messages r and q -> `to_variables` and `to_factors`
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from algorithms.api import Array, Box, Indices, Observation, Optimizer
from algorithms.parts.factors.additive_process import GRAMS, Bucket, Distances, Factors, Fit, Scales
from algorithms.parts.factors.interactions import Chain, Fits, Model, Partitions
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.sampling import latin_hypercube
from algorithms.parts.numerics.transforms import sample
from algorithms.parts.search.exploration import DIMS, Width


class DECHBO(Optimizer):
    """Samples decompositions into factors of few variables and queries where max-sum takes the sum
    of their bounds.

    Use DEC-HBO as a baseline: to it at most two or three variables act together.

    `beta_dims` says whether beta grows with the size of each factor or with that of the domain, and
    `gram` with which noise factors are predicted: see `additive_process.GRAMS`.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        partitions: Partitions,
        width: Width,
        beta_dims: str,
        grid: int,
        rounds: int,
        gram: str,
        surrogate: Scales,
        fit: Fit,
    ) -> None:
        super().__init__(domain, rng)
        if grid < 2 or rounds < 1:
            raise ValueError(
                f"expected a grid of at least 2 values and 1 round, got {grid} and {rounds}"
            )
        self.width = width
        self.whole_domain = chosen(DIMS, beta_dims, "beta_dims")
        self.count, self.grid, self.rounds = partitions.models, grid, rounds
        self.gram = chosen(GRAMS, gram, "gram")
        fits = Fits(surrogate, fit, partitions.fit_start)
        self.chain = Chain.begin(domain.d, rng, fits, partitions)
        self.models: list[Model] = []  # that predict

    def ask(self, room: int, pending: Array) -> Array:
        """The point that max-sum finds for the bounds, on `grid` values a variable."""
        if not self.models:
            return self.rng.random((1, self.domain.d))
        values = latin_hypercube(self.rng, self.grid, self.domain.d)
        values.sort(axis=0)  # (g, d)
        factors = Factors.of(self.models, self.x)
        tables: list[Array] = [np.empty(0)] * len(factors.factors)
        for bucket in factors.buckets():
            for i, table in zip(bucket.index, self._tables(bucket, values), strict=True):
                tables[i] = table
        best = max_sum(factors.factors, tables, self.domain.d, self.rounds)
        return values[best, np.arange(self.domain.d)][None]

    def tell(self, query: Array, obs: Observation) -> None:
        """Sample decompositions, each with fitted scales."""
        super().tell(query, obs)
        distances, y = Distances(self.x), sample(self.y)(self.y)
        fitted, self.chain = self.chain.sample(distances, y, self.rng, count=self.count)
        self.models = [(own, self.gram(distances, own, solved, y)) for own, solved in fitted]

    def report(self) -> dict[str, float]:
        """Mean number of factors in a decomposition."""
        if not self.models:
            return {}
        return {"factors": sum(len(own) for own, _ in self.models) / len(self.models)}

    def _tables(self, bucket: Bucket, values: Array) -> Array:
        """The bounds (G, g, ..., g) of a bucket's factors on all combinations of values."""
        m = bucket.variables.shape[1]
        combinations = np.indices((self.grid,) * m).reshape(m, -1).T  # (g^m, m)
        points = values[combinations[None, :, :], bucket.variables[:, None, :]]
        mean, variance = bucket(points)
        beta = self.width.beta(len(self.y), self.domain.d if self.whole_domain else m)
        bound = mean + sqrt(beta) * np.sqrt(np.maximum(variance, 0.0))
        return bound.reshape(-1, *[self.grid] * m)


def max_sum(
    factors: Sequence[Sequence[int]], tables: Sequence[Array], d: int, rounds: int
) -> Indices:
    """Indices (d,) of the values where the sum of the tables is largest, as far as messages tell.

    An axis of a table is a variable. A message from a factor says how good each value of a variable
    can be at best. One from a variable says what all its other factors say, and is centred, since
    messages would else grow without bound on cycles.
    """
    g = tables[0].shape[0]
    to_factors = [np.zeros((len(factor), g)) for factor in factors]
    to_variables = [np.zeros((len(factor), g)) for factor in factors]
    belief, found, best = np.zeros((d, g)), np.zeros(d, dtype=np.int64), -np.inf
    for _ in range(rounds):
        before = belief
        for factor, table, heard, said in zip(
            factors, tables, to_factors, to_variables, strict=True
        ):
            axes = range(len(factor))
            total = table + sum(_along(heard[a], a, len(factor)) for a in axes)
            for a in axes:
                said[a] = total.max(axis=tuple(b for b in axes if b != a)) - heard[a]
        belief = np.zeros((d, g))
        for factor, said in zip(factors, to_variables, strict=True):
            belief[list(factor)] += said
        assignment = belief.argmax(axis=1)
        value = sum(
            float(table[tuple(assignment[list(factor)])])
            for factor, table in zip(factors, tables, strict=True)
        )
        if value > best:  # on cycles messages may leave a good assignment again
            found, best = assignment, value
        for factor, heard, said in zip(factors, to_factors, to_variables, strict=True):
            others = belief[list(factor)] - said
            heard[:] = others - others.mean(axis=1, keepdims=True)
        if np.allclose(_centred(belief), _centred(before), rtol=0.0, atol=1e-9):
            break
    return found


def _along(message: Array, axis: int, axes: int) -> Array:
    return message.reshape([-1 if a == axis else 1 for a in range(axes)])


def _centred(belief: Array) -> Array:
    return belief - belief.mean(axis=1, keepdims=True)
