"""The RBF kernel with priors: a fit is GPyTorch's own."""

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

from algorithms.parts.processes.fitting import LOGARITHM, SOFTPLUS, Adam, fit
from algorithms.parts.processes.rbf import isotropic

PRIORS = {"gamma": [3.0, 3.0], "normal": [2.0, 1.0]}
X = np.random.default_rng(0).random((20, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1]
DATA = torch.from_numpy(X), torch.from_numpy(Y)


def numbers(model):
    scales = model.kernel.base_kernel.lengthscale, model.kernel.outputscale
    return [number.item() for number in (*scales, model.mean(DATA[0][:1]))]


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
