"""A comparison: problems of papers as they stand there, their runs, and runs of its own beside."""

import copy

import pytest
import yaml

from tests.workflow.checkout import linked, write
from workflow.plan import exhibits, resolve, selection
from workflow.plan.expand import chosen_papers, lenders, load
from workflow.plan.reads import claims_of, runs_of
from workflow.trace.curves import PlanError

SEARCH = {"is": "random_search.RandomSearch"}
PAPER = yaml.safe_load("""
paper: {key: mini2026}
scales: {smoke: {budget: 10}, short: {seeds: 1}, paper: {}}
seeds: 5
problems:
  small: {is: tables.abalone, data: abalone, noise: 0.01, features: raw, target: raw, budget: 50,
    room: unlimited, optimum: best-seen, init: &init {design: uniform, n: 1}}
  large: {is: tables.abalone, data: abalone, noise: 0.1, features: raw, target: raw, budget: 50,
    room: unlimited, optimum: best-seen, init: *init}
algorithms:
  greedy: {is: eps_greedy.EpsGreedy, epsilon: 0.1, model: empirical-mean, bandwidth: 5, lam: 0.5}
  uniform: {is: random_search.RandomSearch}
readings:
  bold: {says: it explores more, algorithms: {'*': {epsilon: 0.5}}}
runs:
  - {}
  - {readings: [bold], problems: [small], scales: [paper]}
""")
COMPARISON = yaml.safe_load("""
paper: {key: other2026}
borrows:
  mini: {problems: [small, large], curves: [greedy, 'greedy@bold']}
scales: {smoke: {seeds: 2}, paper: {}}
seeds: 3
algorithms:
  rival: {is: random_search.RandomSearch}
runs: [{}]
figures:
  - {id: both, metric: simple_regret, curves: [greedy, 'greedy@bold', rival],
    panels: [{problem: small}]}
claims:
  - {id: still-better, where: 'mini, claim better', says: greedy is better than its rival,
    check: {test: less, metric: simple_regret, problems: [small], left: ['greedy@bold'],
    right: [rival]}}
""")


@pytest.fixture
def root(tmp_path):
    write(linked(tmp_path), "mini", PAPER)
    write(tmp_path, "today", COMPARISON)
    return tmp_path


def changed(root, change):
    entry = copy.deepcopy(COMPARISON)
    change(entry)
    write(root, "today", entry)


def test_what_it_borrows_are_the_papers_own_runs_and_nobody_makes_them_twice(root):
    plan, paper = load("today", "paper", root=root), load("mini", "paper", root=root)
    assert [curve.name for curve in plan.curves] == ["today/small/rival", "today/large/rival"]
    assert not any("mini" in path for path in plan.records(plan.every_curve))
    for place in [("small", "greedy"), ("large", "greedy"), ("small", "greedy@bold")]:
        mine, theirs = plan.curve(*place), paper.curve(*place)
        assert mine.digest == theirs.digest
        assert mine.record(1) == theirs.record(1) and mine.published == theirs.published
        assert (mine.seeds, theirs.seeds) == ((0, 1, 2), (0, 1, 2, 3, 4))


def test_its_own_runs_meet_the_problem_of_the_paper(root):
    rival = load("today", "paper", root=root).curve("large", "rival")
    uniform = load("mini", "paper", root=root).curve("large", "uniform")
    assert rival.digest == uniform.digest
    assert rival.problem_entry == uniform.problem_entry and rival.budget == 50


def test_a_scale_cuts_borrowed_problems_as_their_paper_does(root):
    plan = load("today", "smoke", root=root)
    assert {curve.budget for curve in plan.aliases.values()} == {10}
    assert plan.curve("small", "rival").seeds == (0, 1)


def test_a_curve_that_only_another_scale_makes_is_left_out(root):
    plan = load("today", "smoke", root=root)
    assert selection.is_left_out(plan, "small", "greedy@bold")
    drawn = exhibits.REGISTRY["figures"].runs(plan, "both")
    assert {run.name for run in drawn} == {"mini/small/greedy", "today/small/rival"}


def test_the_best_value_seen_is_that_of_all_runs_compared_and_of_no_others(root):
    plan = load("today", "paper", root=root)
    claim = claims_of(plan)[0]
    names = {"today/small/rival", "mini/small/greedy", "mini/small/greedy@bold"}
    assert {run.name for run in runs_of(plan, claim.check)} == names
    paper = load("mini", "paper", root=root)
    read = selection.companions(paper, paper.curve("small", "greedy"))
    assert {curve.paper for curve in read} == {"mini"}


def test_it_is_asked_for_by_name_and_is_no_paper(root):
    assert resolve.papers(root) == chosen_papers("", root) == ["mini"]
    assert resolve.comparisons(root) == chosen_papers("today", root) == ["today"]
    assert lenders(["today"], root) == ["mini"]
    assert lenders(["today", "mini"], root) == lenders(["mini"], root) == []


def lend(entry):
    return entry["borrows"]["mini"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entry: lend(entry)["problems"].append("smal"), "unknown problem 'smal'; did you"),
        (lambda entry: lend(entry)["curves"].append("gredy"), "no run .* the curve 'gredy' on any"),
        (
            lambda entry: entry["borrows"].update(minni=lend(entry)),
            "unknown paper 'minni'; did you",
        ),
        (lambda entry: entry.update(problems=PAPER["problems"]), "once, got 'small' twice"),
        (
            lambda entry: entry["algorithms"].update(greedy=SEARCH),
            "got greedy on large: rename one",
        ),
        (lambda entry: entry["borrows"].clear(), "borrows"),
        (lambda entry: lend(entry).update(curves=3), "mini.curves: expected a list, got 3"),
    ],
)
def test_a_slip_in_what_it_borrows_is_told(root, change, said):
    changed(root, change)
    with pytest.raises(PlanError, match=said):
        load("today", "paper", root=root)


@pytest.mark.parametrize("lacks", ["problems", "scales"])
def test_a_paper_has_problems_and_all_scales(root, lacks):
    entry = copy.deepcopy(PAPER)
    entry.pop("problems") if lacks == "problems" else entry["scales"].pop("smoke")
    write(root, "mini", entry)
    with pytest.raises(PlanError, match=rf"expected (`problems`, or|the {lacks} smoke)"):
        load("mini", "paper", root=root)
