"""What parameters a method has on a problem of one's own, from papers/*.yaml.

The numbers are those of the workflow's runs. Where a paper has one value for each of its problems,
that of the problem `like` is taken (the catalogue names one, whoever calls may name another). T,
the published number of evaluations, is `evaluations` where that is given. What a paper's problem
reveals to its methods comes from whoever calls: the noise, and the box. docs/library.md lists all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from noregret.catalogue import (
    EVIDENCE,
    FITTED,
    GRAM,
    IGNORED,
    LIKELIHOOD,
    PAPER,
    PRESENCE,
    PUBLIC,
    RECOMMENDED,
    REGULARISATION,
    SAMPLED,
    Method,
    named,
)
from noregret.space import Space, Table
from workflow.plan import expand, parameters, reader, resolve
from workflow.plan.nearest import nearest, or_nearest
from workflow.plan.reader import Document

SILENT = 1e-6  # variance of the likelihood's noise, in standardised units, where there is none
MAY_BE_NEGATIVE = {"low", "high"}
MAY_BE_INFINITE = {"dims_per_success", "largest_factor", "memory_per_dim"}  # no limit
ABOVE_ZERO = {
    "bandwidth",
    "lam",
    "length",
    "longest",
    "norm",
    "qbar",
    "radius",
    "shortest",
    "sigma",
}
AT_LEAST_ONE = {
    "C",
    "batch",
    "candidates",
    "features",
    "grid",
    "hidden",
    "horizon",
    "models",
    "points_per_axis",
    "raw",
    "restarts",
    "rounds",
    "samples",
    "starts",
}
PROBABILITIES = {"delta", "epsilon"}
# what is no parameter of a method
ARGUMENTS = (
    *("method", "bounds", "arms", "constraints", "evaluations", "seed", "noise", "initial"),
    *("preset", "like", "minimize", "parameters", "callback", "failures", "n_jobs", "executor"),
    *("x0", "history", "resume", "progress"),
)
# what other libraries call them: SciPy, scikit-optimize, Optuna, Hyperopt, BoTorch and Ax
HABITS = {
    **dict.fromkeys(("n_calls", "n_trials", "maxiter", "max_iter", "maxfun"), "evaluations="),
    **dict.fromkeys(("max_evals", "budget", "total_trials", "n_iter"), "evaluations="),
    **dict.fromkeys(("direction", "sense", "maximize"), "noregret.minimize or noregret.maximize"),
    **dict.fromkeys(("random_state", "rng", "rstate", "random_seed"), "seed="),
    **dict.fromkeys(("n_initial_points", "n_random_starts", "n_startup_trials"), "initial="),
    **dict.fromkeys(("init_points", "n_init"), "initial="),
    **dict.fromkeys(("dimensions", "space", "search_space", "pbounds", "domain"), "bounds="),
    **dict.fromkeys(("algorithm", "algo", "sampler", "acq_func", "base_estimator"), "method="),
    **dict.fromkeys(("workers", "n_workers", "n_parallel", "max_concurrency"), "n_jobs="),
    **dict.fromkeys(
        ("y0", "X0", "points_to_evaluate"), "x0= for points, history=(X, y) for values"
    ),
    **dict.fromkeys(("disp", "verbose", "show_progress_bar"), "progress=True"),
    **dict.fromkeys(("catch", "on_error"), 'failures="skip"'),
    **dict.fromkeys(("callbacks",), "callback="),
    **dict.fromkeys(("noise_variance", "alpha_noise", "sigma_noise"), "noise=, a deviation"),
}


@dataclass(frozen=True)
class Settings:
    """All that an optimizer is but its domain and what it was told; what a saved file holds.

    parameters: of the method, as a paper's YAML would have them.
    initial: how many points of a design come first.
    noise: the standard deviation of the noise in the units of the values, None where unknown.
    learnt: parameters that are chosen anew from what was told; `parameters` has their first values.
    """

    method: str
    preset: str
    like: str
    parameters: Mapping[str, Any]
    seed: int
    minimize: bool
    constraints: int
    initial: int
    noise: float | None
    learnt: tuple[str, ...] = ()

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Settings:
        """Settings from a mapping of their fields. Raises ValueError where others are there."""
        known = [field.name for field in fields(cls)]
        if sorted(saved) != sorted(known):
            raise ValueError(f"expected the settings {', '.join(known)}, got {', '.join(saved)}")
        checked(named(saved["method"], saved["preset"]), saved["parameters"])
        return cls(**{**saved, "learnt": tuple(saved["learnt"])})


def resolved(
    method: Method,
    space: Space,
    *,
    preset: str,
    like: str,
    evaluations: int | None,
    noise: float | None,
    overrides: Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The parameters of a method, groups nested, and names of those that are chosen by evidence, at
    first the median distance between arms. Raises ValueError.
    """
    line = document(method.paper)
    problem = line.entry["problems"][like]
    known = accepted(method)
    if method.target:
        values = parameters.flat(method.values, known)
    else:
        of_paper = expand.algorithm_values(
            line,
            like,
            method.algorithm,
            _reading(method, preset),
            given=problem.get("given", {}),
            horizon=evaluations,
        )
        values = {name: value for name, value in of_paper.items() if name in known}
    rows = len(space.points) if isinstance(space, Table) else 0
    if preset == RECOMMENDED and (method.most_rows is None or rows <= method.most_rows):
        values |= parameters.flat(method.changes, known)
    own = checked(method, overrides)
    if method.noise == REGULARISATION and noise is not None and (twice := {"xi", "lam"} & set(own)):
        raise ValueError(
            f"{method.name}: expected either `noise`, which sets {method.noise}, or"
            f" {' and '.join(sorted(twice))}, got both"
        )
    values |= _said_of_noise(method, noise, values)
    if "horizon" in values and evaluations is not None:
        values["horizon"] = evaluations
    values |= own
    values |= {
        name: _given(name, value["given"], method, space, problem, noise)
        for name, value in values.items()
        if isinstance(value, Mapping) and set(value) == parameters.GIVEN
    }
    learnt = tuple(name for name, value in values.items() if value == EVIDENCE)
    if learnt and isinstance(space, Table):
        values |= dict.fromkeys(learnt, space.median_distance())
    return parameters.nested(values), learnt


def target(method: Method) -> str:
    """The class of a method, `module.Class`."""
    return method.target or str(document(method.paper).entry["algorithms"][method.algorithm]["is"])


def check(method: Method, preset: str, like: str) -> None:
    """Refuse a preset that the method does not have, a problem that its paper does not run it on,
    and a method whose libraries are not installed. Raises ValueError.
    """
    problems = list(document(method.paper).entry["problems"])
    for said, one, known in (
        (f"preset {preset!r}", preset, method.presets),
        (f"problem like={like!r}", like, problems),
    ):
        if one not in known:
            raise ValueError(f"{method.name}: unknown {said}{or_nearest(one, known)}")
    if missing := [library for library in method.needs if find_spec(library) is None]:
        raise ValueError(
            f"{method.name}: expected {' and '.join(method.needs)}, got no {missing[0]}: install"
            f" the extra {method.extra or method.name!r} of pyproject.toml"
        )


def with_noise(
    chosen: Mapping[str, Any], method: Method, noise: float | None, spread: float
) -> dict[str, Any]:
    """Parameters in which noise that was told in the units of the values is in those of the
    method, which are `spread` of the others.
    """
    if method.noise != REGULARISATION or noise is None:
        return dict(chosen)
    xi = max(noise / spread, math.sqrt(SILENT))
    return {**chosen, "xi": xi, "lam": xi**2}


@cache
def document(paper: str) -> Document:
    """A paper's YAML, read once."""
    return reader.document(paper)


def accepted(method: Method) -> parameters.Signature:
    """What the class of a method takes."""
    return resolve.accepted(target(method), "algorithms", method.name, resolve.ROOT)


def _reading(method: Method, preset: str) -> str:
    return {PAPER: "", PUBLIC: method.public, RECOMMENDED: method.reading}[preset]


def _said_of_noise(
    method: Method, noise: float | None, values: Mapping[str, Any]
) -> dict[str, Any]:
    """What `noise` changes, by flat names."""
    if method.noise in (FITTED, IGNORED):
        return {}
    if method.noise == LIKELIHOOD:
        if noise is None:  # the paper's 0.01 is in the units of its own problems
            return {"surrogate.noise_units": "models"}
        if noise == 0:
            return {"surrogate.noise": SILENT, "surrogate.noise_units": "models"}
        return {"surrogate.noise": noise**2, "surrogate.noise_units": "observed"}
    if noise is None:
        return {}
    if method.noise == SAMPLED:
        return {"surrogate.noise_as": "learned" if noise else "fixed"}
    if method.noise == PRESENCE:
        return {"likelihood": "noisy" if noise else "noise-free"}
    if method.noise == GRAM:
        silent = values["gram"] if values["gram"] != "noisy" else "noise-free"
        return {"gram": "noisy" if noise else silent}
    return {}  # in the units of the method, once they are known: with_noise


def checked(method: Method, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that somebody has chosen, by flat names. Raises ValueError where the method has no
    such parameter, or the value is none of it.
    """
    kinds = {name: parameter.annotation for name, parameter in accepted(method).items()}
    known = set(kinds)
    chosen = parameters.flat(overrides, known)
    for name, value in chosen.items():
        if isinstance(value, np.generic):  # as Python's, which a saved file can hold
            chosen[name] = value = value.item()
        if name not in known:
            groups = {each.split(".")[0] for each in known}
            if members := [each for each in sorted(known) if each.startswith(f"{name}.")]:
                raise ValueError(
                    f"{method.name}: {name}: expected a mapping of {', '.join(members)}, got"
                    f" {value!r:.80}"
                )
            if name in HABITS:
                raise ValueError(f"{method.name}: unknown argument {name!r}: say {HABITS[name]}")
            meant = nearest(name, [*ARGUMENTS, *sorted(known | groups)])
            raise ValueError(
                f"{method.name}: unknown parameter {name!r}{meant or ';'} known:"
                f" {', '.join(sorted(known | groups))}, and arguments as {', '.join(ARGUMENTS)}"
            )
        if isinstance(value, Mapping) or (wrong := parameters.wrong_type(value, kinds[name])):
            expected = kinds[name] if isinstance(value, Mapping) else wrong
            raise ValueError(f"{method.name}: {name}: expected {expected}, got {value!r}")
        if complaint := _out_of_range(name.rpartition(".")[2], value):
            raise ValueError(f"{method.name}: {name}: expected {complaint}, got {value!r}")
    return chosen


def _out_of_range(name: str, value: Any) -> str:
    """What was expected of a number, "" where it fits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if math.isnan(value):
        return "a number"
    if math.isinf(value) and name not in MAY_BE_INFINITE:
        return "a finite number"
    if name in AT_LEAST_ONE and value < 1:
        return "at least 1"
    if name in ABOVE_ZERO and value <= 0:
        return "a number above 0"
    if name in PROBABILITIES and not 0 <= value <= 1:
        return "a probability"
    return "no negative number" if value < 0 and name not in MAY_BE_NEGATIVE else ""


def _given(
    name: str,
    what: str,
    method: Method,
    space: Space,
    problem: Mapping[str, Any],
    noise: float | None,
) -> float:
    """The value of a parameter that a paper's problem reveals. Raises ValueError."""
    if name.startswith("inputs."):  # the box in whose units the regression sees the points
        return space.edge(what)
    if what in ("low", "high") and what in problem:  # of the network, whatever one's own box is
        return float(problem[what])
    if what in ("noise", "noise_variance") and noise is not None:
        return noise if what == "noise" else noise**2
    raise ValueError(
        f"{method.name}: expected a value of {name}, which the paper's problem reveals: give"
        f" {'noise' if what.startswith('noise') else name.split('.')[0]}, or `like` another problem"
    )


def default_initial(space: Space) -> int:
    """Points of the design that come first where nobody says how many: 2 d, 20 at most."""
    return min(2 * space.d, 20, len(space.points) if isinstance(space, Table) else 20)
