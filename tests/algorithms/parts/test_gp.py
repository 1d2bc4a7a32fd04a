"""Evidence and posterior against scikit-learn and conditioning from scratch."""

import pickle

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from algorithms.parts.processes.gp import GRAMS, Posterior, log_evidence
from algorithms.parts.processes.kernels import bounded, gamma_priors

NOISE, SCALE, MEAN = 0.03, 1.7, 0.4


def known(d, noise=NOISE):
    model = gamma_priors(d)
    model.kernel.base_kernel.lengthscale = torch.linspace(0.3, 0.9, d, dtype=torch.float64)[None]
    model.kernel.outputscale = torch.tensor(SCALE, dtype=torch.float64)
    model.mean.constant = torch.tensor(MEAN, dtype=torch.float64)
    model.likelihood.noise_covar.raw_noise.fill_(noise)
    return model


def data(n, d, seed=0):
    draw = np.random.default_rng(seed)
    return torch.from_numpy(draw.random((n, d))), torch.from_numpy(draw.standard_normal(n))


@pytest.mark.parametrize("blocks", [(1,), (5, 1, 9), (20,)])
def test_extending_by_blocks_is_conditioning_from_scratch(blocks):
    model, (X, y), Z = known(3), data(50, 3), data(25, 3, seed=1)[0]
    n = 50 - sum(blocks)
    posterior = Posterior.of(model, X[:n], y[:n])
    for q in blocks:
        posterior, n = posterior.extend(X[n : n + q], y[n : n + q]), n + q
    scratch = Posterior.of(model, X, y)
    assert_allclose(posterior.L, scratch.L, atol=1e-10)
    for ours, expected in zip(posterior(Z), scratch(Z), strict=True):
        assert_allclose(ours, expected, atol=1e-10)
    assert_allclose(posterior.log_evidence, scratch.log_evidence, rtol=1e-10)


def test_slopes_are_those_of_central_differences():
    posterior, Z = Posterior.of(known(3), *data(30, 3)), data(6, 3, seed=1)[0]
    slopes = posterior.slopes(Z)
    for found, of in zip(slopes, (posterior.mean, posterior.variance), strict=True):
        for i, step in enumerate(1e-6 * torch.eye(3, dtype=torch.float64)):
            expected = (of(Z + step) - of(Z - step)) / 2e-6
            assert_allclose(found[:, i], expected, rtol=1e-5, atol=1e-8)


def test_draws_have_the_joint_mean_and_covariance():
    posterior, Z = Posterior.of(known(2), *data(12, 2)), data(5, 2, seed=1)[0]
    draws = posterior.sample(Z, np.random.default_rng(0), count=40_000)
    assert draws.shape == (40_000, 5)
    spread = posterior.covariance(Z).diagonal().max().item()
    # five standard errors
    assert_allclose(draws.mean(0), posterior.mean(Z), atol=5 * np.sqrt(spread / 40_000))
    assert_allclose(np.cov(draws.T), posterior.covariance(Z), atol=5 * spread * np.sqrt(2 / 40_000))
    assert_allclose(draws[:3], posterior.sample(Z, np.random.default_rng(0), count=3), atol=0)


@pytest.mark.parametrize("n", [20, 2000])
def test_rows_that_nearly_repeat_are_survived(n):
    X, y = data(n // 2, 3)
    X, y = torch.cat([X, X + 1e-10]), torch.cat([y, y])
    ranges = {"lengthscale": (0.1, 1.0, 4.0), "outputscale": (0.1, 1.0, 2.0)}
    posterior = Posterior.of(bounded(3, **ranges, noise=(0.0, 1e-12, 1.0)), X, y)
    mean, variance = posterior(X[:50])
    assert torch.isfinite(mean).all() and (variance > 0).all() and (variance < 1e-3).all()
    assert_allclose(mean, y[:50], atol=0.3)
    again = posterior.extend(X[:5], y[:5])
    assert torch.isfinite(again.mean(X[:50])).all() and np.isfinite(again.log_evidence)


def test_without_noise_the_same_model_goes_through_the_data():
    model, (X, y) = known(3), data(9, 3)
    fitted = Posterior.of(model, X, y)
    assert GRAMS["noisy"](fitted) is fitted
    exact = GRAMS["noise-free"](fitted)
    mean, variance = exact(X)
    assert_allclose(mean, y, atol=1e-8)
    assert variance.max() < 1e-8
    assert (fitted(X)[1] > 1e-3).all()
    assert (model.noise.item(), exact.model.noise.item()) == (NOISE, 0.0)
    x = torch.from_numpy(np.random.default_rng(5).random((4, 3)))
    theirs = Posterior.of(known(3, noise=0.0), X, y)
    assert_allclose(torch.stack(exact(x)), torch.stack(theirs(x)))
    longer, (more, values) = exact.extend(*data(2, 3, seed=8)), data(2, 3, seed=8)
    assert_allclose(longer(more)[0], values, atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (40, 3), (60, 20)])
def test_posterior_and_evidence_are_scikit_learns(n, d):
    model, (X, y), Z = known(d), data(n, d), data(25, d, seed=1)[0]
    lengthscale = model.kernel.base_kernel.lengthscale[0].numpy()
    kernel = ConstantKernel(SCALE) * Matern(lengthscale, nu=2.5) + WhiteKernel(NOISE)
    theirs = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
    theirs.fit(X.numpy(), y.numpy() - MEAN)
    mean, covariance = theirs.predict(Z.numpy(), return_cov=True)
    posterior = Posterior.of(model, X, y)
    covariance -= NOISE * np.eye(25)  # theirs is that of y
    assert_allclose(posterior.covariance(Z), covariance, atol=1e-8)
    for ours, variance in (posterior(Z), (posterior.mean(Z), posterior.variance(Z))):
        assert_allclose(ours, mean + MEAN, atol=1e-8)
        assert_allclose(variance, covariance.diagonal(), atol=1e-8)
    for evidence in (posterior.log_evidence, log_evidence(model, X, y).item()):
        assert_allclose(evidence, theirs.log_marginal_likelihood(), rtol=1e-9)


def test_extending_leaves_the_posterior_as_it_was():
    model, (X, y) = known(2), data(10, 2)
    posterior = Posterior.of(model, X[:8], y[:8])
    before = pickle.dumps(posterior)
    posterior.extend(X[8:], y[8:])
    assert pickle.dumps(posterior) == before


def test_draws_at_data_and_at_repeated_points_pass_through_what_is_known():
    (X, y) = data(8, 2)
    posterior = Posterior.of(known(2, noise=1e-8), X, y)
    at = torch.cat([X, X[:2], X[:2] + 1e-9])
    draws = posterior.sample(at, np.random.default_rng(0), count=20)
    # noise 1e-4, and jitter
    assert_allclose(draws, np.tile(torch.cat([y, y[:2], y[:2]]), (20, 1)), atol=1e-3)
