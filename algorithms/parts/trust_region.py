"""A box around the best point: it grows after successes, shrinks after failures and says when it is
spent (eriksson2019turbo, eriksson2021scbo).

A success or a failure is an answer to what was asked (`Turn`); all else is history.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Indices
from algorithms.parts.sampling import sobol

GROWTH, SHRINKAGE = 2.0, 0.5  # of the side length (eriksson2019turbo, Sec. 2: doubled, halved)
ROUNDING = 1e-12  # what a query may lie outside its region


@dataclass(frozen=True)
class RegionSettings:
    """How a trust region begins and changes: the group `region`.

    length: side at first and after a restart, in units of the cube (eriksson2019turbo: L_init).
    longest: side that it never exceeds (eriksson2019turbo: L_max).
    shortest: a region shorter than this is spent (eriksson2019turbo: L_min).
    fewest_successes, dims_per_success: the region grows after max(fewest_successes, ceil(d /
        dims_per_success)) successes in a row (eriksson2021scbo: tau_s); infinite dims_per_success
        leaves fewest_successes in every dimension (eriksson2019turbo: tau_succ).
    patience: it shrinks after ceil(max(patience, d) / q) failures in a row, where q is the size of
        a batch (eriksson2019turbo: tau_fail).
    improvement: what a success must gain, as a share of the magnitude of the best value
        (eriksson2019turbo, the authors' public code).
    """

    length: float
    longest: float
    shortest: float
    fewest_successes: int
    dims_per_success: float
    patience: float
    improvement: float

    def first(self, d: int, batch: int) -> TrustRegion:
        """The region with which d dimensions and batches of this size begin."""
        return TrustRegion(
            self.length,
            self.longest,
            self.shortest,
            growth=GROWTH,
            shrinkage=SHRINKAGE,
            success_tolerance=max(self.fewest_successes, ceil(d / self.dims_per_success)),
            failure_tolerance=ceil(max(self.patience, d) / batch),
        )

    def improves(self, value: float, best: float) -> bool:
        """Whether a value is enough above the best one to be a success."""
        return bool(value > best + self.improvement * abs(best))


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


@dataclass(frozen=True)
class RestartingRegion:
    """A trust region that starts again at its first length once it is spent."""

    first: TrustRegion
    now: TrustRegion
    restarts: int = 0

    @classmethod
    def of(cls, settings: RegionSettings, d: int, batch: int) -> RestartingRegion:
        """Before anything has happened."""
        first = settings.first(d, batch)
        return cls(first, first)

    def after(self, success: bool) -> RestartingRegion:
        """After a batch that succeeded or failed."""
        now = self.now.succeeded() if success else self.now.failed()
        if now.spent:
            return replace(self, now=self.first, restarts=self.restarts + 1)
        return replace(self, now=now)

    def report(self) -> dict[str, float]:
        """Side length and restarts so far."""
        return {"length": self.now.length, "restarts": self.restarts}


@dataclass(frozen=True, eq=False)
class Turn:
    """The state from which a batch was asked for, and which evaluations have answered so far.

    A batch counts once, even if it is told in parts: with each part its answers are counted again,
    all together, from `region`.
    """

    region: RestartingRegion
    low: Array  # (d,), corners of the region
    high: Array
    known: int  # evaluations before it
    answers: Indices = field(
        default_factory=lambda: np.empty(0, dtype=np.int64)
    )  # (k,), their rows

    def told(self, query: Array, first: int) -> Turn:
        """After points (q, d), the evaluations from row `first` on: those outside the region answer
        nothing.
        """
        inside = (self.low - ROUNDING <= query) & (query <= self.high + ROUNDING)
        rows = first + np.flatnonzero(inside.all(axis=1))
        return replace(self, answers=np.concatenate([self.answers, rows]))


def lacking(design: Array, query: Array) -> Array:
    """The rows of a design (n, d) that are not among the points (q, d), in their order."""
    told: NDArray[np.bool_] = (design[:, None] == query[None]).all(axis=2).any(axis=1)
    return design[~told]


def scattered(rng: np.random.Generator, corners: tuple[Array, Array], count: int) -> Array:
    """Sobol points (count, d) of the box between two corners (d,)."""
    low, high = corners
    return low + (high - low) * sobol(rng, count, len(low))


def perturbed(rng: np.random.Generator, centre: Array, others: Array, probability: float) -> Array:
    """The centre (d,) once for each of `others` (k, d), each coordinate taken from there with some
    probability, one at least.
    """
    k, d = others.shape
    taken = rng.random((k, d)) <= probability
    taken[np.arange(k), rng.integers(d, size=k)] |= ~taken.any(1)  # any coordinate may be the one
    return np.where(taken, others, centre)
