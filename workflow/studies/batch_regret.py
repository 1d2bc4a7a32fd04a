"""BBKB's regret against GP-BUCB's, GP-UCB's and the bound of its theorem (calandriello2020bbkb,
Thm. 2).

All three methods have one function, one first arm and the noise of the same evaluations. The
theorem chains two inequalities between regrets and a bound:
    R(BBKB) <= 55 C^2 R(GP-BUCB) <= 55 C^3 R(GP-UCB)
    R(GP-UCB) <= sqrt(T) (xi (S + ln(1/delta)) + sqrt(lambda F^2 S)),   S = sum_t sigma_{t-1}^2(x_t)
Its proof (App. C.2) bounds R(BBKB) by 55 C^3 times that last line, with S over BBKB's own arms. A
bound that exceeds what the worst policy can lose says nothing: `regret_bound` against
`worst_regret`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from algorithms.api import Array, Indices, Optimizer
from algorithms.bbkb import BBKB, RESPARSIFY
from algorithms.gp_bucb import GPBUCB
from algorithms.gp_ucb import GPUCB
from algorithms.parts.numerics.choice import chosen
from problems.api import Problem
from workflow.run.loop import evaluate, query_none
from workflow.studies.exact_features import EXACT, Exact, function_met, is_vacuous
from workflow.studies.paired import (
    Columns,
    ConfidenceSettings,
    best,
    first_arm,
    log_grid,
    noise,
    table,
    tidy,
    truth,
)
from workflow.trace.seeds import rng

FACTOR = 55.0  # Thm. 2


def run(
    seed: int,
    problem: Problem,
    *,
    T: int,
    per_decade: int,
    lam: float,
    qbar: Sequence[float],
    bandwidth: float,
    confidence: ConfidenceSettings,
    C: float,
    rule: str,
    inclusion: str,
    exact: str,
) -> Columns:
    """One row per `qbar` and t of a log grid with `per_decade` points.

    `hypothesis_met` says lam >= 1, C >= 1, qbar >= 72 C ln(4T/delta) (`qbar_needed`), and that the
    problem reveals a function of norm at most F and noise of at most xi. `gpbucb_bound` and
    `gpucb_bound` are 55 C^2 and 55 C^3 times the measured regrets, `regret_bound` is the closed
    form. `outside` is the greatest |f - mu~| / (beta~ sigma~) over all arms and batch starts so
    far; Prop. 5 asks for at most 1, of a beta that beta~ exceeds. In all rows of a run: `vacuous`
    is 1 where its dictionary holds more than nine tenths of the distinct arms at its end, `trivial`
    where the closed form is no smaller there than what the worst policy loses, and `trivial_ratio`
    where 55 C^2 times GP-BUCB's regret is none.
    """
    needed = 72 * C * log(4 * T / confidence.delta)  # Thm. 2
    met = function_met(problem, bandwidth=bandwidth, xi=confidence.xi, norm=confidence.norm)
    grid, model = log_grid(T, per_decade), confidence.model(bandwidth=bandwidth, lam=lam)
    gaps = best(problem) - truth(problem)  # (A,)
    stream = rng(seed, "study", "batch_regret", "exact")
    arms, plain = table(problem), "distinct-arms"
    gp_ucb = GPUCB(arms, stream, posterior=plain, **model)
    gp_bucb = GPBUCB(arms, stream, C=C, rule="product", posterior=plain, **model)
    rivals = [np.cumsum(gaps[_pulls(seed, problem, rival, T)[0]]) for rival in (gp_ucb, gp_bucb)]
    rows: list[dict[str, float]] = []
    for number in qbar:
        bbkb = BBKB(
            arms,
            rng(seed, "study", "batch_regret", rule, inclusion, str(float(number))),
            qbar=number,
            C=C,
            rule=rule,
            inclusion=inclusion,
            parallelism=0,
            start=RESPARSIFY,
            **model,
        )
        pulls, sizes, outside = _pulls(seed, problem, bbkb, T)
        spent = _spent(chosen(EXACT, exact, "exact")(bbkb.kernel, lam), pulls)
        regret, distinct = np.cumsum(gaps[pulls]), _distinct(pulls)
        S, steps = spent, np.arange(1, T + 1)
        closed = (
            FACTOR
            * C**3
            * np.sqrt(steps)
            * (confidence.xi * (S + log(1 / confidence.delta)) + np.sqrt(lam * S) * confidence.norm)
        )
        ratio, worst = FACTOR * C**2 * rivals[1], float(gaps.max()) * steps
        for t in grid:
            rows.append(
                {
                    "qbar": float(number),
                    "qbar_needed": needed,
                    "hypothesis_met": int(lam >= 1 and C >= 1 and number >= needed and met),
                    "function_met": met,
                    "vacuous": is_vacuous(int(sizes[-1]), int(distinct[-1])),
                    "trivial": int(closed[-1] >= worst[-1]),
                    "trivial_ratio": int(ratio[-1] >= worst[-1]),
                    "t": t,
                    "dictionary": int(sizes[t - 1]),
                    "distinct": int(distinct[t - 1]),
                    "outside": float(outside[t - 1]),
                    "regret": float(regret[t - 1]),
                    "gpucb_regret": float(rivals[0][t - 1]),
                    "gpbucb_regret": float(rivals[1][t - 1]),
                    "gpbucb_bound": float(ratio[t - 1]),
                    "gpucb_bound": FACTOR * C**3 * float(rivals[0][t - 1]),
                    "regret_bound": float(closed[t - 1]),
                    "uniform_regret": t * float(gaps.mean()),
                    "worst_regret": float(worst[t - 1]),
                }
            )
    return tidy(rows)


def _pulls(
    seed: int, problem: Problem, optimizer: Optimizer, T: int
) -> tuple[Indices, Indices, Array]:
    """The arms (T,) that a method pulls, the size (T,) of the dictionary that chose each, 0 where a
    method has none, and BBKB's `outside` (T,) up to each, 0 before its first batch.
    """
    query, arms, sizes, outside = first_arm(seed, table(problem)), [], [], []
    f, pulled, worst = truth(problem), 0, 0.0
    while True:
        arms.append(query)
        outside.append(np.full(len(query), worst))
        sizes.append(np.full(len(query), optimizer.report().get("dictionary", 0), dtype=np.int64))
        evaluation = evaluate(problem, query, noise(seed), first=pulled)
        pulled += len(query)
        if pulled == T:
            return np.concatenate(arms), np.concatenate(sizes), np.concatenate(outside)
        optimizer.tell(query, evaluation.seen)
        if isinstance(optimizer, BBKB):
            width = optimizer.alpha / optimizer.C * np.sqrt(optimizer.posterior.variance)
            worst = max(worst, float((np.abs(f - optimizer.posterior.mean) / width).max()))
        query = optimizer.ask(T - pulled, query_none(problem))


def _spent(exact: Exact, pulls: Indices) -> Array:
    """sum_{s <= t} sigma_{s-1}^2(x_s) after each of the pulls (T,), over lambda as everywhere."""
    spent = np.empty(len(pulls))
    for i, arm in enumerate(pulls.tolist()):
        spent[i] = exact.variance_of(arm)
        exact.add(arm, 0.0)
    return np.cumsum(spent)


def _distinct(pulls: Indices) -> Indices:
    """How many distinct arms the first t pulls hold, for each t: (T,)."""
    first = np.zeros(len(pulls), dtype=np.int64)
    first[np.unique(pulls, return_index=True)[1]] = 1
    return np.cumsum(first)
