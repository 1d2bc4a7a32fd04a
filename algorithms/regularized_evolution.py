"""Regularized evolution over a table of arms with neighbours (real2019regularized, Alg. 1), as
NAS-Bench-101 runs it.

The population is what was told last: a new member always replaces the oldest one, however good it
is. With existing data it starts from the last of them, otherwise from uniform arms.
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Arms, Indices, Optimizer

WITH, WITHOUT = REPLACEMENTS = ("with", "without")


class RegularizedEvolution(Optimizer):
    """Mutates the best of a random tournament by one edit, one arm at a time.

    Use it over a table of arms with neighbours, such as architectures, for thousands of
    evaluations.
    """

    domains = (Arms,)
    domain: Arms

    def __init__(
        self,
        domain: Arms,
        rng: np.random.Generator,
        *,
        population: int,
        tournament: int,
        replacement: str,
    ) -> None:
        super().__init__(domain, rng)
        if replacement not in REPLACEMENTS:
            raise ValueError(
                f"replacement: expected {' or '.join(REPLACEMENTS)}, got {replacement!r}"
            )
        if not 1 <= tournament <= population:
            raise ValueError(
                f"expected 1 <= tournament <= population, got tournament {tournament}, population"
                f" {population}"
            )
        if domain.neighbours is None:
            raise ValueError(
                "RegularizedEvolution mutates an arm into a neighbour, and this problem's arms have"
                " none: choose another algorithm for this problem in papers/*.yaml"
            )
        self.neighbours = domain.neighbours
        self.population = population
        self.tournament = tournament
        self.replacement = replacement

    def ask(self, room: int, pending: Indices) -> Indices:
        """Uniform until the population is full, then a child of the best drawn: l. 11 to 16."""
        if len(self.y) + len(pending) < self.population or len(self.y) < self.tournament:
            return self.rng.integers(len(self.domain), size=1)
        alive = np.arange(max(len(self.y) - self.population, 0), len(self.y))
        drawn = self.rng.choice(alive, size=self.tournament, replace=self.replacement == WITH)
        parent = int(self.x[drawn[np.argmax(self.y[drawn])]])
        children = self.neighbours(parent)
        if len(children) == 0:
            return self.rng.integers(len(self.domain), size=1)
        return self.rng.choice(children, size=1)
