"""DuMBO's studies: bounds in closed form, maxima against grids, posteriors against dense ones."""

from math import log, nan, pi, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.gaussian_process.kernels import Matern

import algorithms
from algorithms.api import Arms, Box, Observation
from algorithms.parts.factors.additive_process import (
    Distances,
    Factors,
    Kernel,
    equal_kernel,
    solve,
)
from algorithms.parts.factors.decomposition import singletons, whole
from algorithms.parts.factors.factor_graph import FactorGraph
from problems.api import Evaluation, Problem
from tests.algorithms.grouped import changed
from tests.algorithms.parts.test_additive_process import gram
from tests.settings import ADD_GPUCB, DECHBO, DUMBO
from workflow.run import loop
from workflow.studies import (
    acquisition_seconds,
    admm_maximum,
    ask_growth,
    decomposition_recovery,
    factor_outputs,
    noise_levels,
    regret_bound,
    variance_bounds,
)
from workflow.studies.paired import noise
from workflow.trace.seeds import rng

FITTED = {"gram": "noisy", "points_per_axis": 10}
FITS = {"fit_steps": 10, "new_steps": 30, "models": 3, "fit_start": "inherited"}
CLIMBS = {"raw": 64, "starts": 4, "climb_steps": 20, "rounds": 4}
METHOD = {"is": "dumbo.DuMBO", **changed(DUMBO, **FITTED, **FITS, **CLIMBS)}
SCALES = {"lengthscale": [0.1, 1.0], "outputscale": [0.3, 3.0], "noise": [1e-3, 0.1]}


def tidy(found):
    """The columns, all of one length."""
    assert len({len(column) for column in found.values()}) == 1
    return found


def finite(found):
    """The columns, all of one length and full of numbers."""
    assert all(np.isfinite(column).all() for column in tidy(found).values())
    return found


# variance bounds


def bounds(seed=0, graphs=300, posteriors=60, family=(2, 5, 10, 50)):
    sizes = {"factors": [1, 12], "dims": [1, 10], "observations": [1, 20], "family": family}
    return variance_bounds.run(seed, None, graphs=graphs, posteriors=posteriors, **sizes, **SCALES)


def test_with_a_sum_of_variances_the_theorem_holds_and_is_sharp():
    found = finite(bounds())
    for kind in (variance_bounds.INDEPENDENT, variance_bounds.OBSERVED):
        of_kind = found["kind"] == kind
        assert (found["lower"][of_kind] <= 1 + 1e-12).all()
        assert_allclose(found["together"][of_kind], 1)
        assert_allclose(found["lower"][of_kind & (found["graph"] == variance_bounds.COMPLETE)], 1)
        assert found["lower"][of_kind].min() < 0.8
    assert (found["upper"] <= 1 + 1e-12).all()
    partitions = found["graph"] == variance_bounds.PARTITION
    assert_array_equal(found["neighbours"][partitions], 1)
    assert_allclose(found["upper"][partitions], 1)
    complete = found["graph"] == variance_bounds.COMPLETE
    assert_array_equal(found["neighbours"][complete], found["size"][complete])


def test_two_factors_by_hand():
    """sigma = 3, 4 and a common variable: (6) = 2 sqrt(9/4 + 16/4) = 5 = sqrt(9 + 16)."""
    graph = FactorGraph.of([(0,), (0, 1)], 2)
    row = variance_bounds.row(0, 0, 0, graph, np.array([9.0, 16.0]), 25.0)
    expected = {"kind": 0, "graph": 0, "size": 2, "observations": 0, "neighbours": 2}
    assert row == pytest.approx({**expected, "lower": 1, "upper": 5 / 7, "together": 1, "proof": 1})


def test_the_derivatives_that_the_proof_compares():
    """Q_k by differences; on a star of 30 factors with a still centre that is far above 1."""
    graph = FactorGraph.of([(0, 1), (1, 2), (3,), (2, 3), (0,)], 4)
    variance, step = np.array([0.5, 2.0, 1.0, 0.1, 3.0]), 1e-6
    moved = variance + step * np.array([[1.0], [-1.0]])[:, :, None] * np.eye(5)  # (2, 5, 5)
    left, right = np.sqrt(moved.sum(-1)), graph.exploration(moved)
    ratios = (left[0] - left[1]) / (right[0] - right[1])
    assert_allclose(variance_bounds.derivative_ratios(graph, variance), ratios, rtol=1e-6)
    star = FactorGraph.of((*whole(29), *singletons(29)), 29)
    still = np.array([1e-12, *[1.0] * 29])
    assert variance_bounds.derivative_ratios(star, still)[0] == pytest.approx(2.86, abs=0.005)
    centre = np.array([1.0, *[0.0] * 29])
    assert (variance_bounds.derivative_ratios(star, centre) >= 0).all()  # and no number is lost


def test_the_counter_example_in_closed_form():
    """K = 2 I + (m - 1) 1 1': K^-1 = I/2 - c 1 1' with c = (m - 1) / (4 + 2 m (m - 1))."""
    for m, ratio in ((2, 1.0541), (3, 1.1229), (5, 1.2082), (10, 1.2955), (50, 1.3870)):
        graph, kernel, X, x = variance_bounds.counter_example(m)
        covariance = variance_bounds.from_sums(graph.factors, kernel, X, x)
        c = (m - 1) / (4 + 2 * m * (m - 1))
        expected = np.eye(m + 1)
        expected[:m, :m] -= np.eye(m) / 2 - c
        assert_allclose(covariance, expected, atol=1e-12)
        assert graph.adjacency.all()
        sigma, bound = np.sqrt(covariance.sum()), graph.exploration(covariance.diagonal())
        direct = sigma / bound
        if m == 2:
            assert (sigma, bound) == pytest.approx((1.5811388, 1.5))
        study = bounds(graphs=0, posteriors=0, family=[m])["lower"][0]
        assert (direct, study) == pytest.approx((ratio, ratio), abs=6e-5)


def test_given_sums_factors_are_correlated_and_sigma_is_another():
    found = bounds(graphs=0, posteriors=50)
    correlated = found["kind"] == variance_bounds.CORRELATED
    assert np.median(found["together"][correlated]) < 0.9
    complete = correlated & (found["graph"] == variance_bounds.COMPLETE) & (found["size"] > 1)
    assert (found["lower"][complete] < 1 - 1e-6).mean() > 0.9  # (6) is not sigma_t there
    assert_equal(found, bounds(graphs=0, posteriors=50))
    assert not np.array_equal(found["lower"], bounds(1, graphs=0, posteriors=50)["lower"])


# observed outputs


def outputs(seed=0, instances=40, dims=(1, 8)):
    sizes = {"factors": [1, 8], "dims": dims, "observations": [1, 25]}
    return factor_outputs.run(seed, None, instances=instances, **sizes, **SCALES)


def test_observed_outputs_never_raise_a_variance():
    found = tidy(outputs())
    assert (found["largest"] <= 1 + 1e-9).all()
    assert (found["whole"] <= 1 + 1e-9).all()
    assert (found["smallest"] <= found["median"]).all()
    assert (found["median"] <= found["largest"]).all()
    alone = found["size"] == 1
    assert alone.any()
    assert_allclose(found["largest"][alone], 1)
    assert found["median"][~alone].min() < 0.1
    assert_equal(found, outputs())


# the maximum of (8)


def process(factors, d, seed=0, n=12):
    draw = np.random.default_rng(seed)
    kernel = Kernel(draw.uniform(0.5, 2, len(factors)), draw.uniform(0.2, 0.6, len(factors)), 0.02)
    drawn = admm_maximum.drawn(draw, factors, d, n, kernel)
    return admm_maximum.Process.of(FactorGraph.of(factors, d), drawn)


def maxima(graphs, settings, instances=3, grid=9, **changes):
    given = {"instances": instances, "observations": 12, "grid": grid, **SCALES}
    given |= {"settings": settings, "optimizer": {**METHOD, **changes}}
    return admm_maximum.run(0, None, graphs=graphs, **given)


def test_a_process_knows_its_moments_at_points_and_on_grids():
    factors = ((0, 2), (1,), (1, 2))
    found, axis = process(factors, 3), np.linspace(0, 1, 4)
    X = admm_maximum.combinations(axis, 3)
    mean, variance = found.moments(X)
    on_grid = found.moments_on(axis)
    assert_allclose(on_grid[0].ravel(), mean)
    assert_allclose(on_grid[1].reshape(-1, 3), variance)
    for i in (0, 17, 63):
        m, v = found.factors.moments(X[i])
        assert_allclose(mean[i], m.sum())
        assert_allclose(variance[i], v)


def test_a_function_is_drawn_from_its_own_process():
    """Over many draws y has the covariance of the model: its quadratic form has mean n."""
    factors = ((0, 1), (1, 2))
    kernel = equal_kernel(2, outputscale=1.0, lengthscale=0.4, noise=0.05)
    forms = []
    for i in range(200):
        model = admm_maximum.drawn(rng(i, "x"), factors, 3, 6, kernel).solved[0]
        K = np.linalg.inv(model.precision)
        forms.append(model.alpha @ K @ model.alpha)
    assert np.mean(forms) == pytest.approx(6, abs=4 * sqrt(12 / 200))


def test_frozen_terms_lead_to_another_function_where_all_are_neighbours():
    """The sum of the factors' own gradients, c_i held fixed, is that of `frozen`."""
    found, width, step = process(((0, 1), (1, 2), (0, 2)), 3), 1.7, 1e-5
    x = np.array([0.3, 0.6, 0.4])
    terms = found.graph.terms(found.moments(x[None])[1][0])
    others = found.graph.neighbour_sums(terms)

    def own(point):
        mean, variance = found.moments(point[None])
        return float(mean[0] + width * np.sqrt(found.graph.terms(variance[0]) + others).sum())

    frozen, paper = (
        lambda point, kind=kind: float(kind(found.graph, width, *found.moments(point[None]))[0])
        for kind in (admm_maximum.frozen, admm_maximum.paper)
    )

    def slope(f):
        return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)])

    assert_allclose(slope(own), slope(frozen), rtol=1e-6)
    assert np.abs(slope(own) / slope(paper) - 1).max() > 0.01
    mean, variance = found.moments(x[None])
    # beta^(1/2)/n sqrt(sum)
    assert frozen(x) == pytest.approx(mean[0] + width / 3 * np.sqrt(variance.sum()))
    assert paper(x) == pytest.approx(mean[0] + width * np.sqrt(variance.sum()))


def test_the_greatest_value_is_no_less_than_that_of_a_much_finer_grid():
    for kind in [admm_maximum.paper, admm_maximum.frozen]:
        found = process(((0, 1), (1, 2)), 3, seed=3)
        target = admm_maximum.Target.of(kind, found, 1.5, np.linspace(0, 1, 11))
        fine = kind(found.graph, 1.5, *found.moments_on(np.linspace(0, 1, 91)))
        assert target.greatest >= fine.max()
        assert target.greatest == pytest.approx(fine.max(), abs=2e-3)
        best = np.stack(np.unravel_index(fine.argmax(), fine.shape)) / 90
        assert 0 <= target.gap(best) < 1e-3
        assert target.gap(np.array([0.1, 0.9, 0.2])) > 0.05


def test_searches_end_at_maxima_inside_and_on_the_border():
    inside, corner = np.array([0.31, 0.77]), np.array([1.3, -0.4])
    for top, end in ((inside, inside), (corner, np.array([1.0, 0.0]))):
        start = np.array([0.4, 0.6])
        found = admm_maximum.climbed(lambda X, top=top: -((X - top) ** 2).sum(1), start, 0.25)
        assert found == pytest.approx(-((end - top) ** 2).sum(), abs=1e-8)


def test_what_no_variable_is_shared_by_is_maximised_and_the_rest_not_always():
    settings = [("frozen", 0.05, 4), ("complete", 0.05, 4)]
    found = finite(maxima(list(admm_maximum.GRAPHS), settings, grid=15))
    apart = found["graph"] >= 2
    assert (found["gap"][apart] < 1e-2).all()
    assert (found["met"][apart] == 1).all() and (found["rounds"][apart] == 1).all()
    # with |N_i| = 1 they are one function
    assert_allclose(found["gap"][apart], found["frozen_gap"][apart], atol=1e-9)
    assert (found["gap"] >= 0).all()
    assert_array_equal(found["near"], found["gap"] <= 0.01)
    assert found["gap"][~apart].max() > 0.02
    for graph in range(4):
        for setting in range(2):
            own = (found["graph"] == graph) & (found["setting"] == setting)
            order = np.argsort(found["gap"][own], kind="stable")
            assert_allclose(found["rank"][own][order], np.arange(1, 4) / 3)


def test_settings_are_what_is_run():
    settings = [("frozen", 0.3, 2), ("complete", 1e-9, 3)]
    found, again = (maxima(["triangle"], settings, instances=2) for _ in range(2))
    assert_array_equal(found["complete"], [0, 0, 1, 1])
    assert_array_equal(found["tolerance"], [0.3, 0.3, 1e-9, 1e-9])
    assert (found["rounds"][2:] == 3).all() and (found["met"][2:] == 0).all()
    assert (found["rounds"][:2] <= 2).all()
    assert_equal(found, again)
    with pytest.raises(ValueError, match="exploration: expected frozen or complete, got 'x'"):
        maxima(["triangle"], [("x", 0.1, 1)])


# the regret bound


def regrets(seed=0, outputs="sum", points=4, T=12, draws=3, delta=0.1, factors=((0, 1), (1, 2))):
    kernel = {"lengthscale": 0.3, "outputscale": 1.0, "noise": 0.01}
    given = {"factors": factors, "outputs": outputs, "points": points, "draws": draws, **kernel}
    return regret_bound.run(seed, None, queries=T, delta=delta, **given)


def on_a_grid(points=3):
    factors, kernel = ((0, 1), (1, 2)), Kernel(np.array([1.0, 2.0]), np.array([0.3, 0.6]), 0.04)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, points)] * 3, indexing="ij"), -1).reshape(-1, 3)
    return factors, kernel, grid, regret_bound.prior_covariances(factors, kernel, grid)


def test_posteriors_on_the_grid_are_those_of_the_parts():
    factors, kernel, grid, prior = on_a_grid()
    assert_allclose(prior, gram(factors, kernel, grid, grid), rtol=1e-12)
    at, Y = np.array([0, 5, 5, 20, 5]), np.random.default_rng(0).standard_normal((2, 5))
    data = regret_bound.Evaluated.of(at, Y)
    known = regret_bound.from_sums(prior, kernel.noise, data)
    solved = solve(Distances(grid[at]), factors, kernel, Y.sum(0))
    factors_now = Factors.of([(factors, solved)], grid[at])
    apart = regret_bound.from_outputs(prior, kernel.noise, data)
    for i in (0, 5, 11, 26):
        mean, variance = factors_now.moments(grid[i])
        assert known.mean[i] == pytest.approx(mean.sum())
        assert_allclose(known.variances[:, i], variance, rtol=1e-9)
        assert known.whole[i] == pytest.approx(factors_now.covariances(grid[i])[0].sum())
        alone = variance_bounds.from_outputs(factors, kernel, grid[at], grid[i])
        assert_allclose(apart.variances[:, i], alone, rtol=1e-9)
        own = [
            prior[f][i, at] @ np.linalg.solve(prior[f][np.ix_(at, at)] + 0.02 * np.eye(5), Y[f])
            for f in range(2)
        ]
        assert apart.mean[i] == pytest.approx(sum(own))
    assert_allclose(apart.whole, apart.variances.sum(0))


def test_draws_have_the_prior_covariance_and_depend_on_their_own_variables():
    factors, _, grid, prior = on_a_grid()
    # (500, 2, 27)
    f = np.stack([regret_bound.sample(factors, prior, grid, rng(0, "x", i)) for i in range(500)])
    # x_2 is no variable of the first
    assert_allclose(f[:, 0].reshape(-1, 9, 3), np.repeat(f[:, 0, ::3, None], 3, axis=2))
    seen = np.einsum("nfa,nfb->fab", f, f) / len(f)
    assert np.abs(seen - prior).max() < 5 * 2 * sqrt(2 / 500)


def test_f_is_within_its_bounds_and_so_is_the_regret():
    """At delta = 1/2 half of all functions have to be, everywhere and always; more are."""
    found = finite(regrets(points=3, T=15, draws=20, delta=0.5))
    everywhere = found["covered"].reshape(20, 15).min(1) == 1
    assert everywhere.mean() >= 0.5
    assert (found["bounded"].reshape(20, 15)[everywhere] == 1).all()
    assert_array_equal(found["bounded"], found["regret"] <= found["bound"])
    assert (found["bound"] <= found["bound_sum"] * (1 + 1e-12)).all()
    assert_array_equal(found["covered"] == 1, found["needed"] <= found["width"])
    assert_array_equal(found["covered_deviation"] == 1, found["needed_deviation"] <= found["width"])
    # Thm. 5.2 at t = 2
    assert found["width"][1] ** 2 == pytest.approx(2 * log(27 * pi**2 * 4 / (6 * 0.5)))
    means = np.cumsum(found["regret"].reshape(20, 15), axis=1) / np.arange(1, 16)
    assert_allclose(found["mean_regret"].reshape(20, 15), means)


def test_before_any_datum_the_bounds_are_the_priors():
    """Two neighbours of variance 1: (6) = 2 sqrt(1/4 + 1/4) = sqrt 2 = sigma_t."""
    found = regrets(T=1, draws=1)
    assert found["bound"][0] / found["width"][0] == pytest.approx(2 * sqrt(2))
    assert found["bound_deviation"][0] == pytest.approx(found["bound"][0])
    assert found["bound_sum"][0] / found["width"][0] == pytest.approx(4)


def test_a_sum_does_not_tell_its_factors_apart_and_outputs_do():
    """(6) stays where sigma_t vanishes, so that the query comes to a halt, with some regret."""
    factors, _, grid, prior = on_a_grid()
    everywhere = np.tile(np.arange(len(grid)), 1000)
    data = regret_bound.Evaluated.of(everywhere, np.zeros((2, len(everywhere))))
    graph = FactorGraph.of(factors, 3)
    from_sums = regret_bound.from_sums(prior, 0.01, data)
    from_outputs = regret_bound.from_outputs(prior, 0.01, data)
    assert np.sqrt(from_sums.whole).max() < 0.01
    assert graph.exploration(from_sums.variances.T).min() > 0.5
    assert graph.exploration(from_outputs.variances.T).max() < 0.01
    ends = {}
    for outputs in ("sum", "factors"):
        found = regrets(outputs=outputs, T=80, draws=4)
        ends[outputs] = {name: found[name].reshape(4, 80)[:, -10:] for name in ("regret", "bound")}
    assert ends["sum"]["bound"].min() > 5 > 1 > np.median(ends["factors"]["bound"])
    assert (np.ptp(ends["sum"]["regret"], axis=1) == 0).all()
    assert ends["sum"]["regret"].mean() > 2 * ends["factors"]["regret"].mean()


def test_regrets_repeat_themselves():
    assert_equal(regrets(T=4), regrets(T=4))
    assert not np.array_equal(regrets(T=4)["regret"], regrets(1, T=4)["regret"])
    longer = regrets(T=8)["regret"].reshape(3, 8)
    assert_array_equal(longer[:, :4], regrets(T=4)["regret"].reshape(3, 4))
    with pytest.raises(ValueError, match="outputs: expected sum or factors, got 'x'"):
        regrets(outputs="x")


# the recovery of a decomposition

PAIRS = ((0, 1), (2, 3))
ON_ARMS = Problem(Arms(np.zeros((2, 1))), lambda query, rng: None)


def waves(true=PAIRS, d=4):
    """cos 6(x_0 - x_1) + cos 6(x_2 + x_3), without noise."""

    def evaluate(query, rng):
        angles = query[:, 0] - query[:, 1], query[:, -2] + query[:, -1]
        outputs = np.cos(6 * np.stack(angles, axis=1))
        seen = Observation(outputs.sum(1), np.empty((len(query), 0)), outputs)
        return Evaluation(seen, seen, np.zeros(len(query)))

    return Problem(Box(d), evaluate, best=2.0, reveals={"decomposition": true})


def recovery(problem=None, T=6, n=3, every=1, queries="uniform", **changes):
    given = {"T": T, "n": n, "every": every, "queries": queries}
    method = changed(METHOD, **changes)
    return decomposition_recovery.run(0, problem or waves(), **given, optimizer=method)


def test_a_plain_decomposition_is_found():
    found = recovery(T=68, n=60, models=5)
    end = {name: column[-3:] for name, column in found.items()}
    for name in ("agreement", "recall", "precision", "kappa"):
        assert_array_equal(end[name], 1)
    assert_allclose(end["together"], 1 / 3)
    assert_array_equal(end["factors"], 2)
    assert_array_equal(end["largest"], 2)
    # the chain begins with a single factor
    assert found["recall"][0] == 1 and found["kappa"][0] < 1


COMPARED = ("agreement", "recall", "precision", "kappa", "together", "factors", "largest")


@pytest.mark.parametrize(
    ("found", "true", "expected"),
    [
        (PAIRS, PAIRS, (1, 1, 1, 1, 1 / 3, 2, 2)),
        # one pair of 6 found, a true one: 5/6 agree, by chance 1/6 * 2/6 + 5/6 * 4/6 = 11/18
        (((0, 1), (2,), (3,)), PAIRS, (5 / 6, 1 / 2, 1, 4 / 7, 1 / 6, 3, 2)),
        (singletons(4), PAIRS, (2 / 3, 0, nan, 0, 0, 4, 1)),
        (whole(4), PAIRS, (1 / 3, 1, 1 / 3, 0, 1, 1, 4)),
        (whole(4), whole(4), (1, 1, 1, 1, 1, 1, 4)),
    ],
)
def test_decompositions_are_compared_by_their_pairs(found, true, expected):
    known = dict(zip(COMPARED, expected, strict=True))
    assert decomposition_recovery.compared(found, true, 4) == pytest.approx(known, nan_ok=True)


def test_rows_are_means_over_what_was_sampled():
    found = recovery(T=9, n=3, every=2)
    assert tidy(found)["t"].tolist() == [4, 6, 8, 9]
    assert_allclose(found["agreement_singletons"], 2 / 3)
    assert_allclose(found["agreement_whole"], 1 / 3)
    assert_array_equal(found["density"], found["agreement_whole"])
    assert_equal(found, recovery(T=9, n=3, every=2))
    assert decomposition_recovery._mean([1.0, nan, 2.0]) == 1.5
    assert np.isnan(decomposition_recovery._mean([nan, nan]))


def test_watching_changes_nothing_and_sees_what_is_sampled():
    problem = waves()
    found = recovery(problem, queries="own")
    built = {name: value for name, value in METHOD.items() if name != "is"}
    draws = (rng(0, "study", "optimizer") for _ in range(2))
    plain, watched = (algorithms.build("dumbo.DuMBO", Box(4), draw, built) for draw in draws)
    design = rng(0, "study", "init").random((6, 4))[:3]
    progress = loop.Progress(plain)
    loop.start(progress, design, loop.evaluate(problem, design, noise(0), first=0))
    steps = list(decomposition_recovery.along_own(watched, watched.chain, problem, design, 6, 0))
    factors = [plain.report()["factors"]]
    for _ in steps[1:]:
        loop.step(problem, progress, budget=6, room=1, noise=noise(0))
        factors.append(plain.report()["factors"])
    assert_array_equal(watched.x, plain.x)
    assert [t for t, _ in steps] == [3, 4, 5, 6]
    assert all(len(sampled) == METHOD["partitions"]["models"] for _, sampled in steps)
    assert_allclose(found["factors"], factors)
    assert steps[-1][1][-1] == watched.chain.decomposition == plain.chain.decomposition


def test_what_recovery_refuses():
    with pytest.raises(ValueError, match="expected decomposition mcmc, got random"):
        recovery(decomposition="random")
    for unknown in (Problem(Box(2), lambda query, rng: None), ON_ARMS):
        with pytest.raises(TypeError, match="reveals its decomposition"):
            recovery(unknown)
    with pytest.raises(ValueError, match="queries: expected own or uniform, got 'x'"):
        recovery(queries="x")


# noise


def levels(seed=0, most=12, levels=(0.01, 0.1, 1.0)):
    kernel = {"lengthscale": 6.0, "outputscale": 100.0}
    return noise_levels.run(seed, None, levels=levels, most=most, width=1.0, **kernel)


def test_observations_lower_the_deviation_and_noise_raises_it():
    found = finite(levels())
    deviation = found["deviation"].reshape(3, 12)
    # variances are rounded to some 1e-7: 100 times the condition of the Gram matrix, 1e7
    assert (np.diff(deviation**2, axis=1) < 1e-7).all()
    assert (np.diff(deviation, axis=0) > 0).all()
    assert (deviation > found["repeated"].reshape(3, 12) * 0.99).all()
    assert (found["error"] < 4 * found["deviation"] + 1e-6).all()
    assert_array_equal(levels(most=5)["deviation"].reshape(3, 5), deviation[:, :5])


def test_one_observation_in_closed_form():
    x = float(rng(0, "study", "design").uniform(-1.0, 1.0, (12, 1))[0, 0])
    k = 100 * float(Matern(6.0, nu=2.5)([[0.0]], [[x]])[0, 0])
    found = levels(levels=[2.0])
    assert found["deviation"][0] == pytest.approx(sqrt(100 - k**2 / 104))
    draw = rng(0, "study", "design")
    draw.uniform(-1.0, 1.0, (12, 1))
    y = 10 * np.sin(x) / x + 2.0 * draw.standard_normal(12)[0]
    assert found["error"][0] == pytest.approx(abs(k / 104 * y - 10))


# the growth of seconds

ONE_STEP = {"fit_steps": 1, "new_steps": 1}
PLAIN = {**FITTED, **ONE_STEP}
QUERIES = {
    "DuMBO": changed(METHOD, **ONE_STEP, rounds=2, tolerance=0.0),
    "ADD-DuMBO": changed(METHOD, **ONE_STEP, outputs="factors"),
    "ADD-GPUCB": {"is": "add_gpucb.ADDGPUCB", **changed(ADD_GPUCB, **PLAIN)},
    "DEC-HBO": {"is": "dec_hbo.DECHBO", **changed(DECHBO, **PLAIN, largest_factor=2, grid=4)},
}


def growth(t=(5, 9), optimizers=QUERIES, repeats=1):
    return ask_growth.run(0, waves(), t=t, repeats=repeats, optimizers=optimizers)


def test_every_method_is_timed_at_every_t():
    found = tidy(growth())
    assert_array_equal(found["method"], [0, 0, 1, 1, 2, 2, 3, 3])
    assert_array_equal(found["t"], [5, 9] * 4)
    assert_array_equal(found["rounds"][:2], 2)  # never within a tolerance of 0
    # those that the problem reveals; one a variable
    assert_array_equal(found["factors"][2:6], [2, 2, 4, 4])
    assert (found["timing.seconds"] > 0).all()
    untimed = {name: column for name, column in found.items() if not name.startswith("timing.")}
    again = growth(repeats=2)
    assert_equal({name: again[name] for name in untimed}, untimed)
    only = growth(optimizers={"DEC-HBO": QUERIES["DEC-HBO"]})
    assert_array_equal(only["factors"], found["factors"][6:])


def test_what_the_growth_refuses():
    known = "DuMBO or ADD-DuMBO or ADD-GPUCB or DEC-HBO"
    with pytest.raises(ValueError, match=f"optimizers: expected {known}, got 'QFF'"):
        growth(optimizers={"QFF": {}})
    with pytest.raises(TypeError, match="expected a problem on a Box"):
        ask_growth.run(0, ON_ARMS, t=[3], repeats=1, optimizers=QUERIES)


ADD = {k: v for k, v in METHOD.items() if k != "decomposition"} | {"outputs": "factors"}
RANDOM = {"is": "random_search.RandomSearch"}
SEARCHES = {"DuMBO": METHOD, "ADD-DuMBO": ADD, "random": RANDOM}


def test_the_acquisition_is_timed_apart_from_fits():
    found = tidy(acquisition_seconds.run(0, waves(), T=6, n=2, optimizers=SEARCHES))
    assert_array_equal(found["method"], np.repeat([0, 1, 2], 4))
    assert_array_equal(found["t"], [3, 4, 5, 6] * 3)
    spent, rest = found["timing.acquisition"].reshape(3, 4), found["timing.rest"].reshape(3, 4)
    # both the agreement and the fits take their time
    assert (spent[:2] > 1e-3).all() and (rest[:2] > 1e-3).all()
    assert (rest >= 0).all() and spent[2].sum() < spent[:2].sum() / 10
    assert_allclose(found["timing.so_far"].reshape(3, 4), np.cumsum(spent, axis=1))

    with pytest.raises(TypeError, match="expected a problem on a Box"):
        acquisition_seconds.run(0, ON_ARMS, T=3, n=2, optimizers=SEARCHES)
