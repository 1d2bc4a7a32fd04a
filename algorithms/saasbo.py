"""SAASBO: expected improvement under Gaussian processes most of whose inputs hardly matter
(eriksson2021saasbo, Alg. 1).

The parameters of the process are not fitted but drawn; a point promises the mean over the draws of
its expected improvement, the logarithm of which is maximised. The authors sample from a cold start
at every step; here the sampler goes on from the posterior of the step before, with its step size
and mass matrix, and adapts the former anew for a few transitions.

Paper -> here:  L draws -> samples // thinning,  sigma^2 -> noise
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.cholesky import safe_cholesky
from algorithms.parts.numerics.sampling import sobol
from algorithms.parts.numerics.transforms import STANDARDS
from algorithms.parts.processes.gp import ROUNDING
from algorithms.parts.processes.nuts import NUTS
from algorithms.parts.search.acquisition import log_ei
from algorithms.parts.search.maximise import ClimbSettings, climb_best, cube

if TYPE_CHECKING:
    from algorithms.parts.processes.saas import Chain, Draws

# scaled points A (s, n, d) and B (s, q, d) -> (s, n, q)
Correlation = Callable[[Tensor, Tensor], Tensor]

NOISES = {"fixed": False, "learned": True}
ROWS = 64  # points at a time: their covariances with all data under all draws fit a cache


def matern(A: Tensor, B: Tensor) -> Tensor:
    """Matern-5/2."""
    r = sqrt(5) * _distance(A, B)
    return (1 + r + r * r / 3) * (-r).exp()


def rbf(A: Tensor, B: Tensor) -> Tensor:
    """The squared exponential."""
    return (-0.5 * _distance(A, B).square()).exp()


def _distance(A: Tensor, B: Tensor) -> Tensor:
    # differences keep the digits of short distances
    return torch.cdist(A, B, compute_mode="donot_use_mm_for_euclid_dist")


CORRELATIONS: dict[str, Correlation] = {"matern": matern, "rbf": rbf}


@dataclass(frozen=True)
class SparseSurrogate:
    """A Gaussian process most of whose inputs hardly matter: the SAAS prior (eriksson2021saasbo).

    kernel: "matern", Matern-5/2 (bardou2024dumbo, Sec. 6), or "rbf".
    priors: of variance and noise, and the constant mean: "official", the paper's and its
        authors' code's, or "botorch" (balandat2020botorch).
    alpha: the scale of the half-Cauchy prior of the global shrinkage tau; 0.1 in the paper.
    noise: a variance in standardised units of y.
    noise_as: "fixed", the noise variance itself, or "learned", the least that it may be.
    standard: the units in which it sees y: "population", "sample" or "median".
    """

    kernel: str
    priors: str
    alpha: float
    noise: float
    noise_as: str
    standard: str

    def __post_init__(self) -> None:
        chosen(CORRELATIONS, self.kernel, "kernel")
        chosen(NOISES, self.noise_as, "noise_as")
        chosen(STANDARDS, self.standard, "standard")


class SAASBO(Optimizer):
    """One query at a time where the mean of the expected improvements under all draws is largest,
    whatever is pending.

    Use it to study its prior, that few variables matter; a query takes seconds. One of the
    candidates is a point beside the best observation, moved by a normal draw of standard deviation
    `nudge` along every axis, in units of the box.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        surrogate: SparseSurrogate,
        nuts: NUTS,
        nudge: float,
        climb: ClimbSettings,
    ) -> None:
        super().__init__(domain, rng)
        saas = _saas()
        chosen(saas.PRIORS, surrogate.priors, "priors")
        self.correlation = CORRELATIONS[surrogate.kernel]
        self.standard = STANDARDS[surrogate.standard]
        self.sampler = saas.Sampler(
            surrogate.kernel,
            surrogate.priors,
            surrogate.alpha,
            surrogate.noise,
            NOISES[surrogate.noise_as],
            nuts,
        )
        self.nudge, self.climb = nudge, climb
        self.draws: Draws | None = None
        self.chain: Chain | None = None

    def ask(self, room: int, pending: Array) -> Array:
        """Where the mean EI is largest, from Sobol points and one beside the best observation."""
        d = self.domain.d
        if self.draws is None:
            return self.rng.random((1, d))
        u = self.standard(self.y)(self.y)
        mixture = Mixture.of(
            self.draws, self.correlation, torch.from_numpy(self.x), torch.from_numpy(u)
        )
        points = sobol(self.rng, self.climb.raw, d)
        points[0] = np.clip(
            self.x[np.argmax(u)] + self.nudge * self.rng.standard_normal(d), 0.0, 1.0
        )
        best = float(u.max())
        x, _ = climb_best(
            lambda X: log_mean_ei(mixture, X, best),
            cube(d),
            points,
            starts=self.climb.starts,
            steps=self.climb.steps,
        )
        return x[None]

    def tell(self, query: Array, obs: Observation) -> None:
        """Draw from the posterior of everything, from where the sampler stood."""
        super().tell(query, obs)
        seed = int(self.rng.integers(2**63))
        self.draws, self.chain = self.sampler.draw(
            self.x, self.standard(self.y)(self.y), self.chain, seed
        )

    def report(self) -> dict[str, float]:
        """How the last run went; divergences and mean acceptance are those of its samples."""
        if self.chain is None:
            return {}
        return {
            name: getattr(self.chain, name)
            for name in ("step", "leapfrogs", "divergences", "acceptance")
        }


@dataclass(frozen=True, eq=False)
class Mixture:
    """Posteriors of f under s draws of parameters, given n observations.

    A (s, n, d) are the inputs over length-scales, L (s, n, n) factors the covariance of the
    observations, a (s, n) solves it; root (s, 1, d) are inverse length-scales, variance (s, 1) and
    mean are what the covariance of f is made of.
    """

    correlation: Correlation
    root: Tensor
    variance: Tensor
    mean: float
    A: Tensor
    L: Tensor
    a: Tensor

    @classmethod
    def of(cls, draws: Draws, correlation: Correlation, X: Tensor, y: Tensor) -> Mixture:
        """Condition every draw on y (n,) at X (n, d): O(s n^3)."""
        variance, noise = (
            torch.from_numpy(draws.variance)[:, None],
            torch.from_numpy(draws.noise)[:, None],
        )
        root = torch.from_numpy(draws.weights).sqrt()[:, None]
        A = X * root
        K = variance[:, None] * correlation(A, A) + draws.mean
        K.diagonal(dim1=1, dim2=2).add_(noise)
        L = torch.stack([safe_cholesky(each) for each in K])
        a = torch.cholesky_solve(y[:, None].expand(len(L), -1, 1), L)[:, :, 0]
        return cls(correlation, root, variance, draws.mean, A, L, a)

    def __call__(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance (s, q) of f at X (q, d) under every draw, differentiable over X."""
        # (s, n, q)
        k = self.variance[:, None] * self.correlation(self.A, X * self.root) + self.mean
        V = torch.linalg.solve_triangular(self.L, k, upper=False)
        prior = self.variance + self.mean
        return (self.a[:, None] @ k)[:, 0], torch.maximum(
            prior - V.square().sum(1), ROUNDING * prior
        )


def log_mean_ei(mixture: Mixture, X: Tensor, best: float) -> Tensor:
    """ln of the mean over draws of E max(f - best, 0) at X (q, d), shape (q,)."""
    # REFERENCE CODE: the improvement of f with noise
    values = [log_ei(*mixture(rows), best).logsumexp(0) for rows in X.split(ROWS)]
    return torch.cat(values) - log(len(mixture.L))


def _saas() -> ModuleType:
    """The sampler, with what it needs of optional dependencies."""
    try:
        from algorithms.parts.processes import saas
    except ModuleNotFoundError as missing:
        raise ImportError(
            "SAASBO draws with NumPyro, which is not installed: pip install 'noregret-bo[saasbo]'"
        ) from missing
    return saas
