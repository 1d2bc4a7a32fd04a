"""Maximum of a function of points in the unit cube by Adam (kingma2015adam): score many candidates,
climb from the best few.

Adam's moments and steps are those of single coordinates, so that climbs in lockstep are as
independent as climbs one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from algorithms.api import Array
from algorithms.parts.maximise import Function
from algorithms.parts.sampling import sobol
from algorithms.parts.steps import Adam


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
        slopes,
        candidates[finite[np.argsort(-values[finite], kind="stable")[:starts]]],
        steps=steps,
        rate=rate,
    )
    values = _values(f, ends)
    return ends[np.nanargmax(values)], float(np.nanmax(values))


def ascend(slopes: Function, x: Array, *, steps: int, rate: float) -> Array:
    """Where so many steps along these slopes end that begin at x (s, d) and stay in the unit cube,
    (s, d).
    """
    adam = Adam(rate)
    for _ in range(steps):
        x = np.clip(x + adam.step(slopes(torch.from_numpy(x)).numpy()), 0.0, 1.0)
    return x


def _values(f: Function, x: Array) -> Array:
    return f(torch.from_numpy(x)).numpy()
