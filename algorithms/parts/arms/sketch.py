"""The Nystrom sketch of a Gaussian process over a table
(calandriello2020bbkb eqs. (1)-(3), calandriello2019bkb eq. (4)).

With a dictionary D of m arms, z(x) = K_D^{+/2} k_D(x) and G = sum_s z(x_s) z(x_s)', everything is
written in the eigenbasis of G, where V = G + lambda I is diagonal:
    phi(x) = T' k_D(x),  T = K_D^{+/2} E,  G = E diag(g) E'    one product A x m x r for all arms
    mean(x) = phi(x)' (Phi' y) / (g + lambda)
    variance(x) = (k(x,x) - |phi(x)|^2)/lambda + sum_i phi_i(x)^2 / (g_i + lambda)
The first term of the variance is what the deterministic training conditional keeps and the subset
of regressors drops: without it the variance starves far from the dictionary (calandriello2019bkb
Sec. 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Indices
from algorithms.parts.arms.columns import GaussianTable
from algorithms.parts.arms.pulls import Pulls

INCLUSION = ("per-pull", "per-arm")
BLOCK = 1024  # arms per product: kernel rows and features of a block stay in the cache
# Features may be carried by all pulled arms, with zeros outside the dictionary, since the kernel
# columns of the pulled arms lie side by side in memory. It pays where the dictionary has at least
# this share of them: one row times all columns costs as much as gathering the dictionary's, a
# product with many rows much more.
VECTOR, MATRIX = 0.5, 0.85
MANY = 128  # pulled arms; the product of fewer rows costs no more than gathering


@dataclass(frozen=True, eq=False)
class SketchedPosterior:
    """Mean (A,) and (1/lambda-scaled) variance (A,) of all arms, and the map to features."""

    kernel: GaussianTable
    lam: float
    dictionary: Indices  # (m,)
    support: (
        Indices  # (p,) the arms whose kernel columns carry the features: the dictionary, or more
    )
    T: Array  # (p, r)
    g: Array  # (r,)
    mean: Array
    variance: Array

    @classmethod
    def prior(cls, kernel: GaussianTable, lam: float) -> SketchedPosterior:
        """The posterior before any pull, or under an empty dictionary."""
        size, nobody = len(kernel), np.empty(0, dtype=np.int64)
        moments = (np.zeros(size), np.full(size, kernel.variance / lam))
        return cls(kernel, lam, nobody, nobody, np.empty((0, 0)), np.empty(0), *moments)

    @classmethod
    def fit(
        cls, kernel: GaussianTable, lam: float, pulls: Pulls, included: NDArray[np.bool_]
    ) -> SketchedPosterior:
        """The posterior after pulls; `included` (u,): which distinct arms are the dictionary."""
        if not included.any():
            return cls.prior(kernel, lam)
        dictionary, share = pulls.arms[included], np.count_nonzero(included) / len(included)
        if share >= VECTOR:
            kernel.remember(pulls.arms)
        K = kernel.among(dictionary, pulls.arms)  # (m, u)
        W = inverse_root(K[:, included])  # (m, r)
        Z = K.T @ W  # (u, r)
        g, E = np.linalg.eigh((Z * pulls.n[:, None]).T @ Z)
        g = np.maximum(g, 0.0)
        weights = (E.T @ (Z.T @ pulls.sums)) / (g + lam)  # (r,)
        own = dictionary, W @ E
        support, T = (pulls.arms, _spread(included, own[1])) if share >= VECTOR else own
        gathered = len(included) >= MANY and share < MATRIX
        arms, features = own if gathered else (support, T)
        moments = _moments(kernel, lam, arms, features, g, weights)
        return cls(kernel, lam, dictionary, support, T, g, *moments)

    def features(self, arms: Indices) -> Array:
        """phi(x) of some arms, shape (len(arms), r)."""
        return self.kernel.among(self.support, arms).T @ self.T

    def covariance(self, arm: int) -> Array:
        """k~(x, x_arm) of all arms with one arm, shape (A,): eq. (2)."""
        k = self.kernel.column(arm)
        if len(self.dictionary) == 0:
            return k / self.lam
        phi = self.features(np.array([arm]))[0]
        shrunk = self.T @ (phi * (self.g / (self.g + self.lam)))  # (p,)
        return (k - shrunk @ self.kernel.columns(self.support)) / self.lam

    def sketched_covariance(self, arm: int) -> Array:
        """z(x)' V^-1 z(x_arm) of all arms, (A,): eq. (2) without the residual of the sketch."""
        if len(self.dictionary) == 0:
            return np.zeros(len(self.kernel))
        phi = self.features(np.array([arm]))[0]
        return (self.T @ (phi / (self.g + self.lam))) @ self.kernel.columns(self.support)

    def subset_of_regressors(self) -> Array:
        """The variance (A,) that starves: z(x)' V^-1 z(x), the residual dropped."""
        if len(self.dictionary) == 0:
            return np.zeros(len(self.kernel))
        phi = self.features(np.arange(len(self.kernel)))
        return (phi * phi) @ (1.0 / (self.g + self.lam))


def inverse_root(K: Array) -> Array:
    """U S^{-1/2} of the pseudo-inverse root of a Gram matrix K (m, m), shape (m, r).

    Eigenvalues below m eps times the largest are noise of the eigendecomposition and are dropped,
    as in the authors' code. Raises LinAlgError on a non-finite K.
    """
    if not np.isfinite(K).all():
        raise np.linalg.LinAlgError(
            "the dictionary's Gram matrix holds a non-finite value: look at the features of its"
            " arms"
        )
    S, U = np.linalg.eigh(K)
    keep = S[-1] * len(K) * np.finfo(np.float64).eps < S
    return U[:, keep] / np.sqrt(S[keep])


def include(probability: Array, n: Array, rule: str, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw which of u distinct arms enter the dictionary (bool, (u,)): `probability` per pull, `n`
    pulls.

    "per-pull": one Bernoulli per pull, so an arm enters with 1 - (1 - p)^n (BKB Alg. 1, BBKB Alg. 1
    l. 12-15). "per-arm": one Bernoulli per arm with min(1, n p), as in the authors' code.
    """
    p = np.minimum(probability, 1.0)
    if rule not in INCLUSION:
        raise ValueError(f"inclusion: expected {' or '.join(INCLUSION)}, got {rule!r}")
    return rng.random(len(n)) < (
        1.0 - (1.0 - p) ** n if rule == "per-pull" else np.minimum(n * probability, 1.0)
    )


def _spread(included: NDArray[np.bool_], T: Array) -> Array:
    """T (m, r) as (u, r), with zeros for the arms outside the dictionary."""
    spread = np.zeros((len(included), T.shape[1]))
    spread[included] = T
    return spread


def _moments(
    kernel: GaussianTable, lam: float, support: Indices, T: Array, g: Array, weights: Array
) -> tuple[Array, Array]:
    """Mean and variance of all arms, block by block."""
    size = len(kernel)
    mean, variance = np.empty(size), np.empty(size)
    sums = np.vstack([np.ones_like(g), 1.0 / (g + lam)])  # (2, r)
    transposed = np.ascontiguousarray(T.T)
    for block, K in kernel.blocks(support, BLOCK):  # (p, block)
        phi = transposed @ K  # (r, block)
        mean[block] = weights @ phi
        np.multiply(phi, phi, out=phi)
        captured, explained = sums @ phi
        variance[block] = np.maximum(kernel.variance - captured, 0.0) / lam + explained
    return mean, variance
