"""Posteriors over a table of arms: all from nothing, after one more pull, and the sketch of BKB and
BBKB refitted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from algorithms.api import Array, Indices
from algorithms.parts.arms import ExactPosterior, GaussianTable, Pulls, SketchedPosterior
from benchmarks.effort import NOTHING, pull, sketch
from benchmarks.race import Size, Task, Turn, Work, once

D, BANDWIDTH, LAMBDA = 8, 0.5, 0.1
SHARE = 0.6  # of the pulled arms are in the dictionary: about what the papers' runs have


def table(arms: int) -> Array:
    return np.random.default_rng(300).random((arms, D))


def pulled(size: Size) -> tuple[Indices, Array]:
    """u arms, all of them different, and what they showed."""
    rng = np.random.default_rng(301)
    arms = rng.choice(size["A"], size=size["u"], replace=False)
    return arms, np.sin(5 * table(size["A"])[arms, 0]) + 0.1 * rng.standard_normal(size["u"])


def from_nothing(size: Size) -> Task:
    arms, y = pulled(size)

    def turn() -> Callable[[], object]:
        fresh = ExactPosterior(GaussianTable(table(size["A"]), BANDWIDTH), LAMBDA)
        return lambda: fresh.extend(arms, y)

    return Task(turn, sum((pull(size["A"], i, D) for i in range(size["u"])), NOTHING))


def one_more(size: Size) -> Task:
    arms, y = pulled(size)
    before = ExactPosterior(GaussianTable(table(size["A"]), BANDWIDTH), LAMBDA)
    before.extend(arms, y)
    # each turn pulls another arm, whose column is not known yet
    fresh = iter(np.setdiff1d(np.arange(size["A"]), arms).tolist())

    def turn() -> Callable[[], object]:
        draft, arm = before.draft(), next(fresh)
        return lambda: draft.add(arm, 0.5)

    return Task(turn, pull(size["A"], size["u"], D))


def refit(size: Size) -> Task:
    arms, y = pulled(size)
    pulls = Pulls()
    pulls.add(arms, y)
    included = np.random.default_rng(302).random(size["u"]) < SHARE
    kernel = GaussianTable(table(size["A"]), BANDWIDTH)
    found = SketchedPosterior.fit(kernel, LAMBDA, pulls, included)  # remembers the columns
    effort = sketch(size["A"], size["u"], len(found.dictionary), len(found.g))
    return Task(once(lambda: SketchedPosterior.fit(kernel, LAMBDA, pulls, included)), effort)


def scikit_learn(size: Size) -> Turn:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    arms, y = pulled(size)
    points = table(size["A"])
    regression = GaussianProcessRegressor(RBF(BANDWIDTH), alpha=LAMBDA, optimizer=None)
    return once(lambda: regression.fit(points[arms], y).predict(points, return_std=True))


SAME = (
    "same kernel, arms and values, one pull of each; mean and deviation of all A arms agree"
    " (tested). {}. Exponents in theory are those for A much larger than u"
)
SLOW_COLUMNS = (
    "the columns of u arms cross from memory for one product with a vector, which NumPy does on one"
    " thread below the triad's rate; two matrices (u, u) are copied to grow"
)
WORKS = (
    Work(
        family="arms",
        name="exact posterior from nothing",
        axis="u",
        sizes=[{"A": 4000, "u": u} for u in (50, 100, 200, 400)],
        full=[{"A": 4000, "u": 800}],
        ours=from_nothing,
        exponents=(2, 2),
        same=SAME.format(
            "We add one pull after another, as a run does; scikit-learn solves all at once"
        ),
        below="one product with a vector after another: " + SLOW_COLUMNS,
        peer="scikit-learn",
        module="sklearn",
        theirs=scikit_learn,
    ),
    *(
        Work(
            family="arms",
            name="exact posterior after one more pull",
            axis=axis,
            sizes=sizes,
            full=full,
            ours=one_more,
            exponents=exponents,
            same=SAME.format("scikit-learn refits, since it cannot add a row"),
            below=SLOW_COLUMNS,
            peer="scikit-learn",
            module="sklearn",
            theirs=scikit_learn,
        )
        for axis, sizes, full, exponents in (
            ("u", [{"A": 4000, "u": u} for u in (100, 200, 400, 800)], [], (1, 2)),
            ("A", [{"A": A, "u": 200} for A in (2000, 4000, 8000, 16000)], [], (1, 1)),
        )
    ),
    *(
        Work(
            family="arms",
            name="sketch of BKB and BBKB, refitted",
            axis=axis,
            sizes=sizes,
            full=full,
            ours=refit,
            exponents=exponents,
            same=(
                "NOT the same: ours is the sketch over a dictionary of 0.6 u members,"
                " scikit-learn's the exact posterior of the same arms and values, as a user of a"
                " library would refit; our kernel columns are remembered from earlier steps"
            ),
            below="eigendecompositions of a few hundred rows run far below a product's rate",
            peer="scikit-learn",
            module="sklearn",
            theirs=scikit_learn,
        )
        for axis, sizes, full, exponents in (
            ("u", [{"A": 4000, "u": u} for u in (100, 200, 400, 800)], [], (2, 2)),
            ("A", [{"A": A, "u": 200} for A in (2000, 4000, 8000, 16000)], [], (1, 1)),
        )
    ),
)
