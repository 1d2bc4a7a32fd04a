"""Where one's own points lie, and how they are told to a method: a box in its own units, or the
rows of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Array, Box, Domain, Indices
from noregret.variables import Variable, numbers

ROUNDING = 1e-9  # of a side: points this far outside lie on the face; see also `_rounding`
MANY = 1000  # arms, of which the median distance is taken
WHOLE = 1e-6  # so far a told number may lie from the whole one that it is
WIDEST = 1e150  # what differs by more, or by less than its inverse, has no square


@dataclass(frozen=True)
class Bounds:
    """A box of d variables in one's own units, and the names of these if they have any."""

    variables: tuple[Variable, ...]
    names: tuple[str, ...] = ()
    kind = "box"  # the domain in the catalogue

    @classmethod
    def of(cls, bounds: Any) -> Bounds:
        """From a list of variables and pairs (low, high), a mapping of names to these, or SciPy's
        Bounds. Raises ValueError.
        """
        names: tuple[Any, ...] = tuple(bounds) if isinstance(bounds, Mapping) else ()
        if names:
            bounds = list(bounds.values())
        elif hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            bounds = np.column_stack(np.broadcast_arrays(bounds.lb, bounds.ub))
        if isinstance(bounds, str) or not hasattr(bounds, "__iter__") or not (pairs := [*bounds]):
            raise ValueError(
                "bounds: expected a pair (low, high) for each variable, or a mapping of names to"
                f" pairs, got {bounds!r:.80}"
            )
        variables = []
        for i, one in enumerate(pairs):
            try:
                variables.append(Variable.of(one))
            except ValueError as error:
                where = repr(names[i]) if names else i
                raise ValueError(f"bounds: {error} for variable {where}") from None
        if not names and any(one.values for one in variables):
            raise ValueError(
                "bounds: expected a mapping of names to variables, since one is a choice, got a"
                ' list: {"kind": noregret.choice([...]), ...}'
            )
        if any(not isinstance(name, str) for name in names):
            raise ValueError(f"bounds: expected texts as names of variables, got {names!r:.80}")
        return cls(tuple(variables), names)

    @classmethod
    def saved(cls, fields: Mapping[str, Any]) -> Bounds:
        """From what `dataclasses.asdict` gives, as JSON keeps it. Raises ValueError."""
        variables = (Variable.saved(one) for one in fields["variables"])
        return cls(tuple(variables), tuple(fields["names"]))

    @property
    def d(self) -> int:
        """How many variables there are."""
        return len(self.variables)

    @property
    def domain(self) -> Domain:
        """What a method is given."""
        return Box(sum(one.columns for one in self.variables))

    @property
    def is_rounded(self) -> bool:
        """Whether there are whole numbers or choices, so that points may coincide."""
        return any(one.whole for one in self.variables)

    @property
    def whole(self) -> NDArray:
        """Which columns of the cube belong to whole numbers and choices."""
        columns = [one.columns for one in self.variables]
        return np.repeat([one.whole for one in self.variables], columns)

    def read(self, x: Any) -> tuple[Array, bool]:
        """Numbers (n, d) of points of one's own, and whether it was one point. Raises ValueError.

        x: (d,) or (n, d); of named variables a mapping, a list of mappings, or a DataFrame.
        """
        points = self._of_names(x) if self.names else numbers(x, "x")
        single = points.ndim == 1
        rows = np.atleast_2d(points)
        if rows.ndim != 2 or rows.shape[1] != self.d or points.ndim == 0:
            raise ValueError(
                f"x: expected a point of {self.d} numbers, or an array of shape (n, {self.d}), got"
                f" shape {points.shape}"
            )
        low, high = np.array([(one.low, one.high) for one in self.variables]).T
        slack = ROUNDING * (high - low) + self._rounding(x, low, high)
        outside = np.argwhere((rows < low - slack) | (rows > high + slack))
        if len(outside):
            row, i = outside[0]
            raise ValueError(
                f"x: expected points inside the bounds, got {rows[row, i]} for variable"
                f" {self._label(i)}, whose bounds are ({low[i]}, {high[i]}): leave the point out,"
                " or widen the bounds"
            )
        whole = np.array([one.whole for one in self.variables])
        rounded = np.where(whole, np.round(rows), rows)
        if len(broken := np.argwhere(np.abs(rows - rounded) > WHOLE)):
            row, i = broken[0]
            raise ValueError(
                f"x: expected a whole number of variable {self._label(i)}, got {rows[row, i]}"
            )
        return np.clip(rounded, low, high), single

    def inside(self, x: Array) -> NDArray:
        """Where numbers (n, d) lie in the cube."""
        return np.concatenate(
            [one.place(column) for one, column in zip(self.variables, x.T, strict=True)], axis=1
        )

    def outside(self, u: NDArray) -> Array:
        """Numbers (n, d) of points of the cube."""
        columns = zip(self.variables, self._parts(u), strict=True)
        return np.column_stack([one.number(part) for one, part in columns])

    def rounded(self, u: NDArray) -> NDArray:
        """Points of the cube as they are evaluated: whole numbers in the middle of their interval,
        choices made.
        """
        if not self.is_rounded:
            return u
        columns = zip(self.variables, self._parts(u), strict=True)
        return np.concatenate(
            [one.place(one.number(part)) if one.whole else part for one, part in columns], axis=1
        )

    def shown(self, x: Array) -> Any:
        """Points as they are handed out: numbers (n, d), or of named variables a list of dicts."""
        return [self.shown_one(row) for row in x] if self.names else x.copy()

    def shown_one(self, x: Array) -> Any:
        """A point as it is handed out: numbers (d,), or a dict."""
        if not self.names:
            return x.copy()
        return {
            name: one.shown(value)
            for name, one, value in zip(self.names, self.variables, x, strict=True)
        }

    def empty(self) -> NDArray:
        """No point, in the cube."""
        return np.empty((0, sum(one.columns for one in self.variables)))

    def design(self, rng: np.random.Generator, count: int) -> NDArray:
        """The first points of a scrambled Sobol sequence: whatever `count` is, the same ones."""
        from algorithms.parts.numerics.sampling import sobol  # loads SciPy's statistics, a second

        return self.rounded(sobol(rng, count, self.empty().shape[1]))

    def edge(self, which: str) -> float:
        """The lower or upper bound, if it is one for all variables; else that of the unit cube."""
        one = self.variables[0]
        same = not one.log and not one.whole and self.variables == (one,) * self.d
        return (one.low if which == "low" else one.high) if same else float(which == "high")

    def _parts(self, u: NDArray) -> list[NDArray]:
        """The columns of each variable."""
        ends = np.cumsum([one.columns for one in self.variables])
        return np.split(u, ends[:-1], axis=1)

    def _label(self, i: int) -> str:
        return repr(self.names[i]) if self.names else str(i)

    def _of_names(self, x: Any) -> Array:
        """Numbers of mappings, (d,) of one or (n, d) of several. Raises ValueError."""
        if hasattr(x, "to_dict"):  # a DataFrame, or a row of one
            x = x.to_dict("records") if hasattr(x, "columns") else x.to_dict()
        points = [x] if isinstance(x, Mapping) else list(x) if isinstance(x, Iterable) else [x]
        rows = np.empty((len(points), self.d))
        for row, point in zip(rows, points, strict=True):
            if not isinstance(point, Mapping) or {*point} != {*self.names}:
                raise ValueError(
                    f"x: expected a mapping of {', '.join(self.names)} to values, got {point!r:.80}"
                )
            for i, (name, one) in enumerate(zip(self.names, self.variables, strict=True)):
                try:
                    row[i] = one.position(point[name]) if one.values else point[name]
                except (TypeError, ValueError) as error:
                    raise ValueError(f"x: {error} for variable {name!r}") from None
        rows = numbers(rows, "x")
        return rows[0] if isinstance(x, Mapping) else rows

    def _rounding(self, x: Any, low: Array, high: Array) -> Array:
        """How far a bound may move, (d,), where x is given in fewer digits than float64."""
        kind = getattr(np.asarray(x), "dtype", None)
        if kind is None or kind.kind != "f" or kind.itemsize >= 8:
            return np.zeros(self.d)
        return float(np.finfo(kind).eps) * np.maximum(np.abs(low), np.abs(high))


@dataclass(frozen=True, eq=False)
class Table:
    """Arms: the rows of `points` (A, d), in one's own units; a query is the number of a row."""

    points: Array
    kind = "arms"

    @classmethod
    def of(cls, arms: Any) -> Table:
        """From a table (A, d). Raises ValueError."""
        points = numbers(arms, "arms")
        if points.ndim != 2 or 0 in points.shape:
            raise ValueError(
                "arms: expected a table of shape (rows, columns), got an array of shape"
                f" {points.shape}"
            )
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            spread, varies = points.std(axis=0), points.min(axis=0) < points.max(axis=0)
        wrong = varies & ~((spread > 1 / WIDEST) & (spread < WIDEST))
        if wrong.any():
            raise ValueError(
                f"arms: expected columns whose values differ by {1 / WIDEST:g} to {WIDEST:g},"
                f" column {int(np.argmax(wrong))} has others: give it in other units"
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

    is_rounded = False
    whole = np.array([True])

    def read(self, x: Any) -> tuple[NDArray, bool]:
        """Numbers of rows (n,), and whether it was one number. Raises ValueError."""
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

    def inside(self, x: NDArray) -> NDArray:
        """Numbers of rows as they are."""
        return x

    outside = rounded = inside

    def shown(self, x: NDArray) -> NDArray:
        """Numbers of rows (n,)."""
        return x.copy()

    def shown_one(self, x: NDArray) -> int:
        """The number of a row."""
        return int(x)

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
