"""The JSON of a figure holds what is drawn: thinned, with its ends, and with no number that JSON
lacks.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

from workflow.draw import interactive
from workflow.draw.panels import Dots, Line, Mark, Panel
from workflow.draw.style import look
from workflow.plan.lines import Drawing


def line(label="DuMBO", n=1000, **changes):
    x = np.arange(1.0, n + 1)
    known = {"x": x, "centre": 1 / x, "low": 0.5 / x, "high": 2 / x, "n": 5}
    return Line(label, look(label), **{**known, **changes})


def written(*lines, levels=None, **options):
    dots = [Dots("A", look("A"), (0, 1), np.array([0.5, np.nan]))]
    shown = {"lines": list(lines), "levels": levels or {}, "dots": dots}
    panel = Panel("title", "t", "regret", Drawing(**options), **shown)
    return json.loads(interactive.as_json("whole", [panel]))["panels"][0]


def test_a_long_line_is_thinned_and_keeps_its_ends():
    panel = written(line())
    x = panel["xs"][panel["lines"][0]["x"]]
    assert (x[0], x[-1]) == (1, 1000)
    assert len(x) <= interactive.POINTS + 2
    assert panel["lines"][0]["centre"][-1] == pytest.approx(1e-3, rel=1e-3)
    assert len(panel["lines"][0]["high"]) == len(x)


def test_on_a_logarithmic_axis_the_beginning_keeps_its_points():
    even = written(line())
    logarithmic = written(line(), xscale="log", yscale="log")
    assert sum(x <= 30 for x in logarithmic["xs"][0]) > 20 > sum(x <= 30 for x in even["xs"][0])
    assert (even["log"], logarithmic["log"]) == ([False, False], [True, True])


def test_lines_on_the_same_points_share_them():
    panel = written(line(), line("TuRBO"), line("short", n=5))
    assert [each["x"] for each in panel["lines"]] == [0, 0, 1]
    assert len(panel["xs"]) == 2


def test_seeds_keep_few_points_of_their_line():
    each = {seed: (1 + seed) / np.arange(1.0, 1001) for seed in (0, 3)}
    panel = written(line(each=each))
    (shown,) = panel["lines"]
    said, xs = shown["each"], panel["xs"][0]
    assert said["seeds"] == [0, 3] and len(said["at"]) <= interactive.TRACED + 2
    assert (xs[said["at"][0]], xs[said["at"][-1]]) == (1, 1000)
    assert [len(values) for values in said["values"]] == [len(said["at"])] * 2
    assert said["values"][1][-1] == pytest.approx(4e-3, rel=1e-3)
    k = len(said["at"]) // 2
    assert said["values"][0][k] == pytest.approx(1 / xs[said["at"][k]], rel=1e-3)


def test_one_seed_or_very_many_have_no_lines_of_their_own():
    for many in [0, 1, interactive.MANY + 1]:
        each = {seed: np.ones(1000) for seed in range(many)}
        assert "each" not in written(line(each=each))["lines"][0]


def test_numbers_have_four_digits_and_gaps_are_null():
    none = np.full(3, np.nan)
    panel = written(line(n=3, centre=np.array([np.nan, 1.23456789, np.inf]), low=none, high=none))
    assert panel["lines"][0]["centre"] == [None, 1.235, None]
    assert "low" not in panel["lines"][0]
    assert panel["dots"][0]["values"] == [0.5, None]


def test_levels_and_dashes_are_told_apart():
    panel = written(line(), line("uniform"), line("GO-UCB", fitted="t^2"), levels={"optimum": 1.5})
    assert panel["levels"] == {"optimum": 1.5}
    dashes = [tuple(each["dash"]) for each in panel["lines"]]
    assert dashes[0] == ()
    assert dashes[1] == tuple(interactive.DOTTED)


def test_numbers_that_a_paper_prints_stay_with_their_panel():
    panel = Panel("t", "t", "y", Drawing(), lines=[line()], marks=[Mark("A", look("A"), 0.123456)])
    (shown,) = json.loads(interactive.as_json("whole", [panel]))["panels"]
    assert shown["marks"] == [{"label": "A", "colour": look("A").colour, "value": 0.1235}]
    assert "marks" not in written(line())


def test_a_published_curve_is_a_dashed_line_of_no_seeds():
    none = np.full(2, np.nan)
    at = {"x": np.array([2.0, 20.0]), "centre": np.array([0.5, 0.123456])}
    theirs = replace(line("A", **at, low=none, high=none), n=0)
    panel = Panel("t", "t", "y", Drawing(), lines=[line("A", n=3)], published=[theirs])
    (shown,) = json.loads(interactive.as_json("whole", [panel]))["panels"]
    ours, published = shown["lines"]
    assert published["label"] == "A, published" and "low" not in published
    assert published["colour"] == ours["colour"] and published["dash"] and "each" not in published
    assert shown["xs"][published["x"]] == [2, 20]
    assert published["centre"] == [0.5, 0.1235]
