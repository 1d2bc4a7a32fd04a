"""Real regression tables as arms: a query is a row, its value the row's target plus Gaussian noise.

The tables are prepared by `python -m workflow.fetch`: float64 columns, the last one called
`target`, and provenance in the schema. The noise and the rescaled targets are those of
calandriello2020bbkb, Sec. 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Array, Observation
from problems.api import Display, Evaluation, Problem
from problems.prepared import read

Scaling = Callable[[Array], Array]


def abalone(
    instance: np.random.Generator, *, data: Path, noise: float, features: str, target: str
) -> Problem:
    """Abalone (4177 arms, d = 8): the oldest shell, by its rings. `instance` is not used: the table
    is the instance.
    """
    return _table(data, noise, features, target, Display("ring count", "rings"))


def cadata(
    instance: np.random.Generator, *, data: Path, noise: float, features: str, target: str
) -> Problem:
    """California housing (20640 arms, d = 8): the dearest block group. `instance` is not used."""
    return _table(data, noise, features, target, Display("median house value", "USD"))


def _table(data: Path, noise: float, features: str, target: str, display: Display) -> Problem:
    """The rows of a prepared table as arms.

    `features` is z-scored (every column mean 0, variance 1), unit-norm (every row) or raw; `target`
    is unit-interval (rescaled to [0,1]) or raw; `noise` is a standard deviation on the scale of the
    target as seen.
    """
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )
    _one_of("features", features, FEATURES)
    _one_of("target", target, TARGETS)
    values, header = read(data)  # (A, d+1)
    points = FEATURES[features](values[:, :-1])  # (A, d)
    y = TARGETS[target](values[:, -1])  # (A,)
    best = int(np.argmax(y))

    def evaluate(query: NDArray[np.int64], rng: np.random.Generator) -> Evaluation:
        true = y[query]  # (q,)
        seen = true + noise * rng.standard_normal(len(query))
        return Evaluation(Observation.of(seen), Observation.of(true), np.zeros(len(query)))

    return Problem(
        domain=Arms(points),
        evaluate=evaluate,
        best=float(y[best]),
        best_at=np.array([best]),
        display=Display(f"rescaled {display.label}") if target == "unit-interval" else display,
        data=header["data"],
        data_sha256=header["content_sha256"],
    )


def _one_of(option: str, value: str, choices: Mapping[str, Scaling]) -> None:
    if value not in choices:
        raise ValueError(
            f"expected {option} to be {' or '.join(choices)}, got {value!r}: correct it in"
            " papers/*.yaml"
        )


def _raw(values: Array) -> Array:
    return np.ascontiguousarray(values)


def _z_scored(points: Array) -> Array:
    """Every column with mean 0 and variance 1 (divisor A)."""
    spread = points.std(axis=0)  # (d,)
    if not spread.all():
        raise ValueError(
            f"expected columns that vary, got column {int(np.argmin(spread))} constant: use raw"
            " features"
        )
    scaled: Array = (points - points.mean(axis=0)) / spread
    return scaled


def _unit_norm(points: Array) -> Array:
    """Every row with Euclidean norm 1."""
    norms = np.linalg.norm(points, axis=1, keepdims=True)  # (A, 1)
    if not norms.all():
        raise ValueError(
            f"expected rows of non-zero norm, got row {int(np.argmin(norms))} zero: use z-scored"
            " features"
        )
    scaled: Array = points / norms
    return scaled


def _unit_interval(y: Array) -> Array:
    """Rescaled to [0,1]."""
    span = y.max() - y.min()
    if span == 0:
        raise ValueError(f"expected targets that differ, got {y[0]} in every row: check the table")
    scaled: Array = (y - y.min()) / span
    return scaled


FEATURES: Mapping[str, Scaling] = {"z-scored": _z_scored, "unit-norm": _unit_norm, "raw": _raw}
TARGETS: Mapping[str, Scaling] = {"unit-interval": _unit_interval, "raw": _raw}
