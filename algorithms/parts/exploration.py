"""Widths of upper confidence bounds over boxes: beta_t in mean + sqrt(beta_t) sigma, after t
observations.

"kandasamy" is the practical rule of the additive bandits (kandasamy2015addgpucb: share 0.2 and the
dimensions of one group; the public code of bardou2024dumbo: 0.2 and all dimensions). "theorem" is
bardou2024dumbo Thm. 5.2 over a grid as their finite D.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi

from algorithms.parts.choice import chosen

# of sums of bounds: whether each beta grows with its factor or with all d
DIMS = {"factor": False, "domain": True}


@dataclass(frozen=True)
class Exploration:
    """`share` times what the rule says: d ln(2t), 2 ln(|D| pi^2 t^2/(6 delta)) or 1, where |D| =
    points_per_axis^d.
    """

    rule: str
    share: float
    delta: float
    points_per_axis: float

    def __post_init__(self) -> None:
        chosen(RULES, self.rule, "beta")
        if not (self.share >= 0 and 0 < self.delta < 1 and self.points_per_axis >= 1):
            raise ValueError(
                f"expected share >= 0, 0 < delta < 1 and points_per_axis >= 1, got {self}"
            )

    def beta(self, t: int, dims: int) -> float:
        """beta_t for a function of `dims` inputs that was observed t >= 1 times."""
        return self.share * RULES[self.rule](self, t, dims)


def kandasamy(parameters: Exploration, t: int, dims: int) -> float:
    """d ln(2t)."""
    return dims * log(2 * t)


def theorem(parameters: Exploration, t: int, dims: int) -> float:
    """2 ln(|D| pi^2 t^2/(6 delta)) without overflow."""
    # Thm. 5.2
    return 2 * (dims * log(parameters.points_per_axis) + log(pi**2 * t**2 / (6 * parameters.delta)))


def constant(parameters: Exploration, t: int, dims: int) -> float:
    """1, whatever happens."""
    return 1.0


RULES: dict[str, Callable[[Exploration, int, int], float]] = {
    "kandasamy": kandasamy,
    "theorem": theorem,
    "constant": constant,
}
