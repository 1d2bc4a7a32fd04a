"""Maxima over boxes, coordinates and lines, and by Adam, against closed forms and SciPy."""

from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from algorithms.parts.search.adam import maximise_by_adam
from algorithms.parts.search.maximise import (
    box,
    climb,
    climb_best,
    coordinates,
    cube,
    line,
    maximise,
)
from tests.algorithms.grouped import rng

SEARCH = {"raw": 64, "starts": 4, "steps": 200}


def bowl(top, stretch=None):
    """A concave quadratic with its maximum 0 at `top` (d,)."""
    top = torch.as_tensor(top, dtype=torch.float64)
    stretch = torch.from_numpy(np.eye(len(top)) if stretch is None else stretch)
    return lambda X: -(((X - top) @ stretch) ** 2).sum(1)


def waves(X):
    """Four local maxima in the unit square, the best 1 at (0.75, 0.75)."""
    return (torch.cos(4 * np.pi * (X - 0.75)) / 2 + 0.5 - (X - 0.75).abs() ** 2).mean(1)


def by_adam(f, rate=0.01, **search):
    """The maximum of a function of two variables by Adam, its slopes by PyTorch."""

    def slopes(X):
        X = X.clone().requires_grad_()
        return torch.autograd.grad(f(X).sum(), X)[0]

    return maximise_by_adam(f, slopes, 2, rng(), rate=rate, **search)


def valley(X):
    """Minus Rosenbrock's function on [-2,2]^d, curved and badly scaled."""
    Z = 4 * X - 2
    return -(100 * (Z[:, 1:] - Z[:, :-1] ** 2) ** 2 + (1 - Z[:, :-1]) ** 2).sum(1)


@pytest.mark.parametrize("d", [1, 2, 10, 100])
def test_the_top_of_a_bowl(d):
    top = rng(1).uniform(0.1, 0.9, d)
    x, value = maximise(bowl(top), cube(d), rng(), **SEARCH)
    assert_allclose(x, top, atol=1e-5)
    assert_allclose(value, 0.0, atol=1e-9)


def test_a_stretched_bowl_whose_top_is_outside_has_its_maximum_on_the_faces():
    stretch = rng(2).standard_normal((6, 6)) @ np.diag([1, 2, 5, 10, 20, 30.0])
    top = np.array([1.4, -0.3, 0.5, 0.2, 0.9, 1.1])
    x, value = maximise(bowl(top, stretch), cube(6), rng(), **SEARCH)

    def loss(u):
        return float((((u - top) @ stretch) ** 2).sum())

    exact = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000, "maxfun": 100_000}
    best = minimize(loss, np.full(6, 0.5), bounds=[(0, 1)] * 6, method="L-BFGS-B", options=exact)
    assert_allclose(value, -best.fun, rtol=1e-6)
    assert_allclose(x, best.x, atol=1e-3)
    assert ((x == 0) | (x == 1)).any()


def test_a_curved_valley_is_followed_to_its_end():
    ends, values = climb(valley, cube(4), rng().random((6, 4)), steps=500)
    assert_allclose(values.max(), 0.0, atol=1e-5)
    assert_allclose(ends[np.argmax(values)], 0.75, atol=1e-3)
    at = torch.from_numpy(ends).requires_grad_()
    (slopes,) = torch.autograd.grad(valley(at).sum(), at)
    # the others end at local maxima or on faces
    assert np.median(np.abs(slopes.numpy()[(ends > 0) & (ends < 1)])) < 0.05


@pytest.mark.parametrize("f", [waves, valley])
def test_a_climb_is_the_same_alone_and_in_company(f):
    starts = rng().random((5, 2))
    ends, values = climb(f, cube(2), starts, steps=60)
    for start, end, value in zip(starts, ends, values, strict=True):
        alone = climb(f, cube(2), start[None], steps=60)
        assert_allclose(alone[0][0], end, atol=1e-9)
        assert_allclose(alone[1][0], value, atol=1e-9)


def test_coordinates_move_only_those():
    x0, top = rng().random(5), rng(1).random(5)
    for goal in (top, 1 - top):  # above and below where it begins
        x, _ = maximise(bowl(goal), coordinates(x0, [3, 1]), rng(), **SEARCH)
        assert_array_equal(x[[0, 2, 4]], x0[[0, 2, 4]])
        assert_allclose(x[[1, 3]], goal[[1, 3]], atol=1e-5)


def test_a_line_reaches_the_nearest_point_and_stops_at_the_faces():
    x0, direction = np.array([0.5, 0.25, 0.5]), np.array([1.0, 1.0, 0.0])
    x, _ = maximise(bowl([0.7, 0.65, 0.9]), line(x0, direction), rng(), **SEARCH)
    assert_allclose(x, [0.8, 0.55, 0.5], atol=1e-5)  # the foot of the perpendicular
    x, _ = maximise(bowl([5.0, 5.0, 0.0]), line(x0, direction), rng(), **SEARCH)
    assert_allclose(x, [1.0, 0.75, 0.5], atol=1e-12)
    region = line(x0, direction)
    assert_allclose([region.low, region.high], [[-0.25], [0.5]])
    with pytest.raises(ValueError, match="expected a direction, got zeros"):
        line(x0, np.zeros(3))


def test_candidates_may_be_given():
    u = np.array([[0.1, 0.1], [0.74, 0.76], [0.5, 0.5]])
    x, value = climb_best(waves, cube(2), u, starts=1, steps=50)
    assert_allclose(x, 0.75, atol=1e-4)
    _, start = climb_best(waves, cube(2), u, starts=1, steps=0)
    assert start == waves(torch.from_numpy(u[1:2])).item() < value


def holed(X):
    return torch.where(X[:, 0] > 0.6, torch.nan, bowl([0.7, 0.3])(X))


def test_fewer_candidates_than_starts_may_be_defined():
    few = np.array([[0.9, 0.9], [0.5, 0.5], [0.8, 0.1]])
    assert_allclose(climb_best(holed, cube(2), few, starts=3, steps=50)[1], -0.01, atol=0.011)


@pytest.mark.parametrize(
    "search", [lambda f, **how: maximise(f, cube(2), rng(), **how), partial(by_adam, rate=0.001)]
)
def test_a_function_undefined_in_places_is_survived_and_one_defined_nowhere_is_refused(search):
    x, value = search(holed, raw=64, starts=4, steps=20)
    assert np.isfinite(value) and x[0] <= 0.6
    said = "the function is finite at none of 64 candidates: look at the model behind it"
    with pytest.raises(ArithmeticError, match=said):
        search(lambda X: torch.nan * X[:, 0], **SEARCH)


def test_the_best_of_many_maxima():
    x, value = maximise(waves, cube(2), rng(), raw=256, starts=8, steps=100)
    assert_allclose(x, 0.75, atol=1e-4)
    assert_allclose(value, 1.0, atol=1e-6)


def test_adam_finds_the_best_of_many_maxima_and_stays_in_the_cube():
    for f, top, height in ((waves, [0.75, 0.75], 1.0), (bowl([1.3, -0.2]), [1.0, 0.0], -0.13)):
        x, value = by_adam(f, raw=64, starts=4, steps=300)
        assert_allclose(x, top, atol=1e-3)
        assert_allclose(value, height, atol=1e-3)


def test_no_round_loses_anything():
    starts, last = rng().random((5, 3)), np.full(5, -np.inf)
    for steps in (0, 1, 2, 5, 10, 50):
        values = climb(valley, cube(3), starts, steps=steps)[1]
        assert (values >= last).all()
        last = values


def test_a_box_keeps_the_point_inside():
    low, high = np.array([0.2, 0.5]), np.array([0.3, 0.9])
    x, _ = maximise(bowl([0.9, 0.7]), box(low, high), rng(), **SEARCH)
    assert_allclose(x, [0.3, 0.7], atol=1e-6)
