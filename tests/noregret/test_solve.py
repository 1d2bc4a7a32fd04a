"""Whole searches, and the papers' problems in their own units."""

import numpy as np
import pytest

import noregret
from workflow.measure import tidy

BOX = [(-5, 5), (-5, 5)]


def bowl(x):
    return float((x[0] - 1) ** 2 + 3 * (x[1] + 2) ** 2)


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
        evaluations=30,
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


def test_a_callback_sees_every_point_and_may_end_it(capfd):
    seen = []

    def callback(point):
        seen.append(point)
        return len(seen) == 4

    found = noregret.minimize(
        bowl, BOX, method="random", evaluations=9, callback=callback, progress=True
    )
    assert [point.y for point in seen] == list(found.history.y) and len(seen) == 4
    assert [line.split(":")[0] for line in capfd.readouterr().err.splitlines()] == [
        "1/9",
        "2/9",
        "3/9",
        "4/9",
    ]


def test_what_f_returns_is_told_in_a_sentence():
    with pytest.raises(ValueError, match=r"f: expected \(y, g\) with 1 constraints, got 1.0"):
        noregret.minimize(lambda x: 1.0, BOX, constraints=1, evaluations=3)
    with pytest.raises(ValueError, match="f: expected a function of a point, got 3"):
        noregret.minimize(3, BOX)
    with pytest.raises(ValueError, match="y: expected finite numbers, got nan"):
        noregret.minimize(lambda x: np.nan, BOX)


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
    ],
)
def test_an_unknown_problem(name, said):
    with pytest.raises(ValueError, match=said):
        noregret.problem(name)


def test_published_records_are_those_of_the_shelf():
    table = noregret.load("bkb", "abalone", "uniform")
    assert table.equals(tidy.table("bkb", "abalone", "uniform")) and len(table)
    with pytest.raises(ValueError, match="expected published records"):
        noregret.load("bkb", "rang")


def test_methods_know_whether_one_is_among_them():
    assert "lcbo" in noregret.methods() and "gp_ei" not in noregret.methods()
    assert noregret.methods()[0] in noregret.methods()
