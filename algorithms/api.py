"""The nouns that every optimizer and every problem share.

Conventions: maximise y; feasible means g <= 0; optimizers live in [0,1]^d or on the rows of a
table; X is (n, d), y is (n,), g is (n, m), all float64; randomness is an argument.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Box:
    """The unit cube [0,1]^d; a query is a float array of shape (q, d)."""

    d: int


@dataclass(frozen=True, eq=False)
class Arms:
    """A finite set of candidates, the rows of `points` (A, d); a query is integers (q,)."""

    points: Array
    neighbours: Callable[[int], Indices] | None = None

    def __len__(self) -> int:
        return len(self.points)


Domain = Box | Arms


@dataclass(frozen=True)
class Observation:
    """What q queries showed: y (q,) to maximise, g (q, m) feasible where <= 0, factor_values (q,
    n).
    """

    y: Array
    g: Array
    factor_values: Array

    @classmethod
    def of(cls, y: Array) -> Observation:
        """An unconstrained observation whose factors, if any, stay hidden."""
        return cls(y, np.empty((len(y), 0)), np.empty((len(y), 0)))

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: slice) -> Observation:
        return Observation(self.y[rows], self.g[rows], self.factor_values[rows])


class Optimizer(ABC):
    """Chooses queries (`ask`) and learns from what they showed (`tell`).

    An optimizer never sees the objective, the end of the budget, a path, a plot or a log.
    Subclasses add keyword-only parameters without defaults for whatever a paper chooses.
    """

    domains: ClassVar[tuple[type, ...]]
    constrained: ClassVar[bool] = False

    def __init__(self, domain: Domain, rng: np.random.Generator) -> None:
        if not isinstance(domain, self.domains):
            expected = " or ".join(kind.__name__ for kind in self.domains)
            raise TypeError(
                f"{type(self).__name__} works on {expected}, got {type(domain).__name__}: "
                "choose another algorithm for this problem in papers/*.yaml"
            )
        self.domain = domain
        self.rng = rng
        self.x: NDArray = (
            np.empty((0, domain.d)) if isinstance(domain, Box) else np.empty(0, dtype=np.int64)
        )
        self.y: Array = np.empty(0)
        self.g: Array = np.empty((0, 0))
        self.factor_values: Array = np.empty((0, 0))

    @abstractmethod
    def ask(self, room: int, pending: NDArray) -> NDArray:
        """Choose 1..room queries; `room` counts the free parallel slots, `pending` are asked and
        not yet told.

        Changes nothing but the generator: asked twice with the generator restored, it answers the
        same.
        """

    def tell(self, query: NDArray, obs: Observation) -> None:
        """Append what `query` showed. Override to learn: call super() first."""
        first = len(self.y) == 0
        self.x = np.concatenate([self.x, query])
        self.y = np.concatenate([self.y, obs.y])
        self.g = obs.g.copy() if first else np.concatenate([self.g, obs.g])
        self.factor_values = (
            obs.factor_values.copy()
            if first
            else np.concatenate([self.factor_values, obs.factor_values])
        )

    def report(self) -> dict[str, float]:
        """Diagnostics of the state from which the next query will be chosen; pure."""
        return {}

    def recommend(self) -> NDArray:
        """The query (1 row) it would return now: by default the best observed one."""
        return self.x[np.argmax(self.y)][None]
