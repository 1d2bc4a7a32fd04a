"""SCBO's bookkeeping, its draws under constraints, and TuRBO as its limit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import algorithms
from algorithms.api import Box, Observation
from algorithms.parts.numerics.feasibility import distinct_best
from algorithms.scbo import bilog, copula
from tests import settings
from tests.algorithms.grouped import builder, changed
from tests.algorithms.history import answered, bowl, told, untouched

TABLE = changed(settings.SCBO, candidates=200, features=200)
CANDIDATES = {"per_dim": 0, "fewest": 200, "most": 5000, "dims_per_success": 10}
TURBO = changed(settings.TURBO, **CANDIDATES, batch=2, patience=0, fit_steps=5)

new = builder("scbo.SCBO", TABLE)


@pytest.mark.parametrize(
    ("d", "batch", "successes", "failures"),
    [(2, 1, 3, 2), (25, 13, 3, 2), (50, 25, 5, 2), (102, 51, 11, 2)],
)
def test_batch_and_tolerances_are_table_1(d, batch, successes, failures):
    optimizer = new(d)
    assert optimizer.batch == batch == -(-d // 2)
    first = optimizer.search.region
    assert (first.success_tolerance, first.failure_tolerance) == (successes, failures)
    assert optimizer.probability == min(1, 20 / d)


def test_without_constraints_a_step_is_turbos():
    """At the same candidates the same draws: same queries, successes and region, no restart."""
    ours = new(4, sides="lengthscales", draws="factor", every=1)
    theirs = algorithms.build("turbo.TuRBO", Box(4), np.random.default_rng(0), TURBO)
    query, lengths = np.random.default_rng(0).random((6, 4)), []
    for step in range(14):
        for optimizer in (ours, theirs):
            optimizer.tell(query, Observation.of(bowl(query)))
        (theirs.fitted,) = ours.outputs.models
        assert ours.search.region == theirs.search.region
        asked = []
        for optimizer in (ours, theirs):
            optimizer.rng = np.random.default_rng(step)
            asked.append(optimizer.ask(2, optimizer.x[:0]))
        assert_array_equal(*asked)
        query = asked[0]
        lengths.append(ours.search.region.length)
    assert len(set(lengths)) > 2


SEEN = [1.0, 5.0, 8.0], [[-1.0], [-1.0], [1.0]]
INFEASIBLE = [1.0, 5.0], [[0.5, -9.0], [0.3, 0.3]]


@pytest.mark.parametrize(
    ("design", "y", "g", "success"),
    [
        (SEEN, [6.0], [[-1.0]], True),
        (SEEN, [5.004], [[-1.0]], False),  # less than 0.1 % of the best
        (SEEN, [5.006], [[0.0]], True),
        (SEEN, [9.0], [[0.1]], False),  # better, but not feasible
        (SEEN, [9.0, 1.0], [[0.1], [-1.0]], False),
        (SEEN, [9.0, 6.0], [[0.1], [-1.0]], True),  # one batch, one count
        (INFEASIBLE, [-7.0], [[0.4, 0.05]], True),
        (INFEASIBLE, [-7.0], [[0.5, -3.0]], False),
        (INFEASIBLE, [-7.0], [[-1.0, 0.0]], True),
        (INFEASIBLE, [-7.0] * 2, [[0.3, 0.3], [0.2, 0.2]], True),
    ],
)
def test_a_success_is_a_better_feasible_point_or_less_violation_while_there_is_none(
    design, y, g, success
):
    optimizer = told(new(), *design)
    assert untouched(optimizer.search.region)
    region = answered(optimizer, y, g).search.region
    assert (region.successes, region.failures) == (success, not success)


def test_the_centre_is_the_best_feasible_point_or_the_one_of_least_violation():
    x = np.random.default_rng(0).random((3, 40))
    for g, row in (([[1.0], [-1.0], [0.0]], 2), ([[1.0], [0.1], [0.2]], 1)):
        optimizer = told(new(40, length=0.02, perturbed_dims=4), [5.0, 1.0, 2.0], g, x)
        query = optimizer.ask(20, x[:0])
        assert query.shape == (20, 40)
        assert (np.abs(query - x[row]) <= 0.01 + 1e-12).all()
        moved = (query != x[row]).sum(1)
        assert moved.min() >= 1 and 1.5 <= moved.mean() <= 7
        assert_array_equal(optimizer.recommend(), x[[row]])


@pytest.mark.parametrize(
    ("g", "g_as", "row"),
    [
        ([[9.0, 0.0], [3.0, 3.0]], "observed", 1),  # 9 > 6
        ([[9.0, 0.0], [3.0, 3.0]], "bilog", 0),  # ln 10 < ln 4 + ln 4
        ([[4.0, 0.0], [1.0, 1.2]], "bilog", 1),  # ln 5 > ln 2 + ln 2.2
    ],
)
def test_violation_is_summed_in_the_units_in_which_g_is_modelled(g, g_as, row):
    optimizer = told(new(g_as=g_as), [1.0, 1.0], g)
    assert_array_equal(optimizer.recommend(), optimizer.x[[row]])


@pytest.mark.parametrize("slack", [0.0, 3.0])
def test_a_batch_holds_the_best_candidates_of_the_draws(slack, monkeypatch):
    """The draws are seen as they are made: y first, then both g, in the units of the problem."""
    x = np.random.default_rng(0).random((12, 3))
    g = np.column_stack([x[:, 0] - 0.4, 10 * x[:, 1] - 5.0]) + slack
    optimizer, seen = told(new(3, batch_per_dim=2), 100 + bowl(x), g, x), []
    draw = optimizer.draw

    def watched(posterior, X, rng, **parameters):
        seen.append((X.numpy(), draw(posterior, X, rng, **parameters)))
        return seen[-1][1]

    monkeypatch.setattr(optimizer, "draw", watched)
    query = optimizer.ask(6, x[:0])
    # (6, 200) each
    values = [
        fitted.units.centre + fitted.units.spread * f
        for fitted, (_, f) in zip(optimizer.outputs.models, seen, strict=True)
    ]
    v, picked = np.maximum(values[1], 0) + np.maximum(values[2], 0), []
    for k in range(6):
        left = [i for i in range(200) if i not in picked]
        feasible = [i for i in left if v[k, i] == 0]
        assert bool(feasible) == (slack == 0.0)
        best = np.where(v[k, left] == 0, values[0][k, left], -np.inf if feasible else -v[k, left])
        picked.append(left[np.argmax(best)])
    assert_array_equal(query, seen[0][0][picked])
    assert len(np.unique(query, axis=0)) == 6
    assert_array_equal(distinct_best(np.zeros((5, 2))), [0, 1])  # no more than there are


def spent(**changes):
    """After a design of two and four batches that fail: the second shrink is below 2^-7."""
    optimizer = told(new(length=0.02, **changes), [1.0, 2.0], [[-1.0], [-1.0]])
    for _ in range(4):
        answered(optimizer, [0.0], [[-1.0]])
    assert optimizer.search.region.restarts == 1
    assert len(optimizer.y) == 6 and optimizer.search.region.length == 0.02
    return optimizer


def test_a_spent_region_may_start_again_around_the_same_centre_with_all_data():
    optimizer = spent(after="centre")
    report = optimizer.report()
    assert (report["length"], report["restarts"], report["feasible"]) == (0.02, 1, 1.0)
    assert len(optimizer.outputs.models[0].posterior.X) == 6
    assert (np.abs(optimizer.ask(1, optimizer.x[:0]) - optimizer.x[1]) <= 0.01).all()


@pytest.mark.parametrize("per_dim", [1, 2.5])
def test_after_a_spent_region_another_one_begins_afresh(per_dim):
    optimizer, seen = spent(design_per_dim=per_dim), []
    size = int(2 * per_dim)
    while len(optimizer.search.design):
        asked = optimizer.ask(9, optimizer.x[:0])
        assert_array_equal(asked, optimizer.ask(9, optimizer.x[:0]))
        assert len(asked) == 1  # a batch is ceil(d/2)
        seen.append(asked[0])
        # worse than what was found before, and no failure
        told(optimizer, [-float(len(seen))], [[-1.0]], asked)
        assert untouched(optimizer.search.region)
    assert len(seen) == size == len(np.unique(seen, axis=0))
    assert np.ptp(seen, axis=0).min() > 0.1  # all over the cube
    # the best of the new design is the centre, and the models know nothing else
    assert_array_equal(optimizer.outputs.models[0].posterior.X, seen)
    assert (np.abs(optimizer.ask(1, optimizer.x[:0]) - seen[0]) <= 0.01).all()
    # better than the new centre, worse than the old one: a success
    answered(optimizer, [0.5], [[-1.0]])
    assert optimizer.search.region.successes == 1
    assert_array_equal(optimizer.recommend(), optimizer.x[[1]])  # the best of all


def test_the_centre_may_be_the_best_point_by_the_means():
    """One lucky g = 10 x_0 - 5 calls an infeasible point feasible; its neighbours know better."""
    x = np.random.default_rng(0).random((30, 2))
    x[0] = [0.6, 0.5]
    g = (10 * x[:, 0] - 5)[:, None]
    g[0] = -0.1
    y = 10 * x[:, 0]
    kernels = [{"lengthscale": 0.5, "outputscale": 9.0, "mean": 0.0}] * 2
    settings = {"kernels": kernels, "standard": "raw", "noise": 0.5, "length": 0.02}
    inside = np.flatnonzero(x[:, 0] < 0.5)
    expected = {"observations": x[0], "means": x[inside[np.argmax(x[inside, 0])]]}
    for by, centre in expected.items():
        query = told(new(by=by, **settings), y, g, x).ask(1, x[:0])
        assert (np.abs(query - centre) <= 0.01 + 1e-12).all()


def test_the_warps():
    assert_allclose(
        bilog(np.array([-np.e + 1, 0.0, np.e - 1, 99.0])), [-1.0, 0.0, 1.0, np.log(100)]
    )
    assert_allclose(copula(np.array([3.0, -1e9, 10.0])), norm.ppf([0.5, 1 / 6, 5 / 6]))
    assert_allclose(copula(np.array([2.0, 2.0])), 0.0)
    x = np.random.default_rng(0).random((5, 2))
    logs = [-np.log(3), -np.log(2), 0, np.log(2), np.log(3)]
    for y_as, g_as, expected in (
        ("observed", "observed", [[1, 2, 3, 4, 5], [-2, -1, 0, 1, 2]]),
        ("copula", "bilog", [norm.ppf([0.1, 0.3, 0.5, 0.7, 0.9]), logs]),
    ):
        optimizer = new(y_as=y_as, g_as=g_as, standard="raw")
        told(optimizer, [1, 2, 3, 4, 5], np.arange(5) - 2.0, x)
        seen = [fitted.posterior.y for fitted in optimizer.outputs.models]
        assert_allclose(seen, expected, atol=1e-12)
        assert_array_equal(optimizer.y, [1, 2, 3, 4, 5])


def test_known_kernels_shape_the_region_and_are_used():
    kernels = [
        {"lengthscale": [0.2, 0.8], "outputscale": 1.0, "mean": 0.0},
        {"lengthscale": 0.5, "outputscale": 1.0, "mean": 0.5},
    ]
    x = np.full((1, 2), 0.5)
    for sides, spans in (("equal", [0.1, 0.1]), ("lengthscales", [0.05, 0.2])):
        optimizer = new(kernels=kernels, standard="raw", sides=sides, length=0.1, batch_per_dim=20)
        told(optimizer, [0.0], [[0.3]], x)
        assert_allclose(np.ptp(optimizer.ask(40, x[:0]), axis=0), spans, rtol=0.2)
        assert optimizer.outputs.models[0].posterior.model.free == ()


def test_a_restart_fits_from_the_first_values():
    optimizer = spent()
    assert optimizer.outputs.models == () and optimizer.outputs.told == 0
    while len(optimizer.search.design):
        query = optimizer.ask(9, optimizer.x[:0])
        told(optimizer, [bowl(query)[0]], [[-1.0]], query)
    other = new()
    other.outputs = other.outputs.learn(
        optimizer.x[6:], np.column_stack([optimizer.y, optimizer.g])[6:], np.random.default_rng(0)
    )
    for ours, theirs in zip(optimizer.outputs.models, other.outputs.models, strict=True):
        assert_array_equal(
            ours.posterior.model.kernel.base_kernel.lengthscale,
            theirs.posterior.model.kernel.base_kernel.lengthscale,
        )
