"""BBKB: batch budgeted kernelised bandits (calandriello2020bbkb, Alg. 1, Lemmas 1 and 3, Sec. 4,
App. A.3 and A.5).

Paper -> here:  lambda -> lam,  q-bar -> qbar,  C-tilde -> C,  F -> norm,
sigma~^2_fb -> posterior.variance

DEVIATES: Alg. 1 l. 5 and Lemma 1 print sigma~, the proofs and App. A.5 need sigma~^2: squared here
(papers/bbkb.yaml).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from algorithms.api import Arms, Array, Indices, Observation, Optimizer
from algorithms.parts.arms import (
    ExactPosterior,
    GaussianTable,
    Pulls,
    SketchedPosterior,
    bless,
    include,
)
from algorithms.parts.search.bounds import THEOREM, Confidence

GLOBAL, GLOBAL_LOCAL, GLOBAL_LOCAL_APPENDIX = RULES = (
    "global",
    "global-local",
    "global-local-appendix",
)
RESPARSIFY, BLESS = STARTS = ("resparsify", "bless")


class BBKB(Optimizer):
    """Fills a batch on a frozen sketch until the posterior may have drifted by C, then draws a new
    dictionary.

    Use it over a table of many arms if evaluations run in batches.
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
        C: float,
        rule: str,
        beta: str,
        inclusion: str,
        parallelism: int,
        start: str,
    ) -> None:
        super().__init__(domain, rng)
        for name, value, known in (("rule", rule, RULES), ("start", start, STARTS)):
            if value not in known:
                raise ValueError(f"{name}: expected {' or '.join(known)}, got {value!r}")
        self.confidence = Confidence(xi, delta, lam, norm, beta)
        self.qbar = qbar
        self.C = C
        self.rule = rule
        self.inclusion = inclusion
        self.start = start  # how the initial design gets its dictionary (Sec. 4)
        self.parallelism = parallelism
        # still lowering variances for a minimum batch size (App. A.5)
        self.sampling = parallelism > 0
        self.kernel = GaussianTable(domain.points, bandwidth)
        self.pulls = Pulls()
        self.information = (
            0.0  # sum over pulls of ln(1 + 3 sigma~^2_fb(x_s)), without the 3 in the authors' code
        )
        self.resparsifications = 0
        self.posterior = SketchedPosterior.prior(self.kernel, lam)

    @property
    def alpha(self) -> float:
        if self.confidence.beta == THEOREM:  # Thm. 2: alpha~ = C beta~
            return self.C * self.confidence.theorem(self.information, factor=1 + sqrt(2))
        # REFERENCE CODE: C enters with the first batch; before it, the width is BKB's.
        drift = self.C if self.resparsifications > 1 else 1.0
        return self.confidence.reference_code(drift * self.information)

    def ask(self, room: int, pending: Indices) -> Indices:
        """Sample by uncertainty if parallelism is wanted, then optimistic batches (l. 4)."""
        initial = self._uncertainty_sampling(room) if self.sampling else []
        return np.array(initial or self.batch(room)[0])

    def batch(self, room: int) -> tuple[list[int], Draft]:
        """Pull optimistic arms until the posterior could have changed too much: l. 4 to 9."""
        draft = Draft(self.posterior, self.alpha)
        arms: list[int] = []
        drift = 1.0
        while len(arms) < room and drift <= self.C:  # l. 5: the breaching arm stays
            arms.append(draft.pull())
            drift += self.posterior.variance[arms[-1]]  # Lemma 1
        if self.rule != GLOBAL and len(arms) < room:
            self._go_on_locally(arms, draft, room)
        return arms, draft

    def _go_on_locally(self, arms: list[int], draft: Draft, room: int) -> None:
        """Lemma 3: follow the drift of every arm by itself, with all arms of the batch so far."""
        covariance = (
            self.posterior.covariance
            if self.rule == GLOBAL_LOCAL
            else self.posterior.sketched_covariance
        )
        growth: dict[int, Array] = {}  # of each distinct arm, (A,)
        drift = np.ones(len(self.kernel))
        for arm in arms:
            drift += _grown(growth, arm, covariance, self.posterior.variance)
        while len(arms) < room:
            arms.append(draft.pull())
            drift += _grown(growth, arms[-1], covariance, self.posterior.variance)
            if drift.max() > self.C:
                break

    def tell(self, query: Indices, obs: Observation) -> None:
        """Resparsify with the variances at the batch start (l. 11 to 16), then fit (l. 17, 18)."""
        super().tell(query, obs)
        self.pulls.add(query, obs.y)
        before = self.posterior.variance
        if self.start == BLESS and self.resparsifications == 0:
            sampled = bless(self.kernel, self.x, self.confidence.lam, self.qbar, self.rng)
            included = np.isin(self.pulls.arms, self.x[sampled])
        else:
            included = include(
                self.qbar * before[self.pulls.arms], self.pulls.n, self.inclusion, self.rng
            )
        self.posterior = SketchedPosterior.fit(
            self.kernel, self.confidence.lam, self.pulls, included
        )
        self.information = self._informed(before[query])
        self.resparsifications += 1
        self.sampling = self.sampling and bool(self._uncertainty_sampling(room=1))

    def _informed(self, variance: Array) -> float:
        """The information after a batch whose arms had these variances at its start."""
        if self.resparsifications == 0:
            if self.confidence.beta != THEOREM:
                # REFERENCE CODE: the sum starts at BKB's value for the initial design, which is 0
                # for a single arm.
                total = float(self.pulls.n @ self.posterior.variance[self.pulls.arms])
                return total * float(np.log(len(self.y)))
            if (
                self.start == BLESS
            ):  # the block was no batch of ours: the sketch's own log-determinant, with Thm. 2's 3
                return float(np.log1p(3.0 * self.posterior.g / self.confidence.lam).sum())
        scale = 3.0 if self.confidence.beta == THEOREM else 1.0
        return self.information + float(np.log1p(scale * variance).sum())

    def recommend(self) -> Indices:
        """The arm with the largest posterior mean."""
        return np.array([np.argmax(self.posterior.mean)])

    def report(self) -> dict[str, float]:
        return {
            "alpha": self.alpha,
            "dictionary": len(self.posterior.dictionary),
            "distinct_arms": len(self.pulls.arms),
            "resparsifications": self.resparsifications,
        }

    def _uncertainty_sampling(self, room: int) -> list[int]:
        """Alg. 3: the most uncertain arms until every exact variance is at most 1/P; needs no
        feedback, so one batch.

        DEVIATES: Alg. 3 goes on while sigma >= 1/P, App. A.5 needs sigma^2 <= 1/P: squared here.
        """
        exact = ExactPosterior(self.kernel, self.confidence.lam)
        for arm in self.x:
            exact.add(arm, 0.0)
        arms: list[int] = []
        while len(arms) < room and exact.variance.max() > 1 / self.parallelism:
            arms.append(int(np.argmax(exact.variance)))
            exact.add(arms[-1], 0.0)
        return arms


class Draft:
    """A batch under construction: the frozen posterior and the pulls that nobody has evaluated yet
    (App. A.3).

    Within a batch every upper confidence bound can only fall, so a stored bound is an upper bound
    on itself: after a pull only the arms whose stored bound reaches the pulled arm's new one are
    brought up to date.
    """

    def __init__(self, posterior: SketchedPosterior, alpha: float) -> None:
        self.posterior = posterior
        self.alpha = alpha
        self.pulled = 0
        self.recomputed = 0  # bounds brought up to date, the pulled arm's own among them
        size, r = len(posterior.mean), len(posterior.g)
        self._variance = posterior.variance.copy()
        self._bounds = posterior.mean + alpha * np.sqrt(self._variance)
        self._scale = 1.0 / np.sqrt(posterior.g + posterior.lam)  # b(x) = phi(x) / sqrt(g + lambda)
        self._b = np.empty((size, r))  # rows are filled when an arm is first brought up to date
        self._known = np.zeros(size, dtype=bool)
        # pulls that the stored variance of an arm knows of
        self._seen = np.zeros(size, dtype=np.int64)
        self._P = np.eye(r)  # (I + sum_s b_s b_s')^-1 over the pulls
        self._w = np.empty((16, r))  # pull s lowers the variance of x by (w_s' b(x))^2

    def pull(self) -> int:
        """The arm with the largest bound, then the bounds that its pull may have lowered."""
        arm = int(np.argmax(self._bounds))
        self._condition(arm)
        self._refresh(np.array([arm]))
        self._refresh(
            np.flatnonzero((self._bounds >= self._bounds[arm]) & (self._seen < self.pulled))
        )
        return arm

    def _condition(self, arm: int) -> None:
        b = self._rows(np.array([arm]))[0]
        Pb = self._P @ b
        w = Pb / sqrt(1.0 + b @ Pb)
        self._P -= np.outer(w, w)
        if self.pulled == len(self._w):
            self._w = np.concatenate([self._w, np.empty_like(self._w)])
        self._w[self.pulled] = w
        self.pulled += 1

    def _refresh(self, arms: Indices) -> None:
        """Bring the variance and bound of some arms up to all pulls so far."""
        if len(arms) == 0:
            return
        self.recomputed += len(arms)
        seen = self._seen[arms]
        first = int(seen.min())
        falls = self._rows(arms) @ self._w[first : self.pulled].T  # (arms, pulls)
        np.multiply(falls, falls, out=falls)
        if (seen > first).any():
            falls[np.arange(first, self.pulled) < seen[:, None]] = 0.0
        self._variance[arms] = np.maximum(self._variance[arms] - falls.sum(axis=1), 0.0)
        self._bounds[arms] = self.posterior.mean[arms] + self.alpha * np.sqrt(self._variance[arms])
        self._seen[arms] = self.pulled

    def _rows(self, arms: Indices) -> Array:
        """b(x) of some arms, (arms, r); computed once each."""
        missing = arms[~self._known[arms]]
        if len(missing):
            self._b[missing] = self.posterior.features(missing) * self._scale
            self._known[missing] = True
        return self._b[arms]


def _grown(
    growth: dict[int, Array], arm: int, covariance: Callable[[int], Array], variance: Array
) -> Array:
    """k~_fb(x, x_arm)^2 / sigma~^2_fb(x) for all x: the drift by one pull of an arm (Lemma 3)."""
    if arm not in growth:
        k = covariance(arm)
        growth[arm] = np.divide(k * k, variance, out=np.zeros_like(variance), where=variance > 0)
    return growth[arm]
