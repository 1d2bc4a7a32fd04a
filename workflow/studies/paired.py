"""What several studies share: randomness paired between the runs of one seed, a grid in t, tidy
columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Array, Indices
from problems.api import Problem
from workflow.run.loop import Noise
from workflow.trace.seeds import rng

Columns = dict[str, NDArray]


class Model(TypedDict):
    """What every method over a Gaussian process is given: kernel, regularisation and confidence."""

    bandwidth: float
    lam: float
    xi: float
    norm: float
    delta: float
    beta: str


@dataclass(frozen=True)
class ConfidenceSettings:
    """How wide the confidence bounds of every method are: the group `confidence`.

    xi: standard deviation of the noise that a method assumes (calandriello2019bkb, Sec. 2).
    norm: F, the bound on the norm of the function (calandriello2019bkb, Thm. 2).
    delta: probability with which a bound may fail (calandriello2019bkb, Thm. 2).
    beta: theorem, or reference-code: the formula of the width.
    """

    xi: float
    norm: float
    delta: float
    beta: str

    def model(self, *, bandwidth: float, lam: float) -> Model:
        """With the kernel's bandwidth and the regularisation lambda."""
        return {
            "bandwidth": bandwidth,
            "lam": lam,
            "xi": self.xi,
            "norm": self.norm,
            "delta": self.delta,
            "beta": self.beta,
        }


def table(problem: Problem) -> Arms:
    """The problem's arms. Raises TypeError for a problem on a box."""
    if not isinstance(problem.domain, Arms):
        raise TypeError(
            f"expected a problem on Arms, got {type(problem.domain).__name__}: choose a table in"
            " papers/*.yaml"
        )
    return problem.domain


def best(problem: Problem) -> float:
    """The optimum that a regret is measured from. Raises ValueError where it is unknown."""
    if problem.best is None:
        raise ValueError(
            "expected a problem whose optimum is known, got best = None: a regret needs it"
        )
    return problem.best


def truth(problem: Problem) -> Array:
    """The noiseless value of every arm, (A,)."""
    everything = np.arange(len(table(problem)))
    return problem.evaluate(everything, rng(0, "study", "truth")).true.y


def noise(seed: int) -> Noise:
    """The noise of evaluation i, the same for every run of a study."""
    return lambda i: rng(seed, "noise", i)


def first_arm(seed: int, arms: Arms) -> Indices:
    """The uniform first arm, the same for every run of a study, shape (1,)."""
    return rng(seed, "study", "init").integers(len(arms), size=1)


def log_grid(T: int, per_decade: int) -> list[int]:
    """Steps evenly spread in log t, then T (no other within 10 % of it); a smaller T has the same
    grid up to its end.
    """
    inner = np.round(10 ** np.arange(0.0, np.log10(max(T, 2)), 1 / per_decade)).astype(int)
    return sorted({*inner[inner < 0.9 * T].tolist(), T})


def ratio_range(variance: Array, exact: Array) -> tuple[float, float]:
    """The smallest and the largest variance(x)/exact(x) over all arms."""
    ratio = variance / exact
    return float(ratio.min()), float(ratio.max())


def tidy(rows: Sequence[Mapping[str, float]]) -> Columns:
    """One array a column, float64 or int64. Raises ValueError when there is no row."""
    if not rows:
        raise ValueError("expected at least one row, got none: T is too small for this study")
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
