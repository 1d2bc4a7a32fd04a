"""Draws by Matheron's rule: their moments are the posterior's, and they are functions."""

from functools import partial

import numpy as np
import pytest
import torch
from gpytorch.kernels import RQKernel
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.processes.gp import Posterior
from algorithms.parts.processes.kernels import gamma_priors
from algorithms.parts.processes.outputs import known
from algorithms.parts.processes.pathwise import Paths, by_paths
from tests.algorithms.parts import test_gp
from tests.algorithms.parts.test_gp import MEAN, SCALE

KERNEL = {"lengthscale": [0.3, 0.9], "outputscale": SCALE, "mean": MEAN}
Z = torch.tensor(
    [[0.1, 0.2], [0.12, 0.25], [0.9, 0.1], [0.5, 0.5], [1.0, 1.0]], dtype=torch.float64
)


# the same scales and mean
MODELS = {"rbf": partial(known, KERNEL), "matern": partial(test_gp.known, 2)}


def posterior(noise=0.05, n=6, seed=0, kernel="rbf"):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(0.7 * rng.random((n, 2)))
    return Posterior.of(MODELS[kernel](noise), x, torch.from_numpy(rng.standard_normal(n)))


@pytest.mark.parametrize("kernel", MODELS)
def test_on_average_over_features_both_moments_are_exact_however_few_there_are(kernel):
    given, rng, draws = posterior(kernel=kernel), np.random.default_rng(1), 2000
    # (draws, 5)
    f = np.concatenate([by_paths(given, Z, rng, count=1, features=8) for _ in range(draws)])
    mean, covariance = given.mean(Z).numpy(), given.covariance(Z).numpy()
    assert_allclose(f.mean(0), mean, atol=4 * np.sqrt(covariance.diagonal().max() / draws))
    products = (f - mean)[:, :, None] * (f - mean)[:, None, :]  # their mean is the covariance
    error = products.std(0) / np.sqrt(draws)
    assert (np.abs(products.mean(0) - covariance) < 4 * error).all()


@pytest.mark.parametrize("kernel", MODELS)
def test_the_characteristic_function_of_the_frequencies_is_the_kernel(kernel):
    """Bochner's theorem: k(a - b) = s E cos(w'(a - b)); five standard errors of 100,000 w."""
    given = posterior(kernel=kernel)
    w = Paths.of(given, np.random.default_rng(3), count=1, features=200_000).frequencies
    a = torch.from_numpy(np.random.default_rng(4).uniform(-1, 1, (12, 2)))
    waves = SCALE * (a @ w.T).cos()
    k = given.model.covariance(a, torch.zeros((1, 2), dtype=torch.float64))[:, 0]
    assert ((waves.mean(1) - k).abs() < 5 * waves.std(1) / np.sqrt(100_000)).all()
    other = posterior(kernel="rbf" if kernel == "matern" else "matern").model
    assert (waves.mean(1) - other.covariance(a, 0 * a[:1])[:, 0]).abs().max() > 0.05


def test_without_noise_a_draw_passes_through_the_data():
    given = posterior(noise=1e-8)
    f = Paths.of(given, np.random.default_rng(0), count=3, features=200)(given.X)
    assert_allclose(f, given.y.expand(3, -1), atol=2e-3)


def test_a_draw_is_a_function():
    paths = Paths.of(posterior(), np.random.default_rng(0), count=4, features=50)
    assert_allclose(paths(Z)[:, 2:4], paths(Z[2:4]), atol=1e-12)
    assert paths(Z).shape == (4, 5)
    again = Paths.of(posterior(), np.random.default_rng(0), count=4, features=50)
    assert_array_equal(paths(Z), again(Z))


def test_a_kernel_with_other_frequencies_is_refused():
    model = gamma_priors(2)
    model.kernel.base_kernel = RQKernel().double().requires_grad_(False)
    given = Posterior.of(model, Z, torch.zeros(5, dtype=torch.float64))
    said = "expected an RBF or a Matern kernel, got RQKernel: draw by the factor instead"
    with pytest.raises(TypeError, match=said):
        Paths.of(given, np.random.default_rng(0), count=1, features=10)
