"""The Gaussian kernel over a table, one memoised column per arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from algorithms.api import Array, Indices

FIRST_ROWS = 64
MOST_BYTES = 400 << 20  # of remembered columns, unless somebody needs half of that at once


class GaussianTable:
    """k(x, x') = exp(-|x - x'|^2 / (2 bandwidth^2)) between all arms and the arms that somebody
    asked for.

    A column costs O(A d) once; `rows` are then views or gathers of one growing buffer (columns of K
    are stored as rows). It is a memo of a pure function: it never changes an answer, and it is left
    out of a pickle.
    """

    variance = 1.0  # k(x, x), the kappa^2 of the papers
    _buffer: Array
    _used: int
    _place: Indices

    def __init__(self, points: Array, bandwidth: float) -> None:
        if not bandwidth > 0:
            raise ValueError(f"bandwidth: expected a positive number, got {bandwidth}")
        self.points = np.ascontiguousarray(points, dtype=np.float64)  # (A, d)
        self.bandwidth = float(bandwidth)
        self._forget()

    def __len__(self) -> int:
        return len(self.points)

    def compute(self, arm: int) -> Array:
        """k(x, x_arm) for all arms x, shape (A,), without remembering it."""
        difference = self.points - self.points[arm]  # (A, d)
        distance = np.einsum("ij,ij->i", difference, difference)
        return np.exp(distance / (-2.0 * self.bandwidth**2))

    def column(self, arm: int) -> Array:
        """k(x, x_arm) for all arms x, shape (A,)."""
        if self._place[arm] < 0:
            self._remember(int(arm))
        return self._buffer[self._place[arm]]

    def columns(self, arms: Sequence[int] | Indices) -> Array:
        """k(x, x_j) for all arms x and j in `arms`, (len(arms), A); a view where it can be one."""
        rows = _together(self._placed(arms))  # before the buffer, which this may replace
        return self._buffer[rows]

    def blocks(self, arms: Sequence[int] | Indices, size: int) -> Iterator[tuple[slice, Array]]:
        """The same, `size` of all arms x at a time: which of them, and (len(arms), at most size).

        Where it cannot be a view, a block is gathered when its turn comes and stays in the cache;
        gathering all columns at once costs a copy in memory.
        """
        rows, buffer = _together(self._placed(arms)), self._buffer
        for start in range(0, len(self), size):
            block = slice(start, start + size)
            yield block, buffer[rows, block]

    def remember(self, arms: Sequence[int] | Indices) -> None:
        """Compute the columns of some arms now, so that they lie side by side in this order."""
        self._placed(arms)

    def among(self, arms: Sequence[int] | Indices, others: Sequence[int] | Indices) -> Array:
        """k(x_i, x_j) for i in `arms` and j in `others`, shape (len(arms), len(others))."""
        places = self._placed(arms)
        return self._buffer[places[:, None], others]

    def _placed(self, arms: Sequence[int] | Indices) -> Indices:
        """Rows of the buffer for some arms; those not asked for before are computed."""
        wanted = np.asarray(arms, dtype=np.int64)
        new = wanted[self._place[wanted] < 0]
        most = MOST_BYTES // (8 * len(self))  # columns
        if len(new) and self._used + len(new) > most and len(wanted) <= most // 2:
            self._forget()  # dictionaries drawn anew among thousands of arms would fill the memory
            new = wanted
        for arm in new:
            if self._place[arm] < 0:
                self._remember(int(arm))
        return self._place[wanted]

    def _remember(self, arm: int) -> None:
        if self._used == len(self._buffer):
            grown = np.empty((max(FIRST_ROWS, 2 * self._used), len(self)))
            grown[: self._used] = self._buffer[: self._used]
            self._buffer = grown
        self._buffer[self._used] = self.compute(arm)
        self._place[arm] = self._used
        self._used += 1

    def _forget(self) -> None:
        self._buffer = np.empty((0, len(self)))
        self._used = 0
        self._place = np.full(len(self), -1)  # arm -> its row of the buffer, (A,)

    def __getstate__(self) -> tuple[Array, float]:
        return self.points, self.bandwidth

    def __setstate__(self, state: tuple[Array, float]) -> None:
        self.points, self.bandwidth = state
        self._forget()


def _together(places: Indices) -> slice | Indices:
    """Rows of a buffer, as a slice where they follow each other."""
    if len(places) and places[-1] - places[0] == len(places) - 1 and (np.diff(places) == 1).all():
        return slice(places[0], places[-1] + 1)
    return places
