"""The prior that grows with the dimension: against BoTorch's own, and what it is for."""

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.utils.gpytorch_modules import (
    get_covar_module_with_dim_scaled_prior,
    get_gaussian_likelihood_with_lognormal_prior,
)
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.testing import assert_allclose

from algorithms.parts.processes.dimension_scaled import dimension_scaled
from algorithms.parts.processes.fitting import Target


def data(d, n=30):
    rng = np.random.default_rng(300 + d)
    x = rng.random((n, d))
    y = np.sin(3 * x[:, 0]) + x.sum(1) + 0.01 * rng.standard_normal(n)
    return x, (y - y.mean()) / y.std(ddof=1)


def botorch(x, y):
    d = x.shape[1]
    model = SingleTaskGP(
        torch.from_numpy(x),
        torch.from_numpy(y)[:, None],
        covar_module=get_covar_module_with_dim_scaled_prior(d, use_rbf_kernel=False),
        likelihood=get_gaussian_likelihood_with_lognormal_prior(),
        outcome_transform=None,
    )
    return model, ExactMarginalLogLikelihood(model.likelihood, model)


@pytest.mark.parametrize("d", [1, 4, 25])
@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_the_density_is_botorchs(d, factor):
    """Evidence times prior for each observation, at the first values and elsewhere."""
    x, y = data(d)
    theirs, density = botorch(x, y)
    mine = Target(dimension_scaled(d), torch.from_numpy(x), torch.from_numpy(y))
    for model in (theirs.covar_module, mine.model.kernel.base_kernel):
        model.lengthscale = model.lengthscale.detach() * factor
    theirs.likelihood.noise = theirs.likelihood.noise.detach() * factor
    mine.model.likelihood.noise = mine.model.noise.detach() * factor
    theirs.train()
    with torch.no_grad():
        expected = density(theirs(*theirs.train_inputs), theirs.train_targets).item()
    assert_allclose(-mine.loss(mine.read())[0], expected, rtol=1e-5)  # GPyTorch's priors: float32
    assert len(mine.read()) == d + 2  # length-scales, noise and mean: the outputscale is known
