"""What a table of architectures looks like to a method: how many, how near one another, how
connected.

calandriello2020bbkb, App. D.2 describes the candidates; evolution needs every one of them to be
reachable by single edits.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from algorithms.api import Array, Indices
from algorithms.parts.arms import GaussianTable
from problems.api import Problem
from workflow.studies.paired import Columns, table, tidy


def run(seed: int, problem: Problem, *, bandwidths: list[float]) -> Columns:
    """One row a bandwidth: the candidates, their features, their single edits, and the smallest
    value of the kernel.

    `components` counts the parts of the graph of edits; nothing here depends on the seed.
    """
    arms = table(problem)
    if arms.neighbours is None:
        raise ValueError(
            "expected arms with neighbours, got none: choose a table of architectures in"
            " papers/*.yaml"
        )
    edits = [arms.neighbours(arm) for arm in range(len(arms))]
    reached = np.array([len(np.unique(arms_reached)) for arms_reached in edits])
    fixed = {
        "candidates": len(arms),
        "features": arms.points.shape[1],
        "distinct_features": len(np.unique(arms.points, axis=0)),
        "neighbours_min": int(reached.min()),
        "neighbours_mean": float(reached.mean()),
        "neighbours_max": int(reached.max()),
        "components": components(edits),
    }
    rows = [
        {"bandwidth": float(bandwidth), "kernel_min": _smallest(arms.points, bandwidth)}
        for bandwidth in bandwidths
    ]
    return tidy([fixed | row for row in rows])


def components(edits: list[Indices]) -> int:
    """Parts of the graph that the edits make, each edit read in both directions."""
    size = len(edits)
    start = np.repeat(np.arange(size), [len(reached) for reached in edits])
    graph = csr_array(
        (np.ones(len(start), dtype=np.int8), (start, np.concatenate(edits))), shape=(size, size)
    )
    parts, _ = connected_components(graph, directed=False)
    return int(parts)


def _smallest(points: Array, bandwidth: float) -> float:
    """The smallest kernel value of any pair among some hundred arms and all others."""
    kernel = GaussianTable(points, bandwidth)
    return float(
        min(kernel.compute(arm).min() for arm in range(0, len(points), max(1, len(points) // 128)))
    )
