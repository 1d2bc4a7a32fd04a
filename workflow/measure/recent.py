"""What was made last is kept at hand, so that the memory of a report does not grow with the number
of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KEPT = 1 << 30  # bytes of records, and as many of metrics, that a report has at hand
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """What was made last, as much as goes into KEPT bytes."""

    def __init__(self, size: Callable[[V], int]) -> None:
        self._size, self._bytes = size, 0
        self._kept: dict[K, V] = {}  # the one asked for last is the last

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, made anew if it is no longer kept."""
        if key in self._kept:
            self._kept[key] = value = self._kept.pop(key)
            return value
        self._kept[key] = value = make()
        self._bytes += self._size(value)
        while self._bytes > KEPT and len(self._kept) > 1:
            self._bytes -= self._size(self._kept.pop(next(iter(self._kept))))
        return value
