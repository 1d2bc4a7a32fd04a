"""Closed-form functions on boxes, to be maximised, with known optima and additive Gaussian noise.

The network, Styblinski-Tang and Rastrigin are f1, f2 and f3 of liu2023goucb, Sec. 6.1, where d =
20, the box is [-5,5]^d and noise = 0.01 (App. D.1). That paper maximises and prints f2 and f3 with
the minus sign that turns the usual minimisation round: nothing is flipped here, and `Display.sign`
stays 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from algorithms.api import Array, Box, Observation
from problems.api import Display, Evaluation, Problem

# the root of 4 x^3 - 32 x + 5 at which (x^4 - 16 x^2 + 5 x)/2 is least
VALLEY = -2.9035340277711772


def unit_network(
    instance: np.random.Generator, *, d: int, low: float, high: float, hidden: int, noise: float
) -> Problem:
    """f1: two linear layers around `hidden` sigmoids (the paper: 25), every weight and bias 1.
    `instance` is not used.

    All hidden units agree, so that f1(x) = hidden sigmoid(sum_i x_i + 1) + 1: greatest at the
    corner `high` of the box, and within rounding of that wherever the sum exceeds some 40.
    """
    if hidden < 1:
        raise ValueError(f"expected hidden >= 1 units, got {hidden}: correct it in papers/*.yaml")

    def f(x: Array) -> Array:
        value: Array = hidden * expit(x.sum(axis=1) + 1) + 1  # w2' sigmoid(W1 x + b1) + b2
        return value

    bounds = _bounds(d, low, high)
    return _problem(f, bounds, bounds[1], noise, Display("f1 (network)"))


def styblinski_tang(
    instance: np.random.Generator, *, d: int, low: float, high: float, noise: float
) -> Problem:
    """f2: -(1/2) sum_i (x_i^4 - 16 x_i^2 + 5 x_i), about 39.166 d where every x_i = -2.9035.

    `instance` is not used.
    """

    def f(x: Array) -> Array:
        value: Array = -0.5 * (x**4 - 16 * x**2 + 5 * x).sum(axis=1)
        return value

    return _problem(
        f, _bounds(d, low, high), np.full(d, VALLEY), noise, Display("f2 (Styblinski-Tang)")
    )


def rastrigin(
    instance: np.random.Generator, *, d: int, low: float, high: float, noise: float
) -> Problem:
    """f3: -10 d + sum_i (10 cos(2 pi x_i) - x_i^2), 0 at the origin. `instance` is not used."""

    def f(x: Array) -> Array:
        value: Array = -10 * d + (10 * np.cos(2 * np.pi * x) - x**2).sum(axis=1)
        return value

    return _problem(f, _bounds(d, low, high), np.zeros(d), noise, Display("f3 (Rastrigin)"))


def _bounds(d: int, low: float, high: float) -> Array:
    """The box [low, high]^d as (2, d): least and greatest coordinates. Raises ValueError."""
    if d < 1:
        raise ValueError(f"expected d >= 1 dimensions, got {d}: correct it in papers/*.yaml")
    if not -np.inf < low < high < np.inf:
        raise ValueError(
            f"expected a finite box with low < high, got [{low}, {high}]: correct it in"
            " papers/*.yaml"
        )
    return np.repeat([[low], [high]], d, axis=1).astype(np.float64)


def _problem(
    f: Callable[[Array], Array], bounds: Array, maximiser: Array, noise: float, display: Display
) -> Problem:
    """f of points (q, d) within `bounds` (2, d), greatest at `maximiser` (d,), with noise of that
    standard deviation.
    """
    low, high = bounds
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )
    outside = np.flatnonzero((maximiser < low) | (maximiser > high))
    if len(outside):
        i = int(outside[0])
        raise ValueError(
            f"expected a box that holds the maximiser, got [{low[i]}, {high[i]}] for coordinate {i}"
            f" = {maximiser[i]}: widen it"
        )
    best_at = ((maximiser - low) / (high - low))[None]  # (1, d)

    def value(query: NDArray[np.float64]) -> Array:
        return f(low + (high - low) * query)

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        true = value(query)  # (q,)
        seen = true + noise * rng.standard_normal(len(query))
        return Evaluation(Observation.of(seen), Observation.of(true), np.zeros(len(query)))

    return Problem(
        domain=Box(len(low)),
        evaluate=evaluate,
        best=float(value(best_at)[0]),
        best_at=best_at,
        reveals={"low": float(low.min()), "high": float(high.max())},
        display=display,
    )
