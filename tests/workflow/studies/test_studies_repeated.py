"""A query asked again: nothing differs without state, and what a problem keeps is seen."""

import numpy as np
import pytest

from algorithms.api import Arms, Box
from problems import synthetic
from problems.api import Evaluation, Problem, constrained
from workflow.studies import repeated_evaluation

COLUMNS = ["repeat", "y", "difference", "g_difference", "seen_difference"]


def drifting(rate, noise=0.0):
    """A problem that grows with every evaluation, and the queries that it has seen."""
    asked = []

    def evaluate(query, rng):
        asked.append(query[0])
        true = np.array([[query.sum() + rate * len(asked), 0.5, -3 * rate * len(asked)]])
        seen = true + noise * rng.standard_normal(true.shape)
        return Evaluation(constrained(seen), constrained(true), np.zeros(1))

    return Problem(Box(3), evaluate), asked


def test_a_problem_without_state_gives_the_same_bits_and_the_same_noise():
    problem, asked = drifting(0.0, noise=0.7)
    found = repeated_evaluation.run(0, problem, repeats=4)
    assert list(found) == COLUMNS
    assert found["repeat"].tolist() == [0, 1, 2, 3]
    assert len(set(found["y"])) == 1
    for name in COLUMNS[2:]:
        assert found[name].tolist() == [0, 0, 0, 0]
    assert found["y"][0] == asked[0].sum()


def test_other_queries_come_in_between_each_only_once():
    problem, asked = drifting(0.0)
    repeated_evaluation.run(0, problem, repeats=4)
    assert len(asked) == 7
    assert all((query == asked[0]).all() for query in asked[::2])
    assert len({query.tobytes() for query in asked}) == 4
    assert all((query >= 0).all() and (query < 1).all() for query in asked)


def test_what_a_problem_remembers_is_measured():
    problem, _ = drifting(0.25)
    found = repeated_evaluation.run(1, problem, repeats=3)
    # two evaluations apart
    np.testing.assert_allclose(found["difference"], [0, 0.5, 1.0], atol=1e-12)
    np.testing.assert_allclose(found["g_difference"], [0, 1.5, 3.0], atol=1e-12)
    np.testing.assert_allclose(found["seen_difference"], [0, 1.5, 3.0], atol=1e-12)
    np.testing.assert_array_equal(found["y"] - found["y"][0], found["difference"])


def test_seeds_ask_different_queries_and_constraints_may_be_missing():
    options = {"d": 2, "hidden": 3, "noise": 0.1, "low": -5, "high": 5}
    problem = synthetic.unit_network(np.random.default_rng(0), **options)
    first, second = (repeated_evaluation.run(seed, problem, repeats=2) for seed in (0, 1))
    assert first["y"][0] != second["y"][0]
    assert first["g_difference"].tolist() == [0, 0]


def test_the_border():
    problem, _ = drifting(0.0)
    with pytest.raises(ValueError, match="expected repeats >= 2, got 1"):
        repeated_evaluation.run(0, problem, repeats=1)
    table = Problem(Arms(np.zeros((2, 1))), lambda query, rng: None)
    with pytest.raises(TypeError, match="expected a problem on a Box, got Arms"):
        repeated_evaluation.run(0, table, repeats=2)
