"""A box around the best point: it grows after successes, shrinks after failures and says when it is
spent (eriksson2019turbo).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from algorithms.api import Array


@dataclass(frozen=True)
class TrustRegion:
    """Base side length within the unit cube, what has happened since it last changed, and the rules
    of change.
    """

    length: float
    longest: float
    shortest: float
    growth: float  # factor after `success_tolerance` successes in a row
    shrinkage: float  # factor after `failure_tolerance` failures in a row
    success_tolerance: int
    failure_tolerance: int
    successes: int = 0
    failures: int = 0

    def __post_init__(self) -> None:
        if not (0 < self.shortest <= self.longest and self.growth > 1 > self.shrinkage > 0):
            raise ValueError(
                f"expected 0 < shortest <= longest and growth > 1 > shrinkage > 0, got {self}"
            )

    @property
    def spent(self) -> bool:
        """Whether it is shorter than allowed: time for another region elsewhere."""
        return self.length < self.shortest

    def succeeded(self) -> TrustRegion:
        """After a batch that improved on the best value."""
        region = replace(self, successes=self.successes + 1, failures=0)
        if region.successes < self.success_tolerance:
            return region
        return replace(region, length=min(self.growth * self.length, self.longest), successes=0)

    def failed(self) -> TrustRegion:
        """After a batch that did not."""
        region = replace(self, successes=0, failures=self.failures + 1)
        if region.failures < self.failure_tolerance:
            return region
        return replace(region, length=self.shrinkage * self.length, failures=0)

    def bounds(self, centre: Array, lengthscales: Array) -> tuple[Array, Array]:
        """Corners (d,), (d,) of the box around `centre`, its sides in proportion to the
        length-scales, its volume length^d.
        """
        sides = self.length * lengthscales / np.exp(np.log(lengthscales).mean())
        return np.clip(centre - sides / 2, 0.0, 1.0), np.clip(centre + sides / 2, 0.0, 1.0)


def perturbed(rng: np.random.Generator, centre: Array, others: Array, probability: float) -> Array:
    """The centre (d,) once for each of `others` (k, d), each coordinate taken from there with some
    probability, one at least.
    """
    k, d = others.shape
    taken = rng.random((k, d)) <= probability
    taken[np.arange(k), rng.integers(d, size=k)] |= ~taken.any(1)  # any coordinate may be the one
    return np.where(taken, others, centre)
