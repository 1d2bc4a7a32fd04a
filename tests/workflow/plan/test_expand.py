"""Every mistake in a paper's YAML is a sentence before any job starts."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from workflow.plan import costs, exhibits, expand, resolve, selection
from workflow.plan.expand import load
from workflow.trace import curves
from workflow.trace.curves import UNLIMITED, PlanError


def test_variants_readings_and_the_horizon_of_a_real_paper():
    plan, cut = load("bbkb", "paper"), load("bbkb", "smoke")
    usual, code = (plan.curve("abalone", name) for name in ("GP-UCB", "BKB@reference-code"))
    assert plan.curve("abalone", "GP-UCB+bandwidth-5") is usual  # equal, hence run once
    assert plan.curve("abalone", "GP-UCB+bandwidth-10") is not usual
    assert (code.algorithm_entry["beta"], code.problem_name) == ("reference-code", "abalone")
    for one in (plan, cut):  # delta is 1/T, and T that of the paper
        assert one.curve("abalone", "BKB").algorithm_entry["delta"] == pytest.approx(1e-4)


MINI = yaml.safe_load("""
paper: {key: mini2026}
scales: {smoke: {}, short: {budget: 20}, paper: {}}
seeds: 3
problems:
  plain: {is: tables.abalone, data: abalone, noise: 0.01, features: raw, target: raw, budget: 50,
    room: unlimited, init: {design: uniform, n: 1}}
  giving: {is: nasbench.cells, data: nasbench101, features: per-half, scored_by: test,
    spread: pooled, budget: 50, room: 4, given: {bandwidth: noise, lam: noise_variance},
    init: {design: uniform-distinct, n: 9, counted: false}}
algorithms:
  greedy: {is: eps_greedy.EpsGreedy, epsilon: 0.1, model: empirical-mean, bandwidth: {plain: 5},
    lam: 0.5}
  own: {is: eps_greedy.EpsGreedy, epsilon: 0.1, model: empirical-mean, bandwidth: {plain: 5,
    giving: 7}, lam: {plain: 0.5}}
  uniform: {is: random_search.RandomSearch}
readings:
  wide: {says: a bandwidth of 99, algorithms: {'*': {bandwidth: 99}}}
variants: {narrow: {lam: 0.25}}
runs:
  - {}
  - {readings: [wide], algorithms: [greedy, own]}
  - {variants: [narrow], algorithms: [greedy, own]}
""")


@pytest.fixture
def mini(planner):
    """mini(change, scale) -> the plan of a small paper that somebody changed."""
    return planner("mini", MINI)


def changes(section, key, **settings):
    return lambda entry: entry[section][key].update(settings)


def test_a_problem_gives_its_parameters_to_who_has_them_and_no_own_value_there(mini):
    plan = mini()
    greedy, own = (plan.curve("giving", name).algorithm_entry for name in ("greedy", "own"))
    # one value for all problems is an own value
    assert (greedy["bandwidth"], greedy["lam"]) == ({"given": "noise"}, 0.5)
    assert (own["bandwidth"], own["lam"]) == (7, {"given": "noise_variance"})
    assert set(plan.curve("giving", "uniform").algorithm_entry) == {"is"}
    assert plan.curve("plain", "greedy").algorithm_entry["bandwidth"] == 5


def test_readings_and_variants_win_over_what_is_given(mini):
    plan = mini()
    assert plan.curve("giving", "greedy@wide").algorithm_entry["bandwidth"] == 99
    # the reading leaves it alone
    assert plan.curve("giving", "own@wide").algorithm_entry["lam"] == {"given": "noise_variance"}
    assert plan.curve("giving", "own+narrow").algorithm_entry["lam"] == 0.25


def test_what_is_given_is_part_of_the_digest(mini):
    given = {"bandwidth": "noise", "lam": "noise", "nobody": "noise"}  # which is no mistake

    def digest(**more):
        change = changes("problems", "giving", given={**given, **more})
        return mini(change).curve("giving", "own").digest

    assert digest() == digest() != digest(lam="noise_variance")


STUDY = """
id: s
is: batching.run
problem: plain
where: here
says: so
parameters: {T: 9, settings: [[1, 2]], bandwidth: 1, exact: distinct-arms, C: 2, rule: global,
  confidence: {xi: 1, norm: 2, delta: 0.1, beta: theorem}, inclusion: per-pull, parallelism: 0}
cuts: {paper: {confidence: {norm: 5}}}
"""


def test_a_cut_of_a_study_reaches_one_field_and_keeps_the_others(mini):
    plan = mini(lambda entry: entry.update(studies=[yaml.safe_load(STUDY)]))
    found = plan.studies["s"].parameters["confidence"]
    assert found == {"xi": 1, "norm": 5, "delta": 0.1, "beta": "theorem"}


def test_a_study_may_begin_at_another_seed(mini, tmp_path):
    def begins(first, **changes):
        line = {"id": "s", "is": "search_space.run", "problem": "plain"}
        line |= {"parameters": {"bandwidths": [1]}, **changes}
        line |= {} if first is None else {"first_seed": first}
        return lambda entry: entry.update(studies=[line])

    usual = mini(begins(None)).studies["s"]
    assert usual.seeds[0] == 0
    found = mini(begins(10)).studies["s"]
    assert found.seeds == tuple(seed + 10 for seed in usual.seeds)
    assert found.digest == usual.digest  # the same computation on other seeds
    assert mini(begins(10, seeds=1)).studies["s"].seeds == (10,)
    by_hand = [load("mini", "paper", seeds=seeds, root=tmp_path) for seeds in ("10", "0-1")]
    assert [plan.studies["s"].seeds for plan in by_hand] == [(10,), (10,)]  # never none
    plan = mini(begins(10))
    assert Path(plan.records([plan.studies["s"]])[0]).name == "10.parquet"
    with pytest.raises(PlanError, match="first_seed: expected a whole number from 1"):
        mini(begins(-1))


def test_a_study_belongs_to_the_code_of_the_optimizers_that_it_builds_by_name():
    several = {"A": {"is": "dumbo.DuMBO", "rate": 1}, "B": {"is": "turbo.TuRBO"}}
    nested = {"T": 3, "optimizers": several, "optimizer": {"is": "bkb.BKB"}}
    assert resolve.targets(nested) == {"dumbo.DuMBO", "turbo.TuRBO", "bkb.BKB"}
    assert resolve.targets({"T": 3, "levels": [1, 2]}) == set()


@pytest.mark.parametrize(
    ("section", "key", "other"),
    [("problems", "plain", ("giving", "greedy")), ("algorithms", "greedy", ("plain", "uniform"))],
)
def test_a_record_belongs_to_the_versions_of_the_libraries_that_its_entries_name(
    mini, monkeypatch, section, key, other
):
    def digests(**named):
        plan = mini(changes(section, key, **named))
        return plan.curve("plain", "greedy").digest, plan.curve(*other).digest

    libraries = ["numpy", "no-such-library"]
    unnamed, here = digests(), digests(libraries=libraries)
    assert here[0] != unnamed[0] and here[1] == unnamed[1]
    monkeypatch.setattr(resolve, "installed", lambda library: "0.0.1")
    there = digests(libraries=libraries)
    assert there[0] not in (here[0], unnamed[0]) and there[1] == here[1]
    assert digests() == unnamed


def test_a_substitute_is_no_part_of_the_parameters_and_one_of_the_digest(mini):
    more = {"substitute": {"features": "z-scored"}, "libraries": ["numpy"]}
    curve = mini(changes("problems", "plain", **more)).curve("plain", "greedy")
    assert curve.problem_entry["features"] == "raw"
    assert curve.digest != mini().curve("plain", "greedy").digest


BY_PROBLEM = {
    "execution": {"plain": "batch", "giving": "async"},
    "room": {"plain": "unlimited", "giving": 2},
}


@pytest.mark.parametrize(
    ("problem", "algorithm", "room", "is_async"),
    [
        ({}, {}, 4, False),
        ({}, {"room": 9}, 9, False),
        ({}, {"room": "unlimited"}, UNLIMITED, False),
        ({}, {"execution": "async"}, 4, True),
        ({}, {"execution": "async", "room": 30}, 30, True),
        ({}, BY_PROBLEM, 2, True),
        ({"execution": "async"}, {}, 4, True),
        ({"execution": "async"}, {"execution": "batch", "room": "unlimited"}, UNLIMITED, False),
    ],
)
def test_the_algorithms_own_workers_and_way_of_execution_win_over_the_problems(
    mini, problem, algorithm, room, is_async
):
    def change(entry):
        entry["problems"]["giving"].update(problem)
        entry["algorithms"]["own"].update(algorithm)
        entry["runs"][0] = {"problems": ["giving"]}
        if not isinstance(algorithm.get("execution"), dict):
            entry["runs"][1:] = []

    curve = mini(change).curve("giving", "own")
    assert (curve.room, curve.is_async) == (room, is_async)


def test_only_asynchronous_runs_depend_on_the_code_of_their_loop(mini, monkeypatch):
    """Every module that a digest covers is asked for by name."""
    covered = []
    monkeypatch.setattr(
        "workflow.plan.resolve.code.digest",
        lambda modules, entry: covered.append(modules) or "0" * 64,
    )
    mini(changes("algorithms", "uniform", execution=BY_PROBLEM["execution"]))
    with_loop = ["workflow.run.async_loop" in modules for modules in covered]
    assert 0 < sum(with_loop) < len(with_loop)
    assert all("workflow.run.loop" in modules for modules in covered)


REFUSED = {  # where there are two problems; other slips: tests/faults/test_yaml.py
    "own on giving: expected a value for problem 'giving', got {'plain': 0.5}": (
        lambda entry: entry["problems"]["giving"]["given"].pop("lam")
    ),
    "problem giving: `given` names nois, sd; nasbench.cells reveals noise, noise_variance": (
        changes("problems", "giving", given={"lam": "nois", "xi": "sd"})
    ),
    "uniform on giving: expected a value for problem 'giving'": (
        changes("algorithms", "uniform", execution={"plain": "batch"})
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_mistake_is_named(mini, message):
    with pytest.raises(PlanError, match=re.escape(message)) as refused:
        mini(REFUSED[message])
    assert str(refused.value).startswith("papers/mini.yaml")


def test_a_run_of_one_scale_is_left_out_at_the_others(mini):
    def change(entry):
        entry["runs"][1]["scales"] = ["paper"]
        entry["runs"][2]["scales"] = ["short", "paper"]

    whole, paper, short = mini(), mini(change, "paper"), mini(change, "short")
    assert [curve.name for curve in paper.curves] == [curve.name for curve in whole.curves]
    left_out = {curve.name for curve in paper.curves} - {curve.name for curve in short.curves}
    pairs = itertools.product(("plain", "giving"), ("greedy", "own"))
    assert left_out == {f"mini/{problem}/{name}@wide" for problem, name in pairs}
    said = "no run makes the curve 'greedy@wide' on 'plain' at scale short"
    with pytest.raises(PlanError, match=said):
        short.curve("plain", "greedy@wide")


@pytest.mark.parametrize(
    ("cut", "plain", "giving"),
    [
        ({"after_init": 4}, 7 + 4, 4),  # the design of `giving` is outside the budget
        ({"after_init": 1}, 8, 1),
        ({"after_init": 49}, 50, 49),
        ({"after_init": 1000}, 50, 50),  # a scale never adds to what is published
        ({"after_init": 4, "budget": 6}, 6, 4),
        ({"after_init": 4, "budget": 20}, 11, 4),
        ({}, 50, 50),
    ],
)
def test_a_scale_may_cut_what_follows_the_design(mini, cut, plain, giving):
    def change(entry):
        entry["scales"]["short"] = cut
        entry["problems"]["plain"]["init"]["n"] = 7

    plan = mini(change, "short")
    assert plan.curve("plain", "greedy").budget == plain
    assert plan.curve("giving", "greedy").budget == giving
    assert mini(change).curve("plain", "greedy").budget == 50


def test_a_cut_after_the_design_follows_the_design_of_a_reading_and_the_smallest_budget(mini):
    def change(entry):
        entry["scales"]["short"] = {"after_init": 4}
        with_design(entry, "long", "plain", {"design": "uniform", "n": 20})
        counted = {"design": "uniform-distinct", "n": 9, "counted": True}
        with_design(entry, "counted", "giving", counted)
        entry["algorithms"]["own"]["budget"] = 3

    plan = mini(change, "short")
    budgets = {
        problem: curve.budget
        for (problem, label), curve in plan.aliases.items()
        if label == "uniform"
    }
    assert budgets == {"plain": 5, "plain@long": 24, "giving": 4, "giving@counted": 13}
    assert plan.curve("plain", "own").budget == 3


def with_design(entry, reading, problem, init):
    """Another design as a reading of a problem, under which uniform search is run."""
    said = {"says": "another design", "problems": {problem: {"init": init}}}
    entry["readings"][reading] = said
    line = {"readings": [reading], "problems": [problem], "algorithms": ["uniform"]}
    entry["runs"].append(line)


def test_a_design_without_noise_is_another_problem(mini):
    init = {"design": "uniform", "n": 1, "noise": False}
    plan = mini(lambda entry: with_design(entry, "exact", "plain", init))
    noisy, exact = plan.curve("plain", "uniform"), plan.curve("plain@exact", "uniform")
    assert noisy.digest != exact.digest and noisy.folder != exact.folder
    assert (noisy.budget, noisy.seeds) == (exact.budget, exact.seeds)


def shown(entry):
    """Two figures and two tables, of all scales and of `paper` alone."""
    figure = {"metric": "seconds", "curves": ["uniform"], "panels": [{"problem": "plain"}]}
    table = {"kind": "feasible", "problems": ["plain"], "curves": ["uniform"]}
    entry["figures"] = [{"id": "every", **figure}, {"id": "large", "scales": ["paper"], **figure}]
    small = {"id": "small", "scales": ["short"], **table}
    entry["tables"] = [small, {"id": "always", "scales": ["short", "paper"], **table}]


def test_figures_and_tables_of_other_scales_are_left_out(mini):
    ids = {}
    for scale in ("short", "paper"):
        plan = mini(shown, scale)
        sections = plan.entry["figures"], plan.entry["tables"]
        ids[scale] = [[line["id"] for line in section] for section in sections]
    assert ids["short"] == [["every"], ["small", "always"]]
    assert ids["paper"] == [["every", "large"], ["always"]]
    with pytest.raises(PlanError, match="unknown figure 'large'; known: every"):
        selection.figure_runs(mini(shown, "short"), "large")
    with pytest.raises(PlanError, match="unknown table 'small'; known: always"):
        selection.table_runs(mini(shown), "small")


@pytest.mark.parametrize("paper", resolve.papers())
def test_short_runs_share_a_process_with_all_their_seeds(paper):
    plan = expand.load(paper, "paper")
    together = [part for seeds, parts in plan.together().items() for part in parts]
    assert together and len({part.name for part in together}) == len(together)
    for seeds, parts in plan.together().items():
        assert len(seeds) > 1 and all(part.seeds == seeds for part in parts)
    assert all(costs.seconds(part) <= costs.TOGETHER_SECONDS for part in together)


def test_no_job_makes_what_is_lent_and_the_rest_is_made_once():
    """Seeds of a dear run, all of another one, one of a study's; reports wait for their files."""
    whole = expand.load("lcbo", "paper")
    dear = max(whole.curves, key=lambda curve: costs.of(curve).seconds * (len(curve.seeds) > 4))
    gone, study = min(whole.curves, key=costs.seconds), whole.every_curve[-1]
    published = {(dear.name, dear.seeds[2]), (study.name, study.seeds[0])}
    published |= {(gone.name, seed) for seed in gone.seeds}
    plan = replace(whole, not_made=frozenset(published))
    every = {(part.name, seed) for part in whole.every_curve for seed in part.seeds}
    made = [(part.name, seed) for part in plan.every_curve for seed in plan.to_make(part)]
    assert sorted(made) == sorted(every - published)
    together = [part for parts in plan.together().values() for part in parts]
    assert gone not in together and study not in together  # some of their seeds are published
    assert plan.published([gone]) == [str(gone.published)] and not plan.records([gone])
    other = next(part for part in whole.curves if part not in (dear, gone))
    assert not plan.published([other]) and plan.records([other]) == whole.records([other])
    assert plan.published([dear]) == [str(dear.published)] and plan.records([dear])


@pytest.mark.parametrize("paper", [*resolve.papers(), *resolve.comparisons()])
def test_a_job_is_given_what_the_plan_says(paper):
    for part in expand.load(paper, "paper").every_curve:
        given = curves.from_json(curves.as_json(part))
        assert replace(given, seeds=part.seeds) == part
        assert json.dumps(given.problem_entry) == json.dumps(part.problem_entry)  # order, too


def test_what_no_workflow_gives_is_refused_in_a_sentence():
    for text in ("", "[]", '{"paper": "bkb"}'):
        with pytest.raises(PlanError, match="leave out --given"):
            curves.from_json(text)


def test_the_cheapest_paper_begins():
    plans = [expand.load(name, "paper") for name in resolve.papers()]
    found = expand.priorities(plans)
    price = {plan.name: sum(map(costs.seconds, plan.every_curve)) for plan in plans}
    assert sorted(found, key=found.get, reverse=True) == sorted(price, key=price.get)


def test_exhibits_are_grouped_by_what_one_rule_can_draw(mini):
    def moving(entry):
        picture = {"is": "truss.draw", "problem": "plain", "curves": ["uniform"]}
        entry["pictures"] = [{**picture, "id": "one"}, {**picture, "id": "two", "moves": True}]

    found = exhibits.kinds_of_exhibits([mini(shown), mini(moving)])
    by_ends = {(kind.one, ends): names for kind, ends, names in found}
    assert by_ends["picture", ("png",)] == ["mini/one"]
    assert by_ends["picture", ("png", "gif")] == ["mini/two"]
    assert len([1 for kind, _, _ in found if kind.one == "figure"]) == 1
