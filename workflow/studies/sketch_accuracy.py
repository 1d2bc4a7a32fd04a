"""BKB's sketch against the exact posterior of the same pulls (calandriello2019bkb, Thm. 1 (a), (b)
and Thm. 2).

Along a run of BKB: the band of sketched over exact variance over all arms (`ratio_min`, `ratio_max`
at t, `*_so_far` at every step up to t), the same for the subset of regressors on the same
dictionary, which starves (Sec. 3.1), the size of the dictionary against its bound and the effective
dimension, and the regret beside that of an exact GP-UCB on the same noise and first arm.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt

import numpy as np

from algorithms.api import Array
from algorithms.bkb import BKB
from algorithms.gp_ucb import GPUCB
from algorithms.parts.arms import ExactPosterior
from problems.api import Problem
from workflow.run.loop import evaluate, query_none
from workflow.studies.paired import (
    Columns,
    Model,
    best,
    first_arm,
    log_grid,
    noise,
    ratio_range,
    table,
    tidy,
)
from workflow.trace.seeds import rng

Row = dict[str, float]


def run(
    seed: int,
    problem: Problem,
    *,
    T: int,
    per_decade: int,
    settings: list[list[float]],
    bandwidth: float,
    xi: float,
    norm: float,
    delta: float,
    epsilon: float,
    beta: str,
    inclusion: str,
) -> Columns:
    """One row per (lam, qbar) in `settings` and t of a log grid with `per_decade` points.

    `hypothesis_met` says whether qbar >= 6 alpha ln(4T/delta)/epsilon^2 (`qbar_needed`), which
    Theorems 1 and 2 ask for; Theorem 2 asks besides for a norm of f of at most `norm`, which no
    study can see.
    """
    models: dict[float, Model] = {
        lam: {
            "bandwidth": bandwidth,
            "lam": lam,
            "xi": xi,
            "norm": norm,
            "delta": delta,
            "beta": beta,
        }
        for lam, _ in settings
    }
    grid = log_grid(T, per_decade)
    alpha = (1 + epsilon) / (1 - epsilon)
    needed = 6 * alpha * log(4 * T / delta) / epsilon**2  # Thm. 1
    reference = {lam: _gp_ucb_regret(seed, problem, T, model) for lam, model in models.items()}
    rows: list[Row] = []
    for lam, qbar in settings:
        stream = rng(seed, "study", "sketch_accuracy", str(float(lam)), str(float(qbar)))
        bkb = BKB(
            table(problem), stream, qbar=qbar, epsilon=epsilon, inclusion=inclusion, **models[lam]
        )
        fixed = {
            "lam": float(lam),
            "qbar": float(qbar),
            "qbar_needed": needed,
            "hypothesis_met": int(qbar >= needed),
        }
        for row in _follow(seed, problem, bkb, T, grid, alpha):
            t, d_eff = int(row["t"]), row["effective_dimension"]
            growth = d_eff * max(log(t), 0.0)  # kappa = 1
            regret_bound = (
                2
                * (2 * alpha) ** 1.5
                * sqrt(t)
                * (xi * growth + xi * log(1 / delta) + sqrt(lam * growth) * norm)
            )
            bounds = {
                "dictionary_bound": 3 * (1 + 1 / lam) * alpha * qbar * d_eff,
                "regret_bound": regret_bound,
            }
            rows.append({**fixed, **row, **bounds, "gpucb_regret": float(reference[lam][t - 1])})
    return tidy(rows)


def _follow(
    seed: int, problem: Problem, bkb: BKB, T: int, grid: list[int], alpha: float
) -> Iterator[Row]:
    """Run BKB with the exact posterior of its pulls alongside; a row at each t of the grid."""
    exact = ExactPosterior(bkb.kernel, bkb.confidence.lam)
    query, regret, lowest, highest = first_arm(seed, table(problem)), 0.0, np.inf, 0.0
    for t in range(1, T + 1):
        evaluation = evaluate(problem, query, noise(seed), first=t - 1)
        bkb.tell(query, evaluation.seen)
        exact.add(int(query[0]), float(evaluation.seen.y[0]))
        regret += best(problem) - float(evaluation.true.y[0])
        variance = exact.variance
        low, high = ratio_range(bkb.posterior.variance, variance)
        lowest, highest = min(lowest, low), max(highest, high)
        if t in grid:
            starved = bkb.posterior.subset_of_regressors() / variance
            yield {
                "t": t,
                "ratio_min": low,
                "ratio_max": high,
                "ratio_min_so_far": lowest,
                "ratio_max_so_far": highest,
                "distortion_so_far": max(highest, 1 / lowest),  # Thm. 1 (a): at most alpha
                "regressors_min": float(starved.min()),
                "regressors_starved": float((starved < 1 / alpha).mean()),
                "dictionary": len(bkb.posterior.dictionary),
                "distinct": exact.distinct,
                "effective_dimension": exact.effective_dimension(),
                "log_det": exact.log_det(),
                "regret": regret,
            }
        query = bkb.ask(1, query_none(problem))


def _gp_ucb_regret(seed: int, problem: Problem, T: int, model: Model) -> Array:
    """Cumulative regret (T,) of an exact GP-UCB with the first arm and the noise of the
    BKB runs.
    """
    optimizer = GPUCB(
        table(problem), rng(seed, "study", "gp_ucb"), posterior="distinct-arms", **model
    )
    query, true = first_arm(seed, table(problem)), np.empty(T)
    for i in range(T):
        evaluation = evaluate(problem, query, noise(seed), first=i)
        optimizer.tell(query, evaluation.seen)
        true[i] = evaluation.true.y[0]
        query = optimizer.ask(1, query_none(problem))
    return np.cumsum(best(problem) - true)
