"""Closed forms on boxes: their optima, their means over the box in closed form, their noise, what
is refused.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, optimize

from problems import load, synthetic
from tests.problems.asked import rng

BOX = {"d": 20, "low": -5.0, "high": 5.0, "noise": 0.01}
# f1, f2, f3 as published
OPTIONS = {"unit_network": {**BOX, "hidden": 25}, "styblinski_tang": BOX, "rastrigin": BOX}
BEST = {"unit_network": 26.0, "styblinski_tang": 783.32331, "rastrigin": 0.0}
NAMES = list(OPTIONS)


def problem(name, **changes):
    return load(f"synthetic.{name}")(rng(), **{**OPTIONS[name], **changes})


def values(found, query):
    return found.evaluate(query, rng()).true.y


def at(x, low=-5.0, high=5.0):
    """The query of points x (n, d) of the box."""
    return (np.atleast_2d(x) - low) / (high - low)


@pytest.mark.parametrize("name", NAMES)
def test_the_optimum_is_attained(name):
    found = problem(name)
    assert (found.domain.d, found.best_kind) == (20, "exact")
    assert (found.data, found.display.sign) == ("none", 1)
    assert found.best_at.shape == (1, 20)
    assert_array_equal(values(found, found.best_at), [found.best])
    assert_allclose(found.best, BEST[name], rtol=1e-8, atol=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [1, 2, 20])
def test_nothing_is_better(name, d):
    """Uniform points, points near the optimum,
    and what a local search finds from the best of them.
    """
    found = problem(name, d=d)
    query = np.vstack(
        [
            rng(1).random((5000, d)),
            np.clip(found.best_at + 0.02 * rng(2).standard_normal((5000, d)), 0, 1),
        ]
    )
    reached = values(found, query)
    assert reached.max() <= found.best
    climbed = optimize.minimize(
        lambda u: -values(found, u[None])[0], query[np.argmax(reached)], bounds=[(0, 1)] * d
    )
    assert -climbed.fun <= found.best + 1e-9


def test_the_valley_is_a_root_of_the_derivative():
    root = optimize.brentq(lambda x: 4 * x**3 - 32 * x + 5, -3, -2, xtol=1e-15)
    assert_allclose(synthetic.VALLEY, root, rtol=1e-15)


def test_f1_is_flat_where_it_is_greatest():
    found = problem("unit_network")
    for total in (15.0, 30.0, 100.0):
        assert_allclose(values(found, at(np.full((1, 20), total / 20))), [26], atol=1e-5)
    assert_allclose(values(found, np.zeros((1, 20))), [1], atol=1e-12)
    assert (values(found, rng().random((20000, 20))) > 25.99).mean() == pytest.approx(
        0.30, abs=0.02
    )


def test_values_by_hand():
    assert_allclose(
        values(problem("unit_network"), at(np.zeros(20))), [25 / (1 + np.exp(-1)) + 1], rtol=1e-14
    )
    x = np.zeros(20)
    x[:2] = 1, -2  # (1 - 16 + 5)/2 = -5 and (16 - 64 - 10)/2 = -29
    assert_allclose(values(problem("styblinski_tang"), at(x)), [34], rtol=1e-12)
    x[:2] = 0.5, 2  # 10 (cos(pi) - 1) - 1/4 and -4
    assert_allclose(values(problem("rastrigin"), at(x)), [-24.25], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_another_box_moves_the_optimum_with_it(name):
    found = problem(name, d=3, low=-4.0, high=7.0)
    assert_array_equal(values(found, found.best_at), [found.best])
    inside = {"unit_network": 7.0, "styblinski_tang": synthetic.VALLEY, "rastrigin": 0.0}[name]
    assert_allclose(-4 + 11 * found.best_at, np.full((1, 3), inside), atol=1e-12)


def test_the_means_over_the_box_are_those_of_the_integrals():
    """250/3 and -200 - 500/3 by hand; f1's sum is nearly normal with variance 20 * 100/12. Errors:
    4.5 standard ones.
    """
    query = rng(3).random((40000, 20))
    normal = np.sqrt(20 * 100 / 12)
    f1, _ = integrate.quad(
        lambda s: (
            (25 / (1 + np.exp(-s - 1)) + 1)
            * np.exp(-((s / normal) ** 2) / 2)
            / (normal * np.sqrt(2 * np.pi))
        ),
        -99,
        99,
    )
    assert_allclose(f1, 14.24, atol=0.05)
    for name, mean in (
        ("unit_network", f1),
        ("styblinski_tang", 250 / 3),
        ("rastrigin", -200 - 500 / 3),
    ):
        seen = values(problem(name), query)
        assert abs(seen.mean() - mean) < 4.5 * seen.std() / 200
