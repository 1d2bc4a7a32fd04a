"""The RBF kernel with priors: its densities by SciPy, its values, and what a fit finds."""

import numpy as np
import torch
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import gamma, multivariate_normal, norm
from sklearn.gaussian_process.kernels import RBF

from algorithms.parts.fitting import LBFGS, Adam, fit
from algorithms.parts.gp import log_evidence
from algorithms.parts.rbf import isotropic

PRIORS = {"gamma": [3.0, 3.0], "normal": [2.0, 1.0]}
X = np.random.default_rng(0).random((20, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1]


def log_density(ell, a, noise=0.01):
    """ln evidence and ln prior, by SciPy and scikit-learn."""
    evidence = multivariate_normal(np.zeros(20), a * RBF(ell)(X) + noise * np.eye(20)).logpdf(Y)
    return evidence, gamma(3.0, scale=1 / 3.0).logpdf(ell) + norm(2.0, 1.0).logpdf(a)


def test_values_are_not_rounded_to_single_precision():
    model = isotropic(lengthscale=0.1, outputscale=0.3, noise=0.01, **PRIORS)
    assert model.kernel.base_kernel.lengthscale.item() == 0.1
    assert model.kernel.outputscale.item() == 0.3
    assert model.noise.item() == 0.01


def test_evidence_and_priors_are_scipys():
    model = isotropic(lengthscale=0.7, outputscale=1.3, noise=0.01, **PRIORS)
    evidence, prior = log_density(0.7, 1.3)
    assert_allclose(
        model.covariance(torch.from_numpy(X), torch.from_numpy(X)), 1.3 * RBF(0.7)(X), rtol=1e-12
    )
    assert_allclose(
        log_evidence(model, torch.from_numpy(X), torch.from_numpy(Y)).item(), evidence, rtol=1e-10
    )
    assert_allclose(model.log_prior().item(), prior, rtol=1e-12)


def test_a_fit_moves_both_scales_to_the_maximum_and_leaves_the_noise():
    start = isotropic(lengthscale=1.0, outputscale=0.693, noise=0.01, **PRIORS)
    best = minimize(
        lambda theta: -sum(log_density(*np.exp(theta))),
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 1e-7},
    )
    for method, rtol in ((LBFGS(), 1e-3), (Adam(0.1, 300), 1e-2)):
        model = fit(
            start, torch.from_numpy(X), torch.from_numpy(Y), method, np.random.default_rng(0)
        )
        found = model.kernel.base_kernel.lengthscale.item(), model.kernel.outputscale.item()
        assert_allclose(found, np.exp(best.x), rtol=rtol)
        assert model.noise.item() == 0.01
    assert start.kernel.outputscale.item() == 0.693
