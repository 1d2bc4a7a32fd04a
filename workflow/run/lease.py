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
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from workflow.trace.atomic import sweep

log = logging.getLogger("noregret.lease")
WAIT = 3600.0  # seconds to wait for another process
POLL = 1.0  # seconds between two looks at its lock
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # what may end a process from outside
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
    lock = FileLock(running(made), poll_interval=POLL)
    try:
        _acquire(lock, made, wait)
        yield
    finally:
        if lock.is_locked:
            _release(lock, made)


def _acquire(lock: BaseFileLock, made: Path, wait: float) -> None:
    """Raises Failed."""
    path = running(made)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _undisturbed():
                lock.acquire(timeout=0)
        except Timeout:
            log.warning("%s: waits for %s, which is making this record", made, owner(path))
            lock.acquire(timeout=wait)
        # on a file system without locks its file says who has it
        if not isinstance(lock, SoftFileLock):
            path.write_text(f"{os.getpid()}\n{platform.node()}\n", encoding="utf-8")
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


def _release(lock: BaseFileLock, made: Path) -> None:
    """Halves of files go first: a process that was killed while it wrote could not remove them."""
    with _undisturbed():
        with suppress(OSError):
            sweep(made)
            running(made).unlink(missing_ok=True)
        lock.release()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C and its like are heard at the end: between two steps they would leave the file. To
    block them would not do, since another thread would hear them for this one.
    """
    heard: list[int] = []
    handlers = {one: signal.signal(one, lambda number, _: heard.append(number)) for one in ENDING}
    try:
        yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
        for number in heard:
            signal.raise_signal(number)


def owner(lease: Path) -> str:
    """Who holds a lease, or held it until it died, in words."""
    with suppress(OSError, ValueError):
        pid, host = lease.read_text(encoding="utf-8", errors="replace").splitlines()
        return f"process {int(pid)} on {host}"
    return "a process that it does not name"
