"""CMA-ES, the evolution strategy that adapts the covariance of its steps, as pycma has it
(hansen2016tutorial; hansen2019pycma).

The strategy starts at the best point of what was told before anybody asked it. It lives on ask and
tell: a generation is drawn whole, handed out as there is room, and told once its last value is
there. Where pycma's criteria stop it, it begins again at the same point with a larger population
(auger2005ipop), as `cma.fmin2(restarts=...)` does. With constraints the values are those of pycma's
augmented Lagrangian (atamna2017lagrangian; `cma.ConstrainedFitnessAL`), as in `cma.fmin_con2`.
"""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import numpy as np

from algorithms.api import Array, Box, Indices, Observation, Optimizer
from algorithms.parts.numerics.feasibility import best
from algorithms.parts.numerics.optional import imported
from algorithms.parts.numerics.sampling import position

OPEN = -1  # of a point of the generation that has no value yet


class PyCMA(Optimizer):
    """Points of the present generation; where all of them are pending, further draws from its
    distribution, which it learns nothing from.

    Use it if a query must take a millisecond or two.
    """

    domains = (Box,)
    domain: Box
    constrained = True

    def __init__(
        self, domain: Box, rng: np.random.Generator, *, sigma: float, growth: float
    ) -> None:
        """sigma: the first standard deviation, in units of the cube's edge (hansen2016tutorial: 0.3
            of the interval in which the optimum is expected)
        growth: what a restart multiplies the population by (`incpopsize` of `cma.fmin2`: 2)
        """
        super().__init__(domain, rng)
        if domain.d < 2:
            raise ValueError("CMA-ES works on two variables or more, as pycma says; got one")
        _cma()
        self.sigma, self.growth = sigma, growth
        self.strategy: Any = None
        self.fitness: Any = None  # the augmented Lagrangian, where there are constraints
        self.start: Array = np.empty(domain.d)
        self.begun = False  # whether somebody has asked the strategy
        self.rest = position(rng)  # of the generator, after the last tell
        self.normals = Normals(rng)
        self.generation: list[Array] = []
        self.told_as: Indices = np.empty(0, dtype=np.int64)  # by point: which evaluation it was
        self.restarts = 0

    def ask(self, room: int, pending: Array) -> Array:
        """What is left of the generation; one draw says to `tell` that somebody has asked."""
        uniform = self.rng.random((1, self.domain.d))
        if self.strategy is None:
            return uniform
        rest = [
            x
            for x, told in zip(self.generation, self.told_as, strict=True)
            if told == OPEN and not (pending == x).all(axis=1).any()
        ]
        if not rest:
            other = copy.deepcopy((self.strategy, self.normals))
            other[1].set_by(self.rng)
            rest = other[0].ask(1)
        return np.array(rest[:room])

    def tell(self, query: Array, obs: Observation) -> None:
        """Put values to the points of the generation; draw the next one after its last value."""
        super().tell(query, obs)
        asked = self.strategy is not None and position(self.rng) != self.rest
        self.begun = self.begun or asked
        for number, x in enumerate(query, start=len(self.y) - len(query)):
            for place, one in enumerate(self.generation):
                if self.told_as[place] == OPEN and np.array_equal(one, x):
                    self.told_as[place] = number
                    break
        if not self.begun:
            self.start = self.x[best(self.y, self.g)].copy()
            self._begin({})
        elif (self.told_as != OPEN).all():
            self._learn()
        self.rest = position(self.rng)

    def _learn(self) -> None:
        """Tell the whole generation, and draw the next one."""
        values = -self.y[self.told_as]
        if self.fitness is not None:
            shown = zip(values.tolist(), self.g[self.told_as].tolist(), strict=True)
            values = np.array([self._penalised(*one) for one in shown])
        self.strategy.tell(self.generation, values.tolist())
        if self.fitness is not None:
            self.fitness.update(self.strategy)
        if self.strategy.stop():
            self.restarts += 1
            self._begin({"popsize": int(self.growth * self.strategy.popsize)})
        else:
            self._draw()

    def _penalised(self, value: float, g: list[float]) -> float:
        """The value of the augmented Lagrangian, which asks for its parts by itself."""
        self.fitness.fun.shown, self.fitness.constraints.shown = value, g
        return float(self.fitness(np.empty(self.domain.d)))

    def _begin(self, options: dict[str, Any]) -> None:
        cma = _cma()
        if self.g.shape[1] and self.fitness is None:
            self.fitness = _lagrangian(cma, self.domain.d)
        if self.fitness is not None:
            options = {"tolstagnation": 0, **options}  # as cma.fmin_con2
        self.strategy = cma.CMAEvolutionStrategy(
            self.start,
            self.sigma,
            {"bounds": [0, 1], "randn": self.normals, "seed": np.nan, "verbose": -9, **options},
        )
        self._draw()

    def _draw(self) -> None:
        self.normals.set_by(self.rng)
        self.generation = self.strategy.ask()
        self.told_as = np.full(len(self.generation), OPEN)

    def report(self) -> dict[str, float]:
        """Step size, size of the population and restarts so far."""
        if self.strategy is None:
            return {}
        return {
            "sigma": float(self.strategy.sigma),
            "population": float(self.strategy.popsize),
            "restarts": float(self.restarts),
        }

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]


class Normals:
    """pycma's normal numbers, by a generator that a draw of ours sets before a generation."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.kind = type(rng.bit_generator)
        self.rng = np.random.Generator(self.kind(0))

    def set_by(self, rng: np.random.Generator) -> None:
        """Begin at a draw of another generator."""
        self.rng = np.random.Generator(self.kind(int(rng.integers(2**63))))

    def __call__(self, *shape: int) -> Array:
        """As `numpy.random.randn`."""
        return self.rng.standard_normal(shape)


class Shown:
    """A function that answers with what was shown last, wherever it is asked."""

    shown: Any = None

    def __call__(self, x: Array) -> Any:
        """What was shown."""
        return self.shown


def _lagrangian(cma: ModuleType, d: int) -> Any:
    """pycma's augmented Lagrangian of a function and constraints that are shown; it keeps no files
    and no archives of good points, which decide nothing.
    """
    fitness = cma.ConstrainedFitnessAL(Shown(), Shown(), dimension=d, archives=False)
    module = cma.constraints_handler
    writing, module._Logger = module._Logger, cma.logger.LoggerDummy
    try:  # the first use of `al` makes it, and opens files whatever its `logging` will be
        fitness.al.logging = 0
    finally:
        module._Logger = writing
    return fitness


def _cma() -> ModuleType:
    return imported("cma", "CMA-ES")
