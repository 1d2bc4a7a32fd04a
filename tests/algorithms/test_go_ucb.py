"""GO-UCB against differences, PyTorch, a generic solver, and what printed constants do."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from algorithms.api import Observation
from algorithms.go_ucb import Ball, Network
from tests.algorithms.grouped import builder, changed, rng
from tests.settings import NETWORK

PRINTED = changed(NETWORK, hidden=25, horizon=64, oracle_steps=2000, ascent_steps=2000)
SMALL = changed(PRINTED, hidden=3, horizon=10, oracle_steps=20, ascent_steps=20)
STANDARDISED = {"units": "standardised", "method": "adam", "oracle_rate": 0.01}
NOTHING = np.empty((0, 1))


new = builder("go_ucb.GOUCB", SMALL)


def bowl(u, scale=30.0):
    """-scale |x - 1|^2 / 10 on [-5,5]^d, of points (n, d) of the unit cube."""
    return -scale * ((10 * u - 6) ** 2).sum(axis=1) / 10


def tell(optimizer, query, f=bowl):
    optimizer.tell(query, Observation.of(f(query)))
    return optimizer


def answer(optimizer, query, f=bowl):
    """What was asked for is told: one round or several of Phase II."""
    ask = optimizer.ascent
    optimizer.ascent = replace(ask, steps=0)  # what is asked for does not matter here
    optimizer.ask(1, NOTHING)
    optimizer.ascent = ask
    return tell(optimizer, query, f)


def started(d=2, n=6, seed=0, f=bowl, **changes):
    """An optimizer after Phase I: n uniform points."""
    return tell(new(d, seed, **changes), rng(100 + seed).random((n, d)), f)


def central(f, at, step=1e-6):
    return np.array([(f(at + step * e) - f(at - step * e)) / (2 * step) for e in np.eye(len(at))])


def twin(d, hidden, w):
    """The same network made of PyTorch's layers, in double precision."""
    inner, outer = torch.nn.Linear(d, hidden), torch.nn.Linear(hidden, 1)
    layers = torch.nn.Sequential(inner, torch.nn.Sigmoid(), outer).double()
    torch.nn.utils.vector_to_parameters(torch.tensor(w), layers.parameters())
    return layers


# the network


@pytest.mark.parametrize(("d", "size"), [(20, 551), (7, 226), (8, 251), (11, 326)])
def test_it_has_the_published_number_of_parameters(d, size):
    assert Network(d, 25).size == size
    assert len(Network(d, 25).initial(rng())) == size
    assert new(d, hidden=25).report()["parameters"] == size


def test_values_and_gradients_are_those_of_pytorch():
    network = Network(4, 5)
    x, w = 3 * rng(1).standard_normal((3, 4)), rng(2).standard_normal((3, network.size))
    over_x, over_w = network.gradients(x, w)
    for i in range(3):
        layers, point = twin(4, 5, w[i]), torch.tensor(x[i], requires_grad=True)
        value = layers(point)[0]
        value.backward()
        assert_allclose(network(x, w)[i], value.item(), rtol=1e-12)
        assert_allclose(over_x[i], point.grad, rtol=1e-11)
        slopes = torch.cat([p.grad.ravel() for p in layers.parameters()])
        assert_allclose(over_w[i], slopes, rtol=1e-11)


def test_saturated_units_overflow_nowhere():
    network = Network(1, 1)
    x, w = np.array([[1.0], [1.0]]), np.array([[1e4, 0, 2, 1], [-1e4, 0, 2, 1]])
    assert_array_equal(network(x, w), [3, 1])
    assert_array_equal(network.gradients(x, w)[0], [[0], [0]])


def test_parameters_start_like_pytorchs_layers():
    """Uniform within one over the root of the number of inputs, which differs between layers."""
    w = np.array([Network(16, 25).initial(rng(seed)) for seed in range(200)])
    for part, bound in ((w[:, : 25 * 17], 1 / 4), (w[:, 25 * 17 :], 1 / 5)):
        assert stats.kstest(part.ravel(), stats.uniform(-bound, 2 * bound).cdf).pvalue > 1e-3


# Phase I: the regression oracle


@pytest.mark.parametrize(
    ("method", "optim", "rate"), [("gradient", "SGD", 1e-3), ("adam", "Adam", 1e-2)]
)
def test_the_oracle_is_pytorchs_descent_on_the_mean_squared_error(method, optim, rate):
    optimizer = started(d=4, n=7, method=method, oracle_rate=rate, oracle_steps=60)
    layers = twin(4, 3, optimizer.initial)
    x, y = torch.tensor(10 * optimizer.x - 5), torch.tensor(optimizer.y)
    descent = getattr(torch.optim, optim)(layers.parameters(), lr=rate)
    for _ in range(60):
        descent.zero_grad()
        torch.nn.functional.mse_loss(layers(x)[:, 0], y).backward()
        descent.step()
    expected = torch.nn.utils.parameters_to_vector(layers.parameters()).detach()
    assert_allclose(optimizer.w0, expected, rtol=1e-9)
    assert optimizer.report()["oracle_moved"] > 0.1
    assert_array_equal(optimizer.w, optimizer.w0)


def test_an_oracle_that_diverges_says_so():
    said = r"oracle diverged at rate 1e\+06: choose a smaller oracle\.rate"
    with np.errstate(all="ignore"), pytest.raises(ArithmeticError, match=said):
        started(oracle_rate=1e6, oracle_steps=500)


# Phase II: eqs. (3), (5), (6)


@pytest.mark.parametrize(("T", "lam"), [(25, 51.8), (64, 138.4)])
def test_the_regularisation_is_the_published_one(T, lam):
    optimizer = new(horizon=T)
    assert_allclose(optimizer.lam, lam, atol=0.05)
    assert_allclose(optimizer.lam, sqrt(T) * log(T) * log(T))


def test_beta_grows_with_the_rounds_of_phase_two():
    optimizer = started(n=6, norm=1.5)  # hidden 3, d = 2: d_w = 13
    assert_allclose(optimizer.beta, 13**3 * 1.5**4 / 10)
    answer(optimizer, rng(5).random((9, 2)))
    assert_allclose(optimizer.report()["beta"], 13**3 * 1.5**4)


def rounds(optimizer, T, d=2):
    """For each of T told evaluations: w^_i, its gradient by differences, f_{x_i}(w^_i), y_i."""
    seen = []
    for i, u in enumerate(rng(7).random((T, d))):
        w = optimizer.w

        def f(w, x=10 * u - 5):
            return optimizer.network(x[None], w[None])[0]

        answer(optimizer, u[None])
        seen.append((w, central(f, w), f(w), optimizer.y[6 + i]))
    return seen


def test_the_closed_form_minimises_the_printed_objective():
    """Eq. (4) is a sum of squares: lambda |w - w^_0|^2 and one row for each round."""
    optimizer = started()
    seen = rounds(optimizer, 8)
    rows = np.vstack([sqrt(optimizer.lam) * np.eye(13), *[g for _, g, _, _ in seen]])
    shown = [w @ g - f + y for w, g, f, y in seen]
    targets = np.concatenate([sqrt(optimizer.lam) * optimizer.w0, shown])
    w, *_ = np.linalg.lstsq(rows, targets)
    assert_allclose(optimizer.w, w, atol=1e-6)
    assert_allclose(optimizer.Sigma, rows.T @ rows, rtol=1e-6)  # eq. (3)
    assert optimizer.report()["rounds_moved"] > 0.5


def test_a_block_of_phase_two_is_learnt_one_by_one():
    together, apart = started(), started()
    query = rng(3).random((5, 2))
    answer(together, query)
    for u in query:
        answer(apart, u[None])
    assert_array_equal(together.w, apart.w)
    assert_array_equal(together.Sigma, apart.Sigma)


@pytest.fixture
def ball():
    """A ball in 6 dimensions whose axes differ by a factor of some 30."""
    root = rng(3).standard_normal((6, 6)) * np.array([0.1, 0.3, 1, 1, 3, 3])
    return Ball(rng(4).standard_normal(6), root.T @ root + 0.01 * np.eye(6), beta=2.0)


def norms(ball, w):
    """Squared distances from the centre, in the norm of Sigma, slowly."""
    return np.array([(row - ball.centre) @ ball.Sigma @ (row - ball.centre) for row in w])


@pytest.mark.parametrize("size", [1e-3, 0.1, 0.3, 0.5, 1.0, 3.0, 1e3])
def test_what_is_inside_the_ball_stays_and_what_is_outside_comes_to_its_edge(ball, size):
    w = ball.centre + size * rng(5).standard_normal((40, 6))
    projected, before = ball.project(w), norms(ball, w)
    assert_array_equal(projected[before <= 2 - 1e-9], w[before <= 2 - 1e-9])
    assert_allclose(norms(ball, projected), np.minimum(before, 2.0), rtol=1e-9)


def test_the_edge_is_reached_at_the_nearest_point_in_the_norm_of_sigma(ball):
    w = ball.centre + 3 * rng(5).standard_normal((1, 6))
    nearest = ball.project(w)
    edge = ball.centre + rng(6).standard_normal((5000, 6))
    edge = ball.centre + (edge - ball.centre) * np.sqrt(2 / norms(ball, edge))[:, None]
    away = Ball(w[0], ball.Sigma, ball.beta)
    assert norms(ball, w)[0] > 2
    assert norms(away, nearest)[0] <= norms(away, edge).min()


# the ascent


@pytest.mark.parametrize(
    ("method", "optim", "rate"), [("gradient", "SGD", 0.05), ("adam", "Adam", 0.6)]
)
def test_the_ascent_is_pytorchs_over_points_and_parameters(method, optim, rate):
    """No ball limits it, the box cuts coordinates off; the best end of three is asked for."""
    ascent = {"start": "uniform", "starts": 3, "ascent_rate": rate, "ascent_steps": 40}
    optimizer = started(d=4, norm=100.0, method=method, **ascent)
    answer(optimizer, rng(3).random((2, 4)))
    before = optimizer.rng.bit_generator.state
    asked = optimizer.ask(1, NOTHING)
    optimizer.rng.bit_generator.state = before
    ends = []
    for start in optimizer.rng.uniform(-5, 5, (3, 4)):
        layers, x = twin(4, 3, optimizer.w), torch.tensor(start, requires_grad=True)
        ascent = getattr(torch.optim, optim)([x, *layers.parameters()], lr=rate, maximize=True)
        for _ in range(40):
            ascent.zero_grad()
            layers(x)[0].backward()
            ascent.step()
            x.data.clamp_(-5, 5)
        ends.append((layers(x).item(), x.detach().numpy()))
    best = max(ends, key=lambda end: end[0])[1]
    assert_allclose(10 * asked[0] - 5, best, rtol=1e-9)
    assert (np.abs(best) == 5).any() == (method == "adam")


def test_where_the_ascent_starts():
    for start, expected in (("zeros", [0.5, 0.5]), ("best-observed", [0.6, 0.55])):
        optimizer = new(start=start, ascent_steps=0)
        tell(optimizer, np.array([[0.1, 0.2], [0.6, 0.55], [0.9, 0.6]]))
        assert_allclose(optimizer.ask(1, NOTHING), [expected], atol=1e-12)


@pytest.mark.parametrize(("start", "low", "high"), [("uniform", 0, 1), ("unit-cube", 0.5, 0.6)])
def test_random_starts_are_uniform(start, low, high):
    optimizer = started(start=start, ascent_steps=0)
    asked = np.concatenate([optimizer.ask(1, NOTHING) for _ in range(500)])
    assert stats.kstest(asked.ravel(), stats.uniform(low, high - low).cdf).pvalue > 1e-3


def test_more_starts_than_points_are_filled_up_with_uniform_ones():
    optimizer = tell(new(start="best-observed", starts=200, ascent_steps=0), np.full((2, 2), 0.5))
    starts = optimizer._starts()
    assert_array_equal(starts[:2], np.zeros((2, 2)))
    assert stats.kstest(starts[2:].ravel(), stats.uniform(-5, 10).cdf).pvalue > 1e-3


def test_without_any_data_it_asks_for_a_uniform_point_and_one_at_a_time():
    optimizer = new()
    asked = np.concatenate([optimizer.ask(9, NOTHING) for _ in range(300)])
    assert stats.kstest(asked.ravel(), "uniform").pvalue > 1e-3
    assert optimizer.ask(1000, NOTHING).shape == (1, 2)
    assert tell(optimizer, optimizer.ask(1000, NOTHING)).ask(1000, NOTHING).shape == (1, 2)


# what the printed constants do


def test_printed_constants_repeat_the_best_initial_point():
    """Parameters stay as drawn; in a box 10 wide one ascent moves 0.01 at most, ten move 0.1."""
    optimizer = started(d=20, n=8, **PRINTED)
    assert 0 < optimizer.report()["oracle_moved"] < 1e-4
    assert optimizer.report()["rounds_moved"] == 0
    best = optimizer.x[np.argmax(optimizer.y)]
    for t in range(10):
        query = optimizer.ask(1, NOTHING)
        assert 0 < 10 * np.abs(query - best).max() < (0.01 if t == 0 else 0.1)
        tell(optimizer, query)


# readings


def test_standardised_values_do_not_know_their_unit():
    """The queries are those of y and of 1000 y - 7, but for rounding."""
    options = {**STANDARDISED, "ascent_rate": 0.01, "starts": 4}
    plain = started(**options)
    scaled = started(f=lambda u: 1000 * bowl(u) - 7, **options)
    for _ in range(4):
        query = plain.ask(1, NOTHING)
        assert_allclose(scaled.ask(1, NOTHING), query, atol=1e-8)
        tell(plain, query)
        tell(scaled, query, lambda u: 1000 * bowl(u) - 7)
    phase_one = plain.y[:6]
    assert (plain.shift, plain.scale) == (phase_one.mean(), phase_one.std())


def test_standardised_points_lie_within_one():
    optimizer = started(units="standardised", start="uniform", ascent_steps=0, starts=300)
    starts = optimizer._starts()
    assert stats.kstest(starts.ravel(), stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert_allclose(optimizer._to_paper(np.array([[0.0, 0.25]])), [[-1, -0.5]])


def test_an_oracle_of_every_round_is_that_of_all_data():
    later = answer(started(calls="every-round", **STANDARDISED), rng(3).random((4, 2)))
    at_once = tell(new(**STANDARDISED), later.x)
    assert_array_equal(later.w, at_once.w)
    assert (later.shift, later.scale) == (at_once.shift, at_once.scale)
    assert not np.array_equal(later.w, later.w0)
    assert later.Sigma.trace() > 13 * later.lam
    assert_allclose(later.beta, 13**3 * 5 / 10)


# what was not asked for


def assert_same(one, other):
    """All that the next query depends on, and the query."""
    for name in ("x", "y", "w0", "w", "Sigma", "moment", "asked", "shift", "scale"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.rng.bit_generator.state == other.rng.bit_generator.state
    assert_array_equal(one.ask(1, NOTHING), other.ask(1, NOTHING))


READINGS = {
    "printed": {},
    "trained": {**STANDARDISED, "ascent_rate": 0.02, "starts": 3},
    "retrained": {**STANDARDISED, "calls": "every-round"},
    "unit": {"space": "unit"},
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("answered", [0, 3])
def test_history_is_phase_one_however_it_is_split_up(reading, answered):
    """Told before the first ask, or between an answer and the next ask."""
    together, apart = started(**READINGS[reading]), started(**READINGS[reading])
    history = rng(9).random((12, 2))
    for u in rng(8).random((answered, 2)):
        for optimizer in (together, apart):
            answer(optimizer, u[None])
    tell(together, history)
    for u in history:
        tell(apart, u[None])
    assert_same(together, apart)
    assert together.asked.sum() == answered
    assert_allclose(together.beta, 13**3 * (answered + 1) / 10)
    assert (np.linalg.matrix_rank(together.Sigma - together.lam * np.eye(13)) > 0) == bool(answered)


# W in [0,1]^d_w


def test_parameters_of_the_unit_cube_stay_there():
    """A large rate would carry them out; on f1, whose parameters are all 1, they are a corner."""
    optimizer = started(space="unit", oracle_rate=1e-3, oracle_steps=200, ascent_rate=0.1)
    assert ((optimizer.initial >= 0) & (optimizer.initial <= 1)).all()
    assert np.isin(optimizer.w0, [0.0, 1.0]).any()
    free = started(oracle_rate=1e-3, oracle_steps=200)
    assert (np.abs(free.w0) > 1).any()
    seen = []
    for u in rng(8).random((5, 2)):
        answer(optimizer, u[None])
        seen.append(optimizer.w)
    assert ((np.array(seen) >= 0) & (np.array(seen) <= 1)).all()
    assert new(space="unit").initial.max() > 1 / sqrt(3)  # beyond what the layers draw


# the output


def test_it_returns_a_uniform_one_of_the_queries_of_phase_two():
    phase_two = rng(8).random((4, 2))
    found = []
    for seed in range(400):
        optimizer = answer(tell(new(seed=seed, oracle_steps=1), np.full((3, 2), 0.6)), phase_two)
        generator = optimizer.rng.bit_generator.state
        returned = optimizer.recommend()
        assert_array_equal(returned, optimizer.recommend())
        assert optimizer.rng.bit_generator.state == generator
        found.append(int(np.flatnonzero((phase_two == returned).all(axis=1))[0]))
    assert stats.chisquare(np.bincount(found, minlength=4)).pvalue > 1e-3


def test_before_phase_two_it_returns_the_best_point():
    optimizer = started()
    assert_array_equal(optimizer.recommend(), optimizer.x[[np.argmax(optimizer.y)]])


def test_a_ball_without_room_leaves_an_ascent_over_points_alone():
    optimizer = started(norm=1e-6, start="zeros", ascent_rate=0.02, ascent_steps=200)
    answer(optimizer, rng(3).random((2, 2)))
    x, w = np.zeros((1, 2)), optimizer.w[None]
    for _ in range(200):
        x = np.clip(x + 0.02 * optimizer.network.gradients(x, w)[0], -5, 5)
    assert np.abs(x).max() > 0.1
    assert_allclose(10 * optimizer.ask(1, NOTHING) - 5, x, rtol=1e-6)


def test_the_ball_never_binds_at_the_printed_constants(monkeypatch):
    """sqrt(beta) is thousands; w moves by less than 10 on its way."""
    farthest = []
    project = Ball.project

    def watched(ball, w):
        farthest.append(np.linalg.norm(w - ball.centre) ** 2 / ball.surely)
        return project(ball, w)

    monkeypatch.setattr(Ball, "project", watched)
    optimizer = started(d=20, n=8, **{**PRINTED, "ascent_steps": 500})
    for _ in range(4):
        tell(optimizer, optimizer.ask(1, NOTHING))
    assert len(farthest) == 2000 and max(farthest) < 0.1
