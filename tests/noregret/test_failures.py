"""Points whose evaluation failed are not asked for again."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import noregret
from tests.noregret import own


def searched(name, **options):
    """All queries of a search on a square whose left part fails, the best point behind it."""
    tried = []

    def f(x):
        tried.append(x.copy())
        if x[0] < 0.4:
            raise RuntimeError("no solution here")
        y = float(((x - [0.25, 0.5]) ** 2).sum())
        return (y, [x[1] - 0.8]) if own.line(name).constrained else y

    noregret.minimize(
        f,
        [(0, 1)] * 2,
        method=name,
        constraints=int(own.line(name).constrained),
        failures="skip",
        initial=4,
        **{"evaluations": 12, **own.QUICK.get(name, {}), **options},
    )
    return np.array(tried)


@own.each(name for name in own.ON_BOXES if name != "ngopt")
def test_no_failed_point_is_asked_for_again(name):
    tried = searched(name)
    failed = tried[:, 0] < 0.4
    assert failed.any()
    for i in range(1, len(tried)):
        before = tried[:i][failed[:i]]
        assert (np.abs(before - tried[i]).max(1, initial=0) >= 1e-3).all()


@pytest.mark.parametrize("bounds", [(0, 0.3), noregret.integer(-40, 40)], ids=["real", "whole"])
@pytest.mark.parametrize("name", ["cma-es", "ngopt"])
def test_after_one_failure_a_method_goes_on_with_points_of_its_own(name, bounds):
    calls = []

    def f(x):
        calls.append(x)
        if len(calls) == 15:
            raise RuntimeError
        return float(((x - 0.1) ** 2).sum())

    run = noregret.minimize(f, [bounds] * 3, method=name, evaluations=40, failures="skip")
    assert run.optimizer.failures == 1 and run.optimizer._designed <= 8


@pytest.mark.parametrize("name", own.OVER_ARMS)
def test_no_failed_row_is_asked_for_again(name):
    rows = []

    def f(row):
        rows.append(int(row))
        if own.TABLE[row, 0] < 0.5:
            raise RuntimeError("no solution here")
        return own.VALUES[row]

    noregret.minimize(f, arms=own.TABLE, method=name, failures="skip", initial=6, evaluations=40)
    failed = [row for row in rows if own.TABLE[row, 0] < 0.5]
    assert failed and len(set(failed)) == len(failed)


def test_an_initial_row_that_failed_is_not_in_the_design_again():
    rows = []

    def f(row):
        rows.append(int(row))
        if row < 2:
            raise RuntimeError("no solution here")
        return float(row)

    noregret.minimize(f, arms=own.TABLE[:6], x0=[0, 1], failures="skip", initial=6, evaluations=12)
    assert rows.count(0) == rows.count(1) == 1 and set(rows) == set(range(6))


def test_rows_that_fail_one_and_all_end():
    def f(row):
        if done:
            raise RuntimeError
        done.append(row)
        return 1.0

    done = []
    found = noregret.minimize(
        f, arms=own.TABLE[:5], method="gp-ucb", failures="skip", evaluations=12
    )
    assert len(found.history.y) == 1


def test_a_method_is_told_the_worst_values_at_a_failed_point():
    optimizer = own.begun("cei")
    own.played(optimizer, "cei", 5)
    x = optimizer.ask()
    optimizer.forget(x, failed=True)
    optimizer.ask()
    method, history = optimizer._taught(), optimizer.history
    assert len(method.y) == len(history.y) + 1 == 6
    np.testing.assert_allclose(method.x[-1] * [8, 16] + [-5, 0], x)
    assert method.y[-1] == -history.y.max() and method.g[-1] == history.g.max()


def test_what_is_forgotten_without_a_failure_may_be_asked_for_again():
    one, other = own.begun("gp-ei"), own.begun("gp-ei")
    for optimizer in (one, other):
        own.played(optimizer, "gp-ei", 5)
    x = one.ask()
    one.forget(x)
    assert len(one._taught().y) == 5
    assert np.abs(one.ask() - x).max() < 0.05


@pytest.mark.parametrize("name", ["gp-ei", "cei", "bbkb"])
def test_failures_are_saved(name, tmp_path):
    optimizer = own.begun(name)
    for step in range(9):
        x = optimizer.ask()
        if step in (2, 5, 8):
            optimizer.forget(x, failed=True)
        else:
            optimizer.tell(x, *own.shown(name, x))
    optimizer.save(tmp_path / "state")
    loaded = noregret.Optimizer.load(tmp_path / "state")
    assert_array_equal(loaded.ask(), optimizer.ask())
    assert_array_equal(own.played(loaded, name, 2), own.played(optimizer, name, 2))
