"""Both sides of a work do the same work: given the same data and parameters they say the same."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.parts.arms import ExactPosterior, GaussianTable
from algorithms.parts.processes.gp import log_evidence
from benchmarks.bench import works
from benchmarks.steps import on_arms, on_constrained
from benchmarks.steps.given import botorch_model, data, known, points, posterior, tensors
from benchmarks.steps.on_evidence import gpytorch, ours, scikit_learn


def test_moments_are_botorchs():
    X = points(6, 4)
    mean, variance = posterior(30, 4)(X)
    theirs = botorch_model(30, 4).posterior(X[:, None])
    assert_allclose(mean, theirs.mean[:, 0, 0].detach(), rtol=1e-8)
    assert_allclose(variance, theirs.variance[:, 0, 0].detach(), rtol=1e-6)
    assert mean.std() > 0.01


def test_the_evidence_and_its_slopes_are_gpytorchs_and_scikit_learns():
    size = {"n": 25, "d": 3}
    X, y = tensors(25, 3)
    model = known(3).requires_grad_()
    names = [name for name, _ in model.named_parameters()]
    slopes = dict(zip(names, ours(size)()(), strict=True))
    value, theirs = scikit_learn(size)()()
    assert_allclose(value, log_evidence(model, X, y).item(), rtol=1e-6)
    lengthscale = model.kernel.base_kernel.lengthscale.detach()[0]
    over_log = slopes["kernel.base_kernel.raw_lengthscale"][0] * lengthscale
    assert_allclose(theirs[1:4], over_log, rtol=1e-5, atol=1e-8)
    model = botorch_model(25, 3)
    names = [name for name, _ in model.named_parameters()]
    theirs = dict(zip(names, gpytorch(size)()(), strict=True))
    # per datum, over numbers whose softplus is the parameter, with the slope of a Gamma(3, 6) prior
    over_mean, over_raw = (
        25 * theirs[name]
        for name in ("mean_module.raw_constant", "covar_module.base_kernel.raw_lengthscale")
    )
    assert_allclose(over_mean, slopes["mean.raw_constant"], rtol=1e-5)
    steep = torch.sigmoid(model.covar_module.base_kernel.raw_lengthscale.detach())[0]
    over_lengthscale = over_log / lengthscale + 2 / lengthscale - 6
    assert_allclose(over_raw[0], steep * over_lengthscale, rtol=1e-5)


def test_the_posterior_of_all_arms_is_scikit_learns():
    size = {"A": 60, "u": 12}
    arms, y = on_arms.pulled(size)
    exact = ExactPosterior(GaussianTable(on_arms.table(60), on_arms.BANDWIDTH), on_arms.LAMBDA)
    exact.extend(arms, y)
    mean, deviation = on_arms.scikit_learn(size)()()
    assert_allclose(exact.mean, mean, atol=1e-8)
    assert_allclose(np.sqrt(exact.variance * on_arms.LAMBDA), deviation, rtol=1e-6)
    assert np.ptp(mean) > 0.1


def test_the_models_of_constrained_steps_are_botorchs():
    problem = on_constrained.functions(3)
    ours = on_constrained.told(problem, on_constrained.built(problem, "CEI"), 20)
    X = points(5, 3)
    means, variances = ours.joint(X)
    theirs = on_constrained.botorch_models(ours).posterior(X[:, None])
    assert_allclose(means.T, theirs.mean[:, 0].detach(), rtol=1e-6, atol=1e-8)
    assert_allclose(variances.T, theirs.variance[:, 0].detach(), rtol=1e-5)


def test_the_same_turn_does_the_same_work():
    """Whatever a turn draws, it draws again: turns can be compared."""
    problem = on_constrained.functions(3)
    told = on_constrained.told(problem, on_constrained.built(problem, "CEI"), 8)
    turn = on_constrained.asks(told)
    first, second = turn()(), turn()()
    assert np.array_equal(first, second)
    for work in works("thompson")[:1]:
        turn = work.ours({"n": 10, "d": 2, "k": 50, "q": 4})
        assert np.array_equal(turn()(), turn()())


def test_data_are_standardised_and_drawn_from_no_seed_that_is_reported():
    x, y = data(50, 4)
    assert x.shape == (50, 4) and abs(y.mean()) < 1e-12 and y.std(ddof=1) == pytest.approx(1)
    assert on_constrained.SEED >= 300
