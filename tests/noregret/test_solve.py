"""Whole searches, and the papers' problems in their own units."""

import sys

import numpy as np
import pytest

import noregret
from tests.noregret.own import BOX, bowl
from workflow.measure import tidy


def test_the_lowest_point_is_found_and_all_is_kept():
    found = noregret.minimize(bowl, BOX, evaluations=25, seed=1)
    assert found.y < 0.05 and found.feasible
    assert bowl(found.x) == found.y == found.history.y.min()
    assert found.history.x.shape == (25, 2)
    assert len(found.optimizer.pending) == 0


def test_maximize_is_minimize_of_what_is_minus():
    low = noregret.minimize(bowl, BOX, evaluations=10)
    high = noregret.maximize(lambda x: -bowl(x), BOX, evaluations=10)
    np.testing.assert_array_equal(low.history.x, high.history.x)
    assert high.y == -low.y


def test_the_lowest_feasible_point_is_found():
    found = noregret.minimize(
        lambda x: (x[0] + x[1], [1.5 - x[0], 0.5 - x[1]]),
        [(0, 4), (0, 4)],
        constraints=2,
        evaluations=16,
    )
    assert found.feasible and (found.g <= 0).all() and found.y < 2.4


@pytest.mark.parametrize("method", [None, "bbkb"])
def test_a_low_row_is_found(method):
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, (500, 2))
    value = ((table - 0.3) ** 2).sum(1)
    found = noregret.minimize(lambda row: value[row], arms=table, method=method, evaluations=40)
    assert (value < found.y).sum() < 10
    assert value[found.x] == found.y


def test_a_callback_sees_every_point_and_may_end_it(capfd, monkeypatch):
    seen = []
    monkeypatch.setitem(sys.modules, "tqdm", None)  # not installed

    def callback(point):
        seen.append(point)
        return len(seen) == 4

    found = noregret.minimize(
        bowl, BOX, method="random", evaluations=9, callback=callback, progress=True
    )
    assert [point.y for point in seen] == list(found.history.y) and len(seen) == 4
    said = [line.split(":")[0] for line in capfd.readouterr().err.splitlines()]
    assert said == ["1/9", "2/9", "3/9", "4/9"]


def test_a_callback_is_told_that_a_constraint_of_0_is_kept():
    seen, g = [], iter([0.0, 1e-300, -1.0])
    noregret.minimize(
        lambda x: (sum(x), [next(g)]),
        BOX,
        constraints=1,
        method="random",
        evaluations=3,
        callback=lambda point: seen.append(point.feasible),
    )
    assert seen == [True, False, True]


def test_a_problem_of_a_paper_in_its_own_units():
    camel = noregret.problem("dumbo/six-hump-camel")
    assert (camel.d, camel.constraints) == (2, 0)
    styblinski = noregret.problem("go_ucb/f2", seed=4)
    np.testing.assert_array_equal(styblinski.bounds, [[-5, 5]] * 20)
    x = np.full(20, -2.903534)
    assert not styblinski.minimize  # the paper maximises what is minus the usual one
    assert styblinski.evaluate(x, exact=True) == pytest.approx(styblinski.best, abs=1e-4)
    noisy = [styblinski.evaluate(x) for _ in range(3)]
    assert len(set(noisy)) == 3
    again = noregret.problem("go_ucb/f2", seed=4)
    assert [again.evaluate(x) for _ in range(3)] == noisy


def test_a_constrained_problem_of_a_paper():
    truss = noregret.problem("lcbo/truss")
    assert truss.minimize and truss.constraints == 2
    y, g = truss.evaluate(np.full(truss.d, 0.5), exact=True)
    lighter, tighter = truss.evaluate(np.full(truss.d, 0.1), exact=True)
    assert y > lighter > 0 and (tighter > g).any()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dumba/rover", r"unknown paper 'dumba' of a problem; did you mean 'dumbo'\?"),
        ("dumbo/rower", r"unknown problem 'rower' of dumbo; did you mean 'rover'\?"),
        ("lcbo/truss@load-T", "unknown reading 'load-T' of lcbo"),
        ("rover", "unknown paper 'rover'"),
        ("lcbo", "such as lcbo/syn-25, got 'lcbo': lcbo has syn-25, syn"),
    ],
)
def test_an_unknown_problem(name, said):
    with pytest.raises(ValueError, match=said):
        noregret.problem(name)


def test_published_records_are_those_in_the_repository():
    table = noregret.load("bkb", "abalone", "uniform")
    assert table.equals(tidy.table("bkb", "abalone", "uniform")) and len(table)
    with pytest.raises(ValueError, match="expected published records"):
        noregret.load("bkb", "rang")


def failing(at, how):
    """bowl, but its evaluations `at` go wrong."""
    count = 0

    def f(x):
        nonlocal count
        count += 1
        if count not in at:
            return bowl(x)
        if isinstance(how, BaseException):
            raise how
        return how

    return f


@pytest.mark.parametrize(
    ("how", "said"),
    [(ZeroDivisionError("no mass"), "ZeroDivisionError: no mass"), (np.nan, "finite numbers, got")],
)
def test_what_was_evaluated_before_a_failure_is_not_lost(how, said):
    with pytest.raises(noregret.EvaluationFailed, match=rf"evaluation 7 of 9 .*{said}") as caught:
        noregret.minimize(failing({7}, how), BOX, method="random", evaluations=9)
    kept = caught.value.result
    whole = noregret.minimize(bowl, BOX, method="random", evaluations=9)
    np.testing.assert_array_equal(kept.history.x, whole.history.x[:6])
    assert kept.y == whole.history.y[:6].min()
    with pytest.raises(noregret.EvaluationFailed) as caught:
        noregret.minimize(failing({1}, how), BOX, method="random", evaluations=9)
    assert caught.value.result is None


@pytest.mark.parametrize("how", [ValueError("no"), np.inf])
def test_failed_evaluations_may_be_left_out(how, capfd):
    found = noregret.minimize(
        failing({2, 6}, how), BOX, evaluations=9, failures="skip", progress=True
    )
    assert len(found.history.y) == 7 and len(found.optimizer.pending) == 0
    assert capfd.readouterr().err.count("it is left out") == 2
    with pytest.raises(noregret.EvaluationFailed, match="all of 3 evaluations"):
        noregret.minimize(failing({1, 2, 3}, how), BOX, evaluations=3, failures="skip")


def test_f_may_change_the_point_that_it_is_given():
    """The point that was asked for is told, whatever f makes of its own copy."""
    seen = []

    def f(x):
        seen.append(x.copy())
        x -= 1.0
        return float((x**2).sum())

    found = noregret.minimize(f, [(-5, 5)] * 2, method="random", evaluations=6, seed=0)
    assert np.array_equal(found.history.x, seen)
    assert found.y == pytest.approx(((found.x - 1) ** 2).sum())


@pytest.mark.parametrize("shown", [None, "failed", (1.0, 2.0)])
def test_what_is_no_number_loses_nothing_once_something_was_told(shown):
    settings = {"method": "random", "evaluations": 6}
    with pytest.raises(noregret.EvaluationFailed, match="evaluation 4 of 6 failed") as failed:
        noregret.minimize(failing({4}, shown), BOX, **settings)
    assert len(failed.value.result.history.y) == 3
    found = noregret.minimize(failing({4}, shown), BOX, failures="skip", **settings)
    assert len(found.history.y) == 5


def test_a_callback_that_fails_loses_nothing():
    def fails(point):
        if point.y > -np.inf:
            raise KeyError("mine")

    with pytest.raises(noregret.EvaluationFailed, match="callback: failed after evaluation 1") as e:
        noregret.minimize(sum, [(0, 1)] * 2, method="random", evaluations=3, callback=fails)
    assert isinstance(e.value.__cause__, KeyError) and len(e.value.result.history.y) == 1
    with pytest.raises(ValueError, match="callback: expected a function of a point, got 3"):
        noregret.minimize(sum, [(0, 1)] * 2, callback=3)
