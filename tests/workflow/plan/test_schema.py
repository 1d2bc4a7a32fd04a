"""Mistakes that people make in papers/*.yaml,
and whether the schema says what is wrong and where.
"""

import copy
from pathlib import Path

import pytest
import yaml

from workflow.draw import tabulate
from workflow.judge import claims
from workflow.plan import expand, reader, resolve, selection
from workflow.plan.reader import Source

ROOT = Path(__file__).resolve().parents[3]
SCALES = ("smoke", "paper")
BBKB = yaml.load((ROOT / "papers" / "bbkb.yaml").read_text(), Loader=yaml.SafeLoader)
APPENDED = len(BBKB["runs"]) + 1  # the number of a line behind all others


@pytest.fixture(scope="module")
def bbkb():
    return BBKB


def complaints(entry):
    """What the model refuses, in sentences."""
    try:
        reader.check("papers/bbkb.yaml", entry, Source())
    except resolve.PlanError as error:
        return str(error).splitlines()
    return []


def put(entry, path, value):
    """A copy of the entry with a value at a path; a path that ends in None appends."""
    changed = copy.deepcopy(entry)
    target = changed
    for key in path[:-1]:
        target = target[key]
    if path[-1] is None:
        target.append(value)
    else:
        target[path[-1]] = value
    return changed


def without(mapping, key):
    return {name: value for name, value in mapping.items() if name != key}


CLAIM = {"id": "c", "where": "Sec. 5", "says": "something long enough"}
ORDERED = {"test": "less", "metric": "best_feasible", "left": ["BKB"], "right": ["GP-UCB"]}
PASSES = {**ORDERED, "test": "passes", "at_most": 300}
LINE = {"study": "s", "column": "best"}
PANEL = {"panel": "f", "problem": "abalone", "metric": "simple_regret", "at": [110]}
SETTINGS = {"id": "t", "kind": "settings", "problems": ["abalone"]}
FEASIBLE = {"id": "t", "kind": "feasible", "problems": ["abalone"], "curves": ["BKB"]}


@pytest.mark.parametrize(
    ("path", "value", "place", "message"),
    [
        (
            ("problems", "abalone"),
            {"is": "tables.abalone"},
            "problem abalone",
            "expected a key `budget`, got none",
        ),
        (
            ("runs", None),
            {"algorithm": ["BKB"]},
            f"run number {APPENDED}, algorithm",
            "unknown key 'algorithm'; did you mean 'algorithms'? known: ",
        ),
        (
            ("figures", 0, "panels", 0, "shortest"),
            3,
            "figure fig1, panels[0].shortest",
            "expected true, or no such line, got 3",
        ),
        (
            ("figures", 0, "panels", 0, "lines"),
            {"best": {**LINE, "at": 1}},
            "figure fig1, panels[0].lines.best",
            'er, or a study with a column, got {"study": "s", "column": "best", "at": 1}',
        ),
        (("figures", 0, "scales"), "paper", "figure fig1, scales", "expected a list, got 'paper'"),
        (
            ("published", "e"),
            {"problems": ["abalone"], "panels": [{**PANEL, "metric": "regret"}]},
            "published.e.panels[0].metric",
            "or report.NAME, got 'regret'; did you mean 'mean_regret'?",
        ),
        (
            ("tables", None),
            {**FEASIBLE, "kind": "feasable"},
            "table t, kind",
            " feasible, study, growth, published, got 'feasable'; did you mean 'feasible'?",
        ),
        (
            ("tables", None),
            {**SETTINGS, "settings": {"BKB": []}},
            "table t, settings.BKB",
            "expected at least one entry, got []",
        ),
        (
            ("tables", None),
            {**FEASIBLE, "scale": ["paper"]},
            "table t, scale",
            "unknown key 'scale'; did you mean 'scales'? known: ",
        ),
        (
            ("tables", None),
            {"id": "t", "kind": "study", "study": "s", "columns": ["a"], "by": []},
            "table t, by",
            "expected at least one entry, got []",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "lesser"}},
            "claim c, check.test",
            "ne, share, spread, band, bound, got 'lesser'; did you mean 'less'?",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": without(PASSES, "at_most")},
            "claim c, check",
            "expected a key `at_most`, got none",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": without(PASSES, "metric")},
            "claim c, check",
            "expected a `metric` of runs, or a `study`, got neither",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "test": "spread", "where_defined": True}},
            "claim c, check.where_defined",
            "unknown key 'where_defined'; known: ",
        ),
        (
            ("claims", 0, "requires"),
            [{"curve": "BKB", "qbar": 158}],
            "claim smallest-regret, requires[0].qbar",
            "unknown key 'qbar'; known: ",
        ),
        (
            ("deviations", 0, "default"),
            "ours",
            "deviation beta, default",
            "expected paper or code, got 'ours'",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(bbkb, path, value, place, message):
    if path[0] == "tables":
        bbkb = {**bbkb, "tables": bbkb.get("tables", [])}
    found = complaints(put(bbkb, path, value))
    assert any(f", {place}: " in line and message in line for line in found), found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("problems", "abalone", "init", "noise"), False),
        (("figures", 0, "lines"), {"best": {**LINE, "study": "lemma3"}, "optimum": 2.5}),
        (("figures", 0, "band"), "se"),
        (("tables", None), {**SETTINGS, "settings": {"BKB": ["qbar", "xi"]}}),
        (("published", "e"), {"problems": ["abalone"], "panels": [PANEL, {**PANEL, "known": 9}]}),
        (("claims", None), {**CLAIM, "check": PASSES}),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "minus": ["uniform"], "against": "cadata"}},
        ),
        (("claims", None), {**CLAIM, "check": {**ORDERED, "metric": "report.length"}}),
    ],
)
def test_what_the_papers_need_is_accepted(bbkb, path, value):
    assert complaints(put(bbkb, path, value)) == []


@pytest.mark.parametrize("name", expand.papers())
def test_the_papers_follow_the_schema_and_name_only_runs_that_are_planned(name):
    for scale in SCALES:
        paper = expand.load(name, scale)
        claims.runs(paper)
        for figure in paper.entry.get("figures", []):
            selection.figure_runs(paper, figure["id"])
        for table in paper.entry.get("tables", []):
            tabulate.runs_of(paper, table["id"])
        for line in paper.entry.get("ranks", []):
            selection.rank_runs(paper, line["id"])


@pytest.mark.parametrize("name", expand.papers())
def test_assumptions_and_deviations_name_readings(name):
    entry = reader.read(name)
    for item in [*entry.get("assumptions", []), *entry.get("deviations", [])]:
        for reading in filter(None, item.get("reading", "").split(", ")):
            assert reading in entry["readings"]


def test_every_paper_and_key_is_in_the_bibliography():
    text = (ROOT / "papers" / "references.bib").read_text()
    for name in expand.papers():
        assert f"{{{reader.read(name)['paper']['key']}," in text
