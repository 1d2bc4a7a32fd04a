"""The RBF kernel with priors: its densities by SciPy, its values, and what a fit finds."""

import numpy as np
import pytest
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.models import ExactGP
from gpytorch.priors import GammaPrior, NormalPrior
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import gamma, multivariate_normal, norm
from sklearn.gaussian_process.kernels import RBF

from algorithms.parts.processes.fitting import LBFGS, LOGARITHM, SOFTPLUS, Adam, fit
from algorithms.parts.processes.gp import log_evidence
from algorithms.parts.processes.rbf import isotropic

PRIORS = {"gamma": [3.0, 3.0], "normal": [2.0, 1.0]}
X = np.random.default_rng(0).random((20, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1]
DATA = torch.from_numpy(X), torch.from_numpy(Y)


def numbers(model):
    scales = model.kernel.base_kernel.lengthscale, model.kernel.outputscale
    return [number.item() for number in (*scales, model.mean(DATA[0][:1]))]


def log_density(ell, a, noise=0.01):
    """ln evidence and ln prior, by SciPy and scikit-learn."""
    evidence = multivariate_normal(np.zeros(20), a * RBF(ell)(X) + noise * np.eye(20)).logpdf(Y)
    return evidence, gamma(3.0, scale=1 / 3.0).logpdf(ell) + norm(2.0, 1.0).logpdf(a)


def test_evidence_and_priors_are_scipys():
    model = isotropic(lengthscale=0.7, outputscale=1.3, noise=0.01, **PRIORS)
    evidence, prior = log_density(0.7, 1.3)
    assert_allclose(model.covariance(DATA[0], DATA[0]), 1.3 * RBF(0.7)(X), rtol=1e-12)
    assert_allclose(log_evidence(model, *DATA).item(), evidence, rtol=1e-10)
    assert_allclose(model.log_prior().item(), prior, rtol=1e-12)


def test_a_fit_moves_both_scales_to_the_maximum_and_leaves_the_noise():
    start = isotropic(lengthscale=1.0, outputscale=0.693, noise=0.01, **PRIORS)

    def loss(theta):
        return -sum(log_density(*np.exp(theta)))

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-7})
    for method, rtol in ((LBFGS(), 1e-3), (Adam(0.1, 300), 1e-2)):
        model = fit(start, *DATA, method, np.random.default_rng(0))
        assert_allclose(numbers(model)[:2], np.exp(best.x), rtol=rtol)
        assert model.noise.item() == 0.01
    assert start.kernel.outputscale.item() == 0.693


@pytest.mark.parametrize("steps", [1, 50])
def test_a_fit_in_softplus_units_with_a_mean_is_gpytorchs_own(steps):
    """By its modules, its likelihood and PyTorch's Adam, as in the public code of jing2026lcbo."""
    x, y = DATA
    likelihood = GaussianLikelihood().double()
    likelihood.noise = 0.01
    likelihood.requires_grad_(False)
    theirs = GPyTorch(x, y, likelihood)
    mll = ExactMarginalLogLikelihood(likelihood, theirs)
    adam = torch.optim.Adam([each for each in theirs.parameters() if each.requires_grad], lr=0.1)
    for _ in range(steps):
        adam.zero_grad()
        (-mll(theirs(x), y)).backward()
        adam.step()
    kernel, mean = theirs.covar_module, theirs.mean_module.constant
    scales = kernel.base_kernel.lengthscale, kernel.outputscale
    expected = [number.item() for number in (*scales, mean)]
    start = isotropic(lengthscale=1.0, outputscale=np.log(2), noise=0.01, mean=0.0, **PRIORS)
    ours, other = (
        numbers(fit(start, x, y, Adam(0.1, steps, chart), np.random.default_rng(0)))
        for chart in (SOFTPLUS, LOGARITHM)
    )
    assert_allclose(ours, expected, rtol=1e-8)
    assert np.abs(np.array(other) - expected)[:2].min() > 1e-3
    assert abs(expected[2]) > 0.05


class GPyTorch(ExactGP):
    """A constant mean and an RBF kernel with the priors of PRIORS, all else as GPyTorch has it."""

    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = ConstantMean()
        self.covar_module = ScaleKernel(
            RBFKernel(lengthscale_prior=GammaPrior(3.0, 3.0)),
            outputscale_prior=NormalPrior(2.0, 1.0),
        )
        self.double()
        self.covar_module.base_kernel.lengthscale = 1.0

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))
