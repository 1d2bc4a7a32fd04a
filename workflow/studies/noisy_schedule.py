"""LCBO as its theory has it, with noise: b^(1) = k repeats and b^(2) = d k^2 explorations
(jing2026lcbo, Cor. 5.6, Alg. 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import algorithms
from algorithms.api import Box
from algorithms.lcbo import LCBO
from algorithms.parts.processes.gradient_information import Kernels
from problems.api import Problem
from workflow.run import loop
from workflow.studies.error_functions import pair_error
from workflow.studies.exact_oracle import (
    VIOLATIONS,
    follow,
    means_and_bounds,
    reach,
    regularity,
    residuals,
    revealed,
    smoothness_of,
    threshold,
)
from workflow.studies.paired import Columns, noise, tidy
from workflow.trace.seeds import rng


def run(
    seed: int, problem: Problem, *, K: int, smoothness: str, optimizer: Mapping[str, Any]
) -> Columns:
    """One row an iteration k: evaluations n so far, true residuals at x_{k+1}, their means so far,
    C/sqrt(k) beside them beyond the K~ of the run, as in exact_oracle.

    The corollary has the conditions of Theorem 5.5, K > K~ among them: `threshold` is K~, `reach`
    is K / K~, and where that is not above 1 the run lies outside of what is stated.

    x_1 is uniform and evaluated once before, which n counts. The kernels are those that the problem
    reveals and the step is 1/(2 L) with L as in exact_oracle: both replace what `optimizer` says.
    `exact_*` are the means that exact gradients reach from x_1. `trace` is eq. (12) at the plan's
    Z_2, which Lemma A.8 bounds by E(b^(2)). `e` is e(b^(1)), `E` the error of pairs on all axes and
    so no less than E(b^(2)): the largest among the functions.
    """
    instance = revealed(problem)
    L = smoothness_of(instance, smoothness, seed)
    step = {**optimizer["step"], "length": 1 / (2 * L)}
    built = {name: value for name, value in optimizer.items() if name != "is"} | {
        "surrogate": {**optimizer["surrogate"], "kernels": problem.reveals["kernels"]},
        "step": step,
    }
    method = LCBO(
        Box(instance.d), rng(seed, "study", "optimizer"), **algorithms.grouped(LCBO.__init__, built)
    )
    violation = VIOLATIONS[built["constraints"]]
    progress = loop.Progress(method)
    first = rng(seed, "study", "init").random((1, instance.d))
    loop.start(progress, first, loop.evaluate(problem, first, noise(seed), first=0))
    rows: list[dict[str, float]] = []
    for k in range(1, K + 1):
        b1, b2, rho = method.repeats, len(method.plan) - method.repeats, method.report()["penalty"]
        e, E = predicted(method.kernels, b1, b2)
        row = {
            "k": k,
            "repeats": b1,
            "exploration": b2,
            "rho": rho,
            "smoothness": L,
            "e": e,
            "E": E,
            "trace": method.trace,
        }
        while method.k == k:
            loop.step(
                problem, progress, budget=progress.rows + b1 + b2, room=b1 + b2, noise=noise(seed)
            )
        x = method.iterate
        values, slopes = instance.values(x), instance.slopes(x)
        r_s, r_f = residuals(x, values, slopes, rho, violation)
        found = {"r_s": r_s, "r_f": r_f, "regularity": regularity(x, violation(values[1:]), slopes)}
        rows.append({**row, "n": progress.rows, **found})
    columns = tidy(rows)
    K_tilde = threshold(columns["regularity"], L)
    columns |= means_and_bounds(columns["r_s"], columns["r_f"], beyond=K_tilde)
    columns |= {"threshold": np.full(K, K_tilde), "reach": np.full(K, reach(K, K_tilde))}
    exact = follow(
        instance, first[0], columns["k"] ** step["power"] / (2 * L), columns["rho"], violation
    )
    oracle = means_and_bounds(exact.r_s, exact.r_f, beyond=np.inf)
    return columns | {f"exact_{name}": oracle[name] for name in ("stationarity", "feasibility")}


def predicted(kernels: Kernels, repeats: int, exploration: int) -> tuple[float, float]:
    """e(b^(1)) and an upper bound on E(b^(2)) of Def. 3.3, the largest among the kernels."""
    a, d = kernels.outputscale, kernels.lengthscale.shape[1]
    values = a * kernels.noise / (a * repeats + kernels.noise)
    shares = [pair_error(exploration // (2 * d), sigma)[0] for sigma in np.sqrt(kernels.noise / a)]
    return float(values.max()), float((kernels.slope_variance * shares).max())
