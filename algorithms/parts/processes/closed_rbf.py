"""Regression under RBF kernels in closed form, without GPyTorch's graphs: moments with their slopes
over inputs, and the evidence with its slopes over both scales (rasmussen2006gaussian, eqs. 2.25,
2.26 and 5.9).

What `Posterior` and `Target` compute, for methods that ask for it hundreds of times an iteration.
Factors are the posteriors' own. An inverse of K in their place, by which one product would do for
two triangular solves, was measured to save a tenth of their time, and loses digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable

from algorithms.parts.numerics.cholesky import safe_cholesky, solve, solve_lower
from algorithms.parts.processes.fitting import LOGARITHM, Chart, Target
from algorithms.parts.processes.gp import ROUNDING, Posterior, log_density, over_covariance
from algorithms.parts.processes.kernels import Model

# means and variances (columns, q) -> slopes over either
Over = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class JointRBF:
    """Moments of c posteriors given values at the same inputs (n, d).

    Their means are constant, their kernels s exp(-|x - x'|^2/2), where x is in length-scales of
    their own, one or one for each coordinate.
    """

    def __init__(self, posteriors: Sequence[Posterior]) -> None:
        X, kernels = posteriors[0].X, [posterior.model.kernel for posterior in posteriors]
        self.factors = [posterior.L for posterior in posteriors]
        self.alpha = torch.stack([posterior.alpha for posterior in posteriors])[
            :, None
        ]  # (c, 1, n)
        self.constants = torch.stack([posterior.model.mean(X[:1]) for posterior in posteriors])
        self.s = torch.stack([kernel.outputscale for kernel in kernels])[:, None]
        self.floor = ROUNDING * self.s
        self.lengthscales = torch.stack(  # (c, 1, d)
            [kernel.base_kernel.lengthscale.expand(1, X.shape[1]) for kernel in kernels]
        )
        self.centre = X.mean(0)
        self.A = (X - self.centre) / self.lengthscales  # (c, n, d)
        self.bias = (self.s.log() - 0.5 * self.A.square().sum(2))[:, None]

    def __call__(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Means and variances at X (q, d), each (c, q); a variance is never below rounding."""
        _, k = self._cross(X)
        return self._moments(
            k, [_whitened(L, each) for L, each in zip(self.factors, k, strict=True)]
        )

    def slopes(self, X: Tensor, over: Over) -> Tensor:
        """The slopes (q, d) over X (q, d) of what has these slopes over the moments there."""
        Z, k = self._cross(X)
        whitened, gains = [], []
        for L, each in zip(self.factors, k, strict=True):  # both solves while L is in the cache
            whitened.append(_whitened(L, each))
            gains.append(solve_lower(L, whitened[-1].T, transposed=True).T)
        means, variances = self._moments(k, whitened)
        over_means, over_variances = over(means, variances)
        over_explained = torch.where(variances > self.floor, -over_variances, 0.0)
        W = torch.stack(gains).mul_(2 * over_explained[:, :, None])
        W.addcmul_(over_means[:, :, None], self.alpha).mul_(k)
        slopes = _product(W, self.A) - W.sum(2, keepdim=True) * Z  # dk/dZ = k (A - Z)
        return (slopes / self.lengthscales).sum(0)

    def _cross(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """X (q, d) in length-scales, (c, q, d), and its covariance with the data, (c, q, n)."""
        Z = (X - self.centre) / self.lengthscales
        k = _product(Z, self.A.mT).add_(self.bias)
        return Z, k.sub_(0.5 * Z.square().sum(2, keepdim=True)).exp_()

    def _moments(self, k: Tensor, whitened: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        explained = torch.stack([V.square().sum(1) for V in whitened])
        means = self.constants + (k @ self.alpha.mT)[:, :, 0]
        return means, torch.maximum(self.s - explained, self.floor)


def _product(A: Tensor, B: Tensor) -> Tensor:
    """A B by NumPy's OpenBLAS, for the reason of parts/numerics/cholesky."""
    return torch.from_numpy(np.matmul(A.numpy(), B.numpy()))


def _whitened(L: Tensor, k: Tensor) -> Tensor:
    """k L^-T of k (q, n)."""
    return solve_lower(L, k.T).T


class ScaleTarget(Target):
    """A target of one length-scale and a known noise: squared distances are computed once."""

    def __init__(self, model: Model, X: Tensor, y: Tensor, chart: Chart = LOGARITHM) -> None:
        super().__init__(model, X, y, chart)
        if model.kernel.base_kernel.lengthscale.numel() > 1:
            raise ValueError("expected a model with one length-scale, got one for each coordinate")
        A = X - X.mean(0)
        norms = A.square().sum(1)
        self.squares = (norms[:, None] + norms).addmm_(A, A.T, alpha=-2.0).clamp_(min=0.0)
        self.squares.fill_diagonal_(0.0)

    def log_evidence(self) -> Tensor:
        """ln p(y | X), differentiable over both scales and the mean."""
        kernel = self.model.kernel
        return _LogEvidence.apply(
            kernel.base_kernel.lengthscale,
            kernel.outputscale,
            self.y - self.model.mean(self.X),
            self.squares,
            self.model.noise.item(),
        )


class _LogEvidence(torch.autograd.Function):
    """ln N(r; 0, K + noise I) of r (n,), where K (n, n) = s exp(-squares/(2 ell^2))."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, ell: Tensor, s: Tensor, r: Tensor, squares: Tensor, noise: float
    ) -> Tensor:
        K = squares.mul(-0.5 / ell.item() ** 2).exp_().mul_(s)
        K.diagonal().add_(noise)
        L = safe_cholesky(K)
        K.diagonal().fill_(s)
        alpha = solve(L, r)
        ctx.save_for_backward(ell, s, squares, K, L, alpha)
        return log_density(r, L, alpha)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: BackwardCFunction, gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, None, None]:
        ell, s, squares, K, L, alpha = tuple(ctx.saved_tensors)
        # eq. 5.9, where dK/dell = K squares/ell^3 and dK/ds = K/s, each entry by itself
        W = over_covariance(L, alpha, gradient).T.mul_(K)
        over_ell, over_s = (W.flatten() @ squares.flatten()) / ell**3, W.sum() / s
        return over_ell, over_s, -gradient * alpha, None, None
