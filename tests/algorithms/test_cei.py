"""Constrained expected improvement: Monte Carlo, BoTorch, its limits, and the point it picks."""

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import LogConstrainedExpectedImprovement
from botorch.models import ModelListGP, SingleTaskGP
from numpy.testing import assert_allclose

import algorithms
from algorithms.api import Box, Observation
from algorithms.parts.numerics import cholesky
from algorithms.parts.processes import closed_rbf
from algorithms.parts.processes.closed_rbf import ScaleTarget
from algorithms.parts.processes.gp import Posterior
from algorithms.parts.processes.kernels import Model
from algorithms.parts.processes.outputs import zero
from algorithms.parts.search.acquisition import log_ei, log_feasibility
from tests.algorithms.grouped import changed
from tests.settings import CEI

SETTINGS = changed(CEI, raw=256, starts=10, climb_steps=50)
KERNELS = [
    {"lengthscale": 0.3, "outputscale": 1.0, "mean": 0.0},
    {"lengthscale": 0.5, "outputscale": 1.0, "mean": 0.5},
    {"lengthscale": [0.4, 0.9], "outputscale": 2.0, "mean": 0.5},
]
KNOWN = {"kernels": KERNELS, "standard": "raw"}
Z = torch.from_numpy(np.random.default_rng(9).random((6, 2)))


def evaluate(x, slack=0.0):
    g = np.column_stack([x[:, 0] - 0.5, np.sin(4 * x[:, 1])])
    return Observation(2 + np.cos(5 * x).sum(1), g - slack, np.empty((len(x), 0)))


def told(n=10, slack=0.3, m=2, seed=0, **changes):
    settings = changed(SETTINGS, **changes)
    optimizer = algorithms.build("cei.CEI", Box(2), np.random.default_rng(seed), settings)
    x = np.random.default_rng(seed).random((n, 2))
    obs = evaluate(x, slack)
    optimizer.tell(x, Observation(obs.y, obs.g[:, :m], obs.factor_values))
    return optimizer


def promise_of_posteriors(optimizer, X):
    """The same promise from the posteriors, one after another, differentiable by PyTorch."""
    y, *g = optimizer.outputs.models
    total = X.new_zeros(len(X))
    for fitted in g:
        mean, variance = fitted.posterior(X)
        total = total + log_feasibility(mean - zero(fitted), variance)
    feasible = (optimizer.g <= 0).all(1)
    if feasible.any():
        total = total + log_ei(*y.posterior(X), float(y.units(optimizer.y[feasible]).max()))
    return total


@pytest.mark.parametrize("parameters", [{}, KNOWN, {"m": 1}, {"m": 0}, {"slack": -2.0}])
def test_promise_and_slopes_are_those_of_the_posteriors(parameters):
    optimizer = told(**parameters)
    X = Z.clone().requires_grad_()
    expected = promise_of_posteriors(optimizer, X)
    (slopes,) = torch.autograd.grad(expected.sum(), X)
    assert_allclose(optimizer.promise(Z), expected.detach(), rtol=1e-9)
    assert_allclose(optimizer.slopes(Z), slopes, rtol=1e-8, atol=1e-9 * slopes.abs().max())


def test_what_a_query_costs(monkeypatch):
    """Two triangular solves for each model and step, one for each model at the candidates and at
    the ends; no factorisation, and no covariance from GPyTorch.
    """
    optimizer, calls = told(30, raw=64, starts=4, climb_steps=7), []
    solve = closed_rbf.solve_lower
    monkeypatch.setattr(
        closed_rbf,
        "solve_lower",
        lambda L, B, **options: calls.append(B.shape[1]) or solve(L, B, **options),
    )
    for place, name in (
        (Model, "covariance"),
        (Posterior, "__call__"),
        (closed_rbf, "solve"),
        (cholesky, "dpotri"),
        (cholesky, "dpotrf"),
    ):
        monkeypatch.setattr(place, name, None)  # whoever calls it, fails
    optimizer.ask(1, optimizer.x[:0])
    assert calls == [64] * 3 + [4] * 6 * 7 + [4] * 3


def test_what_a_told_value_costs(monkeypatch):
    """Factors grow by a row; a fit factorises once for each density and once for its posterior."""
    optimizer, sizes = told(30), []
    factor = cholesky.dpotrf
    monkeypatch.setattr(
        cholesky, "dpotrf", lambda K, **options: sizes.append(len(K)) or factor(K, **options)
    )
    evaluated, loss = [], ScaleTarget.loss
    monkeypatch.setattr(
        ScaleTarget, "loss", lambda self, theta: evaluated.append(len(self.y)) or loss(self, theta)
    )
    for n, x in enumerate(np.random.default_rng(5).random((5, 1, 2)), start=31):
        assert sizes == [1] * 3 * (n - 31) and evaluated == []
        optimizer.tell(x, evaluate(x, 0.3))
    fit = [35] * (len(evaluated) + 3)
    assert sizes == [1] * 3 * 4 + fit and 3 < len(evaluated) <= 3 * 10


@pytest.mark.parametrize("parameters", [{}, KNOWN])
def test_the_promise_is_botorchs(parameters):
    optimizer = told(**parameters)
    models = []
    for fitted in optimizer.outputs.models:
        p = fitted.posterior
        parts = {"covar_module": p.model.kernel, "mean_module": p.model.mean}
        parts |= {"likelihood": p.model.likelihood, "outcome_transform": None}
        models.append(SingleTaskGP(p.X, p.y[:, None], **parts).eval())
    best = optimizer.outputs.models[0].units(optimizer.y[(optimizer.g <= 0).all(1)]).max()
    bounds = {i: (None, zero(fitted)) for i, fitted in enumerate(optimizer.outputs.models) if i}
    theirs = LogConstrainedExpectedImprovement(
        ModelListGP(*models), best_f=best, objective_index=0, constraints=bounds
    )
    assert_allclose(optimizer.promise(Z), theirs(Z[:, None]).detach(), rtol=1e-6, atol=1e-8)


def test_the_query_is_as_good_as_any_on_a_grid():
    optimizer = told()
    axis = torch.linspace(0, 1, 41, dtype=torch.float64)
    promised = optimizer.promise(torch.cartesian_prod(axis, axis))
    query = optimizer.ask(1, optimizer.x[:0])
    assert query.shape == (1, 2)
    assert optimizer.promise(torch.from_numpy(query)).item() >= promised.max() - 0.01
