"""GP-UCB on a box: its schedule, its maximum by brute force, and the fixed width as its limit."""

import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from algorithms.api import Observation
from algorithms.parts.search.exploration import Width
from tests.algorithms.grouped import builder, changed, played
from tests.settings import BOUND

TABLE = changed(BOUND, raw=64, starts=3, steps=30)

new = builder("gp_ucb_box.GPUCBBox", TABLE)


def wavy(x):
    return 10 + 3 * np.sin(6 * x[:, 0]) * np.cos(3 * x[:, 1]) - 4 * ((x - 0.4) ** 2).sum(1)


def told(optimizer, n=10, f=wavy):
    x = np.random.default_rng(n).random((n, optimizer.domain.d))
    optimizer.tell(x, Observation.of(f(x)))
    return optimizer


def test_a_constant_width_is_the_acquisition_of_that_width():
    fixed = {"surrogate": "gamma-priors", "acquisition": "ucb", "exploration": 3.0}
    fixed |= {"repetitions": "repeat", "climb": TABLE["climb"]}
    both = new(3, rule="constant", share=3.0), builder("gp_acquisition.GPAcquisition", fixed, 3)()
    ours, theirs = (played(told(optimizer), 3, wavy) for optimizer in both)
    assert_array_equal(ours.x, theirs.x)


def test_beta_counts_observations_and_all_dimensions():
    optimizer = told(new(4), n=5)
    assert optimizer.report()["beta"] == pytest.approx(0.2 * 4 * np.log(10))
    told(optimizer, n=3)
    assert optimizer.report()["beta"] == pytest.approx(0.2 * 4 * np.log(16))


def test_a_grid_too_large_to_count_is_no_obstacle():
    wide = Width("theorem", share=1.0, delta=0.1, points_per_axis=1e6)
    assert wide.beta(1, 1000) - wide.beta(1, 999) == pytest.approx(2 * math.log(1e6))


def test_the_query_is_where_eq_1_is_largest():
    optimizer = told(new(2, share=2.0), n=12)
    posterior = optimizer.fitted.posterior
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)

    def phi(x):
        mean, variance = posterior(torch.from_numpy(x))
        return (mean + np.sqrt(2.0 * 2 * np.log(24)) * variance.sqrt()).numpy()

    assert phi(optimizer.ask(1, optimizer.x[:0]))[0] >= phi(grid).max() - 1e-9
