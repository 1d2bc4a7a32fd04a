"""The process that computes: it makes one record after another, as its parent says, and turns
whatever goes wrong into a sentence.
"""

from __future__ import annotations

import errno
import json
import logging
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from workflow.data.places import DataUnavailable
from workflow.plan.resolve import PlanError
from workflow.run import lease, make
from workflow.run.boundary import BadAnswer
from workflow.run.guard import Guard
from workflow.run.lease import Refused
from workflow.run.pulse import Pulse
from workflow.run.surroundings import HEEDED, Surroundings, unheeded
from workflow.run.target import Limits, Target
from workflow.trace.record import BadRecord

log = logging.getLogger("noregret.run")
# errors whose sentence says all; after any other nobody knows what the process is like
PLAIN = (PlanError, Refused, BadRecord, BadAnswer, DataUnavailable)

REMEDIES = ((ArithmeticError, "look at"), (ImportError, "install"), (ChildProcessError, "build"))


def serve(line: Connection, pulse: Pulse, targets: Sequence[Target], limits: Limits) -> None:
    """Answer orders until the parent ends the line."""
    for number in HEEDED:  # what becomes of them, the parent decides
        signal.signal(number, unheeded)
    surroundings = Surroundings()
    while True:
        try:
            order = json.loads(line.recv_bytes())
        except EOFError:
            return
        pulse.forget()
        target = targets[order["target"]]
        guard = Guard(target.seed, pulse=pulse, surroundings=surroundings, stop=order["stop"])
        line.send_bytes(json.dumps(_answer(target, limits, guard)).encode())


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
                f"{type(error).__name__}: {str(error) or type(error).__name__}: correct its"
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
    said = str(error) or type(error).__name__
    # raised by this project, with what to do in the sentence
    if isinstance(error, PLAIN) or any(
        isinstance(error, kind) and remedy in said for kind, remedy in REMEDIES
    ):
        return said
    if isinstance(error, MemoryError):
        return (
            f"out of memory at {make.peak_mib()} MiB: give it more (snakemake --set-resources"
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


def _names(said: str, target: Target) -> bool:
    """Whether a sentence names the run, or the file of its record, already."""
    return target.who.partition(" seed ")[0] in said or str(target.path) in said
