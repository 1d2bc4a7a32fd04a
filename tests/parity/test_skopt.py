"""GP-EI, GP-PI and GP-UCB under the reading `scikit-optimize` beside that library: given the same
data and parameters the same posterior, the same acquisition values and the same run; fitted, no
less evidence.

The numbers in oracles/skopt.json are scikit-optimize's. Where it is installed they are made again.
"""

import json
from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.api import Observation
from algorithms.parts.processes.kernels import scikit_optimize
from tests.parity import gp_cases
from tests.parity.divergence import assert_parts_at, assert_same_run
from tests.parity.gp_cases import CASES, RUN

XI, KAPPA, LEAST_NOISE = 0.01, 1.96, 1e-5
EXPLORATION = {"ei": XI, "pi": XI, "ucb": KAPPA**2}
STORED = json.loads((gp_cases.ORACLES / "skopt.json").read_text(encoding="utf-8"))


def method(case, acquisition, surrogate="scikit-optimize", **changes):
    """The paper's baseline under its reading `scikit-optimize`."""
    exploration = changes.pop("exploration", EXPLORATION[acquisition])
    return gp_cases.optimizer(case, surrogate, acquisition, exploration, **changes)


def known(case):
    """The hyperparameters of a case, in units of the cube and of y with variance 1."""
    return gp_cases.given(scikit_optimize(case.d), gp_cases.scaled(case))


def told(case, acquisition):
    optimizer = gp_cases.learns(method(case, acquisition), known(case))
    x, y = case.data()
    optimizer.tell(x, Observation.of(y))
    return optimizer


def promise(optimizer, acquisition, x):
    """What `ask` maximises, at points x (q, d), in the units of y where it is a value."""
    units, mean_and_variance = (
        optimizer.fitted.units,
        optimizer.fitted.posterior(torch.from_numpy(x)),
    )
    if acquisition == "ucb":
        values = optimizer.acquisition.value(*mean_and_variance, KAPPA**2).numpy()
        return units.centre + units.spread * values
    values = optimizer.acquisition.value(*mean_and_variance, units(optimizer.y.max() + XI)).numpy()
    return np.exp(values) * (units.spread if acquisition == "ei" else 1.0)


@pytest.mark.parametrize("name", CASES)
def test_mean_and_variance_are_scikit_optimizes(name):
    case, theirs = CASES[name], STORED["cases"][name]
    fitted = told(case, "ei").fitted
    mean, variance = fitted.posterior(torch.from_numpy(case.points()))
    units, scale = fitted.units, np.ptp(case.data()[1])
    assert_allclose(units.centre + units.spread * mean, theirs["mean"], atol=1e-9 * scale)
    assert_allclose(units.spread * variance.sqrt(), theirs["deviation"], rtol=1e-7)
    assert np.std(theirs["mean"]) > 0.01 * scale


@pytest.mark.parametrize("acquisition", ["ei", "pi", "ucb"])
@pytest.mark.parametrize("name", CASES)
def test_the_acquisition_function_is_scikit_optimizes(name, acquisition):
    case = CASES[name]
    ours = promise(told(case, acquisition), acquisition, case.points())
    assert_allclose(ours, STORED["cases"][name][acquisition], rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_the_fit_ends_no_lower_than_scikit_optimizes(name):
    optimizer = method(CASES[name], "ei")
    x, y = CASES[name].data()
    optimizer.tell(x, Observation.of(y))
    evidence = STORED["cases"][name]["fit"]["evidence"]
    assert optimizer.fitted.posterior.log_evidence >= evidence - 1e-3


def path(acquisition, monkeypatch, model=known, **changes):
    """The candidates that a run of ours takes."""
    case = CASES[RUN]
    optimizer = gp_cases.learns(method(case, acquisition, **changes), model(case))
    return gp_cases.run(case, optimizer, monkeypatch)


@pytest.mark.parametrize("acquisition", ["ei", "pi", "ucb"])
def test_a_run_takes_scikit_optimizes_queries(acquisition, monkeypatch):
    assert_same_run(STORED["runs"][acquisition], path(acquisition, monkeypatch))


def wrong_sign(monkeypatch):
    case = CASES[RUN]
    optimizer = gp_cases.learns(method(case, "ei"), known(case))
    optimizer.acquisition = gp_cases.wrong_sign()
    return gp_cases.run(case, optimizer, monkeypatch)


def no_noise(case):
    return gp_cases.without_noise(known(case), LEAST_NOISE)


# which run, the mutant, and the query at which it leaves the library's run, the design not counted
MUTANTS = {
    "beta doubled": ("ucb", partial(path, "ucb", exploration=2 * KAPPA**2), 0),
    "kappa for its square": ("ucb", partial(path, "ucb", exploration=KAPPA), 6),
    "no noise": ("ucb", partial(path, "ucb", model=no_noise), 6),
    "no noise in EI": ("ei", partial(path, "ei", model=no_noise), 2),
    "inputs of the box": ("ei", partial(path, "ei", inputs={"low": -5.0, "high": 5.0}), 0),
    "values as they are": ("pi", partial(path, "pi", surrogate="gamma-priors-raw"), 6),
    "the sign of the improvement": ("ei", wrong_sign, 0),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_leaves_scikit_optimizes_run(mutant, monkeypatch):
    name, run, evaluation = MUTANTS[mutant]
    assert_parts_at(evaluation, STORED["runs"][name], run(monkeypatch))


def test_the_stored_numbers_are_those_of_the_installed_scikit_optimize():
    pytest.importorskip("skopt", reason="scikit-optimize is not installed: stored numbers are used")
    from tests.parity import skopt_oracle

    made = skopt_oracle.made()
    assert made["runs"] == STORED["runs"]
    for name in CASES:
        ours, theirs = made["cases"][name], STORED["cases"][name]
        for key in ("mean", "deviation", "ei", "pi", "ucb"):
            assert_allclose(ours[key], theirs[key], rtol=1e-6, atol=1e-9)
        evidence = theirs["fit"]["evidence"]
        assert ours["fit"]["evidence"] == pytest.approx(evidence, abs=0.1)
