"""Maxima by Adam's ascents: closed forms, and the faces of the cube."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.parts.search.adam import maximise_by_adam


def bowl(top):
    return lambda X: -((X - torch.as_tensor(top, dtype=torch.float64)) ** 2).sum(1)


def slopes_of(f):
    """The slopes (q, d) of f by PyTorch."""

    def slopes(X):
        X = X.clone().requires_grad_()
        return torch.autograd.grad(f(X).sum(), X)[0]

    return slopes


def maximise(f, d, rng, **search):
    return maximise_by_adam(f, slopes_of(f), d, rng, **search)


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


SEARCH = {"raw": 64, "starts": 4, "steps": 300, "rate": 0.01}


def waves(X):
    """Four local maxima in the unit square, the best 1 at (0.75, 0.75)."""
    return (torch.cos(4 * np.pi * (X - 0.75)) / 2 + 0.5 - (X - 0.75).abs() ** 2).mean(1)


def test_it_finds_the_best_of_many_maxima_and_stays_in_the_cube():
    x, value = maximise(waves, 2, np.random.default_rng(0), **SEARCH)
    assert_allclose(x, 0.75, atol=1e-3)
    assert_allclose(value, 1.0, atol=1e-4)
    x, value = maximise(bowl([1.3, 0.4, -0.2]), 3, np.random.default_rng(0), **SEARCH)
    assert_allclose(x, [1.0, 0.4, 0.0], atol=1e-3)
    assert_allclose(value, -0.13, atol=1e-3)
