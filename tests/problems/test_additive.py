"""Sums of factors: values by hand, what factors depend on, moved maximisers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import additive
from tests.problems import asked
from tests.problems.asked import rng, true

CASES = [
    ("six_hump_camel", {}),
    ("hartmann", {}),
    ("powell", {}),
    ("powell", {"maximiser": "shifted"}),
    ("rastrigin", {}),
    ("rastrigin", {"maximiser": "shifted"}),
]
BOXES = {
    "six_hump_camel": ([-3, -2], [3, 2]),
    "hartmann": ([0] * 6, [1] * 6),
    "powell": ([-4] * 24, [5] * 24),
    "rastrigin": ([-5.12] * 100, [5.12] * 100),
}
# d, n, MFS
SIZES = {
    "six_hump_camel": (2, 3, 2),
    "hartmann": (6, 4, 6),
    "powell": (24, 6, 4),
    "rastrigin": (100, 20, 5),
}


def problem(name, seed=0, **changes):
    return asked.problem(f"additive.{name}", seed, **changes)


def at(name, x):
    """The query of points x (n, d) of the problem's box."""
    low, high = np.array(BOXES[name], dtype=float)
    return (np.atleast_2d(x) - low) / (high - low)


def points(name, query):
    low, high = np.array(BOXES[name], dtype=float)
    return low + (high - low) * query


# optima


PUBLISHED = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]  # of Hartmann's function


def test_hartmann_at_the_published_maximiser_is_not_what_the_paper_prints():
    found = problem("hartmann")
    assert_allclose(true(found, PUBLISHED).y, [3.32237], atol=5e-6)
    # no sum of these four bells could be
    assert found.best < additive.HARTMANN_ALPHA.sum() < 10.5364


# values


def test_values_by_hand():
    camel = true(problem("six_hump_camel"), at("six_hump_camel", [[1, 1], [-2, 0.5], [0, 0]]))
    expected = [[-67 / 30, -1, 0], [-56 / 15, 1, 0.75], [0, 0, 0]]  # (-4 + 8.4 - 16/3) 4
    assert_allclose(camel.factor_values, expected, atol=1e-13)
    x = np.zeros(24)
    x[:8] = 1, 2, 3, 4, 0, 0, 1, 0  # (1 + 20)^2 + 5 (-1)^2 + (-4)^4 + 10 (-3)^4 and 5 + (-2)^4
    powell = true(problem("powell"), at("powell", x))
    assert_allclose(powell.factor_values, [[-1512, -21, 0, 0, 0, 0]], atol=1e-10)
    x = np.zeros(100)
    x[[0, 4, 5, 99]] = 0.5, 2, -1, 1.25  # -20 - 1/4 and -4; -1; -10 - 25/16
    rastrigin = true(problem("rastrigin"), at("rastrigin", x))
    seen = rastrigin.factor_values[0, [0, 1, 2, 19]]
    assert_allclose(seen, [-24.25, -1, 0, -11.5625], atol=1e-11)
    assert_allclose(rastrigin.y, [-36.8125], atol=1e-11)


def test_hartmann_term_by_term():
    """The constants typed again, a row of A and P a line; the first bell's centre is its height."""
    rows = [
        "10 3 17 3.5 1.7 8 1312 1696 5569 124 8283 5886",
        "0.05 10 17 0.1 8 14 2329 4135 8307 3736 1004 9991",
        "3 3.5 1.7 10 17 8 2348 1451 3522 2883 3047 6650",
        "17 8 0.05 10 0.1 14 4047 8828 8732 5743 1091 381",
    ]
    found, heights = problem("hartmann"), (1.0, 1.2, 3.0, 3.2)
    for x in rng(4).random((5, 6)):
        seen = true(found, x).factor_values[0]
        for height, row, value in zip(heights, rows, seen, strict=True):
            a, p = np.array(row.split(), dtype=float).reshape(2, 6)
            exponent = sum(a * (x - p / 1e4) ** 2)
            assert_allclose(value, height * np.exp(-exponent), rtol=1e-12)
    centre = np.array([1312, 1696, 5569, 124, 8283, 5886]) / 1e4
    assert_allclose(true(found, centre).factor_values[0, 0], 1.0, rtol=1e-12)


# factors


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_a_factor_depends_on_its_variables_and_on_no_others(name, changes):
    found = problem(name, **changes)
    d, n, size = SIZES[name]
    decomposition = found.reveals["decomposition"]
    assert len(decomposition) == n and max(map(len, decomposition)) == size
    assert set().union(*decomposition) == set(range(d))
    assert all(type(variable) is int for factor in decomposition for variable in factor)
    here = rng(9).random(d)
    # row j differs from `here` in variable j
    moved = np.where(np.eye(d, dtype=bool), rng(10).random(d), here)
    # (d, n)
    changed = np.abs(true(found, moved).factor_values - true(found, here).factor_values) > 1e-12
    expected = [[variable in factor for factor in decomposition] for variable in range(d)]
    assert_array_equal(changed, expected)


def test_how_variables_are_aggregated_does_not_change_the_sum():
    query = rng(11).random((20, 100))
    whole = true(problem("rastrigin", factor_size=100), query)
    assert_allclose(true(problem("rastrigin", factor_size=1), query).y, whole.y, rtol=1e-12)
    assert_allclose(true(problem("rastrigin"), query).y, whole.y, rtol=1e-12)
    single = asked.problem("synthetic.rastrigin", d=100, low=-5.12, high=5.12)
    assert_allclose(single.evaluate(query, rng()).true.y, whole.y, rtol=1e-12)


# moved maximisers


@pytest.mark.parametrize("name", ["powell", "rastrigin"])
def test_a_shift_is_a_translation(name):
    published, shifted = problem(name), problem(name, maximiser="shifted")
    low, high = np.array(BOXES[name], dtype=float)
    s = points(name, shifted.best_at)  # (1, d)
    # x and x - s are in the box
    x = rng(13).uniform(np.maximum(low, low + s), np.minimum(high, high + s), (50, len(low)))
    before, after = true(published, at(name, x - s)), true(shifted, at(name, x))
    assert_allclose(after.factor_values, before.factor_values, rtol=1e-9, atol=1e-9)
    assert published.reveals == shifted.reveals and published.best == shifted.best


@pytest.mark.parametrize("name", ["powell", "rastrigin"])
def test_where_a_shifted_maximiser_lies(name):
    """Uniform over the middle 80 % of every range, the same for the same instance alone."""
    places = np.vstack([problem(name, seed, maximiser="shifted").best_at for seed in range(60)])
    assert places.min() >= 0.1 and places.max() <= 0.9 and np.ptp(places) > 0.78
    assert places.mean() == pytest.approx(0.5, abs=0.03)
    assert places.std() == pytest.approx(0.8 / np.sqrt(12), abs=0.01)
    # every variable has a draw of its own
    assert np.abs(np.corrcoef(places.T) - np.eye(places.shape[1])).max() < 0.65
    assert_array_equal(problem(name, 3, maximiser="shifted").best_at, places[[3]])
    assert len(np.unique(places, axis=0)) == 60


def test_the_centre_of_the_box_gives_the_published_optima_away():
    """Rastrigin's is there; Powell's regret there is below every entry of the paper's table."""
    assert_allclose(true(problem("rastrigin"), np.full(100, 0.5)).y, [0], atol=1e-12)
    at_centre = true(problem("powell"), np.full(24, 0.5)).y
    assert_allclose(at_centre, [-6 * (5.5**2 + 0.5**4)], rtol=1e-12)
    for name in ("powell", "rastrigin"):
        shifted = problem(name, maximiser="shifted")
        assert true(shifted, np.full(shifted.domain.d, 0.5)).y[0] < -1000
