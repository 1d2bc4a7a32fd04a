"""Additive Gaussian processes y = sum_i f_i(x_Vi) + noise: evidence with its gradient, fits, and
posteriors of all factors (NumPy).

Each f_i ~ GP(0, a_i Matern-5/2) has one length-scale and sees the variables Vi of its factor alone
(duvenaud2011additive). One length-scale a factor is what makes many models of one data set cheap:
distances between data are computed once for each factor that any model has, and everything else is
elementwise. Pairs of data are kept as vectors, P = n(n-1)/2 for the upper triangle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log, pi, sqrt

import numpy as np
import torch
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotri, dpotrs, dtrtri

from algorithms.api import Array, Indices
from algorithms.parts.numerics import cholesky
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.linalg import cholesky_in_place, safe_cholesky
from algorithms.parts.numerics.steps import ascend

Factor = tuple[int, ...]

ROOT5 = sqrt(5)
CHUNK = 4_000_000  # covariances that are held at once
MEANS = {"zero": False, "fitted": True}


@dataclass(frozen=True, eq=False)
class Kernel:
    """The scales of one additive model: of N factors the output scales a (N,) and length-scales l
    (N,), the variance of the noise, and the constant mean of y.
    """

    outputscale: Array
    lengthscale: Array
    noise: float
    mean: float = 0.0

    def __post_init__(self) -> None:
        if not (np.all(self.outputscale > 0) and np.all(self.lengthscale > 0) and self.noise >= 0):
            raise ValueError(
                f"expected positive scales and noise >= 0, got {self}: look at the fit or its first"
                " values"
            )


@dataclass(frozen=True)
class Scales:
    """The additive process before it is fitted: the group `surrogate` of all that decompose.

    Values are in standardised units of y, and equal for all factors.

    outputscale: the prior variance of a factor.
    lengthscale: of its Matern-5/2 kernel, in units of the box.
    noise: the variance of the noise of an observation.
    least_noise: below which no fit goes, a variance as well.
    mean: "zero" (bardou2024dumbo, Assumption 3.2), or "fitted" with the scales, from 0 at every
        fit, and left out of predictions, as in the public code of bardou2024dumbo.

    The public code begins as gardner2018gpytorch does: at ln 2, and for the noise 1e-4 above,
    which is the least noise.
    """

    outputscale: float
    lengthscale: float
    noise: float
    least_noise: float
    mean: str

    def __post_init__(self) -> None:
        chosen(MEANS, self.mean, "mean")


@dataclass(frozen=True)
class Fit:
    """How scales are fitted to the evidence per datum, by Adam (kingma2015adam): the group `fit`.

    rate: Adam's, over rho with scale = softplus(rho).
    steps: of a model that was fitted before, each one evaluation of evidence and gradient.
    new_steps: of a model that is new.

    bardou2024dumbo's text has none of them; its public code takes 0.1 and 200 for both.
    """

    rate: float
    steps: int
    new_steps: int


class Distances:
    """sqrt(5) |x_V - x'_V| between n data (n, d) for any factor V, as (P,).

    All models of one data set share a `Distances`, which computes those of a factor once.
    """

    def __init__(self, X: Array) -> None:
        self.n = len(X)
        self.upper = np.triu_indices(self.n, 1)
        # the same pairs under the diagonal of a matrix in Fortran's order
        self.below = self.upper[0] * self.n + self.upper[1]
        self.squares = 5 * (X.T[:, self.upper[0]] - X.T[:, self.upper[1]]) ** 2  # (d, P)
        self.known: dict[Factor, Array] = {}

    def of(self, factors: Sequence[Factor]) -> Array:
        """The distances that N factors see, (N, P)."""
        for factor in factors:
            if factor not in self.known:
                self.known[factor] = np.sqrt(self.squares[list(factor)].sum(0))
        return np.stack([self.known[factor] for factor in factors])

    def lower(self, diagonal: float, pairs: Array) -> Array:
        """The lower triangle of a symmetric matrix (n, n) in Fortran's order, from a diagonal and
        its pairs (P,). Entries above the diagonal mean nothing.
        """
        K = np.empty(self.n**2)
        K[self.below] = pairs
        K[:: self.n + 1] = diagonal
        return K.reshape(self.n, self.n).T

    def full(self, diagonal: float, pairs: Array) -> Array:
        """The symmetric matrix (n, n) of a diagonal and what stands above it (P,)."""
        K = np.empty((self.n, self.n))
        K[self.upper] = K.T[self.upper] = pairs
        K.flat[:: self.n + 1] = diagonal
        return K


@dataclass(frozen=True, eq=False)
class Solved:
    """One additive model given y (n,): alpha (n,) = (K + noise I)^-1 (y - mean), that inverse
    (n, n), and ln p(y).

    `root` (n, n) is lower triangular, with precision = root' root. Variances are computed from a
    root if there is one: a nearly singular K leaves half of its digits in the root and none in the
    precision.
    """

    kernel: Kernel
    alpha: Array
    precision: Array
    log_evidence: float
    root: Array | None = None

    def in_units(self, ratio: float) -> Solved:
        """The model of ratio * y; the evidence stays that of y."""
        kernel = replace(
            self.kernel,
            outputscale=self.kernel.outputscale * ratio**2,
            noise=self.kernel.noise * ratio**2,
            mean=self.kernel.mean * ratio,
        )
        root = None if self.root is None else self.root / ratio
        precision = self.precision / ratio**2
        return Solved(kernel, self.alpha / ratio, precision, self.log_evidence, root)

    def explained(self, k: Array) -> Array:
        """The variance k' (K + noise I)^-1 k (q,) that data of covariances k (q, n) explain."""
        if self.root is None:
            return (k * (k @ self.precision)).sum(1)
        return ((k @ self.root.T) ** 2).sum(1)

    def weights(self, k: Array) -> Array:
        """(K + noise I)^-1 k (q, n) for each k of (q, n)."""
        return k @ self.precision if self.root is None else (k @ self.root.T) @ self.root

    def log_predictive(self) -> float:
        """ln p(y') at y' = y of a second observation y' of the data, given the first one.

        gardner2018gpytorch's evidence computes this of a model in evaluation mode. With P the
        precision, the residual is noise * alpha, and the covariance of y' noise (2 I - noise P).
        """
        noise, n = self.kernel.noise, len(self.alpha)
        L = safe_cholesky(2 * np.eye(n) - noise * self.precision)
        fit = noise * float(self.alpha @ cho_solve((L, True), self.alpha, check_finite=False))
        volume = n * log(2 * pi * noise) + 2 * float(np.log(L.diagonal()).sum())
        return -0.5 * (fit + volume)


def solve(distances: Distances, factors: Sequence[Factor], kernel: Kernel, y: Array) -> Solved:
    """Condition an additive model on y (n,): O(N n^2 + n^3). Raises LinAlgError with directions."""
    alpha, lower, value = _conditioned(
        distances.lower(*_entries(distances, factors, kernel)), y - kernel.mean
    )
    return Solved(kernel, alpha, np.tril(lower) + np.tril(lower, -1).T, value)


def _entries(
    distances: Distances, factors: Sequence[Factor], kernel: Kernel
) -> tuple[float, Array]:
    """Diagonal and pairs (P,) of K + noise I."""
    covariance = _covariances(distances.of(factors), kernel.lengthscale)[0]  # (N, P)
    return kernel.outputscale.sum() + kernel.noise, kernel.outputscale @ covariance


def _gram(distances: Distances, factors: Sequence[Factor], kernel: Kernel) -> Array:
    """K + noise I (n, n)."""
    return distances.full(*_entries(distances, factors, kernel))


def as_fitted(distances: Distances, factors: Sequence[Factor], solved: Solved, y: Array) -> Solved:
    """Predictions by (4) and (5) where sigma^2 is the fitted noise; the mean is zero."""
    if not solved.kernel.mean:
        return solved
    return solve(distances, factors, replace(solved.kernel, mean=0.0), y)


def noise_free(distances: Distances, factors: Sequence[Factor], solved: Solved, y: Array) -> Solved:
    """Predictions with sigma^2 = 0 in (4) and (5), for values that have no noise.

    The jitter is the least of parts/numerics/cholesky with which the Gram matrix has a factor:
    none, if it has one as it is.
    """
    kernel = replace(solved.kernel, noise=0.0, mean=0.0)
    L = cholesky.safe_cholesky(torch.from_numpy(_gram(distances, factors, kernel))).numpy()
    root, _ = dtrtri(L, lower=1)
    root = np.tril(root)
    half = root @ y
    value = -0.5 * half @ half - np.log(L.diagonal()).sum() - 0.5 * len(y) * log(2 * pi)
    return Solved(kernel, half @ root, root.T @ root, float(value), root)


def inverse(distances: Distances, factors: Sequence[Factor], solved: Solved, y: Array) -> Solved:
    """Predictions with sigma^2 = 0 from the plain inverse of the Gram matrix, without any jitter,
    as in the public code of bardou2024dumbo. Variances are rounding errors where data are dense.

    The evidence, which nothing reads here, is the fitted model's. Repeated inputs leave no inverse:
    that code drops them, here `noise_free` predicts.
    """
    kernel = replace(solved.kernel, noise=0.0, mean=0.0)
    try:
        precision = np.linalg.inv(_gram(distances, factors, kernel)).astype(np.float64)
    except np.linalg.LinAlgError:
        return noise_free(distances, factors, solved, y)
    return Solved(kernel, precision @ y, precision, solved.log_evidence)


# how a fitted model predicts: the parameter `gram`
Gram = Callable[[Distances, Sequence[Factor], Solved, Array], Solved]
GRAMS: Mapping[str, Gram] = {"noisy": as_fitted, "noise-free": noise_free, "inverse": inverse}


def log_evidence(
    distances: Distances, R: Array, kernel: Kernel, y: Array, room: Array | None = None
) -> tuple[float, Array, Array, float, float]:
    """ln p(y) of y (n,), and its gradients over ln a (N,), ln l (N,), ln noise and the mean.

    R (N, P) are the factors' distances, `room` (4, N, P) is memory to compute in.
    """
    covariance, slope = _covariances(R, kernel.lengthscale, room)  # (N, P) each
    K = distances.lower(kernel.outputscale.sum() + kernel.noise, kernel.outputscale @ covariance)
    alpha, lower, value = _conditioned(K, y - kernel.mean)
    # dp/dK = (alpha alpha' - precision)/2, and every pair stands twice in K
    pairs = alpha[distances.upper[0]] * alpha[distances.upper[1]]
    pairs -= lower.T.ravel().take(distances.below)
    trace = float((alpha**2 - lower.diagonal()).sum())
    over_a = kernel.outputscale * (covariance @ pairs + trace / 2)
    over_l = kernel.outputscale * (slope @ pairs)
    return value, over_a, over_l, kernel.noise * trace / 2, float(alpha.sum())


def _covariances(R: Array, lengthscale: Array, room: Array | None = None) -> tuple[Array, Array]:
    """Matern-5/2 correlations at distances R (N, P), in units of 1/sqrt(5), and their derivative
    over ln l. Both lie in `room` (4, N, P), if it is given, and are lost when it is used again.
    """
    r, correlation, slope, third = np.empty((4, *R.shape)) if room is None else room
    np.divide(R, lengthscale[:, None], out=r)
    np.negative(r, out=correlation)
    decay = np.exp(correlation, out=correlation)
    np.add(1, r, out=slope)
    slope *= decay
    np.divide(r, 3, out=third)
    r *= third
    correlation *= r  # of the decay
    correlation += slope
    slope *= r
    return correlation, slope


def _conditioned(K: Array, y: Array) -> tuple[Array, Array, float]:
    """K^-1 y, K^-1 in and below its diagonal, and ln N(y; 0, K), from K in and below its diagonal.

    K is lost. Raises LinAlgError with directions.
    """
    L = cholesky_in_place(K)
    half_volume = np.log(L.diagonal()).sum()
    alpha, _ = dpotrs(L, y, lower=1)
    lower, _ = dpotri(L, lower=1, overwrite_c=1)
    value = -0.5 * y @ alpha - half_volume - 0.5 * len(y) * log(2 * pi)
    return alpha, lower, float(value)


def fit(
    distances: Distances,
    factors: Sequence[Factor],
    y: Array,
    start: Kernel,
    *,
    least_noise: float,
    steps: int,
    rate: float,
    with_mean: bool = False,
) -> Solved:
    """The model to which Adam climbs from `start` by the evidence per datum, over rho with theta =
    softplus(rho), and over a constant mean from 0 if there is one.

    The noise stays above its least value. These are GPyTorch's variables (gardner2018gpytorch), in
    which the authors' public codes fit.
    """
    R, N = distances.of(factors), len(factors)
    room = np.empty((4, *R.shape))  # new memory for every step takes as long as the arithmetic
    start = replace(start, noise=max(start.noise, least_noise * (1 + 1e-9)), mean=0.0)
    theta = np.concatenate([start.outputscale, start.lengthscale, [start.noise - least_noise]])
    first = np.append(theta + np.log(-np.expm1(-theta)), start.mean)

    def kernel(x: Array) -> Kernel:
        if x is first:  # rho is rounded, and would not lead back to the scales of the start
            return start
        values = np.logaddexp(0.0, x[:-1])
        return Kernel(values[:N], values[N:-1], least_noise + float(values[-1]), float(x[-1]))

    def slopes(x: Array) -> Array:
        now = kernel(x)
        _, over_a, over_l, over_noise, over_mean = log_evidence(distances, R, now, y, room)
        theta = np.concatenate([now.outputscale, now.lengthscale, [now.noise]])
        over_rho = np.concatenate([over_a, over_l, [over_noise]]) / (theta * (1 + np.exp(-x[:-1])))
        return np.append(over_rho, over_mean if with_mean else 0.0) / len(y)

    end = ascend(slopes, first, steps=steps, rate=rate, low=-np.inf, high=np.inf)
    return solve(distances, factors, kernel(end), y)


@dataclass(frozen=True, eq=False)
class Bucket:
    """G factors of one size m, in the order of their models.

    Methods evaluate factors by buckets, since factors of one size are computed side by side.
    """

    index: Indices  # (G,): the place of each among all factors
    variables: Indices  # (G, m)
    X: Array  # (G, n, m): the data as each factor sees them
    squares: Array  # (G, 1, n): |X|^2
    outputscale: Array  # (G, 1, 1)
    lengthscale: Array  # (G, 1, 1)
    alpha: Array  # (G, n)
    models: tuple[tuple[slice, Solved], ...]  # runs of factors of one model

    def __call__(self, u: Array) -> tuple[Array, Array]:
        """Mean (4) and variance (5), (G, s) each, of every factor at its own points u (G, s, m)."""
        mean, variance = np.empty(u.shape[:2]), np.empty(u.shape[:2])
        width = max(CHUNK // max(self.X.shape[1] * len(u), 1), 1)
        for first in range(0, u.shape[1], width):
            part = slice(first, first + width)
            k = self._covariance(u[:, part])[0]
            mean[:, part] = (k @ self.alpha[:, :, None])[:, :, 0]
            variance[:, part] = self.outputscale[:, :, 0] - self._explained(k)
        return mean, variance

    def slopes(self, u: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and variance, (G, s) each, and their gradients over u (G, s, m)."""
        k, w = self._covariance(u)  # (G, s, n) each
        w *= -5 / 3 * self.outputscale / self.lengthscale**2  # dk/du = w (u - X)
        weights = np.empty_like(k)
        for rows, solved in self.models:
            weights[rows] = solved.weights(k[rows].reshape(-1, k.shape[2])).reshape(k[rows].shape)
        mean = (k @ self.alpha[:, :, None])[:, :, 0]
        variance = self.outputscale[:, :, 0] - np.multiply(k, weights, out=k).sum(2)
        weights *= w
        weights *= -2
        w *= self.alpha[:, None, :]
        return mean, variance, self._slope(w, u), self._slope(weights, u)

    def _slope(self, weights: Array, u: Array) -> Array:
        """sum_j weights_j (u - X_j), the gradient of sum_j c_j k(u, X_j).

        The weights are c_j times twice the derivative of k over the squared distance.
        """
        return weights.sum(2, keepdims=True) * u - weights @ self.X

    def _covariance(self, u: Array) -> tuple[Array, Array]:
        """k (G, s, n) between u and the data, and (1 + r) exp(-r), of which dk/du is a multiple."""
        k = u @ self.X.transpose(0, 2, 1)
        k *= -2
        k += (u**2).sum(2)[:, :, None] + self.squares
        r = np.sqrt(np.maximum(k, 0.0, out=k), out=k)
        r *= ROOT5 / self.lengthscale
        linear, decay = 1 + r, np.negative(r)
        linear *= np.exp(decay, out=decay)
        r *= r
        r /= 3
        r *= decay
        r += linear
        r *= self.outputscale
        return r, linear

    def _explained(self, k: Array) -> Array:
        """k' (K + noise I)^-1 k (G, s)."""
        out = np.empty(k.shape[:2])
        for rows, solved in self.models:
            out[rows] = solved.explained(k[rows].reshape(-1, k.shape[2])).reshape(out[rows].shape)
        return out


@dataclass(frozen=True, eq=False)
class Factors:
    """All factors of several models of the same data X (n, d); `model` (F,) numbers the models."""

    factors: tuple[Factor, ...]
    model: Indices
    X: Array
    solved: tuple[Solved, ...]

    @classmethod
    def of(cls, models: Sequence[tuple[Sequence[Factor], Solved]], X: Array) -> Factors:
        """The factors of one model after those of another, each in the order of its model."""
        model = np.repeat(np.arange(len(models)), [len(factors) for factors, _ in models])
        factors = tuple(factor for own, _ in models for factor in own)
        return cls(factors, model, X, tuple(solved for _, solved in models))

    def buckets(self) -> list[Bucket]:
        """The factors by their size, smallest first."""
        sizes = np.array([len(factor) for factor in self.factors])
        return [self._bucket(np.flatnonzero(sizes == size)) for size in np.unique(sizes)]

    def _bucket(self, index: Indices) -> Bucket:
        variables = np.array([self.factors[i] for i in index])
        model = self.model[index]
        kernels = [solved.kernel for solved in self.solved]
        outputscale = np.concatenate([kernel.outputscale for kernel in kernels])[index, None, None]
        lengthscale = np.concatenate([kernel.lengthscale for kernel in kernels])[index, None, None]
        alpha = np.stack([self.solved[j].alpha for j in model])
        ends = [0, *(np.flatnonzero(np.diff(model)) + 1).tolist(), len(model)]
        runs = tuple((slice(a, b), self.solved[model[a]]) for a, b in pairwise(ends))
        X = self.X[:, variables].transpose(1, 0, 2).copy()
        squares = (X**2).sum(2)[:, None, :]
        return Bucket(index, variables, X, squares, outputscale, lengthscale, alpha, runs)

    def moments(self, x: Array) -> tuple[Array, Array]:
        """Mean and variance, (F,) each, of every factor at one point x (d,)."""
        mean, variance = np.empty(len(self.factors)), np.empty(len(self.factors))
        for bucket in self.buckets():
            m, v = bucket(x[bucket.variables][:, None, :])
            mean[bucket.index], variance[bucket.index] = m[:, 0], v[:, 0]
        return mean, variance

    def covariances(self, x: Array) -> list[Array]:
        """Posterior covariance (N, N) of each model's factors, given their sum, at x (d,)."""
        found = []
        for j, solved in enumerate(self.solved):
            own = [self.factors[i] for i in np.flatnonzero(self.model == j)]
            # (N, n)
            r = np.stack(
                [ROOT5 * np.linalg.norm(self.X[:, list(V)] - x[list(V)], axis=1) for V in own]
            )
            k = solved.kernel.outputscale[:, None] * _covariances(r, solved.kernel.lengthscale)[0]
            found.append(np.diag(solved.kernel.outputscale) - k @ solved.weights(k).T)
        return found


def equal_kernel(factors: int, *, outputscale: float, lengthscale: float, noise: float) -> Kernel:
    """The same scales for every factor."""
    return Kernel(np.full(factors, outputscale), np.full(factors, lengthscale), noise)
