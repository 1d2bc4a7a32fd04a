"""The papers' problems as functions in their own units, and the published records of their runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from algorithms.api import Arms, Array
from noregret.space import Bounds, Space, Table
from workflow.data.places import DataUnavailable
from workflow.plan import expand, reader
from workflow.plan.nearest import or_nearest
from workflow.plan.resolve import ROOT, papers
from workflow.trace import seeds
from workflow.trace.curves import PUBLISHED, Study

if TYPE_CHECKING:
    import pandas as pd

    from problems.api import Problem


def problem(name: str, *, seed: int = 0) -> Testbed:
    """A problem of a paper, `dumbo/rover` or, under one of its readings, `lcbo/truss@alpha-10`.

    seed: of the instance, where it is drawn, and of the noise, as in the workflow's runs.
    Problems over data fetch them into ./data. Raises ValueError for unknown names.
    """
    paper, slash, rest = str(name).partition("/")
    if paper not in papers():
        raise ValueError(f"unknown paper {paper!r} of a problem{or_nearest(paper, papers())}")
    document = reader.document(paper)
    key, _, reading = rest.partition("@")
    known = list(document.entry["problems"])
    if not slash:
        raise ValueError(
            f"expected a paper and a problem, such as {paper}/{known[0]}, got {name!r}: {paper} has"
            f" {', '.join(known)}"
        )
    if key not in known:
        raise ValueError(f"unknown problem {rest!r} of {paper}{or_nearest(key, known)}")
    readings = list(document.entry.get("readings", {}))
    if reading and reading not in readings:
        raise ValueError(f"unknown reading {reading!r} of {paper}{or_nearest(reading, readings)}")
    from workflow.run import instance

    entry = expand.problem_values(document, key, reading)
    # what the runner makes an instance from; there is no run
    part = Study(paper, "paper", name, (seed,), key, "", entry, {})
    try:
        return Testbed(name, seed, key, instance.build_problem(part, seed))
    except DataUnavailable as error:
        raise ValueError(
            f"{name}: expected its data, got none ({error}): work in a checkout of the repository"
        ) from None
    except ImportError as error:
        raise ValueError(f"{name}: expected what its problem needs, got none ({error})") from None


def load(
    paper: str = "*", problem: str = "*", curve: str = "*", *, scale: str = "paper"
) -> pd.DataFrame:
    """Published records of runs as one table, a row an evaluation (docs/data.md lists columns).

    The names are those of papers/*.yaml, `*` for any. They lie in a checkout of the repository and
    are no part of an installed package. Raises ValueError where nothing is published.
    """
    if not (ROOT / PUBLISHED).is_dir():
        raise ValueError(
            f"expected published records in {ROOT / PUBLISHED}, found none: they are no part of an"
            " installed package, so work in a checkout of the repository (pip install -e .)"
        )
    from workflow.measure.tidy import table

    return table(paper, problem, curve, scale=scale)


class Testbed:
    """A problem of a paper: `evaluate` points in its own units, between its own `bounds`.

    Where the problem has no units of its own it lives in the unit cube. `best` is the optimum as
    far as it is known, None where it is not; `minimize` says in which sense values are meant.
    """

    __test__ = False  # no test, whatever pytest thinks of its name

    def __init__(self, name: str, seed: int, key: str, inner: Problem) -> None:
        self.name, self._seed, self._key, self._inner = name, seed, key, inner
        reveals: Mapping[str, Any] = inner.reveals
        self.arms: Array | None = None
        self.bounds: Array | None = None
        if isinstance(inner.domain, Arms):
            self.arms = np.array(inner.domain.points)
            self._space: Space = Table.of(self.arms)
        else:
            edges = (float(reveals.get("low", 0.0)), float(reveals.get("high", 1.0)))
            self.bounds = np.tile(edges, (inner.domain.d, 1))
            self._space = Bounds.of(self.bounds)
        self.d = self._space.d
        self._sign = inner.display.sign
        self.minimize = self._sign < 0
        self.best = None if inner.best is None else self._sign * inner.best
        self.label, self.unit = inner.display.label, inner.display.unit
        self._count = 0

    def __repr__(self) -> str:
        sense = "minimize" if self.minimize else "maximize"
        return f"<noregret problem {self.name}: {self.d} variables, {sense} {self.label}>"

    def evaluate(self, x: Any, *, exact: bool = False) -> Any:
        """What one point (d,), or the number of a row, shows: y, or (y, g) where there are
        constraints. With `exact` without noise, where that is known.
        """
        rows, single = self._space.read(x)
        query = self._space.inside(rows)
        if not single:
            raise ValueError(f"x: expected one point, got {len(query)}: evaluate them in turn")
        query.setflags(write=False)  # an evaluation cannot change it
        noise = seeds.noise(self._seed, self._key, self._count)
        self._count += not exact
        shown = self._inner.evaluate(query, noise)
        part = shown.true if exact else shown.seen
        y, g = float(self._sign * part.y[0]), np.array(part.g[0])
        return (y, g) if len(g) else y

    @cached_property
    def constraints(self) -> int:
        """How many constraints there are; found out by one evaluation, which counts for nothing."""
        query = self._space.design(seeds.rng(0, "library", "constraints"), 1)
        shown = self._inner.evaluate(query, seeds.rng(0, "library", "noise"))
        return shown.seen.g.shape[1]
