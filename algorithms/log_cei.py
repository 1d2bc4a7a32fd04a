"""LogCEI: constrained expected improvement on the logarithmic scale, with a length-scale for each
variable (gardner2014constrained, Sec. 3; ament2023logei, Sec. 4).

Maximised is ln E max(f - best, 0) + sum_i ln P(g_i <= 0). Both logarithms keep their slope where
improvement or feasibility is far away.

DEVIATES: gardner2014constrained maximises the probability of feasibility before anything feasible
is known. Far from feasibility that is largest where least is known, in one corner of the cube after
another. Here each g that is violated at the point of least violation is to be improved on instead.

Constraints of engineering grow like powers near a face of the box, so that a few values dwarf all
others. Each g is therefore compressed by a logarithm that keeps its sign (eriksson2021scbo: bilog)
and then divided by its root mean square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.feasibility import best, violation
from algorithms.parts.numerics.sampling import sobol
from algorithms.parts.numerics.transforms import about_zero, sample
from algorithms.parts.processes.dimension_scaled import log_normal
from algorithms.parts.processes.fitting import LBFGS, Fitted, Surrogate
from algorithms.parts.processes.gp import Posterior
from algorithms.parts.processes.kernels import Matern52, Model, ScaledMatern52, gamma, positive
from algorithms.parts.processes.outputs import diagnostics
from algorithms.parts.search.acquisition import log_ei, log_feasibility
from algorithms.parts.search.maximise import ClimbSettings, climb_best, cube

LEAST = 1e-6  # variance of noise, in units of standardised values


@dataclass(frozen=True)
class NearbySettings:
    """Candidates around the best observed point, beside those all over the cube: the group
    `nearby`.

    count: how many there are.
    widest: the largest standard deviation of their distance, in units of the cube.
    narrowest: the smallest one; logarithms between the two are uniform.
    """

    count: int
    widest: float
    narrowest: float

    def __post_init__(self) -> None:
        if not (self.count >= 0 and 0 < self.narrowest <= self.widest):
            raise ValueError(
                "nearby: expected count >= 0 and 0 < narrowest <= widest, got"
                f" {self.count}, {self.narrowest} and {self.widest}"
            )


class Goal(NamedTuple):
    """What a query has to improve on, in the units of the models.

    best: the largest feasible y; None where nothing feasible is known.
    violations: g at the point of least violation where nothing feasible is known, and 0 where a g
        is met there; all are 0 where something feasible is known.
    """

    best: float | None
    violations: tuple[float, ...]


class LogCEI(Optimizer):
    """One query at a time where constrained improvement is expected, all over the cube.

    Use it for few evaluations of few variables under constraints. Processes of y and of every g are
    fitted anew to all that was told; what is pending is believed at their means.
    """

    domains = (Box,)
    domain: Box
    constrained = True

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        climb: ClimbSettings,
        nearby: NearbySettings,
        likelihood: str,
    ) -> None:
        """likelihood: "noisy", noise is fitted in each process, or "noise-free", values repeat."""
        super().__init__(domain, rng)
        self.climb, self.nearby = climb, nearby
        self.regression = chosen(LIKELIHOODS, likelihood, "likelihood")
        self.models: tuple[Fitted, ...] = ()  # of y and of every g, once anything was told

    def ask(self, room: int, pending: Array) -> Array:
        """Where the acquisition function is largest."""
        if not self.models:
            return self.rng.random((1, self.domain.d))
        posteriors = self.posteriors(pending)
        x, _ = climb_best(
            partial(log_cei, posteriors=posteriors, goal=self.goal(posteriors)),
            cube(self.domain.d),
            self._candidates(),
            starts=self.climb.starts,
            steps=self.climb.steps,
        )
        return x[None]

    def tell(self, query: Array, obs: Observation) -> None:
        """Fit all models anew, from a cold start."""
        super().tell(query, obs)
        columns = [(self.y, sample(self.y))]
        for g in signed_log(self.g).T:
            columns.append((g, about_zero(g)))
        self.models = tuple(
            self.regression.fitted(self.x, values, units, self.rng) for values, units in columns
        )

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]

    def report(self) -> dict[str, float]:
        """Log evidence of all models together, in their units, then length-scales, noise and
        feasible share. Noise of g is that of its compressed values.
        """
        if not self.models:
            return {}
        models = [fitted.posterior.model for fitted in self.models]
        return {
            "log_evidence": sum(fitted.posterior.log_evidence for fitted in self.models),
            **diagnostics(
                [model.kernel.base_kernel.lengthscale.numpy() for model in models],
                [
                    fitted.posterior.model.noise.item() * fitted.units.spread**2
                    for fitted in self.models
                ],
                self.g,
            ),
        }

    def posteriors(self, pending: Array) -> list[Posterior]:
        """Of y and of every g, given their own means at pending queries (k, d)."""
        found = [fitted.posterior for fitted in self.models]
        if not len(pending):
            return found
        X = torch.from_numpy(pending)
        return [posterior.extend(X, posterior.mean(X)) for posterior in found]

    def goal(self, posteriors: Sequence[Posterior]) -> Goal:
        """What is to be improved on, at the queries that these posteriors know. Told queries are
        feasible as observed, pending ones as believed.
        """
        X, told = posteriors[0].X, len(self.y)
        y, *means = (posterior.mean(X) for posterior in posteriors)
        g = torch.stack(means) if means else X.new_zeros((0, len(X)))
        feasible = (g <= 0).all(0)
        feasible[:told] = torch.from_numpy(violation(self.g) == 0)
        if feasible.any():
            # a mean, and not the largest observation, which under noise is a lucky one
            return Goal(float(y[feasible].max()), (0.0,) * len(g))
        least = g[:, g.clamp(min=0.0).sum(0).argmin()]
        return Goal(None, tuple(least.clamp(min=0.0).tolist()))

    def _candidates(self) -> Array:
        """Points (raw + count, d): all over the cube, and around the best observed one."""
        x, nearby = self.x[best(self.y, self.g)], self.nearby
        return np.concatenate(
            [
                sobol(self.rng, self.climb.raw, self.domain.d),
                around(self.rng, x, nearby.count, nearby.narrowest, nearby.widest),
            ]
        )


def log_cei(X: Tensor, posteriors: Sequence[Posterior], goal: Goal) -> Tensor:
    """The sum of ln E max(f - best, 0) and, for every g, of ln P(g <= 0), or of
    ln E max(violation - g, 0) where there is a violation to improve on, at X (q, d), shape (q,).
    """
    y, *g = posteriors
    total = X.new_zeros(len(X))
    for posterior, violated in zip(g, goal.violations, strict=True):
        mean, variance = posterior(X)
        met = log_ei(-mean, variance, -violated) if violated else log_feasibility(mean, variance)
        total = total + met
    return total if goal.best is None else total + log_ei(*y(X), goal.best)


def nearly_silent(d: int, *, fitted: bool) -> Model:
    """A Matern-5/2 regression for values with little noise or none, in units of the cube and of
    standardised values.

    ln l ~ N(sqrt 2 + ln(d)/2, 3) for each input (hvarfner2024vanilla); outputscale ~ Gamma(2, 0.15)
    (balandat2020botorch, its default until 2024); noise ~ Gamma(1.1, 30), at least LEAST
    (akiba2019optuna, GPSampler). The noise stays at LEAST unless it is `fitted`.
    """
    kernel = ScaledMatern52(
        Matern52(
            ard_num_dims=d,
            lengthscale_prior=log_normal(sqrt(2) + 0.5 * log(d), sqrt(3)),
            # the mode of the prior lies at a fifth of sqrt(d): too short for a start
            lengthscale_constraint=GreaterThan(2.5e-2, transform=None, initial_value=0.5 * sqrt(d)),
        ),
        outputscale_prior=gamma(2.0, 0.15),
        outputscale_constraint=positive(),
    )
    first = 1e-3 if fitted else LEAST
    likelihood = GaussianLikelihood(
        noise_prior=gamma(1.1, 30.0),
        noise_constraint=GreaterThan(LEAST, transform=None, initial_value=first),
    )
    if not fitted:
        likelihood.requires_grad_(False)
    return Model(ConstantMean(), kernel, likelihood)


def signed_log(g: Array) -> Array:
    """sign(g) ln(1 + |g|/s) of each column of g (n, m), with s the median of its |g| (or 1 where
    that is 0): large values shrink, and every sign stays (eriksson2021scbo: bilog, there
    with s = 1, which depends on units).
    """
    size = np.abs(g)
    scale = np.median(size, axis=0)
    with np.errstate(over="ignore"):  # a penalty may be the largest float
        ratio = np.minimum(size / np.where(scale > 0, scale, 1.0), np.finfo(np.float64).max)
    found: Array = np.sign(g) * np.log1p(ratio)
    return found


def around(rng: np.random.Generator, x: Array, n: int, narrowest: float, widest: float) -> Array:
    """n points (n, d) about x (d,), each normal with a standard deviation of its own, whose
    logarithm is uniform between those of `narrowest` and `widest`; kept in the cube.
    """
    spread = np.exp(rng.uniform(np.log(narrowest), np.log(widest), (n, 1)))
    return np.clip(x + spread * rng.standard_normal((n, len(x))), 0.0, 1.0)


LIKELIHOODS = {
    name: Surrogate(partial(nearly_silent, fitted=fitted), sample, LBFGS())
    for name, fitted in (("noisy", True), ("noise-free", False))
}
