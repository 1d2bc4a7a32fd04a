"""What every method promises, asked in one's own units."""

import ast
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import algorithms
import noregret
from algorithms.api import Arms, Box
from noregret import presets
from noregret.catalogue import BELIEVES, METHODS, PAPER, PRESETS, RECOMMENDED, named
from tests.noregret import own

RANDOM = ("random", "eps-greedy")  # to whom values say nothing, or little
LEFT_OUT = {  # classes of algorithms/ that are no method here, and why
    "average_of_k.AverageOfK": "a control",
    "best_observed.BestObserved": "a control",
    "regularized_evolution.RegularizedEvolution": "needs neighbours of every arm",
    "_template.MyMethod": "a template",
}

FOLDER = Path(algorithms.__file__).parent


def test_every_class_is_a_method_or_left_out():
    """And says when it serves."""
    classes = {
        f"{path.stem}.{node.name}": ast.get_docstring(node)
        for path in FOLDER.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and "Optimizer" in map(ast.unparse, node.bases)
    }
    listed = {presets.target(named(one.name, preset)) for one in METHODS for preset in PRESETS}
    assert classes.keys() - set(LEFT_OUT) == listed
    assert [name for name, said in classes.items() if "Use " not in said] == ["_template.MyMethod"]


def test_the_catalogue_says_what_the_class_says():
    for one in (named(name, preset) for name in own.NAMES for preset in (PAPER, RECOMMENDED)):
        kind = algorithms.load(presets.target(one))
        assert one.constrained == kind.constrained, one
        assert {"box": Box in kind.domains, "arms": Arms in kind.domains} == {
            domain: domain in one.domain for domain in ("box", "arms")
        }, one
        assert len(one.citation) > 30
        assert bool(one.why) == bool(one.reading or one.changes or one.own), one


@cache
def reference(name):
    """The design of four points of seed 3, and two of the method's own."""
    return own.played(own.begun(name), name, 6)


@own.each(own.NAMES)
def test_a_seed_decides_what_is_asked_and_minimising_is_maximising_what_is_minus(name):
    def minus(name, x):
        y, limits = own.shown(name, x)
        return -y, limits

    first, other = reference(name), own.played(own.begun(name, seed=4), name, 1)
    assert_array_equal(first, own.played(own.begun(name), name, 6))
    assert_array_equal(first, own.played(own.begun(name, minimize=False), name, 6, of=minus))
    assert not np.array_equal(first[:1], other)
    if not own.over_arms(name):
        low, high = np.array(own.BOUNDS).T
        assert first.shape == (6, 2) and ((first >= low) & (first <= high)).all()
    else:
        assert first.shape == (6,) and ((first >= 0) & (first < len(own.TABLE))).all()


@own.each(own.NAMES)
def test_a_history_told_at_once_or_point_by_point_is_the_same(name):
    rows = np.arange(8) * 7
    x = rows if own.over_arms(name) else np.random.default_rng(1).random((8, 2)) * 8 + [-5, 0]
    y = np.array([own.shown(name, row)[0] for row in x])
    limits = np.array([own.g(row) for row in x]) if own.line(name).constrained else None
    together, apart = own.begun(name), own.begun(name)
    together.tell(x, y, limits)
    for i in range(8):
        apart.tell(x[i], y[i], None if limits is None else limits[i])
    assert_array_equal(together.ask(2), apart.ask(2))
    assert_array_equal(own.played(together, name, 1), own.played(apart, name, 1))


@own.each(own.ON_BOXES)
def test_who_rounds_what_is_asked_leaves_nothing_pending(name):
    """Who has to recognise points goes on as without rounding; others learn the points as told."""
    exact, rounded = own.begun(name), own.begun(name)
    steps = 10 if own.line(name).recognises else 5
    for _ in range(steps):
        x = rounded.ask()
        rounded.tell(np.round(x, 2), *own.shown(name, x))
        assert len(rounded.pending) == 0
    asked = own.played(exact, name, steps)
    if own.line(name).recognises:
        assert_array_equal(rounded.history.x, np.round(asked, 2))
        assert_array_equal(rounded.ask(), exact.ask())
    else:
        low, high = np.array(own.BOUNDS).T
        assert_allclose(rounded._taught().x, (rounded.history.x - low) / (high - low), atol=1e-12)


@own.each(name for name in own.NAMES if name not in RANDOM)
def test_values_matter_and_their_sense(name):
    low, high = own.begun(name), own.begun(name, minimize=False)
    for optimizer in (low, high):
        own.played(optimizer, name, 5)
    count = 4 if own.over_arms(name) else 2
    assert not np.array_equal(low.ask(count), high.ask(count))


@own.each(own.ON_BOXES)
def test_other_units_change_nothing(name):
    def of(name, x):
        return own.shown(name, np.round(x, 6))  # the same values, though points differ by rounding

    def of_wide(name, x):
        return of(name, (np.asarray(x) - [64.0, 256.0]) / [2.0, 16.0])

    wide = [(64.0 - 10, 64 + 6.0), (256.0, 256.0 + 256)]
    small = own.played(own.begun(name), name, 6, of=of)
    large = own.played(own.begun(name, bounds=wide), name, 6, of=of_wide)
    assert_allclose((large - [64, 256]) / [2, 16], small, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", own.OVER_ARMS)
def test_units_of_columns_and_values_change_nothing(name):
    def of(name, x):
        return 16 * own.VALUES[x] - 64, None

    small = own.played(own.begun(name, noise=None), name, 10)
    large = own.played(own.begun(name, arms=own.TABLE * 4 + 32), name, 10, of=of)
    assert_array_equal(large, small)


def assert_apart(name, asked):
    """Three points that were asked for in a row."""
    if own.over_arms(name):
        # independent draws may fall on one row, and eps-greedy pulls the best one again and again
        assert len(set(asked)) == 3 or name in ("async-ts", "eps-greedy")
        return
    u = (asked - np.array(own.BOUNDS)[:, 0]) / np.ptp(own.BOUNDS, axis=1)
    apart = np.abs(u[:, None] - u[None]).max(2)[np.triu_indices(3, 1)]
    if name == "lcbo":  # evaluates its iterate twice, by its rule
        assert (apart > 1e-3).sum() >= 2
    else:
        assert apart.min() > 1e-3


@own.each(own.NAMES)
def test_three_asks_in_a_row_differ_and_a_saved_optimizer_goes_on_where_it_was(name, tmp_path):
    optimizer = own.begun(name)
    for steps in (0, 6):
        own.played(optimizer, name, steps)
        pending = pickle.loads(pickle.dumps(optimizer))
        asked = np.array([pending.ask() for _ in range(3)])
        assert_array_equal(pending.pending, asked)
        assert_apart(name, asked)
    together = optimizer.ask(3)
    assert len(together) == 3
    if own.line(name).batch == BELIEVES:
        assert_array_equal(together, asked)
    pending.tell(asked[0], *own.shown(name, asked[0]))
    pending.save(tmp_path / "state")
    loaded = noregret.Optimizer.load(tmp_path / "state")
    assert repr(loaded) == repr(pending)
    assert loaded.settings == pending.settings
    assert_array_equal(loaded.pending, pending.pending)
    for mine, theirs in zip(loaded.history, pending.history, strict=True):
        assert_array_equal(mine, theirs)
    assert_array_equal(own.played(loaded, name, 1), own.played(pending, name, 1))


def test_what_is_best_is_feasible():
    """Of a method that takes constraints."""
    x = [[-1.0, 9.0], [0.0, 15.0], [-4.0, 1.0]]
    optimizer, infeasible = own.begun("random"), own.begun("random")
    optimizer.tell(x, [0.5, 0.1, 3.0], [[-1], [2], [-0.5]])
    assert_array_equal(optimizer.best().x, [-1.0, 9.0])
    assert optimizer.best().feasible and optimizer.best().y == 0.5
    infeasible.tell(x[:2], [0.5, 0.1], [[1.0], [0.25]])
    assert_array_equal(infeasible.best().x, [0.0, 15.0])
    assert not infeasible.best().feasible


@own.each(one.name for one in METHODS if one.constrained)
def test_the_sign_of_a_constraint_matters(name):
    def turned(name, x):
        return own.f(x), [-value for value in own.g(x)]

    one = own.played(own.begun(name), name, 7)
    other = own.played(own.begun(name), name, 7, of=turned)
    assert np.array_equal(one, other) == (name == "random")
