"""What `divergence` says of runs that are equal, part, or end early."""

import numpy as np
import pytest

from tests.parity.divergence import assert_parts_at, assert_same_run, first_divergence


def test_the_first_other_query_is_named() -> None:
    parting = first_divergence([3, 1, 2, 5], [3, 1, 4, 6])
    assert parting is not None
    assert (parting.evaluation, parting.expected, parting.got) == (2, 2, 4)
    with pytest.raises(AssertionError, match="part at evaluation 2: expected 2, got 4"):
        assert_same_run([3, 1, 2, 5], [3, 1, 4, 6])


def test_one_coordinate_is_enough_and_the_tolerance_is_held() -> None:
    points = np.zeros((3, 2))
    other = points.copy()
    other[1, 1] = 1e-7
    assert first_divergence(points, other, tolerance=1e-6) is None
    parting = first_divergence(points, other, tolerance=1e-8)
    assert parting is not None and parting.evaluation == 1


def test_a_run_that_ends_early_parts_where_it_ends() -> None:
    parting = first_divergence([3, 1, 2], [3, 1])
    assert parting is not None and parting.evaluation == 2 and parting.got is None
    assert "no further evaluation" in str(parting)


def test_a_mistake_that_goes_unnoticed_or_shows_elsewhere_fails() -> None:
    assert_parts_at(1, [3, 1], [3, 2])
    with pytest.raises(AssertionError, match="goes unnoticed"):
        assert_parts_at(1, [3, 1], [3, 1])
    with pytest.raises(AssertionError, match="part at evaluation 1: expected 1, got 2"):
        assert_parts_at(0, [3, 1], [3, 2])
