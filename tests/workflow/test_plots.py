"""Figures and tables: the same bytes when redrawn, substitutes that cannot be missed, extrapolations that look like such."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from tests.workflow.synthetic import Toy, noisy
from workflow import panels, plots, selection, style, tables
from workflow.plan import PlanError

FIGURE = {
    "id": "f",
    "metric": "cumulative_regret",
    "relative_to": "uniform",
    "curves": ["A", "B"],
    "panels": [{"problem": "p", "title": "P"}],
}


@pytest.fixture
def toy(tmp_path):
    toy = Toy(tmp_path, seeds=3)
    for name, level in (("A", 0.9), ("B", 0.7), ("uniform", 0.4)):
        toy.add(name, noisy(level, 0.05))
    toy.entry["figures"] = [FIGURE]
    return toy


def hashes(paths):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def words(toy, name="f"):
    found = panels.panels_of(toy.paper, toy.store(), name)
    return plots._small_print(toy.paper, name, found), found


def test_redrawn_files_are_the_same_bytes(toy, tmp_path):
    first = plots.draw(toy.paper, toy.store(), "f", tmp_path / "one")
    second = plots.draw(toy.paper, toy.store(), "f", tmp_path / "two")
    assert [path.suffix for path in first] == [".pdf", ".png", ".csv"]
    assert hashes(first) == hashes(second)


def test_csv_holds_what_is_drawn(toy, tmp_path):
    drawn = pd.read_csv(plots.draw(toy.paper, toy.store(), "f", tmp_path)[2])
    last = drawn[(drawn["curve"] == "A") & (drawn["x"] == 60)].iloc[0]
    ratio = toy.store().relative(toy.cells["p", "A"], "cumulative_regret", toy.cells["p", "uniform"])[:, -1]
    assert last["centre"] == pytest.approx(ratio.mean())
    assert last["low"] < last["centre"] < last["high"]
    assert (last["seeds"], last["data"], last["kind"]) == (3, "real", "measured")


def test_small_print_says_scale_seeds_budget_reading_and_data(toy):
    text, _ = words(toy)
    for part in ("toy f", "scale paper", "3 seeds", "60 evaluations", "reading: default", "95 % t interval", "real data"):
        assert part in text


def test_a_substitute_is_in_print_csv_and_panel(tmp_path):
    toy = Toy(tmp_path, scale="quick", data="substitute: a synthetic table", seeds=2)
    for name in ("A", "B", "uniform"):
        toy.add(name, noisy(0.5))
    toy.entry["figures"] = [FIGURE]
    text, found = words(toy)
    assert "SUBSTITUTE: a synthetic table" in text
    assert "real data" not in text
    figure = plots._figure(found, text)
    assert "SUBSTITUTE DATA" in [item.get_text() for item in figure.axes[0].texts]
    assert set(panels.drawn(found)["data"]) == {"substitute: a synthetic table"}


def test_extrapolations_are_labelled_and_lighter(toy):
    toy.add("C", lambda seed: {"true": 0.5, "timing.ask": np.arange(20.0)}, budget=20)
    toy.entry["figures"] = [
        {"id": "f", "metric": "seconds", "curves": ["A", "C"], "extrapolate": {"from": 5, "to": 40}, "panels": [{"problem": "p"}]}
    ]
    lines = panels.panels_of(toy.paper, toy.store(), "f")[0].lines
    assert [bool(line.fitted) for line in lines] == [False, False, True]
    fitted = lines[2]
    assert fitted.label == "C: fitted $t^x$"
    assert 1.9 < float(fitted.fitted.removeprefix("t^")) < 2.3  # sums of 0, 1, 2, ... seconds
    assert (fitted.x[0], fitted.x[-1]) == (20, pytest.approx(40))
    assert plots._looks(fitted)["alpha"] < 1
    assert plots._looks(fitted)["linestyle"] != plots._looks(lines[1])["linestyle"]


def test_panels_of_cut_variants_are_left_out(tmp_path):
    toy = Toy(tmp_path, scale="quick", seeds=2)
    toy.add("A", noisy(0.5), variant="b-1")
    shared = {"metric": "seconds", "problem": "p", "curves": ["A"]}
    toy.entry["figures"] = [
        {"id": "f", **shared, "panels": [{"variant": "b-1", "title": "one"}, {"variant": "b-2", "title": "two"}]},
        {"id": "none", **shared, "panels": [{"variant": "b-2"}]},
    ]
    assert [panel.title for panel in panels.panels_of(toy.paper, toy.store(), "f")] == ["one"]
    with pytest.raises(PlanError, match="leaves out the variants of all its panels"):
        panels.panels_of(toy.paper, toy.store(), "none")


def test_controls_keep_their_default_run(toy):
    toy.add("A", noisy(0.8), variant="b-1")
    toy.entry["figures"] = [
        {"id": "f", "metric": "seconds", "variant": "b-1", "curves": ["A"], "controls": ["B"], "panels": [{"problem": "p"}]}
    ]
    assert [run.name for run in selection.figure_runs(toy.paper, "f")] == ["toy/p/A+b-1", "toy/p/B"]


def test_a_study_gives_a_line_per_column_and_split(toy):
    toy.study("s", lambda seed: {"q": [1, 1, 2, 2], "t": [1, 10, 1, 10], "low": [1, 2, 3, 4 + seed], "high": [2, 3, 4, 5]})
    toy.entry["figures"] = [{"id": "f", "panels": [{"study": "s", "x": "t", "y": ["low", "high"], "split": "q"}]}]
    lines = panels.panels_of(toy.paper, toy.store(), "f")[0].lines
    assert [line.label for line in lines] == ["low, q = 1", "low, q = 2", "high, q = 1", "high, q = 2"]
    assert lines[1].centre.tolist() == [3, 5]


def test_dots_show_every_seed_under_every_planned_reading(toy, tmp_path):
    toy.add("A", noisy(0.3), reading="code")
    toy.entry["figures"] = [
        {"id": "f", "kind": "dots", "metric": "recommendation_regret", "curves": ["A", "B"], "readings": ["default", "code"],
         "panels": [{"problem": "p"}]}
    ]  # fmt: skip
    rows = panels.panels_of(toy.paper, toy.store(), "f")[0].dots
    assert [(row.label, row.hollow) for row in rows] == [("A", False), ("A@code", True), ("B", False)]
    assert len(pd.read_csv(plots.draw(toy.paper, toy.store(), "f", tmp_path)[2])) == 9


def test_an_unknown_figure_names_the_known(toy):
    with pytest.raises(PlanError, match="unknown figure 'g'; known: f"):
        selection.figure_runs(toy.paper, "g")


def test_a_partial_figure_says_what_is_missing(toy):
    for seed in range(3):
        (toy.root / toy.cells["p", "B"].record(seed)).unlink()
    found = panels.panels_of(toy.paper, toy.store(partial=True), "f")
    assert "not run: B" in plots._small_print(toy.paper, "f", found)


def test_looks_are_fixed_distinct_and_readable_in_grey():
    bbkb = ["Global-BBKB", "GlobalLocal-BBKB", "BKB", "GP-UCB", "GP-BUCB", "GP-BUCB-Lemma1", "Async-TS", "eps-greedy", "uniform"]
    looks = [style.look(name) for name in bbkb]
    assert len({look.colour for look in looks}) == len(bbkb)
    assert len({(look.marker, look.dash) for look in looks}) == len(bbkb)
    assert style.look("a method of next year") == style.look("a method of next year")
    assert all(max(np.dot(to_rgb(look.colour), [0.3, 0.59, 0.11]) for look in [style.look(name)]) < 0.8 for name in style.LOOKS)
    assert len({style.look("BKB", n) for n in range(5)}) == 5


def test_several_readings_of_an_algorithm_in_a_panel_look_different(toy):
    toy.entry["readings"]["other"] = {"says": "another", "algorithms": {"A": {"beta": "other"}}}
    for reading in ("code", "other"):
        toy.add("A", noisy(0.4), reading=reading)
    curves = ["A", "A@code", "A@other"]
    toy.entry["figures"] = [{"id": "f", "metric": "simple_regret", "panels": [{"problem": "p", "curves": curves}]}]
    lines = panels.panels_of(toy.paper, toy.store(), "f")[0].lines
    assert len({(line.look.marker, line.look.dash) for line in lines}) == 3
    assert [line.hollow for line in lines] == [False, True, True]
    toy.entry["figures"][0]["panels"][0]["curves"] = ["A", "A@other"]
    assert (
        len({line.look for line in panels.panels_of(toy.paper, toy.store(), "f")[0].lines}) == 1
    )  # hollow markers tell them apart


def test_tables_are_stable_and_count_what_happened(toy, tmp_path):
    toy.add("C", lambda seed: {"true": 1.0 if seed else 0.5, "batch": np.repeat([0, 1, 2, 3], [1, 9, 30, 20])})
    toy.entry["tables"] = [
        {"id": "d", "kind": "diagnostics", "problems": ["p"], "curves": ["A", "C"], "relative_to": "uniform"},
        {"id": "s", "kind": "study", "study": "s", "by": ["q"], "columns": ["low"]},
    ]
    toy.study("s", lambda seed: {"q": [1, 2, 2], "low": [1, 2, 4]})
    table = tables.build(toy.paper, toy.store(), "d")
    row = table.set_index("algorithm").loc["C"]
    assert (row["share stuck"], row["largest batch"], row["mean batch"], row["by seeds"]) == (pytest.approx(1 / 3), 30, 19.5, 3)
    assert row["seconds per 1000 evaluations"] == pytest.approx(1)
    assert tables.as_markdown(toy.paper, "d", table) == tables.as_markdown(
        toy.paper, "d", tables.build(toy.paper, toy.store(), "d")
    )
    assert tables.build(toy.paper, toy.store(), "s")["low"].tolist() == [1, 3]


def test_a_table_of_runs_on_a_box_names_no_arm_but_what_is_reported(toy):
    points = np.array([[0.5, 0.5], [0.1, 0.1], [0.1, 0.4], [0.1, 0.38], [0.9, 0.1], [0.9, 0.1]])
    toy.budget = 6
    batch, depth = np.array([0, 0, 1, 2, 3, 4]), np.arange(6.0)
    made = toy.add("B", lambda seed: {"true": 0.75, "batch": batch, "report.depth": depth, "query": points}, problem="box")
    toy.entry["tables"] = [{"id": "d", "kind": "diagnostics", "problems": ["box"], "curves": ["B"], "reports": ["depth"]}]
    row = tables.build(toy.paper, toy.store(), "d").iloc[0]
    assert "recommended most" not in row
    assert row["recommendation regret"] == 0.25
    assert row["farthest new query"] == pytest.approx(0.4)  # of the fifth from the first, by its largest coordinate
    assert row["depth"] == 5
    toy.entry["tables"][0]["relative_to"] = "uniform"
    toy.add("uniform", noisy(0.5), problem="box")
    for seed in made.seeds:
        (toy.root / toy.cells["box", "uniform"].record(seed)).unlink()
    assert tables.build(toy.paper, toy.store(partial=True), "d").empty  # nothing to divide by


def test_curves_that_name_a_reading_are_called_so(toy):
    toy.add("A", noisy(0.4), reading="code")
    toy.entry["figures"] = [{**FIGURE, "curves": ["A", "A@code"]}]
    assert "reading: see labels" in words(toy)[0]
