"""Rules that turn gradients into steps, one after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from algorithms.api import Array


class Gradient:
    """Steps of a fixed rate along the gradient."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def step(self, gradient: Array) -> Array:
        """What to add to climb (or to take away to descend)."""
        return self.rate * gradient


class Adam:
    """Adam's steps with its usual constants (kingma2015adam)."""

    def __init__(self, rate: float) -> None:
        self.rate, self.t = rate, 0
        self.first = self.second = np.zeros(1)

    def step(self, gradient: Array) -> Array:
        """What to add to climb (or to take away to descend)."""
        self.t += 1
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.999 * self.second + 0.001 * gradient**2
        return (
            self.rate
            * (self.first / (1 - 0.9**self.t))
            / (np.sqrt(self.second / (1 - 0.999**self.t)) + 1e-8)
        )


def ascend(
    slopes: Callable[[Array], Array],
    x: Array,
    *,
    steps: int,
    rate: float,
    low: Array | float = 0.0,
    high: Array | float = 1.0,
) -> Array:
    """Where so many of Adam's steps up these slopes end that begin at x (any shape).

    Each step ends between low and high. Adam's moments are those of single numbers, so that climbs
    in lockstep are as independent as climbs one by one.
    """
    adam = Adam(rate)
    for _ in range(steps):
        x = np.clip(x + adam.step(slopes(x)), low, high)
    return x
