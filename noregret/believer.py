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
    """A copy of a method that was told what it believes at pending queries (k, d) or (k,)."""
    other = copied(method)
    other.tell(pending, believed(method, pending))
    return other


def believed(method: Optimizer, pending: NDArray) -> Observation:
    """y (k,) and g (k, m) at pending queries: the means of the method's model of them; where it
    shows none, what the nearest query has shown (over arms: the median of all).
    """
    shown = means(method, pending)
    if shown is not None:
        y, g = shown[:, 0], shown[:, 1:]
    elif isinstance(method.domain, Arms):
        y = np.full(len(pending), np.median(method.y))
        g = np.tile(np.median(method.g, axis=0), (len(pending), 1))
    else:
        nearest = ((pending[:, None] - method.x[None]) ** 2).sum(2).argmin(1)
        y, g = method.y[nearest], method.g[nearest]
    return Observation(y, g, np.empty((len(pending), 0)))


def copied(method: Optimizer) -> Optimizer:
    """A copy of a method; a table is not copied: nobody changes it."""
    shared = [method.domain, getattr(method.domain, "points", None)]
    return copy.deepcopy(method, {id(part): part for part in shared})


def means(method: Optimizer, u: NDArray) -> Array | None:
    """Posterior means (k, 1 + m) of y and of every g at queries (k, d) or (k,), in the units that
    the method is told, but of g that it compresses; None where it has no model that shows them.
    """
    shown = _shown(method, u, "mean")
    return None if shown is None else np.column_stack(shown)


def predicted(method: Optimizer, u: NDArray) -> tuple[Array, Array] | None:
    """Mean and standard deviation of y without noise, each (k,), as `means`."""
    mean, variance = (_shown(method, u, what) for what in ("mean", "variance"))
    return (mean[0], np.sqrt(variance[0])) if mean and variance else None


def _shown(method: Optimizer, u: NDArray, what: str) -> list[Array] | None:
    """The means or variances of each model, (k,) each."""
    if isinstance(method.domain, Arms):
        posterior = getattr(method, "posterior", None)
        confidence = getattr(method, "confidence", None)
        if posterior is None or confidence is None:
            return None
        # variances over arms are divided by lam (algorithms/parts/arms)
        return [getattr(posterior, what)[u] * (confidence.lam if what == "variance" else 1.0)]
    if getattr(getattr(method, "search", None), "since", 0):
        return None  # of a method that has begun anew the model knows the values since then alone
    outputs = getattr(method, "outputs", method)
    models = list(getattr(outputs, "models", ()))
    if (fitted := getattr(method, "fitted", None)) is not None:
        models = [fitted]
    if not models or not hasattr(models[0], "units"):
        return None
    import torch

    inputs, X = getattr(method, "inputs", None), torch.from_numpy(u)
    X = X if inputs is None else inputs(X)
    if what == "mean":
        return [
            one.units.centre + one.units.spread * one.posterior.mean(X).numpy() for one in models
        ]
    return [one.units.spread**2 * one.posterior.variance(X).numpy() for one in models]
