"""Draws by Matheron's rule: their moments are the posterior's, and they are functions."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.gp import Posterior
from algorithms.parts.kernels import gamma_priors
from algorithms.parts.outputs import known
from algorithms.parts.pathwise import Paths, by_factor, by_paths

KERNEL = {"lengthscale": [0.3, 0.8], "outputscale": 1.7, "mean": 0.4}
Z = torch.tensor(
    [[0.1, 0.2], [0.12, 0.25], [0.9, 0.1], [0.5, 0.5], [1.0, 1.0]], dtype=torch.float64
)


def posterior(noise=0.05, n=6, seed=0):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(0.7 * rng.random((n, 2)))
    return Posterior.of(known(KERNEL, noise), x, torch.from_numpy(rng.standard_normal(n)))


def test_on_average_over_features_both_moments_are_exact_however_few_there_are():
    given, rng, draws = posterior(), np.random.default_rng(1), 2000
    # (draws, 5)
    f = np.concatenate([by_paths(given, Z, rng, count=1, features=8) for _ in range(draws)])
    mean, covariance = given.mean(Z).numpy(), given.covariance(Z).numpy()
    assert_allclose(f.mean(0), mean, atol=4 * np.sqrt(covariance.diagonal().max() / draws))
    products = (f - mean)[:, :, None] * (f - mean)[:, None, :]  # their mean is the covariance
    error = products.std(0) / np.sqrt(draws)
    assert (np.abs(products.mean(0) - covariance) < 4 * error).all()


def test_one_set_of_many_features_gives_the_covariance_too():
    given = posterior()
    f = by_paths(given, Z, np.random.default_rng(2), count=2000, features=2000)
    assert_allclose(np.cov(f.T), given.covariance(Z), atol=0.15)
    assert_allclose(f.mean(0), given.mean(Z), atol=0.1)


def test_without_noise_a_draw_passes_through_the_data():
    given = posterior(noise=1e-8)
    f = Paths.of(given, np.random.default_rng(0), count=3, features=200)(given.X)
    assert_allclose(f, given.y.expand(3, -1), atol=2e-3)


def test_a_draw_is_a_function():
    paths = Paths.of(posterior(), np.random.default_rng(0), count=4, features=50)
    assert_allclose(paths(Z)[:, 2:4], paths(Z[2:4]), atol=1e-12)
    assert paths(Z).shape == (4, 5)
    assert_array_equal(
        paths(Z), Paths.of(posterior(), np.random.default_rng(0), count=4, features=50)(Z)
    )


def test_by_factor_is_the_posteriors_own_way():
    given = posterior()
    ours = by_factor(given, Z, np.random.default_rng(0), count=3, features=0)
    assert_array_equal(ours, given.sample(Z, np.random.default_rng(0), count=3))


def test_a_kernel_with_other_frequencies_is_refused():
    model = gamma_priors(2)
    given = Posterior.of(model, Z, torch.zeros(5, dtype=torch.float64))
    with pytest.raises(
        TypeError, match="expected an RBF kernel, got Matern52: draw by the factor instead"
    ):
        Paths.of(given, np.random.default_rng(0), count=1, features=10)
