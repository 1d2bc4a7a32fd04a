"""What violates constraints g <= 0, and what is best where they may be violated."""

from __future__ import annotations

import numpy as np

from algorithms.api import Array, Indices


def violation(g: Array) -> Array:
    """Sum of max(g, 0) over the last axis of g (..., m)."""
    return np.maximum(g, 0.0).sum(-1)


def best(y: Array, g: Array) -> int:
    """The row of the largest feasible y (n,); if no row of g (n, m) is, of the least violation."""
    return int(np.lexsort((-y, violation(g)))[0])


def distinct_best(f: Array, v: Array | None = None) -> Indices:
    """For each row of f (q, k) the column of its largest entry among those of least violation v (q,
    k) that no earlier row has; without v nothing is violated.

    Fewer than q if k < q.
    """
    picked: list[int] = []
    left = np.zeros_like(f) if v is None else v.copy()
    for values, violations in zip(f[: f.shape[1]], left, strict=False):
        violations[picked] = np.inf
        least = np.flatnonzero(violations == violations.min())
        picked.append(int(least[np.argmax(values[least])]))
    return np.array(picked)
