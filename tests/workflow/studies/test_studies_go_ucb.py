"""The studies of GO-UCB: the drawn loss keeps its bounds and is far from convex; a ball is measured
round by round; two families meet the hypotheses of the theorems.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import algorithms
from algorithms.api import Arms
from algorithms.go_ucb import GOUCB, Network
from problems import synthetic
from problems.api import Problem
from tests.algorithms.grouped import changed
from tests.settings import NETWORK
from workflow.studies import confidence_ball, growth_condition, parametric_regret

SHAPE = {"centre": 0.5, "mu": 40, "tau": 2, "gamma": 0.5, "waves": 16, "height": 0.6}
BOX = {"low": -5, "high": 5}
METHOD = {
    "is": "go_ucb.GOUCB",
    **changed(NETWORK, hidden=3, horizon=9, oracle_steps=5, ascent_steps=5),
}


def f1(noise=0.0):
    return synthetic.unit_network(np.random.default_rng(0), d=2, hidden=3, noise=noise, **BOX)


def test_the_loss_keeps_its_bounds_with_many_minima_and_is_convex_near_the_best_one():
    found = growth_condition.run(0, f1(), **SHAPE, points=1001)
    assert (found["loss"] >= found["lower_bound"]).all()
    assert_allclose(found["lower_bound"], np.minimum(found["strong_convexity"], found["growth"]))
    best = int(np.argmin(found["loss"]))
    assert (found["w"][best], found["loss"][best]) == (0.5, 0.0)
    bends = np.diff(found["loss"], 2)
    lower = (found["loss"][1:-1] < found["loss"][:-2]) & (found["loss"][1:-1] < found["loss"][2:])
    assert lower.sum() > 10
    # second derivative at least mu there
    assert (bends[best - 10 : best + 9] >= 40 * 1e-6 * 0.99).all()
    assert (bends < 0).any()


def test_a_ball_is_measured_from_its_centre_before_every_round():
    found = confidence_ball.run(0, f1(), n=3, T=4, parameter=1, optimizer=METHOD)
    size = Network(2, 3).size
    assert found["t"].tolist() == [1, 2, 3, 4]
    assert_allclose(found["beta"], size**3 * found["t"] / 9)  # App. D.1 with F = 1
    lam = np.sqrt(9) * np.log(9) ** 2
    # Sigma_1 = lambda I
    assert found["distance"][0] == pytest.approx(lam * found["euclidean"][0], rel=1e-12)
    assert (found["distance"][1:] > lam * found["euclidean"][1:]).all()
    again = confidence_ball.run(0, f1(), n=3, T=4, parameter=1, optimizer=METHOD)
    assert all((again[name] == found[name]).all() for name in found)


def test_the_truth_at_the_centre_has_no_distance():
    built = {name: value for name, value in METHOD.items() if name != "is"}
    method = algorithms.build(METHOD["is"], f1().domain, np.random.default_rng(0), built)
    assert confidence_ball.distances(method, method.w) == {"distance": 0.0, "euclidean": 0.0}


def test_a_table_has_no_network():
    table = Problem(Arms(np.zeros((2, 1))), lambda query, rng: None)
    with pytest.raises(TypeError, match="expected a problem on a Box, got Arms"):
        confidence_ball.run(0, table, n=1, T=1, parameter=1, optimizer=METHOD)


THEORY = {
    **{name: value for name, value in METHOD.items() if name not in BOX},
    "space": "unit",
    "hidden": 1,
    "method": "adam",
    "oracle": {"calls": "once", "rate": 0.02, "steps": 300},
    "ascent": {"start": "best-observed", "starts": 2, "rate": 0.02, "steps": 40},
}


def theory(seed, settings):
    given = {"settings": settings, "every": 16, "sigma": 0.1, "delta": 0.1}
    return parametric_regret.run(seed, f1(), **given, optimizer=THEORY)


@pytest.mark.parametrize("name", ["phase", "amplitudes"])
def test_families_meet_the_assumptions_with_the_constants_that_they_state(name):
    f, draw = parametric_regret.FAMILIES[name], np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, 2001)[:-1, None]
    tiled = lambda w: np.broadcast_to(w, (len(x), f.size))  # noqa: E731
    step = 1e-5
    assert f.mu < f.size
    for true in draw.random((20, f.size)):
        values = f(x, tiled(true))
        over_x, over_w = f.gradients(x, tiled(true))
        rise = f(x + step, tiled(true)) - f(x - step, tiled(true))
        assert_allclose(over_x[:, 0], rise / (2 * step), atol=1e-8)
        for j, move in enumerate(step * np.eye(f.size)):
            change = f(x, tiled(true + move)) - f(x, tiled(true - move))
            assert_allclose(over_w[:, j], change / (2 * step), atol=1e-8)
            bend = (f.gradients(x, tiled(true + move))[1] - over_w) / step
            assert np.linalg.norm(bend, axis=1).max() <= f.C_h + 1e-4
        assert np.abs(values).max() <= f.F
        assert values.max() == pytest.approx(f.greatest(true), abs=1e-5)
        assert np.linalg.norm(over_w, axis=1).max() <= f.C_g + 1e-12
        hessian = 2 * over_w.T @ over_w / len(x)
        assert np.linalg.eigvalsh(hessian).max() <= f.zeta + 1e-9
        for w in draw.random((50, f.size)):
            loss = ((f(x, tiled(w)) - values) ** 2).mean()
            assert loss >= f.mu / 2 * ((w - true) ** 2).sum() - 1e-12


def test_the_theorems_hold_and_one_that_never_learns_breaks_them(monkeypatch):
    found = theory(0, [["phase", 1024]])
    assert (found["outside"] <= 1).all()
    assert (found["instant"] <= 1).all()
    for left, right in (("regret", "regret_bound"), ("squares", "squares_bound")):
        assert (found[left] <= found[right]).all()
    assert (found["oracle_error"] <= found["oracle_bound"]).all()
    assert (found["regret_worst"] > found["regret_bound"])[-1]
    assert found["asked_for"][0] > 1 > theory(0, [["phase", 64]])["asked_for"][0]
    monkeypatch.setattr(
        GOUCB, "ask", lambda self, room, pending: (self.rng.random(), np.full((1, 1), 0.7))[1]
    )
    broken = theory(0, [["phase", 1024]])
    assert broken["instant"][-1] > 1
    assert broken["regret"][-1] > broken["regret_bound"][-1]
    assert broken["squares"][-1] > broken["squares_bound"][-1]
