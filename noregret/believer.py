"""What a method would see at points that are asked for and not yet told: its model's means.

Most methods choose one query at a time and ignore what is pending. A copy of them is told what
their own model believes there (the kriging believer of ginsbourger2010kriging), asked, and thrown
away.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Array, Observation, Optimizer


def believer(method: Optimizer, pending: NDArray) -> Optimizer:
    """A copy of a method that was told what it believes at pending queries (k, d) or (k,).

    A table is not copied: nobody changes it.
    """
    shared = [method.domain, getattr(method.domain, "points", None)]
    other = copy.deepcopy(method, {id(part): part for part in shared})
    other.tell(pending, believed(method, pending))
    return other


def believed(method: Optimizer, pending: NDArray) -> Observation:
    """y (k,) and g (k, m) at pending queries: the means of the method's model of them; where it
    shows none, what the nearest query has shown (over arms: the median of all).
    """
    nearest = _nearest(method, pending)
    y = method.y[nearest] if nearest is not None else np.full(len(pending), np.median(method.y))
    g = (
        method.g[nearest]
        if nearest is not None
        else np.median(method.g, axis=0) + np.zeros((len(pending), method.g.shape[1]))
    )
    means = _means(method, pending)
    if means is not None:
        y, g = means[:, 0], means[:, 1:]
    return Observation(y, g, np.empty((len(pending), 0)))


def _means(method: Optimizer, pending: NDArray) -> Array | None:
    """Posterior means of y and every g, (k, 1 + m), in the units that the method is told; None
    where it has no model that shows them.
    """
    if isinstance(method.domain, Arms):
        posterior = getattr(method, "posterior", None)
        return None if posterior is None else np.array(posterior.mean[pending])[:, None]
    models = list(getattr(getattr(method, "outputs", None), "models", ()))
    inputs = getattr(method, "inputs", None)
    if (fitted := getattr(method, "fitted", None)) is not None:
        models = [fitted]
    if not models:
        return None
    import torch

    X = torch.from_numpy(pending)
    columns = [
        one.units.centre
        + one.units.spread * one.posterior.mean(X if inputs is None else inputs(X)).numpy()
        for one in models
    ]
    return np.column_stack(columns)


def _nearest(method: Optimizer, pending: NDArray) -> NDArray | None:
    """The rows (k,) of the told queries that are nearest in the cube; None over arms."""
    if isinstance(method.domain, Arms):
        return None
    squares = ((pending[:, None] - method.x[None]) ** 2).sum(2)
    found: NDArray = squares.argmin(1)
    return found
