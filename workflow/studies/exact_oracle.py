"""LCBO's iteration with exact gradients and values, so that E_K = 0 (jing2026lcbo, Thm. 5.5).

    x_{k+1} = P(x_k - eta_k grad Q_k(x_k)),  Q_k = f + rho_k |c|^2 / 2,
    eta_k = k^power_step / (2 L),  rho_k = k^power_penalty
on [0,1]^d, where f and c are minimised and zero as in the paper: c holds the constraint functions,
their offset included.

Paper -> here:  L_m -> L,  lambda_{k+1} = rho_k c(x_{k+1}) as App. A.3 sets it,
r_s, r_f (Def. 3.2) -> squared distances,
c -> max(c, 0) for inequalities, whose slack variables are minimised out.

Hypotheses of the theorem, and where each is met or measured:
- Assumption 5.1 (f and c drawn from Gaussian processes with smooth kernels) serves the errors of
  the posterior, which are 0 here, and the bounds of f, c and their derivatives. Those hold for the
  instances, random features of such processes; c has the problem's offset as its mean.
- Assumption 5.2: [0,1]^d is compact and convex.
- Assumption 5.3: gamma is the smallest `regularity` along the run.
- eq. (17): the powers of eta and rho are parameters of the study.
- Remark A.7 (Q_k is rho_k L-smooth): `curvature` is at most 1. Lemma A.15: `descent` is at least 1.
- K > K~ (Lemma A.16): `reach` is above 1. The bounds begin beyond K~ and are NaN up to there, so
  that a run that does not reach it says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Protocol, cast

import numpy as np
from scipy.optimize import minimize

from algorithms.api import Array, Box
from algorithms.parts.numerics.choice import chosen
from problems.api import Problem
from workflow.studies.paired import Columns
from workflow.trace.seeds import rng

Violation = Callable[[Array], Array]  # what counts of c (m,)

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
    far, C/sqrt(k) beside them, where C is fixed by the first mean beyond K~.

    `constraints` is equality (c = 0) or inequality (c <= 0), `smoothness` says what L is: see
    SMOOTHNESS. x_1 is uniform. `threshold` is the K~_m of Lemma A.16 for the gamma of the whole
    run, beyond which the theorem speaks; `reach` is K / K~_m. `regularity`, `curvature` and
    `descent` tell whether the proof's ground holds along the path, each the worst value so far: the
    gamma of Assumption 5.3; the change of grad Q_k over a step, over rho_k L times its length; and
    4 eta_k (Q_k(x_k) - Q_k(x_{k+1})) / |x_{k+1} - x_k|^2.
    """
    instance = revealed(problem)
    violation = chosen(VIOLATIONS, constraints, "constraints")
    L = smoothness_of(instance, smoothness, seed)
    k: Array = np.arange(1, K + 1, dtype=np.float64)
    x = rng(seed, "study", "init").random(instance.d)
    path = follow(instance, x, k**power_step / (2 * L), k**power_penalty, violation)
    K_tilde = threshold(path.regularity, L)
    columns = {
        "k": k.astype(np.int64),
        **means_and_bounds(path.r_s, path.r_f, beyond=K_tilde),
        "smoothness": np.full(K, L),
        "regularity": np.fmin.accumulate(path.regularity),
        "threshold": np.full(K, K_tilde),
        "reach": np.full(K, reach(K, K_tilde)),
        "curvature": np.fmax.accumulate(path.curvature) / L,
        "descent": np.fmin.accumulate(path.descent),
    }
    rows = np.array(sorted({*range(every, K + 1, every), K})) - 1
    return {name: column[rows] for name, column in columns.items()}


@dataclass(frozen=True, eq=False)
class Path:
    """The residuals where K steps end, and the quotients of both sides of what the proof asks of
    each: all (K,). What is lost in rounding is NaN.
    """

    r_s: Array
    r_f: Array
    regularity: Array  # d(sum_i c_i grad c_i, -N) / |c|; NaN where c = 0
    curvature: Array  # |grad Q(x_{k+1}) - grad Q(x_k)| / (rho |x_{k+1} - x_k|)
    descent: Array  # 4 eta (Q(x_k) - Q(x_{k+1})) / |x_{k+1} - x_k|^2


def follow(instance: Instance, x: Array, eta: Array, rho: Array, violation: Violation) -> Path:
    """Projected gradient steps of lengths eta (K,) on penalties rho (K,) from x (d,): one gradient
    and one value a step.
    """
    values, slopes = instance.values(x), instance.slopes(x)
    rows = np.empty((len(eta), 5))
    for row, step, penalty in zip(rows, eta, rho, strict=True):
        c, before = violation(values[1:]), x
        Q, slope = values[0] + penalty / 2 * c @ c, slopes[0] + penalty * c @ slopes[1:]
        x = np.clip(x - step * slope, 0.0, 1.0)  # Alg. 1 l. 11
        values, slopes = instance.values(x), instance.slopes(x)
        c = violation(values[1:])
        row[:2] = residuals(x, values, slopes, penalty, violation)
        row[2] = regularity(x, c, slopes)
        turn = np.linalg.norm(slopes[0] + penalty * c @ slopes[1:] - slope)
        length = np.linalg.norm(x - before)
        fall, least = Q - values[0] - penalty / 2 * c @ c, length**2 / (4 * step)
        told = least > ROUNDING * (1 + abs(Q))
        row[3:] = (turn / (penalty * length), fall / least) if told else np.nan
    return Path(*rows.T)


def regularity(x: Array, c: Array, slopes: Array) -> float:
    """d(sum_i c_i grad c_i, -N(x)) / |c| of Assumption 5.3 at x (d,), from c (m,) and the
    derivatives of f, c (1 + m, d); NaN where c = 0, which asks for nothing.
    """
    pull, size = np.linalg.norm(beyond_cone(x, c @ slopes[1:])), np.linalg.norm(c)
    return float(pull / size) if size else np.nan


def threshold(regularities: Array, L: float) -> float:
    """K~_m = 70 gamma^(-8/3) L_m^(4/3) for the smallest of the regularities along a run
    (jing2026lcbo, Lemma A.16): infinite where Assumption 5.3 fails, 0 where it asks for nothing.
    """
    gamma = np.fmin.reduce(regularities, initial=np.inf)
    return float(70 * gamma ** (-8 / 3) * L ** (4 / 3)) if gamma > 0 else np.inf


def reach(K: int, K_tilde: float) -> float:
    """K / K~_m: the theorem speaks of a run of K iterations where it is above 1."""
    return K / K_tilde if K_tilde > 0 else np.inf


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


def means_and_bounds(r_s: Array, r_f: Array, *, beyond: float) -> Columns:
    """Columns of both residuals (K,), of their means up to k, of `index`, the greater residual at
    the index up to k where that is least, and of C/sqrt(k) for each, which is its value at the
    first k > beyond; NaN up to there, and everywhere where no k is. `*_ratio` is over C/sqrt(k).
    """
    k = np.arange(1, len(r_s) + 1)
    spoken = k > beyond
    columns: Columns = {"r_s": r_s, "r_f": r_f}
    falling = {
        "stationarity": np.cumsum(r_s) / k,
        "feasibility": np.cumsum(r_f) / k,
        "index": np.minimum.accumulate(np.maximum(r_s, r_f)),
    }
    for name, value in falling.items():
        C = (value * np.sqrt(k))[spoken][:1]
        bound = np.full(len(k), np.nan)
        bound[spoken] = C / np.sqrt(k[spoken])
        columns |= {name: value, f"{name}_bound": bound, f"{name}_ratio": value / bound}
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
