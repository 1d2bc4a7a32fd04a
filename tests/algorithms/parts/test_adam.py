"""Maxima by Adam's ascents: closed forms, and the faces of the cube."""

import numpy as np
import pytest
import torch

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
