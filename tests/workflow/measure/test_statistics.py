"""Intervals, tests and fits, against values by hand, SciPy and simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from workflow.measure import statistics

NAN = np.nan


def test_false_discovery_by_hand():
    """p times the number of claims over the rank of p, never below that of a smaller p."""
    found = statistics.false_discovery([0.01, 0.04, NAN, 0.03, 0.005])
    assert_allclose(found, [0.02, 0.04, NAN, 0.04, 0.02])
    assert np.isnan(statistics.false_discovery([NAN])).all()


def test_columns_are_tested_by_themselves():
    values = np.random.default_rng(0).standard_normal((7, 3, 2))
    values[:, 0, 1], values[2, 1, 0], values[:, 2, 0] = -0.5, NAN, 0
    for test in (statistics.t_test, statistics.sign_flip):
        alone = [[test(values[:, i, j]) for j in range(2)] for i in range(3)]
        assert_allclose(test(values), np.array(alone, dtype=float))
    ranks = statistics.signed_ranks(values[:, 0])
    assert_allclose(ranks[:, 0], statistics.signed_ranks(values[:, 0, 0]))


def test_values_that_all_agree_are_judged_by_their_signs():
    """No spread to measure by: five equal differences are no stronger than five signs."""
    for n in (5, 10):
        assert statistics.t_test(np.full(n, -0.3)) == 0.5**n
        assert statistics.t_test(np.full(n, 0.3)) == statistics.t_test(np.zeros(n)) == 1
    assert np.isnan(statistics.t_test(np.array([-1.0])))


def test_p_against_is_that_of_the_mirrored_values():
    values = np.random.default_rng(1).standard_normal(8) - 0.3
    for test in (statistics.below_zero, statistics.ranked_below_zero):
        here, there = test(values), test(-values)
        assert (here.p, here.p_flip) == (there.p_against, there.p_flip_against)
    found = statistics.below_zero(values)
    assert found.p + found.p_against == pytest.approx(1)


def test_looks_follow_from_the_plan():
    one, two = [(5, 0.05)], [(5, 1 / 32), (10, 0.026)]
    expected = {1: one, 5: one, 7: [(7, 0.05)], 10: two, 25: two}
    for planned, looks in expected.items():
        assert [(look.seeds, look.level) for look in statistics.looks(planned)] == looks


@pytest.mark.parametrize(
    ("hits", "bounds", "p", "against"),
    [
        (5, {"at_least": 1}, 1, 1),  # five of five show no share of exactly 1
        (4, {"at_least": 1}, 1, 0),  # and one failure refutes it
        (0, {"at_most": 0}, 1, 1),
        (1, {"at_most": 0}, 1, 0),
        (5, {"at_least": 0.5}, 1 / 32, 1),
        (0, {"at_least": 0.5}, 1, 1 / 32),
        (5, {"at_least": 0.5, "at_most": 1}, 1 / 32, 1),
        (0, {"at_least": 0.25, "at_most": 0.75}, 1, 2 * 0.75**5),
    ],
)
def test_shares_are_exact(hits, bounds, p, against):
    found = statistics.share(hits, 5, **bounds)
    assert (found.p, found.p_against) == pytest.approx((p, against))


def test_the_smallest_effect_that_is_seen_has_its_power():
    rng = np.random.default_rng(2)
    for n, level in ((5, 1 / 32), (10, 0.026)):
        values = rng.standard_normal((n, 20000)) - statistics.detectable(n, level)
        assert np.mean(statistics.t_test(values) <= level) == pytest.approx(0.8, abs=0.012)
        left, right = rng.standard_normal((2, n, 20000))
        left = left * statistics.detectable_ratio(n, level)
        ratio = (left.std(axis=0, ddof=1) / right.std(axis=0, ddof=1)) ** 2
        seen = np.mean(stats.f.cdf(ratio, n - 1, n - 1) <= level)
        assert seen == pytest.approx(0.8, abs=0.012)
    assert np.isnan(statistics.detectable(1, 0.05))


def test_power_law_recovers_its_exponent():
    x = np.arange(1.0, 50)
    assert_allclose(statistics.power_law(x, 3 * x**1.7), (3, 1.7), rtol=1e-12)
    steep = statistics.power_law(np.array([1000.0, 1001.0]), np.array([1.0, 0.5]))
    assert steep[0] == np.inf and steep[1] < -600


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([-1, -2, -3, -4, -5], 1 / 32),
        ([-1, -2, -3, -4, 5], 10 / 32),  # W+ = 5: the subsets of 1 .. 5 with a sum of at most 5
        ([1, 2, 3, 4, 5], 1),
        ([-1, -1, 2], 5 / 8),  # ranks 1.5, 1.5, 3
        ([0, -1, -2], 1 / 4),  # a zero keeps its rank and is on no side
        ([0, 0, 0], 1),
        ([-np.inf] * 5, 1 / 32),
        ([-np.inf, -np.inf, 1, -2], 1 / 8),  # ranks 3.5, 3.5, 1, 2
        ([-np.inf, np.inf, -1, -2], 6 / 16),  # W+ = 3.5: {}, 1, 2, 1 + 2 and each 3.5
        ([np.inf, -1, -2, -3, -4], 10 / 32),
        ([-1, -2, NAN], NAN),
    ],
)
def test_signed_ranks_by_hand(values, p):
    found = statistics.ranked_below_zero(values)
    assert found.n == len(values)
    assert found.p == pytest.approx(p, rel=1e-12, nan_ok=True)
    assert found.p_flip == pytest.approx(p, rel=1e-12, nan_ok=True)


def test_a_standard_error_is_that_of_the_numbers_that_are_there():
    values = np.random.default_rng(0).standard_normal((7, 4))
    low, high = statistics.within_error(values)
    assert_allclose((high - low) / 2, stats.sem(values, axis=0))
    values[2:5, 1], values[1:, 2], values[:, 3] = NAN, NAN, NAN
    expected = [stats.sem(values[:, 0]), stats.sem(values[[0, 1, 5, 6], 1]), NAN, NAN]
    with np.errstate(all="raise"):
        bands = [(1, statistics.within_error(values)), (1.96, statistics.wald(values))]
    for width, (low, high) in bands:
        assert_allclose((low[:2] + high[:2]) / 2, np.nanmean(values[:, :2], axis=0))
        assert_allclose((high - low) / 2, width * np.array(expected))


@pytest.mark.parametrize("n", [5, 8, 10, 13])
def test_signed_ranks_agree_with_scipy_and_know_infinity_as_the_largest(n):
    values = np.random.default_rng(n).standard_normal(n) - 0.4
    expected = stats.wilcoxon(values, alternative="less", method="exact").pvalue
    assert statistics.ranked_below_zero(values).p == pytest.approx(expected, rel=1e-12)
    assert statistics.ranked_below_zero(1e6 * values**3).p == pytest.approx(expected, rel=1e-12)
    largest = np.argmax(np.abs(values))
    values[largest] = np.sign(values[largest]) * np.inf
    assert statistics.ranked_below_zero(values).p == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "quartiles"),
    [
        ([2, -np.inf, -1, np.inf, -3], (-3, -1, 2)),
        ([-np.inf, -np.inf, -np.inf, 1, 2], (-np.inf, -np.inf, 1)),
        ([np.inf, np.inf, np.inf, 1, -np.inf], (1, np.inf, np.inf)),
        ([np.inf] * 3, (np.inf,) * 3),
        ([4.0], (4, 4, 4)),
        # one of the values, never between a number and infinity
        ([1, 2, np.inf, np.inf], (1, 2, np.inf)),
        ([1, NAN, np.inf], (NAN,) * 3),
    ],
)
def test_median_and_quartiles_of_values_that_may_be_infinite(values, quartiles):
    with np.errstate(all="raise"):
        found = statistics.ranked_below_zero(values)
    assert (found.low, found.mean, found.high) == pytest.approx(quartiles, nan_ok=True)
