"""GP-EI, GP-PI and GP-UCB against the libraries whose defaults they run: posterior, acquisition
value, maximum found.
"""

import warnings
from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import (
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from numpy.testing import assert_allclose
from skopt import Optimizer as Skopt
from skopt.acquisition import gaussian_ei, gaussian_lcb, gaussian_pi
from skopt.learning import GaussianProcessRegressor
from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern

from algorithms.api import Box, Observation
from algorithms.gp_acquisition import GPAcquisition, InputSettings
from algorithms.parts.processes.fitting import MaternTarget
from algorithms.parts.search.acquisition import log_ei, log_pi, ucb
from algorithms.parts.search.closed_matern import MaternPromise
from algorithms.parts.search.maximise import ClimbSettings

XI, BETA = 0.01, 1.96**2
EI = partial(GPAcquisition, acquisition="ei")
PI = partial(GPAcquisition, acquisition="pi")
UCB = partial(GPAcquisition, acquisition="ucb", exploration=BETA)
KINDS = {
    "EI": (
        partial(EI, exploration=XI),
        log_ei,
        LogExpectedImprovement,
        partial(gaussian_ei, xi=XI),
    ),
    "PI": (
        partial(PI, exploration=XI),
        log_pi,
        LogProbabilityOfImprovement,
        partial(gaussian_pi, xi=XI),
    ),
    "LCB": (UCB, ucb, UpperConfidenceBound, partial(gaussian_lcb, kappa=1.96)),
}
SEARCH = {"climb": ClimbSettings(raw=256, starts=5, steps=100)}


def wavy(x):
    return 10 + 3 * np.sin(6 * x[:, 0]) * np.cos(3 * x[:, 1]) - 4 * ((x - 0.4) ** 2).sum(1)


def told(kind, surrogate, n=15, d=3, seed=0, repetitions="repeat"):
    rng = np.random.default_rng(seed)
    build = KINDS[kind][0]
    optimizer = build(
        Box(d), np.random.default_rng(seed), surrogate=surrogate, repetitions=repetitions, **SEARCH
    )
    x = rng.random((n, d))
    optimizer.tell(x, Observation.of(wavy(x) + 0.05 * rng.standard_normal(n)))
    return optimizer


def promise(kind, optimizer, x):
    """What our acquisition function says of points x (q, d)."""
    posterior, units = optimizer.fitted.posterior, optimizer.fitted.units
    aim = BETA if kind == "LCB" else units(optimizer.y.max() + XI)
    return KINDS[kind][1](*posterior(torch.from_numpy(x)), aim).numpy()


def in_botorch(optimizer):
    """The same model with the same parameters as BoTorch's class has it."""
    posterior = optimizer.fitted.posterior
    model = SingleTaskGP(
        posterior.X,
        posterior.y[:, None],
        covar_module=posterior.model.kernel,
        likelihood=posterior.model.likelihood,
        mean_module=posterior.model.mean,
        outcome_transform=None,
    )
    return model.eval()


def in_skopt(optimizer):
    """The same model with the same parameters as scikit-optimize's class has it, of -y, which it
    minimises.
    """
    model = optimizer.fitted.posterior.model
    lengthscale = model.kernel.base_kernel.lengthscale[0].numpy()
    kernel = ConstantKernel(model.kernel.outputscale.item()) * Matern(lengthscale, nu=2.5)
    return GaussianProcessRegressor(
        kernel, noise=model.noise.item(), normalize_y=True, optimizer=None, alpha=0.0
    )


@pytest.mark.parametrize("kind", KINDS)
def test_posterior_promise_and_maximum_are_botorchs(kind):
    optimizer, x = told(kind, "gamma-priors"), np.random.default_rng(1).random((50, 3))
    model = in_botorch(optimizer)
    theirs = model.posterior(torch.from_numpy(x))
    mean, variance = optimizer.fitted.posterior(torch.from_numpy(x))
    assert_allclose(mean, theirs.mean[:, 0].detach(), atol=1e-8)
    assert_allclose(variance, theirs.variance[:, 0].detach(), atol=1e-8)
    aim = BETA if kind == "LCB" else float(optimizer.fitted.units(optimizer.y.max() + XI))
    acquisition = KINDS[kind][2](model, torch.tensor(aim, dtype=torch.float64))
    assert_allclose(
        promise(kind, optimizer, x),
        acquisition(torch.from_numpy(x)[:, None]).detach(),
        rtol=1e-7,
        atol=1e-8,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        bounds = torch.tensor([[0.0] * 3, [1.0] * 3], dtype=torch.float64)
        _, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=5, raw_samples=256)
    assert promise(kind, optimizer, optimizer.ask(1, optimizer.x[:0]))[0] >= value.item() - 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_posterior_promise_and_maximum_are_scikit_optimizes(kind):
    optimizer, x = told(kind, "scikit-optimize"), np.random.default_rng(1).random((50, 3))
    regressor, units = in_skopt(optimizer).fit(optimizer.x, -optimizer.y), optimizer.fitted.units
    theirs, deviation = regressor.predict(x, return_std=True)
    mean, variance = optimizer.fitted.posterior(torch.from_numpy(x))
    assert_allclose(mean * units.spread + units.centre, -theirs, atol=1e-7)
    assert_allclose(variance.sqrt() * units.spread, deviation, atol=1e-6)
    values = KINDS[kind][3](
        x, regressor, **({} if kind == "LCB" else {"y_opt": -optimizer.y.max()})
    )
    ours = promise(kind, optimizer, x)
    expected = {
        "EI": np.exp(ours) * units.spread,
        "PI": np.exp(ours),
        "LCB": -(units.centre + ours * units.spread),
    }[kind]
    assert_allclose(values, expected, rtol=1e-5, atol=1e-9)
    library = Skopt(
        [(0.0, 1.0)] * 3, in_skopt(optimizer), n_initial_points=0, acq_func=kind, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.tell(optimizer.x.tolist(), (-optimizer.y).tolist())
        found = np.array([library.ask()])
    query = optimizer.ask(1, optimizer.x[:0])
    assert promise(kind, optimizer, query)[0] >= promise(kind, optimizer, found)[0] - 1e-6


def test_a_repetition_is_replaced_where_the_library_does():
    optimizer = told("EI", "gamma-priors", repetitions="replace")
    asked = optimizer.ask(1, optimizer.x[:0])
    for again in ("replace", "repeat"):
        optimizer = told("EI", "gamma-priors", repetitions=again)
        optimizer.x = np.concatenate([optimizer.x, asked])  # seen, but not learnt from
        assert (again == "repeat") == np.array_equal(optimizer.ask(1, optimizer.x[:0]), asked)


@pytest.mark.parametrize("kind", KINDS)
def test_a_printed_box_and_raw_values_are_what_the_regression_sees(kind):
    """Standardised values on the unit cube are the scaled method; any other box or unit is not."""
    x = np.random.default_rng(2).random((15, 3))
    y = wavy(x)
    y = (y - y.mean()) / y.std(ddof=1)
    queries = {}
    for name, surrogate, inputs, scale in (
        ("scaled", "gamma-priors", InputSettings(0.0, 1.0), 1.0),
        ("raw", "gamma-priors-raw", InputSettings(0.0, 1.0), 1.0),
        ("box", "gamma-priors-raw", InputSettings(-5.0, 5.0), 1.0),
        ("values", "gamma-priors-raw", InputSettings(0.0, 1.0), 100.0),
    ):
        build = partial(KINDS[kind][0], surrogate=surrogate, repetitions="repeat", inputs=inputs)
        optimizer = build(Box(3), np.random.default_rng(0), **SEARCH)
        optimizer.tell(x, Observation.of(scale * y))
        queries[name] = optimizer.ask(1, x[:0])
        seen = optimizer.fitted.posterior
        assert_allclose(seen.X, inputs.low + (inputs.high - inputs.low) * x)
        assert_allclose(seen.y, scale * y, atol=1e-12)
    assert_allclose(queries["raw"], queries["scaled"], atol=1e-6)
    assert np.abs(queries["box"] - queries["scaled"]).max() > 0.01
    assert np.abs(queries["values"] - queries["scaled"]).max() > 0.01


def test_a_step_evaluates_a_kernel_once_for_each_fit_step_and_each_round_of_climbs(work, count):
    """And factorises once for each fit step, and once for the posterior: climbs factorise
    nothing.
    """
    calls = Counter()
    count(calls, MaternTarget, "loss")
    count(calls, MaternPromise, "__call__")
    count(calls, MaternPromise, "with_slopes")
    optimizer = told("EI", "gamma-priors", n=40, d=6)
    assert calls["loss"] > 5 and calls["with_slopes"] == 0
    assert work == {"kernel": calls["loss"] + 1, "factor": calls["loss"] + 1}
    work.clear()
    optimizer.ask(1, optimizer.x[:0])
    assert calls["__call__"] == 1 and calls["with_slopes"] > 5  # candidates, then rounds
    assert work == {"kernel": 1 + calls["with_slopes"]}


@pytest.mark.parametrize("surrogate", ["gamma-priors", "scikit-optimize"])
def test_without_a_margin_the_scale_of_y_is_no_matter(surrogate):
    queries = []
    for scale, shift in ((1.0, 0.0), (1e3, -5e3)):
        optimizer = UCB(
            Box(2), np.random.default_rng(0), surrogate=surrogate, repetitions="repeat", **SEARCH
        )
        x = np.random.default_rng(1).random((12, 2))
        optimizer.tell(x, Observation.of(scale * wavy(x) + shift))
        queries.append(optimizer.ask(1, optimizer.x[:0]))
    assert_allclose(*queries, atol=1e-3)
