"""BKB: budgeted kernelised bandits (calandriello2019bkb, Alg. 1).

Paper -> here:  lambda -> lam,  q-bar -> qbar,  F -> norm,  S_t -> posterior.dictionary,
sigma~_t^2 -> posterior.variance
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from algorithms.api import Arms, Indices, Observation, Optimizer
from algorithms.parts.arms import GaussianTable, Pulls, SketchedPosterior, include
from algorithms.parts.search.bounds import THEOREM, Confidence


class BKB(Optimizer):
    """GP-UCB on a Nystrom sketch whose dictionary is drawn anew after every step, by posterior
    variance.

    Use it to study its paper: over some ten thousand arms the exact GP-UCB, which pools the pulls
    of an arm, takes less time here (papers/measured.csv).
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
        qbar: float,
        epsilon: float,
        beta: str,
        inclusion: str,
    ) -> None:
        super().__init__(domain, rng)
        self.confidence = Confidence(xi, delta, lam, norm, beta)
        self.qbar = qbar
        self.epsilon = epsilon
        self.inclusion = inclusion
        self.kernel = GaussianTable(domain.points, bandwidth)
        self.pulls = Pulls()
        self.posterior = SketchedPosterior.prior(self.kernel, lam)

    @property
    def beta(self) -> float:
        t, total = len(self.y), float(self.pulls.n @ self.posterior.variance[self.pulls.arms])
        kappa2 = self.kernel.variance
        if self.confidence.beta == THEOREM:  # Thm. 2
            alpha = (1 + self.epsilon) / (1 - self.epsilon)
            return self.confidence.theorem(
                alpha * log(kappa2 * t) * total, factor=1 + 1 / sqrt(1 - self.epsilon)
            )
        return self.confidence.reference_code(log(t) * total)

    def ask(self, room: int, pending: Indices) -> Indices:
        """The largest approximate upper confidence bound; ties go to the lowest index."""
        bounds = self.posterior.mean + self.beta * np.sqrt(self.posterior.variance)  # eq. (4)
        return np.array([np.argmax(bounds)])

    def tell(self, query: Indices, obs: Observation) -> None:
        """Draw the dictionary with the variances of the step before, then rebuild the sketch."""
        super().tell(query, obs)
        self.pulls.add(query, obs.y)
        # p~_{t+1,i} = qbar sigma~_t^2(x_i)
        p = self.qbar * self.posterior.variance[self.pulls.arms]
        included = include(p, self.pulls.n, self.inclusion, self.rng)
        self.posterior = SketchedPosterior.fit(
            self.kernel, self.confidence.lam, self.pulls, included
        )

    def recommend(self) -> Indices:
        """The arm with the largest posterior mean."""
        return np.array([np.argmax(self.posterior.mean)])

    def report(self) -> dict[str, float]:
        return {
            "beta": self.beta,
            "dictionary": len(self.posterior.dictionary),
            "distinct_arms": len(self.pulls.arms),
        }
