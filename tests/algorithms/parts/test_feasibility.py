"""Violations, the best of several observations, and batches of distinct candidates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.numerics.feasibility import best, distinct_best, violation


def test_only_what_is_positive_violates():
    assert_allclose(violation(np.array([[-3.0, 0.5], [0.25, 0.5], [0.0, -1.0]])), [0.5, 0.75, 0.0])
    assert_array_equal(violation(np.empty((4, 0))), 0.0)
    assert_allclose(violation(np.array([[[1.0, -2.0], [3.0, 4.0]]])), [[1.0, 7.0]])


@pytest.mark.parametrize(
    ("y", "g", "row"),
    [
        ([1.0, 9.0, 2.0], [[-1.0, 0.0], [0.1, -5.0], [0.0, 0.0]], 2),  # 9 is not feasible
        ([1.0, 9.0, 2.0], [[0.3, 0.3], [0.1, 0.4], [2.0, -9.0]], 1),  # none is
        # nor here: y decides among equals
        ([1.0, 9.0, 2.0], [[0.5, 0.0], [0.0, 0.5], [0.5, -9.0]], 1),
        ([1.0, 9.0, 2.0], [[], [], []], 1),
        ([1.0, 9.0], [[-1.0, -1.0], [-1.0, 0.0]], 1),  # 0 violates nothing
    ],
)
def test_the_best_is_feasible_and_else_violates_least(y, g, row):
    assert best(np.array(y), np.array(g)) == row


def test_a_batch_is_no_larger_than_its_candidates():
    assert_array_equal(distinct_best(np.zeros((5, 2))), [0, 1])
