"""LineBO: its lines, their ends, what follows, its known regression against scikit-learn's."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from algorithms.api import Observation
from algorithms.linebo import BALL, LINE, POINT
from algorithms.parts.processes.fitting import SURROGATES
from algorithms.parts.processes.gp import Posterior
from tests.algorithms.grouped import builder, changed
from tests.settings import LINES

KNOWN = {"lengthscale": 0.3, "outputscale": 1.5, "standard": "population"}
TABLE = changed(LINES, **KNOWN, grid=101, most=5, per_dim=2, gram="noisy")

new = builder("linebo.LineBO", TABLE, d=3)


def bump(x):
    return -4 * ((x - 0.35) ** 2).sum(1) + 0.1 * np.sin(9 * x[:, 0])


def told(optimizer, n=4, f=bump):
    x = np.random.default_rng(n).random((n, optimizer.domain.d))
    optimizer.tell(x, Observation.of(f(x)))
    return optimizer


def step(optimizer, f=bump):
    """One query (d,), and what it was for."""
    phase, query = optimizer.report()["phase"], optimizer.ask(1, optimizer.x[:0])
    assert query.shape == (1, optimizer.domain.d) and ((query >= 0) & (query <= 1)).all()
    optimizer.tell(query, Observation.of(f(query)))
    return phase, query[0]


def oracle(optimizer, x):
    """Mean and standard deviation (q,) at x (q, d) by another library, in standardised units."""
    y = (optimizer.y - optimizer.y.mean()) / optimizer.y.std()
    kernel = ConstantKernel(1.5) * Matern(0.3, nu=2.5)
    theirs = GaussianProcessRegressor(kernel, alpha=0.04, optimizer=None).fit(optimizer.x, y)
    return theirs.predict(x, return_std=True)


def across(origin, direction, count=101):
    """A grid (count, d) on a line, from face to face of the box, by cutting off what is outside."""
    along = direction != 0
    t = np.concatenate([(face - origin[along]) / direction[along] for face in (0.0, 1.0)])
    at = origin + t[:, None] * direction
    ends = t[((at > -1e-9) & (at < 1 + 1e-9)).all(1)]
    return origin + np.linspace(ends.min(), ends.max(), count)[:, None] * direction


@pytest.mark.parametrize(("directions", "d"), [("random", 3), ("coordinate", 3), ("random", 1)])
def test_a_query_is_the_largest_bound_on_the_line_and_the_best_point_the_largest_mean_in_its_middle(
    directions, d
):
    """A line goes through the point that it starts from, and stays while it lasts."""
    optimizer, checked = told(new(d, directions=directions)), 0
    origin, direction = optimizer.best.copy(), optimizer.direction.copy()
    for _ in range(12):
        if optimizer.report()["phase"] == LINE:
            assert_array_equal(optimizer.direction, direction)
            line = across(origin, direction)
            mean, deviation = oracle(optimizer, line)
            _, query = step(optimizer)
            assert_allclose(query, line[np.argmax(mean + 2 * deviation)], atol=1e-9)
            middle = line[10:91]
            best = middle[np.argmax(oracle(optimizer, middle)[0])]
            assert_allclose(optimizer.best, best, atol=1e-9)
            checked += 1
        else:
            origin = optimizer.best.copy()
            assert_array_equal(step(optimizer)[1], origin)
            direction, number = optimizer.direction.copy(), optimizer.report()["searches"]
            if directions == "coordinate":
                assert_array_equal(direction, np.eye(d)[(number - 1) % d])
        assert_array_equal(optimizer.recommend(), optimizer.best[None])
    assert checked >= 8


@pytest.mark.parametrize(("tolerance", "lengths"), [(0.0, {6}), (0.5, {2, 6}), (1e9, {2})])
def test_a_line_ends_by_the_rule(tolerance, lengths):
    optimizer, queries, seen = told(new(2, tolerance=tolerance, fewest=1, most=6)), 0, set()
    for _ in range(50):
        line = across(optimizer.origin, optimizer.direction)
        if step(optimizer)[0] == POINT:
            queries = 0
            continue
        queries += 1
        mean, deviation = oracle(optimizer, line)
        at, spread = oracle(optimizer, optimizer.best[None])
        narrow = (mean + 2 * deviation).max() - (at - 2 * spread)[0] < tolerance * at[0]
        over = optimizer.report()["phase"] == POINT
        assert over == ((queries > 1 and narrow) or queries == 6)
        seen |= {queries} if over else set()
    assert seen >= lengths and (len(lengths) > 1 or seen == lengths)


@pytest.mark.parametrize(("sign", "over"), [(1.0, True), (-1.0, False)])
def test_a_mean_below_0_never_ends_a_line_early(sign, over):
    optimizer = told(new(2, tolerance=1e9))
    optimizer.told = 3  # more than `fewest`
    values = torch.full((4,), sign).double()
    level = Posterior.of(optimizer.posterior.model, torch.from_numpy(optimizer.x), values)
    assert optimizer._line_is_over(level) == over


@pytest.mark.parametrize("radius", [0.05, 0.2])
def test_in_a_ball_queries_lie_a_radius_from_the_point_that_it_starts_from(radius):
    optimizer = new(3, directions="ascent", radius=radius, per_dim=1.5)
    optimizer.tell(np.full((1, 3), 0.4), Observation.of(np.zeros(1)))
    phases = []
    for _ in range(5):
        phase, query = step(optimizer)
        assert np.linalg.norm(query - 0.4) == pytest.approx(radius)
        phases.append(phase)
    assert phases == [BALL] * 5  # ceil(1.5 * 3)
    moved = np.linalg.norm(optimizer.best - 0.4)
    assert moved <= radius + 1e-12
    assert step(optimizer)[0] == POINT
    assert_array_equal(optimizer.x[-1], optimizer.origin)
    assert step(optimizer)[0] == LINE


@pytest.mark.parametrize("seed", range(3))
def test_the_line_after_a_ball_climbs_the_slope(seed):
    w = np.array([3.0, -2.0, 1.0, 0.5])
    optimizer = new(4, seed=seed, directions="ascent", per_dim=3, noise=1e-4, lengthscale=1.0)
    optimizer.tell(np.full((1, 4), 0.45), Observation.of(np.zeros(1)))
    while optimizer.report()["phase"] == BALL:
        step(optimizer, f=lambda x: (x - 0.45) @ w)
    assert_array_equal(optimizer.direction, optimizer.best - 0.45)
    cosine = optimizer.direction @ w / np.linalg.norm(optimizer.direction) / np.linalg.norm(w)
    assert cosine > 0.95
    # nothing stops it before the ball's end
    assert np.linalg.norm(optimizer.best - 0.45) == pytest.approx(0.1)


def test_drawn_slopes_are_those_of_the_posterior():
    optimizer = told(new(2, directions="ascent", radius=0.01), n=12)
    posterior, origin = optimizer.posterior, optimizer.origin
    over_mean, _ = posterior.slopes(torch.from_numpy(origin[None]))
    draws = np.array([optimizer._slope_of_draw(posterior) for _ in range(400)]) / (0.01 * 0.01)
    error = draws.std(axis=0) / 20
    assert (error > 0).all()
    assert_allclose(draws.mean(axis=0), over_mean[0].numpy(), atol=4 * error.max())


def test_where_there_is_no_way_up_an_ascent_takes_a_random_direction():
    optimizer = new(3, directions="ascent")
    optimizer.tell(np.full((1, 3), 0.4), Observation.of(np.full(1, 7.0)))
    while optimizer.report()["phase"] == BALL:
        step(optimizer, f=lambda x: np.full(len(x), 7.0))
    assert_array_equal(optimizer.best, np.full(3, 0.4))  # a flat mean leads nowhere
    assert np.linalg.norm(optimizer.direction) > 0


def test_an_ascent_that_gains_too_little_gives_way_to_a_random_direction():
    directions = []
    for least_gain in (0.0, 1e9):
        optimizer = new(2, directions="ascent", least_gain=least_gain)
        optimizer.tell(np.array([[0.4, 0.4], [0.6, 0.6]]), Observation.of(np.array([1.0, 0.0])))
        while optimizer.report()["phase"] == BALL:
            step(optimizer, f=lambda x: x.sum(1))
        directions.append(np.allclose(optimizer.direction, optimizer.best - 0.4))
    assert directions == [True, False]


@pytest.mark.parametrize("name", ["gamma-priors", "scikit-optimize"])
def test_a_fitted_surrogate_is_that_of_the_other_baselines(name):
    optimizer = told(new(2, surrogate=name), n=10)
    theirs = SURROGATES[name].learn(optimizer.x, optimizer.y, np.random.default_rng(0))
    assert_array_equal(optimizer.posterior.alpha, theirs.posterior.alpha)


def test_random_directions_have_no_axis():
    assert_array_equal(told(new(3, seed=5)).direction, np.random.default_rng(5).standard_normal(3))
