"""GP-EI: the point of largest expected improvement over the best value seen (jones1998ego).

Papers run it as a baseline with a library's defaults: whose regression and whose settings are parameters.
Library -> here:  num_restarts, n_restarts_optimizer -> starts,  raw_samples, n_points -> raw,  maxiter -> steps
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.acquisition import log_ei
from algorithms.parts.choice import chosen
from algorithms.parts.fitting import SURROGATES, Fitted
from algorithms.parts.maximise import cube, maximise
from algorithms.parts.sampling import REPETITIONS


class GPEI(Optimizer):
    """Maximises ln EI under a regression that it refits to every observation; one query at a time, whatever is pending."""

    domains = (Box,)
    domain: Box

    def __init__(
        self, domain: Box, rng: np.random.Generator, *,
        surrogate: str, xi: float, raw: int, starts: int, steps: int, repetitions: str,
    ) -> None:  # fmt: skip
        super().__init__(domain, rng)
        self.surrogate = chosen(SURROGATES, surrogate, "surrogate")
        self.repetition = chosen(REPETITIONS, repetitions, "repetitions")
        self.xi = xi
        self.search = {"raw": raw, "starts": starts, "steps": steps}
        self.fitted: Fitted | None = None

    def ask(self, room: int, pending: Array) -> Array:
        """The largest ln EI over the best value seen plus xi, in the units of y."""
        if self.fitted is None:
            return self.rng.random((1, self.domain.d))
        posterior, best = self.fitted.posterior, float(self.fitted.units(self.y.max() + self.xi))

        def promise(X: Tensor) -> Tensor:
            return log_ei(*posterior(X), best)

        x, _ = maximise(promise, cube(self.domain.d), self.rng, **self.search)
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
