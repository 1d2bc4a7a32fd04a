"""Does a problem give the same query the same value whenever it is asked (jing2026lcbo, Sec. 6.3,
HalfCheetah)?

The paper explains different initial values of equal initial designs by "the inherent stochasticity
of the MuJoCo physics engine". One query is evaluated again and again, with the same stream of
noise, and others in between, so that whatever state a simulator keeps has changed.
"""

from __future__ import annotations

import numpy as np

from algorithms.api import Array, Box
from problems.api import Evaluation, Problem
from workflow.run import loop
from workflow.studies.paired import Columns, noise, tidy
from workflow.trace.seeds import rng


def run(seed: int, problem: Problem, *, repeats: int) -> Columns:
    """One row an evaluation of the query: its true y, and how far true y, true g and what is
    observed are from the first ones.

    `g_difference` and `seen_difference` (y and g with noise) are the greatest absolute ones. Raises
    ValueError, TypeError.
    """
    if not isinstance(problem.domain, Box):
        raise TypeError(
            f"expected a problem on a Box, got {type(problem.domain).__name__}: a table has no"
            " simulator"
        )
    if repeats < 2:
        raise ValueError(
            f"expected repeats >= 2, got {repeats}: one evaluation has nothing to differ from"
        )
    design = rng(seed, "study", "init").random((repeats, problem.domain.d))
    query = design[:1]
    found = [loop.evaluate(problem, query, noise(seed), first=0)]
    for i in range(1, repeats):
        loop.evaluate(problem, design[i : i + 1], noise(seed), first=i)
        found.append(loop.evaluate(problem, query, noise(seed), first=0))
    return tidy([{"repeat": i, **_compared(again, found[0])} for i, again in enumerate(found)])


def _compared(again: Evaluation, first: Evaluation) -> dict[str, float]:
    """The columns of one evaluation of the query."""
    seen = max(_greatest(again.seen.y - first.seen.y), _greatest(again.seen.g - first.seen.g))
    return {
        "y": float(again.true.y[0]),
        "difference": float(again.true.y[0] - first.true.y[0]),
        "g_difference": _greatest(again.true.g - first.true.g),
        "seen_difference": seen,
    }


def _greatest(differences: Array) -> float:
    """0 where there is nothing to compare: an objective without constraints."""
    return float(np.abs(differences).max(initial=0.0))
