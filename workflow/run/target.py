"""What a job is asked for, and what the process that computes tells the one that supervises."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass
from pathlib import Path

from workflow.run import lease
from workflow.trace.curves import AnyCurve

TIMEOUT = 3600.0  # seconds, where the problem's line in papers/*.yaml has no `timeout`


@dataclass(frozen=True)
class Target:
    """One record to be made: of a seed of a curve or a study, at `path`, with the store and the
    data below `root`.

    again: also where the store has it. stored: whether it comes from the store and goes there; a
    file that the user names does not. checkpoint_every, wait: seconds between two checkpoints, and
    to wait for another process that makes the record.
    """

    curve: AnyCurve
    seed: int
    path: Path
    root: Path = Path()
    again: bool = False
    stored: bool = True
    checkpoint_every: float = 60.0
    wait: float = lease.WAIT

    @property
    def who(self) -> str:
        """Paper, problem, curve and seed, as people read them."""
        return f"{self.curve.name} seed {self.seed}"

    @property
    def timeout(self) -> float:
        """Seconds that one evaluation may take."""
        return float(self.curve.problem_entry.get("timeout", TIMEOUT))


class Shared(ctypes.Structure):
    """Memory of the process that supervises and the one that computes: what the second one writes
    is read whatever it is stuck in, and whatever became of its open files.

    evaluation: the number of the one under way plus 1; 0 between two. began: when it began, by
    time.monotonic(). answer: JSON, at the end.
    """

    evaluation: int
    began: float
    answer: bytes
    _fields_ = (
        ("evaluation", ctypes.c_int64),
        ("began", ctypes.c_double),
        ("answer", ctypes.c_char * 65536),
    )

    @classmethod
    def new(cls) -> Shared:
        """All zeros."""
        return cls.from_buffer(mmap.mmap(-1, ctypes.sizeof(cls)))
