"""What a run starts from: parameters that the problem reveals, and designs drawn by the rule."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from algorithms.api import Arms, Box, Observation
from problems.api import Evaluation, Problem
from workflow.run import instance
from workflow.trace.curves import Curve, PlanError
from workflow.trace.seeds import rng

REVEALS = {"noise": 0.25, "noise_variance": 0.0625}


def curve(algorithm=None, design="uniform", n=5):
    """A curve whose parameters the plan has already resolved."""
    named = {"paper": "toy", "scale": "paper", "problem": "p", "algorithm": "a"}
    problem = {"is": "tables.abalone", "room": 1, "init": {"design": design, "n": n}}
    entries = {"problem_entry": problem, "algorithm_entry": {"is": "bkb.BKB", **(algorithm or {})}}
    return Curve(**named, seeds=(0,), budget=10, **entries)


def problem(arms=20, reveals=REVEALS):
    """Arms whose noise and whose seconds depend on the stream that they are evaluated with."""

    def evaluate(query, draw):
        seen = Observation.of(query + draw.standard_normal(len(query)))
        return Evaluation(seen, Observation.of(1.0 * query), draw.random(len(query)))

    return Problem(Arms(np.zeros((arms, 1))), evaluate, reveals=reveals, data_sha256="ab")


@pytest.fixture
def given(monkeypatch):
    """In the place of a problem: the parameters that it is built with."""
    monkeypatch.setattr(
        instance.problems, "load", lambda name: lambda draw, **parameters: parameters
    )


def test_a_problem_may_ask_for_the_number_of_the_repetition(given):
    made = curve()
    made.problem_entry["fold"], made.problem_entry["split"] = "seed", "contiguous"
    for seed in (0, 3):
        assert instance.build_problem(made, seed) == {"fold": seed, "split": "contiguous"}


LACKING = {"is": "cosmology.boss_likelihood", "mode": "five-numbers", "backend": "camb"}
LACKING |= {"libraries": ["numpy", "no-such"], "room": 1, "init": {"design": "uniform", "n": 2}}
GROWTH = {"substitute": {"backend": "growth"}}


@pytest.mark.parametrize(
    ("more", "scale", "said", "backend"),
    [
        (GROWTH, "short", "", "growth"),
        (GROWTH, "smoke", "preferred", "growth"),
        (GROWTH, "paper", "", "camb"),
        (GROWTH, "paper", "allowed", "growth"),
        ({**GROWTH, "libraries": ["numpy"]}, "short", "preferred", "camb"),
        ({}, "short", "", "camb"),  # the problem says itself what it lacks
    ],
)
def test_a_substitute_takes_the_place_of_a_library_that_is_missing_where_it_may(
    given, monkeypatch, more, scale, said, backend
):
    monkeypatch.setenv("NOREGRET_SUBSTITUTES", said)
    made = replace(curve(), scale=scale, problem_entry={**LACKING, **more})
    assert instance.build_problem(made, 0) == {"mode": "five-numbers", "backend": backend}
    assert made.problem_entry["backend"] == "camb"


def test_what_the_problem_reveals_stands_in_the_place_of_its_name():
    """And what is not given stays as it is."""
    plain = {"qbar": 2, "shape": {"given": "noise", "more": 1}, "rule": "given"}
    parameters = {"lam": {"given": "noise_variance"}, "xi": {"given": "noise"}, **plain}
    chosen = curve({**parameters, "room": 3, "execution": "async"})
    assert instance.parameters_of(chosen, problem()) == {"lam": 0.0625, "xi": 0.25, **plain}
    # a digest knows no numbers of the problem
    assert chosen.algorithm_entry["lam"] == {"given": "noise_variance"}
    other = problem(reveals={"noise": 1.0, "noise_variance": 1.0})
    assert instance.parameters_of(chosen, other) == {"lam": 1.0, "xi": 1.0, **plain}


def test_a_name_that_the_problem_does_not_reveal_is_refused_with_what_it_does():
    for reveals, known in [(REVEALS, "noise, noise_variance$"), ({}, "nothing$")]:
        message = rf"toy/p/a: lam is given by 'variance', which .* reveal; known: {known}"
        with pytest.raises(PlanError, match=message):
            instance.parameters_of(curve({"lam": {"given": "variance"}}), problem(reveals=reveals))


def designs(design, n, seeds=1500, arms=20):
    made, on = curve(design=design, n=n), problem(arms)
    return np.array([instance.draw_design(made, seed, on) for seed in range(seeds)])


def test_a_distinct_design_repeats_no_arm_and_every_arm_is_as_likely_in_every_place():
    drawn = designs("uniform-distinct", 8)
    assert drawn.shape == (1500, 8)
    assert all(len(set(row)) == 8 for row in drawn.tolist())
    inside = np.bincount(drawn.ravel(), minlength=20)
    # an arm is in 8 of 20 designs
    assert (abs(inside - 600) < 4.5 * np.sqrt(1500 * 0.4 * 0.6)).all()
    for place in (0, 7):
        counts = np.bincount(drawn[:, place], minlength=20)
        assert (abs(counts - 75) < 4.5 * np.sqrt(75 * 0.95)).all()
    assert_array_equal(np.sort(designs("uniform-distinct", 20, seeds=1)[0]), np.arange(20))


def test_a_uniform_design_may_repeat_arms():
    drawn = designs("uniform", 8)
    distinct = np.mean([len(set(row)) for row in drawn.tolist()])
    assert distinct == pytest.approx(20 * (1 - 0.95**8), abs=0.15)  # 6.73 of 8
    counts = np.bincount(drawn.ravel(), minlength=20)
    assert (abs(counts - 600) < 4.5 * np.sqrt(600 * 0.95)).all()


def test_a_design_on_a_box_fills_the_unit_cube():
    drawn = instance.draw_design(curve(n=400), 0, Problem(Box(3), problem().evaluate))
    assert drawn.shape == (400, 3)
    assert (abs(drawn.mean(axis=0) - 0.5) < 4.5 / np.sqrt(12 * 400)).all()
    assert drawn.min() >= 0 and drawn.max() < 1


def test_a_design_is_that_of_its_seed_and_problem_alone():
    curves = curve(n=8), curve({"qbar": 7}, n=8)
    one, other = (instance.draw_design(each, 3, problem()) for each in curves)
    assert_array_equal(one, other)
    assert not np.array_equal(one, instance.draw_design(curve(n=8), 4, problem()))


@pytest.mark.parametrize("design", ["uniform", "uniform-distinct"])
def test_the_design_is_evaluated_with_the_first_streams_of_noise(tmp_path, monkeypatch, design):
    monkeypatch.chdir(tmp_path)
    query, evaluation = instance.initial_design(curve(design=design), 2, problem())
    assert_array_equal(query, instance.draw_design(curve(design=design), 2, problem()))
    for i in range(5):
        draw = rng(2, "noise", "p", i)
        assert evaluation.seen.y[i] == query[i] + draw.standard_normal()
        assert evaluation.seconds[i] == draw.random()
    assert_array_equal(evaluation.true.y, query)
    exact = curve(design=design)
    exact.problem_entry["init"]["noise"] = False
    same, shown = instance.initial_design(exact, 2, problem())
    assert_array_equal(same, query)
    assert_array_equal(shown.seen.y, query)
    assert_array_equal(shown.seconds, evaluation.seconds)  # its cost stays what it was
