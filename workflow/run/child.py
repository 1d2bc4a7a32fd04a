"""The process that computes: it makes one record after another, as its parent says, and turns
whatever goes wrong into a sentence.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from workflow.data.places import DataUnavailable
from workflow.run import key, lease, make, memory
from workflow.run.boundary import BadAnswer
from workflow.run.guard import Guard
from workflow.run.lease import Refused
from workflow.run.pulse import Pulse
from workflow.run.surroundings import HEEDED, Surroundings, unheeded
from workflow.run.target import Limits, Target
from workflow.trace.cells import PlanError
from workflow.trace.record import BadRecord

log = logging.getLogger("noregret.run")
LENGTH = 2000  # characters of what an error says
# errors whose sentence says all; after any other nobody knows what the process is like
PLAIN = (PlanError, Refused, BadRecord, BadAnswer, DataUnavailable)

REMEDIES = ((ArithmeticError, "look at"), (ImportError, "install"), (ChildProcessError, "build"))


def serve(line: Connection, pulse: Pulse, targets: Sequence[Target], limits: Limits) -> None:
    """Answer orders until the parent ends the line."""
    for number in HEEDED:  # what becomes of them, the parent decides
        signal.signal(number, unheeded)
    logging.raiseExceptions = False  # where a simulator has closed standard error nobody reads it
    key.settle()
    surroundings, mine = Surroundings(), os.getpid()
    while True:
        try:
            order = json.loads(line.recv_bytes())
        except EOFError:
            return
        pulse.forget()
        surroundings.begin()
        target = targets[order["target"]]
        guard = Guard(target.seed, pulse=pulse, surroundings=surroundings, stop=order["stop"])
        answer = _answer(target, limits, guard)
        if os.getpid() != mine:  # a copy that an optimizer has forked; one answer is enough
            os._exit(0)
        line.send_bytes(json.dumps(answer).encode())


def _answer(target: Target, limits: Limits, guard: Guard) -> dict[str, Any]:
    try:
        made = make.make(target, limits, guard)
        guard.pulse.finish()
        return {"made": vars(made)}
    except BaseException as error:  # a simulator may raise anything, sys.exit() among it
        said = _known(error)
        if said is None:
            log.exception(target.who)
            said = (
                f"{type(error).__name__}: {_said(error)}: correct its"
                " parameters, code or simulator, then run again"
            )
        everywhere = isinstance(error, DataUnavailable)
        return {
            "error": said if everywhere or _names(said, target) else f"{target.who}: {said}",
            "kind": type(error).__name__,
            "everywhere": everywhere,
            "spoiled": not isinstance(error, PLAIN),
        }


def _known(error: BaseException) -> str | None:
    """What happened and what to do; None where nobody expected it."""
    said = _said(error)
    # raised by this project, with what to do in the sentence
    if isinstance(error, PLAIN) or any(
        isinstance(error, kind) and remedy in said for kind, remedy in REMEDIES
    ):
        return said
    if isinstance(error, MemoryError):
        return (
            f"out of memory at {memory.peak_mib()} MiB: give it more (snakemake --set-resources"
            " run:mem_mb=8000), or a larger machine"
        )
    if isinstance(error, OSError) and error.errno in lease.REMEDY:
        return (
            f"{said}: {lease.REMEDY[error.errno]}, then run again: it goes on from its last"
            " checkpoint"
        )
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return (
            f"{said}: expected a place where this user can read and write; change its mode or work"
            " in another folder"
        )
    return None


def _said(error: BaseException) -> str:
    """What an error says, or its type where it says nothing; at most LENGTH characters."""
    said = ""
    with suppress(Exception):  # an error of somebody's own kind may fail at that
        said = str(error)
    said = said or type(error).__name__
    return said if len(said) <= LENGTH else f"{said[:LENGTH]} ..."


def _names(said: str, target: Target) -> bool:
    """Whether a sentence names the run, or the file of its record, already."""
    return target.who.partition(" seed ")[0] in said or str(target.path) in said
