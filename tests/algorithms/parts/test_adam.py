"""Adam's ascents against PyTorch's one by one, a closed form, and the faces of the cube."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.adam import ascend, maximise_by_adam

SEARCH = {"raw": 64, "starts": 4, "steps": 300, "rate": 0.01}


def bowl(top):
    return lambda X: -((X - torch.as_tensor(top, dtype=torch.float64)) ** 2).sum(1)


def waves(X):
    """Four local maxima in the unit square, the best 1 at (0.75, 0.75)."""
    return (torch.cos(4 * np.pi * (X - 0.75)) / 2 + 0.5 - (X - 0.75).abs() ** 2).mean(1)


def slopes_of(f):
    """The slopes (q, d) of f by PyTorch."""

    def slopes(X):
        X = X.clone().requires_grad_()
        return torch.autograd.grad(f(X).sum(), X)[0]

    return slopes


def maximise(f, d, rng, **search):
    return maximise_by_adam(f, slopes_of(f), d, rng, **search)


def test_a_step_is_the_papers():
    """Two steps by hand: the first is the rate times the sign of the slope."""
    x, rate = np.array([[0.5, 0.2, 0.9]]), 0.01
    slope = -2 * (x - 0.6)
    assert_allclose(
        ascend(slopes_of(bowl([0.6] * 3)), x, steps=1, rate=rate),
        x + rate * np.sign(slope),
        atol=1e-8,
    )
    once = x + rate * slope / (np.abs(slope) + 1e-8)
    again = -2 * (once - 0.6)
    m, v = (
        (0.09 * slope + 0.1 * again) / (1 - 0.81),
        (0.000999 * slope**2 + 0.001 * again**2) / (1 - 0.999**2),
    )
    assert_allclose(
        ascend(slopes_of(bowl([0.6] * 3)), x, steps=2, rate=rate),
        once + rate * m / (np.sqrt(v) + 1e-8),
        atol=1e-10,
    )


def test_an_ascent_is_the_same_alone_and_in_company():
    starts = np.random.default_rng(0).random((5, 2))
    kept = starts.copy()
    together = ascend(slopes_of(waves), starts, steps=40, rate=0.02)
    for start, end in zip(starts, together, strict=True):
        assert_array_equal(ascend(slopes_of(waves), start[None], steps=40, rate=0.02)[0], end)
    assert_array_equal(starts, kept)


def test_it_finds_the_best_of_many_maxima_and_stays_in_the_cube():
    x, value = maximise(waves, 2, np.random.default_rng(0), **SEARCH)
    assert_allclose(x, 0.75, atol=1e-3)
    assert_allclose(value, 1.0, atol=1e-4)
    x, value = maximise(bowl([1.3, 0.4, -0.2]), 3, np.random.default_rng(0), **SEARCH)
    assert_allclose(x, [1.0, 0.4, 0.0], atol=1e-3)
    assert_allclose(value, -0.13, atol=1e-3)


def test_only_the_best_candidates_are_climbed_from():
    x, _ = maximise(waves, 2, np.random.default_rng(3), raw=64, starts=1, steps=0, rate=0.01)
    values = [
        maximise(waves, 2, np.random.default_rng(3), raw=64, starts=k, steps=0, rate=0.01)[1]
        for k in (1, 5, 64)
    ]
    assert values[0] == values[1] == values[2] == waves(torch.from_numpy(x[None])).item()


def test_a_function_undefined_in_places_is_survived_and_one_defined_nowhere_is_refused():
    def holed(X):
        return torch.where(X[:, 0] > 0.6, torch.nan, bowl([0.7, 0.3])(X))

    x, value = maximise(holed, 2, np.random.default_rng(0), raw=64, starts=4, steps=20, rate=0.001)
    assert np.isfinite(value) and x[0] <= 0.6
    with pytest.raises(
        ArithmeticError,
        match="the function is finite at none of 8 candidates: look at the model behind it",
    ):
        maximise(
            lambda X: torch.nan * X[:, 0],
            2,
            np.random.default_rng(0),
            raw=8,
            starts=1,
            steps=1,
            rate=0.1,
        )
