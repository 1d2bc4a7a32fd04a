"""Who makes a record, and why nobody could: `<seed>.running` and `<seed>.failed` beside its place.

A process holds the lease of a record while it, or a child of it, makes the record, so that two
processes never write the same one. It touches the lease all the time. A process that meets the
lease of a living one waits for it: jobs of a workflow that was killed go on running, and the next
workflow waits for them. A process that was killed leaves its lease behind, and the next one takes
it over. Where both share one space of process ids, of one boot of one machine, a dead process is
recognised by its id. Any other counts as dead when we have watched its lease for long enough and
nobody touched it; the clocks of the hosts do not matter. A run that fails leaves its error; the
next success removes that.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import platform
import time
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TextIO

from workflow.trace.atomic import atomic, sweep

log = logging.getLogger("noregret.lease")
RENEW = 20.0  # seconds between two touches
# seconds without a touch after which a process of another host is gone; network file systems show
# it late
PATIENCE = 120.0
WAIT = 3600.0  # seconds to wait for a living process
POLL = 1.0  # seconds between two looks at its lease


class Refused(RuntimeError):
    """A record that this process may not make; says who does, or why nobody can, and what to do."""


@dataclass(frozen=True)
class Owner:
    """A process, on any machine: an id alone is used again, by other processes, other machines and
    other containers, which may all have the same name.
    """

    host: str = ""
    boot: str = ""  # the id that a machine draws when it starts
    namespace: str = ""  # of process ids; the first one has the same name on every machine
    pid: int = 0
    started: int = 0  # in clock ticks after the machine's; 0 where it does not tell
    since: str = ""  # UTC

    @property
    def place(self) -> tuple[str, str, str]:
        """Where its id means this process and no other."""
        return self.host, self.boot, self.namespace

    @property
    def elapsed(self) -> float:
        """Seconds since it took its lease; 0 where it does not say when."""
        try:
            return max(
                0.0, (datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds()
            )
        except ValueError:
            return 0.0

    @property
    def is_known(self) -> bool:
        """Whether it says where its id means this process and no other."""
        return bool(self.boot and self.namespace and self.pid > 0)

    def is_alive(self, age: float) -> bool:
        """Whether it still runs, `age` seconds after it was last seen to touch its lease."""
        if self.place != this_process().place or not self.is_known:
            return age < PATIENCE
        found = _started(self.pid)
        return found is not None and (self.started in (0, found) or found == 0)

    def __str__(self) -> str:
        return (
            f"process {self.pid} on {self.host} (since {self.since})"
            if self.pid
            else "a process that it does not name"
        )


NOBODY = Owner()
REMEDY = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within your quota",
    errno.EFBIG: "raise the limit on the size of files (`ulimit -f unlimited`)",
}


@dataclass(frozen=True)
class Failure:
    """Why a run failed: its error, when (UTC), and after how many evaluations it would go on, by
    its checkpoint.
    """

    error: str
    type: str
    time: str
    evaluations: int = 0


def this_process() -> Owner:
    """The owner of every lease that this process takes."""
    try:
        # neither link leads to a path
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
        if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115
            namespace = ""  # ids in this /proc are those of another one
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        namespace = boot = ""
    return Owner(platform.node(), boot, namespace, os.getpid(), _started(os.getpid()) or 0, _now())


def lost(dead: Owner) -> Failure:
    """What became of a run whose lease is left and whose process is not."""
    sentence = f"{dead} stopped responding: was it killed, or out of memory?"
    return Failure(sentence, "Killed", dead.since)


def running(made: Path) -> Path:
    """The lease of a record."""
    return made.with_suffix(".running")


def failed(made: Path) -> Path:
    """What a failed run leaves in the place of its record."""
    return made.with_suffix(".failed")


def checkpoint(made: Path) -> Path:
    """Where the run of a record saves itself: in a folder of this user alone."""
    return made.parent / f".checkpoints-{os.geteuid()}" / f"{made.stem}.checkpoint"


def owner(lease: Path) -> tuple[Owner, float] | None:
    """Who holds a lease and when it was touched, by the clock of its file system; None if nobody
    does.
    """
    try:
        with lease.open(encoding="utf-8") as file:
            return _owner(file)
    except FileNotFoundError:
        return None


def failure(path: Path) -> Failure | None:
    """What a failed run left; None if there is nothing."""
    try:
        return Failure(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        return Failure(f"{path} cannot be read ({error}): remove it", "unknown", "")


class Watch:
    """How long a lease has not been touched, by nothing but our own stopwatch."""

    def __init__(self) -> None:
        self._last: tuple[Owner, float] | None = None
        self._since = 0.0

    def age(self, owner: Owner, touched: float) -> float:
        """Seconds since we first saw this owner's last touch."""
        if (owner, touched) != self._last:
            self._last, self._since = (owner, touched), time.monotonic()
        return time.monotonic() - self._since


class Lease:
    """Context manager: this process makes the record at `made`, and no other. Raises Refused.

    An exception within leaves `<seed>.failed` and goes on; being ended (SIGTERM, Ctrl-C) is no
    failure.
    """

    def __init__(self, made: Path, *, wait: float = WAIT) -> None:
        self.made, self.path, self.wait = made, running(made), wait
        self.saved = 0  # evaluations in the checkpoint
        self.owner = this_process()
        self.held = False
        self._touched = 0.0  # by our own stopwatch

    def __enter__(self) -> Lease:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._take()
            self.held = True
        except OSError as error:
            read_only = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            if not (
                read_only and self.made.exists()
            ):  # what is finished can be used where nobody can write
                wrong = f"{self.path}: expected a file that can be written, got {error.strerror}"
                raise Refused(
                    f"{wrong}: {REMEDY.get(error.errno or 0, 'make its folder writable')}, then run"
                    " again"
                ) from None
        self._touched = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.held:
            return
        with suppress(OSError):  # the error that ends the run is the one to be seen
            if error is None:
                failed(self.made).unlink(missing_ok=True)
            elif isinstance(error, Exception) and not isinstance(error, Refused):
                self._tell(error)
        self.release()

    def release(self) -> None:
        """Let others have it, whatever became of the run.

        Halves of files go first: a child that was killed while it wrote could not remove them.
        """
        with suppress(OSError):
            if self._is_mine():
                for path in (self.made, failed(self.made), checkpoint(self.made)):
                    sweep(path)
                self.path.unlink(missing_ok=True)

    def beat(self) -> None:
        """Say that the run goes on, if that was last said RENEW seconds ago; whoever holds the
        lease calls this more often.

        Takes the lease again if somebody removed it. Raises Refused if another process has taken
        over: this one had stood still for too long.
        """
        if not self.held or time.monotonic() - self._touched < RENEW:
            return
        self._touched = time.monotonic()
        with suppress(OSError):  # a disk that is full or away for a while
            if self._is_mine():
                os.utime(self.path)
            elif not self._create() and (found := owner(self.path)) is not None:
                raise Refused(
                    f"{self.made}: {found[0]} has taken over, since this process stood still: it"
                    " makes the record"
                )

    def _take(self) -> None:
        """Create the lease, or take over that of a process which is gone.

        Raises Refused, OSError.
        """
        watch = Watch()
        began = time.monotonic()
        told = False
        while not self._create():
            found = owner(self.path)
            if found is None:
                if self.path.is_symlink():
                    raise Refused(
                        f"{self.made}: expected a file {self.path.name} beside it or none, got a"
                        " link to nowhere: remove it, then run again"
                    )
                continue
            left_by_this = found[0].is_known and self._is_this(found[0])
            if left_by_this or not found[0].is_alive(watch.age(*found)):
                if self._take_over(found):
                    return
                continue
            if time.monotonic() - began >= self.wait:
                raise Refused(
                    f"{self.made}: {found[0]} is still making this record after {self.wait:.0f} s"
                    " of waiting: wait for it or cancel it, then run again; if it is dead, remove"
                    f" {self.path.name} beside the record"
                )
            if not told:
                log.warning("%s: waits for %s, which is making this record", self.made, found[0])
                told = True
            time.sleep(POLL)
            self.owner = replace(self.owner, since=_now())  # it does not hold it while it waits

    def _create(self) -> bool:
        """Whether the lease was free and is ours now."""
        try:
            file = self.path.open("x", encoding="utf-8")
        except FileExistsError:
            return False
        try:
            with file:
                file.write(self._text())
        except OSError:  # a full disk: who comes next must not wait for a lease of nobody
            self.path.unlink(missing_ok=True)
            raise
        return True

    def _take_over(self, dead: tuple[Owner, float]) -> bool:
        """Whether the lease of a process that is gone is ours now; if not, somebody was faster.

        Raises OSError.
        """
        try:
            with self.path.open("r+", encoding="utf-8") as file:
                # of several that found it dead, one is first: the others see a living owner
                fcntl.flock(file, fcntl.LOCK_EX)
                if (
                    not os.path.samestat(os.fstat(file.fileno()), self.path.stat())
                    or _owner(file) != dead
                ):
                    return False
                try:
                    file.seek(0)
                    file.truncate()
                    file.write(self._text())
                    file.flush()
                except OSError:  # as when it is created
                    self.path.unlink(missing_ok=True)
                    raise
                return True
        except FileNotFoundError:
            return False

    def _is_this(self, other: Owner) -> bool:
        if not other.is_known:  # others may have the same id, but hardly since the same second
            return other == self.owner
        return (other.place, other.pid, other.started) == (
            self.owner.place,
            self.owner.pid,
            self.owner.started,
        )

    def _is_mine(self) -> bool:
        found = owner(self.path)
        return found is not None and self._is_this(found[0])

    def _text(self) -> str:
        return json.dumps(asdict(self.owner)) + "\n"

    def _tell(self, error: Exception) -> None:
        kind = getattr(error, "kind", type(error).__name__)  # of an error that a child told
        told = Failure(str(error) or kind, kind, _now(), self.saved)
        with atomic(failed(self.made)) as temporary:
            temporary.write_text(json.dumps(asdict(told), indent=1) + "\n", encoding="utf-8")


def _owner(file: TextIO) -> tuple[Owner, float]:
    """Who an open lease names and when it was touched; nobody by name where it is not written to
    the end.
    """
    touched = os.fstat(file.fileno()).st_mtime
    try:
        found = Owner(**json.loads(file.read()))
    except (ValueError, TypeError, RecursionError):
        return NOBODY, touched
    kinds = zip(astuple(found), astuple(NOBODY), strict=True)
    return (found if all(type(one) is type(other) for one, other in kinds) else NOBODY), touched


def _started(pid: int) -> int | None:
    """When a process started, in clock ticks; 0 where the machine does not tell, None if there is
    no such process.
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass  # another user's
    try:
        # the name before it may contain anything
        fields = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return 0
    # one that has ended, but was not waited for, makes nothing
    return None if fields[0] in "ZX" else int(fields[19])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
