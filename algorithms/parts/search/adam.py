"""Maximum of a function of points in the unit cube by Adam (kingma2015adam): score many candidates,
climb from the best few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from algorithms.api import Array
from algorithms.parts.numerics.sampling import sobol
from algorithms.parts.numerics.steps import ascend
from algorithms.parts.search.maximise import Function


@dataclass(frozen=True)
class AdamClimbSettings:
    """How an acquisition function is maximised by Adam: the group `climb`.

    raw: Sobol candidates that are scored first.
    starts: the best candidates, from which climbs begin (jing2026lcbo, Table 1: num_starts).
    steps: Adam's steps of each climb.
    rate: the length of Adam's first step, in the unit cube (jing2026lcbo, Table 1: lr).
    """

    raw: int
    starts: int
    steps: int
    rate: float


def maximise_by_adam(
    f: Function,
    slopes: Function,
    d: int,
    rng: np.random.Generator,
    *,
    raw: int,
    starts: int,
    steps: int,
    rate: float,
) -> tuple[Array, float]:
    """The best end (d,) of all climbs on f and its value, from the best `starts` of `raw` Sobol
    candidates; slopes (q, d) of f at points (q, d).
    """
    candidates = sobol(rng, raw, d)
    values = _values(f, candidates)
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) == 0:
        raise ArithmeticError(
            f"the function is finite at none of {raw} candidates: look at the model behind it"
        )
    ends = ascend(
        lambda x: _values(slopes, x),
        candidates[finite[np.argsort(-values[finite], kind="stable")[:starts]]],
        steps=steps,
        rate=rate,
    )
    values = _values(f, ends)
    return ends[np.nanargmax(values)], float(np.nanmax(values))


def _values(f: Function, x: Array) -> Array:
    return f(torch.from_numpy(x)).numpy()
