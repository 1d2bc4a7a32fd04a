"""Where two runs part: the first evaluation whose query is another one.

A test that only says "not equal" after 10,000 evaluations helps nobody. These functions name the
evaluation, both queries and their distance.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Divergence:
    """The first evaluation (0-based) at which two runs differ, with the query of each; None where a
    run has ended before."""

    evaluation: int
    expected: np.ndarray | None
    got: np.ndarray | None

    def __str__(self):
        return (
            f"the runs part at evaluation {self.evaluation}: expected {_show(self.expected)}, "
            f"got {_show(self.got)}"
        )


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
    parts = np.flatnonzero(~near.reshape(n, -1).all(axis=1))
    if parts.size:
        return Divergence(int(parts[0]), one[parts[0]], other[parts[0]])
    if len(one) != len(other):
        return Divergence(n, one[n] if n < len(one) else None, other[n] if n < len(other) else None)
    return None


def assert_same_run(expected, got, tolerance=0.0):
    """Fail with the first evaluation at which the runs part, if they do."""
    divergence = first_divergence(expected, got, tolerance)
    assert divergence is None, str(divergence)


def assert_parts_at(evaluation, expected, got, tolerance=0.0):
    """Fail unless the runs part at this evaluation, as those of a method and of its mutant do."""
    divergence = first_divergence(expected, got, tolerance)
    assert divergence is not None, "the runs are the same: the mistake goes unnoticed"
    assert divergence.evaluation == evaluation, str(divergence)


def _show(query):
    if query is None:
        return "no further evaluation"
    return np.array2string(np.asarray(query), precision=6)
