"""SCBO: constrained Thompson sampling within one trust region (eriksson2021scbo), a baseline of
jing2026lcbo (Table 1, App. D).

Each point of a batch is the best candidate of a joint draw of y and all g: the largest y where all
g <= 0, and where no candidate is feasible, the least violation. With no g this is TuRBO. After a
spent region another one begins afresh: a new design, of which the best point is the centre, and
models that see nothing older.

A success or a failure is an answer to what was asked. Data that were told before the first ask, or
that lie outside the region that was asked, are history, however they are split up into tells. All
that is told between two asks is one block to the models.

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
from algorithms.parts.choice import chosen
from algorithms.parts.feasibility import best, distinct_best, violation
from algorithms.parts.outputs import Outputs, OutputSettings, RefitSettings
from algorithms.parts.pathwise import DRAWN
from algorithms.parts.sampling import position
from algorithms.parts.trust_region import (
    RegionSettings,
    RestartingRegion,
    Turn,
    lacking,
    perturbed,
    scattered,
)


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
        self.region = RestartingRegion.of(region, d, self.batch)
        self.by_means = chosen(CENTRES, centre.by, "by")
        self.afresh = chosen(AFTER, centre.after, "after")
        self.restart = ceil(centre.design_per_dim * d)
        if self.afresh and not self.restart > 0:
            raise ValueError(
                f"design_per_dim: expected a positive number, got {centre.design_per_dim}"
            )
        self.untold = self.outputs
        self.since = 0  # the first evaluation of this region
        self.design: Array = np.empty((0, d))  # what is left of a restart's design
        self.turn: Turn | None = None  # the last one that was asked for
        self.earlier = self.outputs  # the models when somebody last asked
        self.rest = position(rng)  # of the generator, after the last tell

    def ask(self, room: int, pending: Array) -> Array:
        """The best candidates of independent joint draws, no candidate twice, or what a restart's
        design still lacks.
        """
        if len(self.design):
            return self.design[: min(room, self.batch)].copy()
        if not self.outputs.models:
            return self.rng.random((1, self.domain.d))
        centre = self._centre()
        others = scattered(self.rng, self._corners(centre), self.candidates)
        points = perturbed(self.rng, centre, others, self.probability)
        y, *g = self.draws(torch.from_numpy(points), count=min(room, self.batch))
        return points[distinct_best(y, violation(np.stack(g, axis=-1)) if g else np.zeros_like(y))]

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow, shrink or restart the region, then grow or refit the models.

        Designs and other history are no success and no failure.
        """
        if position(self.rng) != self.rest:  # somebody has asked
            self.earlier = self.outputs
            if self.outputs.models:
                self.turn = Turn(self.region, *self._corners(self._centre()), len(self.y))
        super().tell(query, obs)
        if len(self.design):
            self.design = lacking(self.design, query)
        elif self.turn is not None:
            self._count(self.turn.told(query, len(self.y) - len(query)))
        if not len(self.design):
            y, g = self.y[self.since :], self.g[self.since :]
            values = np.column_stack([self.warp_y(y), self.warp_g(g)])
            self.outputs = self.earlier.learn(self.x[self.since :], values, self.rng)
        self.rest = position(self.rng)

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
        return self.x[best(self.y, self.warp_g(self.g))][None]

    def report(self) -> dict[str, float]:
        """Side length and restarts so far, then length-scales and noise in the units in which
        values were warped, and feasible share.
        """
        return {**self.region.report(), **self.outputs.report(self.g)}

    def _centre(self) -> Array:
        """Where the region lies, (d,): at its best point by what was observed or by the means."""
        x, y, g = self.x[self.since :], self.y[self.since :], self.warp_g(self.g[self.since :])
        if not self.by_means:
            return x[best(y, g)]
        X = torch.from_numpy(x)
        y, *gs = (
            fitted.units.centre + fitted.units.spread * fitted.posterior.mean(X).numpy()
            for fitted in self.outputs.models
        )
        return x[best(y, np.stack(gs, axis=-1) if gs else g)]

    def _count(self, turn: Turn) -> None:
        """The region after what is known of a batch: nothing, or one success or failure."""
        self.turn = turn
        if not len(turn.answers):
            return
        self.region = turn.region.after(self._is_better(turn))
        if self.afresh and self.region.restarts > turn.region.restarts:
            self.since, self.turn = len(self.y), None
            self.outputs = self.earlier = self.untold
            self.design = self.rng.random((self.restart, self.domain.d))

    def _is_better(self, turn: Turn) -> bool:
        """Whether the best answer is feasible and better than what the region had observed when it
        was asked, or else violates less.
        """
        seen_y, new_y = self.y[self.since : turn.known], self.y[turn.answers]
        seen_g, new_g = (
            self.warp_g(g) for g in (self.g[self.since : turn.known], self.g[turn.answers])
        )
        old, new = best(seen_y, seen_g), best(new_y, new_g)
        before, after = violation(seen_g[old]), violation(new_g[new])
        if before > 0 or after > 0:
            return bool(after < before)
        return self.improves(new_y[new], seen_y[old])

    def _corners(self, centre: Array) -> tuple[Array, Array]:
        """Of the region around a centre (d,), (d,) each."""
        return self.region.now.bounds(centre, self._proportions())

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


CENTRES = {"observations": False, "means": True}  # what says which point is the best
AFTER = {"design": True, "centre": False}  # whether a region begins afresh after a spent one
SIDES = {"equal": False, "lengthscales": True}
Y_AS = {"observed": as_is, "copula": copula}
G_AS = {"observed": as_is, "bilog": bilog}
