"""BLESS: scores against the covariance of features, and edges; tests/parity has whole runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from algorithms.parts.arms import GaussianTable, bless
from algorithms.parts.arms.bless import leverage
from tests.algorithms.grouped import rng

BANDWIDTH, LAM = 0.5, 0.5


def table(n=300, seed=0):
    """Dense clusters and some loners, so that leverage scores differ by a factor of a hundred."""
    draw = np.random.default_rng(seed)
    centres = draw.random((6, 2)) * 4
    close = centres[draw.integers(6, size=n - 10)] + 0.1 * draw.standard_normal((n - 10, 2))
    return np.vstack([close, draw.random((10, 2)) * 8])


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


@pytest.mark.parametrize("qbar", [1e-9, 0.01, 0.5])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_it_is_never_empty(qbar, n):
    kernel = GaussianTable(table()[:n] if n > 10 else np.arange(n)[:, None] * 1.0, BANDWIDTH)
    sizes = [bless(kernel, np.arange(n), LAM, qbar, rng(seed)).sum() for seed in range(50)]
    assert min(sizes) >= 1
    assert qbar > 1e-6 or max(sizes) == 1


def test_a_huge_qbar_takes_everybody():
    for points in (table(), table()[:1], np.zeros((40, 2))):
        kernel = GaussianTable(points, BANDWIDTH)
        assert bless(kernel, np.arange(len(points)), LAM, 1e9, rng()).all()
