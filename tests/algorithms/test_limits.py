"""Each algorithm where it must agree with brute force, its parent method or a closed form, such as
the widths of `Confidence`.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from algorithms.api import Arms, Observation
from algorithms.async_ts import AsyncTS
from algorithms.bbkb import BBKB, Draft
from algorithms.bkb import BKB
from algorithms.eps_greedy import EpsGreedy
from algorithms.gp_bucb import GPBUCB
from algorithms.gp_ucb import GPUCB
from algorithms.parts.arms import GaussianTable, SketchedPosterior, bless, include
from algorithms.random_search import RandomSearch
from tests.settings import BATCH, CONFIDENCE, SKETCH, TABLE

LAM, BANDWIDTH, EVERYTHING = TABLE["lam"], TABLE["bandwidth"], 10**6
EXACT = {**TABLE, **CONFIDENCE, "posterior": "distinct-arms"}
SKETCHED = {**TABLE, **CONFIDENCE, **SKETCH}
FULL = {**SKETCHED, "qbar": 1e9}  # every pulled arm enters the dictionary
NOTHING = np.empty(0, dtype=np.int64)


def new(kind, points, **parameters):
    return kind(Arms(points), np.random.default_rng(0), **parameters)


def tell(optimizer, query, f):
    """Noise is paired: evaluation i of an arm shows the same value to every optimizer."""
    start = len(optimizer.y)
    noise = [0.05 * np.random.default_rng(start + i).standard_normal() for i in range(len(query))]
    optimizer.tell(np.asarray(query), Observation.of(f[query] + noise))


def picks(optimizer, f, steps, room=1):
    tell(optimizer, np.array([7]), f)
    asked = []
    for _ in range(steps):
        query = optimizer.ask(room, NOTHING)
        tell(optimizer, query, f)
        asked.append(query)
    return asked


def told(kind, smooth, seed, **parameters):
    """An optimizer somewhere on its way: variances are small enough for batches of some length."""
    points, f = smooth(seed)
    optimizer = new(kind, points, **parameters)
    tell(optimizer, np.arange(len(points)), f)
    draw = np.random.default_rng(seed)
    for size in draw.integers(1, 12, size=3):
        tell(optimizer, draw.integers(len(points), size=size), f)
    return optimizer, f


@pytest.fixture
def same_width(monkeypatch):
    """One width of the confidence bound for all algorithms, a function of the evaluations alone."""
    width = property(lambda self: 0.05 * math.sqrt(1 + math.log(1 + len(self.y))))
    for kind, name in ((GPUCB, "beta"), (GPBUCB, "alpha"), (BKB, "beta"), (BBKB, "alpha")):
        monkeypatch.setattr(kind, name, width)


# GP-UCB and GP-BUCB


@pytest.mark.parametrize("posterior", ["distinct-arms", "textbook"])
@pytest.mark.parametrize("seed", range(3))
def test_gp_ucb_is_brute_force(smooth, gram, dense, seed, posterior):
    points, f = smooth(seed, A=25)
    optimizer, K = new(GPUCB, points, **{**EXACT, "posterior": posterior}), gram(points, BANDWIDTH)
    asked = np.concatenate(picks(optimizer, f, steps=60))
    assert_array_equal(optimizer.x[1:], asked)
    for t in range(1, 61):
        x, y = optimizer.x[:t], optimizer.y[:t]
        mean, covariance = dense(K, LAM, x, y)
        information = np.linalg.slogdet(K[np.ix_(x, x)] / LAM + np.eye(t))[1]
        # BKB Thm. 2, epsilon -> 0
        beta = 2 * 0.1 * math.sqrt(information + math.log(100)) + 2 * math.sqrt(LAM) * 1.0
        assert asked[t - 1] == np.argmax(mean + beta * np.sqrt(np.diag(covariance)))
    assert len(set(asked.tolist())) > 3


@pytest.mark.parametrize("beta", ["theorem", "reference-code"])
def test_the_width_of_gp_bucb(smooth, gram, beta):
    optimizer, _ = told(GPBUCB, smooth, 0, **{**EXACT, "beta": beta}, C=3.0, rule="product")
    K = gram(optimizer.domain.points, BANDWIDTH)[np.ix_(optimizer.x, optimizer.x)]
    information = np.linalg.slogdet(K / LAM + np.eye(len(K)))[1]
    if beta == "theorem":  # alpha = C beta, BBKB Sec. 2
        expected = 3 * (0.2 * math.sqrt(information + math.log(100)) + 0.2)
    else:
        expected = 0.1 * math.sqrt(3 * information + math.log(100)) + 0.1
    assert optimizer.alpha == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("rule", "C"), [("product", 300.0), ("sum", 20.0)])
@pytest.mark.parametrize("seed", range(2))
def test_gp_bucb_is_brute_force(smooth, gram, dense, seed, rule, C):
    optimizer, _ = told(GPBUCB, smooth, seed, **EXACT, C=C, rule=rule)
    K, x, y = gram(optimizer.domain.points, BANDWIDTH), optimizer.x, optimizer.y
    batch = optimizer.ask(EVERYTHING, NOTHING)
    mean, start = dense(K, LAM, x, y)
    drift = 1.0
    for s, arm in enumerate(batch):
        assert drift <= C  # Alg. 2: the breaching arm was the last
        pulled = np.append(x, batch[:s])
        now = np.diag(dense(K, LAM, pulled, np.zeros(len(pulled)))[1])
        assert arm == np.argmax(mean + optimizer.alpha * np.sqrt(now))
        drift = drift * (1 + now[arm]) if rule == "product" else drift + start[arm, arm]
    assert drift > C
    assert len(batch) > 10
    assert optimizer.ask(2, NOTHING).tolist() == batch[:2].tolist()


# BKB and BBKB


@pytest.mark.parametrize(
    ("kind", "parameters", "simpler", "theirs"),
    [
        (BKB, {**FULL, "epsilon": 0.5}, GPUCB, EXACT),  # a full dictionary
        (BBKB, {**BATCH, **FULL, "C": 1.0}, BKB, {**FULL, "epsilon": 0.5}),  # no drift
    ],
)
def test_bkb_is_gp_ucb_in_the_limit_and_bbkb_is_bkb(
    smooth, same_width, kind, parameters, simpler, theirs
):
    points, f = smooth(6)
    asked = picks(new(kind, points, **parameters), f, steps=80, room=EVERYTHING)
    expected = picks(new(simpler, points, **theirs), f, steps=80)
    assert_array_equal(np.array(asked), np.array(expected))


@pytest.mark.parametrize("beta", ["theorem", "reference-code"])
def test_the_width_of_bkb(smooth, beta):
    optimizer, _ = told(BKB, smooth, 0, **{**SKETCHED, "beta": beta}, epsilon=0.25)
    t, total = len(optimizer.y), sum(optimizer.posterior.variance[arm] for arm in optimizer.x)
    if beta == "theorem":  # alpha = 5/3; 1 + 1/sqrt(3/4) = 2.154701
        expected = 0.2 * math.sqrt(5 / 3 * math.log(t) * total + math.log(100)) + 2.1547005 * 0.1
    else:
        expected = 0.1 * math.sqrt(math.log(t) * total + math.log(100)) + 0.1
    assert optimizer.beta == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("beta", ["theorem", "reference-code"])
def test_the_width_of_bbkb(smooth, beta):
    points, f = smooth(0)
    optimizer = new(BBKB, points, **{**BATCH, "beta": beta, "C": 3.0})
    information = 0.0
    for step, query in enumerate([[4], [9, 9, 30], [2, 4]]):
        before = optimizer.posterior.variance[query]
        # Thm. 2, sigma~_fb(s-1)
        information += np.log1p((3 if beta == "theorem" else 1) * before).sum()
        tell(optimizer, np.array(query), f)
        if step == 0 and beta == "reference-code":
            information = 0.0  # a sum of t = 1 variances times ln 1
        if beta == "theorem":
            expected = 3 * (0.2 * math.sqrt(information + math.log(100)) + 2.4142136 * 0.1)
        else:
            expected = 0.1 * math.sqrt(3 * information + math.log(100)) + 0.1
        assert optimizer.alpha == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_batches_end_with_the_first_breach_of_their_rule(smooth, gram, literal, seed):
    optimizer, _ = told(BBKB, smooth, seed, **{**BATCH, "C": 1.5})
    batches = {}
    for rule in ("global", "global-local", "global-local-appendix"):
        optimizer.rule = rule
        batches[rule] = optimizer.ask(2000, NOTHING)
    K, dictionary = gram(optimizer.domain.points, BANDWIDTH), optimizer.posterior.dictionary
    sketch = literal(K, LAM, dictionary, optimizer.x, optimizer.y)
    variance = np.diag(sketch.covariance)

    def drifts(batch):
        """Of each rule after a batch: Lemma 1, Lemma 3 as printed, Lemma 3 as in the appendix."""
        local, appendix = ((K[batch] ** 2).sum(0) for K in (sketch.covariance, sketch.inside))
        return {
            "global": 1 + variance[batch].sum(),
            "global-local": (1 + local / variance).max(),
            "global-local-appendix": (1 + appendix / variance).max(),
        }

    for rule, batch in batches.items():
        # a local rule starts after Lemma 1's breach
        if rule == "global" or len(batch) > len(batches["global"]) + 1:
            assert drifts(batch[:-1])[rule] <= 1.5
        assert len(batch) == 2000 or drifts(batch)[rule] > 1.5
    # Cauchy-Schwarz: Lemma 3 is tighter than Lemma 1, and its appendix form leaves more out.
    for batch in batches.values():
        assert_array_equal(batch[: len(batches["global"])], batches["global"])


@pytest.mark.parametrize("P", [1, 3, 10])
def test_uncertainty_sampling_leaves_no_variance_above_1_over_p(smooth, gram, dense, P):
    points, f = smooth(2)
    optimizer = new(BBKB, points, **{**BATCH, **FULL, "C": 3.0, "parallelism": P})
    tell(optimizer, np.array([7]), f)
    initial, K = optimizer.ask(EVERYTHING, NOTHING), gram(points, BANDWIDTH)
    for s, arm in enumerate(initial):
        pulled = np.append([7], initial[:s])
        variance = np.diag(dense(K, LAM, pulled, np.zeros(len(pulled)))[1])
        assert arm == np.argmax(variance)
        assert variance.max() > 1 / P  # it did not go on for longer than it needed
    tell(optimizer, initial, f)
    assert np.diag(dense(K, LAM, optimizer.x, optimizer.y)[1]).max() <= 1 / P
    assert optimizer.posterior.variance.max() <= 1 / P * (1 + 1e-6)
    for _ in range(5):  # App. A.5: batches of at least P (C - 1)
        batch = optimizer.ask(EVERYTHING, NOTHING)
        assert len(batch) >= 2 * P
        tell(optimizer, batch, f)


def test_uncertainty_sampling_takes_as_many_batches_as_the_room_needs(smooth):
    points, f = smooth(2)
    whole, parts = (new(BBKB, points, **{**BATCH, **FULL, "parallelism": 3}) for _ in range(2))
    for optimizer in (whole, parts):
        tell(optimizer, np.array([7]), f)
    initial = whole.ask(EVERYTHING, NOTHING)
    while len(parts.y) <= len(initial):
        tell(parts, parts.ask(5, NOTHING), f)
    assert_array_equal(parts.x[1 : 1 + len(initial)], initial)


# BLESS for an initial design of many arms


def block(smooth, **parameters):
    """An optimizer that was told 120 pulls of 60 arms in one block, some again and again."""
    points, f = smooth(3)
    optimizer = new(BBKB, points, **parameters)
    tell(optimizer, np.random.default_rng(4).integers(60, size=120), f)
    return optimizer, f


def test_the_first_block_alone_draws_the_dictionary_of_bless(smooth, monkeypatch):
    drawn = []

    def spy(name, real):
        return lambda *arguments: drawn.append(name) or real(*arguments)

    monkeypatch.setattr("algorithms.bbkb.bless", spy("bless", bless))
    monkeypatch.setattr("algorithms.bbkb.include", spy("include", include))
    optimizer, f = block(smooth, **{**BATCH, "start": "bless"})
    for _ in range(3):
        tell(optimizer, optimizer.ask(EVERYTHING, NOTHING), f)
    assert drawn == ["bless", "include", "include", "include"]
    assert optimizer.resparsifications == 4


@pytest.mark.parametrize("qbar", [2.0, 1e9])
def test_after_a_block_the_information_is_the_log_determinant_of_the_sketch(
    smooth, gram, literal, qbar
):
    optimizer, f = block(smooth, **{**BATCH, "start": "bless", "C": 3.0, "qbar": qbar})
    x, K = optimizer.x, gram(optimizer.domain.points, BANDWIDTH)
    Z = literal(K, LAM, optimizer.posterior.dictionary, x, optimizer.y).z[:, x].T  # (t, m)
    information = np.linalg.slogdet(np.eye(120) + 3 * Z @ Z.T / LAM)[1]
    assert optimizer.information == pytest.approx(information, rel=1e-6)
    width = 3 * (0.2 * math.sqrt(information + math.log(100)) + 2.4142136 * 0.1)
    assert optimizer.alpha == pytest.approx(width, rel=1e-6)
    if qbar == 1e9:  # every pulled arm enters: that of the kernel matrix itself
        whole = np.linalg.slogdet(np.eye(120) + 3 * K[np.ix_(x, x)] / LAM)[1]
        assert information == pytest.approx(whole, rel=1e-6)
    before, query = optimizer.posterior.variance, np.array([3, 3, 50])
    tell(optimizer, query, f)
    information += np.log1p(3 * before[query]).sum()  # Thm. 2
    assert optimizer.information == pytest.approx(information, rel=1e-6)


def test_without_bless_the_information_of_a_block_is_that_of_a_batch_on_the_prior(smooth):
    optimizer, _ = block(smooth, **BATCH)
    assert optimizer.information == pytest.approx(120 * math.log1p(3 / LAM))
    blessed, _ = block(smooth, **{**BATCH, "start": "bless"})
    assert blessed.information < 0.3 * optimizer.information  # what BLESS is for


# Asynchronous Thompson sampling


def sampled(optimizer, monkeypatch, repeats):
    """The values at all arms of the joint samples whose best arms `ask` returns, (repeats, A)."""
    samples, answers = [], []
    library = SimpleNamespace(**vars(np))
    library.argmax = lambda values, axis: (samples.append(values), np.argmax(values, axis=axis))[1]
    monkeypatch.setattr("algorithms.async_ts.np", library)
    while 500 * len(samples) < repeats:
        answers.append(optimizer.ask(500, NOTHING))
    assert_array_equal(np.argmax(np.concatenate(samples, axis=1), axis=0), np.concatenate(answers))
    return np.concatenate(samples, axis=1).T


def test_thompson_samples_have_the_mean_and_scaled_covariance_of_the_exact_posterior(
    smooth, gram, dense, monkeypatch
):
    points, f = smooth(0, A=6)
    optimizer = new(AsyncTS, points, **TABLE, **CONFIDENCE, batch=500, shrink=4.0, tolerance=1e-12)
    for query in ([2], [3, 3, 0]):
        tell(optimizer, np.array(query), f)
    K, x = gram(points, BANDWIDTH), optimizer.x
    mean, covariance = dense(K, LAM, x, optimizer.y)
    information = np.linalg.slogdet(K[np.ix_(x, x)] / LAM + np.eye(4))[1]
    beta = (0.2 * math.sqrt(information + math.log(100)) + 0.2) / 4.0
    assert optimizer.beta == pytest.approx(beta, rel=1e-6)
    assert_array_equal(optimizer.recommend(), [np.argmax(mean)])
    n = 40_000
    f = sampled(optimizer, monkeypatch, n)
    assert f.shape == (n, 6)
    sigma = beta * np.sqrt(np.diag(covariance))
    assert (abs(f.mean(axis=0) - mean) < 4.5 * sigma / math.sqrt(n)).all()
    assert stats.kstest((f[:, 5] - mean[5]) / sigma[5], "norm").pvalue > 1e-4
    # of a sample covariance
    error = np.sqrt((np.outer(sigma, sigma) ** 2 + (beta**2 * covariance) ** 2) / n)
    assert (abs(np.cov(f.T) - beta**2 * covariance) < 4.5 * error).all()


def test_thompson_sampling_asks_for_its_batch_or_the_room(smooth):
    settings = {**TABLE, **CONFIDENCE, "batch": 30, "shrink": 10.0, "tolerance": 1e-8}
    optimizer = new(AsyncTS, smooth(0)[0], **settings)
    for room in (1, 7, 30, 31, EVERYTHING):
        assert len(optimizer.ask(room, NOTHING)) == min(room, 30)


# eps-greedy and random search


@pytest.mark.parametrize("model", ["empirical-mean", "gaussian-process"])
def test_eps_greedy_explores_with_probability_epsilon(smooth, model):
    optimizer = new(EpsGreedy, smooth(0, A=5)[0], epsilon=0.3, model=model, **TABLE)
    optimizer.tell(np.array([3, 1, 3]), Observation.of(np.array([1.0, 0.9, 2.0])))
    n = 20_000
    counts = np.bincount(np.concatenate([optimizer.ask(1, NOTHING) for _ in range(n)]), minlength=5)
    expected = np.full(5, 0.3 / 5) + 0.7 * (np.arange(5) == 3)
    assert stats.chisquare(counts, n * expected).pvalue > 1e-4


def test_eps_greedy_exploits_the_best_mean_not_the_best_observation(smooth, gram, dense):
    points, _ = smooth(0)
    query, y = np.array([8, 8, 30, 30]), np.array([3.0, -2.0, 1.0, 1.2])
    posterior, _ = dense(gram(points, BANDWIDTH), LAM, query, y)
    for model, best in (("empirical-mean", 30), ("gaussian-process", np.argmax(posterior))):
        optimizer = new(EpsGreedy, points, epsilon=0.0, model=model, **TABLE)
        optimizer.tell(query, Observation.of(y))
        assert_array_equal(optimizer.ask(1, NOTHING), [best])


def test_random_search_is_uniform_on_arms():
    optimizer = RandomSearch(Arms(np.zeros((20, 1))), np.random.default_rng(0))
    counts = np.bincount([optimizer.ask(1, NOTHING)[0] for _ in range(20_000)], minlength=20)
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    ("kind", "parameters"), [(GPUCB, EXACT), (GPBUCB, {**EXACT, "C": 2.0, "rule": "sum"})]
)
def test_exact_methods_recommend_the_largest_posterior_mean(smooth, gram, dense, kind, parameters):
    optimizer, _ = told(kind, smooth, 4, **parameters)
    mean, _ = dense(gram(optimizer.domain.points, BANDWIDTH), LAM, optimizer.x, optimizer.y)
    assert_array_equal(optimizer.recommend(), [np.argmax(mean)])


def test_the_variances_of_the_step_before_decide_who_enters_the_dictionary(smooth, monkeypatch):
    for kind, parameters, module in (
        (BKB, {**SKETCHED, "epsilon": 0.5}, "bkb"),
        (BBKB, BATCH, "bbkb"),
    ):
        optimizer, f = told(kind, smooth, 1, **parameters)
        seen = {}

        def spy(p, n, rule, rng, seen=seen):
            seen.update(p=p, n=n, rule=rule)
            return np.ones(len(n), dtype=bool)

        monkeypatch.setattr(f"algorithms.{module}.include", spy)
        before = optimizer.posterior.variance
        tell(optimizer, np.array([3, 3, 50]), f)
        arms = optimizer.pulls.arms
        assert_array_equal(seen["p"], 2.0 * before[arms])  # BKB Alg. 1, BBKB Alg. 1 l. 13
        assert_array_equal(seen["n"], [np.count_nonzero(optimizer.x == arm) for arm in arms])
        assert seen["rule"] == "per-pull"
        assert_array_equal(optimizer.posterior.dictionary, arms)


@pytest.mark.parametrize(("bandwidth", "qbar"), [(0.1, 1e9), (0.4, 5.0), (0.4, 2.0)])
@pytest.mark.parametrize("seed", range(4))
def test_lazy_evaluation_pulls_what_brute_force_pulls(smooth, gram, literal, seed, bandwidth, qbar):
    points, f = smooth(seed)
    optimizer = new(BBKB, points, **{**BATCH, "bandwidth": bandwidth, "qbar": qbar})
    K = gram(points, bandwidth)
    for query in (np.arange(60), np.arange(0, 60, 7)):
        tell(optimizer, query, f)
    x, dictionary = optimizer.x, optimizer.posterior.dictionary
    mean = literal(K, LAM, dictionary, x, optimizer.y).mean
    draft, batch = Draft(optimizer.posterior, 3.0), []
    for _ in range(50):  # more than the 16 that a draft first has room for
        pulled = np.append(x, batch).astype(int)
        variance = np.diag(literal(K, LAM, dictionary, pulled, np.zeros(len(pulled))).covariance)
        batch.append(draft.pull())
        assert batch[-1] == np.argmax(mean + 3.0 * np.sqrt(variance))
    assert len(set(batch)) > 10 or qbar == 2.0  # residuals of a small dictionary never shrink
    assert 0 < len(dictionary) < 60 or qbar == 1e9
    assert draft.pulled == 50
    assert 50 <= draft.recomputed < 50 * len(K)  # and it left some bounds alone


@pytest.mark.parametrize("beta", ["theorem", "reference-code"])
def test_the_dictionary_of_a_block_is_made_of_the_arms_whose_pulls_bless_drew(smooth, beta):
    optimizer, _ = block(smooth, **{**BATCH, "start": "bless", "beta": beta})
    kernel = GaussianTable(optimizer.domain.points, BANDWIDTH)
    sampled = bless(kernel, optimizer.x, LAM, 2.0, np.random.default_rng(0))
    assert_array_equal(np.sort(optimizer.posterior.dictionary), np.unique(optimizer.x[sampled]))
    assert 0 < len(optimizer.posterior.dictionary) < len(optimizer.pulls.arms)


def test_the_width_of_the_authors_code_knows_no_start(smooth):
    """Variances at the pulls times ln t, then sums of ln(1 + variance); C from a first batch on."""
    options = {**BATCH, **FULL, "beta": "reference-code", "inclusion": "per-arm"}
    reached = []
    for start in ("resparsify", "bless"):
        optimizer, f = block(smooth, **{**options, "start": start})
        total = optimizer.posterior.variance[optimizer.x].sum() * math.log(120)
        assert optimizer.information == pytest.approx(total, rel=1e-9)
        width = 0.1 * math.sqrt(total + math.log(100)) + 0.1
        assert optimizer.alpha == pytest.approx(width, rel=1e-9)
        before = optimizer.posterior.variance
        tell(optimizer, np.array([3, 3, 50]), f)
        total += np.log1p(before[[3, 3, 50]]).sum()
        assert optimizer.information == pytest.approx(total, rel=1e-9)
        width = 0.1 * math.sqrt(2 * total + math.log(100)) + 0.1
        assert optimizer.alpha == pytest.approx(width, rel=1e-9)
        reached.append(optimizer.alpha)
    assert reached[0] == pytest.approx(reached[1], rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "parameters"), [(BKB, {**SKETCHED, "epsilon": 0.5}), (BBKB, BATCH)]
)
def test_sketched_methods_keep_the_sketch_of_what_they_saw(smooth, kind, parameters):
    optimizer, _ = told(kind, smooth, 4, **parameters)
    included = np.isin(optimizer.pulls.arms, optimizer.posterior.dictionary)
    assert included.any()
    kernel = GaussianTable(optimizer.domain.points, BANDWIDTH)
    again = SketchedPosterior.fit(kernel, LAM, optimizer.pulls, included)
    assert_allclose(optimizer.posterior.mean, again.mean, atol=1e-12)
    assert_array_equal(optimizer.pulls.n.sum(), len(optimizer.y))
    assert_array_equal(optimizer.recommend(), [np.argmax(again.mean)])
