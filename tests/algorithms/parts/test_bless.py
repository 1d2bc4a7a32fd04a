"""BLESS against exact ridge leverage scores, and what its sampling promises on average."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from algorithms.parts.arms import GaussianTable, Pulls, SketchedPosterior, bless
from algorithms.parts.arms.bless import leverage

BANDWIDTH, LAM = 0.5, 0.5


def table(n=300, seed=0):
    """Dense clusters and some loners, so that leverage scores differ by a factor of a hundred."""
    draw = np.random.default_rng(seed)
    centres = draw.random((6, 2)) * 4
    close = centres[draw.integers(6, size=n - 10)] + 0.1 * draw.standard_normal((n - 10, 2))
    return np.vstack([close, draw.random((10, 2)) * 8])


def rng(seed=0):
    return np.random.default_rng(seed)


def exact(K, ridge):
    return np.diag(K @ np.linalg.inv(K + ridge * np.eye(len(K))))


@pytest.mark.parametrize("ridge", [1e-2, 1.0, 50.0])
def test_the_scores_are_those_of_the_weighted_covariance_of_features(gram, ridge):
    """phi' (sum_j phi_j phi_j' / p_j + ridge I)^-1 phi, where members may come more than once."""
    points, draw = table(), np.random.default_rng(1)
    S, U = np.linalg.eigh(gram(points, BANDWIDTH))
    phi = U * np.sqrt(np.maximum(S, 0))  # (A, A), a row an arm
    dictionary = np.append(draw.choice(300, size=40), [7, 7])
    p = np.append(draw.random(40), [0.1, 1.0])
    C = (phi[dictionary] / p[:, None]).T @ phi[dictionary]
    scores = np.diag(phi @ np.linalg.solve(C + ridge * np.eye(300), phi.T))
    arms = draw.permutation(300)[:100]
    found = leverage(GaussianTable(points, BANDWIDTH), dictionary, p, arms, ridge)
    assert_allclose(found, np.minimum(scores[arms], 1.0), rtol=1e-8)
    assert ridge > 0.1 or found.max() == 1.0  # far from the dictionary k(x,x)/ridge is clipped


@pytest.mark.parametrize(("lam", "qbar"), [(0.5, 8.0), (5.0, 15.0)])
@pytest.mark.parametrize("seed", range(4))
def test_every_sketched_variance_is_within_a_factor_3_of_the_exact_one(
    gram, dense, lam, qbar, seed
):
    points = table(seed=seed)
    arms = rng(seed).permutation(np.append(np.arange(300), np.arange(100)))
    kernel = GaussianTable(points, BANDWIDTH)
    sampled = bless(kernel, arms, lam, qbar, rng(seed))
    pulls = Pulls()
    pulls.add(arms, np.zeros(400))
    found = SketchedPosterior.fit(kernel, lam, pulls, np.isin(pulls.arms, arms[sampled]))
    variance = np.diag(dense(gram(points, BANDWIDTH), lam, arms, np.zeros(400))[1])
    assert_allclose(np.log(found.variance / variance), 0, atol=np.log(3))
    assert len(found.dictionary) < 200  # and the dictionary is no trivial one


@pytest.mark.parametrize("qbar", [1e-9, 0.01, 0.5])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_it_is_never_empty(qbar, n):
    kernel = GaussianTable(table()[:n] if n > 10 else np.arange(n)[:, None] * 1.0, BANDWIDTH)
    sizes = [bless(kernel, np.arange(n), LAM, qbar, rng(seed)).sum() for seed in range(50)]
    assert min(sizes) >= 1
    assert qbar > 1e-6 or max(sizes) == 1


@pytest.fixture
def rounds(monkeypatch):
    """(dictionary, p, arms, ridge, scores) of every round from now on."""
    seen = []

    def spy(kernel, dictionary, p, arms, ridge):
        score = leverage(kernel, dictionary, p, arms, ridge)
        seen.append((dictionary, p, arms, ridge, score))
        return score

    monkeypatch.setitem(bless.__globals__, "leverage", spy)  # the function hides its module
    return seen


def preselection(qbar, ridge):
    """The probability with which a round looks at a pull at all, of a kernel with k(x, x) = 1."""
    return min(qbar / (1 + ridge), 1.0)


def test_weights_times_the_preselection_make_the_gram_matrix_right_on_average(rounds):
    """In every round the sum of f over the dictionary, each member over its probability, estimates
    the sum over all. The weights lack the preselection, as in the authors' code: it is 1 in the
    last rounds.
    """
    points, repeats = table(), 120
    f = np.column_stack([np.ones(300), points, points[:, 0] > 4.5])
    for seed in range(repeats):
        bless(GaussianTable(points, BANDWIDTH), np.arange(300), LAM, 20.0, rng(seed))
    per_run, before = len(rounds) // repeats, 1.0
    assert per_run == 5  # ceil(ln 300) - 1
    for number in range(per_run):
        runs = rounds[number::per_run]
        members = chosen(runs, number)
        estimates = np.array([(f[d[own]] / p[own, None]).sum(axis=0) for d, p, own in members])
        error = estimates.std(axis=0, ddof=1) / np.sqrt(repeats) / before
        expected = f[1 if number == 0 else 0 :].sum(axis=0)
        assert (abs(estimates.mean(axis=0) / before - expected) <= 4.5 * error + 1e-9).all()
        assert (error[:3] < 0.03 * f[:, :3].sum(axis=0)).all()
        before = preselection(20.0, runs[0][3])
    assert before == preselection(20.0, rounds[per_run - 2][3]) == 1.0


def chosen(runs, number):
    """Members and weights of a round's dictionaries; the first one always holds the first pull."""
    for dictionary, p, *_ in runs:
        yield dictionary, p, (dictionary > 0) if number == 0 else np.ones(len(p), dtype=bool)


@pytest.mark.parametrize(("n", "expected"), [(1, 0), (2, 0), (3, 1), (20, 2), (21, 3), (2000, 7)])
def test_as_many_rounds_as_the_authors_code(rounds, n, expected):
    """ceil(ln n) regularisations, the first of which belongs to the first dictionary."""
    points = np.linspace(0, 1, n)[:, None]
    bless(GaussianTable(points, BANDWIDTH), np.arange(n), LAM, 2.0, rng())
    assert len(rounds) == expected


@pytest.mark.parametrize(("lam", "qbar"), [(0.5, 8.0), (5.0, 8.0), (0.5, 3.0)])
def test_the_expected_size_is_about_qbar_effective_dimensions(gram, lam, qbar):
    points = table()
    kernel = GaussianTable(points, BANDWIDTH)
    expected = np.minimum(qbar * exact(gram(points, BANDWIDTH), lam), 1.0)
    drawn = [bless(kernel, np.arange(300), lam, qbar, rng(seed)) for seed in range(60)]
    size = np.mean([np.count_nonzero(included) for included in drawn])
    assert expected.sum() < 150
    # poorer dictionaries overestimate, and so do weights without the preselection
    assert 0.8 < size / expected.sum() < (1.5 if qbar > 3 else 2.0)
    loners, crowd = np.mean(drawn, axis=0)[290:].mean(), np.mean(drawn, axis=0)[:290].mean()
    assert loners / crowd > 2


def test_a_huge_qbar_takes_everybody():
    for points in (table(), table()[:1], np.zeros((40, 2))):
        kernel = GaussianTable(points, BANDWIDTH)
        assert bless(kernel, np.arange(len(points)), LAM, 1e9, rng()).all()
