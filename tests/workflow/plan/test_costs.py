"""What a cell costs by hand-made coefficients and measurements, and how seeds share jobs."""

import math
from dataclasses import replace

import pytest

from workflow.plan import costs
from workflow.plan.costs import Cost, Run
from workflow.plan.expand import chosen_papers, load

METHOD = {
    "step": 0.5,
    "at": 50,
    "turn": 1.0,
    "growth": 1.0,
    "features": {"d": [2.0, 5.0, 5.0, 5.0], "bandwidth": [-1.0, 1.0, 0.5, 2.0]},
    "problems": {"p": [2.0, 0.0]},
    "settings": {"A": [1.0, 0.0], "@slow": [3.0, 1.0]},
}
MODEL = {
    "within": {"measured": 1.2, "known": 1.5, "method": 2.0, "none": 5.0},
    "reach": 0.3,
    "methods": {"a.A": METHOD},
    "problems": {"toy": {"p": {"evaluation": 0.01, "d": 10, "m": 0, "arms": 0, "bandwidth": 10}}},
    "cells": {"toy": {"p": {"A": [40.0, 100, 300], "B": [1.0, 100, 100, 0.5]}}},
    "studies": {"toy": {"short": [2.0, 150], "long": [70.0, 900]}},
}
A = Run("toy", "p", "A", "a.A", first=0, last=100)


@pytest.fixture(autouse=True)
def model(monkeypatch):
    monkeypatch.setattr(costs, "table", lambda: MODEL)


def work(last, power=1.0, first=0):
    """Sum over t of ((1 + t)/51)^power, as an integral."""
    return sum(((1 + t / 100) / 51) ** power for t in range(100 * first, 100 * last)) / 100


def test_growth_is_the_integral_of_the_steps():
    for power in (-1.0, -0.5, 0.0, 1.0, 2.5):
        expected = sum(((1 + t / 100) / 51) ** power for t in range(1000, 10000)) / 100
        assert costs.growth(10, 100, 1.0, 50, power) == pytest.approx(expected, rel=2e-3)
    assert costs.growth(10, 100, 1.0, 50, -1 + 1e-8) == pytest.approx(
        costs.growth(10, 100, 1.0, 50, -1.0), rel=1e-4
    )


def test_an_unmeasured_cell_costs_what_the_formula_says():
    slow = replace(A, curve="A@slow", parameters={"bandwidth": 5, "delta": "1/T"})
    steps = 0.5 * (10 / 5) ** 2 * (5 / 10) ** -1 * 2.0 * 3.0 * work(100, power=2.0)
    found = costs.estimate(slow)
    assert found.seconds == pytest.approx(0.01 * 100 + steps, rel=1e-2)
    assert not found.measured


def test_unknown_features_problems_and_settings_change_nothing():
    other = Run("toy", "elsewhere", "A+variant", "a.A", first=0, last=100)
    assert costs.estimate(other).seconds == pytest.approx(1 + 0.5 * work(100), rel=1e-2)


def test_a_measured_cell_costs_what_was_measured():
    assert costs.estimate(A) == Cost(40.0, 300, measured=True, within=pytest.approx(1.2))


@pytest.mark.parametrize("last", [10, 1000])
def test_beyond_what_was_measured_the_model_says_how_a_cost_grows(last):
    evaluation, step = 0.01, 0.5 * 4 * 2
    share = (evaluation * last + step * work(last)) / (evaluation * 100 + step * work(100))
    assert costs.estimate(replace(A, last=last)).seconds == pytest.approx(40 * share, rel=1e-2)
    assert share > 50 or last < 100  # ten times the steps are no ten times the seconds


def test_a_measured_cell_of_an_unknown_method_grows_with_its_evaluations():
    found = costs.estimate(Run("toy", "p", "B", "b.B", first=0, last=300))
    assert (found.seconds, found.measured) == (3.0, False)  # a part of it was


def test_a_problem_under_a_reading_costs_what_it_does_without():
    found = costs.estimate(replace(A, problem="p@harder"))
    assert (found.seconds, found.measured, found.within) == (40.0, False, pytest.approx(1.5))


def test_an_unknown_method_costs_what_half_of_its_papers_cells_do_for_an_evaluation():
    found = costs.estimate(Run("toy", "p", "C", "c.C", first=0, last=200))
    assert found.seconds == pytest.approx(200 * (0.4 + 0.01) / 2)
    assert found.within == 5.0
    nowhere = costs.estimate(Run("other", "q", "C", "c.C", first=5, last=200))
    assert nowhere.seconds == costs.UNKNOWN[0]


@pytest.mark.parametrize(
    ("run", "level"),
    [
        (A, "measured"),
        (replace(A, problem="p@harder"), "known"),
        (replace(A, curve="A@slow"), "known"),
        (replace(A, curve="A@new"), "method"),
        (replace(A, curve="A@slow", parameters={"bandwidth": 20}), "known"),
        (replace(A, curve="A@slow", parameters={"bandwidth": 21}), "method"),
        (replace(A, curve="A@slow", parameters={"bandwidth": 4}), "method"),
        (replace(A, problem="q"), "method"),
        (replace(A, curve="C", kind="c.C"), "none"),
    ],
)
def test_how_well_a_cell_is_known(run, level):
    assert costs.known_as(MODEL, run) == level


def test_the_interval_is_that_of_the_level_and_grows_with_the_reach():
    found = costs.estimate(replace(A, curve="A@slow"))
    assert found.low * found.high == pytest.approx(found.seconds**2)
    assert found.high / found.seconds == pytest.approx(1.5)
    longer = costs.estimate(replace(A, last=1000))
    assert longer.within == pytest.approx(
        math.exp(math.hypot(math.log(1.2), 0.3 * math.log(10))), rel=1e-2
    )
    assert costs.estimate(replace(A, last=10)).within == pytest.approx(1.2)


def test_a_family_is_a_method_of_its_own_and_a_feature_no_setting():
    textbook = replace(A, parameters={"posterior": "textbook", "surrogate": {"noise": 1}})
    assert (A.method, textbook.method) == ("a.A", "a.A textbook")
    assert replace(A, curve="A@slow+bandwidth-5").settings == ["A", "@slow"]


def test_an_interval_reaches_no_further_where_evaluations_are_all_of_the_cost(monkeypatch):
    dear = {"toy": {"p": {**MODEL["problems"]["toy"]["p"], "evaluation": 1e6}}}
    monkeypatch.setattr(costs, "table", lambda: {**MODEL, "problems": dear})
    assert costs.estimate(replace(A, last=1000)).within == pytest.approx(1.2, rel=1e-3)


def test_memory_is_that_of_the_dearest_like_it():
    assert costs.estimate(replace(A, curve="A@slow")).mib == 300
    assert costs.estimate(Run("toy", "q", "B@r", "b.B", 0, 10)).mib == 100
    assert costs.estimate(Run("toy", "p", "C", "c.C", 0, 10)).mib == 300
    assert costs.estimate(Run("other", "p", "C", "c.C", 0, 10)).mib == costs.UNKNOWN[1]


def test_a_study_costs_what_was_measured_or_what_the_dearest_does():
    assert costs.estimate_study("toy", "short") == Cost(2.0, 150, True, 1.2)
    assert costs.estimate_study("toy", "short", is_cut=True).seconds == pytest.approx(0.2)
    assert costs.estimate_study("toy", "other") == Cost(70.0, 900, False, 5.0)
    assert costs.estimate_study("toy", "short-cut") == Cost(2.0, 150, False, 2.0)


def test_errors_of_a_method_are_added_and_those_of_two_are_not():
    ten = Cost(10.0, 1, measured=True, within=2.0)  # 5 to 20
    assert costs.together([("a", 3, ten)]) == pytest.approx((15, 30, 60))
    assert costs.together([("a", 1, ten), ("a", 2, ten)]) == pytest.approx((15, 30, 60))
    low, total, high = costs.together([("a", 1, ten), ("b", 1, ten)])
    assert (low, total, high) == pytest.approx((20 - 50**0.5, 20, 20 + 200**0.5))
    assert costs.together([]) == (0, 0, 0)


def test_every_cell_and_study_of_all_papers_has_a_cost(monkeypatch):
    monkeypatch.undo()
    for scale in ("smoke", "quick", "paper"):
        for name in chosen_papers(""):
            for part in load(name, scale).parts:
                cost = part.cost
                assert 0 < cost.seconds < 1e6 and math.isfinite(cost.seconds), part.name
                assert 0 < cost.mib < 1e5 and 1 <= cost.within < 1e3, part.name
                assert cost.low <= cost.seconds <= cost.high


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
