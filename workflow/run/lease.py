"""Who makes a record: `<seed>.running` beside its place.

A process that makes a record holds a lock on `<seed>.running`, which names it. Another one waits:
jobs of a workflow that was killed go on running, and the next workflow waits for them. The kernel
frees the lock when its process dies, however that happens. Two that wrote the same record all the
same would write the same bits: the lock saves their time.
"""

from __future__ import annotations

import errno
import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from workflow.trace.atomic import sweep

log = logging.getLogger("noregret.lease")
WAIT = 3600.0  # seconds to wait for another process
POLL = 1.0  # seconds between two looks at its lock
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
FULL = (errno.ENOSPC, errno.EDQUOT)
REMEDY = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within your quota",
    errno.EFBIG: "raise the limit on the size of files (`ulimit -f unlimited`)",
}


class Failed(RuntimeError):
    """A record that was not made: a sentence that names it and says what to do.

    everywhere: whether the same is true of all records of the command.
    """

    def __init__(self, sentence: str, *, everywhere: bool = False) -> None:
        super().__init__(sentence)
        self.everywhere = everywhere


def running(made: Path) -> Path:
    """The lease of a record."""
    return made.with_suffix(".running")


@contextmanager
def held(made: Path, *, wait: float = WAIT) -> Iterator[None]:
    """This process makes the record at `made`, and no other; it waits for at most `wait` seconds.

    A finished record can be used where nobody can write. Raises Failed.
    """
    path = running(made)
    lock = FileLock(path, poll_interval=POLL)
    try:
        _acquire(lock, made, wait)
    except Timeout:
        raise Failed(
            f"{made}: {owner(path)} is still making this record after {wait:.0f} s of waiting:"
            " wait for it or cancel it, then run again"
        ) from None
    except OSError as error:
        if not (error.errno in READ_ONLY and made.exists()):
            remedy = REMEDY.get(error.errno or 0, "make its folder writable")
            raise Failed(
                f"{path}: expected a file that can be written, got {error.strerror}: {remedy},"
                " then run again"
            ) from None
    try:
        yield
    finally:
        if lock.is_locked:
            _release(lock, made)


def _acquire(lock: BaseFileLock, made: Path, wait: float) -> None:
    """Raises Timeout, OSError."""
    path = running(made)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.warning("%s: waits for %s, which is making this record", made, owner(path))
        lock.acquire(timeout=wait)
    if isinstance(lock, SoftFileLock):  # a file system without locks: its file says who has it
        return
    try:
        path.write_text(f"{os.getpid()}\n{platform.node()}\n", encoding="utf-8")
    except OSError:
        _release(lock, made)
        raise


def _release(lock: BaseFileLock, made: Path) -> None:
    """Halves of files go first: a process that was killed while it wrote could not remove them."""
    with suppress(OSError):
        sweep(made)
        running(made).unlink(missing_ok=True)
    lock.release()


def owner(lease: Path) -> str:
    """Who holds a lease, or held it until it died, in words."""
    with suppress(OSError, ValueError):
        pid, host = lease.read_text(encoding="utf-8", errors="replace").splitlines()
        return f"process {int(pid)} on {host}"
    return "a process that it does not name"
