"""DuMBO against Algorithm 1, grids, closed forms, dense algebra; claims that do not hold."""

from collections import Counter
from math import log, pi, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern

from algorithms import dumbo
from algorithms.api import Observation
from algorithms.dumbo import ADMM, Ascent, Local, Search, agree
from algorithms.parts.factors import additive_process, interactions
from algorithms.parts.factors.additive_process import (
    Distances,
    Factors,
    equal_kernel,
    solve,
)
from algorithms.parts.factors.decomposition import singletons
from algorithms.parts.factors.factor_graph import FactorGraph
from algorithms.parts.search.multistart import boltzmann
from tests.algorithms.grouped import builder, changed, played
from tests.settings import DUMBO

FITS = {"models": 5, "gram": "noisy", "fit_steps": 5, "new_steps": 5}
FIRST = {"outputscale": 0.693, "lengthscale": 0.693, "noise": 0.693}
CLIMBS = {"raw": 64, "starts": 4, "climb_steps": 30, "climb_rate": 0.03}
PAPER = changed(DUMBO, **FITS, **FIRST, **CLIMBS, rounds=10, tolerance=0.02)
CLIMB, ROUNDS = PAPER["climb"], PAPER["admm"]
TRIANGLE = ((0, 1), (1, 2), (0, 2))  # three factors that overlap in pairs: a complete graph
OBSERVED = {"decomposition": ((0, 2), (1,), (1, 2)), "outputs": "factors"}

new = builder("dumbo.DuMBO", PAPER, d=3)


def evaluate(x):
    """y sums three factors of very different size, shown beside it, one of them far from 0."""
    first, second = np.sin(6 * x[:, 0] * x[:, 2]), 1000 - 8 * (x[:, 1] - 0.6) ** 2
    outputs = np.column_stack([first, second, 0.1 * np.cos(5 * x[:, 1] + x[:, 2])])
    return Observation(outputs.sum(1), np.empty((len(x), 0)), outputs)


def told(optimizer, n=8, seed=7):
    x = np.random.default_rng(seed).random((n, optimizer.domain.d))
    optimizer.tell(x, evaluate(x))
    return optimizer


def play(optimizer, steps):
    return played(optimizer, steps, evaluate)


def search(**changes):
    """A search by these settings, but for changes of the climb, the rounds or the rest."""
    climb = {name: changes.pop(name, value) for name, value in CLIMB.items()}
    rounds = {name: changes.pop(name, value) for name, value in ROUNDS.items()}
    rest = {"complete": False, "floor": 1e-5, **changes}
    return Search(Ascent(**climb), ADMM(**rounds), **rest)


def covariance(kernel, i, A, B):
    return kernel.outputscale[i] * Matern(kernel.lengthscale[i], nu=2.5)(A, B)


def conditioned(factors, kernel, X, y):
    """moments(i, points (s, m)): eqs. (4), (5) of factor i given the sum, (s,) each, densely."""
    own = [X[:, list(V)] for V in factors]
    K = sum(covariance(kernel, i, A, A) for i, A in enumerate(own)) + kernel.noise * np.eye(len(X))

    def moments(i, points):
        k = covariance(kernel, i, points, own[i])  # (s, n)
        explained = (k * np.linalg.solve(K, k.T).T).sum(1)
        return k @ np.linalg.solve(K, y), kernel.outputscale[i] - explained

    return moments


def drawn(factors, seed, n=8, d=3):
    """Data of a draw from the additive prior: the model of it, X (n, d), y (n,) and its kernel."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    kernel = equal_kernel(len(factors), outputscale=0.7, lengthscale=0.3, noise=1e-2)
    own = [X[:, list(V)] for V in factors]
    K = sum(covariance(kernel, i, A, A) for i, A in enumerate(own)) + 1e-2 * np.eye(n)
    y = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return Factors.of([(factors, solve(Distances(X), factors, kernel, y))], X), X, y, kernel


def agreed(factors, decomposition, d, width=2.0, **changes):
    """What factors agree on from one seed."""
    graph, draw = FactorGraph.of(decomposition, d), np.random.default_rng(0)
    return agree(factors, graph, width, draw, search(**changes))


@pytest.fixture
def agreements(monkeypatch):
    """What `tell` lets agree: the arguments of every call."""
    calls = []

    def spy(*arguments):
        calls.append(arguments)
        return agree(*arguments)

    monkeypatch.setattr(dumbo, "agree", spy)
    return calls


@pytest.fixture
def solved(monkeypatch):
    """Every local problem (15) that is solved, with the candidates found for it."""
    problems, maximum = [], Local.maximum

    def recorded(self, last, rng, climb):
        found = maximum(self, last, rng, climb)
        problems.append((self, found))
        return found

    monkeypatch.setattr(Local, "maximum", recorded)
    return problems


# Algorithm 1, message by message


FACTORS = ((0, 2), (1,), (2, 3), (3, 1), (0,), (4,))


@pytest.mark.parametrize(
    ("complete", "penalty", "grows", "floor", "residual"),
    [
        (False, 0.1, 1, 1e-5, "edges"),
        (True, 0.1, 1, 0.52, "variables"),
        (False, 100.0, -1, 0.52, "edges"),
        (False, 100.0, -1, 0.52, "variables"),
    ],
)
def test_every_local_problem_is_that_of_algorithm_1_written_out(
    solved, complete, penalty, grows, floor, residual
):
    """(9) with c_i frozen, or the part of (8) with factor i; (15) to (17); eta by Boyd's rule."""
    factors, X, y, kernel = drawn(FACTORS, 0, d=5)
    n, width = len(FACTORS), 2.0
    rule = {"complete": complete, "penalty": penalty, "floor": floor, "dual_residual": residual}
    agreement = agreed(factors, FACTORS, 5, width, rounds=4, tolerance=0.0, steps=10, **rule)
    posterior = conditioned(FACTORS, kernel, X, y)

    def moments(i, points):
        mean, variance = posterior(i, points)
        return mean, np.maximum(variance, floor)

    N = [[k for k in range(n) if set(FACTORS[i]) & set(FACTORS[k])] for i in range(n)]
    dual, centre, eta = [np.zeros(len(V)) for V in FACTORS], np.zeros(5), 0.0
    terms, x = np.zeros(n), [np.empty(0)] * n
    # in each round a bucket of factors of 1 and one of those of 2 variables
    assert len(solved) == 4 * 2
    for k in range(4):
        for local, found in solved[2 * k : 2 * k + 2]:
            for row, i in enumerate(local.bucket.index):
                x[i] = found[row]
                u = np.random.default_rng(k).random((3, len(FACTORS[i])))
                mean, variance = moments(i, u)
                roots = N[i] if complete else [i]
                explored = sum(
                    np.sqrt(variance / len(N[i]) ** 2 + sum(terms[m] for m in N[r] if m != i))
                    for r in roots
                )
                gap = u - centre[list(FACTORS[i])]
                expected = mean + width * explored - gap @ dual[i] - eta / 2 * (gap**2).sum(1)
                value = local(np.broadcast_to(u, (len(found), 3, u.shape[1])))[row]
                assert_allclose(value, expected, rtol=1e-8, atol=1e-10)
        terms = np.array([moments(i, x[i][None])[1][0] / len(N[i]) ** 2 for i in range(n)])
        before = centre
        held = [[(i, V.index(j)) for i, V in enumerate(FACTORS) if j in V] for j in range(5)]
        centre = np.array([np.mean([x[i][at] for i, at in own]) for own in held])
        eta = penalty if k == 0 else eta
        gaps = [x[i] - centre[list(V)] for i, V in enumerate(FACTORS)]
        dual = [old + eta * gap for old, gap in zip(dual, gaps, strict=True)]
        if k:
            r = np.linalg.norm(np.concatenate(gaps))
            copies = [(centre - before)[list(V)] for V in FACTORS]
            if residual == "variables":
                copies = [centre - before]
            s = eta * np.linalg.norm(np.concatenate(copies))
            eta *= 2 if r > 10 * s else 0.5 if s > 10 * r else 1
        for own in held:  # what makes (16) the maximiser of (13)
            assert sum(dual[i][at] for i, at in own) == pytest.approx(0, abs=1e-12)
    assert_allclose(agreement.x, centre, atol=1e-12)
    assert agreement.residual == pytest.approx(max(np.abs(gap).max() for gap in gaps))
    assert (agreement.rounds, agreement.penalty) == (4, eta)
    assert np.sign(eta - penalty) == grows


@pytest.mark.parametrize("complete", [False, True])
def test_the_slopes_of_a_local_problem_agree_with_differences(solved, complete):
    factors, X, *_ = drawn(FACTORS, 1, d=5)
    agreed(factors, FACTORS, 5, rounds=3, tolerance=0.0, steps=5, complete=complete)
    for local, _ in solved:
        G, m = local.bucket.variables.shape
        u = np.random.default_rng(2).random((G, 5, m))
        u[:, 0] = X[3, local.bucket.variables]  # on a datum
        values, slopes = local.slopes(u)
        assert_allclose(values, local(u), rtol=1e-9)
        for j in range(m):
            h = np.zeros(m)
            h[j] = 1e-6
            expected = (local(u + h) - local(u - h)) / 2e-6
            assert_allclose(slopes[:, :, j], expected, rtol=1e-5, atol=1e-6)


def test_below_the_floor_there_is_no_slope_of_the_variance():
    factors, *_ = drawn(((0,),), 0, n=40, d=1)
    (bucket,) = factors.buckets()
    none = np.zeros((1, 1))
    local = Local(bucket, np.ones(1), 3.0, np.zeros(1), none, none, 0.0, floor=0.5)
    u = np.linspace(0, 1, 9)[None, :, None]
    mean, variance, over_mean, _ = bucket.slopes(u)
    assert (variance < 0.5).all()
    assert_allclose(local(u), mean + 3 * sqrt(0.5))
    assert_allclose(local.slopes(u)[1], over_mean)


def test_climbs_begin_at_fresh_points_first_and_later_at_the_last_candidate_too(monkeypatch):
    """And none ends below where it began, however far the steps overshoot."""
    climbs, began = [], []

    class Recorded(Local):
        def maximum(self, last, rng, climb):
            found = super().maximum(last, rng, climb)
            climbs.append(began[-1].shape[1])
            if last.shape[1]:
                assert_array_equal(began[-1][:, 0], last[:, 0])
            assert (self(found[:, None])[:, 0] >= self(began[-1]).max(1) - 1e-9).all()
            return found

        def slopes(self, u):
            began.append(u)
            return super().slopes(u)

    monkeypatch.setattr(dumbo, "Local", Recorded)
    factors, *_ = drawn(TRIANGLE, 1)
    agreed(factors, TRIANGLE, 3, rounds=4, tolerance=0.0, steps=1, rate=0.9, starts=5, fresh=2)
    assert climbs == [5, 3, 3, 3]


def test_boltzmann_starts_are_drawn_by_the_weights_and_the_best_is_among_them():
    """Against the shares of single draws, and by draws one after another."""
    rng = np.random.default_rng(0)
    values = np.tile(np.array([0.0, 1.0, 2.0, 5.0, 4.0]), (20_000, 1))
    taken = boltzmann(values, 3, rng)
    assert all(len(set(row)) == 3 for row in taken.tolist()[:200])
    assert (taken == 3).any(axis=1).all()
    weights = np.exp((values[0] - values[0].mean()) / values[0].std(ddof=1))
    shares = np.bincount(taken[:, 0], minlength=5) / len(taken)
    assert_allclose(shares, weights / weights.sum(), atol=0.02)
    second = taken[taken[:, 0] == 3, 1]
    rest = np.delete(weights, 3)
    shares = np.delete(np.bincount(second, minlength=5), 3) / len(second)
    assert_allclose(shares, rest / rest.sum(), atol=0.02)
    flat = boltzmann(np.zeros((50, 8)), 2, rng)
    assert len(set(flat.ravel().tolist())) == 8
    assert_array_equal(boltzmann(values[:5], 1, rng), 3)  # of one, it is the best


def test_starts_are_picked_and_climbed_from_as_the_settings_say(monkeypatch):
    """L-BFGS ends where many small steps of Adam end; boltzmann starts are not all the best."""
    factors, *_ = drawn(TRIANGLE, 1)
    ends = []
    for changes in (
        {"steps": 400, "rate": 0.003},
        {"steps": 2000, "method": "l-bfgs"},
        {"steps": 2000, "method": "l-bfgs", "pick": "boltzmann"},
    ):
        ends.append(agreed(factors, TRIANGLE, 3, rounds=1, tolerance=0.0, starts=16, **changes).x)
    assert_allclose(ends[1], ends[0], atol=2e-3)
    assert_allclose(ends[2], ends[1], atol=2e-3)


# where ADMM has something simple to find


def test_one_factor_is_maximised_directly():
    both, axis = ((0, 1),), np.linspace(0, 1, 101)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for seed in range(6):
        factors, X, y, kernel = drawn(both, seed, n=12, d=2)
        agreement = agreed(factors, both, 2, starts=8, steps=100, rate=0.01)
        moments = conditioned(both, kernel, X, y)

        def bound(points, moments=moments):
            mean, variance = moments(0, points)
            return mean + 2.0 * np.sqrt(variance)

        assert bound(agreement.x[None])[0] > bound(grid).max() - 1e-4
        assert (agreement.rounds, agreement.residual, agreement.penalty) == (1, 0.0, 0.0)


def test_factors_without_common_variables_are_maximised_each_by_itself():
    """Coordinatewise maxima: DuMBO with factors of one variable is ADD-GPUCB."""
    n = {"floor": 1e-12, "climb_steps": 200, "climb_rate": 0.005, "starts": 8}
    alone = {name: PAPER[name] for name in ("gram", "width", "surrogate", "fit")}
    alone |= {"beta_dims": "domain", "grid": 401}
    for seed in range(4):
        one = told(new(4, decomposition=singletons(4), **n), 10, seed)
        other = told(builder("add_gpucb.ADDGPUCB", alone, d=4)(), 10, seed)
        assert_allclose(one.solved[0].kernel.lengthscale, other.solved.kernel.lengthscale)
        assert_allclose(one.ask(1, one.x[:0]), other.ask(1, one.x[:0]), atol=1e-3)
        assert (one.report()["residual"], one.report()["neighbours"]) == (0.0, 1.0)


# neighbours over several decompositions


def test_the_same_decomposition_five_times_explores_less_by_the_root_of_five():
    """Chains that cannot move return equal decompositions."""
    stacked = told(new(largest_factor=1, neighbours="stacked")).report()
    apart = told(new(largest_factor=1, neighbours="per-decomposition")).report()
    assert stacked["exploration"] == pytest.approx(stacked["sum_of_deviations"] / sqrt(5))
    assert apart["exploration"] == pytest.approx(apart["sum_of_deviations"])
    assert (stacked["neighbours"], apart["neighbours"]) == (5.0, 1.0)


def test_the_graph_is_of_all_decompositions_and_neighbours_are_as_the_reading_says(agreements):
    for rule in ("stacked", "per-decomposition"):
        optimizer = play(told(new(5, neighbours=rule, seed=1), 6), 2)
        factors, graph, width, *_ = agreements[-1]
        assert graph.factors == factors.factors
        assert_array_equal(graph.degrees, 5)  # each of five partitions holds every variable once
        for i, V in enumerate(graph.factors):
            expected = [
                k
                for k, U in enumerate(graph.factors)
                if set(U) & set(V) and (rule == "stacked" or factors.model[i] == factors.model[k])
            ]
            assert_array_equal(np.flatnonzero(graph.adjacency[i]), expected)
        assert width == pytest.approx(sqrt(0.2 * 5 * log(2 * 8)))
        assert optimizer.report()["factors"] == len(graph.factors) / 5
        assert optimizer.report()["largest_factor"] == max(map(len, graph.factors))
        assert optimizer.report()["messages"] == 2 * 5 * 5  # up and down each edge


def test_theorem_5_2_gives_the_width_where_it_is_asked_for(agreements):
    """By a `Width`, whose other rules are tested with GP-UCB."""
    told(new(rule="theorem", share=1.0), 8)
    assert agreements[-1][2] == pytest.approx(sqrt(2 * log(100**3 * pi**2 * 64 / (6 * 0.1))))


# posteriors


def test_each_factor_learns_from_its_own_outputs_in_the_units_of_y(agreements):
    """(23) and (24), where each column was standardised by itself and y by its own spread."""
    optimizer = play(told(new(**OBSERVED)), 2)
    factors, graph, *_ = agreements[-1]
    assert graph.factors == OBSERVED["decomposition"]
    assert_array_equal(graph.sizes, [2, 2, 3])
    X, Y, x = optimizer.x, optimizer.factor_values, np.random.default_rng(1).random(3)
    mean, variance = factors.moments(x)
    for i, V in enumerate(OBSERVED["decomposition"]):
        own, V = optimizer.solved[i].kernel, list(V)
        centre, spread = Y[:, i].mean(), Y[:, i].std(ddof=1)
        K = spread**2 * (covariance(own, 0, X[:, V], X[:, V]) + own.noise * np.eye(len(X)))
        k = spread**2 * covariance(own, 0, X[:, V], x[None, V])[:, 0]
        assert_allclose(
            mean[i] * optimizer.y.std(ddof=1), k @ np.linalg.solve(K, Y[:, i] - centre), rtol=1e-8
        )
        expected = spread**2 * own.outputscale[0] - k @ np.linalg.solve(K, k)
        assert_allclose(variance[i] * optimizer.y.var(ddof=1), expected, rtol=1e-6)
    report = optimizer.report()
    at_query = np.sqrt(np.maximum(factors.moments(optimizer.ask(1, X[:0])[0])[1], 1e-5))
    assert report["sum_of_deviations"] == pytest.approx(at_query.sum())
    assert report["deviation"] == pytest.approx(np.linalg.norm(at_query))
    # Thm. 3.5, exact here
    assert report["deviation"] <= report["exploration"] <= report["sum_of_deviations"]


def test_with_a_sum_a_factor_is_conditioned_on_all_of_it(agreements):
    optimizer = play(told(new(**{**OBSERVED, "outputs": "sum"})), 2)
    factors, *_ = agreements[-1]
    y = (optimizer.y - optimizer.y.mean()) / optimizer.y.std(ddof=1)
    x = np.random.default_rng(1).random(3)
    moments = conditioned(OBSERVED["decomposition"], optimizer.solved[0].kernel, optimizer.x, y)
    expected = [moments(i, x[None, list(V)]) for i, V in enumerate(OBSERVED["decomposition"])]
    assert_allclose(np.transpose(factors.moments(x)), np.array(expected)[:, :, 0], rtol=1e-7)
    kernel, X, at = optimizer.solved[0].kernel, optimizer.x, optimizer.ask(1, optimizer.x)
    parts = [(i, X[:, list(V)], at[:, list(V)]) for i, V in enumerate(OBSERVED["decomposition"])]
    K = sum(covariance(kernel, i, own, own) for i, own, _ in parts) + kernel.noise * np.eye(len(X))
    k = sum(covariance(kernel, i, own, point) for i, own, point in parts)[:, 0]
    # of the sum: what Thm. 3.5 calls sigma_t
    sigma = sqrt(kernel.outputscale.sum() - k @ np.linalg.solve(K, k))
    assert optimizer.report()["deviation"] == pytest.approx(sigma)


# asking and telling


def test_units_of_y_do_not_matter():
    """Nor where an output is constant."""
    for reading, constant in (
        ({}, False),
        (OBSERVED, False),
        ({**OBSERVED, "outputs": "sum"}, False),
        (OBSERVED, True),
    ):
        traces = []
        for scale in (1.0, 2.0**20, 2.0**-10):
            optimizer, x = new(seed=1, **reading), np.random.default_rng(7).random((8, 3))
            outputs = evaluate(x).factor_values
            outputs[:, :constant] = 0.0
            seen = Observation(scale * outputs.sum(1), np.empty((8, 0)), scale * outputs)
            optimizer.tell(x, seen)
            traces.append(optimizer.ask(1, x[:0]))
        assert_allclose(traces[1:], [traces[0]] * 2, atol=1e-6, err_msg=str(reading))


def test_the_chain_goes_on_where_it_stood(agreements):
    optimizer = told(new(4), 6)
    for _ in range(4):
        stood = optimizer.chain.decomposition
        play(optimizer, 1)
        factors = agreements[-1][0]
        blocks = [
            tuple(V for V, j in zip(factors.factors, factors.model, strict=True) if j == model)
            for model in range(5)
        ]
        assert blocks[0] == stood
        assert blocks[-1] == optimizer.chain.decomposition
    assert agreements[0][0].factors[0] == (0, 1, 2, 3)  # App. B: from the fully dependent one


def test_a_known_model_is_fitted_from_the_scales_that_it_had():
    optimizer = told(new(**{**OBSERVED, "outputs": "sum"}, fit_steps=0, new_steps=7))
    first = optimizer.solved[0].kernel
    assert (first.lengthscale != 0.693).all()
    play(optimizer, 1)
    assert_allclose(optimizer.solved[0].kernel.lengthscale, first.lengthscale)


def test_outputs_that_are_not_shown_are_asked_for():
    optimizer = new(**OBSERVED)
    said = "expected the outputs of 3 factors, got 0: choose outputs: sum, or a problem that"
    with pytest.raises(ValueError, match=said):
        optimizer.tell(np.full((2, 3), 0.5), Observation.of(np.array([1.0, 2.0])))


def test_what_a_step_costs(count):
    """A factor for each evidence, fit and predicting model; no decomposition is fitted twice."""
    optimizer, calls, fitted = told(new(gram="noise-free")), Counter(), []
    count(calls, additive_process, "cholesky_in_place")
    count(calls, additive_process, "log_evidence")
    count(calls, additive_process.cholesky, "safe_cholesky")
    count(calls, interactions, "fit", size=lambda _, factors, *rest: fitted.append(factors) or 1)
    query = optimizer.ask(1, optimizer.x[:0])
    optimizer.tell(query, evaluate(query))
    proposed = fitted[1:]  # after the present one
    assert len(proposed) == len(set(proposed)) and 1 <= len(fitted) <= 5
    steps = PAPER["fit"]["steps"]
    assert calls == {
        "fit": len(fitted),
        "log_evidence": steps * len(fitted),
        "cholesky_in_place": (steps + 1) * len(fitted),
        "safe_cholesky": 5,
    }


class Bowls:
    """Concave factors -a_i/2 |u - t_i|^2 of two variables each for means, in one bucket: what they
    agree on has a closed form.
    """

    def __init__(self, factors, curvatures, tops):
        self.factors, self.curvatures, self.tops = factors, curvatures, tops
        self.index, self.variables = np.arange(len(factors)), np.array(factors)

    def buckets(self):
        return [self]

    def agreed(self):
        """The maximiser (d,) of the sum: means of the tops, weighted by curvature."""
        at, weights = self.variables.ravel(), np.repeat(self.curvatures, 2)
        return np.bincount(at, weights * self.tops.ravel()) / np.bincount(at, weights)

    def __call__(self, u):
        mean = -self.curvatures[:, None] / 2 * ((u - self.tops[:, None]) ** 2).sum(2)
        return mean, np.ones(u.shape[:2])

    def slopes(self, u):
        mean, variance = self(u)
        over_mean = -self.curvatures[:, None, None] * (u - self.tops[:, None])
        return mean, variance, over_mean, np.zeros_like(u)


def test_concave_factors_agree_on_the_maximiser_of_their_sum():
    rng, residuals = np.random.default_rng(3), []
    factors, curvatures = ((0, 1), (1, 2), (2, 0), (1, 3)), np.array([1.0, 4.0, 2.0, 0.5])
    bowls = Bowls(factors, curvatures, 0.1 + 0.8 * rng.random((4, 2)))
    graph, optimum = FactorGraph.of(bowls.factors, 4), bowls.agreed()
    for rounds in (1, 4, 16, 40):
        rule = {"rounds": rounds, "tolerance": 1e-4, "steps": 200, "rate": 0.01}
        agreement = agreed(bowls, bowls.factors, 4, 1.0, **rule)
        residuals.append(agreement.residual)
    assert residuals[0] > 0.1
    assert residuals[0] > 3 * residuals[1] > 9 * residuals[2]
    assert residuals[-1] < 1e-4 and agreement.rounds < 40
    assert_allclose(agreement.x, optimum, atol=1e-3)
    mean = graph.consensus(bowls.tops.ravel())
    # nothing that a plain mean of what each wants would find
    assert np.abs(mean - optimum).max() > 0.1


def test_factors_of_the_one_known_decomposition_are_neighbours_in_either_reading(agreements):
    for outputs in ("sum", "factors"):
        told(new(**{**OBSERVED, "outputs": outputs, "neighbours": "per-decomposition"}))
        assert_array_equal(agreements[-1][1].sizes, [2, 2, 3])


@pytest.mark.parametrize("gram", ["noise-free", "inverse"])
def test_observed_outputs_without_noise_are_met_by_each_factor(agreements, gram):
    """In the units of y, whatever noise was fitted to each."""
    optimizer = play(told(new(**OBSERVED, gram=gram)), 2)
    factors, *_ = agreements[-1]
    assert min(solved.kernel.noise for solved in optimizer.solved) > 1e-3
    outputs = optimizer.factor_values
    expected = (outputs - outputs.mean(0)) / optimizer.y.std(ddof=1)
    moments = [factors.moments(x) for x in optimizer.x]
    assert_allclose([mean for mean, _ in moments], expected, atol=1e-5)
    assert max(variance.max() for _, variance in moments) < 1e-5


@pytest.mark.parametrize(
    ("primal", "dual", "factor"),
    [(10.0, 1.0, 1.0), (10.1, 1.0, 2.0), (1.0, 10.0, 1.0), (1.0, 10.1, 0.5), (0.0, 0.0, 1.0)],
)
def test_the_penalty_doubles_or_halves_where_one_residual_is_ten_times_the_other(
    primal, dual, factor
):
    assert dumbo._balance(np.array([0.6, 0.8]) * primal, np.array([dual])) == factor
