"""SCBO: constrained Thompson sampling within one trust region (eriksson2021scbo), a baseline of
jing2026lcbo (Table 1, App. D).

Each point of a batch is the best candidate of a joint draw of y and all g: the largest y where all
g <= 0, and where no candidate is feasible, the least violation. With no g this is TuRBO. A spent
region starts again at its first length, around the same centre and with all data.

Paper -> here:  q -> batch,  tau_s, tau_f -> success_tolerance, failure_tolerance
"""

from __future__ import annotations

from math import ceil

import numpy as np
import torch
from scipy.stats import norm, rankdata
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.choice import chosen
from algorithms.parts.feasibility import best, distinct_best, violation
from algorithms.parts.outputs import Outputs, OutputSettings, RefitSettings
from algorithms.parts.pathwise import DRAWN
from algorithms.parts.trust_region import RegionSettings, RestartingRegion, perturbed, scattered


class SCBO(Optimizer):
    """Batches of constrained Thompson samples from a box around the best point."""

    domains = (Box,)
    domain: Box
    constrained = True

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        batch_per_dim: float,
        region: RegionSettings,
        candidates: int,
        perturbed_dims: float,
        sides: str,
        draws: str,
        features: int,
        y_as: str,
        g_as: str,
        surrogate: OutputSettings,
        fit: RefitSettings,
    ) -> None:
        super().__init__(domain, rng)
        d = domain.d
        self.batch = ceil(batch_per_dim * d)
        self.candidates = candidates
        self.probability = min(perturbed_dims / d, 1.0)
        self.in_proportion = chosen(SIDES, sides, "sides")
        self.draw, self.features = chosen(DRAWN, draws, "draws"), features
        self.warp_y, self.warp_g = chosen(Y_AS, y_as, "y_as"), chosen(G_AS, g_as, "g_as")
        self.outputs = Outputs(surrogate, fit)
        self.improves = region.improves
        self.region = RestartingRegion.of(region, d, self.batch)

    def ask(self, room: int, pending: Array) -> Array:
        """The best candidates of independent joint draws, no candidate twice."""
        if not self.outputs.models:
            return self.rng.random((1, self.domain.d))
        centre = self.x[self._centre()]
        corners = self.region.now.bounds(centre, self._proportions())
        others = scattered(self.rng, corners, self.candidates)
        points = perturbed(self.rng, centre, others, self.probability)
        y, *g = self.draws(torch.from_numpy(points), count=min(room, self.batch))
        return points[distinct_best(y, violation(np.stack(g, axis=-1)) if g else np.zeros_like(y))]

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow, shrink or restart the region, then grow or refit the models.

        What is told first is no success and no failure.
        """
        if len(self.y):
            self.region = self.region.after(self._is_better(obs))
        super().tell(query, obs)
        values = np.column_stack([self.warp_y(self.y), self.warp_g(self.g)])
        self.outputs = self.outputs.learn(self.x, values, self.rng)

    def draws(self, X: Tensor, *, count: int) -> list[Array]:
        """Joint draws (count, q) of y and every g at X (q, d), in the units in which they were
        warped.
        """
        draws = []
        for units, posterior in (
            (fitted.units, fitted.posterior) for fitted in self.outputs.models
        ):
            f = self.draw(posterior, X, self.rng, count=count, features=self.features)
            draws.append(units.centre + units.spread * f)
        return draws

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[self._centre()][None]

    def report(self) -> dict[str, float]:
        """Side length and restarts so far."""
        return self.region.report()

    def _centre(self) -> int:
        return best(self.y, self.warp_g(self.g))

    def _is_better(self, obs: Observation) -> bool:
        """Whether the best of a batch is feasible and better than the centre, or else violates
        less.
        """
        old, new = self._centre(), best(obs.y, self.warp_g(obs.g))
        before, after = violation(self.warp_g(self.g[old])), violation(self.warp_g(obs.g[new]))
        if before > 0 or after > 0:
            return bool(after < before)
        return self.improves(obs.y[new], self.y[old])

    def _proportions(self) -> Array:
        """Of the sides of the region."""
        if not self.in_proportion:
            return np.ones(self.domain.d)
        return self.outputs.models[0].posterior.model.kernel.base_kernel.lengthscale[0].numpy()


def as_is(values: Array) -> Array:
    """Values as they are."""
    return values


def copula(y: Array) -> Array:
    """The normal quantiles of the ranks of y (n,): its empirical distribution function, less half a
    step, made normal.
    """
    return norm.ppf((rankdata(y) - 0.5) / len(y))


def bilog(g: Array) -> Array:
    """sign(g) ln(1 + |g|): it keeps 0 and the sign, and tells small values better apart than large
    ones.
    """
    return np.sign(g) * np.log1p(np.abs(g))


SIDES = {"equal": False, "lengthscales": True}
Y_AS = {"observed": as_is, "copula": copula}
G_AS = {"observed": as_is, "bilog": bilog}
