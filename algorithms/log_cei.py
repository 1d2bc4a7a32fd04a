"""LogCEI: constrained expected improvement on the logarithmic scale, with a length-scale for each
variable (gardner2014constrained, Sec. 3; ament2023logei, Sec. 4).

Maximised is ln E max(f - best, 0) + sum_i ln P(g_i <= 0). Before anything feasible is known, only
the sum counts. Both logarithms keep their slope where improvement or feasibility is far away.

Constraints of engineering grow like powers near a face of the box, so that a few values dwarf all
others. Each g is therefore compressed by a logarithm that keeps its sign, as in eriksson2021scbo
(App. A: bilog), and then divided by its root mean square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.acquisition import log_ei, log_feasibility
from algorithms.parts.choice import chosen
from algorithms.parts.dimension_scaled import NEARLY_SILENT, SILENT
from algorithms.parts.feasibility import best, violation
from algorithms.parts.fitting import Fitted
from algorithms.parts.gp import Posterior
from algorithms.parts.maximise import ClimbSettings, climb_best, cube
from algorithms.parts.outputs import diagnostics
from algorithms.parts.sampling import around, sobol
from algorithms.parts.transforms import about_zero, sample, signed_log

LIKELIHOODS = {"noisy": NEARLY_SILENT, "noise-free": SILENT}


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


class LogCEI(Optimizer):
    """One query at a time where constrained improvement is expected, all over the cube.

    Use it for few evaluations of up to some twenty variables under constraints. Processes of y and
    of every g are fitted anew to all that was told; what is pending is believed at their means.
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
        """likelihood: "noisy", the variance of the noise is a parameter of each process; or
        "noise-free", values repeat.
        """
        super().__init__(domain, rng)
        self.climb, self.nearby = climb, nearby
        self.regression = chosen(LIKELIHOODS, likelihood, "likelihood")
        self.models: tuple[Fitted, ...] = ()  # of y and of every g, once anything was told
        # the largest posterior mean among feasible queries, in the units of the model of y
        self.best_feasible: float | None = None

    def ask(self, room: int, pending: Array) -> Array:
        """Where the acquisition function is largest."""
        if not self.models:
            return self.rng.random((1, self.domain.d))
        posteriors, bar = self._believing(pending)
        x, _ = climb_best(
            partial(log_cei, posteriors=posteriors, bar=bar),
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
        feasible = torch.from_numpy(self.x[violation(self.g) == 0])
        if len(feasible):
            # not the largest observation, which under noise is a lucky one
            self.best_feasible = float(self.models[0].posterior.mean(feasible).max())

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

    def _believing(self, pending: Array) -> tuple[list[Posterior], float | None]:
        """The posteriors, given their own means at pending queries (k, d), and what a value has to
        exceed then.
        """
        posteriors = [fitted.posterior for fitted in self.models]
        if not len(pending):
            return posteriors, self.best_feasible
        X = torch.from_numpy(pending)
        y, *g = means = [posterior.mean(X) for posterior in posteriors]
        known = [] if self.best_feasible is None else [self.best_feasible]
        feasible = torch.stack([y.isfinite(), *(mean <= 0 for mean in g)]).all(0)
        return (
            [posterior.extend(X, mean) for posterior, mean in zip(posteriors, means, strict=True)],
            max([*known, *y[feasible].tolist()], default=None),
        )

    def _candidates(self) -> Array:
        """Points (raw + count, d): all over the cube, and around the best observed one."""
        x, nearby = self.x[best(self.y, self.g)], self.nearby
        return np.concatenate(
            [
                sobol(self.rng, self.climb.raw, self.domain.d),
                around(self.rng, x, nearby.count, nearby.narrowest, nearby.widest),
            ]
        )


def log_cei(X: Tensor, posteriors: Sequence[Posterior], bar: float | None) -> Tensor:
    """ln E max(f - bar, 0) + sum_i ln P(g_i <= 0) at X (q, d), shape (q,), from the posteriors of f
    and of every g. Without a bar it is the sum alone.
    """
    y, *g = posteriors
    total = X.new_zeros(len(X))
    for posterior in g:
        total = total + log_feasibility(*posterior(X))
    return total if bar is None else total + log_ei(*y(X), bar)
