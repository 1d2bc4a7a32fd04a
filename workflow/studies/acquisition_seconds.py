"""CPU seconds that every method spends on its acquisition function alone (bardou2024dumbo,
supplementary Fig. 1(b)).

Most methods fit in `tell` and look for the query in `ask`. DuMBO looks for it in `tell`, so that
its factors' agreement can be reported: there the seconds of `agree`, Algorithm 1 lines 4 to 21, are
counted. Fits and sampled decompositions are left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import algorithms
from algorithms import dumbo
from algorithms.api import Box
from problems.api import Problem
from workflow.run.loop import evaluate, query_none
from workflow.studies.paired import Columns, noise, tidy
from workflow.trace.seeds import rng


def run(
    seed: int, problem: Problem, *, T: int, n: int, optimizers: Mapping[str, Mapping[str, Any]]
) -> Columns:
    """One row for each of the `optimizers`, in their order as `method`, and each query t of n + 1
    .. T after n uniform points.

    `timing.acquisition` is of that query, `timing.so_far` of all up to it, `timing.rest` of fits
    and everything else.
    """
    if not isinstance(problem.domain, Box):
        raise TypeError(
            f"expected a problem on a Box, got {type(problem.domain).__name__}: choose another in"
            " papers/*.yaml"
        )
    design = rng(seed, "study", "init").random((n, problem.domain.d))
    rows: list[dict[str, float]] = []
    for method, (name, entry) in enumerate(optimizers.items()):
        parameters = {key: value for key, value in entry.items() if key != "is"}
        if parameters.get("outputs") == "factors":
            parameters["decomposition"] = problem.reveals["decomposition"]
        optimizer = algorithms.build(
            entry["is"], problem.domain, rng(seed, "study", "optimizer", name), parameters
        )
        query, so_far = design, 0.0
        with _clocked() as agreeing:
            for t in range(n, T):
                seen = evaluate(problem, query, noise(seed), first=t - len(query)).seen
                agreeing[0], began = 0.0, time.process_time()
                optimizer.tell(query, seen)
                told = time.process_time()
                query = optimizer.ask(1, query_none(problem))
                asked = time.process_time()
                spent = asked - told + agreeing[0]
                so_far += spent
                rows.append(
                    {
                        "method": method,
                        "t": t + 1,
                        "timing.acquisition": spent,
                        "timing.so_far": so_far,
                        "timing.rest": asked - began - spent,
                    }
                )
    return tidy(rows)


@contextmanager
def _clocked() -> Iterator[list[float]]:
    """The CPU seconds spent in DuMBO's `agree`, in a list of one number that may be set back."""
    total, agree = [0.0], dumbo.agree

    def clocked(*arguments: Any) -> dumbo.Agreement:
        began = time.process_time()
        try:
            return agree(*arguments)
        finally:
            total[0] += time.process_time() - began

    with patch.object(dumbo, "agree", clocked):
        yield total
