"""Metrics at hand-computed values, and records that a report must refuse."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tests.workflow.synthetic import Toy, noisy
from workflow import metrics, record, selection, statistics
from workflow.metrics import BadRecords, NotRun
from workflow.plan import PlanError
from workflow.selection import figure_runs

RUN = {
    "true": [0.5, 0.25, 1.0, 0.75, 0.75, 1.0],
    "batch": np.array([0, 1, 2, 2, 2, 3]),
    "seconds": np.array([3.0, 2, 1, 5, 2, 4]),
    "timing.ask": np.array([0, 1.0, 6.0, 0, 0, 2.0]),
    "report.dictionary": np.array([np.nan, 1, 2, 2, 2, 4]),
}


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path, budget=6, seeds=2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cumulative_regret", [0.5, 1.25, 1.25, 1.5, 1.75, 1.75]),
        ("simple_regret", [0.5, 0.5, 0, 0, 0, 0]),
        ("mean_regret", [np.nan, 0.75, 0.375, 1 / 3, 0.3125, 0.25]),  # batch 0 is the initial design
        ("final_regret", [0]),
        ("recommendation_regret", [0]),
        ("mean_objective", [-0.5, -0.75 / 2, -1.75 / 3, -2.5 / 4, -3.25 / 5, -4.25 / 6]),
        ("last_objective", [-0.5, -0.25, -1, -0.75, -0.75, -1]),
        ("stuck", [0]),
        ("seconds", [0, 1, 7, 7, 7, 9]),
        ("step_seconds", [0, 1, 2, 2, 2, 2]),
        ("experiment_seconds", [3, 5, 10, 10, 10, 14]),  # a batch costs its slowest member
        ("total_seconds", [3, 6, 17, 17, 17, 23]),
        ("given_seconds", [0]),
        ("batch_size", [np.nan, 1, 3, 3, 3, np.nan]),
        ("batches", [0, 1, 2, 2, 2, 3]),
        ("report.dictionary", [np.nan, 1, 2, 2, 2, 4]),
        ("report.nothing", [np.nan] * 6),
    ],
)
def test_metric_of_a_run_by_hand(toy, name, expected):
    cell = toy.add("A", lambda seed: RUN)
    assert_allclose(toy.store().values(cell, name), [expected, expected])


AFTER_DATA = {**RUN, "batch": np.array([1, 1, 2, 3, 3, 4])}  # batch 0 was there before the run


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("seconds", [2.5, 3.5, 9.5, 9.5, 9.5, 11.5]),  # the construction, which includes learning from the data, then the rows
        ("given_seconds", [2.0]),
        ("experiment_seconds", [3, 3, 4, 9, 9, 13]),
        ("total_seconds", [5.5, 6.5, 13.5, 18.5, 18.5, 24.5]),
        ("step_seconds", [0.5, 0.5, 6, 0, 0, 2]),
        ("batch_size", [2, 2, 1, 2, 2, np.nan]),
        ("batches", [1, 1, 2, 3, 3, 4]),
        ("cumulative_regret", [0.5, 1.25, 1.25, 1.5, 1.75, 1.75]),
    ],
)
def test_metric_of_a_run_after_existing_data_by_hand(toy, name, expected):
    cell = toy.add("A", lambda seed: AFTER_DATA)
    for seed in cell.seeds:
        toy.write(cell, seed, dict(AFTER_DATA), setup_seconds=2.5, given_seconds=2.0)
    with np.errstate(all="raise"):  # there is no batch 0 to divide by
        assert_allclose(toy.store().values(cell, name), [expected, expected])


def test_complete_batches_after_existing_data_leave_out_the_last(toy):
    cell = toy.add("A", lambda seed: AFTER_DATA)
    assert_allclose(metrics.batch_sizes(toy.store().record(cell, 0)), [2, 1, 2])


def test_workers_that_do_not_wait_take_until_their_evaluation_ends(toy):
    """The seconds of an evaluation are no matter: those of all workers run at once."""
    finished = np.array([1.0, 1.5, 1.5, 2.5, 4.0, 4.25])
    events = {**RUN, "batch": np.arange(6), "started": np.zeros(6), "finished": finished}
    cell = toy.add("A", lambda seed: events)
    assert_allclose(toy.store().values(cell, "experiment_seconds"), [finished, finished])
    assert_allclose(toy.store().values(cell, "total_seconds")[0], np.add(finished, [0, 1, 7, 7, 7, 9]))


def test_complete_batches_leave_out_the_design_and_the_last(toy):
    cell = toy.add("A", lambda seed: RUN)
    assert_allclose(metrics.batch_sizes(toy.store().record(cell, 0)), [1, 3])


def test_an_unknown_optimum_is_the_best_value_of_all_runs_on_the_problem(tmp_path):
    toy = Toy(tmp_path, budget=3, seeds=2)
    one = toy.add("A", lambda seed: {"true": [0.2, 0.5 + seed / 10, 0.1]}, problem="open")
    toy.add("B", lambda seed: {"true": [0.2, 0.3, 0.9]}, problem="open", seeds=1)  # it decides, whatever is drawn
    for seed in one.seeds:
        header, columns = record.read(toy.root / one.record(seed)).header, record.read(toy.root / one.record(seed)).columns
        record.write(toy.root / one.record(seed), {**header, "best": None}, columns)
    store = toy.store()
    assert_allclose(store.values(one, "simple_regret"), [[0.7, 0.4, 0.4], [0.7, 0.3, 0.3]])
    assert store.record(one, 0).header["best_kind"] == "best-seen"
    toy.entry["figures"] = [{"id": "f", "panels": [{"problem": "open", "metric": "simple_regret", "curves": ["A"]}]}]
    assert {cell.name for cell in figure_runs(toy.paper, "f")} == {"toy/open/A", "toy/open/B"}


def test_ratio_divides_by_the_mean_over_seeds(toy):
    cell, uniform = toy.add("A", lambda seed: {"true": 0.7}), toy.add("uniform", lambda seed: {"true": 0.5 - 0.1 * seed})
    assert_allclose(toy.store().relative(cell, "cumulative_regret", uniform), 0.3 / 0.55)


def test_ratio_is_undefined_while_the_denominator_is_zero(toy):
    cell, uniform = toy.add("A", lambda seed: {"true": 0.5}), toy.add("uniform", lambda seed: {"true": [1, 0, 0, 0, 0, 0]})
    ratio = toy.store().relative(cell, "cumulative_regret", uniform)
    assert np.isnan(ratio[:, 0]).all()
    assert_allclose(ratio[:, 1], 1.0)


def test_unknown_metric_names_the_known():
    with pytest.raises(PlanError, match="unknown metric 'regrets'; known: cumulative_regret"):
        metrics.metric("regrets")


def test_thinned_grid_keeps_both_ends():
    for log in (False, True):
        grid = metrics.thin(10_000, log=log)
        assert len(grid) <= metrics.GRID
        assert (grid[0], grid[-1]) == (0, 9999)
        assert (np.diff(grid) > 0).all()


def test_every_refused_record_is_named(toy):
    """One error for missing, stale, copied, cut off, half-written and too short records."""
    cells = {name: toy.add(name, noisy(0.5)) for name in ("A", "B", "C", "uniform")}
    (toy.root / cells["A"].record(0)).unlink()
    toy.write(cells["A"], 1, {"true": 0.5}, digest="f" * 64)
    toy.write(cells["B"], 1, {"true": 0.5}, seed=0)
    toy.write(cells["B"], 0, {"true": 0.5}, status="cutoff")
    (toy.root / cells["C"].record(0)).write_bytes(b"PAR1")
    toy.write(replace(cells["C"], budget=3), 1, {"true": 0.5}, digest=toy.store().record(cells["C"], 1).header["digest"])
    with pytest.raises(BadRecords) as caught:
        toy.store().check(toy.cells.values())
    message = str(caught.value)
    assert "6 records are refused" in message
    for path, words in [
        ("A/0.parquet", "found no file"),
        ("A/1.parquet", "found ffffffffffff: it is stale"),
        ("B/0.parquet", "found 'cutoff' after 6 rows"),
        ("B/1.parquet", "a copy of another record"),
        ("C/0.parquet", "no readable parquet"),
        ("C/1.parquet", "expected 6 evaluations, found 3"),
    ]:
        line = next(line for line in message.splitlines() if path in line)
        assert words in line
        assert "run" in line


def test_other_data_make_every_record_stale(toy, monkeypatch):
    cell = toy.add("A", noisy(0.5))
    monkeypatch.setattr(metrics.fetch, "provenance", lambda path: {"content_sha256": "1" * 64})
    with pytest.raises(BadRecords, match="2 records are refused"):
        toy.store().check([cell])


def test_a_missing_table_is_refused_with_directions(tmp_path):
    toy = Toy(tmp_path)
    cell = toy.add("A", noisy(0.5))
    (tmp_path / "data/prepared/abalone.parquet").unlink()
    with pytest.raises(BadRecords, match=r"workflow\.fetch abalone"):
        toy.store().check([cell])


def test_repeated_seeds_are_refused(toy):
    cell = replace(toy.add("A", noisy(0.5)), seeds=(0, 0))
    with pytest.raises(BadRecords, match="distinct seeds"):
        toy.store().check([cell])


def test_partial_reports_on_what_is_there(toy):
    cell = toy.add("A", noisy(0.5))
    (toy.root / cell.record(0)).unlink()
    store = toy.store(partial=True)
    assert store.seeds(cell) == (1,)
    (toy.root / cell.record(1)).unlink()
    with pytest.raises(NotRun, match="toy/p/A"):
        toy.store(partial=True).seeds(cell)
    for table in (toy.root / "data").rglob("*.parquet"):
        table.unlink()  # nobody needs data for runs that nobody made
    with pytest.raises(NotRun, match="toy/p/A"):
        toy.store(partial=True).seeds(cell)


def test_a_reading_reaches_only_whom_it_changes(toy):
    toy.entry["algorithms"]["B"] = {"is": "random_search.RandomSearch"}
    for name, reading in (("A", ""), ("A", "code"), ("B", "")):
        toy.add(name, noisy(0.5), reading=reading)
    assert selection.place(toy.paper, "p", "A", reading="code").curve == "A@code"
    assert selection.place(toy.paper, "p", "B", reading="code").curve == "B"
    with pytest.raises(PlanError, match="unknown reading 'cod'; known: code"):
        selection.place(toy.paper, "p", "A", reading="cod")


def test_interval_covers_the_mean():
    rng = np.random.default_rng(0)
    for n in (3, 10):
        low, high = statistics.interval(rng.standard_normal((n, 4000)))
        assert abs(np.mean((low < 0) & (high > 0)) - 0.95) < 0.012


def test_a_wald_band_of_five_covers_less_than_it_says():
    low, high = statistics.wald(np.random.default_rng(0).standard_normal((5, 4000)))
    assert abs(np.mean((low < 0) & (high > 0)) - 0.8784) < 0.015  # P(|t| < 1.96) with 4 degrees of freedom
    low, high = statistics.wald([[1.0], [2.0], [3.0]])
    assert_allclose([low[0], high[0]], [2 - 1.96 / np.sqrt(3), 2 + 1.96 / np.sqrt(3)])


def test_sign_flip_has_the_smallest_p_of_n_seeds():
    assert [statistics.sign_flip(-np.ones(n) - np.arange(n) / 10) for n in (3, 5, 10)] == [1 / 8, 1 / 32, 1 / 1024]


def test_holm_by_hand():
    assert_allclose(statistics.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert_allclose(statistics.holm([0.5, 0.9]), [1.0, 1.0])


def test_power_law_recovers_its_exponent():
    x = np.arange(1.0, 50)
    assert_allclose(statistics.power_law(x, 3 * x**1.7), (3, 1.7), rtol=1e-12)


NAN = np.nan
CONSTRAINED = {  # two points of an initial design, two whole iterations and one that the budget cuts
    "true": [-5, -1, -4, -3, -0.5, -3.5, -2, -1.5],
    "true_g": np.array([[0.1, -1], [-1, 0.2], [0, -1], [-1, -1], [1, 1], [-1, -1], [-2, -2], [-1, 0]]),
    "batch": np.array([0, 0, 1, 2, 3, 3, 4, 5]),
    "report.role": np.array([NAN, NAN, 1, 2, 1, 1, 2, 1]),
    "report.iteration": np.array([NAN, NAN, 1, 1, 2, 2, 2, 3]),
}


def constrained(root, *runs):
    """A toy whose seeds have these columns, and its cell."""
    toy = Toy(root, budget=len(runs[0]["batch"]), seeds=len(runs))
    return toy, toy.add("A", lambda seed: runs[seed])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("best_feasible", [np.inf, np.inf, 4, 3, 3, 3, 2, 1.5]),  # a constraint of exactly 0 is kept
        ("best_feasible_iterate", [np.inf, np.inf, 4, 4, 4, 3.5, 3.5, 1.5]),
        ("best_feasible_by_iteration", [3, 2, 1.5]),
        ("infeasible", [1, 1, 0, 0, 0, 0, 0, 0]),
        ("feasible_evaluations", [0, 0, 1, 2, 2, 3, 4, 5]),
        ("search_for_feasible", [1]),
        ("late_descent", [1.5]),  # from the fifth of eight evaluations on
    ],
)
def test_metric_of_a_constrained_run_by_hand(tmp_path, name, expected):
    toy, cell = constrained(tmp_path, CONSTRAINED)
    assert_allclose(toy.store().values(cell, name), [expected])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("best_feasible", [np.inf] * 8),
        ("best_feasible_iterate", [np.inf] * 8),
        ("best_feasible_by_iteration", [np.inf] * 3),
        ("infeasible", [1] * 8),
        ("feasible_evaluations", [0] * 8),
        ("search_for_feasible", [np.inf]),
        ("late_descent", [0]),
    ],
)
def test_metric_of_a_run_without_a_feasible_evaluation(tmp_path, name, expected):
    toy, cell = constrained(tmp_path, {**CONSTRAINED, "true_g": np.tile([-1, 1e-12], (8, 1))})
    with np.errstate(all="raise"):
        assert_allclose(toy.store().values(cell, name), [expected])


def test_a_run_without_constraints_is_feasible_everywhere(toy):
    cell = toy.add("A", lambda seed: RUN)
    store = toy.store()
    assert metrics.feasible(store.record(cell, 0)).tolist() == [True] * 6
    assert_allclose(store.values(cell, "best_feasible")[0], [-0.5, -0.5, -1, -1, -1, -1])
    assert np.isnan(store.values(cell, "search_for_feasible")).all()  # its design is feasible
    assert_allclose(store.values(cell, "feasible_evaluations")[0], [0, 1, 2, 3, 4, 5])
    assert np.isinf(store.values(cell, "best_feasible_iterate")).all()  # nothing is reported to be an iterate


def test_iterations_end_within_batches_and_seeds_are_cut_to_the_fewest(tmp_path):
    """An iteration may be several batches or a part of one; a seed with a single long one cuts the others to one."""
    values = {"true": -np.arange(9.0, 0, -1), "true_g": np.full((9, 1), -1.0)}
    one = {**values, "batch": np.array([0, 1, 1, 2, 2, 3, 4, 5, 5]), "report.iteration": np.array([NAN, 1, 1, 2, 2, 3, 4, 5, 5])}
    two = {**values, "batch": np.repeat([0, 1], [1, 8]), "report.iteration": np.repeat([NAN, 1], [1, 8])}
    toy, cell = constrained(tmp_path / "two", one, two)
    assert_allclose(toy.store().values(cell, "best_feasible_by_iteration"), [[7], [1]])
    toy, cell = constrained(tmp_path / "one", one, {**one, "report.iteration": np.array([1, 1, 1, 2, 2, 2, 3, 3, 3.0])})
    assert_allclose(toy.store().values(cell, "best_feasible_by_iteration"), [[7, 5, 4], [7, 4, 1]])


@pytest.mark.parametrize(
    ("batch", "feasible", "expected"),
    [
        ([0, 0, 1, 2, 3], [0, 1, 1, 1, 1], NAN),
        ([0, 0, 1, 2, 3], [1, 0, 0, 0, 0], NAN),
        ([0, 0, 1, 2, 3], [0, 0, 1, 0, 0], 1),
        ([0, 0, 1, 1, 1], [0, 0, 0, 0, 1], 3),
        ([0, 0, 1, 2, 3], [0, 0, 0, 0, 0], np.inf),
        ([1, 1, 2, 3, 4], [0, 1, 0, 0, 0], 2),  # the design existed before and is in no row
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0], np.inf),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 1], NAN),
    ],
)
def test_search_for_a_feasible_point_begins_after_the_design(tmp_path, batch, feasible, expected):
    g = np.where(np.array(feasible)[:, None] == 1, -1.0, 1.0)
    toy, cell = constrained(tmp_path, {"true": -1.0, "true_g": g, "batch": np.array(batch)})
    assert_allclose(toy.store().values(cell, "search_for_feasible"), [[expected]])


def test_the_distance_from_the_centre_is_a_mean_over_variables(tmp_path):
    toy = Toy(tmp_path, budget=3, seeds=1)
    cell = toy.add("A", lambda seed: {"true": np.zeros(3), "query": np.array([[0.5, 0.5], [0.0, 1.0], [0.25, 0.5]])})
    assert_allclose(toy.store().values(cell, "centre_distance"), [[0, 0.5, 0.125]])


@pytest.mark.parametrize(
    ("first", "drops", "expected"),
    [
        (0, {}, 0),
        (0, {7: 2.0}, 0),  # the seventh evaluation is not among the last 30 % of ten
        (0, {8: 2.0}, 2),
        (0, {3: 1.0, 8: 2.0, 10: 0.5}, 2.5),
        (6, {9: 1.0}, 1),
        (7, {}, np.inf),  # from nothing feasible to something
        (9, {}, np.inf),
        (10, {}, 0),  # nothing feasible at all
    ],
)
def test_late_descent_is_that_of_the_last_three_tenths(tmp_path, first, drops, expected):
    """Feasible after the `first` evaluations, at 10 less the drops so far, each at an evaluation that counts from 1."""
    level = 10 - np.array([sum(size for at, size in drops.items() if at <= t) for t in range(1, 11)])
    g = np.where(np.arange(10) < first, 1.0, -1.0)[:, None]
    toy, cell = constrained(tmp_path, {"true": -level, "true_g": g, "batch": np.arange(10)})
    assert_allclose(toy.store().values(cell, "late_descent"), [[expected]])


@pytest.mark.parametrize("rows", [90, 120, 170, 1000])
def test_late_descent_leaves_out_seven_tenths_exactly(tmp_path, rows):
    """All descent is at the last evaluation of the first 70 %; 0.7 * 90 is a little less than 63."""
    level = np.where(np.arange(1, rows + 1) < 7 * rows // 10, 2.0, 1.0)
    toy, cell = constrained(tmp_path, {"true": -level, "batch": np.arange(rows)})
    assert_allclose(toy.store().values(cell, "late_descent"), [[0]])


def test_the_best_value_seen_is_a_feasible_one(tmp_path):
    toy = Toy(tmp_path, budget=3, seeds=2)
    one = toy.add("A", lambda seed: {"true": [0.2, 0.5, 0.9], "true_g": np.array([[0.0], [-1], [1]])}, problem="open")
    assert_allclose(toy.store().values(one, "simple_regret"), [[0.3, 0, -0.4]] * 2)
    toy.add("B", lambda seed: {"true": [0.8, 0.6, 0.7 + seed / 100], "true_g": np.array([[1.0], [-1], [-1]])}, problem="open")
    store = toy.store()
    assert store.record(one, 0).header["best"] == pytest.approx(0.71)
    assert store.record(one, 0).header["best_kind"] == "best-seen"


def test_a_record_names_the_versions_of_the_libraries_that_its_problem_belongs_to(toy):
    cell = toy.add("A", noisy(0.5))
    assert toy.store().versions(cell) == []
    named = replace(cell, problem_entry={**cell.problem_entry, "libraries": ["mujoco", "numpy", "gymnasium"]})
    toy.cells["p", "A"] = named
    for seed in named.seeds:
        toy.write(named, seed, {"true": 0.5}, provenance={"libraries": {"numpy": "2.0.1", "mujoco": "3.3.7", "scipy": "1"}})
    assert toy.store().versions(named) == ["mujoco 3.3.7", "numpy 2.0.1", "gymnasium unknown"]
    for seed in named.seeds:
        toy.write(named, seed, {"true": 0.5}, data="substitute: none of it", provenance={"libraries": {"numpy": "2.0.1"}})
    assert toy.store().versions(named) == ["mujoco not installed", "numpy 2.0.1", "gymnasium not installed"]


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([-1, -2, -3, -4, -5], 1 / 32),
        ([-1, -2, -3, -4, 5], 10 / 32),  # W+ = 5: the subsets of 1 .. 5 with a sum of at most 5
        ([1, 2, 3, 4, 5], 1),
        ([-1, -1, 2], 5 / 8),  # ranks 1.5, 1.5, 3
        ([0, -1, -2], 1 / 4),  # a zero keeps its rank and is on no side
        ([0, 0, 0], 1),
        ([-np.inf] * 5, 1 / 32),
        ([-np.inf, -np.inf, 1, -2], 1 / 8),  # ranks 3.5, 3.5, 1, 2
        ([-np.inf, np.inf, -1, -2], 6 / 16),  # W+ = 3.5: {}, 1, 2, 1 + 2 and each 3.5
        ([np.inf, -1, -2, -3, -4], 10 / 32),
        ([-1, -2, NAN], NAN),
    ],
)
def test_signed_ranks_by_hand(values, p):
    found = statistics.ranked_below_zero(values)
    assert found.n == len(values)
    assert found.p == pytest.approx(p, rel=1e-12, nan_ok=True)
    assert found.p_flip == pytest.approx(p, rel=1e-12, nan_ok=True)


def test_an_objective_is_labelled_as_one():
    labels = [metrics.metric(name).axis for name in ("mean_objective", "last_objective")]
    assert labels == ["mean objective so far (unit of f)", "objective of the evaluation (unit of f)"]


def test_a_standard_error_is_that_of_the_numbers_that_are_there():
    values = np.random.default_rng(0).standard_normal((7, 4))
    assert_allclose(statistics.standard_error(values), stats.sem(values, axis=0))
    values[2:5, 1], values[1:, 2], values[:, 3] = NAN, NAN, NAN
    expected = [stats.sem(values[:, 0]), stats.sem(values[[0, 1, 5, 6], 1]), NAN, NAN]
    with np.errstate(all="raise"):
        assert_allclose(statistics.standard_error(values), expected)
        bands = [(1, statistics.within_error(values)), (1.96, statistics.wald(values))]
    for width, (low, high) in bands:
        assert_allclose((low[:2] + high[:2]) / 2, np.nanmean(values[:, :2], axis=0))
        assert_allclose((high - low) / 2, width * np.array(expected))


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([3, 1, 2], [30, -10, 20], 1),
        ([1, 2, 3], [0, -1, -2], -1),
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8),  # 1 - 6 * 2 / (4 * 15)
        ([1, 2, np.inf], [5, 6, 7], 1),
        ([1, 2], [1, 2], NAN),
        ([], [], NAN),
        ([1, 1, 1], [1, 2, 3], NAN),
    ],
)
def test_rank_correlation_by_hand(x, y, expected):
    assert statistics.rank_correlation(x, y) == pytest.approx(expected, nan_ok=True)


def test_rank_correlation_agrees_with_scipy_where_numbers_are_equal():
    x, y = np.random.default_rng(3).integers(0, 5, (2, 12))
    assert statistics.rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-12)


@pytest.mark.parametrize("n", [5, 8, 10, 13])
def test_signed_ranks_agree_with_scipy_and_know_infinity_as_the_largest(n):
    values = np.random.default_rng(n).standard_normal(n) - 0.4
    expected = stats.wilcoxon(values, alternative="less", method="exact").pvalue
    assert statistics.ranked_below_zero(values).p == pytest.approx(expected, rel=1e-12)
    assert statistics.ranked_below_zero(1e6 * values**3).p == pytest.approx(expected, rel=1e-12)
    largest = np.argmax(np.abs(values))
    values[largest] = np.sign(values[largest]) * np.inf
    assert statistics.ranked_below_zero(values).p == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "quartiles"),
    [
        ([2, -np.inf, -1, np.inf, -3], (-3, -1, 2)),
        ([-np.inf, -np.inf, -np.inf, 1, 2], (-np.inf, -np.inf, 1)),
        ([np.inf, np.inf, np.inf, 1, -np.inf], (1, np.inf, np.inf)),
        ([np.inf] * 3, (np.inf,) * 3),
        ([4.0], (4, 4, 4)),
        ([1, 2, np.inf, np.inf], (1, 2, np.inf)),  # one of the values, never between a number and infinity
        ([1, NAN, np.inf], (NAN,) * 3),
    ],
)
def test_median_and_quartiles_of_values_that_may_be_infinite(values, quartiles):
    with np.errstate(all="raise"):
        found = statistics.ranked_below_zero(values)
    assert (found.low, found.mean, found.high) == pytest.approx(quartiles, nan_ok=True)
