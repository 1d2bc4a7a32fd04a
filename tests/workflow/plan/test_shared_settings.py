"""A reading of a setting that methods share reaches all of them by one line, and none else."""

import copy

import pytest
import yaml

from tests.settings import GAMMA, TURBO
from workflow.judge.claims import readings_of
from workflow.plan.reads import claims_of
from workflow.plan.selection import curve_of, figure_runs, table_curves, table_of
from workflow.trace.curves import PlanError

BOX = {"is": "synthetic.rastrigin", "d": 2, "low": -5, "high": 5, "noise": 0.1}
BOX |= {"budget": 20, "room": 4, "init": {"design": "uniform", "n": 3}}
STANDARD = {"surrogate": {"standard": "population"}}
REGION = {"is": "turbo.TuRBO", **TURBO}
TOY = {
    "paper": {"key": "toy2026"},
    "scales": {"smoke": {"seeds": 1}, "short": {"seeds": 2}, "paper": {}},
    "seeds": 3,
    "problems": {"plain": BOX, "other": BOX},
    "algorithms": {
        "sample": {**REGION, "surrogate": {**TURBO["surrogate"], "standard": "sample"}},
        "population": {**REGION, "surrogate": {**TURBO["surrogate"], "standard": "population"}},
        # here `surrogate` is a plain parameter, not a group
        "process": {"is": "gp_acquisition.GPAcquisition", "acquisition": "ei", **GAMMA},
        "uniform": {"is": "random_search.RandomSearch"},
    },
    "readings": {"one": {"says": "one for everybody", "algorithms": {"*": STANDARD}}},
    "runs": [{"problems": ["plain"]}, {"problems": ["plain"], "readings": ["one"]}],
}
EVERYBODY = list(TOY["algorithms"])


@pytest.fixture
def toy(planner):
    """toy(change, scale) -> the plan of the toy paper that somebody changed."""
    return planner("toy", TOY)


def reading(everybody, **more):
    """A reading with a line for all algorithms, and with lines for single ones."""
    return {"says": "another setting", "algorithms": {"*": everybody, **more}}


def changes(**more):
    return lambda entry: entry.update(copy.deepcopy(more))


def test_a_line_for_all_sets_the_field_of_a_group_wherever_it_is(toy):
    usual, under = (toy().curve("plain", name).algorithm_entry for name in ("sample", "sample@one"))
    surrogate = {**TURBO["surrogate"], "standard": "population"}
    assert under == {**usual, "surrogate": surrogate}


def test_nobody_else_is_reached_not_even_who_has_a_parameter_of_the_groups_name(toy):
    plan = toy()
    assert {curve.label for curve in plan.curves} == {*EVERYBODY, "sample@one"}
    assert plan.curve("plain", "process").algorithm_entry["surrogate"] == "gamma-priors"
    assert curve_of(plan, "plain", "process", reading="one") is plan.curve("plain", "process")
    assert curve_of(plan, "plain", "uniform", reading="one") is plan.curve("plain", "uniform")
    with pytest.raises(PlanError, match="no run makes the curve 'process@one'"):
        plan.curve("plain", "process@one")


def test_values_by_problem_are_no_group(toy):
    values = {"plain": "population", "other": "raw"}
    readings = {
        "one": reading({"surrogate": {"standard": values}}),
        "two": reading({"surrogate": {"plain": "log-normal", "other": "x"}}),  # no group
    }
    runs = [{}, {"readings": ["one"]}, {"readings": ["two"], "problems": ["plain"]}]
    plan = toy(changes(readings=readings, runs=runs))
    assert plan.curve("other", "population@one").algorithm_entry["surrogate"]["standard"] == "raw"
    assert plan.curve("plain", "population@one") is plan.curve("plain", "population")
    assert plan.curve("plain", "process@two").algorithm_entry["surrogate"] == "log-normal"
    assert ("plain", "sample@two") not in plan.aliases


@pytest.mark.parametrize(
    ("setting", "unknown"),
    [
        ({"surrogate": {"standardd": "raw"}}, r"surrogate\.standardd"),
        ({"surogate": {"standard": "raw"}}, r"surogate\.standard"),
        ({"surrogate": {"standard": "raw", "units": "raw"}}, r"surrogate\.units"),
        ({"room": 3}, "room"),  # no parameter of a constructor
    ],
)
def test_a_line_for_all_that_reaches_nobody_is_refused(toy, setting, unknown):
    with pytest.raises(PlanError, match=rf"reading one, \*: unknown parameter {unknown}; known: "):
        toy(changes(readings={"one": reading(setting)}))


def test_a_named_line_wins_over_the_line_for_all(toy):
    said = reading(STANDARD, sample={"surrogate": {"standard": "raw"}})
    plan = toy(changes(readings={"one": said}))
    assert plan.curve("plain", "sample@one").algorithm_entry["surrogate"]["standard"] == "raw"


def test_who_has_the_value_anyway_is_not_planned_again_and_keeps_its_default_run(toy):
    plan = toy()
    usual = plan.curve("plain", "population")
    assert curve_of(plan, "plain", "population", reading="one") is usual
    assert plan.curve("plain", "population@one") is usual
    assert usual.algorithm_reading == ""
    # without its default run it is not planned under the reading either
    alone = toy(changes(runs=[{"problems": ["plain"], "readings": ["one"]}]))
    assert [curve.label for curve in alone.curves] == ["sample@one"]


def test_a_line_of_runs_without_algorithms_changes_no_default_run(toy):
    line = {"problems": ["plain"], "readings": ["one"], "seeds": 2, "budget": 10}
    plan = toy(changes(runs=[{"problems": ["plain"]}, line]))
    sizes = {curve.label: (len(curve.seeds), curve.budget) for curve in plan.curves}
    assert sizes == {**dict.fromkeys(EVERYBODY, (3, 20)), "sample@one": (2, 10)}


def test_a_reading_of_the_problem_is_another_problem_for_everybody(toy):
    noise = {"plain": {"noise": 0.2}, "other": {"noise": 0.1}}
    said = {**reading(STANDARD), "problems": noise}
    plan = toy(changes(readings={"one": said}, runs=[{}, {"readings": ["one"]}]))
    of_plain = ("sample@one", "population@one", "process", "uniform")
    names = {f"toy/plain@one/{name}" for name in of_plain} | {"toy/other@one/sample@one"}
    assert {curve.name for curve in plan.curves if "@" in curve.name} == names
    # a problem that keeps its values is the default one for whom nothing changes
    assert plan.curve("other@one", "uniform") is plan.curve("other", "uniform")
    assert curve_of(plan, "other", "population", reading="one") is plan.curve("other", "population")


def test_a_variant_wins_over_a_reading_and_is_run_once(toy):
    raw = {"raw": {"surrogate": {"standard": "raw"}}}
    plan = toy(changes(variants=raw, runs=[{"problems": ["plain"], "variants": ["raw"]}]))
    assert curve_of(plan, "plain", "sample+raw", reading="one") is plan.curve("plain", "sample+raw")


SHOWN = """
figures:
  - {id: fig, metric: simple_regret, reading: one, curves: [sample, population, process],
    panels: [{problem: plain}]}
tables:
  - {id: table, kind: diagnostics, problems: [plain], curves: [sample, population, process],
    readings: [default, one]}
claims:
  - {id: a, where: here, says: a claim of some words, check: {test: less, metric: simple_regret,
    problems: [plain], left: [process], right: [population, uniform]}}
"""


def test_figures_tables_and_claims_under_the_reading_take_the_default_runs_of_the_others(toy):
    plan = toy(changes(**yaml.safe_load(SHOWN)))
    labels = [curve.label for curve in figure_runs(plan, "fig")]
    assert labels == ["sample@one", "population", "process"]
    curves = table_curves(plan, table_of(plan, plan.entry["tables"][0]["id"]))
    assert [curve.label for curve in curves] == ["sample", "sample@one", "population", "process"]
    assert readings_of(plan, claims_of(plan)[0]) == {}  # the reading changes none of its runs
    plan.entry["claims"][0]["check"]["right"].append("sample")
    runs = readings_of(plan, claims_of(plan)[0])["one"]
    assert {run.label for run in runs} == {"process", "population", "uniform", "sample@one"}
