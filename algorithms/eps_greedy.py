"""eps-greedy: the arm with the best estimated mean, or with probability epsilon a uniform one.

calandriello2020bbkb compares with it and says nothing about it (assumption `eps-greedy` in its
YAML).
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Arms, Indices, Observation, Optimizer
from algorithms.parts.arms import ExactPosterior, GaussianTable, Pulls

MODELS = ("empirical-mean", "gaussian-process")


class EpsGreedy(Optimizer):
    """Exploits empirical means of the pulled arms, or the mean of an exact Gaussian process over
    all arms.

    Use it as a baseline over a table of arms.
    """

    domains = (Arms,)
    domain: Arms

    def __init__(
        self,
        domain: Arms,
        rng: np.random.Generator,
        *,
        epsilon: float,
        model: str,
        bandwidth: float,
        lam: float,
    ) -> None:
        super().__init__(domain, rng)
        if model not in MODELS:
            raise ValueError(f"model: expected {' or '.join(MODELS)}, got {model!r}")
        self.epsilon = epsilon
        self.pulls = Pulls()
        self.posterior = (
            ExactPosterior(GaussianTable(domain.points, bandwidth), lam)
            if model == MODELS[1]
            else None
        )

    def ask(self, room: int, pending: Indices) -> Indices:
        """Explore with probability epsilon, else exploit."""
        if self.rng.random() < self.epsilon:
            return self.rng.integers(len(self.domain), size=1)
        return self.recommend()

    def tell(self, query: Indices, obs: Observation) -> None:
        """Update the means."""
        super().tell(query, obs)
        self.pulls.add(query, obs.y)
        if self.posterior is not None:
            self.posterior.extend(query, obs.y)

    def recommend(self) -> Indices:
        """The arm with the best estimated mean."""
        best = (
            self.pulls.arms[np.argmax(self.pulls.means)]
            if self.posterior is None
            else np.argmax(self.posterior.mean)
        )
        return np.array([best])

    def report(self) -> dict[str, float]:
        return {"distinct_arms": len(self.pulls.arms)}
