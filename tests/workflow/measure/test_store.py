"""Which records a report admits, and what it reads from several of them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.workflow.synthetic import Toy, noisy
from workflow.measure import store as reports
from workflow.measure.store import BadRecords, NotRun
from workflow.plan.selection import figure_runs
from workflow.trace import record


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path, budget=6, seeds=2)


def test_an_unknown_optimum_is_the_best_value_of_all_runs_on_the_problem(tmp_path):
    toy = Toy(tmp_path, budget=3, seeds=2)
    one = toy.add("A", lambda seed: {"true": [0.2, 0.5 + seed / 10, 0.1]}, problem="open")
    # it decides, whatever is drawn
    toy.add("B", lambda seed: {"true": [0.2, 0.3, 0.9]}, problem="open", seeds=1)
    for seed in one.seeds:
        header, columns = (
            record.read(toy.root / one.record(seed)).header,
            record.read(toy.root / one.record(seed)).columns,
        )
        record.write(toy.root / one.record(seed), {**header, "best": None}, columns)
    store = toy.store()
    assert_allclose(store.values(one, "simple_regret"), [[0.7, 0.4, 0.4], [0.7, 0.3, 0.3]])
    assert store.record(one, 0).header["best_kind"] == "best-seen"
    toy.entry["figures"] = [
        {"id": "f", "panels": [{"problem": "open", "metric": "simple_regret", "curves": ["A"]}]}
    ]
    assert {cell.name for cell in figure_runs(toy.paper, "f")} == {"toy/open/A", "toy/open/B"}


def test_ratio_divides_by_the_mean_over_seeds(toy):
    cell, uniform = (
        toy.add("A", lambda seed: {"true": 0.7}),
        toy.add("uniform", lambda seed: {"true": 0.5 - 0.1 * seed}),
    )
    assert_allclose(toy.store().relative(cell, "cumulative_regret", uniform), 0.3 / 0.55)


def test_ratio_is_undefined_while_the_denominator_is_zero(toy):
    cell, uniform = (
        toy.add("A", lambda seed: {"true": 0.5}),
        toy.add("uniform", lambda seed: {"true": [1, 0, 0, 0, 0, 0]}),
    )
    ratio = toy.store().relative(cell, "cumulative_regret", uniform)
    assert np.isnan(ratio[:, 0]).all()
    assert_allclose(ratio[:, 1], 1.0)


def test_every_refused_record_is_named(toy):
    """One error for missing, stale, copied, cut off, half-written and too short records."""
    cells = {name: toy.add(name, noisy(0.5)) for name in ("A", "B", "C", "uniform")}
    (toy.root / cells["A"].record(0)).unlink()
    toy.write(cells["A"], 1, {"true": 0.5}, digest="f" * 64)
    toy.write(cells["B"], 1, {"true": 0.5}, seed=0)
    toy.write(cells["B"], 0, {"true": 0.5}, status="cutoff")
    (toy.root / cells["C"].record(0)).write_bytes(b"PAR1")
    toy.write(
        replace(cells["C"], budget=3),
        1,
        {"true": 0.5},
        digest=toy.store().record(cells["C"], 1).header["digest"],
    )
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
    monkeypatch.setattr(reports.fetch, "provenance", lambda path: {"content_sha256": "1" * 64})
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


def test_the_best_value_seen_is_a_feasible_one(tmp_path):
    toy = Toy(tmp_path, budget=3, seeds=2)
    one = toy.add(
        "A",
        lambda seed: {"true": [0.2, 0.5, 0.9], "true_g": np.array([[0.0], [-1], [1]])},
        problem="open",
    )
    assert_allclose(toy.store().values(one, "simple_regret"), [[0.3, 0, -0.4]] * 2)
    toy.add(
        "B",
        lambda seed: {
            "true": [0.8, 0.6, 0.7 + seed / 100],
            "true_g": np.array([[1.0], [-1], [-1]]),
        },
        problem="open",
    )
    store = toy.store()
    assert store.record(one, 0).header["best"] == pytest.approx(0.71)
    assert store.record(one, 0).header["best_kind"] == "best-seen"


def test_a_record_names_the_versions_of_the_libraries_that_its_problem_belongs_to(toy):
    cell = toy.add("A", noisy(0.5))
    assert toy.store().versions(cell) == []
    named = replace(
        cell, problem_entry={**cell.problem_entry, "libraries": ["mujoco", "numpy", "gymnasium"]}
    )
    toy.cells["p", "A"] = named
    for seed in named.seeds:
        toy.write(
            named,
            seed,
            {"true": 0.5},
            provenance={"libraries": {"numpy": "2.0.1", "mujoco": "3.3.7", "scipy": "1"}},
        )
    assert toy.store().versions(named) == ["mujoco 3.3.7", "numpy 2.0.1", "gymnasium unknown"]
    for seed in named.seeds:
        toy.write(
            named,
            seed,
            {"true": 0.5},
            data="substitute: none of it",
            provenance={"libraries": {"numpy": "2.0.1"}},
        )
    assert toy.store().versions(named) == [
        "mujoco not installed",
        "numpy 2.0.1",
        "gymnasium not installed",
    ]
