"""Who makes a record, and why nobody could: `<seed>.running` and `<seed>.failed` beside its place.

A process that makes a record holds a lock on `<seed>.running`, which names it. Another one waits:
jobs of a workflow that was killed go on running, and the next workflow waits for them. The kernel
frees the lock when its process dies, however that happens. Two that wrote the same record all the
same would write the same bits: the lock saves their time.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from workflow.trace.atomic import atomic, sweep

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


class Refused(RuntimeError):
    """A record that this process may not make; says who does, or why nobody can, and what to do."""


@dataclass(frozen=True)
class Owner:
    """The process that makes a record, or made it until it died."""

    pid: int = 0  # 0 where it does not name itself
    host: str = ""
    since: str = ""  # UTC

    @property
    def elapsed(self) -> float:
        """Seconds since it began; 0 where it does not say when."""
        if not self.since:
            return 0.0
        return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds())

    def __str__(self) -> str:
        if not self.pid:
            return "a process that it does not name"
        return f"process {self.pid} on {self.host} (since {self.since})"


NOBODY = Owner()


@dataclass(frozen=True)
class Failure:
    """Why a run failed: its error, when (UTC), and after how many evaluations it would go on, by
    its checkpoint.
    """

    error: str
    type: str
    time: str
    evaluations: int = 0


def running(made: Path) -> Path:
    """The lease of a record."""
    return made.with_suffix(".running")


def failed(made: Path) -> Path:
    """What a failed run leaves in the place of its record."""
    return made.with_suffix(".failed")


@contextmanager
def held(made: Path, *, wait: float = WAIT) -> Iterator[None]:
    """This process makes the record at `made`, and no other; it waits for at most `wait` seconds.

    A finished record can be used where nobody can write. Raises Refused.
    """
    path = running(made)
    lock = FileLock(path, poll_interval=POLL)
    try:
        _acquire(lock, made, wait)
    except Timeout:
        raise Refused(
            f"{made}: {owner(path)} is still making this record after {wait:.0f} s of waiting:"
            " wait for it or cancel it, then run again"
        ) from None
    except OSError as error:
        if not (error.errno in READ_ONLY and made.exists()):
            remedy = REMEDY.get(error.errno or 0, "make its folder writable")
            raise Refused(
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
        for path in (made, failed(made)):
            sweep(path)
        running(made).unlink(missing_ok=True)
    lock.release()


def owner(lease: Path) -> Owner | None:
    """Who holds a lease, or held it until it died; None where there is none."""
    try:
        lines = lease.read_text(encoding="utf-8", errors="replace").splitlines()
        since = datetime.fromtimestamp(lease.stat().st_mtime, UTC).isoformat(timespec="seconds")
    except OSError:
        return None
    if len(lines) < 2 or not lines[0].isdecimal():
        return NOBODY
    return Owner(int(lines[0]), lines[1], since)


def is_held(lease: Path) -> bool:
    """Whether a process that lives holds a lease."""
    try:
        with lease.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:  # it is locked, or its file system knows no locks and nobody can say
        return True
    return False


def lost(dead: Owner) -> Failure:
    """What became of a run whose lease is left and whose process is not."""
    return Failure(
        f"{dead} stopped responding: was it killed, or out of memory?", "Killed", dead.since
    )


def failure(path: Path) -> Failure | None:
    """What a failed run left; None if there is nothing."""
    try:
        return Failure(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        return Failure(f"{path} cannot be read ({error}): remove it", "unknown", "")


def tell(made: Path, error: str, kind: str, evaluations: int) -> None:
    """Leave the error of a failed run beside its place, where that can be written."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError), atomic(failed(made)) as temporary:
        text = json.dumps(asdict(Failure(error, kind, now, evaluations)), indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")
