"""The picture of the rover's terrain: obstacles, the trajectory and its value where the problem has
them.
"""

import numpy as np
import pytest
from matplotlib.collections import PatchCollection
from numpy.testing import assert_allclose

from problems import rover
from tests.workflow.draw import pictures
from tests.workflow.draw.pictures import Runs, count, pixels
from workflow.draw.drawers import terrain
from workflow.draw.style import look

SMOOTH = {"domain": "unit", "ends": "control-points", "smoothing": "default"}
EXACT = {"domain": "extended", "ends": "curve", "smoothing": "none"}
LINE = np.linspace(rover.START, rover.GOAL, 30).ravel()


def cost(query, parameters):
    return float(np.sum(rover.costs(query[None], **parameters)))


def best_of(query, curve="DuMBO", parameters=SMOOTH, **changes):
    shown = {"value": cost(query, parameters), "label": "negative reward", "unit": "", "seed": 3}
    return pictures.best_of(query, curve=curve, **{**shown, **changes})


def lines(ax, n):
    """The drawn lines with so many points."""
    return [line for line in ax.lines if len(line.get_xdata()) == n]


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_obstacles_are_where_the_problem_has_them():
    ax = terrain.trajectory(best_of(LINE), SMOOTH).still.axes[0]
    (squares,) = [found for found in ax.collections if isinstance(found, PatchCollection)]
    corners = np.array([path.vertices[:4] for path in squares.get_paths()])  # (113, 4, 2)
    assert_allclose(corners.mean(axis=1), rover.OBSTACLES, rtol=0, atol=1e-12)
    assert_allclose(np.ptp(corners, axis=1), 0.05, rtol=1e-9)
    middles = np.random.default_rng(2).uniform(0, 1, (300, 2))
    above = corners.min(axis=1) <= middles[:, None]
    within = above & (middles[:, None] < corners.max(axis=1))
    assert (within.all(axis=2).any(axis=1) == rover.blocked(middles)).all()


def test_the_trajectory_and_its_control_points_are_those_of_the_problem():
    for parameters in [SMOOTH, EXACT]:
        query = np.random.default_rng(3).random(60)
        ax = terrain.trajectory(best_of(query, parameters=parameters), parameters).still.axes[0]
        domain, smoothing = parameters["domain"], parameters["smoothing"]
        (curve,) = lines(ax, 1000)
        expected = rover.trajectory(query, domain=domain, smoothing=smoothing)
        assert_allclose(curve.get_xydata(), expected)
        (points,) = lines(ax, 30)
        assert_allclose(points.get_xydata(), rover.control_points(query, domain=domain))
        assert (points.get_linestyle(), points.get_marker()) == ("None", "o")
        assert curve.get_color() == points.get_color() == look("DuMBO").colour
        joined = [line.get_xydata() for line in lines(ax, 2)]
        ends = (points if parameters["ends"] == "control-points" else curve).get_xydata()[[0, -1]]
        assert_allclose(joined, [[rover.START, ends[0]], [rover.GOAL, ends[1]]])
        marks = {line.get_marker(): line.get_xydata()[0] for line in lines(ax, 1)}
        assert_allclose([marks["s"], marks["*"]], [rover.START, rover.GOAL])


def test_the_trajectory_is_named_with_its_cost_and_drawn_as_its_algorithm():
    ax = terrain.trajectory(best_of(LINE, "TuRBO@complete+slow"), SMOOTH).still.axes[0]
    first, second = ax.get_legend().legend_handles[:2]
    assert labels(ax)[:2] == ["TuRBO@complete+slow, seed 3: 7.504", "its control points"]
    (curve,) = lines(ax, 1000)
    assert curve.get_color() == first.get_color() == second.get_color() == look("TuRBO").colour
    assert curve._unscaled_dash_pattern == look("TuRBO").dash
    assert first.get_linewidth() == curve.get_linewidth()


def test_another_value_than_the_recorded_one_is_confessed():
    facts = terrain.trajectory(best_of(LINE, value=7.0), SMOOTH).facts
    assert facts[-1] == "NOT THE RECORDED VALUE: computed here, it is 7.504, recorded is 7"


def test_a_trajectory_that_leaves_the_square_is_followed_not_too_far():
    query = np.tile([0.0, 0.0, 0.05, 0.0, 1.0, 1.0], 10)
    ax = terrain.trajectory(best_of(query, parameters=EXACT), EXACT).still.axes[0]
    curve = lines(ax, 1000)[0].get_xydata()
    assert curve.min() < -0.1
    for (low, high), values in zip((ax.get_xlim(), ax.get_ylim()), curve.T, strict=True):
        assert low == pytest.approx(max(values.min(), -terrain.FARTHEST) - terrain.MARGIN)
        assert high == pytest.approx(min(values.max(), 1 + terrain.FARTHEST) + terrain.MARGIN)
    assert ax.get_aspect() == 1


def test_it_is_drawn_from_records_into_one_file(tmp_path):
    """As by the command: the cheapest of all evaluations, the same bytes again, a title and small
    print that name it.
    """
    entry = {"is": "rover.trajectory_planning", **SMOOTH, "noise": 0.0}
    display = {"label": "negative reward", "unit": "", "sign": -1}
    runs = Runs(tmp_path, entry, display, "terrain.trajectory", curves=["DuMBO"], seeds=(0,))
    query = np.vstack([np.full(60, 0.5), LINE, LINE])
    runs.add("DuMBO", 0, [-cost(one, SMOOTH) for one in query], query=query)
    assert runs.best().evaluation == 2
    (path,) = runs.drawn(tmp_path)
    assert count(pixels(path), look("DuMBO").colour) > 500
