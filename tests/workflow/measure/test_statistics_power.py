"""How often verdicts are wrong or missed: synthetic curves with known answers through the code that
judges claims.

Rates are shares of REPEATS claims, each judged whole, over curves that the paired noise of a seed
moves together. A rate that is known must lie within four Monte-Carlo errors of it.
"""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tests.workflow.judge import claimed
from tests.workflow.synthetic import curve
from workflow.judge import claims
from workflow.judge.checks import compare
from workflow.judge.evidence import Evidence
from workflow.judge.outcomes import CONTRADICTED, REPRODUCED
from workflow.measure.statistics import (
    ENOUGH,
    LEVEL,
    interval,
    looks,
    share,
    wald,
)
from workflow.plan.paper import Paper

REPEATS = 1000
SEEDS = pytest.mark.parametrize("n", [ENOUGH, 10])
LESS = {**claimed.LESS, "metric": "simple_regret"}
FAMILY = {**LESS, "right": ["B", "C", "D", "E"]}


class Drawn:
    """Stands in for the store: the values of each curve, one per seed."""

    def __init__(self, ends):
        self.ends = ends

    def values(self, run, name):
        return self.ends[run.label][:, None]

    def seeds(self, run):
        return tuple(range(len(self.ends[run.label])))

    def has(self, run):
        return True

    def data(self, run):
        return "none"

    def timeouts(self, run):
        return ()

    def lacks(self, runs):
        return []

    def of_other_code(self, runs):
        return ""

    def remembered(self, key, make):
        return make()


def paper(n):
    """Five curves on one problem, planned and never run."""
    curves = {("p", name): curve("p", name, n, 1) for name in "ABCDE"}
    entry = {"scales": {"paper": {}}, "problems": {"p": {}}}
    return Paper("toy", "paper", entry, tuple(curves.values()), curves, {})


def judged(draw, n, check=LESS, repeats=REPEATS):
    """Verdicts on `repeats` draws; draw(rng) gives the (n,) values of each curve."""
    rng, toy = np.random.default_rng(n), paper(n)
    claim = claimed.typed(check)
    return [claims.judge(toy, Drawn(draw(rng)), claim) for _ in range(repeats)]


def shifted(n, *means):
    """Curves whose means differ; instance and design move all of them, as in paired runs."""

    def draw(rng):
        common = 3 * rng.standard_normal(n)
        return {
            name: mean + common + rng.standard_normal(n) / np.sqrt(2)
            for name, mean in zip("ABCDE", means, strict=False)
        }

    return draw


def reproduced(verdicts):
    return np.mean([verdict.verdict == REPRODUCED for verdict in verdicts])


def contradicted(verdicts):
    return np.mean([verdict.verdict == CONTRADICTED for verdict in verdicts])


def error(rate, repeats=REPEATS):
    """Four Monte-Carlo errors."""
    return 4 * np.sqrt(rate * (1 - rate) / repeats)


def at_level(n):
    """The rate of the last look at n seeds, where what an earlier look decided must hold, too."""
    level = looks(n)[-1].level
    return pytest.approx(level, abs=error(level))


# at the border of what is tolerated


@pytest.mark.parametrize(("n", "side"), [(5, -1), (10, 1)])
def test_a_difference_of_the_tolerance_is_called_equivalent_at_that_level(n, side):
    check = {**LESS, "test": "equivalent", "absolute": 8.0}
    assert reproduced(judged(shifted(n, side * 8.0, 0), n, check)) == at_level(n)


@SEEDS
def test_a_share_of_the_right_side_is_as_uncertain_as_that_side(n):
    """A difference of a fifth, where what moves both sides moves the tolerance alone."""

    def draw(rng):
        common = 3 * rng.standard_normal(n)
        return {"A": 12 + common + 0.1 * rng.standard_normal(n), "B": 10 + common}

    check = {**LESS, "test": "equivalent", "tolerance": 0.2}
    assert reproduced(judged(draw, n, check)) == at_level(n)


@SEEDS
def test_a_tolerance_within_the_noise_shows_nothing(n):
    """Equal means, which as few seeds cannot know."""
    check = {**LESS, "test": "equivalent", "absolute": 0.3}
    assert reproduced(judged(shifted(n, 0, 0), n, check, repeats=REPEATS // 2)) < LEVEL


@SEEDS
@pytest.mark.parametrize(
    "bounds",
    [{"at_least": 0.5}, {"at_least": 0.9}, {"at_most": 0.3}, {"at_least": 0.2, "at_most": 0.8}],
)
def test_a_share_at_its_bound_is_decided_in_at_most_5_percent_on_either_side(n, bounds):
    """No sample: the exact probability of all numbers of hits at both looks that decide. At a bound
    and beyond it the share is called kept, at it and within it broken.
    """
    outward = {"at_least": -0.1, "at_most": 0.1}
    for name in bounds:
        for side, step in (("p", outward[name]), ("p_against", -outward[name])):
            for true in (bounds[name], bounds[name] + step):
                assert decided_shares(n, bounds, side, true) <= LEVEL


def decided_shares(n, bounds, side, true):
    """The probability that any look at n seeds decides for a side if the share is the true one."""
    (first, level), *second = [(look.seeds, look.level) for look in looks(n)]
    total = 0.0
    for early, late in product(range(first + 1), range(n - first + 1)):
        decides = getattr(share(early, first, **bounds), side) <= level or any(
            getattr(share(early + late, seeds, **bounds), side) <= at for seeds, at in second
        )
        chance = stats.binom.pmf(early, first, true) * stats.binom.pmf(late, n - first, true)
        total += chance * decides
    return total


def test_what_shares_of_few_seeds_can_show():
    """Five of five show more than a half, nine of ten do; ten cannot show more than 90 %."""
    assert [hits for hits in range(6) if share(hits, 5, at_least=0.5).p <= LEVEL] == [5]
    assert [hits for hits in range(11) if share(hits, 10, at_least=0.5).p <= LEVEL] == [9, 10]
    assert [hits for hits in range(11) if share(hits, 10, at_least=0.9).p <= LEVEL] == []


# an effect


@SEEDS
def test_power_is_that_of_the_noncentral_t(n):
    """An effect of 1.5 deviations of the differences; two looks have a little less power."""
    critical = stats.t.ppf(LEVEL, n - 1)
    power = stats.nct.cdf(critical, n - 1, -1.5 * np.sqrt(n))
    assert power == pytest.approx({5: 0.86, 10: 0.9965}[n], abs=0.01)
    expected = {5: power, 10: 0.9896}[n]
    found = judged(shifted(n, 0, 1.5), n)
    assert reproduced(found) == pytest.approx(expected, abs=error(expected))
    assert contradicted(found) == 0


# intervals


@pytest.mark.parametrize("n", [3, ENOUGH, 10])
def test_intervals_cover_as_often_as_they_say(n):
    drawn = np.random.default_rng(n).standard_normal((n, 20000))
    low, high = interval(drawn)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(0.95, abs=error(0.95, 20000))
    low, high = wald(drawn)
    expected = 1 - 2 * stats.t.sf(1.96, n - 1)
    assert_allclose(np.mean((low <= 0) & (high >= 0)), expected, atol=error(0.88, 20000))


def test_the_stand_in_is_faithful():
    """Left and right are paired by seed."""
    ends = {"A": np.arange(5.0), "B": np.arange(5.0) + np.array([1, 2, 1, 2, 1])}
    comparison = compare(Evidence(paper(5), Drawn(ends)), claimed.typed(LESS).check)[0]
    assert (comparison.effect, comparison.p_flip, comparison.n) == (-1.4, 1 / 32, 5)
