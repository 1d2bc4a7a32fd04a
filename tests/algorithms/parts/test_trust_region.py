"""The counting rules of trust regions, and candidates that keep most of the centre."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.search.trust_region import (
    RegionSettings,
    TrustRegion,
    Turn,
    lacking,
    perturbed,
    scattered,
)

SIZES = {"length": 0.8, "longest": 1.6, "shortest": 0.1, "improvement": 0.01}
SETTINGS = RegionSettings(**SIZES, fewest_successes=3, dims_per_success=10, patience=2)


def region(length=0.8):
    """It grows after three successes and shrinks after two failures."""
    return TrustRegion.of(replace(SETTINGS, length=length), 2, 1)


def after(found, outcomes):
    for outcome in outcomes:
        found = found.after(outcome == "+")
    return found


LENGTHS = {"": 0.8, "++": 0.8, "+++": 1.6, "++++++": 1.6, "-": 0.8, "--": 0.4, "----": 0.2}
LENGTHS |= {"-+-+-": 0.8, "++-++": 0.8, "--+++": 0.8, "+++--": 0.8}


@pytest.mark.parametrize(("outcomes", "length"), LENGTHS.items())
def test_successes_and_failures_in_a_row_count(outcomes, length):
    assert after(region(), outcomes).length == length


def test_counts_start_anew_when_the_length_changes_and_values_never_do():
    first = region()
    grown = after(first, "+++")
    assert (grown.successes, grown.failures) == (0, 0)
    assert (first.length, first.successes) == (0.8, 0)
    assert after(first, "+").successes == 1 and after(first, "+-").successes == 0


def test_bounds_follow_the_length_scales_at_constant_volume_and_end_at_the_faces():
    low, high = region(0.1).bounds(np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.4, 0.8]))
    assert_allclose(high - low, [0.05, 0.1, 0.2])
    assert_allclose((low + high) / 2, 0.5)
    equal = region(0.1).bounds(np.array([0.5, 0.5]), np.array([7.0, 7.0]))
    assert_allclose(equal, [[0.45, 0.45], [0.55, 0.55]])
    low, high = region(0.8).bounds(np.array([0.1, 1.0]), np.ones(2))
    assert_allclose([low, high], [[0.0, 0.6], [0.5, 1.0]])


@pytest.mark.parametrize(
    ("d", "batch", "successes", "failures"),
    [(4, 1, 3, 4), (4, 2, 3, 2), (45, 1, 5, 45), (2, 4, 3, 1), (1, 1, 3, 2)],
)
def test_tolerances_depend_on_dimension_and_batch(d, batch, successes, failures):
    first = TrustRegion.of(SETTINGS, d, batch)
    assert first.length == 0.8
    assert (first.success_tolerance, first.failure_tolerance) == (successes, failures)
    without = replace(SETTINGS, dims_per_success=inf)
    assert TrustRegion.of(without, d, batch).success_tolerance == 3


@pytest.mark.parametrize(
    ("value", "best", "improves"),
    [(5.05, 5.0, False), (5.06, 5.0, True), (-4.96, -5.0, False), (-4.94, -5.0, True)],
)
def test_a_success_gains_a_share_of_the_magnitude_of_the_best(value, best, improves):
    assert SETTINGS.improves(value, best) is improves


def test_below_its_shortest_length_a_spent_region_starts_again_at_its_first_and_counts_it():
    first = TrustRegion.of(SETTINGS, 2, 1)
    found, lengths = first, []
    for success in [True, *[False] * 8]:
        found = found.after(success)
        lengths.append(found.length)
    # the fourth halving is below 0.1
    assert lengths == [0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.1, 0.1, 0.8]
    assert found == replace(first, restarts=1)
    assert found.report() == {"length": 0.8, "restarts": 1}


def test_scattered_points_fill_a_box_evenly():
    low, high = np.array([0.2, 0.5]), np.array([0.4, 1.0])
    points = scattered(np.random.default_rng(0), (low, high), 64)
    assert points.shape == (64, 2)
    cells = np.floor((points - low) / (high - low) * 8).astype(int)
    assert len(np.unique(cells, axis=0)) == 64  # a net: one point in each of 8 x 8 cells


def test_candidates_differ_from_the_centre_in_some_coordinates_and_in_one_at_least():
    rng, centre = np.random.default_rng(0), np.full(10, 2.0)
    others = rng.random((4000, 10))
    points = perturbed(rng, centre, others, 0.3)
    moved = points != centre
    assert_array_equal(points[moved], others[moved])
    assert moved.any(1).all()
    assert_allclose(moved.mean(), 0.3 + 0.7**10 / 10, atol=0.01)
    assert_array_equal(perturbed(rng, centre, others, 1.0), others)


def test_the_forced_coordinate_may_be_any():
    moved = perturbed(np.random.default_rng(0), np.full(5, 2.0), np.zeros((1000, 5)), 0.0) == 0
    assert_array_equal(moved.sum(1), 1)
    assert moved.sum(0).min() > 150


def test_only_points_of_the_region_answer_and_a_design_lacks_what_was_not_told():
    turn = Turn(region(), np.full(2, 0.25), np.full(2, 0.75), 7)
    query = np.array([[0.5, 0.8], [0.25, 0.75], [0.2, 0.5], [0.5, 0.75 + 1e-13]])
    assert_array_equal(turn.told(query, 9).answers, [10, 12])
    assert_array_equal(turn.told(query, 9).told(query[1:2], 20).answers, [10, 12, 20])
    assert_array_equal(lacking(query, query[[2, 0]]), query[[1, 3]])
    assert_array_equal(lacking(query, query[:0]), query)
