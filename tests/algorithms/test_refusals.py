"""Parameters without a meaning are refused with what was expected and what was got."""

import re

import numpy as np
import pytest

import algorithms
from algorithms.api import Arms, Box
from algorithms.parts.numerics import optional
from tests.algorithms.grouped import changed
from tests.settings import CASES, case

# a case, what is changed in it, and what is said; names of choices are below
REFUSED = [
    ("AverageOfK-five", {"k": 0}, "k: expected 1 point or more, got 0"),
    ("ADDGPUCB-factor", {"grid": 1}, "grid: expected at least 2 points, got 1"),
    ("BKB-theorem", {"bandwidth": 0.0}, "bandwidth: expected a positive number, got 0.0"),
    ("BKB-theorem", {"delta": 0.0}, "expected 0 < delta < 1 and lam > 0, got delta 0.0"),
    ("BKB-theorem", {"delta": 1.0}, "got delta 1.0"),
    ("BKB-theorem", {"lam": 0.0}, "lam 0.0"),
    ("CEI-fit", {"noise": 0.0}, "noise: expected a positive number, got 0.0"),
    ("CEI-fit", {"every": 0}, "every: expected a positive number, got 0"),
    ("DECHBO-factor", {"grid": 1}, "a grid of at least 2 values and 1 round, got 1 and 3"),
    ("DECHBO-factor", {"rounds": 0}, "a grid of at least 2 values and 1 round, got 5 and 0"),
    ("DuMBO-mcmc", {"outputs": "factors"}, "outputs: expected sum where the decomposition is mcmc"),
    ("DuMBO-known", {"decomposition": [[0, 1], [2]]}, r"expected variables 0..1, got \[2\]"),
    ("DuMBO-mcmc", {"largest_factor": 0}, "largest_factor of at least 1, got 2 and 0"),
    ("DuMBO-mcmc", {"models": 0}, "models and largest_factor of at least 1, got 0 and inf"),
    ("DuMBO-mcmc", {"rounds": 0}, "rounds: expected at least 1, got 0"),
    ("DuMBO-mcmc", {"starts": 0}, "raw and starts of at least 1 and fresh >= 0, got 16, 0 and 1"),
    ("DuMBO-mcmc", {"fresh": -1}, "raw and starts of at least 1 and fresh >= 0, got 16, 2 and -1"),
    ("DuMBO-mcmc", {"floor": 0.0}, "floor: expected a variance above 0, got 0.0"),
    ("GOUCB-literal", {"low": 5.0}, r"expected low < high, got \[5.0, 5.0\]"),
    ("GOUCB-literal", {"horizon": 1}, "horizon: expected T >= 2"),
    ("GPAcquisition-printed", {"low": 5.0}, "inputs: expected finite low < high"),
    ("GPUCBBox-kandasamy", {"share": -0.1}, "expected share >= 0"),
    ("GPUCBBox-kandasamy", {"delta": 0.0}, "0 < delta < 1"),
    ("GPUCBBox-kandasamy", {"delta": 1.0}, "delta=1.0"),
    ("GPUCBBox-kandasamy", {"points_per_axis": 0.5}, "points_per_axis >= 1"),
    ("LCBO-joint", {"memory_per_dim": 0}, "memory_per_dim: expected a positive number, got 0"),
    ("LCBO-joint", {"repeats": 0, "exploration": 0}, r"repeats \+ exploration: expected a pos"),
    ("LCBO-code", {"selection": "joint"}, "learn: expected iterations where"),
    ("LCBO-code", {"condition": "data"}, "learn: expected iterations where"),
    ("LCBO-code", {"repeats": 0}, "learn: expected iterations where"),
    ("LineBO-random", {"grid": 2}, "further than margin from both ends of a line, got 2 and 0.1"),
    ("LineBO-random", {"fewest": 4}, "expected 0 <= fewest < most, got 4 and 4"),
    ("LineBO-random", {"radius": 0.0}, "expected radius > 0 and per_dim > 0, got 0.0 and 1"),
    ("LineBO-random", {"lengthscale": 0.0}, "a lengthscale, an outputscale and a noise above 0"),
    ("LogCEI-noisy", {"narrowest": 1.0}, r"0 < narrowest <= widest, got 8, 1\.0 and 0\.1"),
    ("MSUCB-first", {"low": 0}, "expected low >= 1, subspaces > 0 and alpha >= 0, got 0, 1, 0"),
    ("MSUCB-first", {"subspaces": 0}, "got 1, 0, 0"),
    ("MSUCB-first", {"alpha": -1}, "got 1, 1, -1"),
    ("NevergradNGOpt-cobyla", {"horizon": 300}, "meta-model for 2 variables and 300 evaluations"),
    ("RegularizedEvolution-with", {"tournament": 9}, "got tournament 9, population 8"),
    ("RegularizedEvolution-with", {}, "mutates an arm into a neighbour, and .* have none"),
    ("TuRBO-tutorial", {"shortest": 2.0}, "expected 0 < shortest <= longest, got"),
    ("TuRBO-tutorial", {"shortest": 0.0}, "expected 0 < shortest <= longest, got"),
    ("SAASBO-official", {"thinning": 5}, "expected 1 <= thinning <= samples, got thinning 5"),
]


def built(case, **changes):
    domain = Box(2) if case.box else Arms(np.zeros((3, 2)))
    parameters = changed(case.parameters, **changes)
    return algorithms.build(case.name, domain, np.random.default_rng(0), parameters)


@pytest.mark.parametrize(("name", "changes", "said"), REFUSED)
def test_a_value_without_a_meaning_is_refused(name, changes, said):
    with pytest.raises(ValueError, match=said):
        built(case(name), **changes)


def choices(case):
    """What is changed in order to choose something that there is not, setting by setting."""
    for name, value in case.parameters.items():
        if name == "inclusion":
            continue  # known when the first dictionary is drawn: parts/test_sketch.py
        if isinstance(value, str):
            yield name, {name: "none"}
        elif isinstance(value, dict):
            for field, inner in value.items():
                if isinstance(inner, str):
                    yield field, {name: {**value, field: "none"}}


def test_a_choice_that_there_is_not_is_refused_with_those_that_there_are():
    said = {}
    for one in CASES:
        for name, change in choices(one):
            try:
                built(one, **change)
                said[one.name, name] = "nothing"
            except ValueError as error:
                said[one.name, name] = str(error)
    assert len(said) > 60
    for (method, name), words in said.items():
        assert re.search(f"{name}: expected .*, got 'none'", words), (method, name, words)


@pytest.mark.parametrize(
    ("library", "name"),
    [
        ("botorch", "BoTorchLogEI-default"),
        ("optuna", "OptunaSampler-tpe"),
        ("cma", "PyCMA-ipop"),
        ("nevergrad", "NevergradNGOpt-cma"),
    ],
)
def test_a_library_that_is_not_installed_is_named(library, name, monkeypatch):
    def absent(wanted):
        raise ModuleNotFoundError(wanted)

    monkeypatch.setattr(optional, "import_module", absent)
    with pytest.raises(ImportError, match=rf"{library}, .* pip install 'noregret-bo\[today\]'"):
        built(case(name))


def test_cma_wants_two_variables():
    with pytest.raises(ValueError, match="two variables or more, as pycma says; got one"):
        algorithms.build(
            "pycma.PyCMA", Box(1), np.random.default_rng(0), {"sigma": 0.3, "growth": 2}
        )
