"""Metrics at hand-computed values, and records that a report must refuse."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

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
