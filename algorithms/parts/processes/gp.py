"""Gaussian-process regression through one Cholesky factor: the evidence with its gradient, and a
frozen posterior.

Everything is a float64 tensor; means and variances are those of the latent f, without noise
(rasmussen2006gaussian, Alg. 2.1).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable

from algorithms.api import Array
from algorithms.parts.numerics.cholesky import (
    append,
    inverse,
    residual_cholesky,
    safe_cholesky,
    solve,
    solve_lower,
)
from algorithms.parts.processes.kernels import Model, matern52

ROUNDING = 1e-14  # of the prior variance: what is left of it below this is rounding


def log_evidence(model: Model, X: Tensor, y: Tensor) -> Tensor:
    """ln p(y | X) of y (n,) at X (n, d), differentiable over the parameters of the model."""
    return _GaussianLogDensity.apply(y - model.mean(X), model.covariance(X, X), model.noise)


class _GaussianLogDensity(torch.autograd.Function):
    """ln N(r; 0, K + noise I) of r (n,); the gradient over K reuses the factor of the value."""

    @staticmethod
    def forward(ctx: FunctionCtx, r: Tensor, K: Tensor, noise: Tensor) -> Tensor:
        L = _factor(K, noise)
        alpha = solve(L, r)
        ctx.save_for_backward(L, alpha)
        return log_density(r, L, alpha)

    @staticmethod
    @once_differentiable
    def backward(ctx: BackwardCFunction, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        L, alpha = tuple(ctx.saved_tensors)
        over_K = over_covariance(L, alpha, gradient)
        return -gradient * alpha, over_K, over_K.trace()[None]


class MaternDensity:
    """ln N(r; 0, K + noise I) of r (n,) with the Matern-5/2 covariance K of X (n, d), which depends
    on length-scales (1, d or 1) and outputscale.

    Each slope of K is a sum of products of matrices that the value needs anyway
    (rasmussen2006gaussian, eq. 5.9).
    """

    def __init__(
        self, r: Tensor, X: Tensor, lengthscale: Tensor, scale: Tensor, noise: Tensor
    ) -> None:
        self.lengthscale, self.scale, self.noise, self.r = lengthscale, scale, noise, r
        self.A = X * (sqrt(5) / lengthscale)
        self.linear = self.A.new_empty((len(X), len(X)))
        self.K = matern52(self.A, None, self.linear).mul_(scale)
        self.K.diagonal().add_(noise)
        self.L = safe_cholesky(self.K)
        self.alpha = solve(self.L, r)

    def value(self) -> Tensor:
        """The log density."""
        return log_density(self.r, self.L, self.alpha)

    def slopes(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Slopes over r (n,), length-scales, outputscale and noise, to be asked for once."""
        A, scale = self.A, self.scale
        over_K = over_covariance(self.L, self.alpha, torch.ones(()))
        over_noise = over_K.trace()
        # sum_ij over_K_ij dK_ij/ds, where s dK/ds is K without its noise
        over_scale = over_K.T.reshape(-1) @ self.K.view(-1) - self.noise * over_noise
        # l dk/dl = s (1 + r) exp(-r)/3 (A_ik - A_jk)^2, for coordinate k
        W = over_K.mul_(self.linear)
        over_log = 2 / 3 * scale * (W.sum(1) @ (A * A) - (A * (W @ A)).sum(0))
        shares = (over_log / self.lengthscale).sum_to_size(self.lengthscale.shape)
        return -self.alpha, shares, over_scale / scale, over_noise


def over_covariance(L: Tensor, alpha: Tensor, gradient: Tensor) -> Tensor:
    """The slope (n, n) of a log density over its covariance L L': (alpha alpha' - K^-1)/2."""
    return inverse(L).neg_().addr_(alpha, alpha).mul_(0.5 * gradient)


@dataclass(frozen=True, eq=False)
class Posterior:
    """f given y at X (n, d): L (n, n) factors K + noise I, alpha = (K + noise I)^-1 (y - mean)."""

    model: Model
    X: Tensor
    y: Tensor
    L: Tensor
    alpha: Tensor

    @classmethod
    def of(cls, model: Model, X: Tensor, y: Tensor) -> Posterior:
        """Condition a model on data: O(n^3)."""
        return cls._solved(model, X, y, _factor(model.covariance(X, X), model.noise))

    def extend(self, X: Tensor, y: Tensor) -> Posterior:
        """Condition on q more rows under the same parameters: O(n^2 q)."""
        cross, corner = (
            self.model.covariance(self.X, X),
            _noisy(self.model.covariance(X, X), self.model.noise),
        )
        return self._solved(
            self.model,
            torch.cat([self.X, X]),
            torch.cat([self.y, y]),
            append(self.L, cross, corner),
        )

    @classmethod
    def _solved(cls, model: Model, X: Tensor, y: Tensor, L: Tensor) -> Posterior:
        return cls(model, X, y, L, solve(L, y - model.mean(X)))

    def __call__(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance at X (q, d), each (q,), differentiable over X."""
        gain, explained = _Moments.apply(self.model.covariance(self.X, X), self.L, self.alpha)
        prior = self.model.variance(X)
        return self.model.mean(X) + gain, torch.maximum(prior - explained, ROUNDING * prior)

    def mean(self, X: Tensor) -> Tensor:
        """Mean at X (q, d), shape (q,): no solve, so cheaper than both."""
        return self.model.mean(X) + self.alpha @ self.model.covariance(self.X, X)

    def variance(self, X: Tensor) -> Tensor:
        """Variance at X (q, d), shape (q,); never below rounding."""
        return self(X)[1]

    def covariance(self, X: Tensor) -> Tensor:
        """Joint covariance at X (q, d), shape (q, q)."""
        V = self._whitened(self.model.covariance(self.X, X))
        return torch.addmm(self.model.covariance(X, X), V.T, V, alpha=-1.0)

    def sample(self, X: Tensor, rng: np.random.Generator, *, count: int) -> Array:
        """Joint draws (count, q) of f at X (q, d)."""
        k = self.model.covariance(self.X, X)
        mean, V = self.model.mean(X) + self.alpha @ k, self._whitened(k)
        L = residual_cholesky(self.model.covariance(X, X), V)
        normal = torch.from_numpy(rng.standard_normal((count, len(X))))
        return (mean + normal @ L.T).numpy()

    def slopes(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of mean and variance over X (q, d), each (q, d)."""
        X = X.detach().requires_grad_()
        mean, variance = self(X)
        (over_mean,) = torch.autograd.grad(mean.sum(), X, retain_graph=True)
        (over_variance,) = torch.autograd.grad(variance.sum(), X)
        return over_mean, over_variance

    @property
    def log_evidence(self) -> float:
        """ln p(y | X)."""
        return float(log_density(self.y - self.model.mean(self.X), self.L, self.alpha))

    def _whitened(self, k: Tensor) -> Tensor:
        """L^-1 k (n, q) of covariances k (n, q) with the data."""
        return solve_lower(self.L, k)


class _Moments(torch.autograd.Function):
    """alpha' k and the diagonal of k' (L L')^-1 k for k (n, q), each (q,)."""

    @staticmethod
    def forward(ctx: FunctionCtx, k: Tensor, L: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
        V = solve_lower(L, k)
        ctx.save_for_backward(L, alpha, V)
        return alpha @ k, (V * V).sum(0)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: BackwardCFunction, over_mean: Tensor, over_variance: Tensor
    ) -> tuple[Tensor, None, None]:
        L, alpha, V = tuple(ctx.saved_tensors)
        over_k = solve_lower(L, V, transposed=True).mul_(2 * over_variance)
        return over_k.addr_(alpha, over_mean), None, None


def as_fitted(posterior: Posterior) -> Posterior:
    """The posterior with the noise of its model."""
    return posterior


def noise_free(posterior: Posterior) -> Posterior:
    """The same model and data without noise, but for the jitter of parts/numerics/cholesky."""
    model = copy.deepcopy(posterior.model)
    model.get_parameter("likelihood.noise_covar.raw_noise").data.zero_()
    return Posterior.of(model, posterior.X, posterior.y)


# with which noise a model predicts, whatever it was fitted with
GRAMS: Mapping[str, Callable[[Posterior], Posterior]] = {
    "noisy": as_fitted,
    "noise-free": noise_free,
}


def log_density(r: Tensor, L: Tensor, alpha: Tensor) -> Tensor:
    """ln N(r; 0, L L') of r (n,), given alpha (n,) = (L L')^-1 r."""
    return -0.5 * (r @ alpha) - L.diagonal().log().sum() - 0.5 * len(r) * log(2 * pi)


def _noisy(K: Tensor, noise: Tensor) -> Tensor:
    K = K.clone()
    K.diagonal().add_(noise)
    return K


def _factor(K: Tensor, noise: Tensor) -> Tensor:
    return safe_cholesky(_noisy(K, noise))
