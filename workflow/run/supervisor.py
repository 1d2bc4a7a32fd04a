"""The process that answers for a run: it holds the lease, watches the time and outlives whatever
happens to its child, which computes.

A simulator may hang while it holds the interpreter's lock, abort, end its process or have it
killed. The parent therefore imports no numerical library and starts no thread: it gives the child
one record after another to make, and looks at the memory that both share (`pulse`). A child that
dies takes one record with it. The next one is forked from the parent, which is as it was.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workflow.run.lease import Lease
from workflow.run.pulse import Pulse
from workflow.run.target import Made, Target

log = logging.getLogger("noregret.supervisor")
POLL = 0.5  # seconds between two looks, less where that is no small part of a limit
FAREWELL = 1.0  # seconds for a child to end by itself when there is nothing more to do
SUBREAPER, DEATH_SIGNAL = (
    36,
    1,
)  # of prctl(2): who gets orphans, and what a child hears at our death
Serve = Callable[[Connection, Pulse], None]


class Failed(RuntimeError):
    """A record that was not made: a sentence that names it and says what to do.

    kind: the type of the error, or the signal that ended the process. everywhere: whether the same
    is true of all seeds of the command.
    """

    def __init__(self, sentence: str, kind: str, *, everywhere: bool = False) -> None:
        super().__init__(sentence)
        self.kind, self.everywhere = kind, everywhere


class Supervisor:
    """Context manager: makes the targets one by one, in children of this process that live as long
    as they can.

    serve: what a child does; it answers orders with JSON until the connection ends.
    """

    def __init__(self, targets: Sequence[Target], serve: Serve) -> None:
        self.targets, self._serve = targets, serve
        self._pulse = Pulse()
        self._child: Any = None
        self._line: Connection | None = None

    def __enter__(self) -> Supervisor:
        self._others = set(_children())  # of whoever else works in this process
        _prctl(SUBREAPER, 1)  # programs that outlive a simulator come to us, who end them
        self._handler = signal.signal(signal.SIGTSTP, self._suspend)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._line is not None:
            self._line.close()
            self._child.join(FAREWELL)
        self._end()
        _prctl(SUBREAPER, 0)
        signal.signal(signal.SIGTSTP, self._handler)

    def make(self, index: int, held: Lease) -> Made:
        """Make a record under its lease. Raises Failed, and Refused if the lease was lost."""
        target, stop, again = self.targets[index], None, False
        answer: dict[str, Any]
        while True:
            answer = {}
            try:
                answer = self._answer({"target": index, "stop": stop}, target, held)
            except Failed:
                # a simulator may have closed the line: another child finds the record
                if again or not self._pulse.done:
                    raise
                again = True
                continue
            finally:
                if not answer:
                    self._end()
            if "made" in answer:
                return Made(**answer["made"])
            if "error" in answer:
                if answer["spoiled"]:
                    self._end()
                raise Failed(answer["error"], answer["kind"], everywhere=answer["everywhere"])
            stop = answer["expired"]
            self._end()
            log.warning(
                "%s: an evaluation took more than %g s, which ended this run and is its result; to"
                " try again, remove that file (the limit is `timeout:` on the problem's line in"
                " papers/%s.yaml)",
                target.path,
                target.timeout,
                target.part.paper,
            )

    def _answer(self, order: Mapping[str, Any], target: Target, held: Lease) -> dict[str, Any]:
        """What the child says to an order; {"expired": number} where an evaluation with this number
        took too long.

        Raises Failed where it dies.
        """
        line = self._start()
        line.send_bytes(json.dumps(order).encode())
        patience = _Patience(target.timeout, self._pulse)
        while True:
            heard = connection.wait([line, self._child.sentinel], patience.poll)
            held.beat()
            held.saved = self._pulse.saved
            if line in heard:
                with suppress(EOFError, OSError):
                    return dict(json.loads(line.recv_bytes()))
            if self._child.exitcode is not None or heard:
                raise self._died(target)
            if (number := patience.expired(self._child.pid)) is not None:
                return {"expired": number}

    def _start(self) -> Connection:
        """The line to a child that lives."""
        if self._line is not None:
            return self._line
        self._pulse.forget()
        context = get_context("fork")
        self._line, theirs = context.Pipe()
        self._child = context.Process(
            target=_begin, args=(self._serve, theirs, self._line, self._pulse, os.getpid())
        )
        self._child.start()
        theirs.close()
        return self._line

    def _died(self, target: Target) -> Failed:
        self._child.join(POLL)
        if self._child.exitcode is None:  # it lives, and nobody will hear of it
            self._child.kill()
            self._child.join()
            code, how = 0, "its process has closed the line to the one that started it"
        else:
            code = self._child.exitcode
            how = f"its process ended by itself with exit status {code}"
        kind, remedy = "Ended", "correct its problem, algorithm or simulator, then run again"
        if code < 0:
            kind = signal.Signals(-code).name
            how = f"its process was ended by {kind} ({signal.strsignal(-code)})"
        if code == -signal.SIGKILL:
            remedy = (
                "was it out of memory? give it more (snakemake --set-resources run:mem_mb=8000),"
                " then run again: it goes on from its last checkpoint"
            )
        where = self._pulse.evaluation
        within = "" if where is None or where[1] < 0 else f" during evaluation {where[1]}"
        return Failed(f"{target.who}: {how}{within}: {remedy}", kind)

    def _end(self) -> None:
        """End the child and whatever it has started."""
        if self._child is not None:
            self._child.kill()
            self._child.join()
            self._child.close()
        while started := set(_children()) - self._others:
            for pid in started:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        if self._line is not None:
            self._line.close()
        self._child = self._line = None

    def _suspend(self, *_: object) -> None:
        """Ctrl-Z: the child, which is in a group of its own, stands still as long as we do."""
        child = self._child
        if child is not None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        if child is not None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGCONT)


class _Patience:
    """How long the evaluation under way has taken, without the time in which it could not run."""

    def __init__(self, seconds: float, pulse: Pulse) -> None:
        self.poll = min(POLL, seconds / 8)
        self._seconds, self._pulse = seconds, pulse
        self._spent = 0.0
        self._watched: tuple[int, int] | None = None
        self._last = time.monotonic()

    def expired(self, pid: int) -> int | None:
        """The number of the evaluation under way if it has taken too long, else None.

        Whoever asks was itself suspended, or its machine, if it did not ask for long.
        """
        now = time.monotonic()
        passed, self._last = min(now - self._last, 2 * self.poll), now
        evaluation = self._pulse.evaluation
        if evaluation != self._watched:
            self._watched, self._spent = evaluation, 0.0
        elif evaluation is not None and not _stands_still(pid):
            self._spent += passed
        return evaluation[1] if evaluation is not None and self._spent > self._seconds else None


def _begin(serve: Serve, line: Connection, parents: Connection, pulse: Pulse, parent: int) -> None:
    """What a child does first: it is in a session of its own, dies with its parent, and writes to
    standard error alone.
    """
    parents.close()
    os.setsid()  # Ctrl-C is for the parent, and no terminal stops a child that would ask at it
    _prctl(DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked to hear of it
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    serve(line, pulse)
    sys.stderr.flush()


def _prctl(option: int, value: int) -> None:
    """prctl(2), where there is one."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value)


def _children() -> list[int]:
    """The ids of the processes whose parent this one is, where the machine tells."""
    found = Path("/proc/self/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text(encoding="utf-8").split()]


def _stands_still(pid: int) -> bool:
    """Whether a process was suspended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in "Tt"
