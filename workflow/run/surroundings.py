"""What a simulator may change around it, and nobody else may notice: it is put back after each
evaluation.

An evaluation runs in the process of its optimizer. Its working directory, umask, signals, alarms,
standard streams, NumPy's handling of errors, PyTorch's threads and types, and the global random
generators are those of the whole process. Nothing here draws from a global generator. Each is set
before an evaluation and again after it, by seed and number of the evaluation: a simulator, or a
library, that draws from one all the same gets the same numbers in whatever order runs are made, and
after a run was resumed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import zlib
from types import FrameType
from typing import Any

import numpy as np

# what may end a process from outside; the process that supervises decides what becomes of them
HEEDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def unheeded(number: int, frame: FrameType | None) -> None:
    """A handler that does nothing.

    Unlike SIG_IGN it is not handed on to programs that a simulator starts, which can so be ended.
    """


class Surroundings:
    """Those of this process as they are now."""

    def __init__(self) -> None:
        self._folder = os.getcwd()  # noqa: PTH109, compared and set in a microsecond
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._handlers = {number: signal.getsignal(number) for number in HEEDED}
        self._streams = sys.stdout, sys.stderr
        self._errors: Any = np.geterr()
        self._torch: tuple[Any, Any] | None = None

    def before(self, seed: int, number: int) -> None:
        """An evaluation begins."""
        if self._torch is None and "torch" in sys.modules:
            torch = sys.modules["torch"]
            self._torch = torch.get_num_threads(), torch.get_default_dtype()
        _seed_globals(f"{seed}/{number}/before")

    def after(self, seed: int, number: int) -> None:
        """It has ended: all is as it was before.

        Raises OSError where the working directory is gone.
        """
        os.chdir(self._folder)
        os.umask(self._umask)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for code, handler in self._handlers.items():
            if signal.getsignal(code) is not handler:
                signal.signal(code, handler)
        sys.stdout, sys.stderr = self._streams
        np.seterr(**self._errors)
        if self._torch is not None:
            torch, (threads, kind) = sys.modules["torch"], self._torch
            if torch.get_num_threads() != threads:
                torch.set_num_threads(threads)
            if torch.get_default_dtype() != kind:
                torch.set_default_dtype(kind)
        _seed_globals(f"{seed}/{number}/after")


def _seed_globals(name: str) -> None:
    value = zlib.crc32(name.encode())
    random.seed(value)
    np.random.seed(value)  # noqa: NPY002, so that whoever draws from it does no harm
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(value)
