"""CEI: constrained expected improvement (gardner2014constrained, Sec. 3), as a baseline of
jing2026lcbo (Table 1, App. D).

Maximised is the logarithm of E max(f - best, 0) prod_i P(g_i <= 0), `best` being the best feasible
observation. Before there is one, only the probability of feasibility counts.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.acquisition import log_ei, log_feasibility
from algorithms.parts.adam import AdamClimbSettings, maximise_by_adam
from algorithms.parts.feasibility import best, violation
from algorithms.parts.outputs import Outputs, OutputSettings, RefitSettings, zero


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
        climb: AdamClimbSettings,
        surrogate: OutputSettings,
        fit: RefitSettings,
    ) -> None:
        super().__init__(domain, rng)
        self.climb = climb
        self.outputs = Outputs(surrogate, fit)

    def ask(self, room: int, pending: Array) -> Array:
        """Where the acquisition function is largest."""
        if not self.outputs.models:
            return self.rng.random((1, self.domain.d))
        x, _ = maximise_by_adam(self.promise, self.domain.d, self.rng, **asdict(self.climb))
        return x[None]

    def promise(self, X: Tensor) -> Tensor:
        """ln EI + sum_i ln P(g_i <= 0) at X (q, d), shape (q,); improvement in the units of the
        model.
        """
        total = X.new_zeros(len(X))
        for fitted in self.outputs.models[1:]:
            mean, variance = fitted.posterior(X)
            total = total + log_feasibility(mean - zero(fitted), variance)
        feasible = violation(self.g) == 0
        if feasible.any():
            y = self.outputs.models[0]
            total = total + log_ei(*y.posterior(X), float(y.units(self.y[feasible]).max()))
        return total

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow the models, and refit them where it is time."""
        super().tell(query, obs)
        self.outputs = self.outputs.learn(self.x, np.column_stack([self.y, self.g]), self.rng)

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]

    def report(self) -> dict[str, float]:
        """Log evidence of all models together, in their units, then length-scales, noise and
        feasible share.
        """
        if not self.outputs.models:
            return {}
        evidence = sum(fitted.posterior.log_evidence for fitted in self.outputs.models)
        return {"log_evidence": evidence, **self.outputs.report(self.g)}
