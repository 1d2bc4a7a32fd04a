"""GP-BUCB with adaptive batches (desautels2014gpbucb as calandriello2020bbkb Alg. 2 states it;
there also GP-AUCB).

Paper -> here:  lambda -> lam,  F -> norm,  alpha_t -> alpha,
sigma_t^2/lambda -> posterior.variance
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Arms, Indices, Observation, Optimizer
from algorithms.parts.arms import EXACT, GaussianTable
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.search.bounds import Confidence

PRODUCT, SUM = "product", "sum"


class GPBUCB(Optimizer):
    """Fills a batch by hallucinating that pulls show their mean, until the variances may have
    drifted by C.

    Use it over a table of up to some ten thousand arms if evaluations run in batches. `rule` is
    "product" (BBKB Prop. 2, what Desautels et al. use) or "sum" (BBKB Lemma 1 on the exact
    variance, which App. A.4 calls an improved GP-BUCB).
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
        C: float,
        beta: str,
        rule: str,
        posterior: str,
    ) -> None:
        super().__init__(domain, rng)
        if rule not in (PRODUCT, SUM):
            raise ValueError(f"rule: expected {PRODUCT} or {SUM}, got {rule!r}")
        self.confidence = Confidence(xi, delta, lam, norm, beta)
        self.C = C
        self.rule = rule
        self.posterior = chosen(EXACT, posterior, "posterior")(
            GaussianTable(domain.points, bandwidth), lam
        )

    @property
    def alpha(self) -> float:
        return self.confidence.exact(self.posterior.information, drift=self.C)

    def ask(self, room: int, pending: Indices) -> Indices:
        """Alg. 2: the mean stays, the variance shrinks; the arm that breaches the rule is last."""
        draft, alpha, mean = self.posterior.draft(), self.alpha, self.posterior.mean
        batch: list[int] = []
        drift = 1.0
        while len(batch) < room and drift <= self.C:
            arm = int(np.argmax(mean + alpha * np.sqrt(draft.variance)))
            batch.append(arm)
            if self.rule == PRODUCT:
                drift *= 1.0 + draft.variance_of(arm)  # sigma_{s-1}: shrinks within the batch
            else:
                # sigma_fb: frozen at the start of the batch
                drift += self.posterior.variance_of(arm)
            if drift <= self.C:
                draft.add(arm, float(draft.mean[arm]))
        return np.array(batch)

    def tell(self, query: Indices, obs: Observation) -> None:
        """Condition on what was seen."""
        super().tell(query, obs)
        self.posterior.extend(query, obs.y)

    def recommend(self) -> Indices:
        """The arm with the largest posterior mean."""
        return np.array([np.argmax(self.posterior.mean)])

    def report(self) -> dict[str, float]:
        return {"alpha": self.alpha, "distinct_arms": self.posterior.distinct}
