"""GP-UCB over a table of arms (srinivas2010gpucb; calandriello2019bkb eq. (3)).

Paper -> here:  lambda -> lam,  F -> norm,  sigma_t^2/lambda -> posterior.variance
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Arms, Indices, Observation, Optimizer
from algorithms.parts.arms import EXACT, GaussianTable
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.search.bounds import Confidence


class GPUCB(Optimizer):
    """Pulls the arm with the largest upper confidence bound of an exact posterior, one at a time.

    Use it over a table of up to some ten thousand arms, one pull after another.
    """

    domains = (Arms,)
    domain: Arms

    def __init__(
        self,
        domain: Arms,
        rng: np.random.Generator,
        *,
        bandwidth: float,
        lam: float,
        xi: float,
        norm: float,
        delta: float,
        beta: str,
        posterior: str,
    ) -> None:
        super().__init__(domain, rng)
        self.confidence = Confidence(xi, delta, lam, norm, beta)
        self.posterior = chosen(EXACT, posterior, "posterior")(
            GaussianTable(domain.points, bandwidth), lam
        )

    @property
    def beta(self) -> float:
        return self.confidence.exact(self.posterior.information)

    def ask(self, room: int, pending: Indices) -> Indices:
        """The largest upper confidence bound; ties go to the lowest index."""
        bounds = self.posterior.mean + self.beta * np.sqrt(self.posterior.variance)  # BKB eq. (3)
        return np.array([np.argmax(bounds)])

    def tell(self, query: Indices, obs: Observation) -> None:
        """Condition on what was seen."""
        super().tell(query, obs)
        self.posterior.extend(query, obs.y)

    def recommend(self) -> Indices:
        """The arm with the largest posterior mean."""
        return np.array([np.argmax(self.posterior.mean)])

    def report(self) -> dict[str, float]:
        return {"beta": self.beta, "distinct_arms": self.posterior.distinct}
