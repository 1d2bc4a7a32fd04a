"""In the process that computes: a record, or a sentence of whatever went wrong."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from workflow.data.places import DataUnavailable
from workflow.run import lease, make
from workflow.run.boundary import BadAnswer
from workflow.run.guard import Guard
from workflow.run.target import Target
from workflow.trace.curves import PlanError
from workflow.trace.record import BadRecord

log = logging.getLogger("noregret.run")
LENGTH = 2000  # characters of what an error says
PLAIN = (PlanError, BadRecord, BadAnswer, DataUnavailable)  # errors whose sentence says all
REMEDIES = ((ArithmeticError, "look at"), (ImportError, "install"), (ChildProcessError, "build"))


def failure(target: Target, guard: Guard) -> dict[str, Any]:
    """Make a record. What is said where none could be made, and whether all records fail so; else
    nothing.
    """
    try:
        make.make(target, guard)
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
            "sentence": said if everywhere or _names(said, target) else f"{target.who}: {said}",
            "everywhere": everywhere or getattr(error, "errno", None) in lease.FULL,
        }
    return {}


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
            f"out of memory at {make.peak_mib()} MiB: give it more (snakemake --set-resources"
            " RULE:mem_mb=8000, with the rule that Snakemake names), or a larger machine"
        )
    if isinstance(error, OSError) and error.errno in lease.REMEDY:
        return (
            f"{said}: {lease.REMEDY[error.errno]}, then run again: it goes on from its last"
            " checkpoint"
        )
    if isinstance(error, OSError) and error.errno in lease.READ_ONLY:
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
