"""The process that answers for runs: each is made in a process of its own, and whatever happens to
that one, this one lives and makes the next.

A simulator may hang while it holds the interpreter's lock, abort, end its process or have it
killed. The libraries are loaded here, once, before the first fork; nothing is computed here.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from workflow.run import child, lease
from workflow.run.guard import Guard
from workflow.run.lease import ENDING, Failed
from workflow.run.make import load
from workflow.run.target import Shared, Target

log = logging.getLogger("noregret.supervisor")
SUBREAPER, DEATH_SIGNAL = 36, 1  # of prctl(2): who gets orphans; what is sent when a parent dies
REMEDY = "correct its problem, algorithm or simulator, then run again"
MORE_MEMORY = (
    "was it out of memory? give it more (snakemake --set-resources RULE:mem_mb=8000, with the rule"
    " that Snakemake names), then run again: it goes on from its last checkpoint"
)


def make(target: Target) -> None:
    """Make a record unless it is there. Raises Failed."""
    with lease.held(target.path, wait=target.wait):
        _make(target)


def _make(target: Target) -> None:
    """By a process of its own, or by another one up to the evaluation that took too long.

    Raises Failed.
    """
    shared = Shared.new()
    if not target.path.exists():
        with suppress(Exception):  # the run itself says what is wrong
            load(target.curve)
    status = _run(target, shared, None)
    while _is_overdue(target, status, shared):
        log.warning(
            "%s: an evaluation took more than %g s, which ended this run and is its result; to try"
            " again, remove that file (the limit is `timeout:` on the problem's line in"
            " papers/%s.yaml)",
            target.path,
            target.timeout,
            target.curve.paper,
        )
        status = _run(target, shared, shared.evaluation - 1)
    if not shared.answer:
        raise _died(target, status, shared)
    if failure := json.loads(shared.answer):
        raise Failed(failure["sentence"], everywhere=failure["everywhere"])


def _is_overdue(target: Target, status: int, shared: Shared) -> bool:
    """Whether a process was ended by its limit: nobody else ends it so after that time."""
    began = shared.began if shared.evaluation and not shared.answer else float("inf")
    return status == 1 and time.monotonic() - began >= target.timeout


def _run(target: Target, shared: Shared, stop: int | None) -> int:
    """The exit status of a process that makes a record, ended with whatever it has started."""
    others, parent = set(_children()), os.getpid()
    _prctl(SUBREAPER, 1)  # programs that outlive a simulator come to us, who end them
    # an error that is raised within a fork, by a handler of a signal, would be lost
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    pid = os.fork()
    if pid == 0:
        try:
            _compute(target, shared, stop, parent)
        finally:
            os._exit(1)
    left = {pid}
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        _, status = os.waitpid(pid, 0)
        left = set()
        return os.waitstatus_to_exitcode(status)
    finally:
        while left := left or set(_children()) - others:
            for one in left:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(one, 0)
            left = set()


def _compute(target: Target, shared: Shared, stop: int | None, parent: int) -> None:
    """In the process of a run: it is in a session of its own, dies with its parent, and writes to
    standard error alone.
    """
    os.setsid()  # Ctrl-C is for the parent
    _prctl(DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked to hear of it
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    # what becomes of them the parent decides; SIG_IGN would be handed on to a simulator's programs
    for number in ENDING:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    logging.raiseExceptions = False  # where a simulator has closed standard error nobody reads it
    shared.evaluation = 0
    guard = Guard(target.seed, shared=shared, timeout=target.timeout, stop=stop)
    mine = os.getpid()
    answer = json.dumps(child.failure(target, guard)).encode()
    if os.getpid() == mine:  # a copy that an optimizer has forked says nothing
        shared.answer = answer
    with suppress(Exception):
        sys.stdout.flush()
    os._exit(0)  # waits for no thread


def _died(target: Target, status: int, shared: Shared) -> Failed:
    """What is known of a process that has ended without an answer."""
    how, remedy = f"ended by itself with exit status {status}", REMEDY
    if status < 0:
        kind = signal.Signals(-status).name
        how = f"was ended by {kind} ({signal.strsignal(-status)})"
    if status == -signal.SIGKILL:
        remedy = MORE_MEMORY
    within = f" during evaluation {shared.evaluation - 1}" if shared.evaluation else ""
    return Failed(f"{target.who}: its process {how}{within}: {remedy}")


def _prctl(option: int, value: int) -> None:
    """prctl(2), where there is one."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value)


def _children() -> list[int]:
    """The ids of the processes whose parent this one is, where the machine tells."""
    files = Path("/proc/self/task").glob("*/children")
    return [int(child) for path in files for child in path.read_text(encoding="utf-8").split()]
