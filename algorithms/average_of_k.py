"""The control of a query that is a mean: random search where every query is the mean of k uniform
points.

bardou2024dumbo's query is the mean of the candidates of k decompositions (eq. (16)), which draws it
to the centre of the box, where the optimum of some test functions is. This does the same with no
model at all.
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Array, Box, Optimizer
from algorithms.parts.numerics.sampling import uniform


class AverageOfK(Optimizer):
    """Draws each query as the mean of `k` independent uniform points; what it is told is kept and
    not used.

    Use it as the control of a method whose query is a mean.
    """

    domains = (Box,)
    domain: Box

    def __init__(self, domain: Box, rng: np.random.Generator, *, k: int) -> None:
        super().__init__(domain, rng)
        if k < 1:
            raise ValueError(f"k: expected 1 point or more, got {k}")
        self.k = k

    def ask(self, room: int, pending: Array) -> Array:
        """One mean."""
        return uniform(self.rng, self.k, self.domain.d).mean(axis=0, keepdims=True)
