"""Metrics at hand-computed values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.workflow.synthetic import Toy
from workflow.measure import metrics
from workflow.trace.curves import PlanError

NAN, INF = np.nan, np.inf
RUN = {
    "true": [0.5, 0.25, 1.0, 0.75, 0.75, 1.0],
    "batch": np.array([0, 1, 2, 2, 2, 3]),
    "seconds": np.array([3.0, 2, 1, 5, 2, 4]),
    "timing.ask": np.array([0, 1.0, 6.0, 0, 0, 2.0]),
    "report.dictionary": np.array([NAN, 1, 2, 2, 2, 4]),
}
AFTER_DATA = {**RUN, "batch": np.array([1, 1, 2, 3, 3, 4])}  # batch 0 was there before the run
# two points of an initial design, two whole iterations and one that the budget cuts
CONSTRAINED = {
    "true": [-5, -1, -4, -3, -0.5, -3.5, -2, -1.5],
    "true_g": np.array(
        [[0.1, -1], [-1, 0.2], [0, -1], [-1, -1], [1, 1], [-1, -1], [-2, -2], [-1, 0]]
    ),
    "batch": np.array([0, 0, 1, 2, 3, 3, 4, 5]),
    "report.role": np.array([NAN, NAN, 1, 2, 1, 1, 2, 1]),
    "report.iteration": np.array([NAN, NAN, 1, 1, 2, 2, 2, 3]),
}
RUNS = {"plain": RUN, "after data": AFTER_DATA, "constrained": CONSTRAINED}
RUNS |= {"infeasible": {**CONSTRAINED, "true_g": np.tile([-1, 1e-12], (8, 1))}}
# of all workers evaluations run at once: their seconds are no matter
FINISHED = np.array([1.0, 1.5, 1.5, 2.5, 4.0, 4.25])
RUNS |= {"workers": {**RUN, "batch": np.arange(6), "started": np.zeros(6), "finished": FINISHED}}
CORNERS = np.array([[0.5, 0.5], [0.0, 1.0], [0.25, 0.5]])
RUNS |= {"on a box": {"true": np.zeros(3), "query": CORNERS, "batch": np.arange(3)}}
BY_HAND = {
    "plain": {
        "cumulative_regret": [0.5, 1.25, 1.25, 1.5, 1.75, 1.75],
        "simple_regret": [0.5, 0.5, 0, 0, 0, 0],
        # batch 0 is the initial design
        "mean_regret": [NAN, 0.75, 0.375, 1 / 3, 0.3125, 0.25],
        "final_regret": [0],
        "recommendation_regret": [0],
        "mean_objective": [-0.5, -0.75 / 2, -1.75 / 3, -2.5 / 4, -3.25 / 5, -4.25 / 6],
        "stuck": [0],
        "seconds": [0, 1, 7, 7, 7, 9],
        "total_seconds": [3, 6, 17, 17, 17, 23],
        "given_seconds": [0],
        "batch_size": [NAN, 1, 3, 3, 3, NAN],
        "batches": [0, 1, 2, 2, 2, 3],
        "report.dictionary": [NAN, 1, 2, 2, 2, 4],
        "report.nothing": [NAN] * 6,
        # without constraints it is feasible everywhere, and nothing is reported to be an iterate
        "best_feasible": [-0.5, -0.5, -1, -1, -1, -1],
        "search_for_feasible": [NAN],
        "feasible_evaluations": [0, 1, 2, 3, 4, 5],
        "best_feasible_iterate": [INF] * 6,
    },
    "workers": {"total_seconds": np.add(FINISHED, [0, 1, 7, 7, 7, 9])},
    "on a box": {"centre_distance": [0, 0.5, 0.125]},  # a mean over variables
    "after data": {
        # the construction, which includes learning from the data, then the rows
        "seconds": [2.5, 3.5, 9.5, 9.5, 9.5, 11.5],
        "given_seconds": [2.0],
        "total_seconds": [5.5, 6.5, 13.5, 18.5, 18.5, 24.5],
        "batch_size": [2, 2, 1, 2, 2, NAN],
        "batches": [1, 1, 2, 3, 3, 4],
        "cumulative_regret": [0.5, 1.25, 1.25, 1.5, 1.75, 1.75],
    },
    "constrained": {
        # a constraint of exactly 0 is kept
        "best_feasible": [INF, INF, 4, 3, 3, 3, 2, 1.5],
        "best_feasible_iterate": [INF, INF, 4, 4, 4, 3.5, 3.5, 1.5],
        "best_feasible_by_iteration": [3, 2, 1.5],
        "feasible_evaluations": [0, 0, 1, 2, 2, 3, 4, 5],
        "search_for_feasible": [1],
        "late_descent": [1.5],  # from the fifth of eight evaluations on
    },
    "infeasible": {
        "best_feasible": [INF] * 8,
        "best_feasible_iterate": [INF] * 8,
        "best_feasible_by_iteration": [INF] * 3,
        "feasible_evaluations": [0] * 8,
        "search_for_feasible": [INF],
        "late_descent": [0],
    },
}


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path, budget=6, seeds=2)


def constrained(root, *runs):
    """A toy whose seeds have these columns, and its curve."""
    toy = Toy(root, budget=len(runs[0]["batch"]), seeds=len(runs))
    return toy, toy.add("A", lambda seed: runs[seed])


@pytest.mark.parametrize("kind", BY_HAND)
def test_metrics_of_a_run_by_hand(tmp_path, kind):
    run, expected = RUNS[kind], BY_HAND[kind]
    toy, curve = constrained(tmp_path, run, run)
    given = {"setup_seconds": 2.5, "given_seconds": 2.0} if kind == "after data" else {}
    for seed in curve.seeds:
        toy.write(curve, seed, dict(run), **given)
    with np.errstate(all="raise"):
        found = {name: toy.store().values(curve, name) for name in expected}
    for name, values in expected.items():
        assert_allclose(found[name], [values, values], err_msg=name)


def test_complete_batches_leave_out_the_design_and_the_last(toy):
    for name, run, expected in [("A", RUN, [1, 3]), ("B", AFTER_DATA, [2, 1, 2])]:
        curve = toy.add(name, lambda seed, run=run: run)
        assert_allclose(metrics.batch_sizes(toy.store().record(curve, 0)), expected)


def test_unknown_metric_names_the_known():
    with pytest.raises(PlanError, match="unknown metric 'regrets'; did you mean 'mean_regret'"):
        metrics.metric("regrets")


def test_thinned_grid_keeps_both_ends():
    for log in (False, True):
        grid = metrics.thin(10_000, log=log)
        assert len(grid) <= metrics.GRID
        assert (grid[0], grid[-1]) == (0, 9999)
        assert (np.diff(grid) > 0).all()


def test_iterations_end_within_batches_and_seeds_are_cut_to_the_fewest(tmp_path):
    """An iteration may be several batches or part of one; a seed of one long one cuts others."""
    values = {"true": -np.arange(9.0, 0, -1), "true_g": np.full((9, 1), -1.0)}
    one = {
        **values,
        "batch": np.array([0, 1, 1, 2, 2, 3, 4, 5, 5]),
        "report.iteration": np.array([NAN, 1, 1, 2, 2, 3, 4, 5, 5]),
    }
    long = {"batch": np.repeat([0, 1], [1, 8]), "report.iteration": np.repeat([NAN, 1], [1, 8])}
    two = {**values, **long}
    toy, curve = constrained(tmp_path / "two", one, two)
    assert_allclose(toy.store().values(curve, "best_feasible_by_iteration"), [[7], [1]])
    three = {**one, "report.iteration": np.repeat([1.0, 2, 3], 3)}
    toy, curve = constrained(tmp_path / "one", one, three)
    assert_allclose(toy.store().values(curve, "best_feasible_by_iteration"), [[7, 5, 4], [7, 4, 1]])


@pytest.mark.parametrize(
    ("batch", "feasible", "expected"),
    [
        ([0, 0, 1, 2, 3], [0, 1, 1, 1, 1], NAN),
        ([0, 0, 1, 2, 3], [1, 0, 0, 0, 0], NAN),
        ([0, 0, 1, 2, 3], [0, 0, 1, 0, 0], 1),
        ([0, 0, 1, 1, 1], [0, 0, 0, 0, 1], 3),
        ([0, 0, 1, 2, 3], [0, 0, 0, 0, 0], INF),
        ([1, 1, 2, 3, 4], [0, 1, 0, 0, 0], 2),  # the design existed before and is in no row
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0], INF),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 1], NAN),
    ],
)
def test_search_for_a_feasible_point_begins_after_the_design(tmp_path, batch, feasible, expected):
    g = np.where(np.array(feasible)[:, None] == 1, -1.0, 1.0)
    toy, curve = constrained(tmp_path, {"true": -1.0, "true_g": g, "batch": np.array(batch)})
    assert_allclose(toy.store().values(curve, "search_for_feasible"), [[expected]])


@pytest.mark.parametrize(
    ("first", "drops", "expected"),
    [
        (0, {}, 0),
        (0, {7: 2.0}, 0),  # the seventh evaluation is not among the last 30 % of ten
        (0, {8: 2.0}, 2),
        (0, {3: 1.0, 8: 2.0, 10: 0.5}, 2.5),
        (6, {9: 1.0}, 1),
        (7, {}, INF),  # from nothing feasible to something
        (9, {}, INF),
        (10, {}, 0),  # nothing feasible at all
    ],
)
def test_late_descent_is_that_of_the_last_three_tenths(tmp_path, first, drops, expected):
    """Feasible after `first` evaluations, at 10 less the drops so far, at evaluations from 1 on."""
    fallen = [sum(size for at, size in drops.items() if at <= t) for t in range(1, 11)]
    level = 10 - np.array(fallen)
    g = np.where(np.arange(10) < first, 1.0, -1.0)[:, None]
    toy, curve = constrained(tmp_path, {"true": -level, "true_g": g, "batch": np.arange(10)})
    assert_allclose(toy.store().values(curve, "late_descent"), [[expected]])


@pytest.mark.parametrize("rows", [90, 120, 170, 1000])
def test_late_descent_leaves_out_seven_tenths_exactly(tmp_path, rows):
    """All descent is at the last evaluation of the first 70 %; 0.7 * 90 is just below 63."""
    level = np.where(np.arange(1, rows + 1) < 7 * rows // 10, 2.0, 1.0)
    toy, curve = constrained(tmp_path, {"true": -level, "batch": np.arange(rows)})
    assert_allclose(toy.store().values(curve, "late_descent"), [[0]])
