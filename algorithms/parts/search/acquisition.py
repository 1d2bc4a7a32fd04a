"""What a point promises, from its posterior mean (q,) and variance (q,), both tensors: once
differentiable, larger is better.

Improvement is over `best`, feasibility is g <= 0. Logarithms stay finite and keep their slope
however small the promise: below NEAR they go through Phi/phi, which erfcx gives without underflow,
and the expected improvement below FAR through its asymptotic series.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable

WithSlopes = tuple[Tensor, Tensor, Tensor]  # of values, over means, over variances
NEAR, FAR = -1.0, -100.0  # standard deviations; at FAR both forms are good to 1e-12


def ucb(mean: Tensor, variance: Tensor, beta: float) -> Tensor:
    """mean + sqrt(beta) sigma (srinivas2010gpucb)."""
    return mean + sqrt(beta) * variance.sqrt()


def ucb_with_slopes(mean: Tensor, variance: Tensor, beta: float) -> WithSlopes:
    """`ucb` and its slopes over mean and variance, each (q,)."""
    sigma = variance.sqrt()
    return mean + sqrt(beta) * sigma, torch.ones_like(mean), 0.5 * sqrt(beta) / sigma


def log_ei(mean: Tensor, variance: Tensor, best: float) -> Tensor:
    """ln E max(f - best, 0) (jones1998ego; why the logarithm: ament2023logei)."""
    sigma = variance.sqrt()
    z = (mean - best) / sigma
    return sigma.log() + _Known.apply(z, *_log_gain(z))


def log_ei_with_slopes(mean: Tensor, variance: Tensor, best: float) -> WithSlopes:
    """`log_ei` and its slopes over mean and variance, each (q,)."""
    sigma = variance.sqrt()
    z = (mean - best) / sigma
    gain, slope = _log_gain(z)
    return sigma.log() + gain, slope / sigma, (1 - slope * z) / (2 * variance)


def log_pi(mean: Tensor, variance: Tensor, best: float) -> Tensor:
    """ln P(f > best)."""
    z = (mean - best) / variance.sqrt()
    return _Known.apply(z, *_log_tail(z))


def log_pi_with_slopes(mean: Tensor, variance: Tensor, best: float) -> WithSlopes:
    """`log_pi` and its slopes over mean and variance, each (q,)."""
    sigma = variance.sqrt()
    z = (mean - best) / sigma
    tail, slope = _log_tail(z)
    return tail, slope / sigma, -slope * z / (2 * variance)


def log_feasibility(mean: Tensor, variance: Tensor) -> Tensor:
    """ln P(g <= 0)."""
    z = -mean / variance.sqrt()
    return _Known.apply(z, *_log_tail(z))


def log_feasibility_slopes(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Slopes of `log_feasibility` over mean and variance, each (q,)."""
    sigma = variance.sqrt()
    z = -mean / sigma
    _, slope = _log_tail(z)
    return -slope / sigma, -slope * z / (2 * variance)


class Acquisition(NamedTuple):
    """What a point promises by its mean, its variance and a number: the best value, or beta."""

    value: Callable[[Tensor, Tensor, float], Tensor]
    with_slopes: Callable[[Tensor, Tensor, float], WithSlopes]


EI = Acquisition(log_ei, log_ei_with_slopes)
PI = Acquisition(log_pi, log_pi_with_slopes)
UCB = Acquisition(ucb, ucb_with_slopes)


def _log_tail(z: Tensor) -> tuple[Tensor, Tensor]:
    """ln Phi(z), and its slope phi/Phi."""
    with torch.no_grad():
        high, low = z.clamp(min=NEAR), z.clamp(max=NEAR)
        near, ratio = torch.special.log_ndtr(high), _ratio(low)
        value = torch.where(z > NEAR, near, _log_density(low) + ratio.log())
        slope = torch.where(z > NEAR, (_log_density(high) - near).exp(), 1 / ratio)
    return value, slope


def _log_gain(z: Tensor) -> tuple[Tensor, Tensor]:
    """ln (phi(z) + z Phi(z)), EI in standard deviations, and its slope Phi/(phi + z Phi)."""
    with torch.no_grad():
        high, low = z.clamp(min=NEAR), z.clamp(FAR, NEAR)
        Phi, ratio = torch.special.ndtr(high), _ratio(low)
        # the latter divided by phi
        near, middle = _log_density(high).exp() + high * Phi, 1 + low * ratio
        is_near = z > NEAR
        value = torch.where(is_near, near.log(), _log_density(low) + middle.log())
        slope = torch.where(is_near, Phi / near, ratio / middle)
        if len(z) and float(z.min()) <= FAR:
            far = z.clamp(max=FAR)
            w = far**-2
            series = _log_density(far) + (w * (1 + w * (-3 + w * (15 - 105 * w)))).log()
            value = torch.where(z > FAR, value, series)
            slope = torch.where(z > FAR, slope, -far - (2 - 6 * w) / far)
    return value, slope


def _ratio(z: Tensor) -> Tensor:
    """Phi(z)/phi(z) for z < 0."""
    return sqrt(pi / 2) * torch.special.erfcx(z / -sqrt(2))


def _log_density(z: Tensor) -> Tensor:
    return -0.5 * z * z - log(2 * pi) / 2


class _Known(torch.autograd.Function):
    """A function of z whose value and slope are known."""

    @staticmethod
    def forward(ctx: FunctionCtx, z: Tensor, value: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: BackwardCFunction, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None, None
