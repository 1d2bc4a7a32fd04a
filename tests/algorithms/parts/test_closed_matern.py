"""The closed form agrees with GPyTorch's graph, which is kept for this."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.processes.dimension_scaled import dimension_scaled
from algorithms.parts.processes.gp import Posterior, noise_free
from algorithms.parts.processes.kernels import gamma_priors, scikit_optimize
from algorithms.parts.search.acquisition import EI, PI, UCB
from algorithms.parts.search.closed_matern import MaternPromise

MODELS = [gamma_priors, scikit_optimize, dimension_scaled]


def posterior(build, d, n=30):
    rng = np.random.default_rng(d)
    X = torch.from_numpy(rng.random((n, d)))
    model = build(d)
    model.kernel.base_kernel.lengthscale = torch.from_numpy(rng.uniform(0.2, 1.5, (1, d)))
    return Posterior.of(model, X, torch.from_numpy(rng.standard_normal(n)))


def by_graph(found, acquisition, aim, X, low, width):
    X = X.clone().requires_grad_()
    value = acquisition.value(*found(low + width * X), aim)
    (slopes,) = torch.autograd.grad(value.sum(), X)
    return value.detach(), slopes


@pytest.mark.parametrize("box", [(0.0, 1.0), (-5.0, 10.0)], ids=["cube", "printed box"])
@pytest.mark.parametrize(("acquisition", "aim"), [(EI, 0.8), (PI, 1.5), (UCB, 2.0)])
@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
@pytest.mark.parametrize("d", [1, 6, 20])
def test_values_and_slopes_are_those_of_the_graph(build, d, acquisition, aim, box):
    found, (low, width) = posterior(build, d), box
    X = torch.from_numpy(np.random.default_rng(7).random((12, d)))
    promise = MaternPromise(found, acquisition, aim, low=low, width=width)
    value, slopes = by_graph(found, acquisition, aim, X, low, width)
    assert_array_equal(promise(X), value)
    again, ours = promise.with_slopes(X)
    assert_array_equal(again, value)
    assert_allclose(ours, slopes, rtol=1e-9, atol=1e-9 * float(slopes.abs().max()))


@pytest.mark.parametrize(("acquisition", "aim"), [(PI, 1.5), (UCB, 2.0)])
def test_where_the_variance_is_rounding_only_the_mean_has_a_slope(acquisition, aim):
    found = noise_free(posterior(gamma_priors, 3))
    X = found.X[:4].clone()
    value, slopes = by_graph(found, acquisition, aim, X, 0.0, 1.0)
    again, ours = MaternPromise(found, acquisition, aim).with_slopes(X)
    assert_array_equal(again, value)
    assert_allclose(ours, slopes, rtol=1e-6, atol=1e-6 * float(slopes.abs().max()))


def test_another_kernel_is_refused():
    found = posterior(gamma_priors, 2)
    found.model.kernel = found.model.kernel.base_kernel
    with pytest.raises(TypeError, match="expected a ScaledMatern52, got Matern52"):
        MaternPromise(found, UCB, 1.0)
