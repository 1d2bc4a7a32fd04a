"""What `divergence` says of runs that are equal, part, or end early."""

import pytest

from tests.parity.divergence import assert_parts_at, first_divergence


def test_a_run_that_ends_early_parts_where_it_ends():
    parting = first_divergence([3, 1, 2], [3, 1])
    assert parting.evaluation == 2 and "no further evaluation" in parting.said


def test_a_mistake_that_goes_unnoticed_or_shows_elsewhere_fails():
    assert_parts_at(1, [3, 1], [3, 2])
    with pytest.raises(AssertionError, match="goes unnoticed"):
        assert_parts_at(1, [3, 1], [3, 1])
    with pytest.raises(AssertionError, match="part at evaluation 1: expected 1, got 2"):
        assert_parts_at(0, [3, 1], [3, 2])
