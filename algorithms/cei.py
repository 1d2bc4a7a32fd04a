"""CEI: constrained expected improvement (gardner2014constrained, Sec. 3), as a baseline of
jing2026lcbo (Table 1, App. D).

Maximised is the logarithm of E max(f - best, 0) prod_i P(g_i <= 0), `best` being the best feasible
observation. Before there is one, only the probability of feasibility counts.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.feasibility import best, violation
from algorithms.parts.processes.closed_rbf import JointRBF, ScaleTarget
from algorithms.parts.processes.outputs import Outputs, OutputSettings, RefitSettings
from algorithms.parts.search.acquisition import (
    log_ei,
    log_ei_with_slopes,
    log_feasibility,
    log_feasibility_slopes,
)
from algorithms.parts.search.adam import AdamClimbSettings, maximise_by_adam


class CEI(Optimizer):
    """One query at a time where constrained improvement is expected, all over the cube.

    Use it for few variables under constraints, and as a baseline for many.
    """

    domains = (Box,)
    domain: Box
    constrained = True
    joint: JointRBF  # the models of y and of every g, once anything was told

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
        self.outputs = Outputs(surrogate, fit, ScaleTarget)

    def ask(self, room: int, pending: Array) -> Array:
        """Where the acquisition function is largest."""
        if not self.outputs.models:
            return self.rng.random((1, self.domain.d))
        x, _ = maximise_by_adam(
            self.promise, self.slopes, self.domain.d, self.rng, **asdict(self.climb)
        )
        return x[None]

    def promise(self, X: Tensor) -> Tensor:
        """ln EI + sum_i ln P(g_i <= 0) at X (q, d), shape (q,), in the units of the models."""
        means, variances = self.joint(X)
        total = log_feasibility(means[1:] - self.outputs.zeros, variances[1:]).sum(0)
        if (bar := self.best_feasible) is not None:
            total = total + log_ei(means[0], variances[0], bar)
        return total

    def slopes(self, X: Tensor) -> Tensor:
        """Slopes of the promise over X (q, d), shape (q, d)."""
        return self.joint.slopes(X, self._over_moments)

    def _over_moments(self, means: Tensor, variances: Tensor) -> tuple[Tensor, Tensor]:
        """Slopes of the promise over means and variances (1 + m, q)."""
        ei = torch.zeros_like(means[:1]), torch.zeros_like(means[:1])
        if (bar := self.best_feasible) is not None:
            ei = log_ei_with_slopes(means[:1], variances[:1], bar)[1:]
        feasibility = log_feasibility_slopes(means[1:] - self.outputs.zeros, variances[1:])
        return torch.cat([ei[0], feasibility[0]]), torch.cat([ei[1], feasibility[1]])

    @property
    def best_feasible(self) -> float | None:
        """The largest observation that was feasible, in the units of its model."""
        feasible, y = violation(self.g) == 0, self.outputs.models[0]
        return float(y.units(self.y[feasible]).max()) if feasible.any() else None

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow the models, and refit them where it is time."""
        super().tell(query, obs)
        self.outputs = self.outputs.learn(self.x, np.column_stack([self.y, self.g]), self.rng)
        self.joint = JointRBF([fitted.posterior for fitted in self.outputs.models])

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]

    def report(self) -> dict[str, float]:
        """Log evidence of all models, in their units; length-scales, noise and feasible share."""
        if not self.outputs.models:
            return {}
        evidence = sum(fitted.posterior.log_evidence for fitted in self.outputs.models)
        return {"log_evidence": evidence, **self.outputs.report(self.g)}
