"""A loss that is far from convex and yet grows as liu2023goucb asks: Assumption 3.3, drawn in its
Figure 1.

The paper prints no formula for the loss that it draws; this is one of our own, over one parameter.
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Array
from problems.api import Problem
from workflow.studies.paired import Columns


def run(
    seed: int,
    problem: Problem,
    *,
    centre: float,
    mu: float,
    tau: float,
    gamma: float,
    waves: float,
    height: float,
    points: int,
) -> Columns:
    """One row a parameter w in [0,1]: the loss, both lower bounds and the smaller one. Nothing is
    drawn at random.

    The loss is that smaller one plus waves of the given number and height, which vanish as |w -
    centre|^4 at its optimum.
    """
    w = np.linspace(0.0, 1.0, points)
    distance = np.abs(w - centre)
    quadratic, growth = mu / 2 * distance**2, tau / 2 * distance**gamma  # Assumption 3.3
    lower = np.minimum(quadratic, growth)
    radius = (tau / mu) ** (1 / (2 - gamma))  # within it the quadratic bound is the smaller one
    return {
        "w": w,
        "loss": lower + height * _waves(distance, radius, waves),
        "strong_convexity": quadratic,
        "growth": growth,
        "lower_bound": lower,
    }


def _waves(distance: Array, radius: float, waves: float) -> Array:
    """Never negative, of the order of distance^4 within the radius, up to 1 beyond it."""
    near = np.minimum(distance / radius, 1.0) ** 2
    swing: Array = near * np.sin(np.pi * waves * distance) ** 2
    return swing
