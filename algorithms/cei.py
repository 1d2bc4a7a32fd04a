"""CEI: constrained expected improvement (gardner2014constrained, Sec. 3), as a baseline of
jing2026lcbo (Table 1, App. D).

Maximised is the logarithm of E max(f - best, 0) prod_i P(g_i <= 0), `best` being the best feasible
observation. Before there is one, only the probability of feasibility counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.acquisition import log_ei, log_feasibility
from algorithms.parts.adam import maximise_by_adam
from algorithms.parts.feasibility import best, violation
from algorithms.parts.outputs import Kernel, Models, Outputs, zero


class CEI(Optimizer):
    """One query at a time where constrained improvement is expected, all over the cube."""

    domains = (Box,)
    domain: Box
    constrained = True

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        raw: int,
        starts: int,
        steps: int,
        rate: float,
        kernels: str | Sequence[Kernel],
        noise: float,
        standard: str,
        lengthscale: Sequence[float],
        outputscale: Sequence[float],
        fit_every: int,
        fit_steps: int,
    ) -> None:
        super().__init__(domain, rng)
        self.maximise = partial(maximise_by_adam, raw=raw, starts=starts, steps=steps, rate=rate)
        self.outputs = Outputs.named(
            kernels=kernels,
            standard=standard,
            noise=noise,
            lengthscale=lengthscale,
            outputscale=outputscale,
            fit_every=fit_every,
            fit_steps=fit_steps,
        )
        self.models: Models = ()
        self.told = 0

    def ask(self, room: int, pending: Array) -> Array:
        """Where the acquisition function is largest."""
        if not self.models:
            return self.rng.random((1, self.domain.d))
        x, _ = self.maximise(self.promise, self.domain.d, self.rng)
        return x[None]

    def promise(self, X: Tensor) -> Tensor:
        """ln EI + sum_i ln P(g_i <= 0) at X (q, d), shape (q,); improvement in the units of the
        model.
        """
        total = X.new_zeros(len(X))
        for fitted in self.models[1:]:
            mean, variance = fitted.posterior(X)
            total = total + log_feasibility(mean - zero(fitted), variance)
        feasible = violation(self.g) == 0
        if feasible.any():
            y = self.models[0]
            total = total + log_ei(*y.posterior(X), float(y.units(self.y[feasible]).max()))
        return total

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow the models, and refit them where it is time."""
        super().tell(query, obs)
        self.models = self.outputs.learn(
            self.models, self.x, np.column_stack([self.y, self.g]), self.rng, told=self.told
        )
        self.told += 1

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]

    def report(self) -> dict[str, float]:
        """Log evidence of all models together, in their units."""
        return (
            {"log_evidence": sum(fitted.posterior.log_evidence for fitted in self.models)}
            if self.models
            else {}
        )
