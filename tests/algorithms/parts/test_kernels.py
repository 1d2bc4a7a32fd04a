"""Models against the libraries whose defaults they are, and fast Matern kernels against slow."""

import copy
import pickle

import numpy as np
import pytest
import torch
from botorch.models.utils.gpytorch_modules import get_gaussian_likelihood_with_gamma_prior
from gpytorch.kernels import MaternKernel
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern
from skopt.utils import cook_estimator

from algorithms.parts.processes import kernels
from algorithms.parts.processes.kernels import (
    Matern52,
    bounded,
    gamma_priors,
    matern52,
    scikit_optimize,
    square_distances,
)

RANGES = {
    "lengthscale": (0.005, 2.0, 4.0),
    "outputscale": (0.05, 1.0, 20.0),
    "noise": (1e-8, 5e-4, 1e-3),
}


def points(n, d, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).random((n, d)))


def pair(d):
    """Our Matern-5/2 and GPyTorch's with the same length-scales."""
    ours, theirs = Matern52(ard_num_dims=d).double(), MaternKernel(nu=2.5, ard_num_dims=d).double()
    for kernel in (ours, theirs):
        kernel.lengthscale = torch.linspace(0.2, 1.5, d)[None]
    return ours, theirs


@pytest.mark.parametrize("d", [1, 5])
def test_matern_is_that_of_other_libraries(d):
    ours, theirs = pair(d)
    A, B = points(30, d), points(20, d, seed=1) + 5.0
    assert_allclose(
        ours(A, B).to_dense().detach(), theirs(A, B).to_dense().detach(), rtol=1e-10, atol=1e-14
    )
    sklearn = Matern(ours.lengthscale[0].detach().numpy(), nu=2.5)
    assert_allclose(ours(A).to_dense().detach(), sklearn(A.numpy()), atol=1e-14)
    assert_array_equal(ours(A, diag=True).detach(), np.ones(30))


@pytest.mark.parametrize("block", [2**17, 2**12])
@pytest.mark.parametrize(("n", "m", "d"), [(12, 9, 3), (250, None, 6), (250, 200, 6)])
def test_matern_and_its_slopes_are_those_of_gpytorch(n, m, d, block, monkeypatch):
    """Of a matrix of points with others, and with themselves, in one block and in several."""
    monkeypatch.setattr(kernels, "BLOCK", block)
    weights = torch.from_numpy(np.random.default_rng(2).standard_normal((n, m or n)))
    found = []
    for kernel in pair(d):
        A = points(n, d).requires_grad_()
        others = [] if m is None else [points(m, d, seed=1).requires_grad_()]
        K = kernel(A, *others).to_dense()
        slopes = torch.autograd.grad((weights * K).sum(), [A, *others, kernel.raw_lengthscale])
        found.append([K.detach(), *slopes])
    for our, their in zip(*found, strict=True):
        assert_allclose(our, their, rtol=1e-9, atol=1e-10)


def test_the_slopes_of_matern_are_finite_and_zero_where_points_coincide():
    A = points(4, 2).requires_grad_()
    kernel = Matern52(ard_num_dims=2).double()
    (slope,) = torch.autograd.grad(kernel(A, A.detach()).to_dense().diagonal().sum(), A)
    assert_allclose(slope, 0.0, atol=1e-14)


def uniform(draw):
    return draw.random((150, 20))


def clustered(draw):
    """Five clusters that are 1e-9 wide, far from the origin; in each some points are repeated."""
    at = 1e3 + np.repeat(draw.random((5, 20)), 30, axis=0) + 1e-9 * draw.random((150, 20))
    at[::7] = at[1::7][: len(at[::7])]
    return at


def loose(draw):
    """Five clusters from 0.0001 to 0.03 wide: products of matrices would lose some digits."""
    width = np.repeat([1e-4, 1e-3, 3e-3, 1e-2, 3e-2], 30)[:, None]
    at = np.repeat(draw.random((5, 20)), 30, axis=0) + width * draw.random((150, 20))
    at[::7] = at[1::7][: len(at[::7])]
    return at


def on_faces(draw):
    """A tiny length-scale divides a coordinate that is 0 or 1: half of all pairs cancel."""
    at = draw.random((150, 20))
    at[:, 0] = 1e8 * (draw.random(150) < 0.5)
    return at


def nested(draw):
    """Distances from one another and from the mean that go over twelve orders of magnitude."""
    return 10.0 ** draw.uniform(-8, 4, (150, 1)) * draw.standard_normal((150, 20))


@pytest.mark.parametrize("block", [2**17, 2**12])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("layout", [uniform, clustered, loose, on_faces, nested])
def test_squared_distances_keep_their_digits(layout, symmetric, block, monkeypatch):
    """The relative error that `square_distances` states against differences in extended precision:
    2 u (3/NEAR + 2) is 8.0e-12 in 20 dimensions, with NEAR = 0.002.
    """
    monkeypatch.setattr(kernels, "BLOCK", block)
    draw = np.random.default_rng(0)
    A = layout(draw)
    B = A if symmetric else np.concatenate([layout(draw), A[:30]])
    found = np.full((len(A), len(B)), np.nan)
    for rows, columns, square in square_distances(
        torch.from_numpy(A), None if symmetric else torch.from_numpy(B)
    ):
        found[rows, columns] = square
    wide = A.astype(np.longdouble)[:, None] - B
    expected = (wide * wide).sum(-1).astype(float)
    inside = np.isfinite(found)
    assert inside[np.tril_indices(len(A))].all()
    assert inside.all() == (not symmetric or block == 2**17)
    error = np.abs(found - expected)[inside]
    assert (error <= 8.1e-12 * expected[inside]).all()
    assert (found[inside & (expected == 0)] == 0).all() and (expected == 0).any()


def test_the_least_noise_is_botorchs():
    """Priors and first values are compared in tests/parity."""
    theirs = get_gaussian_likelihood_with_gamma_prior().noise_covar.raw_noise_constraint
    ours = gamma_priors(3).likelihood.noise_covar.raw_noise_constraint
    assert_allclose(ours.lower_bound, theirs.lower_bound, rtol=1e-7)


def test_the_bounds_are_those_of_scikit_optimize():
    model, regressor = scikit_optimize(2), cook_estimator("GP", space=[(0.0, 1.0)] * 2)
    constant, matern = regressor.kernel.k1, regressor.kernel.k2
    scale = model.kernel.raw_outputscale_constraint
    length = model.kernel.base_kernel.raw_lengthscale_constraint
    assert_allclose([scale.lower_bound, scale.upper_bound], constant.constant_value_bounds)
    assert_allclose([[length.lower_bound, length.upper_bound]] * 2, matern.length_scale_bounds)
    assert_array_equal(model.kernel.base_kernel.lengthscale[0], matern.length_scale)
    assert model.kernel.outputscale == constant.constant_value == model.noise == 1.0
    assert (matern.nu, regressor.n_restarts_optimizer) == (2.5, 2)
    assert (regressor.normalize_y, regressor.noise) == (True, "gaussian")


def test_a_range_out_of_order_is_refused():
    said = r"expected 0 <= least <= first <= largest value, got 1\.0, 0\.5, 2\.0"
    with pytest.raises(ValueError, match=said):
        bounded(2, **{**RANGES, "noise": (1.0, 0.5, 2.0)})


def test_bounds_are_no_priors():
    assert bounded(2, **RANGES).log_prior() == 0


@pytest.mark.parametrize("model", [gamma_priors(3), scikit_optimize(3), bounded(3, **RANGES)])
def test_a_model_at_rest_needs_no_gradient_and_travels(model):
    A = points(5, 3)
    assert not model.covariance(A, A).requires_grad
    assert_array_equal(model.variance(A), model.covariance(A, A).diagonal())
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_array_equal(twin.covariance(A, A), model.covariance(A, A))
        assert twin.free == model.free


@pytest.mark.parametrize("block", [2**17, 2**12])
@pytest.mark.parametrize("seed", range(3))
def test_a_covariance_is_symmetric_to_the_last_bit(seed, block, monkeypatch):
    """Also where a pair is close by one row's threshold alone: a cluster beside spread points."""
    monkeypatch.setattr(kernels, "BLOCK", block)
    draw = np.random.default_rng(seed)
    cluster = draw.random(10) + 0.04 * draw.random((150, 10))
    K = matern52(torch.from_numpy(np.concatenate([draw.random((150, 10)), cluster])))
    assert_array_equal(K, K.T)
    assert_array_equal(K.diagonal(), 1.0)
