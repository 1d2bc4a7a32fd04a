"""How the seconds of one query grow with t (bardou2024dumbo, Table 1): CPU seconds of one `tell`
and `ask` on t random data.

Claimed: ADD-GPUCB O(t^3 + n t^2 + n^2/zeta), DEC-HBO O(N_m zeta^(-d-bar) n (t^3 + n)), DuMBO
O(d-bar N_A n t^3 / zeta). These are upper bounds: a factor of the Gram matrix is computed once for
each model here, so that one evaluation of a factor costs O(t^2).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import algorithms
from algorithms.api import Box
from algorithms.parts.numerics.choice import chosen
from problems.api import Problem
from workflow.run.loop import evaluate, query_none
from workflow.studies.paired import Columns, noise, tidy
from workflow.trace.seeds import rng

METHODS: Mapping[str, str] = {  # their order gives the codes of column `method`
    "DuMBO": "dumbo.DuMBO",
    "ADD-DuMBO": "dumbo.DuMBO",
    "ADD-GPUCB": "add_gpucb.ADDGPUCB",
    "DEC-HBO": "dec_hbo.DECHBO",
}


def run(
    seed: int,
    problem: Problem,
    *,
    t: Sequence[int],
    repeats: int,
    optimizers: Mapping[str, Mapping[str, Any]],
) -> Columns:
    """One row for each of the `optimizers`, by the names in METHODS, and each number t of uniform
    data told at once.

    `timing.seconds` is that of tell plus ask, the smallest among `repeats` equal trials. Whoever
    observes the outputs of factors is given the decomposition that the problem reveals. `factors`
    of a model and `rounds` of ADMM (0 elsewhere) matter, too.
    """
    if not isinstance(problem.domain, Box):
        raise TypeError(
            f"expected a problem on a Box, got {type(problem.domain).__name__}: choose one of"
            " problems/additive.py"
        )
    X = rng(seed, "study", "data").random((max(t), problem.domain.d))
    seen = evaluate(problem, X, noise(seed), first=0).seen
    rows: list[dict[str, float]] = []
    for name, entry in optimizers.items():
        kind, built = (
            chosen(METHODS, name, "optimizers"),
            {key: value for key, value in entry.items() if key != "is"},
        )
        if built.get("outputs") == "factors":
            built["decomposition"] = problem.reveals["decomposition"]
        for n in t:
            seconds = []
            for _ in range(repeats):
                stream = rng(seed, "study", "optimizer", name)
                method = algorithms.build(kind, problem.domain, stream, built)
                began = time.process_time()
                method.tell(X[:n], seen[:n])
                method.ask(1, query_none(problem))
                seconds.append(time.process_time() - began)
            report = cast(Mapping[str, float], method.report())
            rows.append(
                {
                    "method": list(METHODS).index(name),
                    "t": n,
                    "factors": report.get("factors", float(problem.domain.d)),
                    "rounds": report.get("rounds", 0.0),
                    "timing.seconds": min(seconds),
                }
            )
    return tidy(rows)
