"""Designs in the unit cube, all drawn from the caller's generator."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from algorithms.api import Array


def position(rng: np.random.Generator) -> str:
    """Where a generator stands: another text after whatever was drawn from it.

    `ask` may change nothing but its generator. Where that has not moved, nobody has asked.
    """
    return str(rng.bit_generator.state)


def uniform(rng: np.random.Generator, n: int, d: int) -> Array:
    """n independent uniform points (n, d)."""
    return rng.random((n, d))


def sobol(rng: np.random.Generator, n: int, d: int) -> Array:
    """The first n points (n, d) of a scrambled Sobol sequence."""
    # SciPy would spawn a child of a generator instead of drawing from it
    seed = int(rng.integers(2**63))
    return qmc.Sobol(d, rng=seed).random_base2(max(n - 1, 0).bit_length())[:n]


def latin_hypercube(rng: np.random.Generator, n: int, d: int) -> Array:
    """n points (n, d), one uniform within each of n equal slices of every coordinate."""
    slices = rng.permuted(np.tile(np.arange(n), (d, 1)), axis=1).T
    return (slices + rng.random((n, d))) / n


def repeat(rng: np.random.Generator, x: Array, seen: Array) -> Array:
    """x (d,), whether or not it was seen before."""
    return x


def replace(rng: np.random.Generator, x: Array, seen: Array) -> Array:
    """x (d,), or a uniform point if x was seen but for 1e-8: scikit-optimize's rule."""
    return x if np.abs(seen - x).sum(1).min() > 1e-8 else uniform(rng, 1, len(x))[0]


REPETITIONS = {"repeat": repeat, "replace": replace}
