"""BKB's sketch against the exact posterior of the same pulls (calandriello2019bkb, Thm. 1 (a), (b)
and Thm. 2).

Along a run of BKB: the band of sketched over exact variance over all arms (`ratio_min`, `ratio_max`
at t, `*_so_far` at every step up to t), the same for the subset of regressors on the same
dictionary, which starves (Sec. 3.1), the size of the dictionary against its bound and the effective
dimension, and the regret beside that of an exact GP-UCB on the same noise and first arm.

Two things make such a test empty, and both are measured. A dictionary of all distinct arms is no
sketch: `dictionary_share`, `vacuous`. A bound that exceeds what the worst policy can lose says
nothing: `regret_bound` against `worst_regret`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log, nan, sqrt

import numpy as np

from algorithms.api import Array
from algorithms.bkb import BKB
from algorithms.gp_ucb import GPUCB
from algorithms.parts.numerics.choice import chosen
from problems.api import Problem
from workflow.run.loop import evaluate, query_none
from workflow.studies.exact_features import EXACT, Exact, function_met, is_vacuous
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
    truth,
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
    exact: str,
) -> Columns:
    """One row per (lam, qbar) in `settings` and t of a log grid with `per_decade` points.

    `hypothesis_met` says whether qbar >= 6 alpha ln(4T/delta)/epsilon^2 (`qbar_needed`), which
    Theorems 1 and 2 ask for. `function_met` says whether the problem reveals that its function has
    a norm of at most `norm` and noise of at most `xi`, which Theorem 2 asks for besides;
    `regret_hypothesis_met` is both. `vacuous` is 1 in all rows of a run whose dictionary holds more
    than nine tenths of the distinct arms at its end, `trivial` in those of a run at whose end
    Theorem 2's bound is no smaller than what the worst policy loses, `size_trivial` where Theorem 1
    (b) allows all distinct arms. `prior_over_exact` is the largest prior over exact variance: an
    empty dictionary would be so far off. `exact` is distinct-arms or features (for many distinct
    arms under a wide kernel).
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
    met = function_met(problem, bandwidth=bandwidth, xi=xi, norm=norm)
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
            "function_met": met,
            "regret_hypothesis_met": int(qbar >= needed and met),
        }
        posterior = chosen(EXACT, exact, "exact")(bkb.kernel, lam)
        found = list(_follow(seed, problem, bkb, posterior, T, grid, alpha))
        end = found[-1]
        fixed["vacuous"] = is_vacuous(int(end["dictionary"]), int(end["distinct"]))
        for row in found:
            row["regret_bound"] = _theorem_2(row, alpha, models[lam])
            row["dictionary_bound"] = 3 * (1 + 1 / lam) * alpha * qbar * row["effective_dimension"]
            row["gpucb_regret"] = float(reference[lam][int(row["t"]) - 1])
        fixed["size_trivial"] = int(end["dictionary_bound"] >= end["distinct"])
        fixed["trivial"] = int(not end["regret_bound"] < end["worst_regret"])
        rows += [{**fixed, **row} for row in found]
    return tidy(rows)


def _theorem_2(row: Row, alpha: float, model: Model) -> float:
    """Thm. 2's bound on the regret after t pulls. NaN at t = 1: ln T = 0 bounds no first pull."""
    t, lam, xi = int(row["t"]), model["lam"], model["xi"]
    growth = row["effective_dimension"] * log(t)  # kappa = 1
    certainty = xi * log(1 / model["delta"])
    inner = xi * growth + certainty + sqrt(lam * growth) * model["norm"]
    return 2 * (2 * alpha) ** 1.5 * sqrt(t) * inner if t > 1 else nan


def _follow(
    seed: int, problem: Problem, bkb: BKB, exact: Exact, T: int, grid: list[int], alpha: float
) -> Iterator[Row]:
    """Run BKB with the exact posterior of its pulls alongside; a row at each t of the grid."""
    gaps = best(problem) - truth(problem)  # (A,)
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
                "prior_over_exact": float(
                    bkb.kernel.variance / bkb.confidence.lam / variance.min()
                ),
                "dictionary": len(bkb.posterior.dictionary),
                "distinct": exact.distinct,
                "dictionary_share": len(bkb.posterior.dictionary) / exact.distinct,
                "effective_dimension": exact.effective_dimension(),
                "log_det": exact.log_det(),
                "regret": regret,
                "uniform_regret": t * float(gaps.mean()),
                "worst_regret": t * float(gaps.max()),
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
