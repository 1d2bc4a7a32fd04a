"""Batch Thompson sampling as calandriello2020bbkb runs it (kandasamy2018parallelts): App. D.1.

Each of `batch` workers draws its own joint sample of the posterior over all arms, its deviation
scaled by beta/shrink, and pulls the sample's best arm. A joint sample over A arms is exact up to
`tolerance` in features Phi Phi' ~ K from a pivoted Cholesky factorisation of the prior. Paper ->
here:  lambda -> lam,  F -> norm
"""

from __future__ import annotations

from math import log

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from algorithms.api import Arms, Array, Indices, Observation, Optimizer
from algorithms.parts.arms import GaussianTable
from algorithms.parts.numerics.linalg import safe_cholesky
from algorithms.parts.search.bounds import Confidence


class AsyncTS(Optimizer):
    """Thompson sampling in batches of fixed size, with the posterior of a finite-rank exact model.

    Use it over a table of arms if many workers pull at once.
    """

    domains = (Arms,)
    domain: Arms

    def __init__(
        self,
        domain: Arms,
        rng: np.random.Generator,
        *,
        bandwidth: float,
        lam: float,
        xi: float,
        norm: float,
        delta: float,
        batch: int,
        shrink: float,
        beta: str,
        tolerance: float,
    ) -> None:
        super().__init__(domain, rng)
        self.confidence = Confidence(xi, delta, lam, norm, beta)
        self.batch = batch
        self.shrink = shrink
        # (A, r)
        self.features = pivoted_cholesky(GaussianTable(domain.points, bandwidth), tolerance)
        r = self.features.shape[1]
        self.V: Array = lam * np.eye(r)  # Phi' N Phi + lambda I
        self.L: Array = np.sqrt(lam) * np.eye(r)
        self.moment: Array = np.zeros(r)  # Phi' y

    @property
    def beta(self) -> float:
        information = 2 * float(np.log(np.diag(self.L)).sum()) - len(self.L) * log(
            self.confidence.lam
        )
        return self.confidence.exact(max(information, 0.0)) / self.shrink

    def ask(self, room: int, pending: Indices) -> Indices:
        """The best arms of independent samples f = Phi (V^-1 Phi' y + beta L^-T z)."""
        z = self.rng.standard_normal((len(self.L), min(room, self.batch)))
        weights = self._mean_weights()[:, None] + self.beta * solve_triangular(
            self.L, z, lower=True, trans="T"
        )
        return np.argmax(self.features @ weights, axis=0)

    def tell(self, query: Indices, obs: Observation) -> None:
        """Add the batch to the information matrix and factorise it once."""
        super().tell(query, obs)
        phi = self.features[query]  # (q, r)
        self.V += phi.T @ phi
        self.moment += phi.T @ obs.y
        self.L = safe_cholesky(self.V)

    def recommend(self) -> Indices:
        """The arm with the largest posterior mean."""
        return np.array([np.argmax(self.features @ self._mean_weights())])

    def report(self) -> dict[str, float]:
        return {"beta": self.beta, "distinct_arms": len(np.unique(self.x))}

    def _mean_weights(self) -> Array:
        return cho_solve((self.L, True), self.moment)


def pivoted_cholesky(kernel: GaussianTable, tolerance: float) -> Array:
    """Features Phi (A, r) with k(x,x) - |phi(x)|^2 <= tolerance; each pivot is the worst arm."""
    size = len(kernel)
    left = np.full(size, kernel.variance)  # what the features miss, (A,)
    rows = np.empty((64, size))  # feature by feature: row j is Phi[:, j]
    r = 0
    while left.max() > tolerance and r < size:
        if r == len(rows):
            rows = np.concatenate([rows, np.empty_like(rows)])
        pivot = int(np.argmax(left))
        rows[r] = (kernel.compute(pivot) - rows[:r, pivot] @ rows[:r]) / np.sqrt(left[pivot])
        left -= rows[r] ** 2
        left[pivot] = 0.0
        r += 1
    return np.ascontiguousarray(rows[:r].T)
