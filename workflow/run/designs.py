"""The initial design that all algorithms of a (problem, seed) share: drawn by rule, in no unit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Domain


def draw(domain: Domain, rule: str, n: int, rng: np.random.Generator) -> NDArray:
    """n queries, uniform over the domain; `uniform-distinct` repeats no arm.

    Raises ValueError with fewer arms than n.
    """
    if not isinstance(domain, Arms):
        return rng.random((n, domain.d))
    if rule == "uniform-distinct":
        if n > len(domain):
            raise ValueError(f"expected at most {len(domain)} distinct arms in `init`, got n = {n}")
        return rng.choice(len(domain), size=n, replace=False)
    return rng.integers(len(domain), size=n)
