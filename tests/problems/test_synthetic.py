"""Closed forms on boxes: values by hand, optima that move with the box."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from problems import synthetic
from tests.problems import asked
from tests.problems.asked import rng


def problem(name, **changes):
    return asked.problem(f"synthetic.{name}", **changes)


def values(found, query):
    return found.evaluate(query, rng()).true.y


def at(x, low=-5.0, high=5.0):
    """The query of points x (n, d) of the box."""
    return (np.atleast_2d(x) - low) / (high - low)


def test_the_valley_is_a_root_of_the_derivative():
    root = optimize.brentq(lambda x: 4 * x**3 - 32 * x + 5, -3, -2, xtol=1e-15)
    assert_allclose(synthetic.VALLEY, root, rtol=1e-15)


def test_f1_is_flat_where_it_is_greatest():
    found = problem("unit_network")
    for total in (15.0, 30.0, 100.0):
        assert_allclose(values(found, at(np.full((1, 20), total / 20))), [26], atol=1e-5)
    assert_allclose(values(found, np.zeros((1, 20))), [1], atol=1e-12)
    share = (values(found, rng().random((20000, 20))) > 25.99).mean()
    assert share == pytest.approx(0.30, abs=0.02)


def test_values_by_hand():
    middle = values(problem("unit_network"), at(np.zeros(20)))
    assert_allclose(middle, [25 / (1 + np.exp(-1)) + 1], rtol=1e-14)
    x = np.zeros(20)
    x[:2] = 1, -2  # (1 - 16 + 5)/2 = -5 and (16 - 64 - 10)/2 = -29
    assert_allclose(values(problem("styblinski_tang"), at(x)), [34], rtol=1e-12)
    x[:2] = 0.5, 2  # 10 (cos(pi) - 1) - 1/4 and -4
    assert_allclose(values(problem("rastrigin"), at(x)), [-24.25], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "inside"),
    [("unit_network", 7.0), ("styblinski_tang", synthetic.VALLEY), ("rastrigin", 0.0)],
)
def test_another_box_moves_the_optimum_with_it(name, inside):
    found = problem(name, d=3, low=-4.0, high=7.0)
    assert_array_equal(values(found, found.best_at), [found.best])
    assert_allclose(-4 + 11 * found.best_at, np.full((1, 3), inside), atol=1e-12)
