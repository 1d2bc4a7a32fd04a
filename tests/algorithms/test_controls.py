"""The controls without a model: a mean of uniform points, and the best point again and again."""

import numpy as np
from numpy.testing import assert_array_equal

from algorithms.api import Box, Observation
from algorithms.average_of_k import AverageOfK
from algorithms.best_observed import BestObserved
from algorithms.random_search import RandomSearch


def asked(optimizer, n):
    return np.concatenate([optimizer.ask(1, optimizer.x[:0]) for _ in range(n)])


def test_an_average_of_one_is_random_search():
    ours = AverageOfK(Box(5), np.random.default_rng(3), k=1)
    theirs = RandomSearch(Box(5), np.random.default_rng(3))
    assert_array_equal(asked(ours, 20), asked(theirs, 20))


def test_a_query_is_the_mean_of_the_next_k_points_whatever_was_seen():
    optimizer = AverageOfK(Box(3), np.random.default_rng(1), k=4)
    optimizer.tell(np.zeros((2, 3)), Observation.of(np.array([1.0, 2.0])))
    expected = np.random.default_rng(1).random((4, 3)).mean(axis=0)
    assert_array_equal(optimizer.ask(7, optimizer.x), expected[None])


def test_whoever_stays_asks_for_the_best_observed_point_again():
    stays = BestObserved(Box(2), np.random.default_rng(0))
    assert stays.ask(1, stays.x).shape == (1, 2)
    points = np.random.default_rng(1).random((4, 2))
    stays.tell(points, Observation.of(np.array([0.0, 3.0, 1.0, 2.0])))
    for _ in range(3):  # also where noise makes a repetition worse
        query = stays.ask(1, stays.x)
        assert_array_equal(query, points[[1]])
        stays.tell(query, Observation.of(np.array([2.5])))
