"""Pictures of a design: each `draw(best, parameters)` analyses or simulates the best one found and
returns a `Picture`.

Like the studies they may import a problem. They choose no file, title or small print:
`workflow/draw/picture.py` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Frame = NDArray[np.uint8]  # (height, width, 3)
SAME = 1e-6  # a value this close is the recorded one


@dataclass(frozen=True, eq=False)
class Best:
    """The best evaluation of all records that a picture reads, judged by true values."""

    query: NDArray  # (d,)
    value: float  # as people want to see it, in `unit`
    label: str
    unit: str
    g: NDArray  # (m,), feasible where <= 0
    curve: str
    seed: int
    evaluation: int  # the first is 1
    evaluations: int  # in that record
    compared: int  # evaluations in all records
    libraries: Mapping[str, str]  # versions that the record was made with

    @property
    def violation(self) -> float:
        """Sum of the constraints that are violated: 0 where the design is feasible."""
        return float(np.maximum(self.g, 0).sum())

    @property
    def quantity(self) -> str:
        """The value with its unit; 2.5 of the unit `100 lb` is 250 lb."""
        number, _, unit = self.unit.partition(" ")
        return (
            f"{self.value * int(number):.4g} {unit}"
            if number.isdigit()
            else f"{self.value:.4g} {self.unit}".strip()
        )

    def doubts(self, value: float) -> tuple[str, ...]:
        """A warning where the value does not come out here as it is recorded."""
        if abs(value - self.value) <= SAME:
            return ()
        return (
            f"NOT THE RECORDED VALUE: computed here, it is {value:.4g}, recorded is"
            f" {self.value:.4g}",
        )


@dataclass(frozen=True, eq=False)
class Picture:
    """A still without title and small print, whose layout is constrained; what its reader must
    know; frames of an animation.
    """

    still: Figure
    facts: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    rate: int = 0  # frames a second
