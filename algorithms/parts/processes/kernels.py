"""Gaussian-process models y = mean + f(x) + noise, f ~ GP(0, kernel): GPyTorch modules
(gardner2018gpytorch) by name.

A parameter is stored as the value that it stands for, without a softplus in between: its constraint
says where it may lie, and `fitting` takes logarithms. A parameter that a builder freezes
(`requires_grad_(False)`) is known; the others are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, log, prod, sqrt

import gpytorch
import torch
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import Kernel, MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, Mean, ZeroMean
from gpytorch.priors import GammaPrior
from torch import Tensor
from torch.autograd.function import BackwardCFunction, once_differentiable

Range = Sequence[float]  # least, first and largest value of a parameter

# How `square_distances` works.
FEW_DIMENSIONS, FEW_PRODUCTS = 4, 2**18  # d and a b d, from which on matrices are faster: measured
NEAR = 2e-3  # of |a|^2: closer pairs are computed from differences
MANY = 0.05  # share of close pairs from which on a whole block is
BLOCK = 2**17  # numbers of a block: 1 MiB, which stays in the cache
TILE = 256  # rows and columns of a tile that is transposed


class Matern52(MaternKernel):
    """GPyTorch's Matern-5/2, once differentiable by a closed form, which is faster."""

    def __init__(self, **parameters: object) -> None:
        super().__init__(nu=2.5, **parameters)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **parameters: object) -> Tensor:
        """Covariance (a, b) of points x1 (a, d) and x2 (b, d), or their variance; other pairs and
        batches go GPyTorch's way. Of points with themselves it is symmetric to the last bit.
        """
        if diag and torch.equal(x1, x2):
            return x1.new_ones(x1.shape[:-1])
        if diag or x1.dim() > 2:
            return super().forward(x1, x2, diag=diag, **parameters)
        unit = self.lengthscale / sqrt(5)
        if torch.equal(x1, x2) and (x1 is x2 or not (x1.requires_grad or x2.requires_grad)):
            return _Matern52.apply(x1 / unit, None)
        return _Matern52.apply(x1 / unit, x2 / unit)


class ScaledMatern52(ScaleKernel):
    """GPyTorch's outputscale times a Matern-5/2 kernel, in place where nobody asks for slopes."""

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **parameters: object) -> Tensor:
        """Covariance (a, b) of points x1 (a, d) and x2 (b, d), or their variance."""
        K, scale = self.base_kernel.forward(x1, x2, diag, **parameters), self.outputscale
        return K * scale if K.requires_grad or scale.requires_grad else K.mul_(scale)


class _Matern52(torch.autograd.Function):
    """Matern-5/2 of A (a, d) and B (b, d), or A and itself, in units of length-scale/sqrt(5)."""

    @staticmethod
    def forward(ctx: BackwardCFunction, A: Tensor, B: Tensor | None) -> Tensor:
        if not any(ctx.needs_input_grad):
            return matern52(A, B)
        points = (A,) if B is None else (A, B)
        linear = A.new_empty((len(A), len(points[-1])))
        K = matern52(A, B, linear)
        ctx.save_for_backward(linear, *points)
        return K

    @staticmethod
    @once_differentiable
    def backward(ctx: BackwardCFunction, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        linear, A, *others = tuple(ctx.saved_tensors)
        W = linear.mul(gradient).mul_(-1 / 3)  # dk/d(r^2) = -(1 + r) exp(-r)/6, times 2
        if not others:
            W = W + W.T
            return W.sum(1)[:, None] * A - W @ A, None
        (B,), (of_A, of_B) = others, tuple(ctx.needs_input_grad)
        over_A = W.sum(1)[:, None] * A - W @ B if of_A else None
        over_B = W.sum(0)[:, None] * B - W.T @ A if of_B else None
        return over_A, over_B


def matern52(A: Tensor, B: Tensor | None = None, linear: Tensor | None = None) -> Tensor:
    """(1 + r + r^2/3) exp(-r) (a, b) with r = |a - b|, of A (a, d) and B (b, d), or of A and itself
    where B is None. (1 + r) exp(-r) is written into `linear` (a, b).
    """
    K = A.new_empty((len(A), len(A if B is None else B)))
    for rows, columns, square in square_distances(A, B):
        part = K[rows, columns]
        r = torch.sqrt(square, out=None if linear is None else linear[rows, columns])
        decay = torch.neg(r, out=part).exp_()
        r.add_(1.0).mul_(decay)
        torch.add(r, square.mul_(decay), alpha=1 / 3, out=part)
    if B is None and rows.start:  # several blocks
        for matrix in (K,) if linear is None else (K, linear):
            mirror(matrix)
    return K


def square_distances(A: Tensor, B: Tensor | None = None) -> Iterator[tuple[slice, slice, Tensor]]:
    """Squared distances of points A (a, d) from B (b, d) in blocks: rows, columns, |a - b|^2.

    Without B they are those of A from itself: then a block ends with the column of its last row,
    and what is not in any block mirrors what is. The caller may change a block and has it until the
    next one.

    Many are computed as |a|^2 + |b|^2 - 2 a'b about the mean of A, by one product of matrices. The
    terms of that sum round by u (|a|^2 + |b|^2) each way, u = (d + 4) 2^-53, and |a|^2 + |b|^2 <= 3
    |a|^2 + 2 |a - b|^2. Where less than NEAR |a|^2 is left, which is where digits cancel, the
    distance is computed from differences, as all are where there are few. So the relative error is
    below 2 u (3/NEAR + 2), and equal points are exactly 0 apart.
    """
    other = A if B is None else B
    (a, d), b = A.shape, len(other)
    if d < FEW_DIMENSIONS or a * b * d < FEW_PRODUCTS:
        whole = torch.cdist(A, other, compute_mode="donot_use_mm_for_euclid_dist").square_()
        yield slice(0, a), slice(0, b), whole
        return
    centre = A.mean(0)
    left, right = A - centre, other - centre
    norms = left.square().sum(1, keepdim=True)
    over = norms if B is None else right.square().sum(1, keepdim=True)
    left = torch.cat([-2.0 * left, norms, torch.ones_like(norms)], 1)
    right = torch.cat([right, torch.ones_like(over), over], 1).T
    near = NEAR * norms[:, 0]
    step = min(max(1, BLOCK // b), a)
    room = left.new_empty(step * b)
    for start in range(0, a, step):
        stop = min(start + step, a)
        rows, columns = slice(start, stop), slice(0, stop if B is None else b)
        shape = stop - start, columns.stop
        square = torch.mm(left[rows], right[:, columns], out=room[: prod(shape)].view(shape))
        if B is None:
            corner = square[:, start:]
            corner.fill_diagonal_(inf)  # no pair to look at
        close = (square.amin(1) < near[rows]).nonzero()[:, 0]
        if len(close):
            i, j = (square[close] < near[rows][close, None]).nonzero().T
            _from_differences(square, close[i], j, A[rows], other)
        if B is None:
            mirror(corner)
            corner.fill_diagonal_(0.0)
        yield rows, columns, square


def _from_differences(square: Tensor, i: Tensor, j: Tensor, A: Tensor, B: Tensor) -> None:
    """Write |A_i - B_j|^2 into the entries (i, j) of a block, or into all if those are many."""
    if len(i) > MANY * square.numel():
        B = B[: square.shape[1]]
        square.copy_(torch.cdist(A, B, compute_mode="donot_use_mm_for_euclid_dist").square_())
        return
    square[i, j] = (A[i] - B[j]).square_().sum(1)


def mirror(K: Tensor) -> None:
    """Copy the lower triangle of K (n, n) into the upper one, by tiles that fit the cache."""
    for start in range(0, len(K), TILE):
        stop = start + TILE
        for row in range(stop, len(K), TILE):
            K[start:stop, row : row + TILE] = K[row : row + TILE, start:stop].T
        corner = K[start:stop, start:stop]
        below = corner.tril(-1)
        corner.tril_().add_(below.T)


class Model(gpytorch.Module):
    """Mean, kernel and likelihood with priors; read only, but for the copy that a fit changes."""

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
    """BoTorch's default until 2024 (balandat2020botorch): Matern-5/2, ARD, Gamma priors."""
    kernel = ScaledMatern52(
        Matern52(
            ard_num_dims=d,
            lengthscale_prior=gamma(3.0, 6.0),
            lengthscale_constraint=positive(log(2)),
        ),
        outputscale_prior=gamma(2.0, 0.15),
        outputscale_constraint=positive(log(2)),
    )
    noise = gamma(1.1, 0.05)
    start = (noise.concentration - 1) / noise.rate  # the mode of its prior
    constraint = GreaterThan(1e-4, transform=None, initial_value=start)
    return Model(
        ConstantMean(), kernel, GaussianLikelihood(noise_prior=noise, noise_constraint=constraint)
    )


def scikit_optimize(d: int) -> Model:
    """scikit-optimize's default (head2021skopt): Matern-5/2, ARD, wide bounds, no priors."""
    return _matern(
        ZeroMean(),
        d,
        lengthscale=(0.01, 1.0, 100.0),
        outputscale=(0.01, 1.0, 1000.0),
        noise=(1e-5, 1.0, 1e5),
    )


def bounded(d: int, *, lengthscale: Range, outputscale: Range, noise: Range) -> Model:
    """Matern-5/2, ARD, constant mean, bounds in place of priors: the shape of TuRBO's model."""
    return _matern(ConstantMean(), d, lengthscale=lengthscale, outputscale=outputscale, noise=noise)


def _matern(mean: Mean, d: int, *, lengthscale: Range, outputscale: Range, noise: Range) -> Model:
    matern = Matern52(ard_num_dims=d, lengthscale_constraint=_within(lengthscale))
    kernel = ScaledMatern52(matern, outputscale_constraint=_within(outputscale))
    return Model(mean, kernel, GaussianLikelihood(noise_constraint=_within(noise)))


def _within(values: Range) -> Interval:
    low, start, high = values
    if not 0 <= low <= start <= high:
        raise ValueError(
            f"expected 0 <= least <= first <= largest value, got {low}, {start}, {high}"
        )
    return Interval(low, high, transform=None, initial_value=start)


def gamma(concentration: float, rate: float) -> GammaPrior:
    """A Gamma prior whose constants are not rounded to single precision."""
    return GammaPrior(
        double(concentration),
        double(rate),
        validate_args=False,  # constraints keep parameters positive; checks would cost as much
    )


def positive(start: float = 1.0) -> GreaterThan:
    """The constraint of a positive parameter that GPyTorch keeps as it is, not as a softplus."""
    return GreaterThan(0.0, transform=None, initial_value=start)


def double(numbers: float | Sequence[float]) -> Tensor:
    """Numbers that are not rounded to single precision, as GPyTorch's initial values are."""
    return torch.tensor(numbers, dtype=torch.float64)
