"""GP-UCB on a box: the query is where mean + sqrt(beta_t) sigma is largest (srinivas2010gpucb;
bardou2024dumbo eq. (1)).

bardou2024dumbo has Matern-5/2 kernels and says no more of their priors and fit: the regression is a
library's default by name, all of which are Matern-5/2 with one length-scale per input, so that the
box baselines of a figure share one surrogate.

Paper -> here:  phi_t -> promise,  beta_t -> beta,  t -> observations so far,  d -> domain.d
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.processes.fitting import SURROGATES, Fitted
from algorithms.parts.processes.gp import GRAMS, Posterior
from algorithms.parts.search.acquisition import UCB
from algorithms.parts.search.closed_matern import MaternPromise
from algorithms.parts.search.exploration import Width
from algorithms.parts.search.maximise import ClimbSettings, cube, maximise


class GPUCBBox(Optimizer):
    """Maximises the upper confidence bound over the whole box, one query at a time, under a
    regression refitted to everything.

    Use it for a hundred evaluations of up to some tens of variables without constraints. `gram`
    says with which noise it predicts: see `gp.GRAMS`.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        surrogate: str,
        gram: str,
        width: Width,
        climb: ClimbSettings,
    ) -> None:
        super().__init__(domain, rng)
        self.surrogate = chosen(SURROGATES, surrogate, "surrogate")
        self.gram = chosen(GRAMS, gram, "gram")
        self.width, self.climb = width, climb
        self.fitted: Fitted | None = None
        self.posterior: Posterior | None = None  # that predicts

    @property
    def beta(self) -> float:
        """beta_t."""
        return self.width.beta(len(self.y), self.domain.d)

    def ask(self, room: int, pending: Array) -> Array:
        """Where the bound is largest."""
        if self.posterior is None:
            return self.rng.random((1, self.domain.d))
        promise = MaternPromise(self.posterior, UCB, self.beta)  # eq. (1)
        return maximise(promise, cube(self.domain.d), self.rng, **vars(self.climb))[0][None]

    def tell(self, query: Array, obs: Observation) -> None:
        """Fit anew to everything."""
        super().tell(query, obs)
        self.fitted = self.surrogate.learn(self.x, self.y, self.rng)
        self.posterior = self.gram(self.fitted.posterior)

    def report(self) -> dict[str, float]:
        """beta_t, and noise variance and log evidence of the fit in standardised units."""
        if self.fitted is None:
            return {}
        posterior = self.fitted.posterior
        return {
            "beta": self.beta,
            "noise": posterior.model.noise.item(),
            "log_evidence": posterior.log_evidence,
        }
