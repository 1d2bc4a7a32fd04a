"""Designs in the unit cube: their spread, and that they come from the caller's generator alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import qmc

from algorithms.parts.numerics.sampling import (
    REPETITIONS,
    latin_hypercube,
    position,
    sobol,
    uniform,
)
from tests.algorithms.grouped import rng


@pytest.mark.parametrize("design", [uniform, sobol, latin_hypercube])
@pytest.mark.parametrize(("n", "d"), [(0, 2), (1, 1), (7, 3), (64, 20)])
def test_n_points_inside_the_cube_and_the_same_ones_from_the_same_generator(design, n, d):
    points, generator = design(rng(), n, d), rng()
    assert points.shape == (n, d) and points.dtype == np.float64
    assert ((points >= 0) & (points <= 1)).all()
    assert_array_equal(design(generator, n, d), points)
    if n > 0:
        assert not np.array_equal(design(generator, n, d), points)  # the generator has moved
        assert not np.array_equal(design(rng(1), n, d), points)


def test_a_latin_hypercube_has_one_point_in_every_slice():
    points = latin_hypercube(rng(), 13, 5)
    assert_array_equal(np.sort(np.floor(13 * points), axis=0), np.tile(np.arange(13.0)[:, None], 5))
    # columns are shuffled apart
    assert len({tuple(np.argsort(column)) for column in points.T}) == 5


def test_a_sobol_design_is_more_even_than_a_uniform_one():
    spread = [
        qmc.discrepancy(sobol(rng(seed), 64, 4)) / qmc.discrepancy(uniform(rng(seed), 64, 4))
        for seed in range(5)
    ]
    assert max(spread) < 0.5


def test_a_point_that_was_seen_is_replaced_if_so_wished():
    seen, new = np.array([[0.2, 0.4], [1.0, 0.0]]), np.array([0.2, 0.4 + 1e-7])
    again = seen[1] + 1e-9
    for rule in REPETITIONS.values():
        assert_array_equal(rule(rng(), new, seen), new)
    assert_array_equal(REPETITIONS["repeat"](rng(), again, seen), again)
    assert_array_equal(REPETITIONS["replace"](rng(), again, seen), rng().random(2))


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_a_generator_stands_elsewhere_after_any_draw(kind):
    generator = np.random.Generator(kind(0))
    seen = [position(generator)]
    assert position(generator) == seen[0]
    for _ in range(3):
        generator.random()
        seen.append(position(generator))
    generator.integers(2**31, dtype=np.int32)  # half of a word
    assert len({*seen, position(generator)}) == 5
