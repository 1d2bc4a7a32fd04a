"""A scale of published size: which runs of the published plan it takes, and what it may decide."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.workflow.synthetic import Toy, noisy
from workflow.judge import claims, ledger
from workflow.judge.outcomes import NOT_RUN, REPRODUCED, UNDECIDED
from workflow.measure import statistics
from workflow.measure.store import Store
from workflow.plan import costs, exhibits
from workflow.plan.expand import load
from workflow.plan.reads import null_runs, runs_of_claim, stated
from workflow.plan.resolve import papers
from workflow.trace.cells import Cell, PlanError

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = {"abalone", "australian", "breast_cancer", "wdbc"}
TABLE = {
    "is": "tables.abalone",
    "data": "abalone",
    "noise": 0.01,
    "features": "raw",
    "target": "raw",
    "budget": 50,
    "room": "unlimited",
    "init": {"design": "uniform", "n": 1},
}
LESS = {
    "test": "less",
    "metric": "cumulative_regret",
    "problems": ["small"],
    "left": ["greedy"],
    "right": ["uniform"],
}
MINI = {
    "paper": {"key": "mini2026"},
    "scales": {
        "smoke": {"budget": 10},
        "quick": {
            "size": "published",
            "seeds": 2,
            "claims": ["better"],
            "shows": ["both"],
            "leaves": ["slow"],
        },
        "paper": {},
    },
    "seeds": 3,
    "problems": {"small": TABLE, "large": TABLE},
    "algorithms": {
        "greedy": {
            "is": "eps_greedy.EpsGreedy",
            "epsilon": 0.1,
            "model": "empirical-mean",
            "bandwidth": 5,
            "lam": 0.5,
        },
        "slow": {"is": "random_search.RandomSearch"},
        "uniform": {"is": "random_search.RandomSearch"},
    },
    "runs": [{"scales": ["smoke"]}, {"scales": ["paper"]}],
    "figures": [
        {
            "id": "both",
            "metric": "simple_regret",
            "curves": ["greedy", "slow"],
            "panels": [{"problem": "small"}, {"problem": "large"}],
        },
        {
            "id": "other",
            "metric": "simple_regret",
            "curves": ["greedy"],
            "panels": [{"problem": "small"}],
        },
    ],
    "claims": [
        {"id": "better", "where": "Fig. 1", "says": "greedy is better", "check": LESS},
        {
            "id": "slower",
            "where": "Fig. 1",
            "says": "slow is worse than greedy",
            "check": {**LESS, "right": ["slow"]},
        },
    ],
}


@pytest.fixture
def mini(tmp_path):
    """mini(scale, change) -> the plan of a small paper whose YAML `change` has changed."""
    for name in ("algorithms", "problems", "workflow"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "papers").mkdir()

    def planned(scale="quick", change=lambda entry: None, **how):
        entry = copy.deepcopy(MINI)
        change(entry)
        path = tmp_path / "papers" / "mini.yaml"
        path.write_text(yaml.safe_dump(copy.deepcopy(entry), sort_keys=False))
        return load("mini", scale, root=tmp_path, **how)

    return planned


def names(plan):
    return {part.name.removeprefix("mini/") for part in plan.parts}


def test_it_runs_what_its_claims_and_exhibits_read_but_for_what_it_leaves(mini):
    plan = mini()
    assert names(plan) == {"small/greedy", "small/uniform", "large/greedy"}
    assert [line["id"] for line in plan.entry["figures"]] == ["both"]
    drawn = exhibits.REGISTRY["figures"].runs(plan, "both")
    assert [run.name for run in drawn] == ["mini/small/greedy", "mini/large/greedy"]
    with pytest.raises(PlanError, match="'slow' on 'small' at scale quick, only at others"):
        plan.cell("small", "slow")


def test_its_runs_are_the_published_ones_with_the_first_seeds(mini):
    plan, whole = mini(), mini("paper")
    for part in plan.parts:
        of_paper = next(other for other in whole.parts if other.name == part.name)
        assert part == replace(of_paper, scale="quick", seeds=(0, 1))
        assert part.digest == of_paper.digest and part.folder.parts[1] == "quick"
        assert plan.planned(part) == (0, 1, 2)
    assert plan.is_full_size and whole.is_full_size and not mini("smoke").is_full_size
    last = mini(seeds="1")
    assert {part.seeds for part in last.parts} == {(1,)}
    assert {last.planned(part) for part in last.parts} == {(0, 1, 2)}
    assert last.cell("small", "greedy") in last.cells


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda e: e["scales"]["quick"].update(budget=5),
            "expected budget without `size: published` alone, got both",
        ),
        (
            lambda e: e["scales"]["smoke"].update(claims=["better"]),
            "expected claims beside `size: published` alone, got no such size",
        ),
        (lambda e: e["scales"]["quick"].update(claims=["bettr"]), "unknown claim 'bettr'"),
        (lambda e: e["scales"]["quick"].update(shows=["tree"]), "unknown exhibit 'tree'"),
        (lambda e: e["scales"]["quick"].update(leaves=["snow"]), "algorithm 'snow'; did you mean"),
        (
            lambda e: e["runs"][1].update(scales=["quick", "paper"]),
            "expected other scales than quick, which is of published size",
        ),
        (
            lambda e: [e["scales"]["quick"].pop(key) for key in ("claims", "shows")],
            "scale quick: expected claims or exhibits that some run of scale paper makes",
        ),
        (
            lambda e: e["problems"]["large"].update(optimum="best-seen"),
            "expected all runs on a problem whose optimum is the best value seen, or none, got"
            " some without mini/large/slow",
        ),
    ],
)
def test_a_mistake_is_named(mini, change, message):
    with pytest.raises(PlanError, match=message):
        mini(change=change)


def toy_of(root, planned, **cut):
    """A claim on two curves of five seeds at a scale of published size, of so many planned."""
    toy = Toy(root, scale="quick", seeds=5)
    for name, level in (("A", 0.9), ("B", 0.5)):
        toy.add(name, noisy(level, 0.01, len(name)))
    check = {**LESS, "problems": ["p"], "left": ["A"], "right": ["B"]}
    says = "A has less regret than B"
    toy.entry["claims"] = [{"id": "c", "where": "Fig. 1", "says": says, "check": check}]
    toy.entry["scales"]["quick"] = cut
    paper = replace(toy.paper, uncut={part.name: tuple(range(planned)) for part in toy.paper.parts})
    return paper, Store(paper, root)


@pytest.mark.parametrize(("planned", "level"), [(5, 0.05), (10, 1 / 32)])
def test_it_decides_at_the_level_that_the_published_plan_has_for_five_seeds(
    tmp_path, planned, level
):
    paper, store = toy_of(tmp_path, planned, size="published", claims=["c"])
    found = claims.judge(paper, store, paper.entry["claims"][0])
    assert (found.verdict, found.reasons) == (REPRODUCED, ())
    comparison = found.comparisons[0]
    assert (comparison.n, comparison.level, comparison.looks) == (
        5,
        level,
        len(statistics.looks(planned)),
    )


def test_a_scale_that_cuts_decides_nothing(tmp_path):
    paper, store = toy_of(tmp_path, 5)
    assert claims.judge(paper, store, paper.entry["claims"][0]).reasons == ("scale quick",)


def test_a_claim_that_it_does_not_name_is_not_run(tmp_path):
    """Though all its runs are there: what is decided was chosen beforehand."""
    paper, store = toy_of(tmp_path, 5, size="published")
    found = claims.judge(paper, store, paper.entry["claims"][0])
    assert (found.verdict, found.observed) == (UNDECIDED, NOT_RUN)
    assert found.reasons == ("not run at scale quick",) and claims.runs(paper) == []
    ledger.write(store, tmp_path)
    for name in ("verdicts.md", "verdicts.json"):
        assert "not run at scale quick" in (tmp_path / name).read_text()
    said = (tmp_path / "claims-by-settings.md").read_text()
    assert "0 claims; 1 that are counted apart, or not run at this scale" in said
    assert "No setting changes a run of a claim." in said


@pytest.mark.parametrize("name", papers(ROOT))
def test_quick_is_a_part_of_the_published_plan_that_needs_no_network(name):
    plan, whole = load(name, "quick"), load(name, "paper")
    published = {part.name: part for part in whole.parts}
    for part in plan.parts:
        of_paper = published[part.name]
        assert (part.digest, part.seeds) == (of_paper.digest, of_paper.seeds[:5])
        assert plan.planned(part) == of_paper.seeds
        assert part.problem_entry.get("data") in {None, *SHIPPED}
        assert "simulator" not in part.problem_entry
    assert any(
        len(run.seeds) == 5
        for line in plan.entry["figures"]
        for run in exhibits.REGISTRY["figures"].runs(plan, line["id"])
    )


@pytest.mark.parametrize("name", papers(ROOT))
def test_quick_judges_every_claim_whose_runs_it_makes(name):
    """None is left out for what it comes to."""
    plan, whole = load(name, "quick"), load(name, "paper")
    made = {part.name for part in plan.parts}
    for claim in stated(whole.entry):
        reads = [*runs_of_claim(whole, claim), *null_runs(whole, claim)]
        assert plan.judges(claim["id"]) == ({run.name for run in reads} <= made), claim["id"]


def test_quick_takes_ten_minutes_and_decides_enough():
    """Core-seconds as published runs took them; fewer could be decided than are judged."""
    plans = [load(name, "quick") for name in papers(ROOT)]
    assert sum(costs.seconds(part) for plan in plans for part in plan.parts) < 800
    judged = [one for plan in plans for one in stated(plan.entry) if plan.judges(one["id"])]
    assert len(judged) >= 30
    assert any(isinstance(part, Cell) for plan in plans for part in plan.parts)
