"""What the checks of BKB's and BBKB's theorems share: the exact posterior of thousands of distinct
arms, and which hypotheses a run meets.

Under a wide kernel a few features give the whole kernel matrix, Phi Phi' = K up to TOLERANCE. The
posterior over the arms is then that of a linear model in these features. It costs O(r^2) an
evaluation and O(A r^2) for all variances, where one on u distinct arms needs O(A u) memory.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from algorithms.api import Array
from algorithms.async_ts import pivoted_cholesky
from algorithms.parts.arms import ExactPosterior, GaussianTable
from problems.api import Problem

TOLERANCE = 1e-13  # of any prior variance, which is 1
FULL = 0.9  # a dictionary with a larger share of the distinct arms is no sketch worth the name
CLOSE = 1 + 1e-12  # two numbers that a YAML writes twice


class FeaturePosterior:
    """The variances of `ExactPosterior` from features; it learns no mean.

    Variances are sigma^2/lambda, as there: phi(x)' (Phi_t' Phi_t + lambda I)^-1 phi(x).
    """

    def __init__(self, kernel: GaussianTable, lam: float) -> None:
        self.kernel = kernel
        self.lam = lam
        self.features = pivoted_cholesky(kernel, TOLERANCE)  # (A, r)
        self._G = np.zeros((self.features.shape[1],) * 2)  # Phi_t' Phi_t
        self._root: Array | None = None
        self._pulled: set[int] = set()

    @property
    def variance(self) -> Array:
        """sigma^2(x)/lambda of all arms, (A,)."""
        V = solve_triangular(self._L, self.features.T, lower=True, check_finite=False)  # (r, A)
        return np.einsum("ij,ij->j", V, V)

    def variance_of(self, arm: int) -> float:
        """sigma^2(x)/lambda of one arm."""
        v = solve_triangular(self._L, self.features[int(arm)], lower=True, check_finite=False)
        return float(v @ v)

    @property
    def distinct(self) -> int:
        """The number of distinct arms pulled."""
        return len(self._pulled)

    def add(self, arm: int, y: float) -> None:
        """Condition on one pull of an arm; what it showed changes no variance."""
        phi = self.features[int(arm)]
        self._G = self._G + np.outer(phi, phi)
        self._root = None
        self._pulled.add(int(arm))

    def draft(self) -> FeaturePosterior:
        """A copy that may be conditioned on other pulls."""
        other = copy.copy(self)
        other._pulled = set(self._pulled)
        return other

    def log_det(self) -> float:
        """ln det(K_t/lambda + I) over all t pulls, by Sylvester's identity."""
        r = len(self._G)
        return float(2.0 * np.log(np.diag(self._L)).sum() - r * np.log(self.lam))

    def effective_dimension(self) -> float:
        """d_eff = Tr(K_t (K_t + lambda I)^-1)."""
        return float(np.trace(cho_solve((self._L, True), self._G, check_finite=False)))

    @property
    def _L(self) -> Array:
        """The Cholesky factor of Phi_t' Phi_t + lambda I, (r, r)."""
        if self._root is None:
            ridged = self._G + self.lam * np.eye(len(self._G))
            self._root = np.asarray(np.linalg.cholesky(ridged), dtype=np.float64)
        return self._root


Exact = ExactPosterior | FeaturePosterior
EXACT: Mapping[str, Callable[[GaussianTable, float], Exact]] = {
    "distinct-arms": ExactPosterior,
    "features": FeaturePosterior,
}


def function_met(problem: Problem, *, bandwidth: float, xi: float, norm: float) -> int:
    """1 where the problem reveals that its function has a norm of at most `norm` under the kernel
    of this bandwidth, and that its noise has a standard deviation of at most `xi`; else 0.
    """
    known = {name: problem.reveals.get(name) for name in ("norm", "noise", "bandwidth")}
    if not all(isinstance(value, float | int) for value in known.values()):
        return 0
    found = {name: float(str(value)) for name, value in known.items()}
    return int(
        found["norm"] <= norm * CLOSE
        and found["noise"] <= xi * CLOSE
        and found["bandwidth"] == bandwidth
    )


def is_vacuous(dictionary: int, distinct: int) -> int:
    """1 where the dictionary holds (nearly) all distinct arms, so that the sketch is exact."""
    return int(dictionary > FULL * distinct)
