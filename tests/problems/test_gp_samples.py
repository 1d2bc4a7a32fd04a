"""Draws of Gaussian processes: covariance, published length-scales, derivatives, optima."""

import json
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from problems import gp_samples
from tests.problems import asked
from tests.problems.asked import rng
from workflow.plan.digest import reveals_of

problem = partial(asked.problem, "gp_samples.within_model")


def functions(seed=0, **changes):
    p = {**asked.WITHIN, **changes}
    instance = rng(seed)
    scales = gp_samples.draw_lengthscales(instance, p["lengthscales"], 1 + p["constraints"], p["d"])
    return gp_samples.draw_functions(instance, scales, p["d"], p["features"])


def best(found, seed=0, offset=0.5):
    return gp_samples.best_feasible(found, offset, rng(seed), uniform=1000, starts=10)


# what is drawn


def test_the_covariance_over_many_draws_is_the_kernel():
    """4,000 pairs: the error of a covariance of unit variances is at most sqrt(2/4000) = 0.022."""
    X, scales = rng(1).random((6, 3)), np.array([[0.3, 0.6, 1.5], [0.8, 0.8, 0.8]])
    # (6, 8000)
    drawn = gp_samples.draw_functions(rng(2), np.repeat(scales, 4000, axis=0), 3, 20).values(X)
    for values, scale in zip((drawn[:, :4000], drawn[:, 4000:]), scales, strict=True):
        assert_allclose(values.mean(axis=1), 0, atol=4 / np.sqrt(4000))
        assert_allclose(values @ values.T / 4000, RBF(scale)(X), atol=0.1)
    across = drawn[:, :4000] @ drawn[:, 4000:].T / 4000
    assert_allclose(across, 0, atol=4 / np.sqrt(4000))  # functions of one instance are independent


@pytest.mark.parametrize(
    ("rule", "d", "low", "high"),
    [
        ("official-code", 25, 1.040, 1.931),
        ("official-code", 50, 1.473, 2.736),
        ("official-code", 100, 2.085, 3.872),
        ("gibo", 25, 0.522, 0.970),
        ("gibo", 50, 0.740, 1.374),
        ("gibo", 100, 1.048, 1.946),
    ],
)
def test_the_published_ranges_of_length_scales(rule, d, low, high):
    drawn = gp_samples.draw_lengthscales(rng(5), rule, 4000, d)
    assert drawn.shape == (4000, 1 if rule == "official-code" else d)
    assert_allclose([drawn.min(), drawn.max()], [low, high], atol=2e-3)
    assert drawn.mean() == pytest.approx((low + high) / 2, abs=0.02)  # uniform in between


def test_what_is_shown_is_minus_f_and_c_plus_the_offset():
    X, found = rng(8).random((7, 3)), functions(2)
    true = problem(2, offset=0.75).evaluate(X, rng()).true
    values = found.values(X)
    assert_allclose(true.y, -values[:, 0], rtol=1e-14)
    assert_allclose(true.g, values[:, 1:] + 0.75, rtol=1e-13)
    alone = problem(2, constraints=0).evaluate(X, rng()).true
    assert alone.g.shape == (7, 0)


@pytest.mark.parametrize(("rule", "numbers"), [("official-code", 1), ("gibo", 25)])
def test_the_kernels_are_plain_numbers(rule, numbers):
    found = problem(3, d=25, lengthscales=rule)
    kernels = found.reveals["kernels"]
    assert json.loads(json.dumps(kernels)) == kernels
    for kernel, mean in zip(kernels, (0.0, 0.5, 0.5), strict=True):
        assert len(kernel["lengthscale"]) == numbers
        assert (kernel["outputscale"], kernel["mean"]) == (1.0, mean)
    drawn = gp_samples.draw_lengthscales(rng(3), rule, 3, 25)
    assert_array_equal([kernel["lengthscale"] for kernel in kernels], drawn)
    assert reveals_of("gp_samples.within_model") == {"kernels", "functions", "offset"}


# values, derivatives, noise


def test_one_feature_by_hand():
    found = gp_samples.Functions(np.array([[[1.0, 2.0]]]), np.array([[0.5]]), np.array([[3.0]]))
    x = np.array([0.25, -1.0])
    height = np.sqrt(2) * 3
    assert_allclose(found.values(x[None]), [[height * np.cos(-1.25)]], rtol=1e-14)
    slope = -height * np.sin(-1.25)
    assert_allclose(found.gradients(x), [[slope * 1, slope * 2]], rtol=1e-14)


@pytest.mark.parametrize("rule", ["official-code", "gibo"])
def test_gradients_are_difference_quotients(rule):
    found, x, step = functions(4, d=25, lengthscales=rule), rng(9).random(25), 1e-5
    ends = step * np.eye(25)
    quotients = (found.values(x + ends) - found.values(x - ends)) / (2 * step)
    assert_allclose(found.gradients(x), quotients.T, atol=1e-8)


# optima


@pytest.mark.parametrize(("seed", "constraints"), [(0, 2), (1, 2), (3, 0)])
def test_the_best_feasible_point_is_that_of_a_grid(seed, constraints):
    """d = 2, length-scales of about 0.4: none of 401 x 401 points is better beyond the margin."""
    found = functions(seed, d=2, constraints=constraints)
    axis = np.linspace(0, 1, 401)
    grid = gp_samples.shown(found.values(np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)), 0.5)
    feasible = (grid[:, 1:] <= 0).all(axis=1)
    y, x = best(found, seed)
    reached = gp_samples.shown(found.values(x[None]), 0.5)[0]
    assert_allclose(reached[0], y, rtol=1e-12)
    assert (reached[1:] <= 0).all() and (x >= 0).all() and (x <= 1).all()
    assert grid[feasible, 0].max() - 2e-4 < y < grid[feasible, 0].max() + 0.05


def test_where_nothing_is_feasible_there_is_no_best_point():
    assert best(functions(), offset=50.0) is None
