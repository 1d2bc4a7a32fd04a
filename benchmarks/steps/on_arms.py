"""Posteriors over a table of arms: all from nothing, after one more pull, and the sketch of BKB and
BBKB refitted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from algorithms.api import Array, Indices
from algorithms.parts.arms import ExactPosterior, GaussianTable, Pulls, SketchedPosterior
from benchmarks.race import Setup, Size, Work, along, once

D, BANDWIDTH, LAMBDA = 8, 0.5, 0.1
SHARE = 0.6  # of the pulled arms are in the dictionary: about what the papers' runs have


def table(arms: int) -> Array:
    return np.random.default_rng(300).random((arms, D))


def pulled(size: Size) -> tuple[Indices, Array]:
    """u arms, all of them different, and what they showed."""
    rng = np.random.default_rng(301)
    arms = rng.choice(size["A"], size=size["u"], replace=False)
    return arms, np.sin(5 * table(size["A"])[arms, 0]) + 0.1 * rng.standard_normal(size["u"])


def from_nothing(size: Size) -> Setup:
    arms, y = pulled(size)

    def setup() -> Callable[[], object]:
        fresh = ExactPosterior(GaussianTable(table(size["A"]), BANDWIDTH), LAMBDA)
        return lambda: fresh.extend(arms, y)

    return setup


def one_more(size: Size) -> Setup:
    arms, y = pulled(size)
    before = ExactPosterior(GaussianTable(table(size["A"]), BANDWIDTH), LAMBDA)
    before.extend(arms, y)
    # each turn pulls another arm, whose column is not known yet
    fresh = iter(np.setdiff1d(np.arange(size["A"]), arms).tolist())

    def setup() -> Callable[[], object]:
        draft, arm = before.draft(), next(fresh)
        return lambda: draft.add(arm, 0.5)

    return setup


def refit(size: Size) -> Setup:
    arms, y = pulled(size)
    pulls = Pulls()
    pulls.add(arms, y)
    included = np.random.default_rng(302).random(size["u"]) < SHARE
    kernel = GaussianTable(table(size["A"]), BANDWIDTH)
    SketchedPosterior.fit(kernel, LAMBDA, pulls, included)  # remembers the columns
    return once(lambda: SketchedPosterior.fit(kernel, LAMBDA, pulls, included))


def scikit_learn(size: Size) -> Setup:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    arms, y = pulled(size)
    points = table(size["A"])
    regression = GaussianProcessRegressor(RBF(BANDWIDTH), alpha=LAMBDA, optimizer=None)
    return once(lambda: regression.fit(points[arms], y).predict(points, return_std=True))


SAME = (
    "same kernel, arms and values, one pull of each; mean and deviation of all A arms agree"
    " (tested). {}"
)
GROWING = [*along("u", (100, 200, 400, 800), A=4000), *along("A", (2000, 4000, 8000, 16000), u=200)]
WORKS = [
    Work(name, sizes, ours, same, "scikit-learn", scikit_learn)
    for name, sizes, ours, same in (
        (
            "exact posterior from nothing",
            along("u", (50, 100, 200, 400), A=4000),
            from_nothing,
            SAME.format(
                "We add one pull after another, as a run does; scikit-learn solves all at once"
            ),
        ),
        (
            "exact posterior after one more pull",
            GROWING,
            one_more,
            SAME.format("scikit-learn refits, since it cannot add a row"),
        ),
        (
            "sketch of BKB and BBKB, refitted",
            GROWING,
            refit,
            "NOT the same: ours is the sketch over a dictionary of 0.6 u members, scikit-learn's"
            " the exact posterior of the same arms and values, as a user of a library would refit;"
            " our kernel columns are remembered from earlier steps",
        ),
    )
]
