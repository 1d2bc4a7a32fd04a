"""Figures and tables: the same bytes when redrawn, substitutes that cannot be missed,
extrapolations that look like such.
"""

import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from scipy import stats

from tests.workflow import synthetic
from tests.workflow.draw.pictures import hashes
from tests.workflow.judge.claimed import claim
from tests.workflow.synthetic import PROVENANCE, Toy, noisy, publish
from workflow.draw import panels, plots, report, style, tabulate
from workflow.measure import store
from workflow.measure.store import BadRecords
from workflow.operate import publish as operate
from workflow.plan import selection
from workflow.plan.lines import Drawing, FigureLine
from workflow.trace import curve_file
from workflow.trace.curves import PlanError

FIGURE = {"id": "f", "metric": "cumulative_regret", "relative_to": "uniform"}
FIGURE |= {"curves": ["A", "B"], "panels": [{"problem": "p", "title": "P"}]}


@pytest.fixture
def toy(tmp_path):
    toy = Toy(tmp_path, seeds=3)
    for name, level in (("A", 0.9), ("B", 0.7), ("uniform", 0.4)):
        toy.add(name, noisy(level, 0.05))
    toy.entry["figures"] = [FIGURE]
    return toy


def of_figure(toy, *shown, partial=False, **options):
    """The panels of a figure."""
    toy.entry["figures"] = [{"id": "f", **options, "panels": list(shown)}]
    return panels.panels_of(toy.paper, toy.store(partial=partial), "f")


def note_of(toy, found):
    """The small print below these panels."""
    line = selection.line_of(toy.paper, "figures", "f", FigureLine)
    return plots.small_print(toy.paper, line, found)


def words(toy):
    found = panels.panels_of(toy.paper, toy.store(), "f")
    return note_of(toy, found), found


def test_a_whole_report_draws_the_same_bytes_and_reads_each_record_once(toy, tmp_path, monkeypatch):
    """Of A what is published, which is one file."""
    one, two = tmp_path / "one", tmp_path / "two"
    first = plots.draw(toy.paper, toy.store(), "f", one, printed=True)
    assert [path.suffix for path in first] == [".png", ".pdf", ".csv", ".json"]
    toy.entry["claims"] = [claim(null_model=[{"instead": "uniform", "because": "so it is"}])]
    line = {"id": "t", "kind": "diagnostics", "problems": ["p"], "curves": ["A", "B"]}
    toy.entry["tables"] = [line]
    operate.publish(toy.paper, toy.root / "results", toy.root)
    toy.drop(toy.curves["p", "A"])
    reads = Counter()
    for module in (store, curve_file):

        def counted(path, read=module.read):
            reads[path] += 1
            return read(path)

        monkeypatch.setattr(module, "read", counted)
    assert report.complaints(toy.store(), report.everything(toy.paper), two, printed=True) == {}
    assert hashes([two / path.name for path in first]) == hashes(first)
    published = toy.root / toy.curves["p", "A"].published
    assert len(reads) == 7 and published in reads and {*reads.values()} == {1}


def ratio_of_a(toy):
    """What the figure draws of A: a row a seed."""
    a, uniform = toy.curves["p", "A"], toy.curves["p", "uniform"]
    return toy.store().relative(a, "cumulative_regret", uniform)


def test_csv_holds_what_is_drawn(toy, tmp_path):
    drawn = pd.read_csv(plots.draw(toy.paper, toy.store(), "f", tmp_path)[1])
    last = drawn[(drawn["curve"] == "A") & (drawn["x"] == 60)].iloc[0]
    assert last["centre"] == pytest.approx(ratio_of_a(toy)[:, -1].mean())
    assert last["low"] < last["centre"] < last["high"]
    assert (last["seeds"], last["data"], last["kind"]) == (3, "real", "measured")


@pytest.mark.parametrize(
    ("scale", "data", "said", "is_across"),
    [
        ("short", "substitute: a table", "SUBSTITUTE: a table", True),
        ("paper", "unverified: b of sha256 ab", "UNVERIFIED DATA: b of sha256 ab", False),
    ],
)
def test_data_that_are_not_the_papers_are_in_print_csv_and_panel(
    tmp_path, scale, data, said, is_across
):
    toy = Toy(tmp_path, scale=scale, data=data, seeds=2)
    for name in ("A", "B", "uniform"):
        toy.add(name, noisy(0.5))
    toy.entry["figures"] = [FIGURE]
    text, found = words(toy)
    assert said in text and "real data" not in text
    figure = plots._figure(found, text)
    shown = [item.get_text() for item in figure.axes[0].texts]
    assert ("SUBSTITUTE DATA" in shown) is is_across
    assert set(panels.drawn(found)["data"]) == {data}


def test_extrapolations_are_labelled_and_lighter(toy):
    toy.add("C", lambda seed: {"true": 0.5, "timing.ask": np.arange(20.0)}, budget=20)
    line = {"problem": "p", "metric": "seconds", "curves": ["A", "C"]}
    lines = of_figure(toy, {**line, "extrapolate": {"from": 5, "to": 40}})[0].lines
    assert [bool(line.fitted) for line in lines] == [False, False, True]
    fitted = lines[2]
    assert fitted.label == "C: fitted $t^x$"
    assert 1.9 < float(fitted.fitted.removeprefix("t^")) < 2.3  # sums of 0, 1, 2, ... seconds
    assert (fitted.x[0], fitted.x[-1]) == (20, pytest.approx(40))
    assert plots._looks(fitted)["alpha"] < 1
    assert plots._looks(fitted)["linestyle"] != plots._looks(lines[1])["linestyle"]


def test_figures_of_seconds_say_which_processors_took_them(toy):
    elsewhere = {**PROVENANCE, "machine": "Linux x86_64, Fast (TM), 2 cores"}
    toy.write(toy.curves["p", "A"], 1, noisy(0.9, 0.05)(1), provenance=elsewhere)
    toy.study("s", lambda _: {"t": [1, 2], "timing.y": [1, 2]})
    curves, study = {"problem": "p", "curves": ["A"]}, {"study": "s", "x": "t", "y": "timing.y"}
    for panel, said in (
        ({**curves, "metric": "seconds"}, "timed on one thread of Fast (TM), M"),
        (study, "timed on one thread of M"),
        ({**curves, "metric": "simple_regret"}, ""),
    ):
        parts = note_of(toy, of_figure(toy, panel)).split(" · ")
        assert [part for part in parts if "timed on" in part] == [said] * bool(said)


def publishing(toy, monkeypatch, lines, **panel):
    """A figure of a paper that publishes numbers of curve A, and of one that no panel has."""
    publish(toy, monkeypatch, {"e": [{"panel": "f", "problem": "p", "metric": "seconds"}]}, lines)
    return of_figure(toy, {"problem": "p", **panel}, metric="seconds", curves=["A"])


def test_published_ends_stand_as_marks_within_the_axis(toy, monkeypatch):
    found = publishing(toy, monkeypatch, ["f,A,,900", "f,B,,1"])
    assert [(mark.label, mark.value) for mark in found[0].marks] == [("A", 900.0)]
    assert found[0].marks[0].look == found[0].lines[0].look
    note = note_of(toy, found)
    ax = plots._figure(found, note).axes[0]
    assert ax.get_ylim()[1] >= 900.0
    assert [words.xy for words in ax.texts] == [(1, 900.0)]
    assert to_rgb(ax.texts[0].get_color()) == to_rgb(found[0].lines[0].look.colour)
    assert "triangles at the right: published ends" in note


def test_a_published_curve_is_drawn_dashed_in_the_colour_of_its_method(toy, monkeypatch):
    found = publishing(toy, monkeypatch, ["f,A,10,2", "f,A,20,3"])
    note = note_of(toy, found)
    first = plots._figure(found, note).axes[0].lines[0]
    assert first.get_xydata().tolist() == [[10, 2], [20, 3]]
    assert to_rgb(first.get_color()) == to_rgb(found[0].lines[0].look.colour)
    assert first.get_linestyle() != found[0].lines[0].look.dash
    assert note.count("lines without marks: published") == 1


def test_what_was_not_published_is_not_drawn(toy, monkeypatch):
    found = publishing(toy, monkeypatch, ["f,B,,900"])[0]
    assert (found.marks, found.published) == ([], [])
    publishing(toy, monkeypatch, ["f,A,,9"])

    def published(**more):
        said = {"problem": "p", "metric": "seconds", "curves": ["A"], **more}
        return list(selection.published_series(toy.paper, Drawing(**said)))

    assert published() == ["A"]
    assert published(curves=["A", "A@code"]) == ["A"]  # one number is drawn once
    assert published(variant="b-1") == published(metric="batches") == []


def test_controls_keep_their_default_run(toy):
    toy.add("A", noisy(0.8), variant="b-1")
    shown = {"metric": "seconds", "variant": "b-1", "curves": ["A"], "controls": ["B"]}
    of_figure(toy, {"problem": "p"}, **shown)
    assert [run.name for run in selection.figure_runs(toy.paper, "f")] == ["toy/p/A+b-1", "toy/p/B"]


def test_a_study_gives_a_line_per_column_and_split(toy):
    columns = {"q": [1, 1, 2, 2], "t": [1, 10, 1, 10], "high": [2, 3, 4, 5]}
    toy.study("s", lambda seed: {**columns, "low": [1, 2, 3, 4 + seed]})
    (panel,) = of_figure(toy, {"study": "s", "x": "t", "y": ["low", "high"], "split": "q"})
    lines = panel.lines
    named = [f"{column}, q = {q}" for column in ("low", "high") for q in (1, 2)]
    assert [line.label for line in lines] == named
    assert lines[1].centre.tolist() == [3, 5]


def test_rows_that_only_longer_seeds_have_are_drawn_and_tabulated(toy):
    toy.study("s", lambda seed: {"t": [1, 2, 3][: 3 - seed % 2], "y": [1, 2, 6][: 3 - seed % 2]})
    (panel,) = of_figure(toy, {"study": "s", "x": "t", "y": "y"})
    assert panel.lines[0].centre.tolist() == [1, 2, 6]
    means = {"id": "m", "kind": "study", "study": "s", "by": ["t"], "columns": ["y"]}
    toy.entry["tables"] = [means]
    assert tabulate.build(toy.paper, toy.store(), "m")["y"].tolist() == [1, 2, 6]


def test_a_legend_has_the_names_that_a_figure_gives(toy):
    toy.study("s", lambda seed: {"t": [1, 2], "low": [1, 2], "high": [2, 3]})
    given = {"A": "the first", "low": "smallest"}
    study = {"id": "g", "names": given, "panels": [{"study": "s", "x": "t", "y": ["low", "high"]}]}
    toy.entry["figures"] = [{**FIGURE, "names": given}, study]
    labels = [
        [line.label for line in panels.panels_of(toy.paper, toy.store(), name)[0].lines]
        for name in "fg"
    ]
    assert labels == [["the first", "B"], ["smallest", "high"]]


def test_a_study_split_by_methods_has_their_looks(toy):
    toy.study("s", lambda seed: {"m": [0, 1, 2], "t": [1, 1, 1], "y": [1, 2, 3]})
    line = {"study": "s", "x": "t", "y": "y", "split": "m", "names": {"0": "other", "1": "GO-UCB"}}
    other, named, unnamed = of_figure(toy, line)[0].lines
    assert named.look == style.look("GO-UCB")
    for part in ("colour", "marker"):
        assert len({getattr(line.look, part) for line in (other, named, unnamed)}) == 3
    lines = of_figure(toy, {**line, "names": {}})[0].lines
    assert [line.look for line in lines] == [style.column_look(n) for n in range(3)]


def test_a_fit_is_the_mean_of_those_of_the_seeds(toy):
    """Of medians it would be that of the seed in the middle."""
    t = np.array([1.0, 2.0, 4.0, 8.0])
    toy.study("s", lambda seed: {"t": t, "y": t ** [1.0, 1.2, 3.0][seed]})
    panel = {"study": "s", "x": "t", "y": "y", "band": "iqr", "fit": {"from": 2}}
    assert above(of_figure(toy, panel)) == ["fitted, mean over the seeds: y t^1.73"]


def test_dots_show_every_seed_under_every_planned_reading(toy, tmp_path):
    toy.add("A", noisy(0.3), reading="code")
    shown = {"kind": "dots", "metric": "recommendation_regret", "curves": ["A", "B"]}
    (panel,) = of_figure(toy, {"problem": "p"}, **shown, readings=["default", "code"])
    assert [row.label for row in panel.dots] == ["A", "A@code", "B"]
    assert [row.hollow for row in panel.dots] == [False, True, False]
    assert len(pd.read_csv(plots.draw(toy.paper, toy.store(), "f", tmp_path)[1])) == 9


def test_a_band_may_be_one_standard_error(toy):
    toy.entry["figures"] = [{**FIGURE, "band": "se"}]
    text, (panel,) = words(toy)
    assert "mean and one standard error" in text
    line, ratio = panel.lines[0], ratio_of_a(toy)
    assert line.centre == pytest.approx(ratio.mean(axis=0))
    assert (line.centre - line.low) == pytest.approx(stats.sem(ratio, axis=0))
    assert (line.high - line.centre) == pytest.approx(stats.sem(ratio, axis=0))


@pytest.mark.parametrize("band", ["ci95", "ci95-log", "iqr", "none"])
def test_a_regret_of_zero_is_no_number_on_a_logarithmic_axis(tmp_path, band):
    """A reaches the optimum after 30 evaluations, in some seeds earlier; B is there from the
    beginning.
    """
    toy = Toy(tmp_path, seeds=3)
    toy.add("A", lambda seed: {"true": np.where(np.arange(60) < 30 - 10 * seed, 0.5, 1.0)})
    toy.add("B", lambda seed: {"true": 1.0})
    shown = {"metric": "simple_regret", "yscale": "log", "band": band}
    shown["lines"] = {"none": 0.0, "some": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = of_figure(toy, {"problem": "p", "curves": ["A", "B"]}, **shown)
        ax = axes_of(found)
        plots.draw(toy.paper, toy.store(), "f", tmp_path / "out")
        alone = {"problem": "p", "curves": ["B"], "lines": {"none": 0.0}}
        assert np.isfinite(axes_of(of_figure(toy, alone, **shown)).get_ylim()).all()
    a, b = (line.get_ydata() for line in ax.lines[:2])
    assert np.isnan(a[30:]).all() and np.isnan(b).all()
    centre = found[0].lines[0].centre
    assert a[:30][centre[:30] > 0].tolist() == centre[:30][centre[:30] > 0].tolist() != []
    assert 0 < ax.get_ylim()[0] < 0.5 <= ax.get_ylim()[1]
    assert [text.get_text() for text in ax.texts] == ["some"]
    drawn = pd.read_csv(tmp_path / "out" / "f.csv")
    if band != "ci95-log":  # the geometric mean of a zero is none
        assert (drawn[drawn["curve"] == "B"]["centre"] == 0).all()


def test_looks_are_fixed_distinct_and_readable_in_grey():
    bbkb = ["Global-BBKB", "GlobalLocal-BBKB", "BKB", "GP-UCB", "GP-BUCB", "GP-BUCB-Lemma1"]
    bbkb += ["Async-TS", "eps-greedy", "uniform"]
    looks = [style.look(name) for name in bbkb]
    assert len({look.colour for look in looks}) == len(bbkb)
    assert len({(look.marker, look.dash) for look in looks}) == len(bbkb)
    assert style.look("a method of next year") == style.look("a method of next year")
    grey = [0.3, 0.59, 0.11]
    assert all(np.dot(to_rgb(style.look(name).colour), grey) < 0.8 for name in style.LOOKS)
    assert len({style.look("BKB", n) for n in range(5)}) == 5


def test_several_readings_of_an_algorithm_in_a_panel_look_different(toy):
    toy.reading("other", A={"beta": "other"})
    for reading in ("code", "other"):
        toy.add("A", noisy(0.4), reading=reading)
    lines = of_panels(toy, {"problem": "p", "curves": ["A", "A@code", "A@other"]})[0].lines
    assert len({(line.look.marker, line.look.dash) for line in lines}) == 3
    assert len({line.look.colour for line in lines}) == 3
    assert lines[0].look == style.look("A")
    assert [line.hollow for line in lines] == [False, True, True]
    lines = of_panels(toy, {"problem": "p", "curves": ["A", "A@other"]})[0].lines
    assert len({line.look for line in lines}) == 1  # hollow markers tell them apart


def test_tables_are_stable_and_count_what_happened(toy, tmp_path):
    batch = np.repeat([0, 1, 2, 3], [1, 9, 30, 20])
    toy.add("C", lambda seed: {"true": 1.0 if seed else 0.5, "batch": batch})
    ends = {"id": "d", "kind": "diagnostics", "problems": ["p"], "curves": ["A", "C"]}
    means = {"id": "s", "kind": "study", "study": "s", "by": ["q"], "columns": ["low"]}
    toy.entry["tables"] = [{**ends, "relative_to": "uniform"}, means]
    toy.study("s", lambda seed: {"q": [1, 2, 2], "low": [1, 2, 4]})
    table = tabulate.build(toy.paper, toy.store(), "d")
    row = table.set_index("algorithm").loc["C"]
    assert row["share stuck"] == pytest.approx(1 / 3)
    assert (row["largest batch"], row["mean batch"], row["by seeds"]) == (30, 19.5, 3)
    assert row["seconds per 1000 evaluations"] == pytest.approx(1)
    again = tabulate.build(toy.paper, toy.store(), "d")
    one, other = (tabulate.as_markdown(toy.paper, "d", each) for each in (table, again))
    assert one == other
    assert tabulate.build(toy.paper, toy.store(), "s")["low"].tolist() == [1, 3]


def test_a_table_marks_the_runs_in_which_a_reading_changes_nothing(toy, tmp_path):
    toy.add("A", noisy(0.9, 0.05), reading="code")  # as by default
    toy.add("B", noisy(0.3), reading="code")
    shown = {"problems": ["p"], "curves": ["A", "B"], "readings": ["default", "code"]}
    toy.entry["tables"] = [{"id": "t", "kind": "diagnostics", **shown}]
    table, text = tabulate.draw(toy.paper, toy.store(), "t", tmp_path / "out")
    marks = ["default", "code (same run)", "default", "code"]
    assert pd.read_csv(table)["reading"].tolist() == marks
    assert "Same run: " in text.read_text(encoding="utf-8")


def test_a_table_of_runs_on_a_box_names_no_arm_but_what_is_reported(toy):
    points = np.array([[0.5, 0.5], [0.1, 0.1], [0.1, 0.4], [0.1, 0.38], [0.9, 0.1], [0.9, 0.1]])
    toy.budget = 6
    batch, depth = np.array([0, 0, 1, 2, 3, 4]), np.arange(6.0)
    columns = {"true": 0.75, "batch": batch, "report.depth": depth, "query": points}
    made = toy.add("B", lambda seed: columns, problem="box")
    line = {"id": "d", "kind": "diagnostics", "problems": ["box"], "curves": ["B"]}
    toy.entry["tables"] = [{**line, "reports": ["depth"]}]
    row = tabulate.build(toy.paper, toy.store(), "d").iloc[0]
    assert "recommended most" not in row
    assert row["recommendation regret"] == 0.25
    # of the fifth from the first, by its largest coordinate
    assert row["farthest new query"] == pytest.approx(0.4)
    assert row["depth"] == 5
    toy.entry["tables"][0]["relative_to"] = "uniform"
    toy.add("uniform", noisy(0.5), problem="box")
    toy.drop(toy.curves["box", "uniform"], made.seeds)
    assert tabulate.build(toy.paper, toy.store(partial=True), "d").empty  # nothing to divide by


INF, NAN = np.inf, np.nan


def band(*seeds):
    """Centre and edges, as lists, of median and quartiles over these seeds."""
    with np.errstate(all="raise"):
        return [edge.tolist() for edge in panels._band(np.array(seeds, dtype=float), "iqr")]


def test_quartiles_of_seeds_that_may_have_found_nothing():
    for values, low, centre, high in [
        ([1, 2, 3, 4, 5], 2, 3, 4),
        ([1, 2, 3, 4, INF], 2, 3, 4),  # of five seeds the quartiles are the second and the fourth
        ([1, 2, 3, INF, INF], 2, 3, INF),
        ([1, 2, INF, INF, INF], 2, NAN, INF),
        ([1, INF, INF, INF, INF], INF, NAN, INF),
        ([INF] * 5, INF, NAN, INF),
        ([1, 2, 3, INF], 1.75, 2.5, INF),  # the upper quartile lies between 3 and infinity
        ([1, 2, INF, INF], 1.75, NAN, INF),  # the median does
        ([-7, -7, -7, INF], -7, -7, INF),
        ([INF, 1e9, 1e-9], (1e9 + 1e-9) / 2, 1e9, INF),
    ]:
        one = [[value] for value in values]
        assert np.ravel(band(*one)).tolist() == pytest.approx([centre, low, high], nan_ok=True)
        # other evaluations are left alone
        beside = band(*[[5.0, *value, float(seed)] for seed, value in enumerate(one)])
        assert [edge[1] for edge in beside] == pytest.approx([centre, low, high], nan_ok=True)
        assert [edge[0] for edge in beside] == [5, 5, 5]
        shares = np.quantile(range(len(values)), [0.5, 0.25, 0.75])
        assert [edge[2] for edge in beside] == shares.tolist()


def test_table_and_figure_have_the_same_median_and_quartiles():
    for seeds in [[-2.549, -1.1], [1, 2, 3, INF], [1, 2, INF, INF], [INF], [7]]:
        centre, low, high = np.ravel(band(*[[value] for value in seeds]))
        found = tabulate._quartiles(np.array(seeds, dtype=float))
        assert found == pytest.approx([low, INF if np.isnan(centre) else centre, high])


def feasible_after(toy, name, first, **options):
    """Runs that reach 10 - 1 at this evaluation, one less at each later one; nothing is feasible
    before.
    """

    def columns(seed):
        t = np.arange(1, options.get("budget", toy.budget) + 1)
        g = np.where(t >= first[seed], -1.0, 1.0)[:, None]
        return {"true": t - first[seed] - 9.0, "true_g": g}

    return toy.add(name, columns, seeds=len(first), **options)


def progress(toy, curves=("A",), **panel):
    """The panels of a figure of best feasible values."""
    shown = {"problem": "p", "curves": list(curves), "metric": "best_feasible", **panel}
    return of_figure(toy, {"band": "iqr", **shown}, partial=True)


def axes_of(found):
    figure = plots._figure(found, "")
    figure.draw_without_rendering()
    plots.plt.close(figure)
    return figure.axes[0]


def of_two_points(ax):
    """The lines that are levels, or bars at the end of curves."""
    return [line for line in ax.lines if len(line.get_xdata()) == 2]


def filled(ax):
    """The corners of every filled band."""
    return [
        np.vstack([path.vertices for path in item.get_paths()])
        for item in ax.collections
        if item.get_paths()
    ]


def test_a_curve_begins_where_half_the_seeds_are_feasible_and_its_band_is_open_above(tmp_path):
    """Five seeds, feasible from evaluations 1, 3, 5, 7 on and never."""
    toy = Toy(tmp_path, budget=10)
    feasible_after(toy, "A", [1, 3, 5, 7, INF])
    found = progress(toy)
    (line,) = found[0].lines
    assert np.isnan(line.centre[:4]).all() and line.centre[4:].tolist() == [9, 8, 7, 6, 5, 4]
    assert np.isinf(line.low[:2]).all() and line.low[2:].tolist() == [9, 8, 7, 6, 5, 4, 3, 2]
    assert np.isinf(line.high[:6]).all() and line.high[6:].tolist() == [9, 8, 7, 6]
    assert (line.n, line.absent) == (5, 1)
    ax = axes_of(found)
    top = ax.get_ylim()[1]
    assert np.isfinite(ax.get_ylim()).all() and top >= 9
    closed, opened = sorted(filled(ax), key=lambda corners: corners[:, 1].max())
    assert opened[:, 1].max() == pytest.approx(top)
    assert opened[:, 0].min() == 3  # where a quarter of the seeds is feasible
    assert 6 <= opened[:, 0].max() <= closed[:, 0].min() <= 7  # where three quarters are
    assert closed[:, 0].max() == 10
    assert (opened[:, 1].min(), closed[:, 1].max()) == (6, 9)
    assert "seeds without a feasible point: A 1 of 5" in [_plain(text) for text in ax.texts]


def _plain(text):
    return text.get_text().replace("\N{NO-BREAK SPACE}", " ")


def test_a_curve_of_seeds_that_are_all_feasible_or_none_has_no_open_band(tmp_path):
    toy = Toy(tmp_path, budget=10)
    feasible_after(toy, "A", [1] * 5)
    found = progress(toy)
    assert found[0].lines[0].absent == 0
    ax = axes_of(found)
    assert len(filled(ax)) == 1
    assert not [text for text in ax.texts if "feasible" in text.get_text()]
    feasible_after(toy, "A", [INF] * 5)
    found = progress(toy)
    assert np.isnan(found[0].lines[0].centre).all()
    ax = axes_of(found)
    assert np.isfinite(ax.get_ylim()).all()
    assert filled(ax) == []
    assert "seeds without a feasible point: A 5 of 5" in [_plain(text) for text in ax.texts]
    drawn = pd.read_csv(plots.draw(toy.paper, toy.store(), "f", tmp_path / "out")[1])
    assert drawn["centre"].isna().all()
    assert (drawn["low"] == INF).all()


def test_a_line_stays_in_sight_beside_an_open_band(tmp_path):
    toy = Toy(tmp_path, budget=10)
    feasible_after(toy, "A", [1, 3, 5, 7, INF])
    for level in (-40.0, 2.0, 60.0):
        low, high = axes_of(progress(toy, lines={"best known": level})).get_ylim()
        assert low <= level <= high


def test_all_curves_end_with_the_shortest_where_a_panel_says_so(tmp_path):
    toy = Toy(tmp_path, seeds=3)
    falling = -np.arange(60.0, 0, -1)
    for name, length in (("A", 60), ("B", 30), ("C", 45)):
        columns = {"true": falling, "report.iteration": np.minimum(np.arange(60.0), length)}
        toy.add(name, lambda seed, columns=columns: columns)
    toy.add("uniform", lambda seed: {"true": falling[:20]}, budget=20)
    by_iteration = {"curves": ["A", "B", "C"], "metric": "best_feasible_by_iteration"}
    assert [line.x[-1] for line in progress(toy, **by_iteration)[0].lines] == [60, 31, 46]
    panel = progress(toy, **by_iteration, shortest=True)[0]
    assert (panel.xlabel, panel.ylabel) == ("iterations k", "best feasible objective (unit of f)")
    for line in panel.lines:
        assert line.x.tolist() == list(range(1, 32))
        assert len(line.x) == len(line.centre) == len(line.low) == len(line.high)
    assert [line.centre[29] for line in panel.lines] == [31, 31, 31]
    assert [line.centre[-1] for line in panel.lines] == [30, 1, 30]
    one, other = progress(toy, ["A", "uniform"], shortest=True)[0].lines
    assert (one.x[-1], one.centre[-1], other.x[-1]) == (20, 41, 20)
    toy.drop(toy.curves["p", "B"], range(3))
    left = progress(toy, **by_iteration, shortest=True)[0]
    assert [line.x[-1] for line in left.lines] == [46, 46]  # what was not run cuts nothing


LEVELS = {"best known": {"study": "s", "column": "best"}, "optimum": 2.5}


def test_a_line_may_be_the_median_of_a_study_and_is_left_out_where_that_was_not_run(toy):
    study = toy.study("s", lambda seed: {"best": [9.0, 1.0, 4.0][seed : seed + 1], "other": [0.0]})
    (panel,) = progress(toy, lines=LEVELS)
    assert panel.levels == {"best known": 4.0, "optimum": 2.5}
    ax = axes_of([panel])
    assert {"best known", "optimum"} <= {text.get_text() for text in ax.texts}
    assert [float(line.get_ydata()[0]) for line in of_two_points(ax)] == [4.0, 2.5]
    runs = {run.name for run in selection.figure_runs(toy.paper, "f")}
    assert runs == {"toy/studies/s", "toy/p/A"}
    (toy.root / study.record(0)).unlink()
    # of the seeds that there are, 1 and 4
    assert progress(toy, lines=LEVELS)[0].levels["best known"] == 2.5
    toy.drop(study, (1, 2))
    (panel,) = progress(toy, lines=LEVELS)
    assert panel.levels == {"optimum": 2.5}
    assert "best known" not in {text.get_text() for text in axes_of([panel]).texts}
    with pytest.raises(BadRecords, match="3 records are refused"):
        panels.panels_of(toy.paper, toy.store(), "f")


def test_a_line_of_a_study_that_is_not_planned_is_a_mistake(toy):
    progress(toy)
    toy.entry["figures"][0]["panels"][0]["lines"] = LEVELS
    with pytest.raises(PlanError, match="unknown study 's'"):
        selection.figure_runs(toy.paper, "f")
    toy.study("s", lambda seed: {"other": [0.0]})
    with pytest.raises(PlanError, match="study s: no column 'best'; known: other"):
        panels.panels_of(toy.paper, toy.store(), "f")


def test_a_panel_of_a_study_may_have_such_lines_too(toy):
    """Also where a partial report has no record of the study itself or of that of the line."""
    for run in ["s t", "s", "t", ""]:
        for name in ("s", "t"):
            study = toy.study(name, lambda seed: {"t": [1, 2, 3], "best": [4.0, 5.0, 6.0]})
            if name not in run:
                toy.drop(study)
        panel = {"study": "t", "x": "t", "y": "best", "lines": LEVELS}
        found = of_figure(toy, panel, partial=True)
        texts = {text.get_text() for text in axes_of(found).texts}
        assert ("best known" in texts) is (run == "s t")
        assert ("optimum" in texts) is ("t" in run.split())  # an empty panel has no numbers
        assert ("not run: t" in texts) is ("t" not in run.split())
        assert (found[0].xlabel, found[0].ylabel) == ("t", "best")


def test_small_print_names_the_versions_that_values_belong_to(toy):
    for name, version in (("A", "3.3.7"), ("B", "3.3.6")):
        made = toy.curves["p", name]
        made.problem_entry["libraries"] = ["mujoco"]
        for seed in made.seeds:
            toy.write(made, seed, {"true": 0.5}, provenance={"libraries": {"mujoco": version}})
    progress(toy, ["A", "B", "uniform"])
    text, found = words(toy)
    assert found[0].versions == {"mujoco 3.3.7", "mujoco 3.3.6"}
    assert " · mujoco 3.3.6, mujoco 3.3.7" in text
    progress(toy, ["uniform"])
    assert "mujoco" not in words(toy)[0]


def test_a_table_of_settings_holds_what_is_published_at_any_scale(tmp_path, monkeypatch):
    published, here = Toy(tmp_path), Toy(tmp_path, scale="short")
    for place, qbar in ((published, {"p": 3, "q": 0.25}), (here, {"p": 1, "q": 1})):
        for problem in "pq":
            for name in "AB":
                made = place.add(name, noisy(0.5), problem=problem, seeds=1)
                more = {"qbar": qbar[problem], "limits": [0.1, "T"], "fit": {"steps": 5}}
                entry = {**made.algorithm_entry, **more}
                place.curves[problem, name] = replace(made, algorithm_entry=entry)
    asked = []
    monkeypatch.setattr(tabulate, "load", lambda *which: asked.append(which) or published.paper)
    settings = {"B": ["qbar", "limits", "fit.steps"], "A": ["beta"]}
    line = {"id": "t", "kind": "settings", "problems": ["p", "q"], "settings": settings}
    here.entry["tables"] = [line]
    table = tabulate.build(here.paper, here.store(), "t")
    assert table.to_dict("records") == [
        {"algorithm": "B", "parameter": "qbar", "p": "3", "q": "0.25"},
        {"algorithm": "B", "parameter": "limits", "p": "[0.1, 'T']", "q": "[0.1, 'T']"},
        {"algorithm": "B", "parameter": "fit.steps", "p": "5", "q": "5"},
        {"algorithm": "A", "parameter": "beta", "p": "theorem", "q": "theorem"},
    ]
    assert asked == [("toy", "paper")]
    assert selection.table_runs(here.paper, "t") == []
    assert "| B | qbar | 3 | 0.25 |" in tabulate.as_markdown(here.paper, "t", table)


def tabulated(toy, monkeypatch, published=None, **options):
    """The rows of a table of a parameter of A and B on p and q."""
    monkeypatch.setattr(tabulate, "load", lambda *which: (published or toy).paper)
    line = {"id": "t", "kind": "parameters", "parameter": "qbar"}
    toy.entry["tables"] = [{**line, "algorithms": ["A", "B"], "problems": ["p", "q"]}]
    return tabulate.build(toy.paper, toy.store(**options), "t").to_dict("records")


def two_by_two(root, **options):
    toy = Toy(root, **options)
    for problem, seeds in (("p", 3), ("q", 2)):
        for name in "AB":
            toy.add(name, noisy(0.5), problem=problem, seeds=seeds)
    return toy


def test_a_table_of_parameters_counts_planned_repetitions_and_those_there(tmp_path, monkeypatch):
    toy = two_by_two(tmp_path)
    (toy.root / toy.curves["p", "A"].record(2)).unlink()
    toy.drop(toy.curves["q", "B"], range(2))
    rows = tabulated(toy, monkeypatch, partial=True)
    a, b = (row["repetitions"] for row in rows)
    assert a == "2 of 3 planned (p); 2 of 2 planned (q)"
    assert b == "3 of 3 planned (p); 0 of 2 planned (q)"
    assert [row["evaluations"] for row in rows] == ["60", "60"]
    # a report that admits no missing record does not know how many there are
    assert tabulated(toy, monkeypatch)[0]["repetitions"] == "3 planned (p); 2 of 2 planned (q)"
    # and another scale knows the planned ones alone
    short = tabulated(two_by_two(tmp_path, scale="short"), monkeypatch, published=toy)
    assert short[0]["repetitions"] == "3 planned (p); 2 planned (q)"


def test_the_bands_of_a_table_are_those_of_the_figures_of_the_same_runs(tmp_path, monkeypatch):
    toy = two_by_two(tmp_path)
    toy.add("A", noisy(0.4), reading="code")
    assert "band" not in tabulated(toy, monkeypatch)[0]  # no figure draws them
    panel = {"problem": "p", "metric": "simple_regret"}
    toy.entry["figures"] = [
        {"id": "f", "curves": ["A"], "panels": [{**panel, "band": "iqr"}, panel]},
        {"id": "dots", "kind": "dots", "curves": ["B"], "panels": [{**panel, "band": "se"}]},
        {"id": "code", "curves": ["A@code"], "panels": [{**panel, "band": "wald"}]},
    ]
    bands = [row["band"] for row in tabulated(toy, monkeypatch)]
    assert bands == ["median and quartiles; mean and 95 % t interval", "-"]


def test_a_setting_that_nobody_has_is_a_mistake(toy, monkeypatch):
    monkeypatch.setattr(tabulate, "load", lambda *which: toy.paper)
    line = {"id": "t", "kind": "settings", "problems": ["p"]}
    for settings, message in (
        ({"A": ["qbarr"]}, "qbarr"),
        ({"D": ["qbar"]}, "no run makes the curve 'D' on 'p'"),
    ):
        toy.entry["tables"] = [{**line, "settings": settings}]
        with pytest.raises(PlanError, match=message):
            tabulate.build(toy.paper, toy.store(), "t")


def test_a_table_of_feasible_ends_counts_who_found_what_and_when(tmp_path):
    """Ten evaluations, two of them the design. Feasible from evaluation 1, 5, 10 on and never."""
    toy = Toy(tmp_path, budget=10, seeds=4)
    batch = np.maximum(np.arange(10) - 1, 0)
    for name, first in (("A", [1, 5, 10, INF]), ("B", [INF] * 4), ("C", [2] * 4)):

        def columns(seed, first=first):
            t = np.arange(1, 11)
            g = np.where(t >= first[seed], -1.0, 1.0)[:, None]
            return {"true": t - 20.0 + seed, "true_g": g, "batch": batch}

        toy.add(name, columns)
    toy.add("A", noisy(0.5), reading="code")
    line = {"id": "t", "kind": "feasible", "problems": ["p"], "curves": ["A", "B", "C"]}
    toy.entry["tables"] = [{**line, "readings": ["default", "code"]}]
    table = tabulate.build(toy.paper, toy.store(partial=True), "t")
    assert table["algorithm"].tolist() == ["A", "A", "B", "C"]
    assert table["reading"].tolist() == ["default", "code", "default", "default"]
    text = tabulate.as_markdown(toy.paper, "t", table)
    for row in (
        # Of 10, 9, 8 and infinity the upper quartile lies beyond 10. Beyond the design the first
        # feasible ones are 3, 8 and never. They descend by 3, 3, infinity and 0 at the end.
        "| p | A | default | 4 | 10 | 3 | 9.5 | 8.75 | ∞ | 3 | 8 | 3.75 | 3 | 1 | real |",
        "| p | B | default | 4 | 10 | 0 | ∞ | ∞ | ∞ | 4 | ∞ | 0 | 0 | 1 | real |",
        "| p | C | default | 4 | 10 | 4 | 8.5 | 7.75 | 9.25 | 0 | - | 8 | 3 | 1 | real |",
    ):
        assert row in text
    runs = {run.name for run in selection.table_runs(toy.paper, "t")}
    assert runs == {f"toy/p/{name}" for name in ("A", "A@code", "B", "C")}
    toy.drop(toy.curves["p", "B"], range(4))
    assert set(tabulate.build(toy.paper, toy.store(partial=True), "t")["algorithm"]) == {"A", "C"}


def above(found):
    """What stands above each panel."""
    differ, nowhere = plots._seeds_differ(found), plots._missing_everywhere(found)
    return [plots._said_above(panel, differ=differ, nowhere=nowhere) for panel in found]


def of_panels(toy, *shown, partial=False):
    return of_figure(toy, *shown, partial=partial, metric="simple_regret")


def test_a_label_has_one_look_in_all_panels_and_shares_it_with_no_other(tmp_path):
    """A curve that is first in one panel and third in the next one has one line in the legend."""
    toy = Toy(tmp_path, seeds=2)
    for variant in ("", "b-1", "b-2"):
        toy.add("A", noisy(0.5), variant=variant)
        toy.add("A", noisy(0.5), variant=variant, reading="code")
    names = ["A", "A+b-1", "A+b-2", "A@code", "A@code+b-1", "A@code+b-2"]
    shown = (names[:3], ["A+b-2", "A@code+b-2", "A@code+b-1", "A@code"], ["A+b-2"])
    found = of_panels(toy, *({"problem": "p", "curves": curves} for curves in shown))
    drawn = {}
    for panel in found:
        for line in panel.lines:
            drawn.setdefault(line.label, set()).add((line.look, line.hollow))
    assert list(drawn) == [*names[:3], "A@code+b-2", "A@code+b-1", "A@code"]
    assert all(len(looks) == 1 for looks in drawn.values())
    assert len(set.union(*drawn.values())) == 6
    shown = {handle.get_label(): handle.get_color() for handle in plots._legend(found)}
    for panel in found:
        assert all(shown[line.label] == line.look.colour for line in panel.lines)


def test_a_label_keeps_its_look_where_a_scale_leaves_out_what_stands_before_it(tmp_path):
    toy = Toy(tmp_path, seeds=2, scale="short")
    toy.add("A", noisy(0.5), variant="b-1")
    toy.add("A", noisy(0.5))
    (panel,) = of_panels(toy, {"problem": "p", "curves": ["A+b-2", "A+b-1", "A"]})
    assert [line.label for line in panel.lines] == ["A+b-1", "A"]
    assert [line.look for line in panel.lines] == [style.own_look("A", n) for n in (1, 2)]


def seeded(root, drawn_from_seed):
    """A with seeds 0-3, B with 0-2, uniform with 0-3; a seed may be another problem."""
    toy = Toy(root, seeds=4)
    for name, level in (("A", 0.9), ("B", 0.7), ("uniform", 0.4)):
        made = toy.add(name, lambda seed, level=level: {"true": level - seed / 10})
        kind = "gp_samples.within_model" if drawn_from_seed else "tables.abalone"
        toy.curves["p", name] = replace(made, problem_entry={**made.problem_entry, "is": kind})
    (toy.root / toy.curves["p", "B"].record(3)).unlink()
    return toy


def test_curves_are_of_the_same_problems_where_a_seed_is_one(tmp_path):
    toy = seeded(tmp_path, drawn_from_seed=True)
    study = toy.study("s", lambda seed: {"best": [10.0 * seed]}, seeds=4)
    known = {"best known": {"study": "s", "column": "best"}}
    line = {"problem": "p", "curves": ["A", "B"], "lines": known}
    (panel,) = found = of_panels(toy, line, partial=True)
    assert [line.seeds for line in panel.lines] == [(0, 1, 2), (0, 1, 2)]
    assert [line.centre[-1] for line in panel.lines] == pytest.approx([0.2, 0.4])
    assert panel.levels == {"best known": 10.0}  # the median of 0, 10 and 20
    assert study.seeds == (0, 1, 2, 3)
    assert panel.is_cut
    found = of_panels(toy, line, {"problem": "p", "curves": ["A"]}, partial=True)
    assert above(found) == ["seeds 0-2, which all curves have", "seeds 0-3"]
    (panel,) = of_panels(toy, {**line, "relative_to": "B"}, partial=True)
    assert panel.lines[0].centre[-1] == pytest.approx(0.5)
    # with one seed in common there is no band, and the panel says whose seeds are which
    toy.drop(toy.curves["p", "B"], (1, 2))
    found = of_panels(toy, line, partial=True)
    assert above(found) == ["seeds 0-3; B: seed 0"]


def test_repetitions_of_one_problem_are_all_shown_and_counted_at_the_curve(tmp_path):
    toy = seeded(tmp_path, drawn_from_seed=False)
    found = of_panels(toy, {"problem": "p", "curves": ["A", "B", "uniform"]}, partial=True)
    assert [line.n for line in found[0].lines] == [4, 3, 4]
    assert above(found) == ["seeds 0-3; B: seeds 0-2"]
    assert above(found)[0] in {text.get_text() for text in axes_of(found).texts}
    assert "3-4 seeds, see above the panels" in note_of(toy, found)
    assert above(of_panels(toy, {"problem": "p", "curves": ["A", "uniform"]})) == [""]


def test_seeds_are_a_part_of_the_data_where_a_parameter_is_the_seed():
    curve = synthetic.curve("p", "A", 3, 10)
    assert not panels._is_instance(curve)
    curve.problem_entry["fold"] = "seed"
    assert panels._is_instance(curve)


def test_what_one_panel_lacks_stands_above_it_or_in_its_place(tmp_path):
    toy = Toy(tmp_path, seeds=2)
    for name in ("A", "B", "C"):
        for problem in ("p", "q", "r"):
            toy.add(name, noisy(0.5), problem=problem)
    for name, problem in (("A", "q"), ("A", "r"), ("B", "r"), ("C", "p"), ("C", "q"), ("C", "r")):
        toy.drop(toy.curves[problem, name], (0, 1))
    shown = [{"problem": problem, "curves": ["A", "B", "C"]} for problem in ("p", "q", "r")]
    found = of_panels(toy, *shown, partial=True)
    assert above(found) == ["", "not run: A", ""]
    assert "not run: C" in note_of(toy, found)
    figure = plots._figure(found, "")
    assert "not run: A, B, C" in {text.get_text() for text in figure.axes[2].texts}
    assert not figure.axes[2].get_xticks().size
    plots.plt.close(figure)


def test_a_short_logarithmic_axis_has_few_plain_labels():
    for ends, labels in [
        ((2, 33), ["2", "5", "10", "20"]),
        ((0.8, 1.9), ["1", "1.25", "1.5", "1.75"]),
        ((2, 4.1), ["2", "2.5", "3", "3.5", "4"]),
    ]:
        figure, ax = plots.plt.subplots()
        ax.set(xscale="log", xlim=ends)
        plots._label_logs(ax)
        figure.draw_without_rendering()
        inside = [
            tick.label1.get_text()
            for tick in ax.xaxis.get_major_ticks()
            if ends[0] <= tick.get_loc() <= ends[1]
        ]
        plots.plt.close(figure)
        assert inside == labels
        assert all(not label.get_text() for label in ax.xaxis.get_minorticklabels())


def test_a_curve_without_values_says_so(tmp_path):
    toy = Toy(tmp_path, seeds=2, budget=10)
    toy.add("A", noisy(0.5))
    (panel,) = found = of_panels(toy, {"problem": "p", "curves": ["A"]})
    assert "no value in runs of this length" not in {t.get_text() for t in axes_of(found).texts}
    nothing = replace(panel, lines=[replace(panel.lines[0], centre=np.full(10, NAN))])
    assert "no value in runs of this length" in {t.get_text() for t in axes_of([nothing]).texts}


def of_bands(bands, **options):
    """A panel of curves that end, at x = 30, with bands from low to high."""
    x = np.arange(1.0, 31.0)
    shown = []
    for name, (low, high) in bands.items():
        edges = ((low + high) / 2 * x / 30, low * x / 30, high * x / 30)
        shown.append(panels.Line(name, style.LOOKS["BKB"], x, *edges, 5))
    return panels.Panel("P", "t", "y", Drawing(**options), lines=shown)


WIDTHS = {"A": (1.0, 9.0), "B": (2.0, 10.0), "C": (0.5, 8.0)}


def test_wide_bands_stand_side_by_side_beyond_the_end():
    for scales in [{}, {"yscale": "log"}, {"xscale": "log", "yscale": "log"}]:
        panel = of_bands(WIDTHS, **scales)
        ax = axes_of([panel])
        bars = [bar.get_xydata() for bar in of_two_points(ax)]
        assert [tuple(bar[:, 1]) for bar in bars] == list(WIDTHS.values())
        at = [bar[0, 0] for bar in bars]
        assert 30 < at[0] < at[1] < at[2] < ax.get_xlim()[1]
        assert all(bar[0, 0] == bar[1, 0] for bar in bars)
        if "xscale" not in scales:
            assert max(ax.get_xticks()) <= 30
    for few in ({**WIDTHS, "C": (4.0, 4.1)}, {name: WIDTHS[name] for name in "AB"}):
        assert not of_two_points(axes_of([of_bands(few)]))  # narrow ones and two stay as they are


def test_bands_are_bars_alone_where_a_figure_says_so():
    for scales in [{}, {"yscale": "log"}]:
        for names in ["A", "AB", "ABC"]:
            shown = {name: WIDTHS[name] for name in names}
            ax = axes_of([of_bands(shown, bars=True, **scales)])
            ends = [tuple(bar.get_ydata()) for bar in of_two_points(ax)]
            assert ends == list(shown.values())  # none is cut by the axis
            assert not ax.collections
            assert axes_of([of_bands(shown, **scales)]).collections


def test_bars_have_the_markers_of_their_curves_or_are_dashed_without_one(toy):
    panel = of_bands({**WIDTHS, "D": (1.0, 9.0)})
    looks = [style.look(name) for name in ("GO-UCB", "GP-EI", "random-search", "GP-PI")]
    lines = [
        replace(line, look=look, hollow=not n)
        for n, (line, look) in enumerate(zip(panel.lines, looks, strict=True))
    ]
    ax = axes_of([replace(panel, lines=lines)])
    marks = [line for line in ax.lines if len(line.get_xydata()) == 1]
    assert [mark.get_marker() for mark in marks] == ["o", "^", "_", "v"]
    assert [to_rgb(mark.get_color()) for mark in marks] == [to_rgb(look.colour) for look in looks]
    assert [mark.get_markerfacecolor() == "white" for mark in marks[:2]] == [True, False]
    assert [bar.get_linestyle() == "-" for bar in of_two_points(ax)] == [True, True, False, True]


def test_a_figure_has_its_title_above_its_panels(toy, monkeypatch):
    """A panel may name no problem, as the only one of a figure often does."""
    seen = []
    monkeypatch.setattr(plots, "save", lambda figure, *_, **__: seen.append(figure) or [])
    toy.entry["figures"] = [{**FIGURE, "title": "Regret on a toy " * 8}]
    plots.draw(toy.paper, toy.store(), "f", toy.root / "out")
    (figure,) = seen
    (title,) = [text for text in figure.texts if text.get_text().startswith("Regret on a toy")]
    assert title.get_text().count("\n") == 1
    figure.draw_without_rendering()
    assert title.get_window_extent().y0 > figure.axes[0].title.get_window_extent().y1
    plots.plt.close(figure)
