"""Optuna's samplers: a Gaussian process with logEI, and the tree-structured Parzen estimator
(akiba2019optuna; bergstra2011tpe, watanabe2023tpe).

A study is made anew for each query, of all that was told, what is pending and a sampler with a seed
of ours: this is how Optuna works where several processes share a study. So the fit of GPSampler
begins at its defaults each time, and not where the one before has ended. Its values are
standardised and each constraint is in units of its own root mean square, since TPESampler adds up
what violates several constraints.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from algorithms.api import Array, Box, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.feasibility import best
from algorithms.parts.numerics.optional import imported
from algorithms.parts.numerics.transforms import standardised

SAMPLERS = {"gp": "GPSampler", "tpe": "TPESampler"}  # of optuna.samplers


class OptunaSampler(Optimizer):
    """One query at a time, the next trial of a study that maximises y; g are its constraints and
    what is pending its running trials.

    Use `gp` for a hundred evaluations of an application, and `tpe` if a query must take
    milliseconds. Until it knows `startup` trials Optuna draws at random.
    """

    domains = (Box,)
    domain: Box
    constrained = True

    def __init__(
        self, domain: Box, rng: np.random.Generator, *, sampler: str, startup: int
    ) -> None:
        """sampler: "gp", Optuna's GPSampler, or "tpe", its TPESampler; both with their defaults
        startup: `n_startup_trials`, by default 10
        """
        super().__init__(domain, rng)
        self.sampler, self.startup = chosen(SAMPLERS, sampler, "sampler"), startup
        _optuna()

    def ask(self, room: int, pending: Array) -> Array:
        """The parameters of a new trial."""
        optuna, seed = _optuna(), int(self.rng.integers(2**31))
        kind = getattr(optuna.samplers, self.sampler)
        sampler = kind(seed=seed, n_startup_trials=self.startup)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        space = _space(self.domain.d)
        study.add_trials([*self._finished(optuna), *_running(optuna, pending)])
        trial = study.ask(space)
        return np.array([[trial.params[name] for name in space]])

    def _finished(self, optuna: ModuleType) -> list[Any]:
        space = _space(self.domain.d)
        values = standardised(self.y, self.g).tolist() if len(self.y) else []
        return [
            optuna.trial.create_trial(
                params=dict(zip(space, x, strict=True)),
                distributions=space,
                value=y,
                constraints={f"g{i}": value for i, value in enumerate(g)},
            )
            for x, (y, *g) in zip(self.x.tolist(), values, strict=True)
        ]

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]


def _running(optuna: ModuleType, pending: Array) -> list[Any]:
    space = _space(pending.shape[1])
    return [
        optuna.trial.create_trial(
            state=optuna.trial.TrialState.RUNNING,
            params=dict(zip(space, x, strict=True)),
            distributions=space,
        )
        for x in pending.tolist()
    ]


class _Space(dict[str, Any]):
    """Distributions by the names of their variables, which never change.

    A study copies each trial with all of its distributions, which is nine tenths of the time of a
    query over 100 variables.
    """

    def __deepcopy__(self, memo: object) -> _Space:
        return self


@cache
def _space(d: int) -> _Space:
    interval = _optuna().distributions.FloatDistribution(0.0, 1.0)
    return _Space({f"x{axis}": interval for axis in range(d)})


def _optuna() -> ModuleType:
    """Optuna, told to say nothing but warnings."""
    optuna = imported("optuna", "A sampler")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
