"""Where a local search from the best point of a run ends, against a flow along the gradient."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import problems
from algorithms.api import Observation
from problems.api import Evaluation
from workflow.run import descent

CAMEL_ENDS = (1.0316284535, 0.2154638244, -2.1042503102)  # of its three pairs of maxima


def made(name, **parameters):
    return problems.load(name)(np.random.default_rng(0), noise=0, **parameters)


@pytest.fixture(scope="module")
def camel():
    return made("additive.six_hump_camel")


def value(problem, x):
    return float(problem.evaluate(np.atleast_2d(x), np.random.default_rng(0)).true.y[0])


def flowed(camel, start):
    """The value at the end of the flow along the gradient of bardou2024dumbo, eq. (64), by hand, in
    units in which the ranges are 1.
    """

    def slope(_, x):
        a, b = 6 * x[0] - 3, 4 * x[1] - 2
        return [6 * (-8 * a + 8.4 * a**3 - 2 * a**5 - b), 4 * (-a + 8 * b - 16 * b**3)]

    end = solve_ivp(slope, (0, 3), start, rtol=1e-8, atol=1e-10).y[:, -1]
    return value(camel, np.clip(end, 0, 1))


def test_the_camel_has_the_basins_of_the_flow_along_its_gradient(camel):
    starts = np.random.default_rng(100).uniform(0.15, 0.85, (40, 2))
    ends = [descent.ascended(camel, x) for x in starts]
    np.testing.assert_allclose(ends, [flowed(camel, x) for x in starts], atol=1e-4)
    seen = {min(CAMEL_ENDS, key=lambda end: abs(end - one)) for one in ends}
    assert seen == set(CAMEL_ENDS)  # the sample meets all of them
    box = [(0, 1)] * 2
    free = [
        -minimize(lambda x: -value(camel, x), x, method="L-BFGS-B", bounds=box).fun for x in starts
    ]
    assert np.count_nonzero(np.abs(np.subtract(free, ends)) > 0.1) > 3


def test_no_step_leaves_the_basin_as_free_ones_do():
    """On Rastrigin's function a point belongs to the nearest whole numbers of its units."""
    problem = made("synthetic.rastrigin", d=5, low=-5.0, high=5.0)
    rng = np.random.default_rng(101)
    whole = rng.integers(-4, 5, (20, 5)).astype(float)
    starts = (whole + rng.uniform(-0.35, 0.35, whole.shape) + 5) / 10
    nearest = [descent.ascended(problem, (x + 5) / 10) for x in whole]
    assert [descent.ascended(problem, x) for x in starts] == pytest.approx(nearest, abs=1e-6)
    free = [-minimize(lambda x: -value(problem, x), x, method="L-BFGS-B").fun for x in starts]
    assert np.abs(np.subtract(free, nearest)).max() > 0.5


def test_from_beside_the_optimum_it_is_reached():
    for name, parameters in [
        ("additive.hartmann", {}),
        ("additive.powell", {"d": 8, "maximiser": "shifted"}),
        ("synthetic.styblinski_tang", {"d": 3, "low": -5.0, "high": 5.0}),
        # its maximum is a corner
        ("synthetic.unit_network", {"d": 3, "low": -5.0, "high": 5.0, "hidden": 4}),
    ]:
        problem = made(name, **parameters)
        start = np.clip(problem.best_at[0] - 0.03, 0, 1)
        assert descent.ascended(problem, start) == pytest.approx(problem.best, abs=1e-4)


def test_the_search_starts_at_the_best_true_value_and_sees_no_noise(camel):
    query = np.array([[0.9, 0.1], [0.55, 0.8], [0.5, 0.3]])
    true = np.array([value(camel, x) for x in query])
    columns = {"query": query, "true": true, "y": true[::-1]}
    said = descent.described(camel, {}, columns)["descent"]
    assert said["evaluation"] == int(np.argmax(true))
    assert said["true"] == descent.ascended(camel, query[said["evaluation"]])
    noisy = problems.load("additive.six_hump_camel")(np.random.default_rng(0), noise=1.0)
    assert descent.described(noisy, {}, columns)["descent"] == said
    assert json.dumps(said)


def counted(problem):
    calls = []

    def evaluate(query, rng):
        calls.append(len(query))
        return problem.evaluate(query, rng)

    return replace(problem, evaluate=evaluate), calls


@pytest.mark.parametrize(
    ("change", "entry"),
    [
        ({"best": None}, {}),
        ({"best_kind": "best-known"}, {}),
        ({"best_kind": "best-seen"}, {}),
        ({"best_at": None}, {}),
        ({"data": "real"}, {}),
        ({}, {"data": "abalone"}),
        ({}, {"simulator": "ns3_wlan"}),
        ({}, {"libraries": ["mujoco"]}),
        ({}, {"timeout": 10}),
    ],
)
def test_what_may_be_dear_is_not_evaluated_once(camel, change, entry):
    problem, calls = counted(replace(camel, **change))
    columns = {"query": np.full((1, 2), 0.5), "true": np.zeros(1)}
    assert descent.described(problem, entry, columns) == {}
    assert calls == []


def test_problems_with_constraints_and_runs_without_rows_have_none(camel):
    def evaluate(query, rng):
        found = camel.evaluate(query, rng).true
        bound = Observation(found.y, np.zeros((len(query), 1)), np.empty((len(query), 0)))
        return Evaluation(bound, bound, np.zeros(len(query)))

    columns = {"query": np.full((1, 2), 0.5), "true": np.zeros(1)}
    assert descent.described(replace(camel, evaluate=evaluate), {}, columns) == {}
    assert descent.described(camel, {}, {}) == {}
    assert descent.described(camel, {}, {"query": np.empty((0, 2)), "true": np.empty(0)}) == {}
