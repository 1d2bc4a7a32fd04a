"""The control of a method that does not move: every query is the best point observed so far, from
an initial design on the best of its points, again and again.
"""

from __future__ import annotations

from algorithms.api import Array, Box, Optimizer
from algorithms.parts.numerics.sampling import uniform


class BestObserved(Optimizer):
    """Repeats the best observed query; before there is one it draws uniformly.

    Use it as the control of a method that starts where the values were best: whoever learns
    something ends below its regret.
    """

    domains = (Box,)
    domain: Box

    def ask(self, room: int, pending: Array) -> Array:
        """The best observed query."""
        return self.recommend() if len(self.y) else uniform(self.rng, 1, self.domain.d)
