"""Kinds of variables: real numbers, whole numbers and choices, and where they lie in the cube.

A method sees the unit cube. A number is one column of it, on a logarithmic scale if that is asked
for. A whole number has an interval of its own, of which a method is told the middle. A choice of
two is a whole number; a choice of more has a column for each value, the largest of which counts.
So a method always knows the very point that was evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.api import Array


@dataclass(frozen=True)
class Variable:
    """One variable, in numbers from `low` to `high`: of a choice, positions in its `values`."""

    low: float
    high: float
    log: bool = False
    whole: bool = False
    values: tuple[Any, ...] = ()

    @property
    def columns(self) -> int:
        """Columns of the cube."""
        return len(self.values) if len(self.values) > 2 else 1

    def number(self, u: Array) -> Array:
        """Numbers (n,) from columns of the cube (n, columns)."""
        if self.columns > 1:
            return u.argmax(axis=1).astype(np.float64)
        low, high = self._edges
        value = low + (high - low) * u[:, 0]
        value = np.exp(value) if self.log else value
        return np.clip(np.round(value) if self.whole else value, self.low, self.high)

    def place(self, numbers: Array) -> Array:
        """The inverse of `number`, (n, columns)."""
        if self.columns > 1:
            return np.eye(self.columns)[numbers.astype(int)]
        low, high = self._edges
        u = ((np.log(numbers) if self.log else numbers) - low) / (high - low)
        return np.clip(u, 0.0, 1.0)[:, None]

    def position(self, value: Any) -> int:
        """Where a value of a choice stands. Raises ValueError."""
        value = _plain(value)
        for position, known in enumerate(self.values):
            if type(value) is type(known) and value == known:
                return position
        if value in self.values:  # 1.0 is 1
            return self.values.index(value)
        raise ValueError(f"expected one of {self.values!r:.200}, got {value!r:.80}")

    def shown(self, number: float) -> Any:
        """A value of one's own from its number."""
        if self.values:
            return self.values[int(number)]
        return int(number) if self.whole else float(number)

    @classmethod
    def of(cls, given: Any) -> Variable:
        """Itself, or a pair (low, high). Raises ValueError."""
        if isinstance(given, Variable):
            return given
        pair = converted(given)
        if pair is None or pair.shape != (2,):
            raise ValueError(
                "expected a pair (low, high) for each variable, or real, integer or choice, got"
                f" {shortened(given)}"
            )
        return real(*pair)

    @classmethod
    def saved(cls, fields: Mapping[str, Any]) -> Variable:
        """From what `dataclasses.asdict` gives, as JSON keeps it."""
        return cls(**{**fields, "values": _plain(fields["values"])})

    @property
    def _edges(self) -> tuple[float, float]:
        half = 0.5 if self.whole else 0.0
        low, high = self.low - half, self.high + half
        return (float(np.log(low)), float(np.log(high))) if self.log else (low, high)


def real(low: float, high: float, *, log: bool = False) -> Variable:
    """A real number; with `log` on a logarithmic scale. Raises ValueError."""
    edges = converted((low, high))
    if edges is None or edges.shape != (2,):
        raise ValueError(f"expected numbers low < high, got {shortened((low, high))}")
    first, last = map(float, edges)
    if not first < last or not np.isfinite(last - first):
        raise ValueError(f"expected finite low < high, got ({first}, {last})")
    if log and first <= 0:
        raise ValueError(f"expected a bound above 0 for log=True, got ({first}, {last})")
    return Variable(first, last, log=bool(log))


def integer(low: int, high: int, *, log: bool = False) -> Variable:
    """A whole number from `low` to `high`, both included; `log` as in `real`. Raises ValueError."""
    variable = real(low, high, log=log)
    if not (variable.low.is_integer() and variable.high.is_integer()):
        raise ValueError(f"expected whole numbers, got ({low!r:.80}, {high!r:.80})")
    return Variable(variable.low, variable.high, log=variable.log, whole=True)


def choice(values: Sequence[Any]) -> Variable:
    """One of several values without an order: texts, numbers, or tuples of these.

    Raises ValueError.
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(f"choice: expected a list of values, got {values!r:.80}")
    plain = _plain(list(values))
    if len(plain) < 2 or any(one in plain[:i] for i, one in enumerate(plain)):
        raise ValueError(f"choice: expected different values, two or more, got {values!r:.80}")
    return Variable(0.0, float(len(plain) - 1), whole=True, values=plain)


def numbers(values: Any, what: str) -> Array:
    """Finite real numbers as a float64 array of one's own. Raises ValueError."""
    number = converted(values)
    if number is None:
        raise ValueError(f"{what}: expected numbers, got {shortened(values)}")
    if not np.isfinite(number).all():
        raise ValueError(
            f"{what}: expected finite numbers, got {shortened(values)}: if an evaluation failed,"
            " leave it out (`forget` its point)"
        )
    return number


def converted(values: Any) -> Array | None:
    """Real numbers, infinity and NaN among them; None if these are others."""
    try:
        if hasattr(values, "detach"):  # a tensor of PyTorch
            values = values.detach().cpu().numpy()
        if _is_masked(values):
            return None
        raw = np.array(values)
        if raw.dtype.kind not in "biufO":
            return None
        if raw.dtype.kind == "O" and any(isinstance(one, UNREAL) for one in raw.flat):
            return None
        return raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None


# what NumPy would turn into a number
UNREAL = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)


def shortened(value: Any) -> str:
    """What somebody gave, in at most 80 letters."""
    try:
        return f"{value!r:.80}"
    except (ValueError, RuntimeError, TypeError, AttributeError):  # such as more than 4300 digits
        return f"a {type(value).__name__}"


def _is_masked(values: Any) -> bool:
    inside = values if isinstance(values, list | tuple) else [values]
    return any(np.ma.is_masked(one) for one in inside)


def _plain(value: Any) -> Any:
    """A value that compares and that a file can hold: lists as tuples, NumPy's as Python's."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value
