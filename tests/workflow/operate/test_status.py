"""What is done, what it has cost and what is still to be made, from plans and files alone."""

from __future__ import annotations

import pytest

from tests.workflow.synthetic import Toy, noisy
from workflow.measure.store import BadRecords, without_published
from workflow.operate import publish, status
from workflow.plan import costs
from workflow.trace import record


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path, budget=3, seeds=4)


@pytest.fixture
def cell(toy):
    """Four records that took 10, 20, 30 and 40 seconds."""
    made = toy.add("A", noisy(0.5))
    for seed in made.seeds:
        change(toy, made, seed, cpu_seconds=10.0 * (seed + 1))
    return made


def change(toy, part, number, **header):
    path = toy.root / part.record(number)
    found = record.read(path)
    record.write(path, {**found.header, **header}, found.columns)


def states(toy, plan=None):
    return [run.state for run in status.runs(plan or toy.paper, toy.root)]


def test_records_of_this_code_these_parameters_and_these_data_are_done(toy, cell):
    toy.study("s", lambda seed: {"gap": [0.1]}, seeds=2)
    assert states(toy) == ["done"] * 6
    toy.store().check([cell])  # a report says the same


def test_what_is_published_is_counted_apart_unless_it_is_to_be_made_anew(toy, cell):
    assert publish.publish(toy.paper, toy.root / "results", toy.root).errors == []
    plan = without_published(toy.paper, toy.root)
    assert states(toy, plan) == ["done"] * 4
    (toy.root / cell.record(0)).unlink()
    change(toy, cell, 1, digest="of other code")
    found = status.runs(plan, toy.root)
    assert [run.state for run in found] == ["published", "published", "done", "done"]
    assert status.line(found, 1) == "4 runs: 2 done, 2 published"
    assert states(toy) == ["missing", "stale", "done", "done"]


@pytest.mark.parametrize("wrong", [{"digest": "of other code"}, {"status": "cutoff"}])
def test_what_a_report_would_refuse_is_stale(toy, cell, wrong):
    change(toy, cell, 2, **wrong)
    assert states(toy) == ["done", "done", "stale", "done"]
    with pytest.raises(BadRecords):
        toy.store().check([cell])


def test_a_run_that_an_evaluation_ended_is_made(toy, cell):
    change(toy, cell, 2, status="timeout")
    assert states(toy) == ["done", "done", "timeout", "done"]


def test_spent_is_what_records_say_and_the_rest_what_the_plan_expects(toy, cell):
    (toy.root / cell.record(3)).unlink()
    found = status.runs(toy.paper, toy.root)
    expected = costs.of(cell).seconds
    said = status.as_json(found, "paper", 2)
    assert (said["spent_seconds"], said["remaining_seconds"]) == (60.0, expected)
    assert said["wait_seconds"] == expected / 2
    assert (said["done"], said["missing"]) == (3, 1)
    head, row, total, _, sentence = status.table(found, 2)
    assert head.split()[:3] == ["paper", "problem", "runs"]
    assert row.split()[:2] == ["toy", "p"] and total.split()[:2] == ["total", "4"]
    assert sentence.startswith("4 runs: 3 done, 1 missing; about ")
