"""Do GO-UCB's theorems hold on families that meet their hypotheses (liu2023goucb, Thms. 4.1, 5.2,
Lemmas 5.3 to 5.5)?

Both families live on x in [0,1], which Phase I draws uniformly, and on W = [0,1]^d_w:
    phase       f_x(w) = cos(2 pi x - w),                              d_w = 1
    amplitudes  f_x(w) = (w_1 cos(2 pi x) + w_2 sin(2 pi x)) / sqrt 2,  d_w = 2

Hypotheses, with u = w - w*:
- Assumption 3.1: w* is uniform in [1/2, 1]^d_w, a part of W.
- Assumption 3.2: F = C_g = C_h = 1 (phase); F = 1, C_g = 1/sqrt 2, C_h = 0 (amplitudes).
- Assumption 3.3, phase: L = 1 - cos u, |u| <= 1, so that mu = 2 (1 - cos 1) < d_w and zeta = 1; its
  second derivative cos u is in [0.87, 1] where |u| <= 1/2, hence c = 1/2.
- Assumption 3.3, amplitudes: L = |u|^2 / 4, hence mu = zeta = 1/2 < d_w, and c = 1/2.
- Local strong convexity holds on all of W, so that tau may be as large as one likes: the maximum in
  eq. (8) is zeta / (mu c^2).
Universal constants are 1, and iota = ln(2 n (1 + C_h) / delta): the paper prints neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, isqrt, log, pi, sqrt
from typing import Any, cast

import numpy as np

import algorithms
from algorithms.api import Array, Box, Observation
from algorithms.go_ucb import GOUCB, Network
from algorithms.parts.numerics.choice import chosen
from problems.api import Problem
from workflow.studies.paired import Columns, tidy
from workflow.trace.seeds import rng


def run(
    seed: int,
    problem: Problem,
    *,
    settings: Sequence[tuple[str, int]],
    every: int,
    sigma: float,
    delta: float,
    optimizer: Mapping[str, Any],
) -> Columns:
    """One row per setting, which is a family and a horizon T, for every `every`-th round t and T.

    `asked_for` is T over the right side of eq. (8). `oracle_error` |w^_0 - w*|^2 and `oracle_bound`
    are Theorem 5.2's. The greatest of |w^_t - w*|^2 / beta_t so far, in the norm of Sigma_t, is
    `outside` (Lemma 5.3); of r_t over the right side of Lemma 5.4, `instant`. `squares` and
    `squares_bound` are Lemma 5.5's at t, `squares_worst` what the worst policy sums up. `regret`
    counts both phases, `regret_bound` is 2 F n + (t squares_bound)^(1/2), from which Theorem 4.1
    follows, `regret_worst` the regret of the worst policy. `simple_regret` is that of a uniform one
    of x_1..x_t in expectation, `simple_bound` its bound. n = sqrt(T) points begin a run; noise has
    the deviation `sigma`. `problem` is not used.
    """
    built = {name: value for name, value in optimizer.items() if name != "is"}
    rows: list[dict[str, float]] = []
    for k, (name, T) in enumerate(settings):
        family = chosen(FAMILIES, name, "settings")
        draw = rng(seed, "study", name, T)
        method = Theory(
            Box(1),
            rng(seed, "study", "optimizer", name, T),
            family,
            sigma,
            algorithms.grouped(GOUCB.__init__, {**built, "horizon": T, "low": 0.0, "high": 1.0}),
        )
        rows += [{"setting": k, **row} for row in played(method, draw, every, delta)]
    return tidy(rows)


@dataclass(frozen=True)
class Family:
    """f_x(w) in the place of a network, and the constants of its assumptions."""

    size: int
    mu: float
    zeta: float
    c: float
    F: float
    C_g: float
    C_h: float

    def __call__(self, x: Array, w: Array) -> Array:
        """Value of s members w (s, d_w), each at its own point x (s, 1): (s,)."""
        angle = 2 * pi * x[:, 0]
        if self.size == 1:
            return cast(Array, np.cos(angle - w[:, 0]))
        value: Array = (w[:, 0] * np.cos(angle) + w[:, 1] * np.sin(angle)) / sqrt(2)
        return value

    def gradients(self, x: Array, w: Array) -> tuple[Array, Array]:
        """Gradients over x (s, 1) and over w (s, d_w)."""
        angle = 2 * pi * x
        if self.size == 1:
            slope = np.sin(angle - w)
            return -2 * pi * slope, slope
        over_w = np.hstack([np.cos(angle), np.sin(angle)]) / sqrt(2)
        turned = np.hstack([-over_w[:, 1:], over_w[:, :1]])
        return 2 * pi * (w * turned).sum(1, keepdims=True), over_w

    def greatest(self, w: Array) -> float:
        """The maximum over x, for w (d_w,) in W; the least value is its negative."""
        return 1.0 if self.size == 1 else float(np.linalg.norm(w)) / sqrt(2)


FAMILIES: Mapping[str, Family] = {
    "phase": Family(1, mu=2 * (1 - cos(1)), zeta=1.0, c=0.5, F=1.0, C_g=1.0, C_h=1.0),
    "amplitudes": Family(2, mu=0.5, zeta=0.5, c=0.5, F=1.0, C_g=1 / sqrt(2), C_h=0.0),
}


class Theory(GOUCB):
    """GO-UCB on a family, with the ball of eq. (9): constants 1, ln T for the hidden logarithm."""

    def __init__(
        self,
        domain: Box,
        stream: np.random.Generator,
        family: Family,
        sigma: float,
        built: Mapping[str, Any],
    ) -> None:
        super().__init__(domain, stream, **built)
        self.family, self.sigma = family, sigma
        self.network = cast(Network, family)
        self.initial = self.w0 = self.w = np.full(family.size, 0.5)
        self.Sigma = self.lam * np.eye(family.size)
        self.moment = np.zeros(family.size)

    @property
    def beta(self) -> float:
        """Eq. (9) in round t."""
        t, d = int(self.asked.sum()) + 1, self.family.size
        within = d**3 / self.family.mu**2 * (1 + t / self.horizon)
        return log(self.horizon) * (d * self.sigma**2 + within)


def played(
    method: Theory, draw: np.random.Generator, every: int, delta: float
) -> list[dict[str, float]]:
    """The rows of one run, whose w* and noise are drawn."""
    f, T, lam = method.family, method.horizon, method.lam
    n = isqrt(T)
    true = draw.uniform(0.5, 1.0, f.size)  # amplitudes near 0 would leave nothing to lose
    best = f.greatest(true)

    def told(x: Array) -> Array:
        """Evaluates x (q, 1); the regrets of its points."""
        values = f(x, np.broadcast_to(true, (len(x), f.size)))
        method.tell(x, Observation.of(values + method.sigma * draw.standard_normal(len(x))))
        return best - values

    phase_one = float(told(draw.random((n, 1))).sum())
    iota = log(2 * n * (1 + f.C_h) / delta)
    needed = (f.size * f.F**2 * iota * f.zeta / (f.mu * f.c**2)) ** 2
    head = {
        "T": T,
        "parameters": f.size,
        "asked_for": T / needed,
        "oracle_error": float(((method.w0 - true) ** 2).sum()),
        "oracle_bound": f.size * f.F**2 * iota / (f.mu * n),
    }
    rows: list[dict[str, float]] = []
    outside = instant = total = squares = 0.0
    for t in range(1, T + 1):
        beta, away = method.beta, true - method.w
        outside = max(outside, float(away @ method.Sigma @ away) / beta)
        x = method.ask(1, np.empty((0, 1)))
        g = f.gradients(x, method.w[None])[1][0]
        u = sqrt(float(g @ np.linalg.solve(method.Sigma, g)))
        regret = float(told(x)[0])
        instant = max(instant, regret / (2 * sqrt(beta) * u + 2 * beta * f.C_h / lam))
        total, squares = total + regret, squares + regret**2
        if t % every == 0 or t == T:
            bound = 16 * beta * f.size * log(1 + t * f.C_g**2 / (f.size * lam))
            bound += 8 * beta**2 * f.C_h**2 * t / lam**2
            rows.append(
                {
                    **head,
                    "t": t,
                    "outside": outside,
                    "instant": instant,
                    "squares": squares,
                    "squares_bound": bound,
                    "squares_worst": t * (2 * best) ** 2,
                    "regret": phase_one + total,
                    "regret_bound": 2 * f.F * n + sqrt(t * bound),
                    "regret_worst": 2 * best * (n + t),
                    "simple_regret": total / t,
                    "simple_bound": sqrt(bound / t),
                }
            )
    return rows
