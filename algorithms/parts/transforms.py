"""Affine changes of the units of y, as libraries make them before they fit a Gaussian process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from algorithms.api import Array

ROUNDING = 1e-12  # of the largest |y|: a spread below is rounding, not variation


@dataclass(frozen=True)
class Units:
    """u = (y - centre) / spread."""

    centre: float
    spread: float

    def __call__(self, y: Array) -> Array:
        return (y - self.centre) / self.spread


def population(y: Array) -> Units:
    """Mean and standard deviation over n, as scikit-learn standardises."""
    return _units(y, float(np.mean(y)), float(np.std(y)))


def sample(y: Array) -> Units:
    """Mean and standard deviation over n - 1, as BoTorch standardises."""
    return _units(y, float(np.mean(y)), float(np.std(y, ddof=1)) if len(y) > 1 else 0.0)


def median(y: Array) -> Units:
    """Median and standard deviation over n, as TuRBO's code standardises."""
    return _units(y, float(np.median(y)), float(np.std(y)))


def _units(y: Array, centre: float, spread: float) -> Units:
    return Units(centre, spread if spread > ROUNDING * np.abs(y).max() else 1.0)


STANDARDS: dict[str, Callable[[Array], Units]] = {
    "population": population,
    "sample": sample,
    "median": median,
}
