"""Feature maps of a regression table: from its raw columns (A, d) to the points (A, d') that a
kernel compares.

No paper here states its map, so that papers/*.yaml registers the choice (assumption `features` of
calandriello2020bbkb).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from algorithms.api import Array

FeatureMap = Callable[[Array], Array]


def z_scored(columns: Array) -> Array:
    """Every column with mean 0 and variance 1 (divisor A)."""
    spread = columns.std(axis=0)  # (d,)
    if not spread.all():
        raise ValueError(
            f"expected columns that vary, got column {int(np.argmin(spread))} constant: use raw"
            " features"
        )
    scaled: Array = centred(columns) / spread
    return scaled


def centred(columns: Array) -> Array:
    """Every column with mean 0, in its own unit."""
    moved: Array = columns - columns.mean(axis=0)
    return moved


def unit_rows(columns: Array) -> Array:
    """Every row with Euclidean norm 1."""
    norms = np.linalg.norm(columns, axis=1, keepdims=True)  # (A, 1)
    if not norms.all():
        raise ValueError(
            f"expected rows of non-zero norm, got row {int(np.argmin(norms))} zero: use z-scored"
            " features"
        )
    scaled: Array = columns / norms
    return scaled


def per_household(columns: Array) -> Array:
    """California housing as scikit-learn's `fetch_california_housing` has it: rooms, bedrooms and
    people per household in the place of totals and of the number of households.

    The raw columns are longitude, latitude, median age, rooms, bedrooms, population, households and
    median income.
    """
    if columns.shape[1] != 8:
        raise ValueError(
            f"expected the eight columns of California housing, got {columns.shape[1]}: use"
            " z-scored features"
        )
    longitude, latitude, age, rooms, bedrooms, population, households, income = columns.T
    ratios = (rooms / households, bedrooms / households, population / households)
    found: Array = np.column_stack(
        [income, age, *ratios[:2], population, ratios[2], latitude, longitude]
    )
    return found


FEATURE_MAPS: Mapping[str, FeatureMap] = {
    "z-scored": z_scored,
    "centred": centred,
    "unit-rows": unit_rows,
    "per-household": per_household,
}


def mapped(columns: Array, names: Iterable[str]) -> Array:
    """The columns under several maps of FEATURE_MAPS, the first one first."""
    for name in names:
        columns = FEATURE_MAPS[name](columns)
    return np.ascontiguousarray(columns)
