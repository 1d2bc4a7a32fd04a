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

from algorithms.parts.numerics.choice import chosen

# of sums of bounds: whether each beta grows with its factor or with all d
DIMS = {"factor": False, "domain": True}


@dataclass(frozen=True)
class Width:
    """The width of an upper confidence bound, beta_t.

    rule: "kandasamy", d ln(2t) (kandasamy2015addgpucb, Sec. 4; the public code of
        bardou2024dumbo); "theorem", 2 ln(|D| pi^2 t^2/(6 delta)) (bardou2024dumbo, Thm. 5.2);
        or "constant", 1.
    share: what the rule is multiplied by, no unit; 0.2 in both sources of "kandasamy", and 1
        leaves a theorem as it is.
    delta: the probability that the bound fails somewhere, in (0, 1); read by "theorem" alone.
    points_per_axis: values of each variable in the finite domain D, |D| = points_per_axis^d;
        read by "theorem" alone.
    """

    rule: str
    share: float
    delta: float
    points_per_axis: float

    def __post_init__(self) -> None:
        chosen(RULES, self.rule, "rule")
        if not (self.share >= 0 and 0 < self.delta < 1 and self.points_per_axis >= 1):
            raise ValueError(
                f"expected share >= 0, 0 < delta < 1 and points_per_axis >= 1, got {self}"
            )

    def beta(self, t: int, dims: int) -> float:
        """beta_t for a function of `dims` inputs that was observed t >= 1 times."""
        return self.share * RULES[self.rule](self, t, dims)


def kandasamy(width: Width, t: int, dims: int) -> float:
    """d ln(2t)."""
    return dims * log(2 * t)


def theorem(width: Width, t: int, dims: int) -> float:
    """2 ln(|D| pi^2 t^2/(6 delta)) without overflow."""
    # Thm. 5.2
    return 2 * (dims * log(width.points_per_axis) + log(pi**2 * t**2 / (6 * width.delta)))


def constant(width: Width, t: int, dims: int) -> float:
    """1, whatever happens."""
    return 1.0


RULES: dict[str, Callable[[Width, int, int], float]] = {
    "kandasamy": kandasamy,
    "theorem": theorem,
    "constant": constant,
}
