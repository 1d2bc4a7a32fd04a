"""BBKB's batches against the exact posterior of the same pulls (calandriello2020bbkb, Thm. 1,
Lemmas 1, 2, 6, App. A.3-A.5).

One row a batch. Ratios are of variances: App. B proves the lemmas squared, the main text prints
standard deviations. Lemma 1 and the product rule of Prop. 2 are compared as App. A.4 does, both on
exact variances: `sum_size` and `product_size` are the batches that each would allow along the arms
that BBKB pulls (and would pull next). A dictionary of all distinct arms is no sketch, and what it
keeps is no evidence: `dictionary_share` and `vacuous` say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log, nan

import numpy as np

from algorithms.api import Indices
from algorithms.bbkb import BBKB, RESPARSIFY, Draft
from algorithms.parts.numerics.choice import chosen
from problems.api import Problem
from workflow.run.loop import evaluate, query_none
from workflow.studies.exact_features import EXACT, Exact, is_vacuous
from workflow.studies.lemma3 import after
from workflow.studies.paired import (
    Columns,
    ConfidenceSettings,
    best,
    first_arm,
    noise,
    ratio_range,
    table,
    tidy,
)
from workflow.trace.seeds import rng

Row = dict[str, float]
LONGER = 4  # the two rules are followed to this many times BBKB's batch, then cut


def run(
    seed: int,
    problem: Problem,
    *,
    T: int,
    settings: list[list[float]],
    bandwidth: float,
    confidence: ConfidenceSettings,
    C: float,
    rule: str,
    inclusion: str,
    parallelism: int,
    exact: str,
) -> Columns:
    """One row per (lam, qbar) in `settings` and optimistic batch; `t` and states are those at the
    start of the batch.

    The batch that the budget T cuts is left out, and so is that of uncertainty sampling, whose
    pulls are counted in `uncertainty_pulls`. `hypothesis_met` says lam >= 1 and qbar >= 8
    ln(4T/delta), which Thm. 1 and Lemma 2 ask for; `proof_met` that qbar >= 72 ln(4T/delta), which
    the proof of Lemma 2 asks for. `vacuous` is 1 in all rows of a run whose dictionary holds more
    than nine tenths of the distinct arms at its last batch, `size_trivial` where Theorem 1 allows
    all of them there. `prior_over_exact` is the largest prior over exact variance: an empty
    dictionary would be so far off. `exact` is distinct-arms or features (for many distinct arms
    under a wide kernel).
    """
    rows: list[Row] = []
    for lam, qbar in settings:
        stream = rng(
            seed,
            "study",
            "batching",
            rule,
            inclusion,
            parallelism,
            str(float(lam)),
            str(float(qbar)),
        )
        bbkb = BBKB(
            table(problem),
            stream,
            qbar=qbar,
            C=C,
            rule=rule,
            inclusion=inclusion,
            parallelism=parallelism,
            start=RESPARSIFY,
            **confidence.model(bandwidth=bandwidth, lam=lam),
        )
        certainty = log(4 * T / confidence.delta)
        fixed = {
            "lam": float(lam),
            "qbar": float(qbar),
            "hypothesis_met": int(lam >= 1 and qbar >= 8 * certainty),
            "proof_met": int(lam >= 1 and qbar >= 72 * certainty),
        }
        alongside = _Exact(bbkb, chosen(EXACT, exact, "exact")(bbkb.kernel, bbkb.confidence.lam))
        found = list(_follow(seed, problem, bbkb, alongside, T))
        if found:
            end = found[-1]
            fixed["vacuous"] = is_vacuous(int(end["dictionary"]), int(end["distinct"]))
            fixed["size_trivial"] = int(end["dictionary_bound"] >= end["distinct"])
        rows += [fixed | row for row in found]
    return tidy(rows)


def _follow(seed: int, problem: Problem, bbkb: BBKB, run: _Exact, T: int) -> Iterator[Row]:
    """Run BBKB with the exact posterior of its pulls alongside;
    a row for every optimistic batch.
    """
    query, regret, before, uncertain = first_arm(seed, table(problem)), 0.0, 0, 0
    run.pull(query)
    while (t := len(bbkb.y) + len(query)) < T:
        evaluation = evaluate(problem, query, noise(seed), first=len(bbkb.y))
        bbkb.tell(query, evaluation.seen)
        regret += float((best(problem) - evaluation.true.y).sum())
        if bbkb.parallelism and t == 1 and run.posterior.variance.max() > 1 / bbkb.parallelism:
            query = bbkb.ask(T - t, query_none(problem))  # Alg. 3
            run.pull(query)
            uncertain = len(query)
            continue
        arms, draft = bbkb.batch(T - t)
        query = np.array(arms)
        if t + len(query) == T:
            return
        row: Row = {"t": t, "regret": regret, "uncertainty_pulls": uncertain, "size": len(query)}
        row |= {
            "decreased": int(len(query) < before),
            **_sketched_side(bbkb, query, draft),
            **run.start_of_batch(),
        }
        yield row | run.rules(query, draft)
        before = len(query)


def _sketched_side(bbkb: BBKB, query: Indices, draft: Draft) -> Row:
    """Lemma 1 on the frozen sketch, at the end of the batch and when its last arm was chosen; lazy
    evaluation (A.3).
    """
    fb, q = bbkb.posterior, len(query)
    drift = 1 + float(fb.variance[query].sum())
    least = bbkb.parallelism * (bbkb.C - 1)
    return {
        "dictionary": len(fb.dictionary),
        "fall_over_lemma1": float((fb.variance / after(fb, query)).max()) / drift,
        "fall_at_last": (
            float((fb.variance / after(fb, query[:-1])).max()) if q > 1 else 1.0
        ),  # what the UCBs of l. 4 suffered
        "recomputed": draft.recomputed / (draft.pulled * len(bbkb.kernel)),
        "size_over_least": q / least if least > 0 else nan,  # App. A.5
    }


class _Exact:
    """The exact posterior of BBKB's pulls, with sum_s sigma_s^2(x_s);
    variances do not depend on y.
    """

    def __init__(self, bbkb: BBKB, posterior: Exact) -> None:
        self.bbkb = bbkb
        self.posterior = posterior
        self.spent = 0.0

    def pull(self, query: Indices) -> None:
        """Condition on some pulls."""
        for arm in query.tolist():
            self.posterior.add(arm, 0.0)
            self.spent += self.posterior.variance_of(arm)

    def start_of_batch(self) -> Row:
        """Lemma 2's band and Thm. 1; kappa = 1."""
        bbkb, exact = self.bbkb, self.posterior
        low, high = ratio_range(bbkb.posterior.variance, exact.variance)
        C, prior, d_eff = bbkb.C, 1 + 1 / bbkb.confidence.lam, exact.effective_dimension()
        return {
            "ratio_min": low,
            "ratio_max": high,
            "prior_over_exact": float(
                bbkb.kernel.variance / bbkb.confidence.lam / exact.variance.min()
            ),
            "distinct": exact.distinct,
            "dictionary_share": len(bbkb.posterior.dictionary) / exact.distinct,
            "effective_dimension": d_eff,
            "log_det": exact.log_det(),
            "dictionary_bound": 9 * C * prior * bbkb.qbar * d_eff,  # Thm. 1, 1) as printed
            "dictionary_bound_proof": 81 * C * prior**2 * bbkb.qbar * d_eff,  # as App. C.1 ends
            "resparsifications": bbkb.resparsifications,
            "resparsification_bound": (
                9 * C / (C - 1) * prior * self.spent if C > 1 else nan
            ),  # App. C.1
        }

    def rules(self, query: Indices, draft: Draft) -> Row:
        """Pull the batch; how the exact variance falls until its last arm (Lemma 6), and what the
        two rules allow (A.4).
        """
        start, sizes = self.posterior.variance, _Rules(self.bbkb.C)
        for arm in query[:-1]:
            sizes.pull(self.posterior.variance_of(arm), float(start[arm]))
            self.pull(np.array([arm]))
        fall = float((start / self.posterior.variance).max())
        sizes.pull(self.posterior.variance_of(query[-1]), float(start[query[-1]]))
        self.pull(query[-1:])
        beyond = self.posterior.draft()
        while not sizes.done and sizes.pulled < LONGER * len(query):
            arm = draft.pull()
            sizes.pull(beyond.variance_of(arm), float(start[arm]))
            beyond.add(arm, 0.0)
        return {
            "exact_fall_at_last": fall,
            "sum_size": sizes.sum_size,
            "product_size": sizes.product_size,
        }


class _Rules:
    """How many pulls Lemma 1's sum and Prop. 2's product allow on exact variances; the breaching
    pull counts.
    """

    def __init__(self, C: float) -> None:
        self.C, self.sum, self.product = C, 1.0, 1.0
        self.pulled = self.sum_size = self.product_size = 0

    @property
    def done(self) -> bool:
        return self.sum > self.C and self.product > self.C

    def pull(self, now: float, start: float) -> None:
        """One pull of an arm whose variance is `now` and was `start` at the start of the batch."""
        self.pulled += 1
        self.sum_size += int(self.sum <= self.C)
        self.product_size += int(self.product <= self.C)
        self.sum += start  # Lemma 1 on sigma_fb
        self.product *= 1 + now  # Prop. 2 on sigma_{s-1}
