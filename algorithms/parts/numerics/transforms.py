"""Changes of the units of y and g, as libraries make them before they fit a Gaussian process."""

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


def about_zero(y: Array) -> Units:
    """Root mean square over n, and no centre: zero stays zero, so that a constraint keeps its sign.

    Values are divided by the largest one before they are squared, since squares may overflow.
    """
    largest = float(np.abs(y).max())
    if largest == 0:
        return Units(0.0, 1.0)
    return Units(0.0, largest * float(np.sqrt(np.mean(np.square(y / largest)))))


def _units(y: Array, centre: float, spread: float) -> Units:
    return Units(centre, spread if spread > ROUNDING * np.abs(y).max() else 1.0)


def standardised(y: Array, g: Array) -> Array:
    """Columns (n, 1 + m): y (n,) with mean 0 and variance 1, and every g (n, m) about zero."""
    return np.column_stack([sample(y)(y), *(about_zero(column)(column) for column in g.T)])


STANDARDS: dict[str, Callable[[Array], Units]] = {
    "population": population,
    "sample": sample,
    "median": median,
}
