"""The loop of W workers that never wait for one another, on a virtual clock that runs in simulated
seconds.

Whenever a worker is free the optimizer is asked, knowing what is pending; whatever finishes first
is told first. Events are ordered by simulated time, then by the order in which they began, so that
a trace depends on no real clock. The budget counts what has finished: what the workers still hold
at the end is dropped, so that a shorter run is a prefix of a longer one. With one worker this is
the loop of batches of one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Optimizer
from problems.api import Evaluation, Problem
from workflow.run import boundary, loop
from workflow.run.loop import Noise


@dataclass(frozen=True)
class Running:
    """One evaluation in the hands of a worker: its query (1 row) and, already simulated, what it
    will show.
    """

    finished: float
    index: int
    started: float
    query: NDArray
    evaluation: Evaluation
    diagnostics: dict[str, float]
    asked: dict[str, float]


@dataclass
class Progress(loop.Progress):
    """A run under way: also the virtual time, what the workers hold, and how many evaluations have
    begun.
    """

    now: float = 0.0
    running: list[Running] = field(default_factory=list)
    begun: int = 0


def started(
    optimizer: Optimizer, query: NDArray, evaluation: Evaluation, *, counted: bool
) -> Progress:
    """The progress of a run that was told its initial design,
    which is counted or existed before.
    """
    progress = Progress(optimizer)
    (start if counted else loop.start_from_data)(progress, query, evaluation)
    return progress


def start(progress: Progress, query: NDArray, evaluation: Evaluation) -> None:
    """Tell the shared initial design, which is evaluated at once by as many workers as it takes."""
    loop.start(progress, query, evaluation)
    progress.begun = progress.rows
    progress.now = float(evaluation.seconds.max(initial=0.0))
    _stamp(progress, np.zeros(len(query)), np.full(len(query), progress.now))


def step(problem: Problem, progress: Progress, *, room: int, noise: Noise) -> None:
    """Give every free worker something to do, then wait for whatever finishes first and tell it."""
    while len(progress.running) < room:
        _begin(problem, progress, free=room - len(progress.running), noise=noise)
    first = min(progress.running, key=lambda event: (event.finished, event.index))
    progress.running.remove(first)
    progress.now = first.finished
    told = loop.tell(progress.optimizer, first.query, first.evaluation.seen)
    loop.append(
        progress, first.query, first.evaluation, first.diagnostics, seconds={**first.asked, **told}
    )
    _stamp(progress, np.array([first.started]), np.array([first.finished]))


def _begin(problem: Problem, progress: Progress, *, free: int, noise: Noise) -> None:
    """Ask once and hand out what is answered."""
    optimizer = progress.optimizer
    diagnostics = loop.report(optimizer)
    pending = boundary.frozen(
        np.concatenate([loop.query_none(problem), *(event.query for event in progress.running)])
    )
    began = time.process_time()
    answer = optimizer.ask(free, pending)
    asked = {"ask": time.process_time() - began}
    query = boundary.query(problem.domain, answer, free, f"{type(optimizer).__name__}.ask")
    for row in query:
        one = np.asarray(row)[None]
        began = time.perf_counter()
        evaluation = loop.evaluate(problem, one, noise, first=progress.given + progress.begun)
        asked["evaluate"] = time.perf_counter() - began
        finished = progress.now + _duration(evaluation, progress.begun)
        progress.running.append(
            Running(finished, progress.begun, progress.now, one, evaluation, diagnostics, asked)
        )
        progress.begun += 1
        asked = {}


def _duration(evaluation: Evaluation, index: int) -> float:
    """Simulated seconds of one evaluation.

    Raises ArithmeticError where they would break the order of events.
    """
    seconds = float(evaluation.seconds[0])
    if not 0 <= seconds < np.inf:
        raise ArithmeticError(
            f"evaluation {index}: expected finite seconds >= 0, got {seconds}: look at the problem"
            " there"
        )
    return seconds


def _stamp(progress: Progress, started: NDArray, finished: NDArray) -> None:
    """Virtual seconds beside the rows of the last block."""
    progress.blocks[-1] |= {"started": started, "finished": finished}
