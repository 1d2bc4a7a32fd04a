"""Models against the libraries whose defaults they are, and the fast Matern kernel against the slow
ones.
"""

import copy
import pickle

import numpy as np
import pytest
import torch
from botorch.models.utils.gpytorch_modules import (
    get_gaussian_likelihood_with_gamma_prior,
    get_matern_kernel_with_gamma_prior,
)
from gpytorch.kernels import AdditiveKernel, MaternKernel, ScaleKernel
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.gaussian_process.kernels import Matern
from skopt.utils import cook_estimator

from algorithms.parts.kernels import Matern52, bounded, gamma_priors, scikit_optimize

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


def test_matern_by_hand():
    kernel = Matern52().double()
    kernel.lengthscale = 2.0
    zero, one = torch.zeros((1, 1), dtype=torch.float64), torch.ones((1, 1), dtype=torch.float64)
    assert_allclose(kernel(zero, one).to_dense().detach(), [[0.828649]], rtol=1e-6)  # r = sqrt(5)/2


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


def test_the_slopes_of_matern_are_those_of_gpytorch():
    ours, theirs = pair(3)
    weights = torch.from_numpy(np.random.default_rng(2).standard_normal((12, 9)))
    slopes = []
    for kernel in (ours, theirs):
        A, B = points(12, 3).requires_grad_(), points(9, 3, seed=1).requires_grad_()
        total = (weights * kernel(A, B).to_dense()).sum()
        slopes.append(torch.autograd.grad(total, [A, B, kernel.raw_lengthscale]))
    for our, their in zip(*slopes, strict=True):
        assert_allclose(our, their, rtol=1e-9, atol=1e-12)


def test_the_slopes_of_matern_are_finite_and_zero_where_points_coincide():
    A = points(4, 2).requires_grad_()
    kernel = Matern52(ard_num_dims=2).double()
    (slope,) = torch.autograd.grad(kernel(A, A.detach()).to_dense().diagonal().sum(), A)
    assert_allclose(slope, 0.0, atol=1e-14)


def test_a_tiny_length_scale_does_not_separate_points_that_share_the_coordinate():
    """Queries on the faces of the box share coordinates exactly; a search over length-scales looks
    at very small ones.
    """
    draw = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 15), draw.random((30, 3))])
    kernel = Matern52(ard_num_dims=4)
    kernel.lengthscale = torch.tensor([[1e-8, 0.5, 0.5, 0.5]], dtype=torch.float64)
    K = kernel.double()(torch.from_numpy(X), torch.from_numpy(X)).to_dense().detach().numpy()
    expected = Matern([0.5] * 3, nu=2.5)(X[:, 1:]) * (X[:, :1] == X[:, 0])
    assert_allclose(K, expected, atol=1e-12)


def test_matern_works_inside_other_kernels():
    kernel = AdditiveKernel(*[ScaleKernel(Matern52(active_dims=[i])) for i in (0, 2)]).double()
    same = AdditiveKernel(
        *[ScaleKernel(MaternKernel(nu=2.5, active_dims=[i])) for i in (0, 2)]
    ).double()
    A = points(7, 3)
    assert_allclose(
        kernel(A[:6].reshape(2, 3, 3)).to_dense().detach(),
        same(A[:6].reshape(2, 3, 3)).to_dense().detach(),
    )
    assert_allclose(kernel(A).to_dense().detach(), same(A).to_dense().detach(), atol=1e-14)


def test_gamma_priors_are_botorchs():
    model, kernel = gamma_priors(3), get_matern_kernel_with_gamma_prior(3)
    likelihood = get_gaussian_likelihood_with_gamma_prior()
    for ours, theirs in ((model.kernel.base_kernel, kernel.base_kernel), (model.kernel, kernel)):
        prior = next(iter(ours._priors.values()))[0], next(iter(theirs._priors.values()))[0]
        assert_allclose(prior[0].concentration, prior[1].concentration)
        assert_allclose(prior[0].rate, prior[1].rate, rtol=1e-7)
    # the same start
    assert_allclose(model.kernel.outputscale, kernel.outputscale.detach(), rtol=1e-6)
    assert_allclose(
        model.kernel.base_kernel.lengthscale, kernel.base_kernel.lengthscale.detach(), rtol=1e-6
    )
    assert_allclose(model.noise, likelihood.noise.detach(), rtol=1e-6)
    assert_allclose(model.likelihood.noise_covar.raw_noise_constraint.lower_bound, 1e-4, rtol=1e-7)


def test_the_log_prior_is_the_sum_of_gamma_densities():
    model = gamma_priors(2)
    values = {
        "kernel.base_kernel.lengthscale": [0.3, 0.8],
        "kernel.outputscale": 2.0,
        "likelihood.noise": 0.01,
    }
    model.initialize(
        **{name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}
    )
    expected = stats.gamma(3, scale=1 / 6).logpdf([0.3, 0.8]).sum() + stats.gamma(
        2, scale=1 / 0.15
    ).logpdf(2.0)
    assert_allclose(
        model.log_prior(), expected + stats.gamma(1.1, scale=1 / 0.05).logpdf(0.01), rtol=1e-12
    )
    assert bounded(2, **RANGES).log_prior() == 0


def test_the_bounds_are_those_of_scikit_optimize():
    model, regressor = scikit_optimize(2), cook_estimator("GP", space=[(0.0, 1.0)] * 2)
    constant, matern = regressor.kernel.k1, regressor.kernel.k2
    scale, length = (
        model.kernel.raw_outputscale_constraint,
        model.kernel.base_kernel.raw_lengthscale_constraint,
    )
    assert_allclose([scale.lower_bound, scale.upper_bound], constant.constant_value_bounds)
    assert_allclose([[length.lower_bound, length.upper_bound]] * 2, matern.length_scale_bounds)
    assert_array_equal(model.kernel.base_kernel.lengthscale[0], matern.length_scale)
    assert model.kernel.outputscale == constant.constant_value == model.noise == 1.0
    assert (matern.nu, regressor.n_restarts_optimizer, regressor.normalize_y, regressor.noise) == (
        2.5,
        2,
        True,
        "gaussian",
    )


def test_a_range_out_of_order_is_refused():
    with pytest.raises(
        ValueError, match=r"expected 0 <= least <= first <= largest value, got 1\.0, 0\.5, 2\.0"
    ):
        bounded(2, **{**RANGES, "noise": (1.0, 0.5, 2.0)})


@pytest.mark.parametrize("model", [gamma_priors(3), scikit_optimize(3), bounded(3, **RANGES)])
def test_a_model_at_rest_needs_no_gradient_and_travels(model):
    A = points(5, 3)
    assert not model.covariance(A, A).requires_grad
    assert_array_equal(model.variance(A), model.covariance(A, A).diagonal())
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_array_equal(twin.covariance(A, A), model.covariance(A, A))
        assert twin.free == model.free
