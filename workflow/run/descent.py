"""Where a local search ends that starts at the best point of a run: in which basin the run is.

What it costs is paid by problems of a closed form alone: whoever knows an optimum exactly, has no
constraints and reads nothing from outside is evaluated in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Box
from problems.api import Problem

REACH = 0.01  # of the range of each variable: farther no round goes, so that none leaves its basin
ROUNDS = 1000
STEP = 1e-6  # of the difference quotients, with sides of length 1
OUTSIDE = ("data", "simulator", "libraries", "timeout")  # keys of problems that may take long
FLAT = 1e-9  # a gradient this small ends a round


def described(
    problem: Problem, entry: Mapping[str, Any], columns: Mapping[str, NDArray]
) -> dict[str, Any]:
    """`descent` for the header of a record: the evaluation with the best true value, and the true
    value where the search from there ends. {} on problems that are no closed forms, and without
    rows.
    """
    if not _is_closed_form(problem, entry) or not len(columns.get("true", ())):
        return {}
    best = int(np.argmax(columns["true"]))
    return {"descent": {"evaluation": best, "true": ascended(problem, columns["query"][best])}}


def ascended(problem: Problem, start: Array) -> float:
    """The true value at the local maximum to which `start` (d,) in [0,1]^d belongs.

    L-BFGS-B climbs the function without noise in rounds. Each stays within 1 % of the ranges around
    the point where it begins: free to step, the first one would be as long as the box is wide, and
    might end behind a valley. As long as rounds end at the corner that the gradient points to, the
    ranges are in proportion to it, so that the search follows the gradient; then they are equal.
    """
    from scipy.optimize import Bounds, minimize  # takes half a second, and most runs need none

    climb = _slopes(problem)
    x, value, follows = np.asarray(start, dtype=np.float64), np.inf, True
    for _ in range(ROUNDS):
        reach = _along(climb(x)[1]) if follows else np.full(len(x), REACH)
        bounds = Bounds(np.maximum(x - reach, 0.0), np.minimum(x + reach, 1.0))
        found = minimize(
            climb,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-15, "gtol": FLAT},
        )
        is_inside = np.abs(found.x - x) < reach * (1 - 1e-9)
        gained = value - found.fun
        if gained > 0:
            x, value = found.x, float(found.fun)
        if follows:
            follows = gained > 0 and not is_inside.any()
        elif is_inside.all() or not gained > 0:
            break
    return -value


def _along(slope: Array) -> Array:
    """Ranges (d,) in proportion to a gradient, the largest one REACH."""
    size = np.abs(slope)
    return np.maximum(REACH * size / size.max(), 1e-12) if size.max() > 0 else np.zeros(len(size))


def _slopes(problem: Problem) -> Callable[[Array], tuple[float, Array]]:
    """-f and its gradient at a point (d,), by central differences within the box."""
    rng = np.random.default_rng(0)  # of the noise, which nobody reads

    def at(x: Array) -> tuple[float, Array]:
        d = len(x)
        steps = STEP * np.eye(d)
        points = np.clip(np.concatenate([x[None], x + steps, x - steps]), 0.0, 1.0)
        values = -problem.evaluate(points, rng).true.y
        width = np.diagonal(points[1 : d + 1] - points[d + 1 :])
        return float(values[0]), (values[1 : d + 1] - values[d + 1 :]) / width

    return at


def _is_closed_form(problem: Problem, entry: Mapping[str, Any]) -> bool:
    """Whether an optimum is known exactly, on a box, without constraints and without anything that
    is read or run.
    """
    is_known = problem.best is not None and problem.best_kind == "exact"
    if not isinstance(problem.domain, Box) or not is_known or problem.best_at is None:
        return False
    if problem.data != "none" or any(key in entry for key in OUTSIDE):
        return False
    at = problem.evaluate(problem.best_at[:1], np.random.default_rng(0)).true
    return at.g.shape[1] == 0
