"""Where a run is, in memory that two processes share: the one that computes writes, the one that
supervises reads, whatever the other is stuck in.
"""

from __future__ import annotations

import mmap

BEGUN, BUSY, NUMBER, SAVED, DONE = range(5)


class Pulse:
    """Five numbers that a hanging interpreter cannot keep from being read."""

    def __init__(self) -> None:
        # written and read in whole words, which needs no lock
        self._words = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("q")

    def begin(self, number: int) -> None:
        """An evaluation begins: the one with this number in its run."""
        self._words[NUMBER] = number
        self._words[BEGUN] += 1
        self._words[BUSY] = 1

    def end(self) -> None:
        """It has ended."""
        self._words[BUSY] = 0

    def forget(self) -> None:
        """Another run begins, or another process goes on."""
        for word in (BUSY, NUMBER, SAVED, DONE):
            self._words[word] = 0

    @property
    def evaluation(self) -> tuple[int, int] | None:
        """The evaluation under way: how many have begun before it, whoever ran, and its number in
        its run; None between two.
        """
        return (self._words[BEGUN], self._words[NUMBER]) if self._words[BUSY] else None

    @property
    def saved(self) -> int:
        """Evaluations in the checkpoint of the run."""
        return self._words[SAVED]

    @saved.setter
    def saved(self, evaluations: int) -> None:
        self._words[SAVED] = evaluations

    @property
    def done(self) -> bool:
        """Whether the record is there, although nobody may have said so."""
        return bool(self._words[DONE])

    def finish(self) -> None:
        """The record is there."""
        self._words[DONE] = 1
