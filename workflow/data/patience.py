"""How long a download may take: limits, and the clock that holds a server to them.

A limit for each read alone is none: a server that sends a byte now and then meets it for ever.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, replace

from workflow.data.partial import Rejected
from workflow.data.places import DataUnavailable

HOURS = "NOREGRET_DOWNLOAD_HOURS"  # of one file, in the environment


@dataclass(frozen=True)
class Limits:
    """Seconds, bytes, and bytes a second."""

    # nothing received: a server that computes an answer, or a line that is switched over, is back
    # within this; asked three times in a row, a silent one costs a minute
    silence: float = 20.0
    # from a request to the end of the headers of its last answer, with look-up, connection,
    # encryption and all redirections: ten times what distant servers take
    head: float = 60.0
    # received in that time: headers are some kilobytes, what a redirection says beside them is text
    head_bytes: int = 1 << 20
    # of the file, on average over each window: less, and 100 MB would take a day
    rate: float = 1000.0
    window: float = 30.0
    # all attempts at one file from one source: ten minutes and what a poor line takes (20 kB a
    # second: 7 hours for the largest file of the manifest)
    grace: float = 600.0
    pace: float = 20e3
    unknown: float = 6 * 3600.0  # the same for a file whose size nobody states
    whole: float = 0.0  # the same for any file, if not 0

    def seconds(self, size: int) -> float:
        """How long a file of `size` bytes (0: not known) may take."""
        by_size = self.grace + size / self.pace if size else self.unknown
        return self.whole or by_size


def chosen_limits() -> Limits:
    """The limits, with the hours of the environment. Raises DataUnavailable where they are none."""
    said = os.environ.get(HOURS, "")
    if not said:
        return Limits()
    try:
        hours = float(said)
    except ValueError:
        hours = math.nan
    if not 0 < hours < math.inf:
        raise DataUnavailable(
            f"{HOURS}: expected a positive number of hours, got {said!r}: correct it, or unset it"
            " for a limit by the size of each file"
        )
    return replace(Limits(), whole=3600 * hours)


class Clock:
    """Says how long the next read may take, and raises Rejected once a limit is passed: asking the
    same server again would not help.
    """

    def __init__(self, limits: Limits, size: int) -> None:
        self._limits = limits
        self._seconds = limits.seconds(size)
        self._end = time.monotonic() + self._seconds
        self._total = 0
        self.asked()

    @property
    def silent(self) -> str:
        """What to say of a server that sends nothing."""
        return f"silent: expected something within {self._limits.silence:g} s, got nothing"

    def asked(self) -> None:
        """A request is made."""
        self._since, self._count, self._is_head = time.monotonic(), 0, True

    def answered(self) -> None:
        """The headers of the answer are there; what follows is the file."""
        self._since, self._count, self._is_head = time.monotonic(), 0, False

    def received(self, count: int) -> None:
        """So many bytes of any kind. Raises Rejected where they are no headers."""
        if self._is_head:
            self._count += count
            if self._count > self._limits.head_bytes:
                raise Rejected(
                    f"expected an answer with at most {self._limits.head_bytes} bytes of headers,"
                    " got more"
                )

    def brought(self, count: int) -> None:
        """So many bytes of the file. Raises Rejected where all of it takes too long."""
        self._count += count
        self._total += count
        self.left()

    def left(self) -> float:
        """Seconds that the next read may take, more than 0. Raises Rejected."""
        now = time.monotonic()
        if now >= self._end:
            raise Rejected(
                f"too slow: expected all of it within {self._seconds:g} s, got {self._total} bytes;"
                f" {HOURS} says how long to wait"
            )
        if self._is_head:
            if now >= self._since + self._limits.head:
                raise Rejected(
                    f"too slow: expected an answer within {self._limits.head:g} s, got"
                    f" {self._count} bytes of headers"
                )
            return min(self._limits.silence, self._end - now, self._since + self._limits.head - now)
        seconds = now - self._since
        if seconds >= self._limits.window:
            if self._count < self._limits.rate * seconds:
                raise Rejected(
                    f"too slow: expected at least {self._limits.rate:g} bytes a second, got"
                    f" {self._count} in {seconds:.1f} s"
                )
            self._since, self._count = now, 0
        return min(self._limits.silence, self._end - now)
