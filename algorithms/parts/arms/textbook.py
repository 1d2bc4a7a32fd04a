"""The exact posterior as a textbook computes it: K_t + lambda I refactorised on all t evaluations
at every step.

O(t^3 + A t^2) a step. It is what papers time when they time exact Gaussian processes, and the
oracle of the fast forms.
"""

from __future__ import annotations

import copy
from math import log

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from algorithms.api import Array, Indices
from algorithms.parts.arms.columns import GaussianTable
from algorithms.parts.numerics.linalg import safe_cholesky


class TextbookPosterior:
    """Mean and (1/lambda-scaled) variance of all arms, recomputed from scratch by every `add`."""

    def __init__(self, kernel: GaussianTable, lam: float) -> None:
        self.kernel = kernel
        self.lam = lam
        self.mean: Array = np.zeros(len(kernel))
        self.variance: Array = np.full(len(kernel), kernel.variance / lam)
        self.information = 0.0  # ln det(K_t/lambda + I)
        self._x: list[int] = []
        self._y: list[float] = []

    def variance_of(self, arm: int) -> float:
        """sigma^2(x)/lambda of one arm."""
        return float(self.variance[arm])

    @property
    def distinct(self) -> int:
        """u, the number of distinct arms pulled."""
        return len(set(self._x))

    def add(self, arm: int, y: float) -> None:
        """Condition on one observation y of an arm."""
        self.extend(np.array([arm]), np.array([y]))

    def extend(self, arms: Indices, y: Array) -> None:
        """Condition on several observations, with one factorisation for all of them."""
        self._x += arms.tolist()
        self._y += y.tolist()
        k = self.kernel.columns(self._x)  # (t, A)
        L = safe_cholesky(k[:, self._x] + self.lam * np.eye(len(self._x)))
        self.information = 2.0 * float(np.log(np.diag(L)).sum()) - len(L) * log(self.lam)
        self.mean = cho_solve((L, True), np.array(self._y)) @ k  # BBKB eq. (4)
        V = solve_triangular(L, k, lower=True, check_finite=False)  # (t, A)
        # BBKB eq. (6)
        self.variance = (
            np.maximum(self.kernel.variance - np.einsum("ij,ij->j", V, V), 0.0) / self.lam
        )

    def draft(self) -> TextbookPosterior:
        """A copy that may be conditioned on pulls nobody has evaluated yet."""
        other = copy.copy(self)
        other._x, other._y = list(self._x), list(self._y)
        return other
