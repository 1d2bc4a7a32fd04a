"""How seeds share jobs, and what is assumed of a cell that was never measured."""

import pytest

from workflow.plan import costs

TABLE = {"toy": {"p": {"A": [40.0, 300], "A@slow": [400.0, 900], "B": [1.0, 100]}}}


@pytest.fixture(autouse=True)
def measured(monkeypatch):
    monkeypatch.setattr(costs, "table", lambda: TABLE)


def test_a_measured_cell_scales_with_its_share_of_the_budget():
    assert costs.estimate("toy", "p", "A", "A", 0.5) == costs.Cost(20.0, 300, measured=True)


def test_an_unmeasured_cell_costs_what_the_dearest_of_its_algorithm_does():
    assert costs.estimate("toy", "p", "A+variant", "A", 1.0) == costs.Cost(
        400.0, 900, measured=False
    )
    assert costs.estimate("toy", "p", "C", "C", 1.0) == costs.Cost(400.0, 900, measured=False)
    assert not costs.estimate("other", "p", "C", "C", 1.0).measured


@pytest.mark.parametrize(
    ("seconds", "sizes"), [(1.0, [10]), (100.0, [3, 3, 3, 1]), (1000.0, [1] * 10)]
)
def test_seeds_of_short_runs_share_a_job_and_those_of_long_ones_do_not(seconds, sizes):
    chunks = costs.chunks(tuple(range(10)), seconds)
    assert [len(chunk) for chunk in chunks] == sizes
    assert [seed for chunk in chunks for seed in chunk] == list(range(10))


def test_short_runs_are_packed_in_their_order_and_a_long_one_has_its_own_job():
    assert costs.packed("abcdef", [10, 10, 10, 10, 40, 1]) == [["a", "b", "c"], ["d"], ["e"], ["f"]]
    assert costs.packed("ab", [0.0, 30.0]) == [["a", "b"]]
    assert costs.packed("", []) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0.4 s"),
        (89, "89 s"),
        (600, "10 min"),
        (7000, "1.9 h"),
        (86400, "24.0 h"),
        (500_000, "5.8 days"),
    ],
)
def test_seconds_for_people(seconds, text):
    assert costs.duration(seconds) == text
