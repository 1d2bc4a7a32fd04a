"""The bandwidth of largest evidence: by SciPy, where it is known, where nothing can be learnt."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from algorithms.parts.arms.bandwidth import MOST, by_evidence, profiled

GRID = np.geomspace(0.25, 4.0, 9)
NOISES = np.geomspace(1e-4, 1.0, 5)


def drawn(bandwidth, noise, n=120, seed=0):
    """n values with mean 3 and standard deviation 5; `noise` is the ratio of variances."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    K = np.exp(cdist(X, X, "sqeuclidean") / (-2 * bandwidth**2)) + noise * np.eye(n)
    return X, 3 + 5 * np.linalg.cholesky(K + 1e-10 * np.eye(n)) @ rng.standard_normal(n)


@pytest.mark.parametrize("noise", [1e-3, 0.3])
def test_the_profile_is_the_largest_density_over_mean_and_variance(noise):
    X, y = drawn(1.0, 0.01, n=15)
    square = cdist(X, X, "sqeuclidean")
    found = []
    for bandwidth in (0.5, 1.0, 2.0):
        K = np.exp(square / (-2 * bandwidth**2)) + noise * np.eye(15)

        def loss(theta, K=K):
            return -multivariate_normal(np.full(15, theta[0]), np.exp(theta[1]) * K).logpdf(y)

        best = -minimize(loss, [y.mean(), np.log(y.var())], method="Nelder-Mead", tol=1e-10).fun
        found.append([profiled(square, y, bandwidth, [noise])[0], best])
    profile, density = np.array(found).T
    constant = -7.5 * (np.log(2 * np.pi) + 1)
    assert_allclose(profile + constant, density, rtol=1e-7)


@pytest.mark.parametrize("noise", [1e-4, 0.1])
@pytest.mark.parametrize("bandwidth", [0.5, 1.0, 2.0])
def test_the_bandwidth_of_a_draw_is_found(bandwidth, noise):
    X, y = drawn(bandwidth, noise)
    assert bandwidth / 1.5 < by_evidence(X, y, GRID, NOISES) < bandwidth * 1.5


def test_units_do_not_matter_and_repeated_rows_do_no_harm():
    X, y = drawn(1.0, 0.01)
    found = by_evidence(X, y, GRID, NOISES)
    assert by_evidence(X, 1e6 * y - 7, GRID, NOISES) == found
    assert by_evidence(100 * X, y, 100 * GRID, NOISES) == 100 * found
    X, f = drawn(1.0, 0.0)
    seen = np.tile(f, 2) + 0.5 * np.random.default_rng(1).standard_normal(2 * len(f))
    assert 1 / 1.5 < by_evidence(np.tile(X, (2, 1)), seen, GRID, NOISES) < 1.5


def test_where_nothing_can_be_learnt_the_first_one_is_taken():
    X, y = drawn(1.0, 0.01)
    assert by_evidence(X, np.ones(len(X)), GRID[::-1], NOISES) == GRID[-1]
    assert by_evidence(X[:2], y[:2], GRID, NOISES) == GRID[0]
    assert by_evidence(X[:0], y[:0], GRID, NOISES) == GRID[0]


def test_of_bandwidths_that_differ_by_rounding_the_first_one_is_taken():
    """Far below all distances every one of them says that values are independent."""
    X = 100.0 * np.arange(20.0)[:, None]
    y = np.random.default_rng(0).standard_normal(20)
    for grid in ([1.0, 0.5, 2.0], [0.5, 2.0, 1.0]):
        for scale in (1.0, 1e3, 1e-5):
            assert by_evidence(X, scale * y + 7, grid, NOISES) == grid[0]


def test_of_many_rows_some_count():
    X, y = drawn(1.0, 0.01, n=MOST + 100)
    rows = np.linspace(0, len(y) - 1, MOST).astype(int)
    other = y.copy()
    other[np.setdiff1d(np.arange(len(y)), rows)] = 1e9
    assert by_evidence(X, other, GRID, NOISES) == by_evidence(X, y, GRID, NOISES)


@pytest.mark.parametrize(
    ("grid", "noises"), [([], [0.1]), ([1.0], []), ([0.0, 1.0], [0.1]), ([1.0], [-0.1])]
)
def test_a_grid_is_wanted(grid, noises):
    with pytest.raises(ValueError, match="expected bandwidths and noises above 0, got"):
        by_evidence(*drawn(1.0, 0.01, n=5), grid, noises)
