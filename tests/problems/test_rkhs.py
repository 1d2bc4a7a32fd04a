"""Functions of known norm: norm by a slow oracle, optimum, noise, what is revealed and refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.arms import GaussianTable
from problems import load, rkhs

SMALL = {"arms": 60, "d": 3, "bandwidth": 0.7, "centres": 6, "norm": 1.0, "noise": 0.1}


def problem(seed=0, **changes):
    return load("rkhs.sphere")(np.random.default_rng(seed), **{**SMALL, **changes})


def truth(found):
    arms = np.arange(len(found.domain))
    return found.evaluate(arms, np.random.default_rng(0)).true.y


@pytest.mark.parametrize("norm", [0.5, 1.0, 7.0])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_the_norm_is_that_of_the_interpolant_of_all_arms(norm, d):
    # f lies in the span of the kernels of the arms, so that the interpolant with the least norm is
    # f itself: an oracle that knows neither the centres nor their weights.
    for centres in (2, 25):  # as few and as many as may be
        found = problem(norm=norm, d=d, arms=25, bandwidth=0.25, centres=centres)
        K, f = GaussianTable(found.domain.points, 0.25).columns(range(25)), truth(found)
        assert_allclose(np.sqrt(f @ np.linalg.solve(K, f)), norm, rtol=1e-6)


def test_a_combination_of_two_kernels_by_hand():
    points = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
    k = np.exp(-2.0)  # of the two centres, at bandwidth 1
    centres, weights = np.array([1, 2]), np.array([3.0, -3.0])
    found = rkhs.combination(points, centres, weights, bandwidth=1.0, norm=2.0)
    scale = 2.0 / np.sqrt(2.0 * (1.0 - k))  # f = scale (k_1 - k_2)
    assert_allclose(found, [0.0, scale * (1 - k), -scale * (1 - k)], atol=1e-14)


def test_the_optimum_is_the_best_arm_and_arms_lie_on_the_sphere():
    found = problem()
    f = truth(found)
    assert (found.best, found.best_kind, found.data) == (f.max(), "exact", "none")
    assert_array_equal(found.best_at, [np.argmax(f)])
    assert_allclose(np.linalg.norm(found.domain.points, axis=1), 1.0)
    assert f.max() - f.min() > 0.3  # not nearly constant


def test_the_noise_has_the_stated_size_and_is_normal():
    query = np.zeros(40_000, dtype=np.int64)
    evaluation = problem().evaluate(query, np.random.default_rng(1))
    noise = evaluation.seen.y - evaluation.true.y
    assert_allclose([noise.mean(), noise.std()], [0.0, 0.1], atol=2e-3)
    assert_allclose(((noise / 0.1) ** 4).mean(), 3.0, atol=0.15)


def test_what_the_theorems_ask_for_is_revealed():
    assert dict(problem().reveals) == {"noise": 0.1, "norm": 1.0, "bandwidth": 0.7}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"centres": 1}, "expected 2 <= centres <= arms, got 1 centres and 60 arms"),
        ({"centres": 61}, "expected 2 <= centres <= arms"),
        ({"bandwidth": 0.0}, "expected bandwidth > 0, norm > 0 and noise >= 0, got bandwidth = 0"),
        ({"norm": 0.0}, "expected bandwidth > 0, norm > 0"),
        ({"noise": -0.1}, "expected bandwidth > 0, norm > 0"),
        ({"d": 1}, "expected d >= 2, got 1"),
        ({"bandwidth": 1e7}, "expected centres that the kernel tells apart"),
    ],
)
def test_what_makes_no_function_is_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        problem(**changes)
