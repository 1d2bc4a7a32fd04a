"""What is done, what it has cost and what is still to be made, from plans and files alone."""

import pytest

from tests.workflow.synthetic import Toy, noisy, rewrite
from workflow.measure.store import BadRecords, without_published
from workflow.operate import publish, status
from workflow.plan import costs
from workflow.plan.costs import duration


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path, budget=3, seeds=4)


@pytest.fixture
def curve(toy):
    """Four records that took 10, 20, 30 and 40 seconds."""
    made = toy.add("A", noisy(0.5))
    for seed in made.seeds:
        rewrite(toy.root / made.record(seed), cpu_seconds=10.0 * (seed + 1))
    return made


def states(toy, plan=None):
    return [state for _, _, state, _ in status.runs(plan or toy.paper, toy.root)]


def test_records_of_this_code_these_parameters_and_these_data_are_done(toy, curve):
    toy.study("s", lambda seed: {"gap": [0.1]}, seeds=2)
    assert states(toy) == ["done"] * 6
    toy.store().check([curve])  # a report says the same


def test_what_is_published_is_counted_apart_unless_it_is_to_be_made_anew(toy, curve):
    assert publish.publish(toy.paper, toy.root / "results", toy.root).errors == []
    plan = without_published(toy.paper, toy.root)
    assert states(toy, plan) == ["done"] * 4
    (toy.root / curve.record(0)).unlink()
    rewrite(toy.root / curve.record(1), digest="of other code")
    assert states(toy, plan) == ["published", "published", "done", "done"]
    total = status.summary([plan], toy.root).iloc[-1]
    assert status.sentence(total, 1) == "4 runs: 2 done, 2 published"
    assert states(toy) == ["missing", "stale", "done", "done"]


@pytest.mark.parametrize("wrong", [{"digest": "of other code"}, {"status": "cutoff"}, {"seed": 1}])
def test_what_a_report_would_refuse_is_stale(toy, curve, wrong):
    rewrite(toy.root / curve.record(2), **wrong)
    assert states(toy) == ["done", "done", "stale", "done"]
    with pytest.raises(BadRecords):
        toy.store().check([curve])


def test_a_run_that_an_evaluation_ended_is_made(toy, curve):
    rewrite(toy.root / curve.record(2), status="timeout")
    assert states(toy) == ["done", "done", "timeout", "done"]


def test_spent_is_what_records_say_and_the_rest_what_the_plan_expects(toy, curve):
    (toy.root / curve.record(3)).unlink()
    toy.study("s", lambda seed: {"gap": [0.1]}, seeds=2)
    expected = costs.of(curve).seconds
    table = status.summary([toy.paper], toy.root)
    assert table["paper"].to_list() == ["toy", "toy", "total"]
    assert table["problem"].to_list() == ["p", "studies", ""]
    first, total = table.iloc[0], table.iloc[-1]
    assert (first["runs"], first["done"], first["missing"], total["runs"]) == (4, 3, 1, 6)
    assert first["core-h spent"] == pytest.approx(60 / 3600)
    assert first["to go"] == total["to go"] == pytest.approx(expected / 3600)
    said = status.sentence(total, 2)
    assert said == f"6 runs: 5 done, 1 missing; about {duration(expected / 2)} to go on 2 cores"
