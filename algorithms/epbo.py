"""EPBO: an exact penalty on optimistic constraints (lu2022epbo), as a baseline of jing2026lcbo
(Table 1, App. D).

The paper minimises LCB_f + rho_k sum_i max(0, LCB_i) with rho_k = 10 ln(k+1); here f = -y, so that
UCB_y takes the place of -LCB_f. Violations are in the units of the models.

Paper -> here:  beta -> width, the number of standard deviations,  rho_k -> penalty ln(k+1),
k -> k, 1 at the first query
"""

from __future__ import annotations

from dataclasses import asdict
from math import log, sqrt

import numpy as np
import torch
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.feasibility import best
from algorithms.parts.processes.closed_rbf import JointRBF, ScaleTarget
from algorithms.parts.processes.outputs import Outputs, OutputSettings, RefitSettings
from algorithms.parts.search.adam import AdamClimbSettings, maximise_by_adam

# what beta says about the number of standard deviations
WIDTHS = {"multiplier": float, "root": sqrt}


class EPBO(Optimizer):
    """One query at a time where the bound on y is largest, less what the bounds on g violate.

    Use it for tens of variables under constraints, if a query may take a tenth of a second.
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
        beta: float,
        width: str,
        penalty: float,
        climb: AdamClimbSettings,
        surrogate: OutputSettings,
        fit: RefitSettings,
    ) -> None:
        super().__init__(domain, rng)
        self.width = chosen(WIDTHS, width, "width")(beta)
        self.penalty = penalty
        self.climb = climb
        self.outputs = Outputs(surrogate, fit, ScaleTarget)
        self.k = 0

    def ask(self, room: int, pending: Array) -> Array:
        """Where the acquisition function is largest."""
        if not self.outputs.models:
            return self.rng.random((1, self.domain.d))
        x, _ = maximise_by_adam(
            self.promise, self.slopes, self.domain.d, self.rng, **asdict(self.climb)
        )
        return x[None]

    def promise(self, X: Tensor) -> Tensor:
        """UCB_y - rho_k sum_i max(0, LCB_i) at X (q, d), shape (q,)."""
        means, variances = self.joint(X)
        upper = means[0] + self.width * variances[0].sqrt()
        return upper - self._rho * self._lower(means, variances).relu().sum(0)

    def slopes(self, X: Tensor) -> Tensor:
        """Slopes of the promise over X (q, d), shape (q, d)."""
        return self.joint.slopes(X, self._over_moments)

    def _lower(self, means: Tensor, variances: Tensor) -> Tensor:
        """LCB_i from means and variances (1 + m, q), above where 0 lies in the models: (m, q)."""
        return means[1:] - self.outputs.zeros - self.width * variances[1:].sqrt()

    def _over_moments(self, means: Tensor, variances: Tensor) -> tuple[Tensor, Tensor]:
        """Slopes of the promise over means and variances (1 + m, q)."""
        violated = self._lower(means, variances) > 0
        over_bounds = torch.cat([torch.ones_like(means[:1]), -self._rho * violated.to(means)])
        over_sides = torch.cat([over_bounds[:1], -over_bounds[1:]])
        return over_bounds, over_sides * self.width / (2 * variances.sqrt())

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow the models, and refit them where it is time."""
        super().tell(query, obs)
        self.outputs = self.outputs.learn(self.x, np.column_stack([self.y, self.g]), self.rng)
        self.joint = JointRBF([fitted.posterior for fitted in self.outputs.models])
        self.k += 1

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]

    def report(self) -> dict[str, float]:
        """rho_k, then length-scales, noise and feasible share."""
        return {"penalty": self._rho, **self.outputs.report(self.g)}

    @property
    def _rho(self) -> float:
        return self.penalty * log(self.k + 1)
