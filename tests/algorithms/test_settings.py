"""Constructors stay short, and a group of settings says what each of its fields is."""

import re
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import get_type_hints

import algorithms
from tests.settings import CASES

MOST = 12  # parameters of a constructor, beside domain and generator, and fields of a group
FIELD = re.compile(r"^\s*(\w+(?:, \w+)*): \S", re.MULTILINE)


def groups(function):
    """The groups of settings that a function is annotated with, those inside them, too."""
    waiting = list(get_type_hints(function).values())
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and is_dataclass(kind):
            hints = get_type_hints(kind)
            waiting += [hints[field.name] for field in fields(kind)]
            yield kind


def settings_of():
    """The groups of all optimizers, without their domain, which is a dataclass as well."""
    found = {kind for case in CASES for kind in groups(algorithms.load(case.name).__init__)}
    return {kind for kind in found if kind.__module__ != "algorithms.api"}


def test_no_constructor_takes_more_than_twelve_parameters():
    counts = {case.name: len(signature(algorithms.load(case.name)).parameters) for case in CASES}
    assert {name: n - 2 for name, n in counts.items() if n - 2 > MOST} == {}


def test_every_field_of_a_group_is_documented_and_nothing_has_a_default():
    found = settings_of()
    assert {"Width", "Partitions", "NUTS"} <= {kind.__name__ for kind in found}
    for kind in found:
        assert kind.__dataclass_params__.frozen, kind
        assert len(fields(kind)) <= MOST, kind
        said = {name for names in FIELD.findall(kind.__doc__ or "") for name in names.split(", ")}
        assert {field.name for field in fields(kind)} <= said, kind  # lines `name: meaning`
        assert [parameter.default for parameter in signature(kind).parameters.values()] == [
            parameter.empty for parameter in signature(kind).parameters.values()
        ], f"{kind}: what a paper chose stands in its YAML"
