"""LCBO's iteration with exact gradients and values, so that E_K = 0 (jing2026lcbo, Thm. 5.5).

    x_{k+1} = P(x_k - eta_k grad Q_k(x_k)),  Q_k = f + rho_k |c|^2 / 2,
    eta_k = k^power_step / (2 L),  rho_k = k^power_penalty
on [0,1]^d, where f and c are minimised and zero as in the paper: c holds the constraint functions,
their offset included.

Paper -> here:  L_m -> L,  lambda_{k+1} = rho_k c(x_{k+1}) as App. A.3 sets it,
r_s, r_f (Def. 3.2) -> squared distances,
c -> max(c, 0) for inequalities, whose slack variables are minimised out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Protocol, cast

import numpy as np
from scipy.optimize import minimize

from algorithms.api import Array, Box
from algorithms.parts.choice import chosen
from problems.api import Problem
from workflow.studies.paired import Columns
from workflow.trace.seeds import rng

Violation = Callable[[Array], Array]  # what counts of c (m,)

BURN_IN = 100  # the iteration whose running mean fixes the constant of C/sqrt(k)
POINTS, ROUNDS = 64, 15  # where, and with how many power iterations, curvatures are looked for
ASCENTS, ASCENT_STEPS = 4, 100  # local searches for a supremum and the steps of each
DIFFERENCE = 1e-3  # in central differences of gradients, which leave six digits
ROUNDING = 1e-12  # a fall of Q by less, relative to 1 + |Q|, tells nothing


def run(
    seed: int,
    problem: Problem,
    *,
    K: int,
    power_step: float,
    power_penalty: float,
    constraints: str,
    smoothness: str,
    every: int,
) -> Columns:
    """One row for every `every`-th iteration k and the last: residuals at x_{k+1}, their means so
    far, C/sqrt(k) beside them.

    `constraints` is equality (c = 0) or inequality (c <= 0), `smoothness` says what L is: see
    SMOOTHNESS. x_1 is uniform. `regularity` and `descent` tell whether the proof's ground holds
    along the path, each the smallest value so far: the gamma of Assumption 5.3, and 4 eta_k
    (Q_k(x_k) - Q_k(x_{k+1})) / |x_{k+1} - x_k|^2, which is at least 1 where Lemma A.15 holds.
    `threshold` is the K~_m of Lemma A.16 for that gamma, beyond which the theorem speaks.
    """
    instance = revealed(problem)
    violation = chosen(VIOLATIONS, constraints, "constraints")
    L = smoothness_of(instance, smoothness, seed)
    k: Array = np.arange(1, K + 1, dtype=np.float64)
    x = rng(seed, "study", "init").random(instance.d)
    path = follow(instance, x, k**power_step / (2 * L), k**power_penalty, violation)
    regularity = np.fmin.accumulate(path.regularity)
    columns = {
        "k": k.astype(np.int64),
        **means_and_bounds(path.r_s, path.r_f, burn_in=BURN_IN),
        "smoothness": np.full(K, L),
        "regularity": regularity,
        "threshold": threshold(regularity, L),
        "descent": np.fmin.accumulate(path.descent),
    }
    rows = np.array(sorted({*range(every, K + 1, every), K})) - 1
    return {name: column[rows] for name, column in columns.items()}


@dataclass(frozen=True, eq=False)
class Path:
    """The residuals where K steps end, and the quotients of both sides of what the proof asks of
    each: all (K,).
    """

    r_s: Array
    r_f: Array
    regularity: Array  # d(sum_i c_i grad c_i, -N) / |c|; NaN where c = 0
    descent: (
        Array  # 4 eta (Q(x_k) - Q(x_{k+1})) / |x_{k+1} - x_k|^2; NaN where that is lost in rounding
    )


def follow(instance: Instance, x: Array, eta: Array, rho: Array, violation: Violation) -> Path:
    """Projected gradient steps of lengths eta (K,) on penalties rho (K,) from x (d,): one gradient
    and one value a step.
    """
    values, slopes = instance.values(x), instance.slopes(x)
    rows = np.empty((len(eta), 4))
    for row, step, penalty in zip(rows, eta, rho, strict=True):
        c, before = violation(values[1:]), x
        Q = values[0] + penalty / 2 * c @ c
        x = np.clip(x - step * (slopes[0] + penalty * c @ slopes[1:]), 0.0, 1.0)  # Alg. 1 l. 11
        values, slopes = instance.values(x), instance.slopes(x)
        c = violation(values[1:])
        row[:2] = residuals(x, values, slopes, penalty, violation)
        pull, size = np.linalg.norm(beyond_cone(x, c @ slopes[1:])), np.linalg.norm(c)
        fall, least = Q - values[0] - penalty / 2 * c @ c, np.sum((x - before) ** 2) / (4 * step)
        row[2:] = (
            pull / size if size else np.nan,
            fall / least if least > ROUNDING * (1 + abs(Q)) else np.nan,
        )
    return Path(*rows.T)


def threshold(gamma: Array, L: float) -> Array:
    """K~_m = 70 gamma^(-8/3) L_m^(4/3), infinite where Assumption 5.3 fails (jing2026lcbo, Lemma
    A.16).
    """
    with np.errstate(divide="ignore"):
        return np.asarray(70 * gamma ** (-8 / 3) * L ** (4 / 3), dtype=np.float64)


class Differentiable(Protocol):
    """f, c_1, ..., c_m as problems.gp_samples draws them."""

    def values(self, X: Array) -> Array:
        """At X (n, d): (n, 1 + m)."""

    def gradients(self, x: Array) -> Array:
        """At one point x (d,): (1 + m, d)."""


@dataclass(frozen=True, eq=False)
class Instance:
    """The functions of a problem in the paper's signs: f and c, on [0,1]^d."""

    functions: Differentiable
    offset: float
    d: int

    def values(self, x: Array) -> Array:
        """f(x), c(x): (1 + m,)."""
        found = self.functions.values(x[None])[0]
        return np.concatenate([found[:1], found[1:] + self.offset])

    def slopes(self, x: Array) -> Array:
        """Their derivatives, (1 + m, d)."""
        return self.functions.gradients(x)


def revealed(problem: Problem) -> Instance:
    """What a problem reveals of its functions. Raises TypeError where it reveals none."""
    if not isinstance(problem.domain, Box) or not {"functions", "offset"} <= set(problem.reveals):
        raise TypeError(
            "expected a problem on a Box that reveals functions and offset: choose"
            " gp_samples.within_model"
        )
    functions, offset = (
        cast(Differentiable, problem.reveals["functions"]),
        cast(float, problem.reveals["offset"]),
    )
    return Instance(functions, float(offset), problem.domain.d)


def residuals(
    x: Array, values: Array, slopes: Array, rho: float, violation: Violation
) -> tuple[float, float]:
    """r_s and r_f at x (d,) with lambda = rho c(x), from f, c (1 + m,) and their derivatives (1 +
    m, d): eqs. (7) and (8).
    """
    c = violation(values[1:])
    away = beyond_cone(x, slopes[0] + rho * c @ slopes[1:])
    return float(away @ away), float(c @ c)


def beyond_cone(x: Array, v: Array) -> Array:
    """v (d,) less the nearest point of -N(x), the cone that is v_i >= 0 where x_i = 0, v_i <= 0
    where x_i = 1, and 0 inside.
    """
    return np.where(x == 0, np.minimum(v, 0.0), np.where(x == 1, np.maximum(v, 0.0), v))


def means_and_bounds(r_s: Array, r_f: Array, *, burn_in: int) -> Columns:
    """Columns of both residuals (K,), of their means up to k, and of C/sqrt(k), which is the mean
    at k = burn_in, NaN before.
    """
    k = np.arange(1, len(r_s) + 1)
    columns: Columns = {"r_s": r_s, "r_f": r_f}
    for name, residual in (("stationarity", r_s), ("feasibility", r_f)):
        mean = np.cumsum(residual) / k
        bound = np.full(len(k), np.nan)
        bound[burn_in - 1 :] = mean[burn_in - 1 : burn_in] * np.sqrt(burn_in / k[burn_in - 1 :])
        columns |= {name: mean, f"{name}_bound": bound}
    return columns


def smoothness_of(instance: Instance, kind: str, seed: int) -> float:
    """L of one of the kinds in SMOOTHNESS, always the same for one seed."""
    return chosen(SMOOTHNESS, kind, "smoothness")(instance, rng(seed, "study", "smoothness"))


def suprema(instance: Instance, draw: np.random.Generator) -> float:
    """L_m = L_f + B_c L_c + B_dc^2 of Remark A.7 from the largest norms over [0,1]^d that local
    searches find.

    B_c is that of c, B_dc that of its first derivative, L_f and L_c are those of the second
    derivatives of f and c.
    """
    f, c = slice(0, 1), slice(1, None)
    B_c, B_dc, L_c = (largest_norm(instance, c, order, draw) for order in (0, 1, 2))
    return largest_norm(instance, f, 2, draw) + B_c * L_c + B_dc**2


def random_points(instance: Instance, draw: np.random.Generator) -> float:
    """The largest spectral norm of the Hessian of Q_1 = f + |c|^2 / 2 at random points: grad Q_rho
    is about rho L-Lipschitz.
    """

    def gradient(x: Array) -> Array:
        weights = np.concatenate([[1.0], instance.values(x)[1:]])
        return np.asarray(weights @ instance.slopes(x), dtype=np.float64)

    largest = 0.0
    for x, v in zip(
        draw.random((POINTS, instance.d)), draw.standard_normal((POINTS, instance.d)), strict=True
    ):
        for _ in range(ROUNDS):
            v *= DIFFERENCE / np.linalg.norm(v)
            v = (gradient(x + v) - gradient(x - v)) / (2 * DIFFERENCE)
        largest = max(largest, float(np.linalg.norm(v)))
    return largest


def largest_norm(instance: Instance, which: slice, order: int, draw: np.random.Generator) -> float:
    """The largest |D^order h(x)[v, ..., v]| over x in [0,1]^d and unit vectors v that ascents from
    random pairs find.

    h are the functions `which` of f, c; the order is 0, 1 or 2. For symmetric forms that is the
    norm of the derivative.
    """
    d = instance.d

    def ascent(z: Array) -> tuple[float, Array]:
        x, length = z[:d], np.linalg.norm(z[d:])
        v = z[d:] / length
        a, by_x, by_v = _directional(instance, which, order, x, v)
        along = a @ by_v
        return -float(a @ a) / 2, -np.concatenate([a @ by_x, (along - v * (along @ v)) / length])

    box = [(0.0, 1.0)] * d + [(-np.inf, np.inf)] * d
    ends = []
    for x, v in zip(draw.random((ASCENTS, d)), draw.standard_normal((ASCENTS, d)), strict=True):
        z = np.concatenate([x, v])
        ends.append(
            minimize(
                ascent,
                z,
                jac=True,
                method="L-BFGS-B",
                bounds=box,
                options={"maxiter": ASCENT_STEPS},
            )
        )
    return max(sqrt(-2 * end.fun) for end in ends)


def _directional(
    instance: Instance, which: slice, order: int, x: Array, v: Array
) -> tuple[Array, Array, Array]:
    """D^order h(x)[v, ..., v] (p,) and its derivatives by x and by v (p, d)."""
    here = instance.slopes(x)[which]
    if order == 0:
        return instance.values(x)[which], here, np.zeros_like(here)
    ahead, behind = (
        instance.slopes(x + DIFFERENCE * v)[which],
        instance.slopes(x - DIFFERENCE * v)[which],
    )
    bend = (ahead - behind) / (2 * DIFFERENCE)
    return (
        (here @ v, bend, here)
        if order == 1
        else (bend @ v, (ahead - 2 * here + behind) / DIFFERENCE**2, 2 * bend)
    )


VIOLATIONS: dict[str, Violation] = {
    "equality": lambda c: c,
    "inequality": lambda c: np.maximum(c, 0.0),
}
SMOOTHNESS = {"suprema": suprema, "random-points": random_points}
