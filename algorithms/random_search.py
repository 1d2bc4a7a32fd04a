"""Uniform random search: the denominator of every regret ratio, and the control of every figure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Box, Optimizer


class RandomSearch(Optimizer):
    """Draws each query uniformly, arms with replacement; told constraints are ignored.

    Use it as the control of every comparison.
    """

    domains = (Box, Arms)
    constrained = True

    def ask(self, room: int, pending: NDArray) -> NDArray:
        """One uniform query."""
        if isinstance(self.domain, Arms):
            return self.rng.integers(len(self.domain), size=1)
        return self.rng.random((1, self.domain.d))

    def recommend(self) -> NDArray:
        """The best observed query among the feasible ones, or among all where none is feasible."""
        feasible = (
            (self.g <= 0).all(axis=1) if self.g.shape[1] else np.ones(len(self.y), dtype=bool)
        )
        return self.x[np.argmax(np.where(feasible | ~feasible.any(), self.y, -np.inf))][None]
