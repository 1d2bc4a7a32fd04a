"""HDsafeBO's optimistic safe set, the boxes in which it looks, and its bookkeeping."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from algorithms.api import Observation
from tests.algorithms.grouped import builder, changed
from tests.algorithms.history import answered, bowl, told, untouched
from tests.settings import HDSAFEBO

KERNELS = [
    {"lengthscale": 0.3, "outputscale": 1.0, "mean": 0.0},
    {"lengthscale": 0.3, "outputscale": 1.0, "mean": 0.5},
    {"lengthscale": [0.4, 0.9], "outputscale": 2.0, "mean": 0.5},
]
KNOWN = {"kernels": KERNELS, "standard": "raw"}
TABLE = changed(HDSAFEBO, candidates=200, features=200)

new = builder("hdsafebo.HDsafeBO", TABLE)


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
    """The sides of the boxes in which `ask` looked; `safe` says which candidates may be safe."""
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
    optimizer = new(3, batch_per_dim=4, length=0.4, shortest=0.04)
    told(optimizer, [0.0], [[-1.0]], np.full((1, 3), 0.5))

    def nowhere(points):
        return np.zeros(len(points), dtype=bool)

    query, sides = boxes(optimizer, 12, monkeypatch, nowhere)
    assert_allclose(sides, [0.4, 0.2, 0.1, 0.05], rtol=0.05)  # the next would be 0.025
    assert query.shape == (12, 3)
    assert (np.abs(query - 0.5) <= 0.025).all()


SEEN = [1.0, 5.0, 8.0], [[-1.0], [-1.0], [1.0]]
UNSAFE = [1.0, 5.0], [[1.0], [2.0]]
TWICE = [1.0, 5.0], [[-1.0, -1.0], [-1.0, 0.2]]  # all constraints must hold


@pytest.mark.parametrize(
    ("design", "y", "g", "standstill", "successes", "failures"),
    [
        (SEEN, [6.0, 1.0], [[-1.0], [-1.0]], "nothing", 1, 0),
        (SEEN, [6.0, 1.0], [[-1.0], [0.1]], "nothing", 0, 1),  # one is unsafe
        (SEEN, [6.0, 1.0], [[0.1], [0.1]], "failure", 0, 1),
        (SEEN, [5.004, 1.0], [[-1.0], [0.0]], "nothing", 0, 0),  # safe, and no better
        (SEEN, [5.004, 1.0], [[-1.0], [0.0]], "failure", 0, 1),
        (UNSAFE, [-9.0], [[0.0]], "nothing", 1, 0),  # the first safe batch
        (TWICE, [2.0], [[-1.0, 0.1]], "nothing", 0, 1),
        (TWICE, [2.0], [[-1.0, -0.1]], "nothing", 1, 0),
    ],
)
def test_a_success_is_safe_and_better_and_a_failure_is_unsafe(
    design, y, g, standstill, successes, failures
):
    optimizer = told(new(standstill=standstill), *design)
    assert untouched(optimizer.search.region)
    assert_array_equal(optimizer.recommend(), optimizer.x[[0 if design is not SEEN else 1]])
    region = answered(optimizer, y, g).search.region
    assert (region.successes, region.failures) == (successes, failures)


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
