"""Seconds a step against t and against A (calandriello2019bkb Sec. 3.2, calandriello2020bbkb Thm.
1, 3)): CPU seconds.

Claimed per step: BKB O((A + min(t, A)) m^2) and BBKB O(A m^2) amortised, both near-constant in t;
exact GP-UCB O(A t^2) when K_t is refactorised on all t evaluations at every step. The distinct-arm
form of the same GP-UCB, O(A u + u^2), is this project's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from algorithms.api import Arms, Indices, Optimizer
from algorithms.bbkb import BBKB, GLOBAL, RESPARSIFY
from algorithms.bkb import BKB
from algorithms.gp_ucb import GPUCB
from problems.api import Problem
from workflow.run.loop import evaluate, query_none
from workflow.studies.paired import (
    Columns,
    ConfidenceSettings,
    first_arm,
    log_grid,
    noise,
    table,
    tidy,
)
from workflow.trace.seeds import rng

METHODS = ("BKB", "Global-BBKB", "GP-UCB-textbook", "GP-UCB")  # the codes of column `method`
TEXTBOOK = METHODS.index("GP-UCB-textbook")
OVER_T, OVER_A = 0, 1  # the codes of column `sweep`
Row = dict[str, float]
Maker = Callable[[Arms, np.random.Generator], Optimizer]


@dataclass(frozen=True)
class ArmsSettings:
    """The sweep over the number of arms: the group `arms`.

    sizes: numbers of arms, of nested random subsets of the table.
    T: evaluations of each run of the sweep.
    """

    sizes: list[int]
    T: int


@dataclass(frozen=True)
class SketchSettings:
    """How a dictionary is sampled: the group `sketch`.

    qbar: oversampling, expected draws of an arm over its variance (calandriello2019bkb, Alg. 1).
    epsilon: accuracy of the sketch, which BKB's width needs (calandriello2019bkb, Thm. 1).
    inclusion: per-pull or per-arm: what a Bernoulli draw is made for.
    """

    qbar: float
    epsilon: float
    inclusion: str


def run(
    seed: int,
    problem: Problem,
    *,
    T: int,
    T_textbook: int,
    per_decade: int,
    arms: ArmsSettings,
    repeats: int,
    bandwidth: float,
    lam: float,
    confidence: ConfidenceSettings,
    sketch: SketchSettings,
    C: float,
) -> Columns:
    """Rows of two sweeps: over t at all arms, and over A (nested random subsets) at t = arms.T.

    `timing.seconds` is the mean of ask plus tell over the steps since the row of the grid before
    (over the second half of the run in the sweep over A), median over `repeats` equal runs; a
    batch's seconds are spread over its steps. `dictionary` (m, 0 for an exact posterior) and
    `distinct` (u) are what the other costs depend on.
    """
    model = confidence.model(bandwidth=bandwidth, lam=lam)
    qbar, inclusion = sketch.qbar, sketch.inclusion
    makers: tuple[Maker, ...] = (
        lambda d, r: BKB(d, r, epsilon=sketch.epsilon, qbar=qbar, inclusion=inclusion, **model),
        lambda d, r: BBKB(
            d,
            r,
            C=C,
            rule=GLOBAL,
            parallelism=0,
            start=RESPARSIFY,
            qbar=qbar,
            inclusion=inclusion,
            **model,
        ),
        lambda d, r: GPUCB(d, r, posterior="textbook", **model),
        lambda d, r: GPUCB(d, r, posterior="distinct-arms", **model),
    )
    domain = table(problem)
    order = rng(seed, "study", "subset").permutation(len(domain))
    rows: list[Row] = []
    for method, maker in enumerate(makers):
        until = min(T, T_textbook) if method == TEXTBOOK else T
        grid = [t for t in log_grid(until, per_decade) if t > 1]
        for row in _median(seed, problem, np.arange(len(domain)), maker, grid, repeats):
            rows.append({"method": method, "sweep": OVER_T, "A": len(domain), **row})
        last = min(arms.T, until)
        for size in sorted({min(size, len(domain)) for size in arms.sizes}):
            row = _median(
                seed, problem, np.sort(order[:size]), maker, [max(last // 2, 2), last], repeats
            )[-1]
            rows.append({"method": method, "sweep": OVER_A, "A": size, **row})
    return tidy(rows)


def _median(
    seed: int, problem: Problem, subset: Indices, maker: Maker, grid: list[int], repeats: int
) -> list[Row]:
    """The rows of one run on a subset of the arms, their seconds the median over equal runs."""
    runs = [_timed(seed, problem, subset, maker, grid) for _ in range(repeats)]
    seconds = np.median([[row["timing.seconds"] for row in rows] for rows in runs], axis=0)
    return [
        {**row, "timing.seconds": float(value)} for row, value in zip(runs[0], seconds, strict=True)
    ]


def _timed(
    seed: int, problem: Problem, subset: Indices, maker: Maker, grid: list[int]
) -> list[Row]:
    """Run to the end of the grid; a row a grid point with the mean seconds of the steps since the
    point before.
    """
    T = grid[-1]
    domain = Arms(table(problem).points[subset])
    optimizer = maker(domain, rng(seed, "study", "step_seconds", len(subset)))
    seconds, dictionary, distinct = np.zeros(T), np.zeros(T), np.zeros(T)  # of each step
    query, t, asked = first_arm(seed, domain), 0, 0.0
    while t < T:
        seen = evaluate(problem, subset[query], noise(seed), first=t).seen
        steps = slice(t, t + len(query))
        began = time.process_time()
        optimizer.tell(query, seen)
        seconds[steps] = (asked + time.process_time() - began) / len(query)
        t += len(query)
        state = optimizer.report()
        dictionary[steps], distinct[steps] = state.get("dictionary", 0), state["distinct_arms"]
        began = time.process_time()
        query = optimizer.ask(max(T - t, 1), query_none(problem))
        asked = time.process_time() - began
    return [
        {
            "t": end,
            "dictionary": int(dictionary[end - 1]),
            "distinct": int(distinct[end - 1]),
            "timing.seconds": float(seconds[start:end].mean()),
        }
        for start, end in zip([1, *grid[:-1]], grid, strict=True)
    ]
