"""Maxima of many functions at once, each by climbs from several starts on its own unit cube.

All functions have the same number m of variables. Points are (G, s, m): s for each of G functions.
Starts are picked among Sobol points; the public code of bardou2024dumbo draws them by BoTorch's
Boltzmann heuristic and climbs by L-BFGS (balandat2020botorch).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import Bounds, minimize

from algorithms.api import Array, Indices
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.sampling import sobol
from algorithms.parts.numerics.steps import ascend


class Functions(Protocol):
    """G smooth functions on [0,1]^m, evaluated side by side."""

    def __call__(self, u: Array) -> Array:
        """Values (G, s) at u (G, s, m)."""

    def slopes(self, u: Array) -> tuple[Array, Array]:
        """Values (G, s) and gradients (G, s, m) at u (G, s, m)."""


@dataclass(frozen=True)
class Ascent:
    """How each function is climbed from several starts: the group `climb` of DuMBO.

    raw: Sobol points that are scored before fresh starts are picked.
    starts: how many of the Sobol points are climbed from where there is no earlier end.
    fresh: how many of them are climbed from beside an earlier end.
    pick: which of the Sobol points: the "best", or "boltzmann", a draw without replacement by
        exp(z) of their values' z-scores z, with the best among them (balandat2020botorch, eta = 1).
    method: "adam" (kingma2015adam), or "l-bfgs" of SciPy, one climb over the sum of all starts as
        in balandat2020botorch, here of all G functions.
    steps: of every climb: Adam's exactly, each one evaluation of the gradient, or L-BFGS's at most.
    rate: Adam's, in units of the box; L-BFGS does not read it.

    bardou2024dumbo, Alg. 1 l. 13, says "by gradient ascent (e.g. with ADAM)" alone. The public code
    has 512 points, 20 starts and 1, boltzmann and l-bfgs.
    """

    raw: int
    starts: int
    fresh: int
    pick: str
    method: str
    steps: int
    rate: float

    def __post_init__(self) -> None:
        if not (self.raw >= 1 and self.starts >= 1 and self.fresh >= 0):
            raise ValueError(
                "expected raw and starts of at least 1 and fresh >= 0, got"
                f" {self.raw}, {self.starts} and {self.fresh}"
            )
        chosen(PICKS, self.pick, "pick")
        chosen(CLIMBS, self.method, "method")


def maximise_all(f: Functions, last: Array, rng: np.random.Generator, climb: Ascent) -> Array:
    """The best points (G, m) of climbs from the last ends (G, 0 or 1, m) and from Sobol points."""
    G, known, m = last.shape
    fresh = climb.fresh if known else climb.starts
    starts = last
    if fresh:
        raw = np.broadcast_to(sobol(rng, climb.raw, m), (G, climb.raw, m))
        taken = PICKS[climb.pick](f(raw), fresh, rng)
        starts = np.concatenate([last, np.take_along_axis(raw, taken[:, :, None], axis=1)], axis=1)
    # a climb may overshoot and end below its start
    ends = np.concatenate([starts, CLIMBS[climb.method](f, starts, climb)], axis=1)
    return ends[np.arange(G), f(ends).argmax(1)]


def best(values: Array, count: int, rng: np.random.Generator) -> Indices:
    """The `count` greatest of values (G, s), the greatest first, (G, count)."""
    return np.argsort(-values, axis=1, kind="stable")[:, :count]


def boltzmann(values: Array, count: int, rng: np.random.Generator) -> Indices:
    """`count` of values (G, s), drawn one after another by exp of their z-scores, (G, count).

    The last one drawn gives way to the greatest value where the greatest was not drawn.
    """
    spread = values.std(axis=1, ddof=1, keepdims=True)
    z = (values - values.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    # the largest of z + Gumbel noise are such a draw without replacement
    taken = best(z + rng.gumbel(size=z.shape), count, rng)
    greatest = values.argmax(axis=1)
    missed = (taken != greatest[:, None]).all(axis=1)
    taken[missed, -1] = greatest[missed]
    return taken


def by_adam(f: Functions, starts: Array, climb: Ascent) -> Array:
    """The ends of Adam's climbs that begin at starts (G, s, m)."""
    return ascend(lambda u: f.slopes(u)[1], starts, steps=climb.steps, rate=climb.rate)


def by_lbfgs(f: Functions, starts: Array, climb: Ascent) -> Array:
    """Where L-BFGS-B ends over the sum of all climbs that begin at starts (G, s, m)."""

    def loss(flat: Array) -> tuple[float, Array]:
        values, slopes = f.slopes(flat.reshape(starts.shape))
        return -float(values.sum()), -slopes.ravel()

    end = minimize(
        loss,
        starts.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(np.zeros(starts.size), np.ones(starts.size)),
        options={"maxiter": climb.steps},
    )
    return np.clip(end.x, 0.0, 1.0).reshape(starts.shape)


PICKS: Mapping[str, Callable[[Array, int, np.random.Generator], Indices]] = {
    "best": best,
    "boltzmann": boltzmann,
}
CLIMBS: Mapping[str, Callable[[Functions, Array, Ascent], Array]] = {
    "adam": by_adam,
    "l-bfgs": by_lbfgs,
}
