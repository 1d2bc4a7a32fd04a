"""An initial design that is observed without noise; only the runs that start from one depend on
this.
"""

from __future__ import annotations

from dataclasses import replace

from problems.api import Evaluation


def without_noise(evaluation: Evaluation) -> Evaluation:
    """What an optimizer would see without noise: the true values."""
    return replace(evaluation, seen=evaluation.true)
