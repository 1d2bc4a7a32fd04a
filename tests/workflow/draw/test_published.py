"""Our numbers beside a paper's, in its own layout, and beside what it says of growth."""

import numpy as np
import pandas as pd
import pytest

from tests.workflow.synthetic import Toy, publish
from workflow.draw import tabulate

CURVE = {"panel": "curve", "label": "Curve", "problem": "p", "metric": "simple_regret"}
END = {"panel": "end", "label": "Powell (24-4)", "problem": "p", "metric": "cumulative_regret"}
LINES = ["curve,A,1,0.9", "curve,A,60,0.3", "end,A,,22271.5", "end,B,,-0.25"]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A is 0.4 from the optimum, under the reading `code` 0.3; B is 0.5 from it."""
    toy = Toy(tmp_path, seeds=5)
    for name, reading, regret in (("A", "", 0.4), ("A", "code", 0.3), ("B", "", 0.5)):
        toy.add(name, lambda seed, regret=regret: {"true": 1 - regret}, reading=reading)
    toy.entry["readings"]["code"]["algorithms"] = {"A": {"beta": "code"}}
    panels = {"near": [{**CURVE, "at": [55, 60]}], "far": [END]}
    publish(toy, monkeypatch, panels, LINES)
    named = {"where": "Table 2", "title": "Minimal regrets"}
    toy.entry["tables"] = [{"id": "t", "kind": "published", **named}]
    return toy


def built(toy):
    return tabulate.build(toy.paper, toy.store(), "t")


def test_a_method_has_a_row_and_a_panel_a_column(toy):
    a, b = built(toy).to_dict("records")
    assert a["method"] == "A" and b["method"] == "B"
    assert a["Powell (24-4)"] == "24 (22271.5)"  # 60 times 0.4; printed numbers keep their digits
    assert b["Powell (24-4)"] == "30 (-0.25)"


def test_a_nearer_setting_has_columns_of_its_own(toy):
    a, b = built(toy).to_dict("records")
    assert a["Curve, t = 60"] == "0.4 (0.3)"
    assert a["Curve, t = 60 (code)"] == "0.3 (0.3)"
    assert b["Curve, t = 60 (code)"] == "-"  # nothing of B is published there
    assert "Powell (24-4) (code)" not in a  # both readings are a hundredfold off


def test_of_a_curve_the_chosen_points_are_shown_or_its_last(toy):
    panel = toy.entry["published"]["near"]["panels"][0]
    shown = [name for name in built(toy) if name.startswith("Curve") and "code" not in name]
    assert shown == ["Curve, t = 60"]
    panel["shown"] = [55, 60]
    shown = [name for name in built(toy) if name.startswith("Curve") and "code" not in name]
    assert shown == ["Curve, t = 55", "Curve, t = 60"]


def test_the_files_are_stable(toy, tmp_path, monkeypatch):
    first, second = tmp_path / "one", tmp_path / "two"
    for folder in (first, second):
        tabulate.draw(toy.paper, toy.store(), "t", folder)
    for kind in ("csv", "md"):
        assert (first / f"t.{kind}").read_bytes() == (second / f"t.{kind}").read_bytes()
    assert list(pd.read_csv(first / "t.csv")["method"]) == ["A", "B"]
    assert "# Minimal regrets (Table 2)" in (first / "t.md").read_text()


def test_errata_are_listed_below_a_table(toy):
    toy.entry["errata"] = [
        {"id": "e", "where": "eq. (1)", "says": "1 = 2", "instead": "1 = 1"},
        {"id": "f", "where": "", "says": "", "instead": ""},
    ]
    toy.entry["tables"][0].update(errata=["e"], note="as published")
    text = tabulate.as_markdown(toy.paper, "t", built(toy))
    assert text.endswith(
        "as published\n\nWhat the paper itself gets wrong or contradicts:\n\n* eq. (1): 1 = 2."
        " Instead: 1 = 1\n"
    )


def test_exponents_stand_beside_printed_complexities(toy):
    """Seconds c t^2 from t = 10 on, and something else before."""
    t = np.array([1.0, 10, 20, 40] * 2)
    known = {"t": t, "method": np.repeat([0.0, 1], 4)}
    toy.study("grown", lambda seed: {**known, "s": np.where(t > 1, (1 + seed) * t**2, 7)})
    lines = [
        {"solution": "A", "says": {"complexity": "O(t^3)"}, "rows": {"method": 1}},
        {"solution": "Q", "says": {"complexity": "O(t)"}},
    ]
    fit = {"study": "grown", "x": "t", "columns": ["s"], "from": 10}
    toy.entry["tables"] = [{"id": "t", "kind": "growth", **fit, "lines": lines}]
    a, q = built(toy).to_dict("records")
    said = a["solution"], a["complexity"], a["source"], a["seeds"]
    assert said == ("A", "O(t^3)", "measured", 5)
    assert a["measured exponent of t from 10 on"] == pytest.approx(2)
    assert (q["source"], q["seeds"]) == ("quoted, not measured", 0)
    assert np.isnan(q["measured exponent of t from 10 on"])
