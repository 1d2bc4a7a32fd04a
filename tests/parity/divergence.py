"""Where two runs part: the first evaluation whose query is another one.

A test that only says "not equal" after 10,000 evaluations helps nobody. These functions name the
evaluation, both queries and their distance.
"""

from typing import NamedTuple

import numpy as np


class Divergence(NamedTuple):
    """The first evaluation (0-based) at which two runs differ, and a sentence with both queries."""

    evaluation: int
    said: str


def first_divergence(expected, got, tolerance=0.0):
    """Compare the queries of two runs, evaluation by evaluation.

    expected, got: (n,) rows of a table or (n, d) points; n may differ, and a run that ends early
        diverges where it ends.
    tolerance: largest difference of a coordinate that still counts as equal.
    Returns None if the runs agree throughout. A NaN agrees with nothing.
    """
    one, other = np.asarray(expected), np.asarray(got)
    if one.ndim != other.ndim or one.shape[1:] != other.shape[1:]:
        raise ValueError(
            f"expected queries of shape (n, ...) alike, got {one.shape} and {other.shape}"
        )
    n = min(len(one), len(other))
    near = np.abs(one[:n].astype(float) - other[:n].astype(float)) <= tolerance
    at = int(np.append(np.flatnonzero(~near.reshape(n, -1).all(axis=1)), n)[0])
    if at == len(one) == len(other):
        return None
    expected, got = (
        np.array2string(run[at], precision=6) if at < len(run) else "no further evaluation"
        for run in (one, other)
    )
    return Divergence(at, f"the runs part at evaluation {at}: expected {expected}, got {got}")


def assert_same_run(expected, got, tolerance=0.0):
    """Fail with the first evaluation at which the runs part, if they do."""
    divergence = first_divergence(expected, got, tolerance)
    assert divergence is None, divergence.said


def assert_parts_at(evaluation, expected, got, tolerance=0.0):
    """Fail unless the runs part at this evaluation, as those of a method and of its mutant do."""
    divergence = first_divergence(expected, got, tolerance)
    assert divergence is not None, "the runs are the same: the mistake goes unnoticed"
    assert divergence.evaluation == evaluation, divergence.said
