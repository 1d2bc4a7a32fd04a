"""What a simulator may change around it, and nobody else may notice: it is put back after each
evaluation, and whatever an optimizer may change after each of its steps.

An evaluation runs in the process of its optimizer. Its working directory, umask, signals, alarms,
standard streams, NumPy's handling of errors, PyTorch's threads and types, and the global random
generators are those of the whole process. Nothing here draws from a global generator. Each is set
before an evaluation and again after it, and before and after whatever an optimizer does, by seed
and number of the evaluation: a simulator, an optimizer, or a library, that draws from one all the
same gets the same numbers in whatever order runs are made, and after a run was resumed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import zlib
from contextlib import suppress
from typing import Any

import numpy as np

from workflow.run.lease import ENDING

ALARMS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


class Surroundings:
    """Those of this process as they are now."""

    def __init__(self) -> None:
        self._folder = os.getcwd()  # noqa: PTH109, compared and set in a microsecond
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._handlers = {number: signal.getsignal(number) for number in ENDING}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._recursion = sys.getrecursionlimit()
        self._streams = sys.stdin, sys.stdout, sys.stderr
        self._handles = _duplicates()
        self._errors: Any = np.geterr()
        self._torch: tuple[Any, Any] | None = None

    def put_back(self, when: str) -> None:
        """They are as they were, and whoever draws from a global generator from now on gets the
        numbers of this moment of a run.

        Raises OSError where the working directory is gone.
        """
        os.chdir(self._folder)
        os.umask(self._umask)
        for alarm in ALARMS:
            signal.setitimer(alarm, 0)
        for number, handler in self._handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        sys.setrecursionlimit(self._recursion)
        sys.stdin, sys.stdout, sys.stderr = self._streams
        for handle, (copy, same) in self._handles.items():
            if _file(handle) != same:  # the next file to be opened must not become an output
                os.dup2(copy, handle)
        np.seterr(**self._errors)
        value = zlib.crc32(when.encode())
        random.seed(value)
        np.random.seed(value)  # noqa: NPY002, so that whoever draws from it does no harm
        if "torch" in sys.modules:
            self._put_back_torch(sys.modules["torch"], value)

    def _put_back_torch(self, torch: Any, seed: int) -> None:
        """As it was when a problem or an optimizer had just loaded it."""
        if self._torch is None:
            self._torch = torch.get_num_threads(), torch.get_default_dtype()
        threads, kind = self._torch
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        if torch.get_default_dtype() != kind:
            torch.set_default_dtype(kind)
        torch.default_generator.manual_seed(seed)


def _duplicates() -> dict[int, tuple[int, tuple[int, int] | None]]:
    """Of standard input, output and errors: another handle of the same file, and which that is."""
    duplicates = {}
    for handle in (0, 1, 2):
        with suppress(OSError):  # it is closed, and stays so
            duplicates[handle] = os.dup(handle), _file(handle)
    return duplicates


def _file(handle: int) -> tuple[int, int] | None:
    """Which file an open handle leads to; None where it is closed."""
    try:
        status = os.fstat(handle)
    except OSError:
        return None
    return status.st_dev, status.st_ino
