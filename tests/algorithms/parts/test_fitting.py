"""What a fit maximises, where it ends and what it leaves alone; tests/parity has the libraries."""

import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.processes.dimension_scaled import dimension_scaled
from algorithms.parts.processes.fitting import (
    LBFGS,
    LOGARITHM,
    SOFTPLUS,
    Adam,
    MaternTarget,
    Target,
    fit,
)
from algorithms.parts.processes.gp import log_evidence
from algorithms.parts.processes.kernels import Model, bounded, gamma_priors, scikit_optimize
from tests.algorithms.grouped import rng

RANGES = {
    "lengthscale": (0.05, 2.0, 4.0),
    "outputscale": (0.05, 1.0, 20.0),
    "noise": (1e-6, 1e-3, 1.0),
}


def tensors(n, d, seed=0):
    draw = rng(seed)
    x = draw.random((n, d))
    y = np.sin(5 * x[:, 0]) + (x**2).sum(1) + 0.05 * draw.standard_normal(n)
    return torch.from_numpy(x), torch.from_numpy((y - y.mean()) / y.std())


def density(model, X, y):
    return (log_evidence(model, X, y) + model.log_prior()).item()


@pytest.mark.parametrize("method", [LBFGS(), LBFGS(steps=5), Adam(0.1, 30)])
def test_a_fit_climbs_and_leaves_its_argument_alone(method):
    model, (X, y) = gamma_priors(3), tensors(25, 3)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    fitted = fit(model, X, y, method, rng())
    assert density(fitted, X, y) > density(model, X, y) + 1
    for name, parameter in model.named_parameters():
        assert_array_equal(parameter, before[name])
        assert not parameter.requires_grad and not fitted.get_parameter(name).requires_grad


@pytest.mark.parametrize("chart", [LOGARITHM, SOFTPLUS])
def test_a_chart_tells_positive_values_by_numbers_without_bounds(chart):
    values = np.array([1e-8, 0.3, 1.0, 50.0, 800.0])
    numbers = chart.number(values)
    assert_allclose(chart.value(numbers), values, rtol=1e-9)
    step = 1e-6
    slopes = (chart.value(numbers + step) - chart.value(numbers - step)) / (2 * step)
    assert_allclose(chart.slope(numbers, values), slopes, rtol=1e-6)
    assert_allclose(SOFTPLUS.value(np.zeros(1)), np.log(2))


@pytest.mark.parametrize("chart", [LOGARITHM, SOFTPLUS], ids=["logarithm", "softplus"])
@pytest.mark.parametrize("shared", [False, True], ids=["a scale a variable", "one scale"])
@pytest.mark.parametrize("build", [gamma_priors, scikit_optimize, dimension_scaled])
def test_the_closed_form_is_the_graph(build, shared, chart):
    X, y = tensors(40, 6)
    model = build(6)
    if shared:
        matern = model.kernel.base_kernel
        matern.raw_lengthscale = torch.nn.Parameter(torch.full((1, 1), 0.8, dtype=torch.float64))
    assert MaternTarget.suits(model)
    closed, graph = MaternTarget(model, X, y, chart), Target(model, X, y, chart)
    theta = graph.read() + 0.1 * rng(3).standard_normal(len(graph.low))
    for ours, theirs in zip(closed.loss(theta), graph.loss(theta), strict=True):
        assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_a_prior_of_what_is_known_has_no_say():
    X, y = tensors(20, 2)
    model = gamma_priors(2)
    model.likelihood.noise_covar.raw_noise.requires_grad_(False)
    model = Model(model.mean, model.kernel.requires_grad_(), model.likelihood)
    closed, graph = MaternTarget(model, X, y), Target(model, X, y)
    assert "likelihood.noise_covar.raw_noise" not in model.free
    assert_allclose(closed.loss(graph.read())[1], graph.loss(graph.read())[1], rtol=1e-10)


def test_another_kernel_or_prior_goes_the_way_of_the_graph():
    kernel = ScaleKernel(RBFKernel())
    assert not MaternTarget.suits(Model(ZeroMean(), kernel, GaussianLikelihood()))


def test_restarts_find_what_one_start_misses():
    X, y = tensors(12, 2, seed=5)
    ends = [density(fit(scikit_optimize(2), X, y, LBFGS(restarts=k), rng(3)), X, y) for k in (0, 4)]
    assert ends[1] >= ends[0]
    target = Target(bounded(2, **RANGES), X, y)
    drawn = np.array([target.draw(rng(seed)) for seed in range(50)])
    assert (drawn >= target.low).all() and (drawn <= target.high).all()
    assert_array_equal(drawn[:, ~target.positive], 0.0)  # the mean has no bounds
    assert np.ptp(drawn[:, target.positive], axis=0).min() > 2


def test_a_model_that_is_known_is_not_fitted():
    kernel = ScaleKernel(RBFKernel()).requires_grad_(False)
    model = Model(ZeroMean(), kernel, GaussianLikelihood().requires_grad_(False))
    assert model.free == ()
    said = "expected a model with free parameters, got one whose parameters are all known"
    with pytest.raises(ValueError, match=said):
        fit(model, *tensors(5, 2), LBFGS(), rng())


def test_a_parameter_behind_a_softplus_is_refused():
    model = Model(ZeroMean(), RBFKernel(), GaussianLikelihood())
    said = "raw_lengthscale: expected a constraint without a transform"
    with pytest.raises(ValueError, match=said):
        fit(model, *tensors(5, 2), LBFGS(), rng())


@pytest.mark.parametrize("method", [LBFGS(restarts=2), Adam(0.5, 40)])
def test_parameters_stay_between_their_bounds(method):
    X, y = tensors(10, 2)
    y = 5.0 * (torch.arange(10) == 3).double()  # one spike: everything runs to a bound
    fitted = fit(bounded(2, **RANGES), X, y, method, rng())
    for value, (low, _, high) in (
        (fitted.kernel.base_kernel.lengthscale, RANGES["lengthscale"]),
        (fitted.kernel.outputscale, RANGES["outputscale"]),
        (fitted.noise, RANGES["noise"]),
    ):
        # bounds are of single precision
        assert (value >= low * (1 - 1e-6)).all() and (value <= high * (1 + 1e-6)).all()


@pytest.mark.parametrize("build", [gamma_priors, scikit_optimize])
@pytest.mark.parametrize("y", [[0.0], [0.0, 0.0, 0.0], [1.0, -1.0, 0.0]])
def test_little_or_constant_data_are_survived(build, y):
    X, y = torch.full((len(y), 2), 0.5, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)
    fitted = fit(build(2), X, y, LBFGS(restarts=2 * (build is scikit_optimize)), rng())
    assert all(torch.isfinite(parameter).all() for parameter in fitted.parameters())


def test_what_is_not_finite_is_refused():
    X, y = tensors(10, 2)
    with pytest.raises(ArithmeticError, match="expected finite data, got inf or nan: look at what"):
        fit(gamma_priors(2), X, torch.full_like(y, np.nan), LBFGS(), rng())
    said = r"evidence nan at the parameters .*: standardise y, or narrow"
    with pytest.raises(ArithmeticError, match=said):
        fit(gamma_priors(2), X, y * 1e200, LBFGS(steps=1), rng())


def test_a_maximum_is_flat():
    model, (X, y) = gamma_priors(2), tensors(40, 2)
    target = Target(fit(model, X, y, LBFGS(), rng()), X, y)
    assert np.abs(target.loss(target.read())[1]).max() < 1e-4
