"""Additive processes against dense conditioning and differences; tests/parity has evidences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import Matern

from algorithms.parts.factors.additive_process import (
    GRAMS,
    Distances,
    Factors,
    Kernel,
    equal_kernel,
    log_evidence,
    solve,
)

FACTORS = ((0, 2), (1,), (2, 3, 4))  # two of them share a variable
KERNEL = Kernel(np.array([0.7, 1.3, 0.4]), np.array([0.5, 0.9, 0.3]), 0.05)


def gram(factors, kernel, A, B):
    """Prior covariances (N, a, b) of each factor."""
    found = []
    for V, scale, length in zip(factors, kernel.outputscale, kernel.lengthscale, strict=True):
        found.append(scale * Matern(length, nu=2.5)(A[:, list(V)], B[:, list(V)]))
    return np.stack(found)


@pytest.fixture
def data(rng):
    X = rng.random((12, 5))
    X[7] = X[3]  # a repetition
    return X, rng.standard_normal(12)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_a_bucket_in_parts_is_the_whole(data, rng, monkeypatch):
    X, y = data
    factors = (tuple(range(5)),)
    kernel = equal_kernel(1, outputscale=1.0, lengthscale=0.5, noise=0.1)
    (bucket,) = Factors.of([(factors, solve(Distances(X), factors, kernel, y))], X).buckets()
    u = rng.random((1, 50, 5))
    whole = bucket(u)
    monkeypatch.setattr("algorithms.parts.factors.additive_process.CHUNK", 7 * len(X))
    assert_allclose(bucket(u), whole, rtol=1e-12)


# predictions


@pytest.mark.parametrize(
    ("name", "noise"), [("noisy", 0.05), ("noise-free", 0.0), ("inverse", 0.0)]
)
def test_predictions_have_the_noise_that_their_gram_matrix_says_and_no_mean(data, rng, name, noise):
    X, y = (np.delete(values, 7, axis=0) for values in data)  # the repetition
    distances, x = Distances(X), rng.random(5)
    kernel = Kernel(KERNEL.outputscale, KERNEL.lengthscale, 0.05, 0.4)
    fitted = solve(distances, FACTORS, kernel, y)
    predicting = GRAMS[name](distances, FACTORS, fitted, y)
    assert predicting.kernel.noise == noise
    factors = Factors.of([(FACTORS, predicting)], X)
    K = gram(FACTORS, KERNEL, X, X).sum(0) + noise * np.eye(len(X))
    k = gram(FACTORS, KERNEL, X, x[None])[:, :, 0]
    mean = k @ np.linalg.solve(K, y)  # eq. (4)
    covariance = np.diag(KERNEL.outputscale) - k @ np.linalg.solve(K, k.T)
    variance = covariance.diagonal()  # eq. (5)
    assert_allclose(factors.moments(x), (mean, variance), rtol=1e-6, atol=1e-8)
    assert_allclose(factors.covariances(x)[0], covariance, rtol=1e-6, atol=1e-8)
    scaled = Factors.of([(FACTORS, predicting.in_units(3.0))], X)
    assert_allclose(scaled.moments(x), (3 * mean, 9 * variance), rtol=1e-6, atol=1e-8)
    for bucket in factors.buckets():
        u = rng.random((len(bucket.index), 4, bucket.variables.shape[1]))
        assert_allclose(bucket.slopes(u)[:2], bucket(u), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["noise-free", "inverse"])
def test_repeated_inputs_have_no_inverse_and_a_prediction_all_the_same(data, name):
    """Only the least rung of the ladder that helps is added."""
    X, y = data
    X, y = np.concatenate([X, X[:1]]), np.append(y, y[0])
    distances = Distances(X)
    whole = (tuple(range(5)),)
    kernel = equal_kernel(1, outputscale=1.0, lengthscale=0.5, noise=0.1)
    predicting = GRAMS[name](distances, whole, solve(distances, whole, kernel, y), y)
    mean, variance = Factors.of([(whole, predicting)], X).moments(X[0])
    assert mean[0] == pytest.approx(y[0], abs=1e-6)
    assert abs(variance[0]) < 1e-8


def test_dense_data_leave_variances_that_are_no_rounding_errors():
    """Forty points within 1e-3: a variance drowns in entries of the precision, not of the root."""
    X = 0.5 + 1e-3 * np.random.default_rng(0).random((40, 2))
    whole, distances = ((0, 1),), Distances(X)
    kernel = equal_kernel(1, outputscale=1.0, lengthscale=0.7, noise=1e-4)
    y = X.sum(1)
    predicting = GRAMS["noise-free"](distances, whole, solve(distances, whole, kernel, y), y)
    (bucket,) = Factors.of([(whole, predicting)], X).buckets()
    near, far = bucket(np.array([[[0.5005, 0.5005], [0.9, 0.9]]]))[1][0]
    assert -1e-9 < near < 1e-8 < far < 1.0


def test_scales_that_are_not_positive_are_refused():
    with pytest.raises(ValueError, match="expected positive scales"):
        Kernel(np.array([1.0, 0.0]), np.array([1.0, 1.0]), 0.1)


def test_the_gradient_of_the_evidence_agrees_with_differences(data):
    X, y = data
    distances, step = Distances(X), 1e-5
    R = distances.of(FACTORS)
    _, over_a, over_l, over_noise, over_mean = log_evidence(distances, R, KERNEL, y)

    def difference(kernel):
        above, below = (log_evidence(distances, R, kernel(h), y)[0] for h in (step, -step))
        return (above - below) / (2 * step)

    a, ell = KERNEL.outputscale, KERNEL.lengthscale
    for i, unit in enumerate(np.eye(3)):
        scaled = difference(lambda h, unit=unit: Kernel(a * np.exp(h * unit), ell, 0.05))
        stretched = difference(lambda h, unit=unit: Kernel(a, ell * np.exp(h * unit), 0.05))
        assert_allclose((over_a[i], over_l[i]), (scaled, stretched), rtol=1e-7)
    assert_allclose(over_noise, difference(lambda h: Kernel(a, ell, 0.05 * np.exp(h))), rtol=1e-7)
    assert_allclose(over_mean, difference(lambda h: Kernel(a, ell, 0.05, h)), rtol=1e-7)


def test_several_models_are_evaluated_side_by_side_as_one_by_one(data, rng):
    X, y = data
    other = ((0, 1, 2), (3, 4))
    kernel = Kernel(np.array([1.0, 0.2]), np.array([0.4, 0.7]), 0.01)
    distances = Distances(X)
    models = [
        (FACTORS, solve(distances, FACTORS, KERNEL, y)),
        (other, solve(distances, other, kernel, y)),
    ]
    together, x = Factors.of(models, X), rng.random(5)
    alone = [Factors.of([model], X).moments(x) for model in models]
    for both, parts in zip(together.moments(x), zip(*alone, strict=True), strict=True):
        assert_allclose(both, np.concatenate(parts), rtol=1e-12)
    assert [len(bucket.index) for bucket in together.buckets()] == [1, 2, 2]  # of sizes 1, 2 and 3
