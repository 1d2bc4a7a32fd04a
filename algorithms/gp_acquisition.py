"""GP-EI, GP-PI and GP-UCB on a box: one query at a time where an acquisition function is largest.

Expected improvement (jones1998ego), probability of improvement (kushner1964multipeak), upper
confidence bound (srinivas2010gpucb). Papers run them as baselines with a library's defaults: whose
regression and settings are parameters. Library -> here:  xi, or beta = kappa^2 -> exploration,
num_restarts -> climb.starts,  raw_samples, n_points -> climb.raw,  maxiter -> climb.steps
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.acquisition import log_ei, log_pi, ucb
from algorithms.parts.choice import chosen
from algorithms.parts.fitting import SURROGATES, Fitted
from algorithms.parts.maximise import ClimbSettings, cube, maximise
from algorithms.parts.sampling import REPETITIONS

ACQUISITIONS = {"ei": log_ei, "pi": log_pi, "ucb": ucb}


class GPAcquisition(Optimizer):
    """Maximises ln EI, ln PI or UCB under a regression that it refits to every observation,
    whatever is pending.

    `exploration` is xi for the improvements, what a value must exceed the best one by in the units
    of y, and beta for the bound.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        surrogate: str,
        acquisition: str,
        exploration: float,
        climb: ClimbSettings,
        repetitions: str,
    ) -> None:
        super().__init__(domain, rng)
        self.surrogate = chosen(SURROGATES, surrogate, "surrogate")
        self.acquisition = chosen(ACQUISITIONS, acquisition, "acquisition")
        self.repetition = chosen(REPETITIONS, repetitions, "repetitions")
        self.exploration = exploration
        self.climb = climb
        self.fitted: Fitted | None = None

    def ask(self, room: int, pending: Array) -> Array:
        """Where the acquisition function is largest."""
        if self.fitted is None:
            return self.rng.random((1, self.domain.d))
        posterior, aim = self.fitted.posterior, self.exploration
        if self.acquisition is not ucb:
            aim = float(self.fitted.units(self.y.max() + self.exploration))

        def promise(X: Tensor) -> Tensor:
            return self.acquisition(*posterior(X), aim)

        x, _ = maximise(promise, cube(self.domain.d), self.rng, **asdict(self.climb))
        return self.repetition(self.rng, x, self.x)[None]

    def tell(self, query: Array, obs: Observation) -> None:
        """Fit anew to everything."""
        super().tell(query, obs)
        self.fitted = self.surrogate.learn(self.x, self.y, self.rng)

    def report(self) -> dict[str, float]:
        """Noise variance and log evidence, both in standardised units."""
        if self.fitted is None:
            return {}
        posterior = self.fitted.posterior
        return {"noise": posterior.model.noise.item(), "log_evidence": posterior.log_evidence}
