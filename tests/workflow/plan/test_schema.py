"""Mistakes that people make in papers/*.yaml,
and whether the schema says what is wrong and where.
"""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from workflow.draw import tabulate
from workflow.judge import claims
from workflow.measure import metrics
from workflow.plan import expand, reader, resolve, selection
from workflow.plan.strict_yaml import Source

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "workflow" / "schema.json").read_text())
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


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


CLAIM = {"id": "c", "where": "Sec. 5", "says": "something long enough"}


@pytest.mark.parametrize(
    ("path", "value", "place", "message"),
    [
        (
            ("scales", "smoke", "bugdet"),
            10,
            "scale smoke, bugdet",
            "unknown key 'bugdet'; did you mean 'budget'? known: ",
        ),
        (("seeds",), "ten", "seeds", "expected a whole number from 1 to 1000000, got 'ten'"),
        (
            ("problems", "abalone", "room"),
            0,
            "problem abalone, room",
            "expected a whole number from 1 on, or unlimited, got 0",
        ),
        (
            ("problems", "abalone"),
            {"is": "tables.abalone"},
            "problem abalone",
            "expected a key `budget`, got none",
        ),
        (
            ("algorithms", "BKB", "is"),
            "bkb",
            "algorithm BKB, is",
            "expected module.Class or module.function, got 'bkb'",
        ),
        (
            ("runs", None),
            {"algorithm": ["BKB"]},
            f"run number {APPENDED}, algorithm",
            "unknown key 'algorithm'; did you mean 'algorithms'? known: ",
        ),
        (
            ("runs", None),
            {"algorithms": []},
            f"run number {APPENDED}, algorithms",
            "expected at least one entry, got []",
        ),
        (
            ("readings", "new"),
            {"algorithms": {}},
            "reading new",
            "expected a key `says`, got none",
        ),
        (
            ("variants", "a+b"),
            {"bandwidth": 5},
            "variant a+b",
            "ashes or underscores, which is none of store, studies, default, got 'a+b'",
        ),
        (
            ("figures", 0, "metric"),
            "regret",
            "figure fig1, metric",
            "aper-yaml.md lists, or report.NAME, got 'regret'; did you mean 'mean_regret'?",
        ),
        (
            ("figures", 0, "panels"),
            [],
            "figure fig1, panels",
            "expected at least one entry, got []",
        ),
        (
            ("figures", 0, "band"),
            "sd",
            "figure fig1, band",
            "expected one of ci95, ci95-log, wald, se, iqr, none, got 'sd'",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "lesser"}},
            "claim c, check.test",
            "ne, share, spread, band, bound, got 'lesser'; did you mean 'less'?",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "less", "left": ["BKB"]}},
            "claim c, check",
            "expected a key `right`, got none",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "band", "left": ["BKB"]}},
            "claim c, check.left",
            "unknown key 'left'; known: ",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "band", "tolerence": 1}},
            "claim c, check.tolerence",
            "unknown key 'tolerence'; known: ",
        ),
        (
            ("claims", None),
            {"id": "c", "says": "something long enough", "check": {"test": "band"}},
            "claim c",
            "expected a key `where`, got none",
        ),
        (
            ("claims", 0, "scale"),
            "all",
            "claim smallest-regret, scale",
            "expected any, or no such line, got 'all'",
        ),
        (
            ("claims", 0, "requires"),
            [{"curve": "BKB", "qbar": 158}],
            "claim smallest-regret, requires[0].qbar",
            "unknown key 'qbar'; known: ",
        ),
        (
            ("assumptions", None),
            {"id": "x", "what": "y"},
            "assumption x",
            "expected a key `alternatives`, got none",
        ),
        (
            ("deviations", 0, "default"),
            "ours",
            "deviation beta, default",
            "expected paper or code, got 'ours'",
        ),
        (("claim",), [], "claim", "unknown key 'claim'; did you mean 'claims'? known: "),
    ],
)
def test_a_mistake_is_named_with_its_place(bbkb, path, value, place, message):
    found = complaints(put(bbkb, path, value))
    assert any(f", {place}: " in line and message in line for line in found), found


def without(mapping, key):
    return {name: value for name, value in mapping.items() if name != key}


ORDERED = {"test": "less", "metric": "best_feasible", "left": ["BKB"], "right": ["GP-UCB"]}
PASSES = {**ORDERED, "test": "passes", "at_most": 300}
LINE = {"study": "s", "column": "best"}
PANEL = {"panel": "f", "problem": "abalone", "metric": "simple_regret", "at": [110]}
TABLE = {"id": "t", "kind": "published"}
SETTINGS = {"id": "t", "kind": "settings", "problems": ["abalone"]}
FEASIBLE = {
    "id": "t",
    "kind": "feasible",
    "problems": ["abalone"],
    "curves": ["BKB"],
    "readings": ["default"],
}


@pytest.mark.parametrize(
    ("path", "value", "place", "message"),
    [
        (
            ("scales", "smoke", "after_init"),
            0,
            "scale smoke, after_init",
            "expected a whole number from 1 to 1000000000, got 0",
        ),
        (
            ("problems", "abalone", "init", "noise"),
            True,
            "problem abalone, init.noise",
            "expected false, or no such line, got true",
        ),
        (
            ("figures", 0, "shortest"),
            False,
            "figure fig1, shortest",
            "expected true, or no such line, got false",
        ),
        (
            ("figures", 0, "panels", 0, "shortest"),
            3,
            "figure fig1, panels[0].shortest",
            "expected true, or no such line, got 3",
        ),
        (
            ("figures", 0, "lines"),
            {"best": "2.5"},
            "figure fig1, lines.best",
            "expected a number, or a study with a column, got '2.5'",
        ),
        (
            ("figures", 0, "lines"),
            {"best": {"study": "s"}},
            "figure fig1, lines.best",
            'expected a number, or a study with a column, got {"study": "s"}',
        ),
        (
            ("figures", 0, "panels", 0, "lines"),
            {"best": {**LINE, "at": 1}},
            "figure fig1, panels[0].lines.best",
            'er, or a study with a column, got {"study": "s", "column": "best", "at": 1}',
        ),
        (
            ("figures", 0, "scales"),
            [],
            "figure fig1, scales",
            "expected at least one entry, got []",
        ),
        (
            ("figures", 0, "scales"),
            "paper",
            "figure fig1, scales",
            "expected a list, got 'paper'",
        ),
        (
            ("tables", None),
            {**TABLE, "columns": ["BKB"]},
            "table t, columns",
            "unknown key 'columns'; known: ",
        ),
        (
            ("published", "e"),
            {"problems": ["abalone"], "panels": [without(PANEL, "at")]},
            "published.e.panels[0]",
            "expected a key `at`, got none",
        ),
        (
            ("published", "e"),
            {"problems": ["abalone"], "panels": [{**PANEL, "scored": True}]},
            "published.e.panels[0].scored",
            "expected false, or no such line, got true",
        ),
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
            {**SETTINGS, "settings": ["BKB"]},
            "table t, settings",
            'expected keys with values, got ["BKB"]',
        ),
        (
            ("tables", None),
            {**FEASIBLE, "scale": ["paper"]},
            "table t, scale",
            "unknown key 'scale'; did you mean 'scales'? known: ",
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
            {**CLAIM, "check": {**PASSES, "factor": 2}},
            "claim c, check.factor",
            "unknown key 'factor'; known: ",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**PASSES, "minus": ["BKB"]}},
            "claim c, check.minus",
            "unknown key 'minus'; known: ",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "at_most": 300}},
            "claim c, check.at_most",
            "unknown key 'at_most'; known: ",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "minus": []}},
            "claim c, check.minus",
            "expected at least one entry, got []",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "where_defined": False}},
            "claim c, check.where_defined",
            "expected true, or no such line, got false",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "test": "spread", "where_defined": True}},
            "claim c, check.where_defined",
            "unknown key 'where_defined'; known: ",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "metric": "best_infeasible"}},
            "claim c, check.metric",
            "d lists, or report.NAME, got 'best_infeasible'; did you mean 'best_feasible'?",
        ),
    ],
)
def test_a_mistake_about_constrained_runs_is_named_with_its_place(
    bbkb, path, value, place, message
):
    if path[0] == "tables":
        bbkb = {**bbkb, "tables": bbkb.get("tables", [])}
    found = complaints(put(bbkb, path, value))
    assert any(f", {place}: " in line and message in line for line in found), found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scales", "smoke", "after_init"), 1),
        (("problems", "abalone", "init", "noise"), False),
        (("figures", 0, "shortest"), True),
        (("figures", 0, "lines"), {"best known": LINE, "optimum": 2.5}),
        (("figures", 0, "panels", 0, "lines"), {"best known": LINE}),
        (("figures", 0, "scales"), ["paper"]),
        (
            ("tables",),
            [
                {**FEASIBLE, "scales": ["paper"]},
                {
                    "id": "s",
                    "kind": "settings",
                    "problems": ["abalone"],
                    "settings": {"BKB": ["qbar", "xi"]},
                },
            ],
        ),
        (
            ("tables",),
            [{**TABLE, "where": "Table 2", "title": "a", "scales": ["paper"]}],
        ),
        (("published", "e"), {"problems": ["abalone"], "panels": [PANEL, {**PANEL, "known": 9}]}),
        (("figures", 0, "band"), "se"),
        (("figures", 0, "panels", 0, "band"), "se"),
        (("claims", None), {**CLAIM, "check": PASSES}),
        (
            ("claims", None),
            {
                **CLAIM,
                "check": {
                    **ORDERED,
                    "minus": ["uniform"],
                    "against": "cadata",
                    "problems": ["abalone"],
                },
            },
        ),
        (
            ("claims", None),
            {
                **CLAIM,
                "check": {**ORDERED, "test": "more", "minus": ["uniform"], "where_defined": True},
            },
        ),
    ],
)
def test_what_constrained_runs_need_follows_the_schema(bbkb, path, value):
    assert complaints(put(bbkb, path, value)) == []


@pytest.mark.parametrize("name", [*metrics.METRICS, "report.length"])
def test_every_metric_may_be_drawn_and_claimed(bbkb, name):
    drawn = put(bbkb, ("figures", 0, "metric"), name)
    assert (
        complaints(put(drawn, ("claims", None), {**CLAIM, "check": {**ORDERED, "metric": name}}))
        == []
    )


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
def test_ids_are_unique_and_names_are_known(name):
    entry = expand.load(name, "paper").entry
    for section in (
        "figures",
        "ranks",
        "tables",
        "claims",
        "assumptions",
        "deviations",
        "errata",
        "studies",
    ):
        ids = [item["id"] for item in entry.get(section, [])]
        assert len(ids) == len(set(ids))
    for item in [*entry.get("assumptions", []), *entry.get("deviations", [])]:
        for reading in filter(None, item.get("reading", "").split(", ")):
            assert reading in entry["readings"]


def test_every_paper_and_key_is_in_the_bibliography():
    text = (ROOT / "papers" / "references.bib").read_text()
    for name in expand.papers():
        assert f"{{{reader.read(name)['paper']['key']}," in text
