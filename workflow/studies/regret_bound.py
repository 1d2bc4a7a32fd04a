"""Is f within its confidence bounds and the regret within (18) where (8) is maximised exactly
(bardou2024dumbo, Sec. 5, App. G)?

f is drawn from the additive process that models it, on a grid that is the whole domain D, so that
Theorem 5.2 applies as it is stated: for all t and all x in D at once, with probability at least 1 -
delta. Corollary 5.3 needs more, that (6) vanishes where f is known. A sum does not tell its factors
apart: each may give a constant, or a function of shared variables, to another.

Paper -> here:  D -> grid,  beta_t^(1/2) -> width,  (6) -> middle,  sigma_t of f itself -> deviation
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.linalg import solve_triangular

from algorithms.api import Array, Indices
from algorithms.parts.factors.additive_process import ROOT5, Kernel, equal_kernel
from algorithms.parts.factors.decomposition import Decomposition, canonical
from algorithms.parts.factors.factor_graph import FactorGraph
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.linalg import safe_cholesky
from algorithms.parts.search.exploration import Width
from problems.api import Problem
from workflow.studies.paired import Columns, tidy
from workflow.trace.seeds import rng

JITTER = 1e-10  # of the prior variance, to draw f
ROUNDING = 1e-9  # a ratio this close above 1 is rounding


def run(
    seed: int,
    problem: Problem,
    *,
    factors: Sequence[Sequence[int]],
    outputs: str,
    points: int,
    queries: int,
    draws: int,
    delta: float,
    lengthscale: float,
    outputscale: float,
    noise: float,
) -> Columns:
    """One row for each of `draws` functions and each of its `queries` t, chosen after t - 1 noisy
    values.

    `outputs` says whether factors are learnt from their sum, eq. (5), or each from its own outputs,
    eq. (24). `regret` of the query, `worst_regret` of the worst point of D, and `mean_regret`
    R_t/t; (18) as `bound`, its like with the sum of all deviations (DEC-HBO's) and with sigma_t of
    f itself; `bounded` is 1 where the regret keeps (18). `covered` is the share of D where
    |f - mu| <= width times (6), `needed` the width that all of D would have needed; `*_deviation`
    are the same with sigma_t of f itself, and `beyond` is the share of D where that exceeds (6).
    `noise` is the variance of the noise of a sum; all factors have the same scales, on [0,1]^d with
    `points` values on each axis. `problem`
    is not used.
    """
    decomposition = canonical(factors)
    d = 1 + max(map(max, decomposition))
    kernel = equal_kernel(
        len(decomposition), outputscale=outputscale, lengthscale=lengthscale, noise=noise
    )
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, points)] * d, indexing="ij"), -1).reshape(
        -1, d
    )
    prior = prior_covariances(decomposition, kernel, grid)
    bandit = Bandit(
        FactorGraph.of(decomposition, d), prior, noise, chosen(OUTPUTS, outputs, "outputs")
    )
    width = Width("theorem", share=1.0, delta=delta, points_per_axis=points)
    widths = [sqrt(width.beta(t, d)) for t in range(1, queries + 1)]
    rows: list[dict[str, float]] = []
    for i in range(draws):
        draw = rng(seed, "study", "draw", i)
        f = sample(decomposition, prior, grid, draw)
        errors = sqrt(noise / len(f)) * draw.standard_normal((queries, len(f)))
        rows += [{"draw": i, **row} for row in bandit.play(f, widths, errors)]
    return tidy(rows)


@dataclass(frozen=True, eq=False)
class Moments:
    """What is known everywhere on the grid: mean of f (A,), variances of the factors (F, A) and of
    f (A,).
    """

    mean: Array
    variances: Array
    whole: Array


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Means Y (F, u) of the outputs of so many evaluations (u,) at the grid points `at` (u,)."""

    at: Indices
    times: Array
    Y: Array

    @classmethod
    def of(cls, at: Indices, outputs: Array) -> Evaluated:
        """The evaluations (F, n) at grid points (n,), which may repeat."""
        where, which, times = np.unique(at, return_inverse=True, return_counts=True)
        return cls(
            where,
            times.astype(np.float64),
            np.stack([np.bincount(which, own, len(where)) for own in outputs]) / times,
        )


def from_sums(prior: Array, noise: float, data: Evaluated) -> Moments:
    """Posterior given the sums of the outputs, under the factors' prior covariances (F, A, A): eqs.

    (4), (5).
    """
    k = prior[:, data.at]  # (F, u, A)
    L = safe_cholesky(k.sum(0)[:, data.at] + np.diag(noise / data.times))
    V = np.stack([solve_triangular(L, own, lower=True) for own in k])  # (F, u, A)
    together = V.sum(0)
    mean = solve_triangular(L, data.Y.sum(0), lower=True) @ together
    scale = prior.diagonal(axis1=1, axis2=2)  # (F, A)
    return Moments(mean, scale - (V**2).sum(1), scale.sum(0) - (together**2).sum(0))


def from_outputs(prior: Array, noise: float, data: Evaluated) -> Moments:
    """Posterior of each factor given its own outputs, which bear equal shares of the noise: eqs.

    (23), (24).
    """
    share = np.diag(noise / len(prior) / data.times)
    mean, variances = np.zeros(prior.shape[1]), np.empty(prior.shape[:2])
    for i, (own, y) in enumerate(zip(prior, data.Y, strict=True)):
        L = safe_cholesky(own[np.ix_(data.at, data.at)] + share)
        V = solve_triangular(L, own[data.at], lower=True)  # (u, A)
        mean += solve_triangular(L, y, lower=True) @ V
        variances[i] = own.diagonal() - (V**2).sum(0)
    return Moments(mean, variances, variances.sum(0))


OUTPUTS: Mapping[str, Callable[[Array, float, Evaluated], Moments]] = {
    "sum": from_sums,
    "factors": from_outputs,
}


@dataclass(frozen=True, eq=False)
class Bandit:
    """An additive process on a grid of A points: prior covariances (F, A, A), variance of the noise
    of a sum, what is seen.
    """

    graph: FactorGraph
    prior: Array
    noise: float
    posterior: Callable[[Array, float, Evaluated], Moments]

    def play(self, f: Array, widths: Sequence[float], errors: Array) -> Iterator[dict[str, float]]:
        """Maximise (8) once for each width (T,), observing the factors f (F, A) with these errors
        (T, F).
        """
        whole = f.sum(0)
        at, total, outputs = np.empty(0, dtype=np.int64), 0.0, np.empty((len(f), 0))
        for t, width in enumerate(widths, 1):
            known = self.posterior(self.prior, self.noise, Evaluated.of(at, outputs))
            middle = self.graph.exploration(known.variances.T)  # eq. (6)
            deviation, error = np.sqrt(known.whole), np.abs(whole - known.mean)
            x = int(np.argmax(known.mean + width * middle))  # eq. (8)
            regret = float(whole.max() - whole[x])
            total += regret
            bound = 2 * width * float(middle[x])  # eq. (18)
            yield {
                "t": t,
                "width": width,
                "regret": regret,
                "worst_regret": float(np.ptp(whole)),
                "mean_regret": total / t,
                "bound": bound,
                "bound_deviation": 2 * width * float(deviation[x]),
                "bound_sum": 2 * width * float(np.sqrt(known.variances[:, x]).sum()),
                "bounded": int(regret <= bound),
                "covered": float((error <= width * middle).mean()),  # Lemma G.1
                "covered_deviation": float((error <= width * deviation).mean()),
                "needed": float((error / middle).max()),
                "needed_deviation": float((error / deviation).max()),
                "beyond": float((deviation > (1 + ROUNDING) * middle).mean()),
            }
            at = np.append(at, x)
            outputs = np.column_stack([outputs, f[:, x] + errors[t - 1]])


def prior_covariances(factors: Decomposition, kernel: Kernel, X: Array) -> Array:
    """Matern-5/2 covariances (F, n, n) of every factor between points X (n, d)."""
    r = np.stack(
        [ROOT5 * np.linalg.norm(X[:, None, list(V)] - X[None, :, list(V)], axis=2) for V in factors]
    )
    r /= kernel.lengthscale[:, None, None]
    covariances: Array = kernel.outputscale[:, None, None] * (1 + r + r**2 / 3) * np.exp(-r)
    return covariances


def sample(factors: Decomposition, prior: Array, grid: Array, draw: np.random.Generator) -> Array:
    """One draw of every factor (F, A) from its prior covariance (F, A, A): the same wherever its
    own variables are.
    """
    drawn = []
    for V, own in zip(factors, prior, strict=True):
        _, first, where = np.unique(
            grid[:, list(V)], axis=0, return_index=True, return_inverse=True
        )
        K = own[np.ix_(first, first)]
        L = safe_cholesky(K + JITTER * np.diag(K.diagonal()))
        drawn.append((L @ draw.standard_normal(len(K)))[where.ravel()])
    return np.stack(drawn)
