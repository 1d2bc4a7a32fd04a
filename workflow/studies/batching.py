"""BBKB's batches against the exact posterior of the same pulls (calandriello2020bbkb, Thm. 1, Lemmas 1, 2, 6, App. A.3-A.5).

One row a batch. Ratios are of variances: App. B proves the lemmas squared, the main text prints standard deviations.
Lemma 1 and the product rule of Prop. 2 are compared as App. A.4 does, both on exact variances: `sum_size` and
`product_size` are the batches that each would allow along the arms that BBKB pulls (and would pull next).
"""

from __future__ import annotations

from math import log, nan

import numpy as np

from algorithms.api import Indices
from algorithms.bbkb import BBKB, Draft
from algorithms.parts.arms import ExactPosterior
from problems.api import Problem
from workflow.loop import evaluate, query_none
from workflow.seeds import rng
from workflow.studies.lemma3 import after
from workflow.studies.paired import Columns, best, first_arm, noise, ratio_range, table, tidy

Row = dict[str, float]


def run(
    seed: int, problem: Problem, *, T: int, settings: list[list[float]], bandwidth: float, xi: float, norm: float,
    delta: float, C: float, rule: str, beta: str, inclusion: str, parallelism: int,
) -> Columns:  # fmt: skip
    """One row per (lam, qbar) in `settings` and batch; `t` and what is measured belong to the start of the batch.

    `phase` is 0 for the batch of uncertainty sampling that `parallelism` asks for, 1 for an optimistic batch;
    `complete` is 0 where the budget T cut the batch. `hypothesis_met` says lam >= 1 and qbar >= 8 ln(4T/delta).
    """
    model = {"bandwidth": bandwidth, "xi": xi, "norm": norm, "delta": delta, "C": C, "rule": rule, "beta": beta,
             "inclusion": inclusion, "parallelism": parallelism}  # fmt: skip
    rows: list[Row] = []
    for lam, qbar in settings:
        stream = rng(seed, "study", "batching", rule, inclusion, parallelism, str(float(lam)), str(float(qbar)))
        bbkb = BBKB(table(problem), stream, lam=lam, qbar=qbar, **model)
        met = int(lam >= 1 and qbar >= 8 * log(4 * T / delta))                       # Thm. 1, Lemma 2
        rows += [{"lam": float(lam), "qbar": float(qbar), "hypothesis_met": met, **row} for row in _follow(seed, problem, bbkb, T)]
    return tidy(rows)


def _follow(seed: int, problem: Problem, bbkb: BBKB, T: int) -> list[Row]:
    """Run BBKB with the exact posterior of its pulls alongside; a row for every batch."""
    exact = ExactPosterior(bbkb.kernel, bbkb.confidence.lam)
    query, t, regret, spent, before = first_arm(seed, table(problem)), 0, 0.0, 0.0, 0
    rows: list[Row] = []
    while True:
        evaluation = evaluate(problem, query, noise(seed), first=t)
        if t == 0:                                       # the first arm is no batch; later ones are pulled in _exact_side
            exact.add(int(query[0]), 0.0)
            spent += exact.variance_of(int(query[0]))
        bbkb.tell(query, evaluation.seen)
        regret += float((best(problem) - evaluation.true.y).sum())
        t += len(query)
        if t >= T:
            return rows
        query, draft = _next_batch(bbkb, exact, room=T - t)
        row = _sketched_side(bbkb, query, draft) | _bounds(bbkb, exact, spent)
        row |= {"t": t, "regret": regret, "phase": int(draft is not None), "complete": int(t + len(query) < T)}
        row |= _exact_side(bbkb, exact, query, draft)
        spent += row.pop("spent")
        row["decreased"] = int(row["size"] < before)
        before = len(query) if draft is not None else 0
        rows.append(row)


def _next_batch(bbkb: BBKB, exact: ExactPosterior, *, room: int) -> tuple[Indices, Draft | None]:
    """What `ask` would answer, with the draft of an optimistic batch; none for uncertainty sampling."""
    if bbkb.parallelism and bbkb.resparsifications == 1 and exact.variance.max() > 1 / bbkb.parallelism:
        return bbkb.ask(room, np.empty(0, dtype=np.int64)), None
    arms, draft = bbkb.batch(room)
    return np.array(arms), draft


def _sketched_side(bbkb: BBKB, query: Indices, draft: Draft | None) -> Row:
    """Lemma 1 on the frozen sketch, at the end of the batch and when its last arm was chosen; lazy evaluation (A.3)."""
    fb, q = bbkb.posterior, len(query)
    lazy = nan if draft is None else draft.recomputed / (draft.pulled * len(bbkb.kernel))
    return {
        "size": q,
        "dictionary": len(fb.dictionary),
        "drift": 1 + float(fb.variance[query].sum()),                                # Lemma 1's bound at the end
        "fall_end": float((fb.variance / after(fb, query)).max()),
        "fall_last": float((fb.variance / after(fb, query[:-1])).max()) if q > 1 else 1.0,   # what the UCBs of l. 4 suffered
        "recomputed": lazy,
        "size_over_least": q / (bbkb.parallelism * (bbkb.C - 1)) if bbkb.parallelism and bbkb.C > 1 else nan,   # App. A.5
    }


def _bounds(bbkb: BBKB, exact: ExactPosterior, spent: float) -> Row:
    """Lemma 2's band and Thm. 1 at the start of the batch; kappa = 1, `spent` = sum_s sigma_s^2(x_s)."""
    low, high = ratio_range(bbkb.posterior.variance, exact.variance)
    lam, C, d_eff = bbkb.confidence.lam, bbkb.C, exact.effective_dimension()
    return {
        "ratio_min": low, "ratio_max": high, "effective_dimension": d_eff, "log_det": exact.log_det(),
        "dictionary_bound": 9 * C * (1 + 1 / lam) * bbkb.qbar * d_eff,               # Thm. 1, 1) as printed
        "dictionary_bound_proof": 81 * C * (1 + 1 / lam) ** 2 * bbkb.qbar * d_eff,   # as App. C.1 ends
        "resparsifications": bbkb.resparsifications,
        "resparsification_bound": 9 * C / (C - 1) * (1 + 1 / lam) * spent if C > 1 else nan,   # App. C.1
    }  # fmt: skip


def _exact_side(bbkb: BBKB, exact: ExactPosterior, query: Indices, draft: Draft | None) -> Row:
    """Pull the batch on the exact posterior; how it falls (Lemma 6), and the batches of the two rules (A.4)."""
    start, sizes, fall_last, spent = exact.variance, _Rules(bbkb.C), 1.0, 0.0
    for i, arm in enumerate(query):
        if i == len(query) - 1:
            fall_last = float((start / exact.variance).max())
        sizes.pull(exact.variance_of(arm), float(start[arm]))
        exact.add(int(arm), 0.0)                         # the variance does not depend on y
        spent += exact.variance_of(arm)
    if draft is not None and not sizes.done:
        beyond = exact.draft()
        while not sizes.done and sizes.pulled < 4 * len(query):                      # beyond that: at least this large
            arm = draft.pull()
            sizes.pull(beyond.variance_of(arm), float(start[arm]))
            beyond.add(arm, 0.0)
    return {"exact_fall_last": fall_last, "sum_size": sizes.sum_size, "product_size": sizes.product_size, "spent": spent}


class _Rules:
    """How many pulls Lemma 1's sum and Prop. 2's product allow on exact variances; the breaching pull counts."""

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
        self.sum += start                                                            # Lemma 1 on sigma_fb
        self.product *= 1 + now                                                      # Prop. 2 on sigma_{s-1}
