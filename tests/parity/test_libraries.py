"""GP-EI, GP-PI and GP-UCB beside BoTorch, on the printed box as the default has it, and beside
scikit-optimize, under the reading of its name: given the same data and parameters the same
posterior, the same acquisition values and the same run; fitted, no less evidence.

The numbers in oracles/ are those of the libraries. Where one is installed they are made again.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.api import Observation
from algorithms.parts.processes.gp import log_evidence
from algorithms.parts.processes.kernels import Model, gamma_priors, scikit_optimize
from tests.parity import gp_cases
from tests.parity.divergence import assert_same_run
from tests.parity.gp_cases import CASES, RUN, Case

BETA, XI, KAPPA = 0.1, 0.01, 1.96
ACQUISITIONS = ("ei", "pi", "ucb")


@dataclass(frozen=True)
class Library:
    """A library, and how our method is told to do what it does."""

    surrogate: str
    exploration: Mapping[str, float]  # by acquisition
    inputs: Callable  # the box that the regression sees
    known: Callable[[Case], Model]  # with the hyperparameters of a case
    runs: Mapping[str, str]  # by acquisition: the stored run
    deviation: float  # the relative error of a deviation that is no difference


LIBRARIES = {
    "botorch": Library(
        "gamma-priors-raw",
        {"ei": 0.0, "pi": 0.0, "ucb": BETA},
        lambda case: {"inputs": {"low": case.low, "high": case.high}},
        lambda case: gp_cases.given(gamma_priors(case.d), case.given),
        {"ei": "log_ei", "pi": "log_pi", "ucb": "ucb"},
        5e-9,
    ),
    "skopt": Library(
        "scikit-optimize",
        {"ei": XI, "pi": XI, "ucb": KAPPA**2},
        lambda case: {},
        lambda case: gp_cases.given(scikit_optimize(case.d), gp_cases.scaled(case)),
        {"ei": "ei", "pi": "pi", "ucb": "ucb"},
        1e-7,
    ),
}
STORED = {
    name: json.loads((gp_cases.ORACLES / f"{name}.json").read_text(encoding="utf-8"))
    for name in LIBRARIES
}
EVERY = [(name, case) for name in LIBRARIES for case in CASES]


def method(name, case, acquisition):
    """The method of the paper that does what a library does, told nothing yet."""
    library = LIBRARIES[name]
    exploration, inputs = library.exploration[acquisition], library.inputs(case)
    return gp_cases.optimizer(case, library.surrogate, acquisition, exploration, **inputs)


def told(optimizer, case):
    x, y = case.data()
    optimizer.tell(x, Observation.of(y))
    return optimizer


def known(name, case, acquisition):
    """The method after the data of a case, with its hyperparameters."""
    model = LIBRARIES[name].known(case)
    return told(gp_cases.learns(method(name, case, acquisition), model), case)


@pytest.mark.parametrize(("name", "data"), EVERY)
def test_mean_and_variance_are_the_librarys(name, data):
    case, theirs = CASES[data], STORED[name]["cases"][data]
    optimizer = known(name, case, "ei")
    mean, variance = optimizer.fitted.posterior(optimizer.inputs(torch.from_numpy(case.points())))
    units, scale = optimizer.fitted.units, np.ptp(case.data()[1])
    deviation = theirs["deviation"] if "deviation" in theirs else np.sqrt(theirs["variance"])
    assert_allclose(
        units.centre + units.spread * mean, theirs["mean"], rtol=1e-9, atol=1e-10 * scale
    )
    assert_allclose(
        units.spread * variance.sqrt(), deviation, rtol=LIBRARIES[name].deviation, atol=0
    )
    assert np.std(theirs["mean"]) > 0.01 * scale  # there is something to compare


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize(("name", "data"), EVERY)
def test_the_acquisition_function_is_the_librarys(name, data, acquisition):
    """What `ask` maximises is a logarithm of EI and PI in the units of the regression."""
    case, theirs = CASES[data], STORED[name]["cases"][data]
    optimizer = known(name, case, acquisition)
    units, aim = optimizer.fitted.units, optimizer.exploration
    if acquisition != "ucb":
        aim = float(units(optimizer.y.max() + aim))
    X = optimizer.inputs(torch.from_numpy(case.points()))
    ours = optimizer.acquisition.value(*optimizer.fitted.posterior(X), aim).numpy()
    if f"log_{acquisition}" in theirs:
        assert_allclose(ours, theirs[f"log_{acquisition}"], rtol=1e-7, atol=1e-8)
    if acquisition == "ucb":
        assert_allclose(units.centre + units.spread * ours, theirs["ucb"], rtol=1e-9, atol=1e-9)
    else:
        ours = np.exp(ours) * (units.spread if acquisition == "ei" else 1.0)
        assert_allclose(ours, theirs[acquisition], rtol=1e-6, atol=1e-12)


def density(model, X, y):
    return (log_evidence(model, X, y) + model.log_prior()).item()


@pytest.mark.parametrize("name", CASES)
def test_the_fit_starts_where_botorchs_does_and_ends_no_lower(name):
    case, theirs = CASES[name], STORED["botorch"]["cases"][name]["fit"]
    x, y = case.data()
    X, u = torch.from_numpy(case.printed(x)), torch.from_numpy(y)
    assert_allclose(density(gamma_priors(case.d), X, u), theirs["start"], rtol=1e-6)
    posterior = told(method("botorch", case, "ei"), case).fitted.posterior
    assert_allclose(posterior.X, X)
    assert_allclose(posterior.y, y)
    assert density(posterior.model, X, u) >= theirs["density"] - 1e-3
    found = gp_cases.given(gamma_priors(case.d), gp_cases.Hyperparameters(**theirs["found"]))
    assert_allclose(density(found, X, u), theirs["density"], atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_the_fit_ends_no_lower_than_scikit_optimizes(name):
    evidence = STORED["skopt"]["cases"][name]["fit"]["evidence"]
    fitted = told(method("skopt", CASES[name], "ei"), CASES[name]).fitted
    assert fitted.posterior.log_evidence >= evidence - 1e-3


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_run_takes_the_librarys_queries(name, acquisition, monkeypatch):
    case, library = CASES[RUN], LIBRARIES[name]
    optimizer = gp_cases.learns(method(name, case, acquisition), library.known(case))
    theirs = STORED[name]["runs"][library.runs[acquisition]]
    assert_same_run(theirs, gp_cases.run(case, optimizer, monkeypatch))


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_stored_numbers_are_those_of_the_installed_library(name):
    pytest.importorskip(name, reason=f"{name} is not installed: its stored numbers are used")
    made, stored = import_module(f"tests.parity.{name}_oracle").made(), STORED[name]
    assert made["runs"] == stored["runs"]
    for case, theirs in stored["cases"].items():
        ours = made["cases"][case]
        for key in theirs.keys() - {"fit"}:
            assert_allclose(ours[key], theirs[key], rtol=1e-6, atol=1e-9)
        near = {"start": 1e-6, "density": 0.01 * CASES[case].n, "evidence": 0.1}
        for key in near.keys() & theirs["fit"].keys():
            assert_allclose(ours["fit"][key], theirs["fit"][key], rtol=0, atol=near[key])
