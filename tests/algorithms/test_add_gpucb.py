"""ADD-GPUCB against a brute-force search of dense posteriors, variable by variable."""

from math import log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose

from algorithms.api import Observation
from algorithms.parts.factors.additive_process import Distances, fit
from algorithms.parts.factors.decomposition import singletons
from tests.algorithms.grouped import builder, changed, played
from tests.algorithms.parts.test_additive_process import gram
from tests.settings import ADD_GPUCB

FIRST = {"outputscale": 0.693, "lengthscale": 0.693, "noise": 0.01}
PAPER = changed(ADD_GPUCB, **FIRST, grid=101, gram="noisy", steps=5, new_steps=30)
CENTRES = np.array([0.2, 0.9, 0.55, 0.0])

new = builder("add_gpucb.ADDGPUCB", PAPER, d=4)


def evaluate(x):
    """A sum over four variables of one peak each, the best of it 4."""
    return np.exp(-(((x - CENTRES) / 0.25) ** 2)).sum(1)


def told(seed=0, **changes):
    optimizer = new(seed=seed, **changes)
    x = np.random.default_rng(10 + seed).random((12, 4))
    optimizer.tell(x, Observation.of(evaluate(x)))
    return optimizer


def bounds(optimizer, beta, points, noise=None):
    """mu_j + beta^(1/2) sigma_j of every variable (d, s) by dense conditioning on the sum."""
    kernel, X = optimizer.solved.kernel, optimizer.x
    y = (optimizer.y - optimizer.y.mean()) / optimizer.y.std(ddof=1)
    K = gram(singletons(4), kernel, X, X).sum(0)
    K += (kernel.noise if noise is None else noise) * np.eye(len(X))
    k = gram(singletons(4), kernel, X, points.T)  # (d, n, s)
    variance = kernel.outputscale[:, None] - (k * np.linalg.solve(K, k)).sum(1)
    return np.linalg.solve(K, y) @ k + sqrt(beta) * np.sqrt(variance)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("dims", "beta"), [("factor", 0.2 * log(2 * 12)), ("domain", 0.2 * 4 * log(2 * 12))]
)
def test_the_query_is_the_best_of_a_fine_grid_for_each_variable(seed, dims, beta):
    optimizer = told(seed=seed, beta_dims=dims)
    query = optimizer.ask(1, optimizer.x[:0])
    assert query.shape == (1, 4)
    grid = np.linspace(0, 1, 5001)
    fine = bounds(optimizer, beta, np.tile(grid, (4, 1)))
    assert (bounds(optimizer, beta, query.T)[:, 0] > fine.max(1) - 1e-5).all()
    assert_allclose(query[0], grid[fine.argmax(1)], atol=4e-4)  # steps of 1/5000 in both


def test_without_noise_in_the_gram_matrix_the_bounds_are_those_of_no_noise():
    """Whatever noise was fitted, which the report goes on to show."""
    optimizer = told(gram="noise-free", least_noise=0.05)
    query = optimizer.ask(1, optimizer.x[:0])
    assert optimizer.report()["noise"] > 0.05
    grid = np.tile(np.linspace(0, 1, 2001), (4, 1))
    fine = bounds(optimizer, 0.2 * log(24), grid, noise=1e-12)
    assert (bounds(optimizer, 0.2 * log(24), query.T, noise=1e-12)[:, 0] > fine.max(1) - 1e-4).all()
    assert np.abs(query - told(least_noise=0.05).ask(1, optimizer.x[:0])).max() > 1e-3


def test_scales_are_fitted_first_from_the_first_values_and_then_from_the_last():
    optimizer = told()
    settings = {"least_noise": 1e-4, "rate": 0.1}

    def fitted(kernel, steps):
        y = (optimizer.y - optimizer.y.mean()) / optimizer.y.std(ddof=1)
        places = Distances(optimizer.x)
        return fit(places, optimizer.factors, y, kernel, steps=steps, **settings)

    first = fitted(optimizer.fits.first(optimizer.factors), 30)
    assert_allclose(optimizer.solved.alpha, first.alpha)
    played(optimizer, 1, evaluate)
    then = fitted(first.kernel, 5)
    assert_allclose(optimizer.solved.alpha, then.alpha)
    assert optimizer.report() == {"noise": then.kernel.noise, "log_evidence": then.log_evidence}
