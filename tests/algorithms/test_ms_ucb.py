"""MS-UCB: the subspaces it draws, its maximum on them by brute force, and GP-UCB as its limit."""

import copy

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.api import Observation
from algorithms.ms_ucb import drawn, first
from tests import settings
from tests.algorithms.grouped import builder, changed, played

CLIMB = {"raw": 32, "starts": 2, "steps": 20}
BOUND = changed(settings.BOUND, climb=CLIMB)
TABLE = changed(settings.SUBSPACES, climb=CLIMB, subspaces=3)

new = builder("ms_ucb.MSUCB", TABLE, d=3)


def bump(x):
    return -((x - 0.3) ** 2).sum(1) + 0.1 * np.sin(8 * x[:, 0])


def told(optimizer, n=8):
    x = np.random.default_rng(n).random((n, optimizer.domain.d))
    optimizer.tell(x, Observation.of(bump(x)))
    return optimizer


def bound(optimizer, x):
    """mean + sqrt(beta_t) sigma at x (q, d)."""
    mean, variance = optimizer.fitted.posterior(torch.from_numpy(x))
    t, d = optimizer.x.shape
    return (mean + np.sqrt(0.2 * d * np.log(2 * t)) * variance.sqrt()).numpy()


@pytest.mark.parametrize("low", [3, 7])
@pytest.mark.parametrize("subspaces", [1, 5])
def test_a_block_of_all_coordinates_is_gp_ucb(low, subspaces):
    both = new(low=low, subspaces=subspaces), builder("gp_ucb_box.GPUCBBox", BOUND, 3)()
    ours, theirs = (played(told(optimizer), 3, bump) for optimizer in both)
    assert_array_equal(ours.x, theirs.x)
    assert ours.report() == {"beta": theirs.beta, "subspaces": 0}


@pytest.mark.parametrize(("incumbent", "subspaces"), [("included", 4), ("left-out", 3)])
def test_the_query_is_the_best_of_all_subspaces(incumbent, subspaces):
    optimizer = told(new(incumbent=incumbent, raw=64, starts=4))
    twin = copy.deepcopy(optimizer.rng)
    query = optimizer.ask(1, optimizer.x[:0])
    z = twin.random((3, 3))
    if incumbent == "included":
        z = np.vstack([z, optimizer.x[np.argmax(optimizer.y)]])
    lines = np.tile(z[:, None], (1, 401, 1))
    lines[:, :, 0] = np.linspace(0, 1, 401)
    assert lines.shape == (subspaces, 401, 3)
    assert bound(optimizer, query)[0] >= bound(optimizer, lines.reshape(-1, 3)).max() - 1e-9
    assert (np.abs(z[:, 1:] - query[0, 1:]).max(1) < 1e-12).sum() == 1


def test_without_draws_worth_having_it_stays_at_the_incumbents_complement():
    """Data far along one coordinate teach that the best complement is that of the best query."""
    optimizer = new(2, low=1, subspaces=1, share=1e-6)
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5)), axis=-1).reshape(-1, 2)
    optimizer.tell(grid, Observation.of(-50 * (grid[:, 1] - 0.5) ** 2 + grid[:, 0]))
    assert_array_equal(optimizer.ask(1, optimizer.x[:0])[:, 1], [0.5])


@pytest.mark.parametrize(
    ("subspaces", "alpha", "counts"), [(3, 0, [3, 3]), (2, 0.5, [6, 7]), (0.5, 1, [5, 6])]
)
def test_the_number_of_draws_by_hand(subspaces, alpha, counts):
    optimizer = told(new(subspaces=subspaces, alpha=alpha), n=9)  # 2 sqrt 9 = 6, ceil(9/2) = 5
    seen = [optimizer.report()["subspaces"]]
    told(optimizer, n=2)  # 2 sqrt 11 = 6.63, ceil(11/2) = 6
    assert [*seen, optimizer.report()["subspaces"]] == counts


def test_blocks():
    rng = np.random.default_rng(0)
    assert_array_equal(first(rng, 6, 2), [0, 1])
    blocks = np.array([drawn(rng, 6, 2) for _ in range(600)])
    assert (blocks[:, 0] != blocks[:, 1]).all()
    # 200 expected, with standard deviation 12
    assert (np.bincount(blocks.ravel(), minlength=6) > 150).all()


def test_only_the_block_moves_away_from_a_drawn_point():
    optimizer = told(new(4, low=2, block="drawn", subspaces=1, incumbent="left-out"))
    for _ in range(5):
        twin = copy.deepcopy(optimizer.rng)
        block = drawn(twin, 4, 2)
        others = np.setdiff1d(np.arange(4), block)
        z = twin.random((1, 4))
        (query,) = optimizer.ask(1, optimizer.x[:0])
        assert_allclose(query[others], z[0, others], atol=1e-15)
