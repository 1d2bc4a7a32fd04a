"""HDsafeBO's optimistic safe set, the boxes in which it looks, and its bookkeeping."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

import algorithms
from algorithms.api import Box, Observation
from tests.algorithms import history
from tests.algorithms.grouped import changed
from tests.algorithms.history import answered, bowl, told, untouched

KERNELS = [
    {"lengthscale": 0.3, "outputscale": 1.0, "mean": 0.0},
    {"lengthscale": 0.3, "outputscale": 1.0, "mean": 0.5},
    {"lengthscale": [0.4, 0.9], "outputscale": 2.0, "mean": 0.5},
]
KNOWN = {"kernels": KERNELS, "standard": "raw"}
TABLE = {
    "batch_per_dim": 0.5,
    "region": {
        "length": 0.8,
        "longest": 1.6,
        "shortest": 0.5**7,
        "fewest_successes": 3,
        "dims_per_success": 10,
        "patience": 0,
        "improvement": 1e-3,
    },
    "standstill": "nothing",
    "candidates": 200,
    "beta": 2.0,
    "interval": 2.0,
    "sigma": "observed",
    "draws": "paths",
    "features": 200,
    "surrogate": {
        "kernels": "fit",
        "noise": 0.01,
        "noise_units": "observed",
        "standard": "sample",
        "lengthscale": [3.0, 3.0, 1.0],
        "outputscale": [2.0, 1.0, 0.693],
    },
    "fit": {"every": 5, "steps": 5},
}


def new(d=2, seed=0, **changes):
    settings = changed(TABLE, **changes)
    return algorithms.build("hdsafebo.HDsafeBO", Box(d), np.random.default_rng(seed), settings)


def test_history_told_point_by_point_is_that_of_one_block():
    history.history_is_no_failure(new)


@pytest.mark.parametrize("rounds", [1, 4, 5])  # a fit is due with the fifth round
def test_what_was_not_asked_for_between_two_rounds_is_history(rounds):
    history.history_comes_between_rounds(new, rounds)


def test_what_lies_outside_the_region_is_no_answer():
    history.outside_is_no_answer(new)


@pytest.mark.parametrize(
    ("y", "g", "success"),
    [
        ([0.0, 9.0, 1.0], [-1.0, -1.0, -1.0], True),
        ([9.0, 0.0, 1.0], [-1.0, -1.0, -1.0], True),
        ([9.0, 0.0, 1.0], [0.5, 0.5, 0.2], False),
        ([0.0, 9.0, 1.0], [-1.0, -1.0, 0.5], False),
    ],
)
def test_a_batch_told_in_parts_counts_once(y, g, success):
    history.batch_counts_once(new, y, g, success)


@pytest.mark.parametrize(
    ("d", "batch", "successes"), [(2, 1, 3), (25, 13, 3), (50, 25, 5), (100, 50, 10), (102, 51, 11)]
)
def test_batch_and_tolerances_are_table_1(d, batch, successes):
    optimizer = new(d)
    assert optimizer.batch == batch
    first = optimizer.search.region
    assert (first.success_tolerance, first.failure_tolerance) == (successes, 2)


@pytest.mark.parametrize("beta", [0.5, 2.0])
@pytest.mark.parametrize("interval", [1.0, 2.0])
@pytest.mark.parametrize(("sigma", "noise"), [("latent", 0.0), ("observed", 0.01)])
def test_a_candidate_may_be_safe_where_every_lower_bound_says_so(beta, interval, sigma, noise):
    x = np.random.default_rng(0).random((8, 2))
    g = 4 * x - [1.5, 2.0]
    optimizer = told(new(beta=beta, interval=interval, sigma=sigma, **KNOWN), bowl(x), g, x)
    Z, safe = np.random.default_rng(1).random((500, 2)), []
    for kernel, column in zip(KERNELS[1:], g.T, strict=True):
        k, a, m = RBF(kernel["lengthscale"]), kernel["outputscale"], kernel["mean"]
        gain = a * k(Z, x) @ np.linalg.inv(a * k(x) + 0.01 * np.eye(8))
        deviation = np.sqrt(a - (gain * a * k(Z, x)).sum(1) + noise)
        safe.append(m + gain @ (column - m) - beta * interval * deviation <= 0)
    assert_array_equal(optimizer.may_be_safe(Z), safe[0] & safe[1])
    assert 0 < (safe[0] & safe[1]).sum() < min(safe[0].sum(), safe[1].sum())


def test_standardised_constraints_are_compared_with_where_zero_went():
    x = np.random.default_rng(0).random((30, 2))
    optimizer = told(new(beta=0.0), bowl(x), 100 * (x[:, 0] - 0.7), x)
    Z = np.random.default_rng(1).random((200, 2))
    clear = np.abs(Z[:, 0] - 0.7) > 0.1
    assert_array_equal(optimizer.may_be_safe(Z)[clear], Z[clear, 0] < 0.7)


def test_queries_lie_in_the_box_and_may_be_safe():
    x = np.random.default_rng(0).random((20, 4))
    g = 4 * (x[:, :2] - 0.5)
    optimizer = told(new(4, batch_per_dim=3, length=0.6, beta=0.5), bowl(x), g, x)
    safe = (g <= 0).all(1)
    centre = x[safe][np.argmax(bowl(x[safe]))]
    query = optimizer.ask(12, x[:0])
    assert query.shape == (12, 4) and len(np.unique(query, axis=0)) == 12
    assert optimizer.may_be_safe(query).all()
    assert (np.abs(query - centre) <= 0.3 + 1e-12).all()
    assert_array_equal(optimizer.recommend()[0], centre)
    assert not optimizer.may_be_safe(np.random.default_rng(1).random((200, 4))).all()


def test_while_nothing_is_safe_the_box_lies_around_the_least_violation():
    x = np.random.default_rng(0).random((3, 4))
    optimizer = told(new(4, length=0.1), [9.0, 1.0, 2.0], [[3.0, 0.0], [1.0, 1.0], [4.0, 4.0]], x)
    assert (np.abs(optimizer.ask(2, x[:0]) - x[1]) <= 0.05 + 1e-12).all()


def boxes(optimizer, room, monkeypatch, safe):
    """The sides of the boxes in which an `ask` looked, where `safe` says which of its candidates
    may be safe.
    """
    sides = []

    def watched(points):
        sides.append(np.ptp(points, axis=0).max())
        return safe(points)

    monkeypatch.setattr(optimizer, "may_be_safe", watched)
    return optimizer.ask(room, optimizer.x[:0]), sides


def test_the_box_is_halved_while_too_few_candidates_may_be_safe(monkeypatch):
    centre = np.full((1, 3), 0.5)
    optimizer = told(new(3, batch_per_dim=4, length=0.4, candidates=256), [0.0], [[-1.0]], centre)

    def near(points):
        return np.abs(points - 0.5).max(1) < 0.03

    query, sides = boxes(optimizer, 12, monkeypatch, near)
    # of 256 candidates about 1, 7, 55 are that near
    assert_allclose(sides, [0.4, 0.2, 0.1], rtol=0.05)
    assert query.shape == (12, 3) and near(query).all()
    assert len(boxes(optimizer, 3, monkeypatch, near)[1]) == 2  # three would do
    assert untouched(optimizer.search.region)


def test_where_no_box_has_enough_all_candidates_are_allowed(monkeypatch):
    optimizer = told(
        new(3, batch_per_dim=4, length=0.4, shortest=0.04), [0.0], [[-1.0]], np.full((1, 3), 0.5)
    )
    query, sides = boxes(
        optimizer, 12, monkeypatch, lambda points: np.zeros(len(points), dtype=bool)
    )
    assert_allclose(sides, [0.4, 0.2, 0.1, 0.05], rtol=0.05)  # the next would be 0.025
    assert query.shape == (12, 3)
    assert (np.abs(query - 0.5) <= 0.025).all()


@pytest.mark.parametrize(
    ("y", "g", "standstill", "successes", "failures"),
    [
        ([6.0, 1.0], [[-1.0], [-1.0]], "nothing", 1, 0),
        ([6.0, 1.0], [[-1.0], [0.1]], "nothing", 0, 1),  # one is unsafe
        ([6.0, 1.0], [[0.1], [0.1]], "failure", 0, 1),
        ([5.004, 1.0], [[-1.0], [0.0]], "nothing", 0, 0),  # safe, and no better
        ([5.004, 1.0], [[-1.0], [0.0]], "failure", 0, 1),
    ],
)
def test_a_success_is_safe_and_better_and_a_failure_is_unsafe(
    y, g, standstill, successes, failures
):
    optimizer = told(new(standstill=standstill), [1.0, 5.0, 8.0], [[-1.0], [-1.0], [1.0]])
    assert untouched(optimizer.search.region)
    region = answered(optimizer, y, g).search.region
    assert (region.successes, region.failures) == (successes, failures)


def test_the_first_safe_batch_is_a_success():
    optimizer = told(new(), [1.0, 5.0], [[1.0], [2.0]])
    assert answered(optimizer, [-9.0], [[0.0]]).search.region.successes == 1


def test_of_several_constraints_all_must_hold():
    optimizer = told(new(), [1.0, 5.0], [[-1.0, -1.0], [-1.0, 0.2]])
    assert_array_equal(optimizer.recommend(), optimizer.x[[0]])
    assert answered(optimizer, [2.0], [[-1.0, 0.1]]).search.region.failures == 1
    assert answered(optimizer, [2.0], [[-1.0, -0.1]]).search.region.successes == 1


def test_a_spent_region_starts_again_with_all_data():
    optimizer = told(new(length=0.02), [1.0, 2.0], [[-1.0], [-1.0]])
    for _ in range(4):
        answered(optimizer, [3.0], [[1.0]])
    assert optimizer.search.region.restarts == 1
    report = optimizer.report()
    assert (report["length"], report["restarts"]) == (0.02, 1)
    assert report["feasible"] == 2 / len(optimizer.y)
    assert {"lengthscale_y", "lengthscale_g1", "noise_y", "noise_g1"} <= set(report)
    assert_array_equal(optimizer.recommend(), optimizer.x[[1]])  # the same centre
    assert len(optimizer.outputs.models[0].posterior.X) == 6


def test_without_constraints_every_candidate_is_allowed(monkeypatch):
    x = np.random.default_rng(0).random((5, 2))
    optimizer = new(batch_per_dim=3, draws="factor")
    optimizer.tell(x, Observation.of(bowl(x)))
    assert optimizer.may_be_safe(x).all()
    drawn, draw = [], optimizer.draw
    monkeypatch.setattr(
        optimizer,
        "draw",
        lambda p, X, rng, **n: drawn.append((X.numpy(), draw(p, X, rng, **n))) or drawn[-1][1],
    )
    query = optimizer.ask(6, x[:0])
    ((points, f),) = drawn
    assert f.shape == (6, 200)
    assert_array_equal(query[0], points[np.argmax(f[0])])
    assert torch.equal(optimizer.outputs.models[0].posterior.X, torch.from_numpy(x))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("standstill", "nothing or failure"),
        ("sigma", "latent or observed"),
        ("draws", "paths or factor"),
    ],
)
def test_names_without_a_meaning_are_refused(name, message):
    with pytest.raises(ValueError, match=f"{name}: expected {message}, got 'none'"):
        new(**{name: "none"})
