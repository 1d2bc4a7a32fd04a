"""What constructors accept: names, groups of settings, types; told before anything is imported."""

import ast
import importlib
import inspect
import re
from typing import get_type_hints

import pytest

import algorithms
from workflow.plan import parameters, resolve
from workflow.plan.parameters import flat, nested, wrong_type
from workflow.studies import batching
from workflow.studies.paired import ConfidenceSettings

PART = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Fit:
    steps: int
    rate: float = 0.1


@dataclass(frozen=True)
class Surrogate:
    noise: float
    fit: Fit
"""
METHOD = """
from algorithms.parts.fits import Surrogate as Model


class One:
    def __init__(self, domain, rng, *, surrogate: Model, beta: float | str, names: list[str] = ()):
        self.surrogate, self.beta, self.names = surrogate, beta, names
"""
ALL = {"surrogate.noise", "surrogate.fit.steps", "surrogate.fit.rate", "beta", "names"}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "algorithms" / "parts").mkdir(parents=True)
    (tmp_path / "algorithms" / "parts" / "fits.py").write_text(PART)
    (tmp_path / "algorithms" / "one.py").write_text(METHOD)
    return tmp_path


def test_groups_are_read_through_imports_however_deep(root):
    found = parameters.signature("one.One", "algorithms", root=root)
    assert found.keys() == ALL
    required = {name for name, parameter in found.items() if parameter.required}
    assert required == {"surrogate.noise", "surrogate.fit.steps", "beta"}


def test_flat_and_nested_are_inverse_and_leave_values_by_problem_whole():
    values = {"surrogate": {"noise": {"p": 1, "q": 2}, "fit": {"steps": 3}}, "beta": {"p": 1}}
    taken_apart = {"surrogate.noise": {"p": 1, "q": 2}, "surrogate.fit.steps": 3, "beta": {"p": 1}}
    assert flat(values, ALL) == taken_apart and nested(taken_apart) == values
    assert flat({"surrogate": {"given": "model"}}, ALL) == {"surrogate": {"given": "model"}}


def test_groups_of_a_study_are_read_and_built():
    accepted = parameters.signature("batching.run", "workflow/studies")
    fields = {f"confidence.{name}" for name in ("xi", "norm", "delta", "beta")}
    assert fields <= accepted.keys() and "confidence" not in accepted
    values = {"T": 3, "confidence": {"xi": 1, "norm": 2, "delta": 0.1, "beta": "theorem"}}
    built = algorithms.grouped(batching.run, values)
    assert built == {"T": 3, "confidence": ConfidenceSettings(1, 2, 0.1, "theorem")}
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'beta'"):
        algorithms.grouped(batching.run, {"confidence": {"xi": 1, "norm": 2, "delta": 0.1}})


MOST = 12  # keywords of a study besides seed and problem
STUDIES = sorted(
    path.stem
    for path in (resolve.ROOT / "workflow" / "studies").glob("*.py")
    if any(getattr(node, "name", "") == "run" for node in ast.parse(path.read_text()).body)
)


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_takes_few_parameters_and_describes_every_field_of_a_group(study):
    accepted = parameters.signature(f"{study}.run", "workflow/studies")
    hints = get_type_hints(importlib.import_module(f"workflow.studies.{study}").run)
    assert 0 < len({name.partition(".")[0] for name in accepted}) <= MOST
    for name, _, field in (name.partition(".") for name in accepted):
        described = inspect.getdoc(hints[name])
        assert not field or re.search(rf"^(\w+, )*{field}(, \w+)*: ", described, re.MULTILINE)


VALUES = {  # an annotation: values that fit, and others
    "int": ([1], [1.5, True, "1"]),
    "float": ([1, float("inf"), {"given": "noise"}], ["loud", False, None]),
    "float | str": (["theorem"], [[1]]),
    "float | None": ([None], []),
    "Literal['a', 'b']": (["a"], ["c"]),
    "Sequence[float]": ([[1, 2.5]], [[1, "x"], 3]),
    "str | Sequence[Sequence[int]]": ([[[0], [0, 1]]], []),
    "Sequence[tuple[str, int]]": ([[["a", 1]]], [[["a", "b"]], [["a"]]]),
    "tuple[int, ...]": ([[1, 2, 3]], []),
    "Callable": (["anything"], []),
}


@pytest.mark.parametrize("annotation", VALUES)
def test_a_value_of_the_wrong_type_is_seen(annotation):
    fitting, others = VALUES[annotation]
    assert [value for value in fitting if wrong_type(value, annotation) != ""] == []
    assert [value for value in others if wrong_type(value, annotation) != annotation] == []


def test_whether_a_problem_reads_the_generator_of_its_instance():
    draws = {"gp_samples.within_model", "rkhs.sphere"}
    others = {"tables.abalone", "structures.truss25", "tables.none", "nothing.here"}
    assert set(filter(parameters.draws_instance, draws | others)) == draws
