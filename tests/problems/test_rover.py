"""The rover: values of others, FITPACK as its authors call it, obstacles, points that coincide."""

import itertools
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import splev, splprep

from problems import rover
from tests.problems import asked
from tests.problems.asked import rng

OPTIONS = asked.PROBLEMS["rover.trajectory_planning"]
READINGS = [
    {"domain": domain, "ends": ends, "smoothing": smoothing}
    for domain, ends, smoothing in itertools.product(rover.BOUNDS, rover.ENDS, rover.SMOOTHING)
]
LINE = np.linspace(rover.START, rover.GOAL, 30).ravel()


problem = partial(asked.problem, "rover.trajectory_planning")


def costs(query, **changes):
    return rover.costs(np.atleast_2d(query), **{**OPTIONS, **changes})


def obvious(query, domain, ends, smoothing):
    """c and misses of one query (60,) as paper and source say, obstacle by obstacle, no array."""
    low, high = rover.BOUNDS[domain]
    points = (low + (high - low) * query).reshape(30, 2)
    tck, _ = splprep(points.T, k=3, **({} if smoothing == "default" else {"s": 0}))
    curve = np.array(splev(np.linspace(0, 1, 1000), tck)).T
    density = [0.05 + (20.0 if inside(x, y) else 0.0) for x, y in curve]
    lengths = [np.hypot(*(b - a)) for a, b in itertools.pairwise(curve)]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(density)]
    c = np.dot(lengths, middles)
    first, last = (points if ends == "control-points" else curve)[[0, -1]]
    return c, 10 * (np.abs(first - 0.05).sum() + np.abs(last - 0.95).sum())


def inside(x, y):
    if not (0 <= x < 1 and 0 <= y < 1):
        return True
    r = 0.025
    return any(a - r <= x < a + r and b - r <= y < b + r for a, b in rover.OBSTACLES)


# values


@pytest.mark.parametrize(
    ("query", "cost", "misses"),
    [  # the misses of the curve's ends
        (LINE, 7.5041866412, 0.0),
        (np.arange(60) / 60, 7.9642614097, 4 / 3),
        (rng(0).random(60), 4.7370192418, 20.3562884173),
        (rng(1).random(60), 1.8621587355, 16.3944165052),
    ],
)
def test_values_that_were_computed_elsewhere(query, cost, misses):
    c, missed = costs(query, ends="curve")
    y = problem(ends="curve").evaluate(query[None], rng()).true.y
    found, expected = [c[0], missed[0], y[0]], [cost, misses, -(cost + misses)]
    assert_allclose(found, expected, rtol=0, atol=1e-9)
    c, missed = costs(query)
    of_points = 10 * (np.abs(query[:2] - 0.05).sum() + np.abs(query[-2:] - 0.95).sum())
    assert_allclose(c, [cost], rtol=0, atol=1e-9)
    assert_allclose(missed, [of_points], rtol=0, atol=1e-12)


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: "-".join(reading.values()))
def test_it_agrees_with_the_obvious_way(reading):
    query = rng(2).random((4, 60))
    expected = np.array([obvious(one, **reading) for one in query]).T
    assert_allclose(costs(query, **reading), expected, rtol=1e-10)


def test_a_query_runs_through_the_bounds_in_proportion():
    ramp = np.linspace(0, 1, 60)
    assert_array_equal(rover.control_points(ramp, domain="unit"), ramp.reshape(30, 2))
    extended = rover.control_points(np.stack([ramp, ramp]), domain="extended")
    assert extended.shape == (2, 30, 2)
    ends = [[-0.1, -0.1 + 1.2 / 59], [1.1 - 1.2 / 59, 1.1]]
    assert_allclose(extended[1, [0, -1]], ends, rtol=1e-12)


# the terrain


def test_the_table_of_obstacles():
    assert np.shape(rover.OBSTACLES) == (113, 2)
    assert_allclose(np.sum(rover.OBSTACLES, axis=0), [58.27343129, 62.33342727], rtol=0, atol=1e-8)
    assert len(set(rover.OBSTACLES)) == 113
    assert not rover.blocked(np.array([rover.START, rover.GOAL])).any()


def test_obstacles_are_closed_below_and_open_above():
    """All edges, floats next to them and middles between them, against every obstacle in turn."""
    centres = np.array(rover.OBSTACLES)
    low, high = centres - 0.025, centres + 0.025
    below = np.nextafter(high, 0)  # the last floats that are blocked
    a, b = centres.T
    for closed in (low, centres, np.c_[below[:, 0], b], np.c_[a, below[:, 1]]):
        assert rover.blocked(closed).all()
    corners = [high, low, np.nextafter(low, -1), rng(8).uniform(-0.2, 1.2, (1500, 2))]
    corners = np.concatenate(corners)
    mixed = np.column_stack([corners[:, 0], rng(9).permutation(corners[:, 1])])
    square = [[0, 0], [0, 0.5], [1, 0.5], [0.5, 1], [np.nextafter(1, 0), 0.5], [-1e-12, 0.5]]
    where = np.concatenate([corners, mixed, square])
    blocked = rover.blocked(where)
    assert_array_equal(blocked, [inside(x, y) for x, y in where])
    backwards = rover.blocked(where.reshape(-1, 4, 2)[:, ::-1])
    assert_array_equal(backwards, blocked.reshape(-1, 4)[:, ::-1])


# control points that coincide


@pytest.mark.parametrize("smoothing", ["default", "none"])
@pytest.mark.parametrize("ends", ["control-points", "curve"])
@pytest.mark.parametrize(
    ("place", "missed"), [((0.05, 0.05), 18), ((0.5, 0.25), 18), ((1.0, 1.0), 20), ((0.0, 0.5), 19)]
)
def test_a_rover_that_stays_pays_for_what_it_misses(smoothing, ends, place, missed):
    cost, misses = costs(np.tile(place, 30), smoothing=smoothing, ends=ends)
    assert_array_equal(cost, [0])
    assert_allclose(misses, [missed], rtol=1e-12)  # the same wherever it is between start and goal
    curve = rover.trajectory(np.tile(place, 30), domain="unit", smoothing=smoothing)
    assert_array_equal(curve, np.tile(place, (1000, 1)))


@pytest.mark.parametrize("smoothing", ["default", "none"])
@pytest.mark.parametrize("split", [1, 15, 29])
def test_two_places_are_joined_by_a_straight_line(smoothing, split):
    query = np.concatenate([np.tile(rover.START, split), np.tile(rover.GOAL, 30 - split)])
    curve = rover.trajectory(query, domain="unit", smoothing=smoothing)
    assert_allclose(curve, np.linspace(rover.START, rover.GOAL, 1000), rtol=0, atol=1e-12)
    cost, misses = costs(query, smoothing=smoothing, ends="curve")
    assert_allclose(cost, costs(LINE)[0], atol=0.03)  # a step may fall on an edge
    assert_allclose(misses, [0], atol=1e-10)


@pytest.mark.parametrize("smoothing", ["default", "none"])
def test_three_places_are_joined_by_a_parabola(smoothing):
    places = np.array([[0.1, 0.1], [0.4, 0.5], [0.9, 0.5]])  # 0.5 apart, both times
    query = places[np.repeat([0, 1, 2], [4, 20, 6])].ravel()
    u = np.linspace(0, 1, 1000)[:, None]
    weights = np.hstack([(2 * u - 1) * (u - 1), 4 * u * (1 - u), u * (2 * u - 1)])
    found = rover.trajectory(query, domain="unit", smoothing=smoothing)
    assert_allclose(found, weights @ places, rtol=0, atol=1e-12)


@pytest.mark.parametrize("smoothing", ["default", "none"])
def test_every_design_on_a_coarse_grid_has_a_value(smoothing):
    """Corners and a few places, in runs, as an optimizer that clips proposes; no warning either."""
    query = [rng(12).integers(0, 2, (60, 60)), rng(13).integers(0, 3, (60, 60)) / 2]
    query += [np.repeat(rng(14).integers(0, 2, (60, 6, 2)), 5, axis=1).reshape(60, 60)]
    query += [np.zeros((1, 60)), np.ones((1, 60))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        total = np.sum(costs(np.vstack(query), smoothing=smoothing, ends="curve"), axis=0)
    assert np.isfinite(total).all()
    assert total.min() >= 0.05 * 0.9 * np.sqrt(2)


def test_the_default_smoothing_leaves_one_cubic_by_least_squares():
    """No design is too spread out for that: not even corners, a quarter of the points at each."""
    corners = np.array([[0, 0], [1, 1], [0, 1], [1, 0]] * 8)[:30].ravel()
    for query in (rng(3).random(60), corners.astype(float)):
        for domain in rover.BOUNDS:
            points = rover.control_points(query, domain=domain)
            assert ((points - points.mean(axis=0)) ** 2).sum() < rover.SMOOTHING["default"]
            u = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
            fitted = np.polynomial.polynomial.polyfit(u / u[-1], points, 3)
            expected = np.polynomial.polynomial.polyval(np.linspace(0, 1, 1000), fitted).T
            found = rover.trajectory(query, domain=domain, smoothing="default")
            assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert_allclose(rover.SMOOTHING["default"], 22.254, atol=5e-4)


@pytest.mark.parametrize("smoothing", ["default", "none"])
def test_a_repeated_point_is_the_limit_of_two_that_approach_each_other(smoothing):
    points = rng(11).random((30, 2))
    points[[8, 9, 20]] = points[[7, 7, 19]]
    at_once = rover.trajectory(points.ravel(), domain="unit", smoothing=smoothing)
    apart = points.copy()
    apart[[8, 9, 20]] += 1e-6 * np.array([[1, 1], [2, 2], [-1, 1]])
    near = rover.trajectory(apart.ravel(), domain="unit", smoothing=smoothing)
    if smoothing == "default":
        assert_allclose(at_once, near, rtol=0, atol=1e-5)
    else:  # there the direction between two near points matters, but the curve meets them all
        distance = np.linalg.norm(points[:, None] - at_once, axis=2).min(axis=1)
        assert distance.max() < 0.02
