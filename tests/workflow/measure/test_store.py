"""Which records a report admits, and what it reads from several of them."""

import importlib
import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.workflow.synthetic import Toy, noisy, rewrite
from workflow.measure import store as reports
from workflow.measure.store import BadRecords, NotRun, without_published
from workflow.plan.selection import figure_runs
from workflow.trace import curve_file
from workflow.trace.record import BadRecord


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path, budget=6, seeds=2)


def test_an_unknown_optimum_is_the_best_value_of_all_runs_on_the_problem(tmp_path):
    toy = Toy(tmp_path, budget=3, seeds=2)
    one = toy.add("A", lambda seed: {"true": [0.2, 0.5 + seed / 10, 0.1]}, problem="open")
    # it decides, whatever is drawn
    toy.add("B", lambda seed: {"true": [0.2, 0.3, 0.9]}, problem="open", seeds=1)
    for seed in one.seeds:
        rewrite(toy.root / one.record(seed), best=None)
    store = toy.store()
    assert_allclose(store.values(one, "simple_regret"), [[0.7, 0.4, 0.4], [0.7, 0.3, 0.3]])
    assert store.record(one, 0).header["best_kind"] == "best-seen"
    panel = {"problem": "open", "metric": "simple_regret", "curves": ["A"]}
    toy.entry["figures"] = [{"id": "f", "panels": [panel]}]
    assert {curve.name for curve in figure_runs(toy.paper, "f")} == {"toy/open/A", "toy/open/B"}


def test_ratio_divides_by_the_mean_over_seeds_and_is_undefined_while_that_is_zero(toy):
    curve = toy.add("A", lambda seed: {"true": 0.7})
    uniform = toy.add("uniform", lambda seed: {"true": 0.5 - 0.1 * seed})
    assert_allclose(toy.store().relative(curve, "cumulative_regret", uniform), 0.3 / 0.55)
    uniform = toy.add("uniform", lambda seed: {"true": [1, 0, 0, 0, 0, 0]})
    ratio = toy.store().relative(curve, "cumulative_regret", uniform)
    assert np.isnan(ratio[:, 0]).all()
    assert_allclose(ratio[:, 1], 0.6)


def test_every_refused_record_is_named(toy):
    """One error for missing, stale, copied, cut off, half-written and too short records."""
    curves = {name: toy.add(name, noisy(0.5)) for name in ("A", "B", "C", "uniform")}
    (toy.root / curves["A"].record(0)).unlink()
    toy.write(curves["A"], 1, {"true": 0.5}, digest="f" * 64)
    toy.write(curves["B"], 1, {"true": 0.5}, seed=0)
    toy.write(curves["B"], 0, {"true": 0.5}, status="cutoff")
    (toy.root / curves["C"].record(0)).write_bytes(b"PAR1")
    digest = toy.store().record(curves["C"], 1).header["digest"]
    toy.write(replace(curves["C"], budget=3), 1, {"true": 0.5}, digest=digest)
    with pytest.raises(BadRecords) as caught:
        toy.store().check(toy.curves.values())
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
    curve = toy.add("A", noisy(0.5))
    monkeypatch.setattr(reports.fetch, "provenance", lambda path: {"content_sha256": "1" * 64})
    with pytest.raises(BadRecords, match="2 records are refused"):
        toy.store().check([curve])


def test_a_missing_table_is_refused_with_directions(tmp_path):
    toy = Toy(tmp_path)
    curve = toy.add("A", noisy(0.5))
    (tmp_path / "data/prepared/abalone.parquet").unlink()
    with pytest.raises(BadRecords, match=r"workflow\.fetch abalone"):
        toy.store().check([curve])


def test_partial_reports_on_what_is_there(toy):
    curve = toy.add("A", noisy(0.5))
    (toy.root / curve.record(0)).unlink()
    store = toy.store(partial=True)
    assert store.seeds(curve) == (1,)
    (toy.root / curve.record(1)).unlink()
    with pytest.raises(NotRun, match="toy/p/A"):
        toy.store(partial=True).seeds(curve)
    for table in (toy.root / "data").rglob("*.parquet"):
        table.unlink()  # nobody needs data for runs that nobody made
    with pytest.raises(NotRun, match="toy/p/A"):
        toy.store(partial=True).seeds(curve)


def test_the_best_value_seen_is_a_feasible_one(tmp_path):
    toy = Toy(tmp_path, budget=3, seeds=2)
    g = np.array([[0.0], [-1], [1]])
    one = toy.add("A", lambda seed: {"true": [0.2, 0.5, 0.9], "true_g": g}, problem="open")
    assert_allclose(toy.store().values(one, "simple_regret"), [[0.3, 0, -0.4]] * 2)
    more = np.array([[1.0], [-1], [-1]])
    values = {0: [0.8, 0.6, 0.7], 1: [0.8, 0.6, 0.71]}
    toy.add("B", lambda seed: {"true": values[seed], "true_g": more}, problem="open")
    store = toy.store()
    assert store.record(one, 0).header["best"] == pytest.approx(0.71)
    assert store.record(one, 0).header["best_kind"] == "best-seen"


def test_a_record_names_the_versions_of_the_libraries_that_its_problem_belongs_to(toy):
    curve = toy.add("A", noisy(0.5))
    assert toy.store().versions(curve) == []
    curve.problem_entry["libraries"] = ["mujoco", "numpy", "gymnasium"]
    known = ["mujoco 3.3.7", "numpy 2.0.1", "gymnasium unknown"]
    none = ["mujoco not installed", "numpy 2.0.1", "gymnasium not installed"]
    for data, libraries, expected in [
        ("real", {"numpy": "2.0.1", "mujoco": "3.3.7", "scipy": "1"}, known),
        ("substitute: none of it", {"numpy": "2.0.1"}, none),
    ]:
        made = {"data": data, "provenance": {"libraries": libraries}}
        for seed in curve.seeds:
            toy.write(curve, seed, {"true": 0.5}, **made)
        assert toy.store().versions(curve) == expected


PAIRS = {"A": lambda seed: {"true": np.linspace(0.1, 0.8, 6) - 0.1 * seed}, "B": noisy(0.4)}


@pytest.fixture
def published(toy):
    """A toy paper whose two runs and study are published; their records lie in results/, too."""
    for name, curve in PAIRS.items():
        toy.add(name, curve)
    toy.study("theory", lambda seed: {"t": [1, 2, 3], "ratio": [np.nan, 0.5, seed]})
    assert publish(toy.paper, toy.root / "results", toy.root).errors == []
    return toy


def publish(paper, source, root):
    """As `python -m workflow.publish`, which is above the reports."""
    return importlib.import_module("workflow.operate.publish").publish(paper, source, root)


def test_where_there_is_no_record_the_published_one_is_read(published):
    toy, curve, study = published, published.curves["p", "A"], published.studies["theory"]
    before = toy.store()
    names = ["simple_regret", "cumulative_regret", "batch_size", "seconds", "stuck"]
    expected = {name: before.values(curve, name) for name in names}
    ratio, traces = before.column(study, 1, "ratio"), before.is_same(curve, toy.curves["p", "B"])
    (toy.root / curve.record(1)).unlink()
    mixed = toy.store()
    mixed.check([curve])
    assert mixed.record(curve, 0).columns.keys() >= {"query"}  # ours where it is there
    assert "query" not in mixed.record(curve, 1).columns
    shutil.rmtree(toy.root / "results")
    for options in ({}, {"partial": True}):
        store = toy.store(**options)
        store.check(toy.paper.every_curve)
        for name, values in expected.items():
            assert_allclose(store.values(curve, name), values, rtol=1e-6 * (name == "seconds"))
        np.testing.assert_array_equal(store.column(study, 1, "ratio"), ratio)
        assert store.is_same(curve, toy.curves["p", "B"]) == traces
        assert (store.seeds(curve), store.data(curve)) == ((0, 1), "real")
        assert store.made_by_other_code(curve) == ()
    assert not toy.store(fresh=True, partial=True).has(curve)
    with pytest.raises(BadRecords, match="found no file"):
        toy.store(fresh=True).check([curve])


def test_a_full_and_a_published_record_of_the_same_run_are_the_same(published):
    toy = published
    shutil.copytree(toy.root / "results/paper/toy/p/A", toy.root / "results/paper/toy/p/C")
    twin = replace(toy.curves["p", "A"], algorithm="C")
    assert twin.digest == toy.curves["p", "A"].digest
    shutil.rmtree(toy.root / "results/paper/toy/p/A")
    store = toy.store()
    for reads in ("", "report", "recommendation"):
        assert store.is_same(toy.curves["p", "A"], twin, reads)
        assert not store.is_same(toy.curves["p", "B"], twin, reads)


def test_a_stale_or_cut_record_gives_way_to_a_published_one_and_a_damaged_one_does_not(published):
    toy, curve = published, published.curves["p", "A"]
    expected = toy.store().values(curve, "simple_regret")
    toy.write(curve, 0, {"true": 0.9}, digest="f" * 64)
    toy.write(curve, 1, {"true": 0.9}, status="cutoff")
    assert_allclose(toy.store().values(curve, "simple_regret"), expected)
    (toy.root / curve.record(1)).write_bytes(b"PAR1")
    with pytest.raises(BadRecords, match=r"1\.parquet: expected a record"):
        toy.store().check([curve])


@pytest.mark.parametrize("partial", [True, False])
def test_a_published_file_that_cannot_be_read_is_not_taken_for_no_file(published, partial):
    toy, curve = published, published.curves["p", "A"]
    path = toy.root / curve.published
    path.write_bytes(path.read_bytes()[:-8])
    shutil.rmtree(toy.root / "results")
    with pytest.raises(
        BadRecords, match=r"1 records are refused:\n.*A\.parquet: .* cannot be read"
    ):
        toy.store(partial=partial).check([curve])
    with pytest.raises(BadRecord, match="cannot be read as such"):
        without_published(toy.paper, toy.root)


def test_a_published_record_of_other_code_is_refused_by_name_unless_it_is_labelled(published):
    toy, curve = published, published.curves["p", "A"]
    path = toy.root / curve.published
    kept = curve_file.read(path)[1]
    stale = replace(kept, header={**kept.header, "digest": "f" * 64})
    curve_file.merge(path, curve.columns, {1: stale}, replace=True)
    assert toy.store().made_by_other_code(curve) == ()  # there is a current one of ours
    (toy.root / curve.record(1)).unlink()
    with pytest.raises(BadRecords, match=r"A\.parquet: expected seed 1 .* found ffffffffffff"):
        toy.store().check([curve])
    store = toy.store(partial=True)
    assert store.seeds(curve) == (0, 1) and store.made_by_other_code(curve) == (1,)
    assert_allclose(store.values(curve, "simple_regret")[1], 1 - np.linspace(0, 0.7, 6))
    assert store.of_other_code([curve, curve]) == "1 of 2 records of p/A"
    assert store.mixed() == [
        "1 of 2 records here were made by other code, parameters or data than today's, which may"
        " give other numbers (docs/data.md)."
    ]
    assert toy.store(partial=True).of_other_code([]) == ""


def test_published_records_are_read_where_their_data_are_not(published):
    toy, curve = published, published.curves["p", "A"]
    shutil.rmtree(toy.root / "figures")
    for seed in curve.seeds:
        toy.write(curve, seed, dict(PAIRS["A"](seed)), data_sha256="0" * 64)
    publish(toy.paper, toy.root / "results", toy.root)
    shutil.rmtree(toy.root / "results")
    shutil.rmtree(toy.root / "data")
    assert toy.store().values(curve, "simple_regret").shape == (2, 6)
    with pytest.raises(BadRecords, match="expected the prepared table, found none"):
        toy.store(fresh=True).check([curve])
