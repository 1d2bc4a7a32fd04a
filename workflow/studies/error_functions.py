"""How well b noisy values can tell a gradient and a value: E and e of jing2026lcbo, Def. 3.3,
beside Lemmas A.10 and A.11.

All of it is for the RBF kernel of length-scale and output scale 1, around the origin of R^d. Pairs
of points at +h and -h on every axis, m times each, have the error
    E = d (1 - max_t 2 t / ((1 + s) exp(t) - exp(-t))),  t = h^2,  s = sigma^2 / m
exactly, since by symmetry no pair tells anything about another one's axis: an upper bound on
E_d(2 d m).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from algorithms.api import Array
from algorithms.parts.processes.gradient_information import Design, GradientInformation, Kernels
from problems.api import Problem
from workflow.studies.paired import Columns, tidy
from workflow.trace.seeds import rng

LARGEST = 3.0  # of t = h^2; the optimum is at 1 for infinite noise and below it otherwise
# of the logarithms of the distances in perturbed designs, from the first start to the last
SPREADS = 0.2, 0.8
SHAKE = 0.1  # of their positions, in units of h


def run(
    seed: int,
    problem: Problem,
    *,
    dims: Sequence[int],
    batches: Sequence[int],
    sigma: float,
    starts: int,
    steps: int,
) -> Columns:
    """One row for each d in `dims` and b = batch * d: E, `bound` = sigma d^(3/2) b^(-1/2), E/bound,
    and e by eqs. (10) and (39).

    E is the smallest that descents over Z (b, d) find from the pairs, from `starts` perturbed
    copies of them and from the best smaller batch with the pairs' first points beside it, so that
    it never grows with b; it may still lie above the infimum. `central` is the error of the pairs
    alone. The paper prints no constant for its bound: here it is 1. `problem` is not used.
    """
    rows: list[dict[str, float]] = []
    for d in dims:
        Z = np.empty((0, d))
        for b in sorted(batch * d for batch in batches):
            Z, E = best_design(
                d,
                b,
                sigma,
                Z,
                rng(seed, "study", "error_functions", d, b),
                starts=starts,
                steps=steps,
            )
            bound = sigma * d**1.5 * b**-0.5  # eq. (38)
            central = d * pair_error(b // (2 * d), sigma)[0]
            e, e_exact = value_error(b, sigma), sigma**2 / (b + sigma**2)
            rows.append(
                {
                    "d": d,
                    "b": b,
                    "E": E,
                    "bound": bound,
                    "ratio": E / bound,
                    "central": central,
                    "e": e,
                    "e_exact": e_exact,
                }
            )
    return tidy(rows)


def value_error(b: int, sigma: float) -> float:
    """e_{k,sigma}(b): the posterior variance at the origin after b values there, by dense
    conditioning as eq. (10) is printed.
    """
    k = np.ones(b)
    return float(1.0 - k @ np.linalg.solve(np.ones((b, b)) + sigma**2 * np.eye(b), k))


def pair_error(pairs: int, sigma: float) -> tuple[float, float]:
    """What the best `pairs` pairs at +h and -h leave of a slope's prior variance of 1,
    and their h.
    """
    if not pairs:
        return 1.0, 1.0
    s = sigma**2 / pairs

    def kept(t: float) -> float:
        return 1 - 2 * t / ((1 + s) * exp(t) - exp(-t))

    end = minimize_scalar(kept, bounds=(0.0, LARGEST), method="bounded", options={"xatol": 1e-9})
    return float(end.fun), sqrt(end.x)


def pairs_on_axes(d: int, b: int, sigma: float) -> Array:
    """The first b points (b, d) of the pairs on all axes,
    as often as they fit and at least once.
    """
    times = -(-b // (2 * d))
    h = pair_error(max(b // (2 * d), 1), sigma)[1]
    unit = np.stack([np.eye(d), -np.eye(d)], axis=1).reshape(2 * d, d)
    return h * np.tile(unit, (times, 1))[:b]


def best_design(
    d: int,
    b: int,
    sigma: float,
    smaller: Array,
    draw: np.random.Generator,
    *,
    starts: int,
    steps: int,
) -> tuple[Array, float]:
    """The best Z (b, d) found and its error, eq. (9); it is no worse than `smaller` (at most b, d)
    and the pairs.
    """
    information = nothing_known(d, sigma)

    def reduction(z: Array) -> tuple[float, Array]:
        J, slopes = information.reduction(z.reshape(1, b, d))
        return -float(J[0, 0]), -slopes[0, 0].ravel()

    pairs = pairs_on_axes(d, b, sigma)
    h = np.abs(pairs).max()
    candidates = [pairs, np.concatenate([smaller, pairs[: b - len(smaller)]])]
    for spread in np.linspace(*SPREADS, starts):
        stretched = pairs * np.exp(spread * draw.standard_normal((b, 1)))
        candidates.append(stretched + SHAKE * h * draw.standard_normal((b, d)))
    ends = [
        minimize(reduction, Z.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps})
        for Z in candidates
    ]
    best = min(ends, key=lambda end: float(end.fun))
    return best.x.reshape(b, d), float(information.trace[0] + best.fun)


def nothing_known(d: int, sigma: float) -> GradientInformation:
    """The process around the origin before any value."""
    kernels = Kernels(np.ones((1, d)), np.ones(1), np.array([sigma**2]))
    return Design.of(kernels, np.empty((0, d))).at(np.zeros(d))
