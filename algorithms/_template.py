"""A template of a method. Copy it to algorithms/my_method.py and change what it does:
docs/add-a-method.md says how.

As it stands it works: it climbs from the best point observed so far by random steps. The leading
underscore keeps this file out of the list of methods. The first line of this docstring is the
method's line on the site, so begin with what the method is and cite the paper that defines it.
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Array, Box, Observation, Optimizer


class MyMethod(Optimizer):
    """Queries a Gaussian step away from the best observed point and shortens the step after each
    query that does not improve on it.
    """

    domains = (Box,)  # points of [0,1]^d; `(Arms,)` for the rows of a table, `(Box, Arms)` for both
    domain: Box  # what `self.domain` is, for the type checker
    # Set `constrained = True` only if the method heeds constraints: it finds them in `self.g`.

    def __init__(
        self, domain: Box, rng: np.random.Generator, *, step: float, shrink: float
    ) -> None:
        """Every parameter is keyword-only and has no default: its value stands in papers/*.yaml.

        step: the standard deviation of a step, in units of the cube's edge
        shrink: what `step` is multiplied by after a query that does not improve; in (0, 1]
        """
        super().__init__(domain, rng)  # gives self.domain, self.rng, self.x, self.y
        if step <= 0:
            raise ValueError(f"step: expected a number > 0, got {step}")
        if not 0 < shrink <= 1:
            raise ValueError(f"shrink: expected a number in (0, 1], got {shrink}")
        self.step = step
        self.shrink = shrink

    def ask(self, room: int, pending: Array) -> Array:
        """One query (1, d) inside the cube. Up to `room` rows are allowed; `pending` (p, d) holds
        the queries that are being evaluated.

        Draw with `self.rng` only, and change nothing else here: learn in `tell`.
        """
        if len(self.y) == 0:  # nothing is known yet
            return self.rng.random((1, self.domain.d))
        best = self.x[np.argmax(self.y)]  # (d,): y is maximised
        moved = best + self.step * self.rng.standard_normal((1, self.domain.d))
        query: Array = np.clip(moved, 0.0, 1.0)
        return query

    def tell(self, query: Array, obs: Observation) -> None:
        """Learn from the values `obs.y` (q,) of the points `query` (q, d)."""
        before = self.y.max(initial=-np.inf)
        super().tell(query, obs)  # appends to self.x and self.y
        if self.y.max() <= before:
            self.step *= self.shrink

    def report(self) -> dict[str, float]:
        """Numbers that each row of the record keeps beside the evaluation, for tables and plots."""
        return {"step": self.step}
