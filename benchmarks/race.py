"""Two sides of the same work, timed in turns: A B A B, on one thread, in CPU seconds.

A machine that others use slows both sides alike, so that their ratio means more than either time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

# Called, it prepares what is not timed and returns what is.
Setup = Callable[[], Callable[[], object]]
Size = Mapping[str, int]  # n, d, A, u, t: what the work depends on, by its letter

SHORT = 5e-3  # a turn lasts at least so many seconds, by repetition: clocks tick
FEWEST, MOST = 3, 11  # turns of a side


@dataclass(frozen=True)
class Work:
    """One thing that we and a peer can do.

    same: what is the same on both sides, and what is not, in words.
    """

    name: str
    sizes: Sequence[Size]
    ours: Callable[[Size], Setup]
    same: str
    peer: str
    theirs: Callable[[Size], Setup]


def along(letter: str, values: Sequence[int], **others: int) -> list[Size]:
    """Sizes that differ in one letter."""
    return [{letter: value, **others} for value in values]


def once(step: Callable[[], object]) -> Setup:
    """A step that has nothing to prepare."""
    return lambda: step


@dataclass(frozen=True)
class Spread:
    """CPU seconds of one side: the median of its turns, the least and the largest."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g} to {self.high:.3g})"


def race(sides: Sequence[Setup], *, seconds: float) -> list[Spread]:
    """CPU seconds of each side. The sides take turns until both have spent so many seconds, but at
    least FEWEST times and at most MOST.

    A first turn of each side is not counted: it loads what is loaded late, and says how often a
    short side is repeated within a turn.
    """
    first = [_spent(side, 1) for side in sides]
    repeats = [max(1, ceil(SHORT / max(spent, 1e-7))) for spent in first]
    taken: list[list[float]] = [[] for _ in sides]
    began = time.process_time()
    while len(taken[0]) < FEWEST or (
        len(taken[0]) < MOST and time.process_time() - began < seconds
    ):
        for side, often, column in zip(sides, repeats, taken, strict=True):
            column.append(_spent(side, often))
    return [Spread(median(column), min(column), max(column)) for column in taken]


def _spent(side: Setup, often: int) -> float:
    """CPU seconds of one repetition."""
    prepared = [side() for _ in range(often)]
    began = time.process_time()
    for run in prepared:
        run()
    return (time.process_time() - began) / often
