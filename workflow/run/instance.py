"""What a run starts from: the problem instance of its seed, the optimizer's parameters, the shared
initial design.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import problems
from problems.api import Evaluation, Problem
from workflow import ROOT
from workflow.data import simulators
from workflow.data.places import prepared_path, substitutes_allowed
from workflow.run import boundary, designs, exact_design, loop
from workflow.trace import seeds
from workflow.trace.curves import (
    MISSING,
    AnyCurve,
    Curve,
    PlanError,
    installed,
    own_parameters,
)


def build_problem(curve: AnyCurve, seed: int, root: Path = Path()) -> Problem:
    """The problem instance of a seed, on the data below `root`; the same for every algorithm."""
    parameters = seeds.with_seed({**own_parameters(curve.problem_entry), **substitute(curve)}, seed)
    if "data" in curve.problem_entry:
        parameters["data"] = data_path(curve, root)
    if "simulator" in curve.problem_entry:
        parameters["simulator"] = simulators.built(curve.problem_entry["simulator"], root=root)
    return problems.load(curve.problem_entry["is"])(
        seeds.instance(seed, curve.problem), **parameters
    )


def substitute(curve: AnyCurve) -> dict[str, Any]:
    """The parameters that a problem takes instead of its own where it lacks a library and
    substitutes are allowed.
    """
    entry = curve.problem_entry
    lacks = any(installed(library) == MISSING for library in entry.get("libraries", []))
    return (
        dict(entry["substitute"])
        if "substitute" in entry and lacks and substitutes_allowed(curve.scale)
        else {}
    )


def data_path(curve: AnyCurve, root: Path) -> Path:
    """The prepared table of a curve's problem, fetched now if no workflow has."""
    from workflow.data import fetch  # takes a quarter of a second, and many problems read no table

    name, allowed = curve.problem_entry["data"], substitutes_allowed(curve.scale)
    path = prepared_path(name, root=root, substitutes=allowed)
    if not path.exists():
        return fetch.prepare(name, root=root, substitutes=allowed)
    fetch.check_table(path, root=ROOT)  # the manifest lies beside the code, wherever the data do
    return path


def initial_design(curve: Curve, seed: int, problem: Problem) -> tuple[np.ndarray, Evaluation]:
    """The design that all algorithms share, (n, d), and its evaluation."""
    query = draw_design(curve, seed, problem)
    evaluation = loop.evaluate(
        problem, query, lambda i: seeds.noise(seed, curve.problem, i), first=0
    )
    is_noisy = curve.problem_entry["init"].get("noise", True)
    return query, evaluation if is_noisy else exact_design.without_noise(evaluation)


def parameters_of(curve: Curve, problem: Problem) -> dict[str, Any]:
    """The optimizer's parameters, with what the problem reveals in the place of its name.

    Raises PlanError.
    """
    return _revealed(curve, problem, own_parameters(curve.algorithm_entry))


def _revealed(curve: Curve, problem: Problem, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values, and the fields of groups among them, with what the problem reveals in its place."""
    revealed: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(value, dict) or set(value) != {"given"}:
            revealed[name] = _revealed(curve, problem, value) if isinstance(value, dict) else value
        elif value["given"] in problem.reveals:
            revealed[name] = boundary.frozen_if_array(problem.reveals[value["given"]])
        else:
            known = ", ".join(problem.reveals) or "nothing"
            raise PlanError(
                f"{curve.name}: {name} is given by {value['given']!r}, which the problem does"
                f" not reveal; known: {known}"
            )
    return revealed


def draw_design(curve: Curve, seed: int, problem: Problem) -> np.ndarray:
    """The queries of the shared initial design.

    Raises PlanError where the problem is too small for it.
    """
    init = curve.problem_entry["init"]
    try:
        return designs.draw(
            problem.domain, init["design"], init["n"], seeds.design(seed, curve.problem)
        )
    except ValueError as error:
        raise PlanError(f"{curve.name}: {error}") from None
