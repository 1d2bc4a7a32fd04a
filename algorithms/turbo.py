"""TuRBO-1: Thompson sampling within one trust region, which restarts elsewhere when it is spent
(eriksson2019turbo, Sec. 2; parts/search/trust_region has its steps (1) to (7)).

The authors' code and BoTorch's tutorial differ in constants, in the units of y, in the fit and in
whether a draw carries noise: all of it is parameters. Where a candidate would equal the centre, one
coordinate is forced to differ; it may be any (the public codes never pick the last).

Paper -> here:  L -> length of the region,
tau_succ, tau_fail -> success_tolerance, failure_tolerance,  q -> batch
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import torch

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.feasibility import distinct_best
from algorithms.parts.numerics.sampling import latin_hypercube
from algorithms.parts.processes.fitting import BoundedSurrogate, FitSettings, Fitted
from algorithms.parts.processes.gp import Posterior
from algorithms.parts.search.trust_region import RegionSettings, Search, Turn, perturbed, scattered

DRAWS = {"latent": 0.0, "observed": 1.0}  # share of the noise variance in a draw


@dataclass(frozen=True)
class CandidateSettings:
    """How many points a batch is chosen from, and how they differ from the centre: `candidates`.

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

    Use it for many variables without constraints.
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
        self.search = Search.of(region, d, batch, rng)
        self.fitted: Fitted | None = None

    def ask(self, room: int, pending: Array) -> Array:
        """The best candidates of posterior draws, or what a restart's design still lacks."""
        if len(self.search.design):
            return self.search.design[: min(room, self.batch)].copy()
        if self.fitted is None:
            return self.rng.random((1, self.domain.d))
        others = scattered(self.rng, self._corners(self.fitted), self.candidates)  # Sec. 2 (2)
        points = perturbed(self.rng, self._centre(), others, self.probability)
        draws = self._draws(self.fitted.posterior, points, count=min(room, self.batch))
        return points[distinct_best(draws)]  # Sec. 2 (3)

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow, shrink or restart the region, then refit to its own evaluations."""
        if self.fitted is not None and self.search.asked(self.rng):
            self.search = self.search.within(self._corners(self.fitted), len(self.y))
        super().tell(query, obs)
        # Sec. 2 (4) to (7)
        self.search = self.search.told(query, len(self.y), self._succeeded, self._design)
        if len(self.search.design):
            self.fitted = None
        else:
            x, y = self.x[self.search.since :], self.y[self.search.since :]
            self.fitted = self.surrogate.learn(x, y, self.rng)  # Sec. 2 (1)
        self.search = self.search.resting(self.rng)

    def report(self) -> dict[str, float]:
        """Side length and restarts so far."""
        return self.search.region.report()

    def _draws(self, posterior: Posterior, points: Array, *, count: int) -> Array:
        """Posterior draws (count, k) at points (k, d), of f or of what would be observed of it."""
        f = posterior.sample(torch.from_numpy(points), self.rng, count=count)
        spread = np.sqrt(self.noise_share * posterior.model.noise.item())
        return f + spread * self.rng.standard_normal(f.shape)

    def _succeeded(self, turn: Turn) -> bool:
        """Whether a batch improves on what its region had seen before."""
        best = self.y[self.search.since : turn.known].max()
        return self.improves(self.y[turn.answers].max(), best)

    def _design(self) -> Array:
        return latin_hypercube(self.rng, self.restart, self.domain.d)

    def _centre(self) -> Array:
        """The best point of this region, (d,)."""
        since = self.search.since
        best: Array = self.x[since + int(np.argmax(self.y[since:]))]
        return best

    def _corners(self, fitted: Fitted) -> tuple[Array, Array]:
        """The corners of the region around its best point, (d,) each."""
        lengthscales = fitted.posterior.model.kernel.base_kernel.lengthscale[0].numpy()
        return self.search.region.bounds(self._centre(), lengthscales)
