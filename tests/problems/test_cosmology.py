"""The galaxies' likelihood by hand, CAMB's universe, the stand-in, closed forms, failures."""

import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import hyp2f1

from problems import cosmology
from tests.problems import asked
from tests.problems.asked import rng

DENSITIES = {"omega_m": 0.14344489937542032 / 0.69**2, "omega_b": 0.0228 / 0.69**2, "omega_k": 0.0}
FIDUCIAL = cosmology.Constants(
    h0=0.69, **DENSITIES, n_s=0.97, A_s=2.19e-9, tau=0.07, w=-1.0, mnu=0.06
)
# computed elsewhere, b = 1
V = np.array([94.2313709, 1364.63394, 0.143444899, 0.621085925, 0.480690588])
MIDDLE = np.full(9, 0.5)

problem = partial(asked.problem, "cosmology.boss_likelihood")


@pytest.fixture
def camb():
    return pytest.importorskip("camb", reason="needs CAMB")


# the likelihood


@pytest.mark.parametrize(("b", "value"), [(1, -21.994515953), (2, -0.84969)])
def test_five_numbers_that_were_computed_elsewhere(b, value):
    assert_allclose(cosmology.five_numbers(V * [1, 1, 1, b, 1]), value, rtol=0, atol=5e-6)


def test_the_precision_is_that_of_errors_of_the_measured_size():
    assert_array_equal(cosmology.PRECISION, cosmology.PRECISION.T)
    spread = np.sqrt(np.diag(np.linalg.inv(cosmology.PRECISION)))
    assert_allclose(spread, [7.20, 73.9, 0.0190, 0.140, 0.069], rtol=5e-3)


def test_the_growth_rate_is_a_gaussian_with_its_constant():
    def at(f_sigma8):
        return cosmology.growth_rate(np.array([0, 0, 0, 0, f_sigma8]))

    assert_allclose(at(0.428), 1.7991621, atol=1e-7)
    assert_allclose(at(0.428 + 0.066), at(0.428) - 0.5, rtol=1e-12)
    total, _ = quad(lambda f: np.exp(at(f)), 0, 1)
    assert_allclose(total, 1, atol=1e-8)


# CAMB


def test_camb_gives_the_numbers_that_were_computed_elsewhere(camb):
    v = cosmology.by_camb(FIDUCIAL)
    assert_allclose(v, V, rtol=5e-9)
    assert_allclose(cosmology.five_numbers(v), -21.994515953, rtol=0, atol=2e-6)


@pytest.mark.parametrize("x", [np.zeros(9), np.ones(9)], ids=["lower", "upper"])
def test_camb_and_the_stand_in_agree_at_the_ends_of_the_box(camb, x):
    """Where the fits are worst: sigma8 to 10 %. All at an end, with w = -2 and -0.33."""
    constants, _ = cosmology.at(x, 1.0)
    exact, close = cosmology.by_camb(constants), cosmology.by_growth(constants)
    assert_allclose(close[:3], exact[:3], rtol=2e-4)
    assert_allclose(close[3:], exact[3:], rtol=0.1)
    assert_allclose(close[4] / close[3], exact[4] / exact[3], rtol=0.01)  # f alone


def test_the_optical_depth_has_no_effect(camb):
    one, other = (cosmology.by_camb(replace(FIDUCIAL, tau=tau)) for tau in cosmology.BOX["tau"])
    assert_array_equal(one, other)
    one, other = (cosmology.by_growth(replace(FIDUCIAL, tau=tau)) for tau in cosmology.BOX["tau"])
    assert_array_equal(one, other)


def test_the_real_problem_is_camb_and_the_likelihood(camb):
    found = problem(backend="camb")
    evaluation = found.evaluate(MIDDLE[None], rng())
    expected = cosmology.five_numbers(cosmology.by_camb(cosmology.at(MIDDLE, 1.0)[0]))
    assert_array_equal(evaluation.true.y, [max(expected, -60)])
    assert_array_equal(evaluation.true.g, [[-1]])
    assert found.data == "real"


# failures


@pytest.mark.parametrize("floor", [-60.0, -np.inf, -10.0])
def test_a_failure_of_camb_is_minus_sixty_and_violates_the_hidden_constraint(
    camb, monkeypatch, floor
):
    def refuse(parameters):
        raise camb.CAMBError("no such universe")

    monkeypatch.setattr(camb, "get_results", refuse)
    found = problem(backend="camb", floor=floor, noise=0.5)
    evaluation = found.evaluate(rng(1).random((3, 9)), rng(2))
    assert_array_equal(evaluation.true.y, [-60.0] * 3)
    assert_array_equal(evaluation.seen.y, -60 + 0.5 * rng(2).standard_normal(3))
    assert_array_equal(evaluation.true.g, np.ones((3, 1)))
    assert_array_equal(evaluation.seen.g, np.ones((3, 1)))


@pytest.mark.parametrize("error", [RuntimeError, ValueError, MemoryError])
def test_any_other_error_is_heard(camb, monkeypatch, error):
    def crash(parameters):
        raise error("something else")

    monkeypatch.setattr(camb, "get_results", crash)
    with pytest.raises(error, match="something else"):
        problem(backend="camb").evaluate(MIDDLE[None], rng())


def test_less_cold_matter_than_none_is_inconsistent():
    with pytest.raises(cosmology.Inconsistent, match=r"a positive cold matter, got -0\.00"):
        cosmology.by_growth(replace(FIDUCIAL, omega_m=0.1, omega_b=0.101))


def test_less_cold_matter_than_none_is_inconsistent_for_camb_too(camb):
    with pytest.raises(cosmology.Inconsistent, match="expected a positive cold matter"):
        cosmology.by_camb(replace(FIDUCIAL, omega_m=0.1, omega_b=0.101))


def test_a_universe_that_turns_round_is_inconsistent():
    with pytest.raises(cosmology.Inconsistent, match="expected a positive expansion rate"):
        cosmology.by_growth(replace(FIDUCIAL, omega_k=-4.0))


# the stand-in


def test_the_stand_in_is_close_where_the_constants_are_known_ones():
    v = cosmology.by_growth(FIDUCIAL)
    assert_allclose(v[:3], V[:3], rtol=2e-5)
    assert_allclose(v[3:], V[3:], rtol=5e-3)
    assert abs(cosmology.five_numbers(v) + 21.994515953) < 0.3


def test_growth_of_a_flat_universe_by_its_closed_form():
    """A hypergeometric function; radiation adds 2/3 of equality's scale factor and little else."""
    a = 1 / 1.57
    for omega_m in (0.2, 0.3, 0.9):
        x = -(1 - omega_m) / omega_m * a**3
        D, f = cosmology.growth(replace(FIDUCIAL, omega_m=omega_m))
        F, slope = hyp2f1(1 / 3, 1, 11 / 6, x), 1 / 3 / (11 / 6) * hyp2f1(4 / 3, 2, 17 / 6, x)
        assert_allclose([D, f], [a * F, 1 + 3 * x * slope / F], rtol=2e-3)


@pytest.mark.parametrize(("omega_k", "w"), [(0.0, -1.0), (0.1, -0.33), (-0.1, -2.0), (1e-9, -1.0)])
def test_distances_by_quadrature(omega_k, w):
    constants = replace(FIDUCIAL, omega_k=omega_k, w=w)
    radiation, m = cosmology.RADIATION / 0.69**2, constants.omega_m
    dark = 1 - m - omega_k - radiation

    def rate(z):
        a = 1 / (1 + z)
        return np.sqrt(radiation / a**4 + m / a**3 + omega_k / a**2 + dark / a ** (3 * (1 + w)))

    chi, _ = quad(lambda z: 1 / rate(z), 0, 0.57, epsabs=1e-13)
    root = np.emath.sqrt(omega_k)
    across = (np.sinh(root * chi) / root).real if omega_k else chi
    H, D_A, *_ = cosmology.by_growth(constants)
    assert_allclose(H, 69 * rate(0.57), rtol=1e-12)
    assert_allclose(D_A, 299792.458 / 69 * across / 1.57, rtol=1e-9)


def test_the_transfer_function_at_its_ends():
    k = np.array([1e-6, 1e-5, 1.0, 10.0])
    T = cosmology.transfer(k, 0.14, 0.022)
    assert_allclose(T[0], 1, atol=1e-4)
    assert (np.diff(T) < 0).all() and (T > 0).all()
    q = k / (13.41 * np.sqrt(2 * 0.14**2 / cosmology.RADIATION) / 2997.92458)
    log = np.log(np.e + 1.8 * q)
    cold = log / (log + (14.2 + 386 / (1 + 69.9 * q**1.08)) * q**2)
    assert_allclose(cosmology.transfer(k, 0.14, 1e-7), cold, rtol=1e-4)  # as good as no baryons


def test_neutrinos_hold_small_structures_back_and_large_ones_not():
    lag, rate = cosmology.infall(np.array([1e-6, 10.0]), 0.14, 0.96, 2000.0)
    p = (5 - np.sqrt(1 + 24 * 0.96)) / 4
    assert_allclose(lag, [1, 0.96 * 2000**-p], rtol=2e-2)
    assert_allclose(rate, [1, (1 - p) / 0.96], rtol=2e-2)


def test_the_ball_has_unit_mean_and_rings():
    assert_allclose(cosmology.ball(np.array([1e-2, 4.493409458])), [1, 0], atol=2e-5)


# the problem


def test_the_box_has_its_ends():
    ends = [0.55, 0.1, 0.03, -0.1, 0.87, 0.5e-9, 0.04, -2.0, 0.06]
    for x, expected in ((0, ends), (1, [0.91, 0.9, 0.07, 0.1, 1.07, 5e-9, 0.125, -0.33, 0.6])):
        found = vars(cosmology.at(np.full(9, x), 1.0)[0])
        assert_allclose(list(found.values()), expected)
        assert tuple(found) == tuple(cosmology.BOX)


def test_a_free_bias_takes_the_place_of_the_optical_depth():
    x = MIDDLE.copy()
    x[6] = 0.75
    constants, b = cosmology.at(x, "free")
    assert (constants, b) == (replace(cosmology.at(x, 1.0)[0], tau=0.0697186), 2.5)
    free, fixed = problem(bias="free", floor=-np.inf), problem(bias=2.5, floor=-np.inf)
    assert_array_equal(free.evaluate(x[None], rng()).true.y, fixed.evaluate(x[None], rng()).true.y)
    v = cosmology.by_growth(constants) * [1, 1, 1, 2.5, 1]
    assert_array_equal(free.evaluate(x[None], rng()).true.y, [cosmology.five_numbers(v)])


def test_the_floor_cuts_what_is_below_it():
    query = rng(5).random((50, 9))
    floors = (-np.inf, -60.0, -20.0)
    bare, cut, high = (problem(floor=floor).evaluate(query, rng()).true.y for floor in floors)
    assert bare.min() < -200 and bare.max() > -60
    assert_array_equal(cut, np.maximum(bare, -60))
    assert_array_equal(high, np.maximum(bare, -20))
    assert 0.6 < (cut == -60).mean() < 0.95
    assert_array_equal(problem().evaluate(query, rng()).true.g, np.full((50, 1), -1.0))


def test_the_growth_rate_alone_counts_in_its_mode():
    query = rng(6).random((20, 9))
    found = problem(mode="growth-rate", floor=-np.inf).evaluate(query, rng()).true.y
    v = [cosmology.by_growth(cosmology.at(x, 1.0)[0]) for x in query]
    assert_allclose(found, [cosmology.growth_rate(one) for one in v], rtol=1e-14)
    assert found.max() < 1.7992


def test_a_missing_simulator_is_named_at_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "camb", None)
    said = r"pip install 'noregret-bo\[cosmology\]', or choose backend growth"
    with pytest.raises(ImportError, match=said):
        problem(backend="camb")
    problem(backend="growth")


def test_nothing_in_the_box_lacks_cold_matter():
    least = cosmology.BOX["omega_m"][0] - cosmology.BOX["omega_b"][1]
    assert least * cosmology.BOX["h0"][0] ** 2 > cosmology.BOX["mnu"][1] / cosmology.NEUTRINO
