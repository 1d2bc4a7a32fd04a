"""GP-EI, GP-PI and GP-UCB on the printed box beside BoTorch: given the same data and parameters the
same posterior, the same acquisition values and the same run; fitted, no less evidence.

The numbers in oracles/botorch.json are BoTorch's. Where it is installed they are made again.
"""

import json
from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.api import Observation
from algorithms.parts.processes.gp import log_evidence
from algorithms.parts.processes.kernels import gamma_priors
from tests.parity import gp_cases
from tests.parity.divergence import assert_parts_at, assert_same_run
from tests.parity.gp_cases import CASES, RUN

BETA, LEAST_NOISE = 0.1, 1e-4
EXPLORATION = {"ei": 0.0, "pi": 0.0, "ucb": BETA}
STORED = json.loads((gp_cases.ORACLES / "botorch.json").read_text(encoding="utf-8"))


def method(case, acquisition, surrogate="gamma-priors-raw", **changes):
    """The paper's baseline as its default has it."""
    changes = {"inputs": {"low": case.low, "high": case.high}, **changes}
    exploration = changes.pop("exploration", EXPLORATION[acquisition])
    return gp_cases.optimizer(case, surrogate, acquisition, exploration, **changes)


def known(case):
    return gp_cases.given(gamma_priors(case.d), case.given)


def told(case, acquisition):
    """The baseline after the data of a case, with its hyperparameters."""
    optimizer = gp_cases.learns(method(case, acquisition), known(case))
    x, y = case.data()
    optimizer.tell(x, Observation.of(y))
    return optimizer


def promise(optimizer, x):
    """What `ask` maximises, at points of the cube x (q, d)."""
    aim = optimizer.exploration
    if optimizer.exploration == 0.0:
        aim = float(optimizer.fitted.units(optimizer.y.max()))
    return optimizer.acquisition.value(
        *optimizer.fitted.posterior(optimizer.inputs(torch.from_numpy(x))), aim
    ).numpy()


def density(model, X, y):
    return (log_evidence(model, X, y) + model.log_prior()).item()


@pytest.mark.parametrize("name", CASES)
def test_mean_and_variance_are_botorchs(name):
    case = CASES[name]
    optimizer = told(case, "ei")
    X = optimizer.inputs(torch.from_numpy(case.points()))
    mean, variance = optimizer.fitted.posterior(X)
    scale = np.ptp(case.data()[1])
    assert_allclose(mean, STORED["cases"][name]["mean"], rtol=1e-9, atol=1e-10 * scale)
    assert_allclose(variance, STORED["cases"][name]["variance"], rtol=1e-8)
    assert np.std(STORED["cases"][name]["mean"]) > 0.01 * scale  # there is something to compare


@pytest.mark.parametrize("acquisition", ["ei", "pi", "ucb"])
@pytest.mark.parametrize("name", CASES)
def test_the_acquisition_function_is_botorchs(name, acquisition):
    case, theirs = CASES[name], STORED["cases"][name]
    ours = promise(told(case, acquisition), case.points())
    if acquisition == "ucb":
        assert_allclose(ours, theirs["ucb"], rtol=1e-9, atol=1e-9)
    else:
        assert_allclose(ours, theirs[f"log_{acquisition}"], rtol=1e-7, atol=1e-8)
        assert_allclose(np.exp(ours), theirs[acquisition], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_fit_starts_where_botorchs_does_and_ends_no_lower(name):
    case, theirs = CASES[name], STORED["cases"][name]["fit"]
    x, y = case.data()
    X, u = torch.from_numpy(case.printed(x)), torch.from_numpy(y)
    assert_allclose(density(gamma_priors(case.d), X, u), theirs["start"], rtol=1e-6)
    optimizer = method(case, "ei")
    optimizer.tell(x, Observation.of(y))
    model = optimizer.fitted.posterior.model
    assert_allclose(optimizer.fitted.posterior.X, X)
    assert_allclose(optimizer.fitted.posterior.y, y)
    assert density(model, X, u) >= theirs["density"] - 1e-3
    found = gp_cases.given(gamma_priors(case.d), gp_cases.Hyperparameters(**theirs["found"]))
    assert_allclose(density(found, X, u), theirs["density"], atol=1e-6)


def path(acquisition, monkeypatch, model=known, **changes):
    """The candidates that a run of ours takes."""
    case = CASES[RUN]
    optimizer = gp_cases.learns(method(case, acquisition, **changes), model(case))
    return gp_cases.run(case, optimizer, monkeypatch)


@pytest.mark.parametrize("acquisition", ["ei", "pi", "ucb"])
def test_a_run_takes_botorchs_queries(acquisition, monkeypatch):
    name = acquisition if acquisition == "ucb" else f"log_{acquisition}"
    assert_same_run(STORED["runs"][name], path(acquisition, monkeypatch))


def wrong_sign(monkeypatch):
    case = CASES[RUN]
    optimizer = gp_cases.learns(method(case, "ei"), known(case))
    optimizer.acquisition = gp_cases.wrong_sign()
    return gp_cases.run(case, optimizer, monkeypatch)


def no_noise(case):
    return gp_cases.without_noise(known(case), LEAST_NOISE)


# which run, the mutant, and the query at which it leaves BoTorch's run, the design not counted
MUTANTS = {
    "beta doubled": ("ucb", partial(path, "ucb", exploration=2 * BETA), 19),
    "no noise": ("ucb", partial(path, "ucb", model=no_noise), 3),
    "no noise in EI": ("log_ei", partial(path, "ei", model=no_noise), 6),
    "inputs of the cube": ("log_ei", partial(path, "ei", inputs={"low": 0.0, "high": 1.0}), 0),
    "values standardised": ("log_pi", partial(path, "pi", surrogate="gamma-priors"), 0),
    "a margin of one": ("log_pi", partial(path, "pi", exploration=1.0), 5),
    "the sign of the improvement": ("log_ei", wrong_sign, 0),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_leaves_botorchs_run(mutant, monkeypatch):
    name, run, evaluation = MUTANTS[mutant]
    assert_parts_at(evaluation, STORED["runs"][name], run(monkeypatch))


def test_the_stored_numbers_are_those_of_the_installed_botorch():
    pytest.importorskip("botorch", reason="BoTorch is not installed: its stored numbers are used")
    from tests.parity import botorch_oracle

    made = botorch_oracle.made()
    assert made["runs"] == STORED["runs"]
    for name, case in CASES.items():
        ours, theirs = made["cases"][name], STORED["cases"][name]
        for key in ("mean", "variance", "log_ei", "log_pi", "ucb"):
            assert_allclose(ours[key], theirs[key], rtol=1e-6, atol=1e-9)
        assert_allclose(ours["fit"]["start"], theirs["fit"]["start"], rtol=1e-9)
        assert_allclose(ours["fit"]["density"], theirs["fit"]["density"], atol=0.01 * case.n)
