"""Who makes a record, and why nobody could: `<seed>.running` and `<seed>.failed` beside its place.

A process holds the lease of a record while it makes it, so that two never write the same one. A process that was killed leaves
its lease behind, which the next one takes over: on its own host it is known to be gone, of another host it is when the
file was not touched for long. A run that fails leaves its error; the next success removes that.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TextIO

from workflow import record

RENEW = 20.0  # seconds between two touches
PATIENCE = 600.0  # seconds without a touch after which a process of another host is gone


class Refused(RuntimeError):
    """A record that this process may not make; says who does, or why nobody can, and what to do."""


@dataclass(frozen=True)
class Owner:
    """A process, on any machine: an id alone is used again, by other processes, other machines and other containers."""

    host: str = ""
    namespace: str = ""  # of process ids
    pid: int = 0
    started: int = 0  # in clock ticks after the machine's; 0 where it does not tell
    since: str = ""  # UTC

    @property
    def place(self) -> tuple[str, str]:
        return self.host, self.namespace

    @property
    def elapsed(self) -> float:
        """Seconds since it took its lease; 0 where it does not say when."""
        try:
            return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds())
        except ValueError:
            return 0.0

    def is_alive(self, age: float) -> bool:
        """Whether it still runs, `age` seconds after it last touched its lease."""
        if self.place != this_process().place:
            return age < PATIENCE
        found = _started(self.pid)
        return found is not None and (self.started in (0, found) or found == 0)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})" if self.pid else "a process that it does not name"


@dataclass(frozen=True)
class Failure:
    """Why a run failed: its error, when (UTC), and after how many evaluations it would go on, by its checkpoint."""

    error: str
    type: str
    time: str
    evaluations: int = 0


def this_process() -> Owner:
    """The owner of every lease that this process takes."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115, it leads to no path
    except OSError:
        namespace = ""
    return Owner(platform.node(), namespace, os.getpid(), _started(os.getpid()) or 0, _now())


def lost(dead: Owner) -> Failure:
    """What became of a run whose lease is left and whose process is not."""
    sentence = f"{dead} ended without a word or is not heard of: was it killed, or out of memory?"
    return Failure(sentence, "Killed", dead.since)


def running(made: Path) -> Path:
    """The lease of a record."""
    return made.with_suffix(".running")


def failed(made: Path) -> Path:
    """What a failed run leaves in the place of its record."""
    return made.with_suffix(".failed")


def owner(lease: Path) -> tuple[Owner, float] | None:
    """Who holds a lease and how many seconds ago it was touched; None if nobody does."""
    try:
        with lease.open() as file:
            return _owner(file)
    except FileNotFoundError:
        return None


def failure(path: Path) -> Failure | None:
    """What a failed run left; None if there is nothing."""
    try:
        return Failure(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        return Failure(f"{path} cannot be read ({error}): remove it", "unknown", "")


class Lease:
    """Context manager: this process makes the record at `made`, and no other. Raises Refused.

    An exception within leaves `<seed>.failed` and goes on; being ended (SIGTERM, Ctrl-C) is no failure.
    """

    def __init__(self, made: Path) -> None:
        self.made, self.path = made, running(made)
        self.saved = 0  # evaluations in the checkpoint
        self.owner = this_process()
        self.held, self.renewed = False, time.monotonic()

    def __enter__(self) -> Lease:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._take()
            self.held = True
        except OSError as error:
            read_only = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            if not (read_only and self.made.exists()):  # what is finished can be used where nobody can write
                wrong = f"{self.path}: expected a file that can be written, got {error.strerror}"
                raise Refused(f"{wrong}: make its folder writable, or remove it if it is there") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.held:
            return
        with suppress(OSError):  # the error that ends the run is the one to be seen
            if error is None:
                failed(self.made).unlink(missing_ok=True)
            elif isinstance(error, Exception) and not isinstance(error, Refused):
                self._tell(error)
        with suppress(OSError):
            if self._is_mine():
                self.path.unlink(missing_ok=True)

    def renew(self) -> None:
        """Say that the run goes on, if that was not said lately. Raises Refused where another process has taken over."""
        if not self.held or time.monotonic() - self.renewed < RENEW:
            return
        self.renewed = time.monotonic()
        with suppress(OSError):
            if self._is_mine():
                os.utime(self.path)
            else:
                self._take()

    def _take(self) -> None:
        """Create the lease, or take over that of a process which is gone. Raises Refused, OSError."""
        while True:
            try:
                with self.path.open("x") as file:
                    file.write(self._text())
                return
            except FileExistsError:
                if self._taken_over():
                    return

    def _taken_over(self) -> bool:
        """Whether the lease that was there is ours now; if not, it vanished meanwhile. Raises Refused, OSError."""
        self._respect(owner(self.path))
        try:
            with self.path.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # of several that found it dead, one is first: the others see a living owner
                if not os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    return False
                self._respect(_owner(file))
                file.seek(0)
                file.truncate()
                file.write(self._text())
                file.flush()
                return True
        except FileNotFoundError:
            return False

    def _respect(self, found: tuple[Owner, float] | None) -> None:
        """Raise Refused if another process, which is alive, holds the lease."""
        if found is None:
            return
        other, age = found
        if not self._is_this(other) and other.is_alive(age):
            raise Refused(
                f"{self.made}: {other} is making it: wait for it or cancel it; if it is dead, remove {self.path.name} beside the "
                "record and run again"
            )

    def _is_this(self, other: Owner) -> bool:
        return (other.place, other.pid, other.started) == (self.owner.place, self.owner.pid, self.owner.started)

    def _is_mine(self) -> bool:
        found = owner(self.path)
        return found is not None and self._is_this(found[0])

    def _text(self) -> str:
        return json.dumps(asdict(self.owner)) + "\n"

    def _tell(self, error: Exception) -> None:
        told = Failure(str(error) or type(error).__name__, type(error).__name__, _now(), self.saved)
        with record.atomic(failed(self.made)) as temporary:
            temporary.write_text(json.dumps(asdict(told), indent=1) + "\n")


def _owner(file: TextIO) -> tuple[Owner, float]:
    """Who an open lease names and how many seconds ago it was touched; nobody by name where it is not written to the end."""
    age = time.time() - os.fstat(file.fileno()).st_mtime
    try:
        return Owner(**json.loads(file.read())), age
    except (ValueError, TypeError):
        return Owner(), age


def _started(pid: int) -> int | None:
    """When a process started, in clock ticks; 0 where the machine does not tell, None if there is no such process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # another user's
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()  # the name before it may contain anything
    except OSError:
        return 0
    return None if fields[0] in "ZX" else int(fields[19])  # one that has ended, but was not waited for, makes nothing


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
