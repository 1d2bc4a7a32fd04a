"""TuRBO's bookkeeping, its candidates and its draws."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from tests.algorithms.grouped import builder, changed
from tests.algorithms.history import HISTORY, bowl, untouched
from tests.algorithms.history import answered as answered_with
from tests.algorithms.history import told as told_with
from tests.settings import TURBO

FIRST = {"lengthscale": [0.005, 2.0025, 4.0], "outputscale": [1e-3, 0.693, 1e3]}
CANDIDATES = {"per_dim": 200, "fewest": 200, "most": 5000}
TUTORIAL = changed(TURBO, **FIRST, **CANDIDATES, fewest_successes=10, patience=4)

new = builder("turbo.TuRBO", TUTORIAL)


def told(optimizer, y, x=None):
    return told_with(optimizer, y, np.empty((len(y), 0)), x)


def answered(optimizer, y):
    return answered_with(optimizer, y, np.empty((len(y), 0)))


@pytest.mark.parametrize(("y", "success"), [(5.004, False), (5.006, True)])
def test_a_success_improves_by_a_share_of_the_best(y, success):
    region = answered(told(new(), [1.0, 5.0, 2.0]), [y]).search.region
    assert (region.successes, region.failures) == (success, not success)


def test_a_spent_region_restarts_with_a_fresh_design_and_forgets():
    optimizer = told(new(length=0.01, patience=1), [1.0, 2.0])  # the second shrink is below 2^-7
    for _ in range(9):  # a spent region has been asked often enough
        if not optimizer.search.region.restarts:
            answered(optimizer, [0.0])
    assert optimizer.report() == {"length": 0.01, "restarts": 1}
    spent = len(optimizer.y)
    design = optimizer.search.design.copy()
    assert design.shape == (4, 2)
    for k in range(4):
        query = optimizer.ask(1, optimizer.x[:0])
        assert_array_equal(query, design[[k]])
        told(optimizer, [-100.0 - k], query)  # worse than anything, and yet no failure
        assert untouched(optimizer.search.region)
    assert_array_equal(optimizer.fitted.posterior.X, optimizer.x[spent:])
    centre = optimizer.x[spent]  # the best of this region, not of all
    lengthscales = optimizer.fitted.posterior.model.kernel.base_kernel.lengthscale[0].numpy()
    low, high = optimizer.search.region.bounds(centre, lengthscales)
    asked = optimizer.ask(1, optimizer.x[:0])
    assert ((asked >= low) & (asked <= high)).all()
    assert answered(optimizer, [-50.0]).search.region.successes == 1
    assert_array_equal(optimizer.recommend(), optimizer.x[[1]])


def test_a_design_is_handed_out_in_batches_and_may_be_told_in_part_whatever_else_is_told():
    optimizer = new(batch=3, restart_per_dim=4)
    told(optimizer, [1.0])
    design = np.random.default_rng(0).random((8, 2))
    optimizer.search = replace(optimizer.search, design=design.copy())
    for low, high in ((0, 3), (2, 5), (4, 7), (6, 8)):
        query = optimizer.ask(10, optimizer.x[:0])
        assert_array_equal(query, design[low:high])
        told(optimizer, bowl(HISTORY[low : low + 1]), HISTORY[low : low + 1])
        told(optimizer, bowl(query[:2]), query[:2])
    assert len(optimizer.search.design) == 0 and optimizer.ask(10, optimizer.x[:0]).shape == (3, 2)


def test_queries_lie_in_the_region_around_the_best_and_move_few_coordinates():
    x = np.random.default_rng(0).random((60, 40))
    optimizer = told(new(40, length=0.1, per_dim=5, perturbed_dims=2), bowl(x), x)
    centre = x[np.argmax(optimizer.y)]
    lengthscales = optimizer.fitted.posterior.model.kernel.base_kernel.lengthscale[0].numpy()
    low, high = optimizer.search.region.bounds(centre, lengthscales)
    moved = []
    for _ in range(20):
        (query,) = optimizer.ask(1, optimizer.x[:0])
        assert ((query >= low) & (query <= high)).all()
        moved.append((query != centre).sum())
    assert min(moved) >= 1 and 1 <= np.mean(moved) <= 5


@pytest.mark.parametrize(("draws", "share"), [("latent", 0.0), ("observed", 1.0)])
def test_draws_of_observations_are_wider_by_the_noise(draws, share):
    """Their moments, at a noise whose variance and standard deviation are a factor of ten apart."""
    x = np.random.default_rng(0).random((10, 2))
    optimizer = told(new(draws=draws, noise=[0.0099, 0.01, 0.0101]), bowl(x), x)
    posterior = optimizer.fitted.posterior
    drawn = optimizer._draws(posterior, x, count=4000)
    mean, variance = (each.numpy() for each in posterior(torch.from_numpy(x)))
    spread = np.sqrt(variance + share * 0.01)
    assert_allclose((drawn.mean(0) - mean) / spread, 0.0, atol=0.06)
    assert_allclose(drawn.std(0) / spread, 1.0, atol=0.05)


def test_a_thompson_step_costs_two_covariances_and_one_factor(work):
    x = np.random.default_rng(0).random((30, 6))
    optimizer = told(new(6, batch=20, fewest=1500), bowl(x), x)
    work.clear()
    assert len(optimizer.ask(20, x[:0])) == 20
    assert work == {"kernel": 2, "factor": 1}
