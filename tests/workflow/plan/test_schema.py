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
from workflow.plan import expand, resolve, selection

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "workflow" / "schema.json").read_text())
SCALES = ("smoke", "quick", "paper")


@pytest.fixture(scope="module")
def bbkb():
    return yaml.load((ROOT / "papers" / "bbkb.yaml").read_text(), Loader=yaml.SafeLoader)


def complaints(entry):
    return [
        f"{error.json_path}: {error.message}"
        for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(entry)
    ]


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
        (("scales", "quick", "bugdet"), 10, "$.scales.quick", "'bugdet' was unexpected"),
        (("seeds",), "ten", "$.seeds", "'ten' is not of type 'integer'"),
        (("problems", "abalone", "room"), 0, "$.problems.abalone.room", "0 is not valid"),
        (
            ("problems", "abalone"),
            {"is": "tables.abalone"},
            "$.problems.abalone",
            "'budget' is a required property",
        ),
        (("algorithms", "BKB", "is"), "bkb", "$.algorithms.BKB.is", "'bkb' does not match"),
        (("runs", None), {"algorithm": ["BKB"]}, "$.runs", "'algorithm' was unexpected"),
        (("runs", None), {"algorithms": []}, "$.runs", "non-empty"),
        (
            ("readings", "new"),
            {"algorithms": {}},
            "$.readings.new",
            "'says' is a required property",
        ),
        (("variants", "a+b"), {"bandwidth": 5}, "$.variants", "does not match"),
        (("figures", 0, "metric"), "regret", "$.figures[0].metric", "'regret' does not match"),
        (("figures", 0, "panels"), [], "$.figures[0].panels", "non-empty"),
        (
            ("figures", 0, "band"),
            "sd",
            "$.figures[0].band",
            "'sd' is not one of ['ci95', 'ci95-log', 'wald', 'se', 'iqr', 'none']",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "lesser"}},
            ".check.test",
            "'lesser' is not one of ['less', 'more'",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "less", "left": ["BKB"]}},
            ".check",
            "'right' is a required property",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "band", "left": ["BKB"]}},
            ".check",
            "'left' is not one of ['test'",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {"test": "band", "tolerence": 1}},
            ".check",
            "'tolerence' was unexpected",
        ),
        (
            ("claims", None),
            {"id": "c", "says": "something long enough", "check": {"test": "band"}},
            "$.claims",
            "'where' is a required",
        ),
        (("claims", 0, "scale"), "all", "$.claims[0].scale", "'any' was expected"),
        (
            ("claims", 0, "requires"),
            [{"curve": "BKB", "qbar": 158}],
            "$.claims[0].requires[0]",
            "'qbar' was unexpected",
        ),
        (
            ("assumptions", None),
            {"id": "x", "what": "y"},
            "$.assumptions",
            "'why' is a required property",
        ),
        (
            ("deviations", 0, "default"),
            "ours",
            "$.deviations[0].default",
            "'ours' is not one of ['paper', 'code']",
        ),
        (("claim",), [], "$", "'claim' was unexpected"),
    ],
)
def test_a_mistake_is_named_with_its_place(bbkb, path, value, place, message):
    found = complaints(put(bbkb, path, value))
    assert any(place in line.split(": ")[0] and message in line for line in found), found


def without(mapping, key):
    return {name: value for name, value in mapping.items() if name != key}


ORDERED = {"test": "less", "metric": "best_feasible", "left": ["BKB"], "right": ["GP-UCB"]}
PASSES = {**ORDERED, "test": "passes", "at_most": 300}
LINE = {"study": "s", "column": "best"}
BLOCK = {
    "problem": "abalone",
    "metric": "simple_regret",
    "at": 110,
    "label": "Powell (24-4)",
    "published": {"BKB": -1.5},
}
TABLE = {"id": "t", "kind": "published", "curves": ["BKB", "uniform"], "blocks": [BLOCK]}
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
            ("scales", "quick", "after_init"),
            0,
            "$.scales.quick.after_init",
            "0 is less than the minimum of 1",
        ),
        (
            ("problems", "abalone", "init", "noise"),
            True,
            "$.problems.abalone.init.noise",
            "False was expected",
        ),
        (("figures", 0, "shortest"), False, "$.figures[0].shortest", "True was expected"),
        (
            ("figures", 0, "panels", 0, "shortest"),
            3,
            "$.figures[0].panels[0].shortest",
            "True was expected",
        ),
        (
            ("figures", 0, "lines"),
            {"best": "2.5"},
            "$.figures[0].lines.best",
            "'2.5' is not valid under any",
        ),
        (
            ("figures", 0, "lines"),
            {"best": {"study": "s"}},
            "$.figures[0].lines.best",
            "is not valid under any",
        ),
        (
            ("figures", 0, "panels", 0, "lines"),
            {"best": {**LINE, "at": 1}},
            ".panels[0].lines.best",
            "is not valid under any",
        ),
        (("figures", 0, "scales"), [], "$.figures[0].scales", "non-empty"),
        (
            ("figures", 0, "scales"),
            "paper",
            "$.figures[0].scales",
            "'paper' is not of type 'array'",
        ),
        (("tables", None), without(TABLE, "blocks"), "$.tables", "'blocks' is a required property"),
        (("tables", None), without(TABLE, "curves"), "$.tables", "'curves' is a required property"),
        (("tables", None), {**TABLE, "columns": ["BKB"]}, "$.tables", "'columns' is not one of"),
        (("tables", None), {**TABLE, "blocks": []}, ".blocks", "non-empty"),
        (
            ("tables", None),
            {**FEASIBLE, "blocks": [BLOCK]},
            "$.tables",
            "'blocks' should not be valid under",
        ),
        (
            ("tables", None),
            {**TABLE, "blocks": [without(BLOCK, "published")]},
            ".blocks[0]",
            "'published' is a required property",
        ),
        (
            ("tables", None),
            {**TABLE, "blocks": [{**BLOCK, "at": 0}]},
            ".blocks[0].at",
            "0 is not valid under any",
        ),
        (
            ("tables", None),
            {**TABLE, "blocks": [{**BLOCK, "at": "mean"}]},
            ".blocks[0].at",
            "'mean' is not valid under any",
        ),
        (
            ("tables", None),
            {**TABLE, "blocks": [{**BLOCK, "published": {}}]},
            ".blocks[0].published",
            "non-empty",
        ),
        (
            ("tables", None),
            {**TABLE, "blocks": [{**BLOCK, "published": {"BKB": "N/A"}}]},
            ".published.BKB",
            "not of type 'number'",
        ),
        (
            ("tables", None),
            {**TABLE, "blocks": [{**BLOCK, "tables": 2}]},
            ".blocks[0]",
            "'tables' was unexpected",
        ),
        (
            ("tables", None),
            {**TABLE, "blocks": [{**BLOCK, "metric": "regret"}]},
            ".blocks[0].metric",
            "does not match",
        ),
        (("tables", None), {**FEASIBLE, "kind": "feasable"}, ".kind", "'feasable' is not one of"),
        (
            ("tables", None),
            {"id": "t", "kind": "settings", "settings": {"BKB": []}},
            ".settings.BKB",
            "non-empty",
        ),
        (
            ("tables", None),
            {"id": "t", "kind": "settings", "settings": ["BKB"]},
            ".settings",
            "is not of type 'object'",
        ),
        (("tables", None), {**FEASIBLE, "scale": ["paper"]}, "$.tables", "'scale' was unexpected"),
        (
            ("claims", None),
            {**CLAIM, "check": without(PASSES, "at_most")},
            ".check",
            "'at_most' is a required property",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": without(PASSES, "metric")},
            ".check",
            "'metric' is a required property",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**PASSES, "factor": 2}},
            ".check",
            "'factor' is not one of",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**PASSES, "minus": ["BKB"]}},
            ".check",
            "'minus' is not one of",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "at_most": 300}},
            ".check",
            "'at_most' is not one of",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "minus": []}},
            ".check.minus",
            "non-empty",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "where_defined": False}},
            ".where_defined",
            "True was expected",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "test": "spread", "where_defined": True}},
            ".check",
            "'where_defined' is not one of",
        ),
        (
            ("claims", None),
            {**CLAIM, "check": {**ORDERED, "metric": "best_infeasible"}},
            ".metric",
            "does not match",
        ),
    ],
)
def test_a_mistake_about_constrained_runs_is_named_with_its_place(
    bbkb, path, value, place, message
):
    if path[0] == "tables":
        bbkb = {**bbkb, "tables": bbkb.get("tables", [])}
    found = complaints(put(bbkb, path, value))
    assert any(place in line.split(": ")[0] and message in line for line in found), found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scales", "quick", "after_init"), 1),
        (("problems", "abalone", "init", "noise"), False),
        (("figures", 0, "shortest"), True),
        (("figures", 0, "lines"), {"best known": LINE, "optimum": 2.5}),
        (("figures", 0, "panels", 0, "lines"), {"best known": LINE}),
        (("figures", 0, "scales"), ["paper"]),
        (
            ("tables",),
            [
                {**FEASIBLE, "scales": ["paper"]},
                {"id": "s", "kind": "settings", "settings": {"BKB": ["qbar", "xi"]}},
            ],
        ),
        (
            ("tables",),
            [
                {
                    **TABLE,
                    "readings": ["default"],
                    "where": "Table 2",
                    "title": "a",
                    "scales": ["paper"],
                }
            ],
        ),
        (
            ("tables",),
            [
                {
                    **TABLE,
                    "blocks": [{**without(without(BLOCK, "label"), "at")}, {**BLOCK, "at": "end"}],
                }
            ],
        ),
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
        assert f"{{{resolve.read(name)['paper']['key']}," in text
