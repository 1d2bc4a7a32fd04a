"""What a problem offers: a domain, one evaluation function, and what is known about its optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Domain, Observation

EMPTY: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Display:
    """How people want to see the objective: its name, its unit, and the sign that undoes a flip to
    maximisation.
    """

    label: str = "objective"
    unit: str = ""
    sign: int = 1


PLAIN = Display()


@dataclass(frozen=True)
class Evaluation:
    """One simulation gives all of it: what the optimizer is told, what scores it, what it cost.

    `true` is noiseless where that exists, else equal to `seen`; `seconds` (q,) is the simulated
    cost of this draw.
    """

    seen: Observation
    true: Observation
    seconds: Array


def constrained(values: Array) -> Observation:
    """y, column 0 of values (q, 1 + m), and g, the others."""
    return Observation(values[:, 0], values[:, 1:], np.empty((len(values), 0)))


@dataclass(frozen=True)
class Problem:
    """An objective with its domain. `best` is its (feasible) optimum, `best_kind` says how it is
    known.

    `data` is "none", "real" or "substitute: ..." and travels into record, figure and verdict;
    `reveals` holds what an optimizer may be given by name.
    """

    domain: Domain
    evaluate: Callable[[NDArray, np.random.Generator], Evaluation]
    best: float | None = None
    best_kind: str = "exact"
    best_at: NDArray | None = None
    reveals: Mapping[str, object] = field(default_factory=lambda: EMPTY)
    display: Display = PLAIN
    data: str = "none"
    data_sha256: str = ""
