"""Sums of factors that may be observed one by one, to be maximised on boxes: bardou2024dumbo, App.
H.

Every problem reveals its `decomposition`, the variables of each of its n factors, and shows the
outputs of the factors beside y, which is their sum. Noise of standard deviation noise/sqrt(n) on
every factor makes that of y `noise`. All of these functions are greatest in the paper as here:
nothing is flipped, and `Display.sign` stays 1.

Paper -> here:  D -> low, high,  MFS d-bar -> the largest factor of `decomposition`
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Box, Observation
from problems.api import Display, Evaluation, Problem

Decomposition = tuple[tuple[int, ...], ...]

# where the gradient of (64) vanishes; so does it at minus this point
CAMEL = 0.08984201310031806, -0.7126564030207396
HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HARTMANN = (
    0.20168951100670543,
    0.15001069182345797,
    0.476873974221897,
    0.2753324304940561,
    0.31165161660011326,
    0.6573005340656203,
)
MIDDLE = (0.1, 0.9)  # of the range of each variable: where a maximiser that is moved comes to lie


def six_hump_camel(instance: np.random.Generator, *, noise: float) -> Problem:
    """Two variables in three factors on [-3,3] x [-2,2]: 1.0316 at both rows of `best_at` (2, 2).

    `instance` is not used.
    """

    def factors(x: Array) -> Array:
        a, b = x.T
        # eq. (64)
        return np.stack(
            [(-4 + 2.1 * a**2 - a**4 / 3) * a**2, -a * b, (4 - 4 * b**2) * b**2], axis=1
        )

    bounds = np.array([[-3.0, -2.0], [3.0, 2.0]])
    maximisers = np.array([CAMEL, [-CAMEL[0], -CAMEL[1]]])
    return _problem(
        factors, ((0,), (0, 1), (1,)), bounds, maximisers, noise, Display("six-hump camel")
    )


def hartmann(instance: np.random.Generator, *, noise: float) -> Problem:
    """Four bells, each in all six variables, on [0,1]^6: 3.32237 at its maximum. `instance` is not
    used.

    DEVIATES: the paper prints 10.5364, which is the maximum of Shekel's function.
    """

    def factors(x: Array) -> Array:
        distance = (HARTMANN_A * (x[:, None] - HARTMANN_P) ** 2).sum(axis=2)  # (q, 4)
        bells: Array = HARTMANN_ALPHA * np.exp(-distance)  # eq. (65)
        return bells

    return _problem(
        factors,
        (tuple(range(6)),) * 4,
        _cube(6, 0.0, 1.0),
        np.array([HARTMANN]),
        noise,
        Display("Hartmann"),
    )


def powell(instance: np.random.Generator, *, d: int, maximiser: str, noise: float) -> Problem:
    """d/4 factors of four consecutive variables on [-4,5]^d (the paper: d = 24): 0 at its only
    maximum.

    `maximiser` is published (the origin), or shifted: see `_maximiser`. The minus sign of (66)
    belongs to the whole sum.
    """
    if d < 4 or d % 4:
        raise ValueError(
            f"expected d to be a positive multiple of 4, got {d}: correct it in papers/*.yaml"
        )
    bounds = _cube(d, -4.0, 5.0)
    s = _maximiser(instance, maximiser, bounds)

    def factors(x: Array) -> Array:
        a, b, c, e = np.moveaxis((x - s).reshape(len(x), -1, 4), 2, 0)  # (q, d/4) each
        # eq. (66)
        return -((a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4)

    return _problem(factors, _blocks(d, 4), bounds, s[None], noise, Display("Powell"))


def rastrigin(
    instance: np.random.Generator, *, d: int, factor_size: int, maximiser: str, noise: float
) -> Problem:
    """d/factor_size factors of consecutive variables on [-5.12,5.12]^d (the paper: 100 and 5): 0 at
    its global maximum.

    `maximiser` is published (the origin, the centre of the box), or shifted: see `_maximiser`.
    """
    if min(d, factor_size) < 1 or d % factor_size:
        raise ValueError(
            "expected factors of one size >= 1 that make up d >= 1 variables, got factor_size ="
            f" {factor_size} and d = {d}: correct it in papers/*.yaml"
        )
    bounds = _cube(d, -5.12, 5.12)
    s = _maximiser(instance, maximiser, bounds)

    def factors(x: Array) -> Array:
        z = x - s
        each = 10 * np.cos(2 * np.pi * z) - z**2 - 10  # eq. (67), its brackets set right
        return each.reshape(len(x), -1, factor_size).sum(axis=2)

    return _problem(factors, _blocks(d, factor_size), bounds, s[None], noise, Display("Rastrigin"))


def _maximiser(instance: np.random.Generator, maximiser: str, bounds: Array) -> Array:
    """The point s (d,) of f(x - s): the origin, or one drawn from `instance`.

    A shifted one is uniform over the middle 80 % of the range of every variable. The box stays
    where it is; nothing greater can move into it, since f <= 0 everywhere.
    """
    if maximiser == "published":
        return np.zeros(bounds.shape[1])
    if maximiser == "shifted":
        low, high = bounds
        return low + (high - low) * instance.uniform(*MIDDLE, size=len(low))
    raise ValueError(
        f"expected maximiser to be published or shifted, got {maximiser!r}: correct it in"
        " papers/*.yaml"
    )


def _cube(d: int, low: float, high: float) -> Array:
    """The box [low, high]^d as (2, d): least and greatest coordinates."""
    return np.repeat([[low], [high]], d, axis=1)


def _blocks(d: int, size: int) -> Decomposition:
    """d variables in factors of so many consecutive ones."""
    return tuple(tuple(range(first, first + size)) for first in range(0, d, size))


def _problem(
    factors: Callable[[Array], Array],
    decomposition: Decomposition,
    bounds: Array,
    maximisers: Array,
    noise: float,
    display: Display,
) -> Problem:
    """The sum of `factors` (q, n) of points (q, d) within `bounds` (2, d), greatest at every row of
    `maximisers` (k, d).
    """
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )
    low, high = bounds
    best_at = (maximisers - low) / (high - low)  # (k, d)
    spread = noise / np.sqrt(len(decomposition))

    def outputs(query: NDArray[np.float64]) -> Array:
        return factors(low + (high - low) * query)

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        true = outputs(query)  # (q, n)
        seen = true + spread * rng.standard_normal(true.shape)
        return Evaluation(_observation(seen), _observation(true), np.zeros(len(query)))

    return Problem(
        domain=Box(len(low)),
        evaluate=evaluate,
        best=float(outputs(best_at).sum(axis=1).max()),
        best_at=best_at,
        reveals={"decomposition": decomposition},
        display=display,
    )


def _observation(outputs: Array) -> Observation:
    """The outputs (q, n) of all factors and their sum."""
    return Observation(outputs.sum(axis=1), np.empty((len(outputs), 0)), outputs)
