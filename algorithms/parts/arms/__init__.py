"""Gaussian processes over a finite table of arms: exact, textbook and sketched. NumPy and SciPy
only.

Two conventions hold in every posterior here, both from calandriello2020bbkb Sec. 2: `variance` is
divided by lambda (footnote 4), so that it is a ridge leverage score and the prior variance is
k(x,x)/lambda; and an arm is an index.
"""

from __future__ import annotations

from collections.abc import Mapping

from algorithms.parts.arms.bless import bless
from algorithms.parts.arms.columns import GaussianTable
from algorithms.parts.arms.exact import ExactPosterior
from algorithms.parts.arms.pulls import Pulls
from algorithms.parts.arms.sketch import SketchedPosterior, include
from algorithms.parts.arms.textbook import TextbookPosterior

__all__ = [
    "EXACT",
    "ExactPosterior",
    "GaussianTable",
    "Pulls",
    "SketchedPosterior",
    "TextbookPosterior",
    "bless",
    "include",
]

EXACT: Mapping[str, type[ExactPosterior] | type[TextbookPosterior]] = {
    "distinct-arms": ExactPosterior,
    "textbook": TextbookPosterior,
}
