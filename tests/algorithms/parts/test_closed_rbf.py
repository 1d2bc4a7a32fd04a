"""Closed forms against graphs of processes, gp and fitting: moments, evidence, slopes."""

import copy

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.processes.closed_rbf import JointRBF, ScaleTarget
from algorithms.parts.processes.fitting import Target
from algorithms.parts.processes.gp import ROUNDING, Posterior
from algorithms.parts.processes.outputs import known
from algorithms.parts.processes.rbf import isotropic
from tests.algorithms.parts.test_exact import solve

D = 6
KERNELS = [
    {"lengthscale": 0.7, "outputscale": 1.3, "mean": 0.0},
    {"lengthscale": [0.4, 0.9, 0.2, 3.0, 0.5, 1.1], "outputscale": 20.0, "mean": -2.0},
    {"lengthscale": 0.05, "outputscale": 0.4, "mean": 0.5},
]
PRIORS = {"gamma": [3.0, 3.0], "normal": [2.0, 1.0]}


def spread(n, rng):
    return rng.random((n, D))


def clustered(n, rng):
    """Five clusters a hundredth wide."""
    return np.clip(rng.random((5, D))[rng.integers(5, size=n)] + 0.01 * spread(n, rng), 0, 1)


def repeated(n, rng):
    """Every point four times, but for 1e-9."""
    return np.tile(spread(n // 4, rng), (4, 1)) + 1e-9 * spread(n, rng)


PLACES = [spread, clustered, repeated]


def data(place, n=120):
    """Inputs, three columns of values, and points to predict at: far from the data, and at them."""
    rng = np.random.default_rng(0)
    x = place(n, rng)
    values = np.column_stack([np.sin(5 * x[:, 0]), x.sum(1) - 1, x[:, 1] ** 2])
    values += 0.1 * rng.standard_normal(values.shape)
    at = np.concatenate([spread(8, rng), x[:4], x[4:8] + 1e-4])
    return torch.from_numpy(x), torch.from_numpy(values), torch.from_numpy(at)


def posteriors(X, values, noise):
    return [
        Posterior.of(known(kernel, noise), X, column)
        for kernel, column in zip(KERNELS, values.T, strict=True)
    ]


def exact(posterior, kernel, noise, at):
    """Mean, variance and their slopes, by extended precision from differences."""
    X, y, at = (a.numpy().astype(np.longdouble) for a in (posterior.X, posterior.y, at))
    ell = np.atleast_1d(kernel["lengthscale"]).astype(np.longdouble)

    def k(a, b):
        square = (((a[:, None] - b) / ell) ** 2).sum(2)
        return kernel["outputscale"] * np.exp(-square / np.longdouble(2))

    K = k(X, X)
    np.fill_diagonal(K, K.diagonal() + np.longdouble(noise))
    cross, r = k(X, at), y - kernel["mean"]
    solved = solve(K, np.column_stack([r, cross]))
    alpha, gains = solved[:, 0], solved[:, 1:]
    slope = cross[:, :, None] * (X[:, None] - at) / ell**2
    mean, variance = kernel["mean"] + alpha @ cross, kernel["outputscale"] - (cross * gains).sum(0)
    over_mean = np.einsum("n,nqd->qd", alpha, slope)
    return mean, variance, over_mean, -2 * np.einsum("nq,nqd->qd", gains, slope)


def only(which, i):
    """Slopes over moments of what is the mean (0) or the variance (1) of column i."""

    def over(means, variances):
        weights = torch.zeros((2, *means.shape), dtype=torch.float64)
        weights[which, i] = 1.0
        return weights[0], weights[1]

    return over


def errors(found, at, noise):
    """Of ours and of the posteriors, in shares of the largest entry: (columns, 4) each."""
    joint, worst = JointRBF(found), []
    means, variances = joint(at)
    for i, (posterior, kernel) in enumerate(zip(found, KERNELS, strict=True)):
        ours = means[i], variances[i], *(joint.slopes(at, only(which, i)) for which in (0, 1))
        theirs = *posterior(at), *posterior.slopes(at)
        for a, b, c in zip(ours, theirs, exact(posterior, kernel, noise, at), strict=True):
            worst.append([np.abs(each.numpy() - c).max() / np.abs(c).max() for each in (a, b)])
    return np.array(worst, dtype=float).T.reshape(2, -1, 4)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("noise", [0.01, 1e-5])
def test_moments_and_slopes_are_exact(place, noise):
    """Nearer than the posteriors at points of the data, where GPyTorch's distances lack slopes."""
    X, values, at = data(place)
    ours, theirs = errors(posteriors(X, values, noise), at, noise)
    assert (ours <= 3 * theirs + 1e-11).all()
    assert (ours < (1e-10 if noise == 0.01 else 1e-7)).all()
    assert (theirs[:, :2] < (1e-10 if noise == 0.01 else 1e-7)).all()


def test_a_variance_at_rounding_has_no_slope():
    """A datum with next to no noise: what is left there is below rounding."""
    X = torch.zeros((1, 2), dtype=torch.float64)
    y = torch.ones(1, dtype=torch.float64)
    joint = JointRBF([Posterior.of(known(KERNELS[0], 1e-18), X, y)])
    at = torch.tensor([[0.0, 0.0], [1e-9, 0.0], [0.3, 0.0]], dtype=torch.float64)
    _, variances = joint(at)
    assert_array_equal(variances[0, :2], [ROUNDING * 1.3] * 2)

    def over(means, variances):
        return torch.zeros_like(means), torch.ones_like(variances)

    slopes = joint.slopes(at, over)
    assert_array_equal(slopes[:2], np.zeros((2, 2)))
    assert slopes[2, 0] > 0.1


def model(mean=None):
    return isotropic(lengthscale=0.7, outputscale=1.3, noise=0.01, mean=mean, **PRIORS)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mean", [None, 0.3])
def test_the_evidence_and_its_slopes_are_those_of_the_graph(place, mean):
    X, values, _ = data(place)
    for y in values.T:
        ours, theirs = (kind(model(mean), X, y) for kind in (ScaleTarget, Target))
        start = ours.read()
        for theta in (start, start + 0.5, start - 1.0):
            (value, slopes), (expected, expected_slopes) = ours.loss(theta), theirs.loss(theta)
            assert_allclose(value, expected, rtol=1e-10)
            assert_allclose(slopes, expected_slopes, rtol=1e-8, atol=1e-10)


def test_a_length_scale_for_each_coordinate_is_refused():
    free = copy.deepcopy(known(KERNELS[1], 0.01))
    free.free = ("kernel.raw_outputscale",)
    X, values, _ = data(spread)
    with pytest.raises(ValueError, match="expected a model with one length-scale, got one for"):
        ScaleTarget(free, X, values[:, 0])


@pytest.mark.parametrize("place", PLACES)
def test_they_stay_so_while_two_hundred_rows_are_told_one_by_one(place):
    X, values, at = data(place, 240)
    grown = posteriors(X[:40], values[:40], 0.01)
    for n in range(40, 240):
        grown = [p.extend(X[n : n + 1], values[n : n + 1, i]) for i, p in enumerate(grown)]
    ours, theirs = errors(grown, at, 0.01)
    assert (ours <= 3 * theirs + 1e-11).all() and (ours < 1e-9).all()
    whole = JointRBF(posteriors(X, values, 0.01))
    for ours, theirs in zip(JointRBF(grown)(at), whole(at), strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
