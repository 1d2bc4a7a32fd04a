"""SCBO: constrained Thompson sampling within one trust region (eriksson2021scbo), a baseline of
jing2026lcbo (Table 1, App. D).

Each point of a batch is the best candidate of a joint draw of y and all g: the largest y where all
g <= 0, and where no candidate is feasible, the least violation. With no g this is TuRBO, whose
steps (1) to (7) are in parts/search/trust_region. After a spent region another one begins afresh: a
new design, of which the best point is the centre, and models that see nothing older. All that is
told between two asks is one block to the models.

Paper -> here:  q -> batch,  tau_s, tau_f -> success_tolerance, failure_tolerance
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from scipy.stats import norm, rankdata
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.feasibility import best, distinct_best, violation
from algorithms.parts.processes.outputs import Outputs, OutputSettings, RefitSettings
from algorithms.parts.processes.pathwise import DRAWN
from algorithms.parts.search.trust_region import RegionSettings, Search, Turn, perturbed, scattered


@dataclass(frozen=True)
class CentreSettings:
    """Where a region lies, and where the next one begins once it is spent: the group `centre`.

    by: observations, or means, the posterior ones at what was evaluated: by which of them the best
        point is told.
    after: design, points of its own (eriksson2021scbo), or centre: the same centre and all data,
        at the first length again.
    design_per_dim: a new design has ceil(design_per_dim d) uniform points (jing2026lcbo, Sec. 6.1:
        d points at first).
    """

    by: str
    after: str
    design_per_dim: float


class SCBO(Optimizer):
    """Batches of constrained Thompson samples from a box around the best point.

    Use it for many variables under constraints.
    """

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
        centre: CentreSettings,
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
        self.search = Search.of(region, d, self.batch, rng)
        self.by_means = chosen(CENTRES, centre.by, "by")
        self.afresh = chosen(AFTER, centre.after, "after")
        self.restart = ceil(centre.design_per_dim * d)
        if self.afresh and not self.restart > 0:
            raise ValueError(
                f"design_per_dim: expected a positive number, got {centre.design_per_dim}"
            )
        self.untold = self.outputs
        self.earlier = self.outputs  # the models when somebody last asked

    def ask(self, room: int, pending: Array) -> Array:
        """The best distinct candidates of joint draws, or what a restart's design still lacks."""
        if len(self.search.design):
            return self.search.design[: min(room, self.batch)].copy()
        if not self.outputs.models:
            return self.rng.random((1, self.domain.d))
        centre = self._centre()
        others = scattered(self.rng, self._corners(centre), self.candidates)  # (2)
        points = perturbed(self.rng, centre, others, self.probability)
        y, *g = self.draws(torch.from_numpy(points), count=min(room, self.batch))
        return points[distinct_best(y, violation(np.stack(g, axis=-1)) if g else None)]  # (3)

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow, shrink or restart the region, then grow or refit the models."""
        if self.search.asked(self.rng):
            self.earlier = self.outputs
            if self.outputs.models:
                self.search = self.search.within(self._corners(self._centre()), len(self.y))
        super().tell(query, obs)
        begin = self._design if self.afresh else None
        self.search = self.search.told(query, len(self.y), self._succeeded, begin)  # (4) to (7)
        if len(self.search.design):
            self.outputs = self.earlier = self.untold
        else:
            x, y, g = self._own()
            values = np.column_stack([self.warp_y(y), g])
            self.outputs = self.earlier.learn(x, values, self.rng)  # (1)
        self.search = self.search.resting(self.rng)

    def draws(self, X: Tensor, *, count: int) -> list[Array]:
        """Joint draws (count, q) of y and every g at X (q, d), in their warped units."""
        draws = []
        for units, posterior in (
            (fitted.units, fitted.posterior) for fitted in self.outputs.models
        ):
            f = self.draw(posterior, X, self.rng, count=count, features=self.features)
            draws.append(units.centre + units.spread * f)
        return draws

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.warp_g(self.g))][None]

    def report(self) -> dict[str, float]:
        """Side length, restarts; length-scales and noise in warped units, and feasible share."""
        return {**self.search.region.report(), **self.outputs.report(self.g)}

    def _own(self) -> tuple[Array, Array, Array]:
        """The evaluations of this region: x (n, d), y (n,) and warped g (n, m)."""
        own = slice(self.search.since, None)
        return self.x[own], self.y[own], self.warp_g(self.g[own])

    def _centre(self) -> Array:
        """Where the region lies, (d,): at its best point by what was observed or by the means."""
        x, y, g = self._own()
        if not self.by_means:
            return x[best(y, g)]
        X = torch.from_numpy(x)
        y, *gs = (
            fitted.units.centre + fitted.units.spread * fitted.posterior.mean(X).numpy()
            for fitted in self.outputs.models
        )
        return x[best(y, np.stack(gs, axis=-1) if gs else g)]

    def _design(self) -> Array:
        return self.rng.random((self.restart, self.domain.d))

    def _succeeded(self, turn: Turn) -> bool:
        """Whether the best answer is feasible and better than before, or else violates less."""
        seen = slice(self.search.since, turn.known)
        seen_y, new_y = self.y[seen], self.y[turn.answers]
        seen_g, new_g = self.warp_g(self.g[seen]), self.warp_g(self.g[turn.answers])
        old, new = best(seen_y, seen_g), best(new_y, new_g)
        before, after = violation(seen_g[old]), violation(new_g[new])
        if before > 0 or after > 0:
            return bool(after < before)
        return self.improves(new_y[new], seen_y[old])

    def _corners(self, centre: Array) -> tuple[Array, Array]:
        """The corners of the region around a centre (d,), (d,) each."""
        proportions = np.ones(self.domain.d)
        if self.in_proportion:
            model = self.outputs.models[0].posterior.model
            proportions = model.kernel.base_kernel.lengthscale[0].numpy()
        return self.search.region.bounds(centre, proportions)


def as_is(values: Array) -> Array:
    """Values as they are."""
    return values


def copula(y: Array) -> Array:
    """The normal quantiles of the ranks of y (n,), less half a step."""
    return norm.ppf((rankdata(y) - 0.5) / len(y))


def bilog(g: Array) -> Array:
    """sign(g) ln(1 + |g|): it keeps signs, and tells small values apart better than large ones."""
    return np.sign(g) * np.log1p(np.abs(g))


CENTRES = {"observations": False, "means": True}  # what says which point is the best
AFTER = {"design": True, "centre": False}  # whether a region begins afresh after a spent one
SIDES = {"equal": False, "lengthscales": True}
Y_AS = {"observed": as_is, "copula": copula}
G_AS = {"observed": as_is, "bilog": bilog}
