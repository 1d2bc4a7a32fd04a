"""Gaussian processes over a finite table of arms: exact, textbook and sketched. NumPy and SciPy only.

Two conventions hold in every posterior here, both from calandriello2020bbkb Sec. 2: `variance` is divided by lambda
(footnote 4), so that it is a ridge leverage score and the prior variance is k(x,x)/lambda; and an arm is an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from algorithms.parts.arms.bless import bless
from algorithms.parts.arms.exact import ExactPosterior
from algorithms.parts.arms.kernel import GaussianTable
from algorithms.parts.arms.pulls import Pulls
from algorithms.parts.arms.sketch import SketchedPosterior, include
from algorithms.parts.arms.textbook import TextbookPosterior

__all__ = [
    "EXACT", "ExactPosterior", "GaussianTable", "Pulls", "SketchedPosterior", "TextbookPosterior", "bless", "chosen", "include",
]  # fmt: skip

EXACT: Mapping[str, type[ExactPosterior] | type[TextbookPosterior]] = {
    "distinct-arms": ExactPosterior,
    "textbook": TextbookPosterior,
}

T = TypeVar("T")


def chosen(known: Mapping[str, T], name: str, what: str) -> T:
    """The entry of `known` called `name`. Raises ValueError that lists what there is."""
    if name not in known:
        raise ValueError(f"{what}: expected {' or '.join(known)}, got {name!r}")
    return known[name]
