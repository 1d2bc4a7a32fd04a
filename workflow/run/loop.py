"""The loop between a problem and an optimizer: ask, evaluate, tell, until the budget is spent.

It owns what an optimizer must not see: the objective, the budget, the clock. A `Progress` is
everything that the rest of the run depends on; pickled after any step, it continues
bit-identically.

`timing.ask` and `timing.tell` are CPU seconds of this one-threaded process, so that other load on
the machine does not count; `timing.evaluate` is wall time, since a simulator may be a process of
its own. Whatever is handed on is a read-only copy of what is recorded (`boundary`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Box, Observation, Optimizer
from problems.api import Evaluation, Problem
from workflow.run import boundary

Noise = Callable[[int], np.random.Generator]


@dataclass
class Progress:
    """A run under way: the optimizer and the rows that it has made so far, one block of columns a
    batch.

    `given` evaluations were told before the first row: they are outside budget and rows, and
    telling them took `given_seconds` of CPU time.
    """

    optimizer: Optimizer
    blocks: list[dict[str, NDArray]] = field(default_factory=list)
    rows: int = 0
    given: int = 0
    given_seconds: float = 0.0
    work: float = 0.0  # CPU seconds so far of all that a run is about, in whatever processes

    def columns(self) -> dict[str, NDArray]:
        """All rows so far; a diagnostic that a batch did not report is NaN there."""
        names = dict.fromkeys(name for block in self.blocks for name in block)
        return {
            name: np.concatenate([_column(block, name) for block in self.blocks]) for name in names
        }


def started(
    optimizer: Optimizer, query: NDArray, evaluation: Evaluation, *, counted: bool
) -> Progress:
    """The progress of a run that was told its initial design, in one `tell`, before the first
    `ask`.

    Its evaluations are the first rows where they are counted; else they existed before.
    """
    progress = Progress(optimizer)
    (start if counted else start_from_data)(progress, query, evaluation)
    return progress


def start(progress: Progress, query: NDArray, evaluation: Evaluation) -> None:
    """Tell an initial design whose evaluations are the first rows."""
    append(
        progress, query, evaluation, {}, seconds=tell(progress.optimizer, query, evaluation.seen)
    )


def start_from_data(progress: Progress, query: NDArray, evaluation: Evaluation) -> None:
    """Tell an initial design that existed before:
    it counts neither in the budget nor in the rows.
    """
    progress.given = len(query)
    progress.given_seconds = tell(progress.optimizer, query, evaluation.seen)["tell"]


def step(problem: Problem, progress: Progress, *, budget: int, room: int, noise: Noise) -> None:
    """One batch: ask for at most `room` queries, truncate to the budget, evaluate, tell."""
    optimizer = progress.optimizer
    diagnostics = report(optimizer)
    began = time.process_time()
    answer = optimizer.ask(room, query_none(problem))
    asked = time.process_time() - began
    query = boundary.query(problem.domain, answer, room, f"{type(optimizer).__name__}.ask")
    query = query[: budget - progress.rows]
    began = time.perf_counter()
    evaluation = evaluate(problem, query, noise, first=progress.given + progress.rows)
    evaluated = time.perf_counter() - began
    told = tell(optimizer, query, evaluation.seen)
    append(
        progress,
        query,
        evaluation,
        diagnostics,
        seconds={**told, "ask": asked, "evaluate": evaluated},
    )


def evaluate(problem: Problem, query: NDArray, noise: Noise, *, first: int) -> Evaluation:
    """Evaluate each query with the noise stream of its own index, counted from `first`."""
    parts = [
        boundary.evaluation(
            problem.evaluate(boundary.frozen(query[i : i + 1]), noise(first + i)), first + i
        )
        for i in range(len(query))
    ]
    whole = Evaluation(
        _joined([part.seen for part in parts]),
        _joined([part.true for part in parts]),
        np.concatenate([part.seconds for part in parts]),
    )
    for what, shown in (("a finite objective", "y"), ("finite constraints", "g")):
        for values in (getattr(whole.seen, shown), getattr(whole.true, shown)):
            finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
            if not finite.all():
                bad = int(np.argmin(finite))
                raise ArithmeticError(
                    f"evaluation {first + bad}: expected {what} at query {query[bad]}, got"
                    f" {values[bad]}: look at the problem's simulator or data at this query"
                )
    return whole


def query_none(problem: Problem) -> NDArray:
    """An empty query of the problem's domain: nothing is pending in a loop of complete batches."""
    return (
        np.empty((0, problem.domain.d))
        if isinstance(problem.domain, Box)
        else np.empty(0, dtype=np.int64)
    )


def report(optimizer: Optimizer) -> dict[str, float]:
    """The optimizer's diagnostics under the names of their columns."""
    return {f"report.{name}": float(value) for name, value in optimizer.report().items()}


def tell(optimizer: Optimizer, query: NDArray, seen: Observation) -> dict[str, float]:
    """Tell, and say how many CPU seconds that took."""
    query, seen = boundary.frozen(query), boundary.told(seen)
    began = time.process_time()
    optimizer.tell(query, seen)
    return {"tell": time.process_time() - began}


def append(
    progress: Progress,
    query: NDArray,
    evaluation: Evaluation,
    diagnostics: dict[str, float],
    *,
    seconds: dict[str, float],
) -> None:
    """One block of columns; the seconds of a batch stand in its first row.

    Batch 0 is an initial design.
    """
    q = len(query)
    block: dict[str, NDArray] = {
        "evaluation": np.arange(progress.rows, progress.rows + q),
        "batch": np.full(q, len(progress.blocks) + (progress.given > 0)),
        "query": query,
        "y": evaluation.seen.y,
        "true": evaluation.true.y,
        "seconds": evaluation.seconds,
    }
    if evaluation.seen.g.shape[1]:
        block |= {"g": evaluation.seen.g, "true_g": evaluation.true.g}
    block |= {name: np.full(q, float(value)) for name, value in diagnostics.items()}
    for name in ("ask", "tell", "evaluate"):
        block[f"timing.{name}"] = np.concatenate([[seconds.get(name, 0.0)], np.zeros(q - 1)])
    progress.blocks.append(block)
    progress.rows += q


def _column(block: dict[str, NDArray], name: str) -> NDArray:
    return block[name] if name in block else np.full(len(block["evaluation"]), np.nan)


def _joined(parts: list[Observation]) -> Observation:
    return Observation(
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.g for part in parts]),
        np.concatenate([part.factor_values for part in parts]),
    )
