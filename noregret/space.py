"""Where one's own points lie, and how they are told to a method: a box in its own units, or the
rows of a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Array, Box, Domain, Indices

ROUNDING = 1e-9  # of a side: points this far outside lie on the face; see also `_rounding`
MANY = 1000  # arms, of which the median distance is taken


@dataclass(frozen=True, eq=False)
class Bounds:
    """A box: `low` and `high` (d,), in one's own units."""

    low: Array
    high: Array

    @classmethod
    def of(cls, bounds: Any) -> Bounds:
        """From pairs (low, high), one for each variable. Raises ValueError."""
        try:
            pairs = np.array(bounds, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"bounds: expected a pair (low, high) for each variable, got {bounds!r:.80}"
            ) from None
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
            raise ValueError(
                "bounds: expected a pair (low, high) for each variable, got an array of shape"
                f" {pairs.shape}"
            )
        low, high = pairs.T.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            bad = np.flatnonzero(~(np.isfinite(high - low) & (low < high)))
        if len(bad):
            i = int(bad[0])
            raise ValueError(
                f"bounds: expected finite low < high, got ({low[i]}, {high[i]}) for variable {i}"
            )
        return cls(low, high)

    @property
    def d(self) -> int:
        """How many variables there are."""
        return len(self.low)

    @property
    def domain(self) -> Domain:
        """What a method is given."""
        return Box(self.d)

    def inside(self, x: Any) -> tuple[NDArray, bool]:
        """Points (n, d) of the unit cube from one's own (n, d), and False; from (d,) one, and True.

        Raises ValueError.
        """
        points = numbers(x, "x")
        single = points.ndim == 1
        rows = np.atleast_2d(points)
        if rows.ndim != 2 or rows.shape[1] != self.d or points.ndim == 0:
            raise ValueError(
                f"x: expected a point of {self.d} numbers, or an array of shape (n, {self.d}), got"
                f" shape {points.shape}"
            )
        side = self.high - self.low
        u, slack = (rows - self.low) / side, ROUNDING + self._rounding(x) / side
        outside = np.argwhere((u < -slack) | (u > 1 + slack))
        if len(outside):
            row, i = outside[0]
            raise ValueError(
                f"x: expected points inside the bounds, got {rows[row, i]} for variable {i}, whose"
                f" bounds are ({self.low[i]}, {self.high[i]}): leave the point out, or widen the"
                " bounds"
            )
        return np.clip(u, 0.0, 1.0), single

    def _rounding(self, x: Any) -> Array:
        """How far a bound may move, (d,), where x is given in fewer digits than float64."""
        kind = np.asarray(x).dtype
        if kind.kind != "f" or kind.itemsize >= 8:
            return np.zeros(self.d)
        largest = np.maximum(np.abs(self.low), np.abs(self.high))
        return float(np.finfo(kind).eps) * largest

    def shown(self, u: NDArray) -> NDArray:
        """One's own points (n, d) from those of the unit cube."""
        return np.clip(self.low + (self.high - self.low) * u, self.low, self.high)

    def empty(self) -> NDArray:
        """No point, in the cube."""
        return np.empty((0, self.d))

    def design(self, rng: np.random.Generator, count: int) -> NDArray:
        """The first points (count, d) of a scrambled Sobol sequence: whatever `count` is, the same
        ones.
        """
        from algorithms.parts.numerics.sampling import sobol  # loads SciPy's statistics, a second

        return sobol(rng, count, self.d)

    def edge(self, which: str) -> float:
        """The lower or upper bound, if it is one for all variables; else that of the unit cube."""
        bounds = self.low if which == "low" else self.high
        equal = np.ptp(self.low) == 0 and np.ptp(self.high) == 0
        return float(bounds[0]) if equal else float(which == "high")


@dataclass(frozen=True, eq=False)
class Table:
    """Arms: the rows of `points` (A, d), in one's own units; a query is the number of a row."""

    points: Array

    @classmethod
    def of(cls, arms: Any) -> Table:
        """From a table (A, d). Raises ValueError."""
        points = numbers(arms, "arms")
        if points.ndim != 2 or 0 in points.shape:
            raise ValueError(
                "arms: expected a table of shape (rows, columns), got an array of shape"
                f" {points.shape}"
            )
        points.setflags(write=False)
        return cls(points)

    @property
    def d(self) -> int:
        """How many columns there are."""
        return self.points.shape[1]

    @property
    def domain(self) -> Domain:
        """What a method is given: columns with mean 0 and variance 1, as the tables of the papers
        (`features: z-scored`).
        """
        return Arms(self._standard())

    def inside(self, x: Any) -> tuple[NDArray, bool]:
        """Numbers of rows (n,) from numbers (n,), and False; from one number, and True.

        Raises ValueError.
        """
        rows = np.array(x)
        if rows.ndim > 1 or not np.issubdtype(rows.dtype, np.integer):
            raise ValueError(
                "x: expected the number of a row of `arms`, or an array of such numbers, got"
                f" {x!r:.80}"
            )
        if rows.size and not (rows.min() >= 0 and rows.max() < len(self.points)):
            raise ValueError(
                f"x: expected numbers of rows from 0 to {len(self.points) - 1}, got"
                f" {rows.min()} to {rows.max()}"
            )
        return np.atleast_1d(rows).astype(np.int64), rows.ndim == 0

    def shown(self, u: NDArray) -> NDArray:
        """Numbers of rows as they are."""
        return u.copy()

    def empty(self) -> NDArray:
        """No row."""
        return np.empty(0, dtype=np.int64)

    def design(self, rng: np.random.Generator, count: int) -> NDArray:
        """`count` different rows, or all of them again and again."""
        order: Indices = rng.permutation(len(self.points))
        return order[np.arange(count) % len(order)]

    def edge(self, which: str) -> float:
        """A table has no box: that of the unit cube."""
        return float(which == "high")

    def median_distance(self) -> float:
        """Between different rows of the standardised table, of evenly chosen ones where they are
        many.
        """
        rows = self._standard()[:: max(1, len(self.points) // MANY)]
        squares = (rows**2).sum(1)
        square = np.maximum(squares[:, None] + squares[None] - 2 * rows @ rows.T, 0.0)
        apart = square[square > ROUNDING]
        return float(np.sqrt(np.median(apart))) if len(apart) else 1.0

    def _standard(self) -> Array:
        spread = self.points.std(axis=0)
        return (self.points - self.points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


Space = Bounds | Table


def numbers(values: Any, what: str) -> Array:
    """Finite numbers as a float64 array of one's own. Raises ValueError."""
    try:
        found: Array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what}: expected numbers, got {values!r:.80}") from None
    if not np.isfinite(found).all():
        raise ValueError(
            f"{what}: expected finite numbers, got {values!r:.80}: if an evaluation failed, leave"
            " it out (`forget` its point)"
        )
    return found
