"""Every method with small settings: the names in settings.yaml are names of this module."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

import algorithms
from algorithms.api import Arms
from tests.algorithms.grouped import changed

SETTINGS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
globals().update(SETTINGS)


def nearest(points, arm):
    """The four other arms nearest to one, or the arm itself where it is alone."""
    order = np.argsort(np.linalg.norm(points - points[arm], axis=1), kind="stable")
    return order[order != arm][:4] if len(points) > 1 else order


@dataclass(frozen=True)
class Case:
    """One optimizer with parameters that make sense on the tables of these tests."""

    name: str
    label: str
    parameters: dict
    box: bool
    constrained: bool

    def build(self, domain, rng):
        if isinstance(domain, Arms) and domain.neighbours is None:
            domain = replace(domain, neighbours=partial(nearest, domain.points))
        return algorithms.build(self.name, domain, rng, self.parameters)

    def __str__(self):
        return f"{self.name.partition('.')[2]}-{self.label}"


CASES = [
    Case(name, label, changed(settings, **one), "box" in where, "constrained" in where)
    for name, where, settings, changes in SETTINGS["CASES"]
    for label, one in changes.items()
]
DEAR = ("BoTorchLogEI-default", "OptunaSampler-gp", "SAASBO-official")  # an ask takes seconds


def marked(cases):
    """The same for `parametrize`, in which the dear ones are slow."""
    slow = pytest.mark.slow
    return [pytest.param(one, marks=slow if str(one) in DEAR else ()) for one in cases]


def case(name):
    """The case of a name such as "CEI-fit"."""
    (found,) = (one for one in CASES if str(one) == name)
    return found
