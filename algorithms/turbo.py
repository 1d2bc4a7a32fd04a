"""TuRBO-1: Thompson sampling within one trust region, which restarts elsewhere when it is spent
(eriksson2019turbo, Sec. 2).

The authors' code and BoTorch's tutorial differ in constants, in the units of y, in the fit and in
whether a draw carries noise: all of it is parameters. Where a candidate would equal the centre, one
coordinate is forced to differ; it may be any (the public codes never pick the last).

A success or a failure is an answer to what was asked. Data that were told before the first ask, or
that lie outside the region that was asked, are history, however they are split up into tells.

Paper -> here:  L -> length of the region,
tau_succ, tau_fail -> success_tolerance, failure_tolerance,  q -> batch
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import torch

from algorithms.api import Array, Box, Indices, Observation, Optimizer
from algorithms.parts.choice import chosen
from algorithms.parts.fitting import BoundedSurrogate, FitSettings, Fitted
from algorithms.parts.sampling import latin_hypercube, position
from algorithms.parts.trust_region import (
    RegionSettings,
    RestartingRegion,
    Turn,
    lacking,
    perturbed,
    scattered,
)

DRAWS = {"latent": 0.0, "observed": 1.0}  # share of the noise variance in a draw


@dataclass(frozen=True)
class CandidateSettings:
    """Of how many points a batch is chosen, and how they differ from the centre: `candidates`.

    per_dim, fewest, most: per_dim d points, but no fewer and no more than these (eriksson2019turbo,
        Sec. 3: min(100 d, 5000); BoTorch's tutorial: min(5000, max(2000, 200 d))).
    perturbed_dims: coordinates in which a point differs from the centre, on average
        (eriksson2019turbo, the authors' public code: 20).
    """

    per_dim: int
    fewest: int
    most: int
    perturbed_dims: float


class TuRBO(Optimizer):
    """Batches of Thompson samples from a box around the best point, in the shape of the
    length-scales.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        batch: int,
        region: RegionSettings,
        candidates: CandidateSettings,
        draws: str,
        restart_per_dim: float,
        surrogate: BoundedSurrogate,
        fit: FitSettings,
    ) -> None:
        super().__init__(domain, rng)
        d = domain.d
        self.batch = batch
        self.candidates = min(max(candidates.per_dim * d, candidates.fewest), candidates.most)
        self.probability = min(candidates.perturbed_dims / d, 1.0)
        self.noise_share = chosen(DRAWS, draws, "draws")
        self.restart = ceil(restart_per_dim * d)
        self.surrogate = surrogate.fitted_by(fit)
        self.improves = region.improves
        self.region = RestartingRegion.of(region, d, batch)
        self.since = 0  # the first evaluation of this region
        self.design: Array = np.empty((0, d))  # what is left of a restart's design
        self.fitted: Fitted | None = None
        self.turn: Turn | None = None  # the last one that was asked for
        self.rest = position(rng)  # of the generator, after the last tell

    def ask(self, room: int, pending: Array) -> Array:
        """The best candidates of independent posterior draws, or what a restart's design still
        lacks.
        """
        if len(self.design):
            return self.design[: min(room, self.batch)].copy()
        if self.fitted is None:
            return self.rng.random((1, self.domain.d))
        posterior = self.fitted.posterior
        centre = self._centre()
        others = scattered(self.rng, self._corners(self.fitted), self.candidates)
        points = perturbed(self.rng, centre, others, self.probability)
        # (q, candidates)
        f = posterior.sample(torch.from_numpy(points), self.rng, count=min(room, self.batch))
        spread = np.sqrt(self.noise_share * posterior.model.noise.item())
        return points[distinct_best(f + spread * self.rng.standard_normal(f.shape))]

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow, shrink or restart the region, then refit to its own evaluations.

        Designs and other history are no success and no failure.
        """
        if self.fitted is not None and position(self.rng) != self.rest:  # somebody has asked
            self.turn = Turn(self.region, *self._corners(self.fitted), len(self.y))
        super().tell(query, obs)
        if len(self.design):
            self.design = lacking(self.design, query)
        elif self.turn is not None:
            self._count(self.turn.told(query, len(self.y) - len(query)))
        if len(self.design) == 0:
            self.fitted = self.surrogate.learn(self.x[self.since :], self.y[self.since :], self.rng)
        self.rest = position(self.rng)

    def report(self) -> dict[str, float]:
        """Side length and restarts so far."""
        return self.region.report()

    def _count(self, turn: Turn) -> None:
        """The region after what is known of a batch: nothing, or one success or failure."""
        self.turn = turn
        if not len(turn.answers):
            return
        best = self.y[self.since : turn.known].max()
        self.region = turn.region.after(self.improves(self.y[turn.answers].max(), best))
        if self.region.restarts > turn.region.restarts:
            self.since, self.turn, self.fitted = len(self.y), None, None
            self.design = latin_hypercube(self.rng, self.restart, self.domain.d)

    def _centre(self) -> Array:
        """The best point of this region, (d,)."""
        best: Array = self.x[self.since + int(np.argmax(self.y[self.since :]))]
        return best

    def _corners(self, fitted: Fitted) -> tuple[Array, Array]:
        """Of the region around its best point, (d,) each."""
        lengthscales = fitted.posterior.model.kernel.base_kernel.lengthscale[0].numpy()
        return self.region.now.bounds(self._centre(), lengthscales)


def distinct_best(draws: Array) -> Indices:
    """The best column of each row of draws (q, k) that no earlier row has, (q,);
    fewer where k < q.
    """
    picked: list[int] = []
    for f in draws[: draws.shape[1]]:
        f[picked] = -np.inf
        picked.append(int(np.argmax(f)))
    return np.array(picked)
