"""A time limit for single evaluations: a simulator that hangs ends its run, not the workflow.

An evaluation cannot be interrupted from within, since it may be inside compiled code. A thread
therefore watches it and, when it has taken too long, lets the caller write down what there is and
starts the same command again in this process: what was written is a result, so that the new start
goes on behind it.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from problems.api import Evaluation, Problem

log = logging.getLogger("noregret.watchdog")
SECONDS = 3600.0  # for an evaluation, where the problem's line in papers/*.yaml has no `timeout`
POLL = 0.5  # seconds, less where that is no small part of the limit


class Watchdog:
    """Context manager: while it is open no evaluation of a guarded problem takes longer than
    `seconds`.

    `expired(query)` is called from a thread of its own, while the evaluation still hangs; the
    process then starts anew.
    """

    def __init__(
        self,
        seconds: float,
        expired: Callable[[NDArray], None],
        *,
        anew: Callable[[], None] | None = None,
    ) -> None:
        self.seconds, self.expired = seconds, expired
        self._anew = anew or restart
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._query: NDArray | None = None
        self._spent = 0.0
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def guarded(self, problem: Problem) -> Problem:
        """The same problem, watched."""

        def evaluate(query: NDArray, rng: np.random.Generator) -> Evaluation:
            self._spent, self._query = 0.0, query
            try:
                return problem.evaluate(query, rng)
            finally:
                with self._lock:  # not while it expires: then nothing goes on here
                    self._query = None

        return replace(problem, evaluate=evaluate)

    def _watch(self) -> None:
        """Count the time of an evaluation; a process that was suspended, or its machine, did not
        spend it.
        """
        poll = min(POLL, self.seconds / 8)
        last = time.monotonic()
        while not self._ended.wait(poll):
            now = time.monotonic()
            passed, last = min(now - last, 2 * poll), now
            with self._lock:
                if self._query is None:
                    continue
                self._spent += passed
                if self._spent > self.seconds:
                    self._expire(self._query)
                    return

    def _expire(self, query: NDArray) -> None:
        written = False
        try:
            self.expired(query)
            written = True
        finally:
            if not written:  # a full disk: the main thread hangs and could not say so
                traceback.print_exc()
                os._exit(1)
        self._anew()


def restart() -> None:
    """End the programs that this process has started and run its own command again, with the same
    process id.
    """
    for child in _children():
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    log.warning("starting this process again, to go on after the evaluation that took too long")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, sys.orig_argv)


def _children() -> list[int]:
    """The ids of the programs that this process has started, where the machine tells."""
    found = Path("/proc/self/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text(encoding="utf-8").split()]
