"""The exact Gaussian-process posterior over a table, supported on the distinct arms pulled:
O(A u + u^2) a pull.

With n_p pulls of arm p and S = K_D + lambda N^-1 over the u distinct arms D, the posterior
covariance between all arms and arm p is
    new arm       c = k_p - K_D' g,        g = S^-1 K_D e_p
    pulled arm    c = (lambda/n_p) K_D' g, g = S^-1 e_p
and one observation of p moves   mean += c (y - mean_p)/(lambda + c_p),   v -= c^2/(lambda + c_p).
The second form avoids the cancellation of the first for an arm that is known well, and each g is
refined once or twice against S: a plain rank-one inverse drifts by percents in the variance and
picks wrong arms.
"""

from __future__ import annotations

import copy

import numpy as np

from algorithms.api import Array, Indices
from algorithms.parts.arms.columns import GaussianTable


class ExactPosterior:
    """Mean and (1/lambda-scaled) variance of all arms, updated in place by `add`."""

    def __init__(self, kernel: GaussianTable, lam: float) -> None:
        self.kernel = kernel
        self.lam = lam
        self.mean: Array = np.zeros(len(kernel))
        # the variance before the division by lambda
        self._bayes: Array = np.full(len(kernel), kernel.variance)
        self._place: dict[int, int] = {}  # arm -> its row in D, in order of the first pull
        self._n: Array = np.empty(0)  # (u,) pulls
        self._K: Array = np.empty((0, 0))  # K_D
        self._M: Array = np.empty((0, 0))  # S^-1 for the pulls _n_of_M, refined where it is used
        self._n_of_M: Array = np.empty(0)  # lags _n while one arm is pulled again and again
        self.information = 0.0  # ln det(K_t/lambda + I) = sum_s ln(1 + sigma_{s-1}^2(x_s)/lambda)
        self._last: tuple[int, Array] | None = None  # the arm pulled last and its c after that pull

    @property
    def variance(self) -> Array:
        """sigma^2(x)/lambda of all arms, shape (A,)."""
        return self._bayes / self.lam

    def variance_of(self, arm: int) -> float:
        """sigma^2(x)/lambda of one arm."""
        return float(self._bayes[arm]) / self.lam

    @property
    def distinct(self) -> int:
        """u, the number of distinct arms pulled."""
        return len(self._place)

    def add(self, arm: int, y: float) -> None:
        """Condition on one observation y of an arm."""
        arm = int(arm)
        c = self._covariance(arm)  # (A,)
        total = self.lam + c[arm]
        self.information += float(np.log1p(max(c[arm], 0.0) / self.lam))
        self.mean += c * ((y - self.mean[arm]) / total)
        self._bayes -= c * (c / total)
        np.maximum(self._bayes, 0.0, out=self._bayes)
        # exact: a pull of the same arm only scales its c
        self._last = arm, c * (self.lam / total)

    def extend(self, arms: Indices, y: Array) -> None:
        """Condition on several observations."""
        for arm, value in zip(arms.tolist(), y.tolist(), strict=True):
            self.add(arm, value)

    def draft(self) -> ExactPosterior:
        """A copy to condition on pulls that nobody has evaluated yet; columns are shared."""
        other = copy.copy(self)
        other.mean, other._bayes = self.mean.copy(), self._bayes.copy()
        other._place, other._n, other._n_of_M = (
            dict(self._place),
            self._n.copy(),
            self._n_of_M.copy(),
        )
        other._M = self._M.copy()
        return other

    def log_det(self) -> float:
        """ln det(K_t/lambda + I) over all t pulls, on the distinct arms by Sylvester's identity."""
        root = np.sqrt(self._n)
        return float(
            np.linalg.slogdet(np.eye(self.distinct) + root[:, None] * self._K * root / self.lam)[1]
        )

    def effective_dimension(self) -> float:
        """d_eff = Tr(K_t (K_t + lambda I)^-1), of calandriello2020bbkb, Sec. 2."""
        return float(self._n @ self.variance[list(self._place)])

    def _covariance(self, arm: int) -> Array:
        """Posterior covariance of all arms with one arm before this pull, which it counts."""
        if self._last is not None and self._last[0] == arm:
            c = self._last[1]
        else:
            self._settle()
            if arm not in self._place:
                return self._of_new(arm)
            c = self._of_pulled(self._place[arm])
        self._n[self._place[arm]] += 1.0
        return c

    def _of_pulled(self, p: int) -> Array:
        ratio, g = self.lam / self._n[p], self._refined_column(p)
        e = np.zeros(self.distinct)
        e[p] = 1.0
        c = ratio * (g @ self.kernel.columns(list(self._place)))
        # the same for pulled arms, without cancellation
        c[list(self._place)] = ratio * (e - self.lam / self._n * g)
        return c

    def _of_new(self, arm: int) -> Array:
        column, known = self.kernel.column(arm), list(self._place)
        b = column[known]  # (u,)
        g = self._M @ b
        for _ in range(2):
            g += self._M @ (b - self._S_times(g))
        c = column - g @ self.kernel.columns(known) if known else column.copy()
        self._border(b, g, schur=max(float(c[arm]), 0.0) + self.lam)
        self._place[arm] = len(known)
        return c

    def _refined_column(self, p: int) -> Array:
        """g = S^-1 e_p, refined once."""
        e = np.zeros(self.distinct)
        e[p] = 1.0
        g = self._M[:, p]
        return g + self._M @ (e - self._S_times(g))

    def _S_times(self, g: Array) -> Array:
        return self._K @ g + self.lam / self._n_of_M * g

    def _border(self, b: Array, g: Array, schur: float) -> None:
        """Grow K_D and S^-1 by one arm."""
        u = len(b)
        K, M = np.empty((u + 1, u + 1)), np.empty((u + 1, u + 1))
        K[:u, :u], K[u, :u], K[:u, u], K[u, u] = self._K, b, b, self.kernel.variance
        M[:u, :u] = self._M + np.outer(g, g / schur)
        M[u, :u] = M[:u, u] = -g / schur
        M[u, u] = 1.0 / schur
        self._K, self._M = K, M
        self._n = np.append(self._n, 1.0)
        self._n_of_M = np.append(self._n_of_M, 1.0)

    def _settle(self) -> None:
        """Bring S^-1 up to the last arm's pulls: one Sherman-Morrison for a run of them."""
        for p in np.flatnonzero(self._n != self._n_of_M).tolist():
            g = self._refined_column(p)
            change = self.lam / self._n[p] - self.lam / self._n_of_M[p]
            self._M -= np.outer(g, g * (change / (1.0 + change * g[p])))
            self._n_of_M[p] = self._n[p]
