"""What crosses between optimizer, simulator and record: checked, copied, and read-only for whoever
gets it.

A record keeps arrays of its own. An optimizer that changes what it was told, or a simulator that
changes its query, gets NumPy's error instead of a record that says something else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Box, Domain, Observation
from problems.api import Evaluation

Value = TypeVar("Value")


class BadAnswer(ValueError):
    """What an optimizer or a simulator gave and may not give; says what was expected of whom."""


def frozen(values: NDArray) -> NDArray:
    """A read-only copy."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy


def frozen_if_array(value: Value) -> Value | NDArray:
    """A read-only copy of an array; anything else as it is."""
    return frozen(value) if isinstance(value, np.ndarray) else value


def domain(domain: Domain) -> Domain:
    """The same domain with points of its own: those of the problem are out of reach."""
    return domain if isinstance(domain, Box) else replace(domain, points=frozen(domain.points))


def told(seen: Observation) -> Observation:
    """What an optimizer is told: read-only copies of what the record keeps."""
    return Observation(frozen(seen.y), frozen(seen.g), frozen(seen.factor_values))


def query(domain: Domain, answer: object, room: int, who: str) -> NDArray:
    """What an optimizer has answered, as a read-only copy: (q, d) in the unit cube, or (q,)
    numbers of arms, with 1 <= q <= room.

    Raises BadAnswer where it is anything else.
    """
    if not isinstance(answer, np.ndarray):
        raise BadAnswer(
            f"{who}: expected an array of queries, got {type(answer).__name__}: correct it"
        )
    answer = np.array(answer)  # plain and our own before it is looked at: it cannot change, or lie
    if answer.ndim == 0 or not 1 <= len(answer) <= room:
        raise BadAnswer(
            f"{who}: expected 1 to {room} queries, got an array of shape {answer.shape}: correct it"
        )
    if isinstance(domain, Arms):
        fits = (
            answer.ndim == 1
            and np.issubdtype(answer.dtype, np.integer)
            and answer.min() >= 0
            and answer.max() < len(domain)
        )
    else:
        fits = (
            answer.ndim == 2
            and answer.shape[1] == domain.d
            and answer.dtype.kind in "fiu"
            # neither holds of a NaN
            and bool(answer.min() >= 0)
            and bool(answer.max() <= 1)
        )
    if not fits:
        expected = (
            f"whole numbers (q,) from 0 to {len(domain) - 1}"
            if isinstance(domain, Arms)
            else f"numbers (q, {domain.d}) from 0 to 1"
        )
        got = f"{answer.dtype} of shape {answer.shape}: {answer!r:.200}"
        raise BadAnswer(
            f"{who}: expected queries inside the domain, {expected}, got {got}: correct it"
        )
    return frozen(answer.astype(np.int64 if isinstance(domain, Arms) else np.float64))


def evaluation(shown: Evaluation, number: int) -> Evaluation:
    """What one query has shown, checked: y (1,), g (1, m), factor_values (1, n) and seconds (1,),
    float64 arrays of our own.

    Raises BadAnswer for other shapes or types, naming the evaluation.
    """
    if not isinstance(shown, Evaluation):
        raise BadAnswer(
            f"evaluation {number}: expected an Evaluation, got {type(shown).__name__}: {REMEDY}"
        )
    seen, true = (
        Observation(
            *(
                _row(getattr(part, name), dimensions, f"evaluation {number}: {side}.{name}")
                for name, dimensions in (("y", 1), ("g", 2), ("factor_values", 2))
            )
        )
        for side, part in (("seen", shown.seen), ("true", shown.true))
    )
    seconds = _row(shown.seconds, 1, f"evaluation {number}: seconds")
    if seen.g.shape != true.g.shape:
        raise BadAnswer(
            f"evaluation {number}: expected as many constraints in seen.g as in true.g, got"
            f" {seen.g.shape[1]} and {true.g.shape[1]}: {REMEDY}"
        )
    return Evaluation(seen, true, seconds)


REMEDY = "correct the problem's `evaluate`"


def _row(values: object, dimensions: int, what: str) -> NDArray:
    """One row of numbers, as a plain float64 array of our own. Raises BadAnswer."""
    if isinstance(values, np.ndarray):
        row = np.array(values)
        if row.ndim == dimensions and len(row) == 1 and row.dtype.kind in "fiu":
            return row.astype(np.float64)
        got = f"{row.dtype} of shape {row.shape}"
    else:
        got = f"{type(values).__name__} {values!r:.60}"
    shape = "(1,)" if dimensions == 1 else "(1, n)"
    raise BadAnswer(f"{what}: expected an array of numbers of shape {shape}, got {got}: {REMEDY}")
