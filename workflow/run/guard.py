"""What stands around a problem and an optimizer while a run is made: every evaluation is numbered
and has a limit of time, and each of them leaves its surroundings as they were.

Both may fork. Whoever comes out of a simulator or an optimizer in another process than it went in
is nobody's run, and ends.
"""

from __future__ import annotations

import faulthandler
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from problems.api import Evaluation, Problem
from workflow.run.surroundings import Surroundings
from workflow.run.target import Shared

Built = TypeVar("Built")
BUILDING = -1  # the number of what a problem does before its first evaluation


class TooLong(RuntimeError):
    """An evaluation that has taken too long before: it is not begun again, and ends its run."""

    def __init__(self, query: NDArray) -> None:
        super().__init__("an evaluation took too long")
        self.query = query


class Guard:
    """Around the problem of one run.

    shared: where the evaluation under way is announced. timeout: seconds after which it ends this
    process (exit status 1), whatever holds the interpreter's lock; None without a limit. stop: the
    number, in its run, of an evaluation that took too long when the run was made before; None
    without one. It, and whatever would come after it, raises TooLong.
    """

    def __init__(
        self,
        seed: int,
        *,
        shared: Shared | None = None,
        timeout: float | None = None,
        stop: int | None = None,
    ) -> None:
        self.seed, self.timeout, self.stop = seed, timeout, stop
        self.shared = Shared.new() if shared is None else shared
        self.number = 0  # of the next evaluation
        self._surroundings = Surroundings()
        self._process = os.getpid()

    def built(self, build: Callable[[], Built]) -> Built:
        """What a problem's constructor gives, its surroundings put back."""
        self._put_back(BUILDING, "before")
        try:
            return build()
        finally:
            self._end_copies()
            self._put_back(BUILDING, "after")

    @contextmanager
    def around(self) -> Iterator[None]:
        """An optimizer does something before the next evaluation, or around it."""
        self._put_back(self.number, "between")
        try:
            yield
        finally:
            self._end_copies()
            self._put_back(self.number, "between")

    def _put_back(self, number: int, when: str) -> None:
        self._surroundings.put_back(f"{self.seed}/{number}/{when}")

    def _end_copies(self) -> None:
        if os.getpid() != self._process:
            os._exit(0)

    def guarded(self, problem: Problem) -> Problem:
        """The same problem. Its evaluations raise TooLong as said above."""

        def evaluate(query: NDArray, rng: np.random.Generator) -> Evaluation:
            number = self.number
            self.number += 1
            if self.stop is not None and number >= self.stop:
                raise TooLong(query)
            self._end_copies()
            self._put_back(number, "before")
            self.shared.began, self.shared.evaluation = time.monotonic(), number + 1
            if self.timeout is not None:
                seconds = min(self.timeout, threading.TIMEOUT_MAX)
                faulthandler.dump_traceback_later(seconds, exit=True, file=2)
            try:
                return problem.evaluate(query, rng)
            finally:
                self._end_copies()  # first: a copy has no watch to cancel
                faulthandler.cancel_dump_traceback_later()
                self.shared.evaluation = 0
                self._put_back(number, "after")

        return replace(problem, evaluate=evaluate)
