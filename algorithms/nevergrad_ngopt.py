"""NGOpt, Nevergrad's choice of an optimizer by dimension and budget (meunier2022ngopt;
bennet2021nevergrad).

Below 200 evaluations a variable that is COBYLA (powell1994cobyla), which starts at the best point
that was told and evaluates it anew. Nevergrad makes constraints a penalty on the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from types import ModuleType
from typing import Any

import numpy as np
from numpy.random import RandomState, get_state, set_state  # what Nevergrad draws with

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.feasibility import best
from algorithms.parts.numerics.optional import imported
from algorithms.parts.numerics.sampling import position


class NevergradNGOpt(Optimizer):
    """One query at a time, planned in `tell`; where it is pending, a uniform one, which the search
    hears of as of a point that it did not ask for.

    Use it if there is no noise and a query must take milliseconds.
    """

    domains = (Box,)
    domain: Box
    constrained = True

    def __init__(self, domain: Box, rng: np.random.Generator, *, horizon: int) -> None:
        """horizon: `budget`, the evaluations for which NGOpt chooses"""
        super().__init__(domain, rng)
        self.horizon, self.seed = horizon, int(rng.integers(2**32))
        self.search = Search(domain.d, horizon, self.seed)
        if "MetaModel" in self.search.choice:
            raise ValueError(
                f"NGOpt takes a meta-model for {domain.d} variables and {horizon} evaluations,"
                f" which Nevergrad cannot compute with NumPy {np.__version__}: expected another"
                " horizon"
            )
        self.planned: Array = np.empty((0, domain.d))
        self.begun = False  # whether somebody has asked for what was planned
        self.rest = position(rng)  # of the generator, after the last tell

    def ask(self, room: int, pending: Array) -> Array:
        """What was planned; one draw says to `tell` that somebody has asked."""
        uniform = self.rng.random((1, self.domain.d))
        if not len(self.planned) or (pending == self.planned).all(axis=1).any():
            return uniform
        return self.planned.copy()

    def tell(self, query: Array, obs: Observation) -> None:
        """Hand on all values, and plan after an answer.

        As long as nobody has asked, the search begins anew, so that it starts at the best of all
        that was told.
        """
        super().tell(query, obs)
        asked = len(self.planned) > 0 and position(self.rng) != self.rest
        self.begun = self.begun or asked
        if not self.begun:
            self.search = Search(self.domain.d, self.horizon, self.seed)
            self.planned = self.planned[:0]
            query, obs = self.x, Observation(self.y, self.g, self.factor_values)
        for x, y, g in zip(query, obs.y, obs.g, strict=True):
            told = Told(x.tobytes(), -float(y), tuple(g.tolist()))
            if len(self.planned) and np.array_equal(x, self.planned[0]):
                self.search.answer(told)
                self.planned = self.planned[:0]
            else:
                self.search.inform(told)
        if not len(self.planned):
            self.planned = self.search.ask()[None]
        self.rest = position(self.rng)

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]


@dataclass(frozen=True)
class Told:
    """A point, as bytes, with its value, to be minimised, and its constraints."""

    x: bytes
    loss: float
    violations: tuple[float, ...]


class Search:
    """NGOpt on the unit cube of d dimensions, with a seed.

    COBYLA and others of its kind run in a thread, which no pickle can hold: a pickle holds what was
    told, and all of it is told again where it is read.
    """

    def __init__(self, d: int, horizon: int, seed: int) -> None:
        ng = _nevergrad()
        self.made = d, horizon, seed
        self.log: list[tuple[str, Told | None]] = []  # what was called, in order
        self.numbers = RandomState(seed).get_state()
        with self._numbers():
            cube = ng.p.Array(shape=(d,), lower=0.0, upper=1.0)
            cube.random_state = RandomState(seed)
            self.ngopt = ng.optimizers.NGOpt(cube, budget=horizon, num_workers=1)
        self.candidate: Any = None

    @property
    def choice(self) -> str:
        """The name of the optimizer that NGOpt takes."""
        return str(self.ngopt.optim.name)

    def ask(self) -> Array:
        """The next point (d,)."""
        self.log.append(("ask", None))
        # Threads that a daemon starts are daemons too: none of them, waiting for a value that never
        # comes, holds up the end of the program.
        with self._numbers(), ThreadPool(1) as daemon:
            self.candidate = daemon.apply(self.ngopt.ask)
        return np.clip(np.asarray(self.candidate.value, dtype=float), 0.0, 1.0)

    def answer(self, told: Told) -> None:
        """What was asked for showed this."""
        self.log.append(("answer", told))
        self._tell(self.candidate, told)

    def inform(self, told: Told) -> None:
        """A point that was not asked for showed this."""
        self.log.append(("inform", told))
        point = self.ngopt.parametrization.spawn_child(new_value=np.frombuffer(told.x))
        self._tell(point, told)

    def _tell(self, candidate: Any, told: Told) -> None:
        with self._numbers():
            self.ngopt.tell(candidate, told.loss, list(told.violations) or None)

    @contextmanager
    def _numbers(self) -> Iterator[None]:
        """NumPy's global generator in a state of our own: spaces and CMA-ES draw from that."""
        theirs = get_state()  # noqa: NPY002
        set_state(self.numbers)  # noqa: NPY002
        try:
            yield
        finally:
            self.numbers = get_state()  # noqa: NPY002
            set_state(theirs)  # noqa: NPY002

    def __reduce__(self) -> tuple[Callable[..., Search], tuple[Any, ...]]:
        return _again, (self.made, tuple(self.log))


def _again(made: tuple[int, int, int], log: tuple[tuple[str, Told | None], ...]) -> Search:
    """A search that was asked and told all of this."""
    search = Search(*made)
    for name, told in log:
        getattr(search, name)(*([] if told is None else [told]))
    return search


def _nevergrad() -> ModuleType:
    return imported("nevergrad", "NGOpt")
