"""How seeds share jobs, and what is assumed of a cell that was never measured."""

from pathlib import Path

import pytest

from workflow import costs

TABLE = {"toy": {"p": {"A": [40.0, 300], "A@slow": [400.0, 900], "B": [1.0, 100]}}}


@pytest.fixture(autouse=True)
def measured(monkeypatch):
    monkeypatch.setattr(costs, "table", lambda: TABLE)


def test_a_measured_cell_scales_with_its_share_of_the_budget():
    assert costs.estimate("toy", "p", "A", "A", 0.5) == costs.Cost(20.0, 300, measured=True)


def test_an_unmeasured_cell_costs_what_the_dearest_of_its_algorithm_does():
    assert costs.estimate("toy", "p", "A+variant", "A", 1.0) == costs.Cost(400.0, 900, measured=False)
    assert costs.estimate("toy", "p", "C", "C", 1.0) == costs.Cost(400.0, 900, measured=False)
    assert not costs.estimate("other", "p", "C", "C", 1.0).measured


@pytest.mark.parametrize(
    ("seconds", "jobs"), [(1.0, ["0-9"]), (100.0, ["0-2", "3-5", "6-8", "9"]), (1000.0, [str(seed) for seed in range(10)])]
)
def test_short_runs_share_a_job_and_long_ones_do_not(seconds, jobs):
    assert costs.markers(Path("x"), tuple(range(10)), seconds) == [f"x/seeds-{job}.json" for job in jobs]
    assert costs.minutes(tuple(range(10)), seconds) > seconds / 60
