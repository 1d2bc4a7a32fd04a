"""TuRBO-1: Thompson sampling within one trust region, which restarts elsewhere when it is spent
(eriksson2019turbo, Sec. 2).

The authors' code and BoTorch's tutorial differ in constants, in the units of y, in the fit and in
whether a draw carries noise: all of it is parameters. Where a candidate would equal the centre, one
coordinate is forced to differ; it may be any (the public codes never pick the last). Paper -> here:
L -> region.length,  tau_succ -> success_tolerance,  tau_fail = ceil(max(patience, d)/q),  q ->
batch
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil

import numpy as np
import torch

from algorithms.api import Array, Box, Indices, Observation, Optimizer
from algorithms.parts.choice import chosen
from algorithms.parts.fitting import LBFGS, Adam, Fitted, Method, Surrogate
from algorithms.parts.kernels import bounded
from algorithms.parts.sampling import latin_hypercube, sobol
from algorithms.parts.transforms import STANDARDS
from algorithms.parts.trust_region import TrustRegion, perturbed

DRAWS = {"latent": 0.0, "observed": 1.0}  # share of the noise variance in a draw


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
        length: float,
        longest: float,
        shortest: float,
        success_tolerance: int,
        patience: float,
        improvement: float,
        candidates_per_dim: int,
        fewest_candidates: int,
        most_candidates: int,
        perturbed_dims: float,
        draws: str,
        restart_per_dim: float,
        standard: str,
        lengthscale: Sequence[float],
        outputscale: Sequence[float],
        noise: Sequence[float],
        fit: str,
        fit_steps: int,
        fit_rate: float,
    ) -> None:
        super().__init__(domain, rng)
        d = domain.d
        self.batch = batch
        self.improvement = improvement
        self.candidates = min(max(candidates_per_dim * d, fewest_candidates), most_candidates)
        self.probability = min(perturbed_dims / d, 1.0)
        self.noise_share = chosen(DRAWS, draws, "draws")
        self.restart = ceil(restart_per_dim * d)
        methods: dict[str, Method] = {"l-bfgs": LBFGS(fit_steps), "adam": Adam(fit_rate, fit_steps)}
        self.surrogate = Surrogate(
            partial(bounded, lengthscale=lengthscale, outputscale=outputscale, noise=noise),
            chosen(STANDARDS, standard, "standard"),
            chosen(methods, fit, "fit"),
        )
        self.initial = TrustRegion(
            length,
            longest,
            shortest,
            growth=2.0,
            shrinkage=0.5,
            success_tolerance=success_tolerance,
            failure_tolerance=ceil(max(patience, d) / batch),
        )
        self.region = self.initial
        self.since = 0  # the first evaluation of this region
        self.restarts = 0
        self.design: Array = np.empty((0, d))  # what is left of a restart's design
        self.fitted: Fitted | None = None

    def ask(self, room: int, pending: Array) -> Array:
        """The best candidates of independent posterior draws, or what a restart's design still
        lacks.
        """
        if len(self.design):
            return self.design[: min(room, self.batch)].copy()
        if self.fitted is None:
            return self.rng.random((1, self.domain.d))
        posterior = self.fitted.posterior
        centre = self.x[self.since + int(np.argmax(self.y[self.since :]))]
        low, high = self.region.bounds(
            centre, posterior.model.kernel.base_kernel.lengthscale[0].numpy()
        )
        others = low + (high - low) * sobol(self.rng, self.candidates, self.domain.d)
        points = perturbed(self.rng, centre, others, self.probability)
        # (q, candidates)
        f = posterior.sample(torch.from_numpy(points), self.rng, count=min(room, self.batch))
        spread = np.sqrt(self.noise_share * posterior.model.noise.item())
        return points[distinct_best(f + spread * self.rng.standard_normal(f.shape))]

    def tell(self, query: Array, obs: Observation) -> None:
        """Grow, shrink or restart the region, then refit to its own evaluations.

        Designs are no success and no failure.
        """
        first, best = len(self.y) == 0, float(np.max(self.y[self.since :], initial=-np.inf))
        super().tell(query, obs)
        if len(self.design):
            self.design = self.design[len(query) :]
        elif not first:
            better = obs.y.max() > best + self.improvement * abs(best)
            self.region = self.region.succeeded() if better else self.region.failed()
            if self.region.spent:
                self.region, self.since, self.restarts = (
                    self.initial,
                    len(self.y),
                    self.restarts + 1,
                )
                self.design = latin_hypercube(self.rng, self.restart, self.domain.d)
        if len(self.design) == 0:
            self.fitted = self.surrogate.learn(self.x[self.since :], self.y[self.since :], self.rng)

    def report(self) -> dict[str, float]:
        """Side length and restarts so far."""
        return {"length": self.region.length, "restarts": self.restarts}


def distinct_best(draws: Array) -> Indices:
    """The best column of each row of draws (q, k) that no earlier row has, (q,);
    fewer where k < q.
    """
    picked: list[int] = []
    for f in draws[: draws.shape[1]]:
        f[picked] = -np.inf
        picked.append(int(np.argmax(f)))
    return np.array(picked)
