"""Gaussian-process models y = mean + f(x) + noise, f ~ GP(0, kernel): GPyTorch modules
(gardner2018gpytorch) by name.

A parameter is stored as the value that it stands for, without a softplus in between: its constraint
says where it may lie, and `fitting` takes logarithms. A parameter that a builder freezes
(`requires_grad_(False)`) is known; the others are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import gpytorch
import torch
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import Kernel, MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, Mean, ZeroMean
from gpytorch.priors import GammaPrior
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable

Range = Sequence[float]  # least, first and largest value of a parameter


class Matern52(MaternKernel):
    """GPyTorch's Matern-5/2 with the derivative over squared distances in closed form: faster, once
    differentiable.
    """

    def __init__(self, **parameters: object) -> None:
        super().__init__(nu=2.5, **parameters)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **parameters: object) -> Tensor:
        """Covariance (a, b) of points x1 (a, d) and x2 (b, d), or their variance; other pairs and
        batches go GPyTorch's way.
        """
        if diag and torch.equal(x1, x2):
            return x1.new_ones(x1.shape[:-1])
        if diag or x1.dim() > 2:
            return super().forward(x1, x2, diag=diag, **parameters)
        return _Matern52.apply(x1 / self.lengthscale, x2 / self.lengthscale)


class _Matern52(torch.autograd.Function):
    """k = (1 + r + r^2/3) exp(-r) with r = sqrt(5) |a - b|, of A (a, d) and B (b, d)."""

    @staticmethod
    def forward(ctx: FunctionCtx, A: Tensor, B: Tensor) -> Tensor:
        # From differences: |a|^2 + |b|^2 - 2 a'b loses every digit where a tiny length-scale
        # divides coordinates that agree.
        distance = torch.cdist(A, B, compute_mode="donot_use_mm_for_euclid_dist")
        square, r = distance.square(), distance.mul_(sqrt(5))
        decay = r.neg().exp_()
        linear = r.add_(1.0).mul_(decay)  # (1 + r) exp(-r)
        ctx.save_for_backward(A, B, linear)
        return torch.addcmul(linear, square, decay, value=5 / 3, out=square)

    @staticmethod
    @once_differentiable
    def backward(ctx: BackwardCFunction, gradient: Tensor) -> tuple[Tensor, Tensor]:
        A, B, linear = tuple(ctx.saved_tensors)
        W = linear.mul(gradient).mul_(-5 / 3)  # dk/d|a - b|^2 = -5/6 (1 + r) exp(-r), times 2
        return W.sum(1)[:, None] * A - W @ B, W.sum(0)[:, None] * B - W.T @ A


class Model(gpytorch.Module):
    """Mean, kernel and likelihood with their priors.

    Read only, but for the copy that `fit` works on.
    """

    def __init__(self, mean: Mean, kernel: Kernel, likelihood: GaussianLikelihood) -> None:
        super().__init__()
        self.mean, self.kernel, self.likelihood = mean, kernel, likelihood
        self.double()
        self.free = tuple(
            name for name, parameter in self.named_parameters() if parameter.requires_grad
        )
        self.priors = [(module, prior, value) for _, module, prior, value, _ in self.named_priors()]
        self.requires_grad_(False)  # gradients over inputs need none over parameters

    @property
    def noise(self) -> Tensor:
        """Variance of the noise, shape (1,)."""
        return self.likelihood.noise

    def covariance(self, A: Tensor, B: Tensor) -> Tensor:
        """Prior covariance of f between points A (a, d) and B (b, d), dense (a, b)."""
        with gpytorch.settings.lazily_evaluate_kernels(False):
            return self.kernel(A, B).to_dense()

    def variance(self, A: Tensor) -> Tensor:
        """Prior variance of f at points A (a, d), shape (a,)."""
        return self.kernel(A, diag=True)

    def log_prior(self) -> Tensor:
        """Log density of the parameters under their priors; 0 where there are none."""
        densities = [prior.log_prob(value(module)).sum() for module, prior, value in self.priors]
        return torch.stack(densities).sum() if densities else torch.zeros((), dtype=torch.float64)


def gamma_priors(d: int) -> Model:
    """BoTorch's default until 2024 (balandat2020botorch): Matern-5/2, one length-scale per input,
    Gamma priors.
    """
    kernel = ScaleKernel(
        Matern52(
            ard_num_dims=d,
            lengthscale_prior=_gamma(3.0, 6.0),
            lengthscale_constraint=GreaterThan(0.0, transform=None, initial_value=log(2)),
        ),
        outputscale_prior=_gamma(2.0, 0.15),
        outputscale_constraint=GreaterThan(0.0, transform=None, initial_value=log(2)),
    )
    noise = _gamma(1.1, 0.05)
    start = (noise.concentration - 1) / noise.rate  # the mode of its prior
    constraint = GreaterThan(1e-4, transform=None, initial_value=start)
    return Model(
        ConstantMean(), kernel, GaussianLikelihood(noise_prior=noise, noise_constraint=constraint)
    )


def scikit_optimize(d: int) -> Model:
    """scikit-optimize's default (head2021skopt): Matern-5/2, one length-scale per input, wide
    bounds and no priors.
    """
    return _matern(
        ZeroMean(),
        d,
        lengthscale=(0.01, 1.0, 100.0),
        outputscale=(0.01, 1.0, 1000.0),
        noise=(1e-5, 1.0, 1e5),
    )


def bounded(d: int, *, lengthscale: Range, outputscale: Range, noise: Range) -> Model:
    """Matern-5/2, one length-scale per input, constant mean, bounds in place of priors: the shape
    of TuRBO's model.
    """
    return _matern(ConstantMean(), d, lengthscale=lengthscale, outputscale=outputscale, noise=noise)


def _matern(mean: Mean, d: int, *, lengthscale: Range, outputscale: Range, noise: Range) -> Model:
    matern = Matern52(ard_num_dims=d, lengthscale_constraint=_within(lengthscale))
    kernel = ScaleKernel(matern, outputscale_constraint=_within(outputscale))
    return Model(mean, kernel, GaussianLikelihood(noise_constraint=_within(noise)))


def _within(values: Range) -> Interval:
    low, start, high = values
    if not 0 <= low <= start <= high:
        raise ValueError(
            f"expected 0 <= least <= first <= largest value, got {low}, {start}, {high}"
        )
    return Interval(low, high, transform=None, initial_value=start)


def _gamma(concentration: float, rate: float) -> GammaPrior:
    return GammaPrior(
        torch.tensor(concentration, dtype=torch.float64), torch.tensor(rate, dtype=torch.float64)
    )
