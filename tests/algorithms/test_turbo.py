"""TuRBO's bookkeeping, its candidates and its draws."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest

import algorithms
from algorithms.api import Box, Observation
from algorithms.parts.numerics.feasibility import distinct_best
from tests.algorithms.grouped import changed
from tests.algorithms.history import untouched

TUTORIAL = {
    "batch": 1,
    "region": {
        "length": 0.8,
        "longest": 1.6,
        "shortest": 0.5**7,
        "fewest_successes": 10,
        "dims_per_success": inf,
        "patience": 4,
        "improvement": 1e-3,
    },
    "candidates": {
        "per_dim": 200,
        "fewest": 200,
        "most": 5000,
        "perturbed_dims": 20,
    },
    "draws": "latent",
    "restart_per_dim": 2,
    "surrogate": {
        "standard": "sample",
        "lengthscale": [0.005, 2.0025, 4.0],
        "outputscale": [1e-3, 0.693, 1e3],
        "noise": [1e-8, 5e-4, 1e-3],
    },
    "fit": {"method": "l-bfgs", "steps": 50, "rate": 0.0},
}


def new(d=2, seed=0, **changes):
    settings = changed(TUTORIAL, **changes)
    return algorithms.build("turbo.TuRBO", Box(d), np.random.default_rng(seed), settings)


def told(optimizer, y, x=None):
    y = np.array(y, dtype=float)
    x = (
        np.random.default_rng(len(optimizer.y)).random((len(y), optimizer.domain.d))
        if x is None
        else x
    )
    optimizer.tell(x, Observation.of(y))
    return optimizer


def answered(optimizer, y, x=None):
    """What was asked for shows y; without x the points are those near the centre that it might have
    asked for."""
    query = optimizer.ask(len(y), optimizer.x[:0])
    if x is None:
        x = np.repeat(query[:1], len(y), axis=0)
    return told(optimizer, y, x)


def bowl(x):
    return -((x - 0.3) ** 2).sum(1)


def test_the_initial_design_is_no_success_and_no_failure():
    optimizer = told(new(), [1.0, 5.0, 2.0])
    assert untouched(optimizer.search.region)


@pytest.mark.parametrize(
    ("y", "successes", "failures"),
    [
        ([6.0], 1, 0),
        ([5.0], 0, 1),
        ([5.004], 0, 1),
        ([5.006], 1, 0),
        ([1.0, 9.0], 1, 0),
        ([1.0, 2.0], 0, 1),
    ],
)
def test_a_batch_counts_once_and_must_improve_by_a_share_of_the_best(y, successes, failures):
    region = answered(told(new(), [1.0, 5.0, 2.0]), y).search.region
    assert (region.successes, region.failures) == (successes, failures)


HISTORY = np.random.default_rng(9).random((40, 2))


def assert_same(one, other):
    """All that the next query depends on, and the query."""
    assert one.search.region == other.search.region
    for mine, theirs in (
        (one.x, other.x),
        (one.y, other.y),
        (one.search.design, other.search.design),
    ):
        assert_array_equal(mine, theirs)
    if one.fitted is not None:
        assert_array_equal(one.fitted.posterior.alpha, other.fitted.posterior.alpha)
    assert one.rng.bit_generator.state == other.rng.bit_generator.state
    assert_array_equal(one.ask(1, one.x[:0]), other.ask(1, other.x[:0]))


def test_history_told_point_by_point_is_that_of_one_block():
    together, apart = told(new(), bowl(HISTORY), HISTORY), new()
    for x in HISTORY:
        told(apart, bowl(x[None]), x[None])
    assert apart.report() == {"length": 0.8, "restarts": 0}
    assert untouched(apart.search.region)
    assert_same(together, apart)


def test_what_was_not_asked_for_between_two_rounds_is_history():
    together, apart = (told(new(), [1.0, 5.0, 2.0]) for _ in range(2))
    for optimizer in (together, apart):
        answered(optimizer, [4.0])
        assert optimizer.search.region.failures == 1
    told(together, bowl(HISTORY), HISTORY)
    for x in HISTORY:
        told(apart, bowl(x[None]), x[None])
    assert together.search.region.failures == 1
    assert_same(together, apart)


def test_what_lies_outside_the_region_is_no_answer():
    optimizer = told(new(length=0.1), [1.0, 5.0, 2.0])
    centre = optimizer.x[1]
    far = HISTORY[np.abs(HISTORY - centre).max(1) > 0.4]
    assert len(far) > 5
    optimizer.ask(1, optimizer.x[:0])
    for x in far:  # an answer is still to come
        told(optimizer, [9.0], x[None])
    assert untouched(optimizer.search.region)


@pytest.mark.parametrize("y", [[0.0, 9.0, 1.0], [0.0, 2.0, 1.0], [9.0, 0.0, 1.0]])
def test_a_batch_told_in_parts_counts_once(y):
    together, apart = (told(new(batch=3, patience=9), [1.0, 5.0, 2.0]) for _ in range(2))
    query = together.ask(3, together.x[:0])
    assert_array_equal(apart.ask(3, apart.x[:0]), query)
    told(together, y, query)
    for value, x in zip(y, query, strict=True):
        told(apart, [value], x[None])
    success = max(y) > 5
    assert (apart.search.region.successes, apart.search.region.failures) == (
        success,
        not success,
    )
    assert_same(together, apart)


def test_a_restart_hands_out_its_design_whatever_else_is_told():
    optimizer = told(new(length=0.01, patience=1), [1.0, 2.0])
    for _ in range(9):
        if not optimizer.search.region.restarts:
            answered(optimizer, [0.0])
    design = optimizer.search.design.copy()
    told(optimizer, bowl(HISTORY[:3]), HISTORY[:3])
    assert_array_equal(optimizer.search.design, design)
    told(optimizer, bowl(design[1:2]), design[1:2])
    assert_array_equal(optimizer.search.design, np.delete(design, 1, axis=0))


def test_the_share_is_of_the_magnitude_where_the_best_is_negative():
    assert answered(told(new(), [-5.0]), [-4.996]).search.region.failures == 1
    assert answered(told(new(), [-5.0]), [-4.994]).search.region.successes == 1


@pytest.mark.parametrize(
    ("d", "batch", "tolerance"), [(2, 1, 4), (20, 1, 20), (20, 3, 7), (2, 8, 1), (100, 50, 2)]
)
def test_patience_grows_with_the_dimension_and_shrinks_with_the_batch(d, batch, tolerance):
    assert new(d, batch=batch).search.region.failure_tolerance == tolerance


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


def test_a_design_is_handed_out_in_batches_and_may_be_told_in_part():
    optimizer = new(batch=3, restart_per_dim=4)
    told(optimizer, [1.0])
    design = np.random.default_rng(0).random((8, 2))
    optimizer.search = replace(optimizer.search, design=design.copy())
    for low, high in ((0, 3), (2, 5), (4, 7), (6, 8)):
        query = optimizer.ask(10, optimizer.x[:0])
        assert_array_equal(query, design[low:high])
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


def test_a_batch_has_distinct_points():
    x = np.random.default_rng(0).random((10, 2))
    queries = told(new(batch=20), bowl(x), x).ask(20, x[:0])
    assert queries.shape == (20, 2) and len(np.unique(queries, axis=0)) == 20


def test_draws_follow_the_posterior():
    """Where two far points are the only candidates, the better one is picked as often as it is the
    better one.
    """
    x = np.array([[0.1], [0.5], [0.9]])
    optimizer = told(new(1, per_dim=1, fewest=2, most=2), [0.0, 1.0, 0.1], x)
    posterior = optimizer.fitted.posterior
    Z = torch.tensor([[0.3], [0.65]], dtype=torch.float64)
    draws = posterior.sample(Z, np.random.default_rng(1), count=4000)
    first = (distinct_best(draws[k : k + 1])[0] == 0 for k in range(4000))
    (a, b), K = posterior.mean(Z).numpy(), posterior.covariance(Z).numpy()
    from_normal = (
        0.5
        * (
            1 + torch.erf(torch.tensor((a - b) / np.sqrt(2 * (K[0, 0] + K[1, 1] - 2 * K[0, 1]))))
        ).item()
    )
    assert_allclose(np.mean(list(first)), from_normal, atol=0.03)


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("draws", "latent or observed"),
        ("standard", "population or sample or median"),
        ("method", "l-bfgs or adam"),
    ],
)
def test_names_without_a_meaning_are_refused(name, message):
    with pytest.raises(ValueError, match=f"{name}: expected {message}, got 'none'"):
        new(**{name: "none"})


@pytest.mark.slow
def test_it_is_better_than_random_search_in_most_seeds():
    wins = 0
    for seed in range(8):
        x = np.random.default_rng(seed).random((8, 6))
        optimizer = told(new(6, seed, fewest_successes=3), bowl(x), x)
        for _ in range(22):
            query = optimizer.ask(1, optimizer.x[:0])
            told(optimizer, bowl(query), query)
        wins += optimizer.y.max() > bowl(np.random.default_rng(100 + seed).random((30, 6))).max()
    assert binomtest(wins, 8, alternative="greater").pvalue < 0.05, f"better in {wins} of 8 seeds"


def test_a_thompson_step_costs_two_covariances_and_one_factor(work):
    x = np.random.default_rng(0).random((30, 6))
    optimizer = told(new(6, batch=20, fewest=1500), bowl(x), x)
    work.clear()
    assert len(optimizer.ask(20, x[:0])) == 20
    assert work == {"kernel": 2, "factor": 1}
