"""A box around the best point: it grows after successes, shrinks after failures and says when it is
spent (eriksson2019turbo, eriksson2021scbo).

The steps of eriksson2019turbo, Sec. 2, which has no numbers for them:
(1) a model of the evaluations of this region,
(2) the region: a box of volume L^d around the best of them, sides in proportion to length-scales,
(3) candidates in the region, and of each posterior draw the best one: a batch,
(4) a batch that improves on the best is a success, another one a failure,
(5) after tau_succ successes in a row L is doubled, up to L_max,
(6) after tau_fail failures in a row L is halved,
(7) a region with L < L_min is given up, and another one begins with L_init.

`Search` has (4) to (7) for every method with such a region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Indices
from algorithms.parts.numerics.sampling import position, sobol

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

    def __post_init__(self) -> None:
        if not 0 < self.shortest <= self.longest:
            raise ValueError(f"expected 0 < shortest <= longest, got {self}")

    def improves(self, value: float, best: float) -> bool:
        """Whether a value is enough above the best one to be a success."""
        return bool(value > best + self.improvement * abs(best))


@dataclass(frozen=True)
class TrustRegion:
    """Base side length within the unit cube, and what has happened since it last changed."""

    settings: RegionSettings
    success_tolerance: int
    failure_tolerance: int
    length: float
    successes: int = 0
    failures: int = 0
    restarts: int = 0

    @classmethod
    def of(cls, settings: RegionSettings, d: int, batch: int) -> TrustRegion:
        """The region with which d dimensions and batches of this size begin."""
        successes = max(settings.fewest_successes, ceil(d / settings.dims_per_success))
        failures = ceil(max(settings.patience, d) / batch)
        return cls(settings, successes, failures, settings.length)

    def after(self, success: bool) -> TrustRegion:
        """The region after a batch that succeeded or failed."""
        length, successes, failures = self.length, 0, 0
        if success and self.successes + 1 < self.success_tolerance:
            successes = self.successes + 1
        elif success:
            length = min(2.0 * length, self.settings.longest)  # Sec. 2 (5)
        elif self.failures + 1 < self.failure_tolerance:
            failures = self.failures + 1
        else:
            length = length / 2.0  # Sec. 2 (6)
        region = replace(self, length=length, successes=successes, failures=failures)
        if length >= self.settings.shortest:
            return region
        return replace(  # Sec. 2 (7)
            region, length=self.settings.length, successes=0, failures=0, restarts=self.restarts + 1
        )

    def bounds(self, centre: Array, lengthscales: Array) -> tuple[Array, Array]:
        """Corners (d,) of the box around `centre`: sides as length-scales, volume length^d."""
        sides = self.length * lengthscales / np.exp(np.log(lengthscales).mean())  # Sec. 2 (2)
        return np.clip(centre - sides / 2, 0.0, 1.0), np.clip(centre + sides / 2, 0.0, 1.0)

    def report(self) -> dict[str, float]:
        """Side length and restarts so far."""
        return {"length": self.length, "restarts": self.restarts}


@dataclass(frozen=True, eq=False)
class Turn:
    """The state from which a batch was asked for, and which evaluations have answered so far.

    A batch counts once, even if it is told in parts: with each part its answers are counted again,
    all together, from `region`.
    """

    region: TrustRegion
    low: Array  # (d,), corners of the region
    high: Array
    known: int  # evaluations before it
    answers: Indices = field(
        default_factory=lambda: np.empty(0, dtype=np.int64)
    )  # (k,), their rows

    def told(self, query: Array, first: int) -> Turn:
        """After points (q, d), rows from `first` on: those outside the region answer nothing."""
        inside = (self.low - ROUNDING <= query) & (query <= self.high + ROUNDING)
        rows = first + np.flatnonzero(inside.all(axis=1))
        return replace(self, answers=np.concatenate([self.answers, rows]))


@dataclass(frozen=True, eq=False)
class Search:
    """A region, the evaluations that are its own, and the batch that was last asked for in it.

    A success or a failure is an answer to what was asked. Data that were told before the first ask,
    or that lie outside the region that was asked, are history, however they are split up into
    tells. So is the design with which a region begins.
    """

    region: TrustRegion
    design: Array  # (k, d), what is left of a new region's design
    rest: str  # where the generator stood after the last tell
    since: int = 0  # the first evaluation of this region
    turn: Turn | None = None  # the last one that was asked for

    @classmethod
    def of(cls, settings: RegionSettings, d: int, batch: int, rng: np.random.Generator) -> Search:
        """Before anything has happened."""
        return cls(TrustRegion.of(settings, d, batch), np.empty((0, d)), position(rng))

    def asked(self, rng: np.random.Generator) -> bool:
        """Whether somebody has asked since the last tell."""
        return position(rng) != self.rest

    def within(self, corners: tuple[Array, Array], known: int) -> Search:
        """The search whose batch was asked between corners (d,), after `known` evaluations."""
        return replace(self, turn=Turn(self.region, *corners, known))

    def told(
        self,
        query: Array,
        known: int,
        succeeded: Callable[[Turn], bool | None],
        begin: Callable[[], Array] | None = None,
    ) -> Search:
        """The search after points (q, d), the last of `known` evaluations.

        `succeeded` says of a batch with answers whether it is a success, or None for neither. After
        a spent region the next one forgets and begins with the design of `begin`, if there is one.
        """
        if len(self.design):
            return replace(self, design=lacking(self.design, query))
        if self.turn is None:
            return self
        turn = self.turn.told(query, known - len(query))
        success = succeeded(turn) if len(turn.answers) else None  # Sec. 2 (4)
        region = turn.region if success is None else turn.region.after(success)
        if begin is not None and region.restarts > turn.region.restarts:
            return replace(self, region=region, design=begin(), since=known, turn=None)
        return replace(self, region=region, turn=turn)

    def resting(self, rng: np.random.Generator) -> Search:
        """The search at the end of a tell."""
        return replace(self, rest=position(rng))


def lacking(design: Array, query: Array) -> Array:
    """The rows of a design (n, d) that are not among the points (q, d), in their order."""
    told: NDArray[np.bool_] = (design[:, None] == query[None]).all(axis=2).any(axis=1)
    return design[~told]


def scattered(rng: np.random.Generator, corners: tuple[Array, Array], count: int) -> Array:
    """Sobol points (count, d) of the box between two corners (d,)."""
    low, high = corners
    return low + (high - low) * sobol(rng, count, len(low))


def perturbed(rng: np.random.Generator, centre: Array, others: Array, probability: float) -> Array:
    """The centre (d,), each coordinate taken from `others` (k, d) at random, one at least."""
    k, d = others.shape
    taken = rng.random((k, d)) <= probability
    taken[np.arange(k), rng.integers(d, size=k)] |= ~taken.any(1)  # any coordinate may be the one
    return np.where(taken, others, centre)
