"""The exact penalty: its value, its schedule, both readings of beta, the point that it picks."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.api import Observation
from algorithms.parts.processes.outputs import zero
from algorithms.parts.search.acquisition import ucb
from tests.algorithms.grouped import builder, changed
from tests.settings import EPBO

KERNELS = [
    {"lengthscale": 0.3, "outputscale": 1.0, "mean": 0.0},
    {"lengthscale": 0.5, "outputscale": 1.0, "mean": 0.5},
]
PARAMETERS = changed(EPBO, raw=256, starts=10, climb_steps=50, kernels=KERNELS, standard="raw")
FITTED = {"kernels": "fit", "standard": "sample"}
Z = np.random.default_rng(9).random((40, 2))


def evaluate(x):
    return Observation(np.cos(5 * x).sum(1), np.sin(4 * x[:, 1:]) - 0.5, np.empty((len(x), 0)))


new = builder("epbo.EPBO", PARAMETERS)


def told(rounds=1, **changes):
    optimizer = new(**changes)
    for k in range(rounds):
        x = np.random.default_rng(k).random((10 if k == 0 else 1, 2))
        optimizer.tell(x, evaluate(x))
    return optimizer


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize(("width", "sigmas"), [("multiplier", 2.0), ("root", np.sqrt(2.0))])
@pytest.mark.parametrize("parameters", [{}, FITTED])
def test_value_and_slopes_are_those_of_the_formula_over_the_posteriors(
    parameters, width, sigmas, rounds
):
    """Table 1 minimises LCB_f + 10 ln(k+1) sum max(0, LCB_c) of f = -y."""
    optimizer = told(rounds, width=width, **parameters)
    X = torch.from_numpy(Z).requires_grad_()
    y, g = optimizer.outputs.models
    (mean, variance), (low, spread) = y.posterior(X), g.posterior(X)
    violated = (low - zero(g) - sigmas * spread.sqrt()).relu()
    assert 0 < (violated > 0).sum() < 40
    penalty = 10 * np.log(rounds + 1)
    value = mean + sigmas * variance.sqrt() - penalty * violated
    (slopes,) = torch.autograd.grad(value.sum(), X)
    X = X.detach()
    assert_allclose(optimizer.promise(X), value.detach(), rtol=1e-9)
    assert_allclose(optimizer.slopes(X), slopes, rtol=1e-10, atol=1e-10 * slopes.abs().max())
    if not parameters:
        known = {"lengthscale_y": 0.3, "lengthscale_g1": 0.5, "noise_y": 0.01, "noise_g1": 0.01}
        known |= {"penalty": penalty, "feasible": (optimizer.g <= 0).mean()}
        assert optimizer.report() == pytest.approx(known)


def test_the_query_is_as_good_as_any_on_a_grid():
    optimizer = told(**FITTED)
    axis = torch.linspace(0, 1, 41, dtype=torch.float64)
    promised = optimizer.promise(torch.cartesian_prod(axis, axis))
    query = optimizer.ask(1, optimizer.x[:0])
    assert optimizer.promise(torch.from_numpy(query)).item() >= promised.max() - 0.02


def test_without_constraints_it_is_gp_ucb():
    optimizer = new(**FITTED)
    x = np.random.default_rng(0).random((10, 2))
    optimizer.tell(x, Observation.of(evaluate(x).y))
    expected = ucb(*optimizer.outputs.models[0].posterior(torch.from_numpy(Z)), 4.0)
    assert_allclose(optimizer.promise(torch.from_numpy(Z)), expected, atol=1e-12)
