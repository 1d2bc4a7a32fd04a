"""HDsafeBO: Thompson sampling among the points of a box that may be safe (wei2025hdsafebo), a
baseline of jing2026lcbo (Table 1).

Without the isometric embedding, as jing2026lcbo runs it (App. D). Of several constraints each must
allow a candidate. How the region changes is the authors' public code, where a spent region gets its
first length again and keeps its centre and all data; where it lies while nothing safe is known is
said in jing2026lcbo, Sec. 6.1. The steps (1) to (7) of a region are in parts/search/trust_region.
All that is told between two asks is one block to the models.

Paper -> here:  q -> batch,  optimistic safe set -> where mean - width sigma <= 0 for every g
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.feasibility import best, distinct_best, violation
from algorithms.parts.processes.outputs import Outputs, OutputSettings, RefitSettings, zero
from algorithms.parts.processes.pathwise import DRAWN
from algorithms.parts.search.trust_region import (
    RegionSettings,
    Search,
    TrustRegion,
    Turn,
    scattered,
)


class HDsafeBO(Optimizer):
    """Batches of Thompson samples of y from a box around the best safe point, where no bound on a g
    rules them out.

    Use it as a baseline for many variables under constraints.
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
        standstill: str,
        candidates: int,
        beta: float,
        interval: float,
        sigma: str,
        draws: str,
        features: int,
        surrogate: OutputSettings,
        fit: RefitSettings,
    ) -> None:
        super().__init__(domain, rng)
        d = domain.d
        self.batch = ceil(batch_per_dim * d)
        self.counts_standstill = chosen(STANDSTILLS, standstill, "standstill")
        self.candidates = candidates
        # REFERENCE CODE: beta multiplies half of an interval that is 2 sigma wide to each side
        self.width = beta * interval
        self.noise_share = chosen(SIGMAS, sigma, "sigma")
        self.draw, self.features = chosen(DRAWN, draws, "draws"), features
        self.outputs = Outputs(surrogate, fit)
        self.improves = region.improves
        self.search = Search.of(region, d, self.batch, rng)
        self.earlier = self.outputs  # the models when somebody last asked

    def ask(self, room: int, pending: Array) -> Array:
        """The best candidates of independent draws of y, no candidate twice."""
        if not self.outputs.models:
            return self.rng.random((1, self.domain.d))
        count = min(room, self.batch)
        points = self._allowed(count)  # the optimistic safe set
        f = self.draw(
            self.outputs.models[0].posterior,
            torch.from_numpy(points),
            self.rng,
            count=count,
            features=self.features,
        )
        return points[distinct_best(f)]  # (3)

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow, shrink or restart the region, then grow or refit the models."""
        if self.search.asked(self.rng):
            self.earlier = self.outputs
            if self.outputs.models:
                corners = self._corners(self.search.region)
                self.search = self.search.within(corners, len(self.y))
        super().tell(query, obs)
        self.search = self.search.told(query, len(self.y), self._succeeded)  # (4) to (7)
        values = np.column_stack([self.y, self.g])
        self.outputs = self.earlier.learn(self.x, values, self.rng)  # (1)
        self.search = self.search.resting(self.rng)

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]

    def report(self) -> dict[str, float]:
        """Side length and restarts so far, then length-scales, noise and feasible share."""
        return {**self.search.region.report(), **self.outputs.report(self.g)}

    def _succeeded(self, turn: Turn) -> bool | None:
        """A success is safe throughout and improves, a failure is unsafe somewhere."""
        if violation(self.g[turn.answers]).any():
            return False
        safe = violation(self.g[: turn.known]) == 0
        top = self.y[: turn.known][safe].max(initial=-np.inf)
        if not safe.any() or self.improves(self.y[turn.answers].max(), top):
            return True
        return False if self.counts_standstill else None

    def _allowed(self, count: int) -> Array:
        """Candidates in the region that may be safe (k, d), `count` at least.

        While there are fewer the box is halved; once it would be too short, all candidates are
        allowed.
        """
        box = self.search.region
        while True:
            points = scattered(self.rng, self._corners(box), self.candidates)
            allowed = self.may_be_safe(points)
            box = replace(box, length=box.length / 2)
            if allowed.sum() >= count:
                return points[allowed]
            if box.length <= box.settings.shortest:
                return points

    def _corners(self, box: TrustRegion) -> tuple[Array, Array]:
        """The corners of a box around the best point, (d,) each: step (2)."""
        return box.bounds(self.x[best(self.y, self.g)], np.ones(self.domain.d))

    def may_be_safe(self, points: Array) -> NDArray[np.bool_]:
        """Whether mean - width sigma <= 0 for every g at points (k, d), shape (k,)."""
        X, safe = torch.from_numpy(points), np.ones(len(points), dtype=bool)
        for fitted in self.outputs.models[1:]:
            mean, variance = fitted.posterior(X)
            sigma = (variance + self.noise_share * fitted.posterior.model.noise).sqrt()
            safe &= (mean - self.width * sigma <= zero(fitted)).numpy()
        return safe


STANDSTILLS = {"nothing": False, "failure": True}  # what a batch is that is safe and no better
SIGMAS = {"latent": 0.0, "observed": 1.0}  # share of the noise variance in the bounds
