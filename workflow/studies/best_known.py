"""The best feasible objective that local searches find on functions drawn from Gaussian processes
(jing2026lcbo, Sec. 6.2).
"""

from __future__ import annotations

from typing import cast

from problems.api import Problem
from problems.gp_samples import Functions, best_feasible
from workflow.studies.exact_oracle import revealed
from workflow.studies.paired import Columns, tidy
from workflow.trace.seeds import rng


def run(seed: int, problem: Problem, *, uniform: int, starts: int) -> Columns:
    """One row: `best`, the smallest f under c <= 0 from the best `starts` of `uniform` random
    points, and whether it was `found`.

    It is no proven optimum, and NaN where no search ended at a feasible point.
    """
    instance = revealed(problem)
    functions = cast(Functions, instance.functions)
    end = best_feasible(
        functions, instance.offset, rng(seed, "study", "best"), uniform=uniform, starts=starts
    )
    return tidy([{"best": float("nan") if end is None else -end[0], "found": int(end is not None)}])
