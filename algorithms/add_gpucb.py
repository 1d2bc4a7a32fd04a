"""ADD-GPUCB: an upper confidence bound for every variable alone (kandasamy2015addgpucb, Sec. 4).

Factors of one variable do not overlap, so that their sum is greatest where each of them is: one
search on [0,1] a variable.

Paper -> here:  f^(j) -> factors of one variable each,  beta_t -> width,  d -> dims of that rule
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.factors.additive_process import (
    GRAMS,
    Bucket,
    Distances,
    Factors,
    Fit,
    Scales,
    Solved,
)
from algorithms.parts.factors.decomposition import singletons
from algorithms.parts.factors.interactions import FIRST_VALUES, Fits
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.transforms import sample
from algorithms.parts.search.exploration import DIMS, Width


class ADDGPUCB(Optimizer):
    """Fits one scale a variable and queries where every mean + beta^(1/2) sigma is largest.

    Use ADD-GPUCB as a baseline: to it each variable acts by itself.

    `beta_dims` says whether beta grows with the size of a factor, 1, or with that of the domain,
    and `gram` with which noise variables are predicted: see `additive_process.GRAMS`.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        width: Width,
        beta_dims: str,
        grid: int,
        gram: str,
        surrogate: Scales,
        fit: Fit,
    ) -> None:
        super().__init__(domain, rng)
        if grid < 2:
            raise ValueError(f"grid: expected at least 2 points, got {grid}")
        self.width = width
        self.dims = domain.d if chosen(DIMS, beta_dims, "beta_dims") else 1
        self.grid, self.gram = grid, chosen(GRAMS, gram, "gram")
        self.fits = Fits(surrogate, fit, FIRST_VALUES)
        self.factors = singletons(domain.d)
        self.solved: Solved | None = None  # as it was fitted
        self.predicting: Solved | None = None

    def ask(self, room: int, pending: Array) -> Array:
        """For each variable the best point of a grid, then the best of a grid around that point."""
        if self.predicting is None:
            return self.rng.random((1, self.domain.d))
        (bucket,) = Factors.of([(self.factors, self.predicting)], self.x).buckets()
        width = sqrt(self.width.beta(len(self.y), self.dims))
        grid = np.broadcast_to(np.linspace(0.0, 1.0, self.grid), (self.domain.d, self.grid))
        coarse = best(bucket, grid, width)
        # an odd number of points, so that the coarse one is among them
        finer = np.clip(
            coarse[:, None] + np.linspace(-1.0, 1.0, self.grid | 1) / (self.grid - 1), 0.0, 1.0
        )
        return best(bucket, finer, width)[None]

    def tell(self, query: Array, obs: Observation) -> None:
        """Fit to all observations, from the last scales."""
        super().tell(query, obs)
        y, distances = sample(self.y)(self.y), Distances(self.x)
        self.solved = self.fits.now(distances, self.factors, y, self.solved)
        self.predicting = self.gram(distances, self.factors, self.solved, y)

    def report(self) -> dict[str, float]:
        """Noise variance and log evidence of the fit, both in standardised units."""
        if self.solved is None:
            return {}
        return {"noise": self.solved.kernel.noise, "log_evidence": self.solved.log_evidence}


def best(bucket: Bucket, points: Array, width: float) -> Array:
    """The points (d,) where the bound of each variable is largest, among its own points (d, s)."""
    mean, variance = bucket(points[:, :, None])
    bound = mean + width * np.sqrt(np.maximum(variance, 0.0))
    return np.take_along_axis(points, bound.argmax(1)[:, None], axis=1)[:, 0]
