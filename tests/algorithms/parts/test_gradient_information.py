"""Gradients of Gaussian processes: dense, by differences, by another library and by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from algorithms.parts.processes.gradient_information import Design, Kernels


def kernels(seed=0, M=3, d=4, noise=0.01, isotropic=False):
    draw = np.random.default_rng(seed)
    lengthscale = draw.uniform(0.5, 2.0, (M, 1 if isotropic else d)) * np.sqrt(d / 4)
    noises = noise * np.arange(1, M + 1)
    return Kernels(np.broadcast_to(lengthscale, (M, d)), draw.uniform(0.5, 2.0, M), noises)


def case(n, d, seed=0, duplicated=False, **changes):
    """Kernels, n inputs and a point."""
    draw = np.random.default_rng(100 + seed)
    X = draw.random((n, d))
    if duplicated:
        X[n // 2 :] = X[: n - n // 2]
    return kernels(seed, d=d, **changes), X, draw.random(d)


def covariance(ell, a, A, B):
    """One kernel, with the differences written out."""
    return a * np.exp(-0.5 * (((A[:, None, :] - B[None, :, :]) / ell) ** 2).sum(2))


def dense(k, X, x):
    """The traces (M,) of the gradients' covariances at x given X (n, d), by full factorisations."""
    traces = []
    for ell, a, noise in zip(k.lengthscale, k.outputscale, k.noise, strict=True):
        K = covariance(ell, a, X, X) + noise * np.eye(len(X))
        G = covariance(ell, a, X, x[None]) * (X - x) / ell**2
        traces.append(a * (1 / ell**2).sum() - np.trace(G.T @ np.linalg.solve(K, G)))
    return np.array(traces)


SIZES = pytest.mark.parametrize(
    ("n", "d", "duplicated"),
    [(0, 3, False), (1, 1, False), (5, 3, False), (40, 12, True), (200, 100, False)],
)


def test_kernels_are_scikit_learns_and_never_above_their_variance():
    k, X, _ = case(7, 4)
    for K, ell, a in zip(k(X, X), k.lengthscale, k.outputscale, strict=True):
        assert_allclose(K, a * RBF(ell)(X), rtol=1e-12)
        assert K.max() <= a


@SIZES
@pytest.mark.parametrize("b", [1, 3])
def test_a_reduction_is_what_a_full_factorisation_loses(n, d, duplicated, b):
    k, X, x = case(n, d, duplicated=duplicated)
    Z = np.random.default_rng(3).random((4, b, d))
    Z[0, 0] = x  # at the point itself
    Z[1, :] = Z[1, 0]  # one point several times
    if n:
        Z[2, 0] = X[0]  # at a datum
    information = Design.of(k, X).at(x)
    reduction, _ = information.reduction(Z)
    for batch, J in zip(Z, reduction.T, strict=True):
        expected = dense(k, np.vstack([X, batch]), x)
        assert_allclose(information.trace - J, expected, rtol=1e-8)
        assert_allclose(information.extend(batch).trace, expected, rtol=1e-8)


@SIZES
@pytest.mark.parametrize("b", [1, 3])
def test_slopes_of_reductions_are_differences(n, d, duplicated, b):
    k, X, x = case(n, d, duplicated=duplicated)
    information, h = Design.of(k, X).at(x), 1e-5
    Z = x + np.random.default_rng(4).uniform(-0.3, 0.3, (2, b, d))
    Z[1, 0] = x
    slopes = information.reduction(Z)[1]
    steps = h * np.eye(b * d).reshape(-1, b, d)
    for s in range(2):
        up, down = (information.reduction(Z[s] + step)[0] for step in (steps, -steps))
        expected = ((up - down) / (2 * h)).reshape(-1, b, d)
        for found, differences in zip(slopes[:, s], expected, strict=True):
            assert_allclose(found, differences, atol=1e-6 * np.abs(differences).max() + 1e-9)


@SIZES
def test_bordering_equals_factorising_anew(n, d, duplicated):
    k, X, x = case(n, d, duplicated=duplicated)
    Z = np.random.default_rng(6).random((4, d))
    Z[1], Z[2] = x, Z[0]
    r = np.random.default_rng(7).standard_normal((n + 4, 3))
    block, anew = Design.of(k, X).at(x).extend(Z), Design.of(k, np.vstack([X, Z])).at(x)
    single = Design.of(k, X).at(x)
    for z in Z:
        single = single.extend(z[None])
    for grown in (block, single):
        scale = np.abs(anew.H).max()
        assert_allclose(grown.H, anew.H, rtol=0, atol=1e-9 * scale)
        assert_allclose(grown.P, anew.P, rtol=0, atol=1e-9 * np.abs(anew.P).max())
        assert_allclose(grown.trace, anew.trace, rtol=1e-8)
        for value, expected in zip(grown.means(r), anew.means(r), strict=True):
            assert_allclose(value, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_two_values_around_a_point_by_hand():
    """Values at +-h tell by their difference: 1 - (2 h e^{-h^2/2})^2 / (2 (1 + s - e^{-2 h^2}))."""
    h, noise = 0.3, 0.05
    unit = Kernels(np.ones((1, 1)), np.ones(1), np.full(1, noise))
    information = Design.of(unit, np.array([[0.5 - h], [0.5 + h]])).at(np.array([0.5]))
    rise, variance = 2 * h * np.exp(-(h**2) / 2), 1 + noise - np.exp(-2 * h**2)
    assert_allclose(information.trace, [1 - rise**2 / (2 * variance)], rtol=1e-12)
    mean, slope = information.means(np.array([[-1.0], [1.0]]))
    assert_allclose(mean, 0, atol=1e-15)
    assert_allclose(slope, [[rise / variance]], rtol=1e-12)


def test_the_posterior_gradient_is_that_of_scikit_learns_differences():
    """Of its mean, and of f between x + h and x - h, whose variances add up to the trace."""
    k, X, x = case(6, 3)
    r, h = np.random.default_rng(0).standard_normal((6, 3)), 1e-3
    information = Design.of(k, X).at(x)
    mean, slope = information.means(r)
    around = np.vstack([x, x + h * np.eye(3), x - h * np.eye(3)])
    D = np.hstack([np.zeros((3, 1)), np.eye(3), -np.eye(3)]) / (2 * h)
    for i, (ell, a) in enumerate(zip(k.lengthscale, k.outputscale, strict=True)):
        theirs = GaussianProcessRegressor(a * RBF(ell), alpha=k.noise[i], optimizer=None)
        values, C = theirs.fit(X, r[:, i]).predict(around, return_cov=True)
        assert_allclose(mean[i], values[0], rtol=1e-9)
        assert_allclose(slope[i], D @ values, rtol=1e-5, atol=1e-6)
        assert_allclose(information.trace[i], np.trace(D @ C @ D.T), rtol=1e-5)
