"""What was pulled so far, by distinct arm in the order of the first pull."""

from __future__ import annotations

import numpy as np

from algorithms.api import Array, Indices


class Pulls:
    """Distinct arms (u,), their numbers of pulls (u,) and sums of rewards (u,)."""

    def __init__(self) -> None:
        self.arms: Indices = np.empty(0, dtype=np.int64)
        self.n: Array = np.empty(0)
        self.sums: Array = np.empty(0)
        self._place: dict[int, int] = {}

    def add(self, query: Indices, y: Array) -> None:
        """Count the pulls of one batch."""
        new = list(dict.fromkeys(arm for arm in query.tolist() if arm not in self._place))
        self._place |= {arm: len(self._place) + i for i, arm in enumerate(new)}
        self.arms = np.append(self.arms, np.array(new, dtype=np.int64))
        self.n, self.sums = (np.append(old, np.zeros(len(new))) for old in (self.n, self.sums))
        places = [self._place[arm] for arm in query.tolist()]
        np.add.at(self.n, places, 1.0)
        np.add.at(self.sums, places, y)

    @property
    def means(self) -> Array:
        """Empirical mean reward of each distinct arm, (u,)."""
        return self.sums / self.n
