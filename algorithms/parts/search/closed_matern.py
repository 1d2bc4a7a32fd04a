"""What a point promises under a Matern-5/2 regression, with its slope in closed form, without
GPyTorch's graphs (rasmussen2006gaussian, eqs. 2.25 and 2.26).

What `Posterior` and autograd compute, for methods that climb an acquisition function hundreds of
times a query. With r the distance in units of length-scale/sqrt(5), k = s (1 + r + r^2/3) exp(-r)
and dk/dz = s (1 + r)/3 exp(-r) (a - z), for a point z and a datum a in these units.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor

from algorithms.parts.numerics.cholesky import solve_lower
from algorithms.parts.processes.gp import ROUNDING, Posterior
from algorithms.parts.processes.kernels import ScaledMatern52, matern52
from algorithms.parts.search.acquisition import Acquisition


class MaternPromise:
    """An acquisition function of the moments of a posterior, at points of the unit cube.

    posterior: its kernel is a `ScaledMatern52`, with one length-scale or one a coordinate, and its
        mean constant.
    aim: what the acquisition function takes beside the moments.
    low, width: the regression sees low + width x of a point x of the cube.
    """

    def __init__(
        self,
        posterior: Posterior,
        acquisition: Acquisition,
        aim: float,
        *,
        low: float = 0.0,
        width: float = 1.0,
    ) -> None:
        model = posterior.model
        if not isinstance(model.kernel, ScaledMatern52):
            raise TypeError(f"expected a ScaledMatern52, got {type(model.kernel).__name__}")
        self.acquisition, self.aim = acquisition, aim
        self.low, self.width = low, width
        self.unit = model.kernel.base_kernel.lengthscale / sqrt(5)  # (1, d or 1)
        self.A = posterior.X / self.unit
        self.s = model.kernel.outputscale
        self.L, self.alpha = posterior.L, posterior.alpha
        self.constant = model.mean(posterior.X[:1])

    def __call__(self, X: Tensor) -> Tensor:
        """The promise at X (q, d), shape (q,)."""
        k = matern52(self.A, self._inside(X)).mul_(self.s)
        mean, variance, _, _ = self._moments(k)
        return self.acquisition.value(mean, variance, self.aim)

    def with_slopes(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """The promise at X (q, d), shape (q,), and its slopes over X (q, d)."""
        Z = self._inside(X)
        linear = Z.new_empty((len(self.A), len(Z)))  # (1 + r) exp(-r)
        k = matern52(self.A, Z, linear).mul_(self.s)
        mean, variance, V, is_floored = self._moments(k)
        value, over_mean, over_variance = self.acquisition.with_slopes(mean, variance, self.aim)
        over_explained = torch.where(is_floored, 0.0, -over_variance)
        over_k = solve_lower(self.L, V, transposed=True).mul_(2 * over_explained)
        over_k.addr_(self.alpha, over_mean)
        W = linear.mul_(over_k).mul_(self.s / 3)
        slopes = W.T @ self.A - W.sum(0)[:, None] * Z
        return value, slopes.mul_(self.width / self.unit)

    def _inside(self, X: Tensor) -> Tensor:
        """Points (q, d) in units of length-scale/sqrt(5)."""
        return (self.low + self.width * X) / self.unit

    def _moments(self, k: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Mean and variance (q,) from covariances k (n, q), L^-1 k, and which are rounding."""
        V = solve_lower(self.L, k)
        explained, floor = (V * V).sum(0), ROUNDING * self.s
        left = self.s - explained
        return self.constant + self.alpha @ k, torch.maximum(left, floor), V, left < floor
