"""What a run needs to go on: a pickle in a folder of this user alone, until its record is finished.

A pickle may do anything when it is read. It is therefore kept outside results/, which people pass
on, in a folder that nobody else can read or write. A file is named after the digest of its run and
the seed: other code, parameters or data find none. It says with which libraries and on which code
path of the CPU it was written; on any other the run starts anew, to the same bits.
"""

from __future__ import annotations

import logging
import os
import pickle
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from workflow.run import loop
from workflow.trace import one_path, record
from workflow.trace.atomic import atomic

log = logging.getLogger("noregret.checkpoint")
# what an object of another version may raise when it is read
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
KEPT = 30 * 86400.0  # seconds after which a run that nobody goes on with is given up


class NotOurs(RuntimeError):
    """A checkpoint that this run cannot use, or a folder that is not private; says why."""


def folder() -> Path:
    """Where this user's checkpoints lie: below XDG_STATE_HOME, or in the user's home."""
    return platformdirs.user_state_path("noregret") / "checkpoints"


def check(progress: loop.Progress) -> None:
    """Raise TypeError where a run could not be saved, however short it is."""
    try:
        pickle.dumps(progress)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"{type(progress.optimizer).__name__}: expected an optimizer that can be pickled, so"
            f" that its runs can go on after they were cut, got {type(error).__name__}: {error}:"
            " keep no lambdas, generators, open files or locks in it"
        ) from None


class Checkpoint:
    """That of one run, named by its digest (with that of its data) and its seed.

    place: the folder of all checkpoints, found before a simulator may change the environment.
    """

    def __init__(self, place: Path, digest: str, seed: int) -> None:
        self.path = place / f"{digest}-{seed}.checkpoint"

    def save(self, progress: loop.Progress) -> float:
        """Write everything that the rest of the run depends on; returns the seconds it took.

        Where it cannot be written the run goes on without, and says so.
        """
        began = time.monotonic()
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_private()
            with atomic(self.path) as temporary:
                temporary.write_bytes(pickle.dumps((_identity(), progress)))
        except (NotOurs, OSError) as error:
            log.warning("no checkpoint is written: %s", error)
        return time.monotonic() - began

    def resume(self) -> loop.Progress | None:
        """The progress of exactly this run; None, and a sentence, where it cannot be used."""
        try:
            if not self.path.exists():
                return None
            self._check_private()
            identity, progress = pickle.loads(self.path.read_bytes())
            # now, since reading it may have loaded libraries
            _check_same(identity, _identity())
        except (NotOurs, OSError, *UNREADABLE) as error:
            log.warning("%s: the run starts again from its beginning: %s", self.path, error)
            return None
        log.info("%s: continues after evaluation %d", self.path, progress.rows)
        return progress

    def clear(self) -> None:
        """Remove what nobody needs once the record is there, and what nobody went on with."""
        with suppress(OSError):  # the record is there, whatever remains
            self.path.unlink(missing_ok=True)
            for left in self.path.parent.iterdir():
                if left.stat().st_mtime < time.time() - KEPT:
                    left.unlink()

    def _check_private(self) -> None:
        """Raise NotOurs where somebody else could have put anything into the folder."""
        status = self.path.parent.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or mode & 0o077:
            raise NotOurs(
                f"{self.path.parent}: expected a folder of user {os.geteuid()} that nobody else can"
                f" read or write, got user {status.st_uid} and mode {mode:o}: remove it, or let"
                " XDG_STATE_HOME name another place"
            )


def _identity() -> dict[str, str]:
    """Libraries of this process, as far as it has loaded them, and what decides their kernels."""
    made = record.provenance()
    identity = {"Python": made["python"], **made["libraries"], "kernels": made["kernels"]}
    if made["kernels"] != one_path.LEVEL:
        identity["processor"] = record.processor()
        identity |= {name: os.environ.get(name, "nothing") for name in one_path.NAMES}
    return identity


def _check_same(saved: Mapping[str, Any], now: Mapping[str, str]) -> None:
    """Raise NotOurs where a checkpoint is of other libraries or kernels.

    What only one of the two processes has loaded so far says nothing.
    """
    for name, value in now.items():
        if saved.get(name, value) != value:
            raise NotOurs(f"expected {name} {value}, found {saved[name]}")
