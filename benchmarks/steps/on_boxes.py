"""A step of GP-EI on a box: fit the parameters to all data, maximise the expected improvement."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from algorithms.api import Box, Observation
from algorithms.gp_acquisition import GPAcquisition
from algorithms.parts.search.maximise import ClimbSettings
from benchmarks.race import Setup, Size, Work, along
from benchmarks.steps.given import botorch_prior, climbed, data, seeded

BOTORCH = {
    "surrogate": "gamma-priors",
    "exploration": 0.0,
    "climb": ClimbSettings(raw=512, starts=5, steps=200),
    "repetitions": "repeat",
}
SCIKIT_OPTIMIZE = {
    "surrogate": "scikit-optimize",
    "exploration": 0.01,
    "climb": ClimbSettings(raw=10_000, starts=5, steps=20),
    "repetitions": "replace",
}
OPTUNA = {**BOTORCH, "climb": ClimbSettings(raw=2048, starts=10, steps=200)}


def ours(settings: dict[str, Any]) -> Callable[[Size], Setup]:
    """A step of ours under these settings."""

    def task(size: Size) -> Setup:
        x, y = data(size["n"], size["d"])

        def setup() -> Callable[[], object]:
            rng = np.random.default_rng(300)
            optimizer = GPAcquisition(Box(size["d"]), rng, acquisition="ei", **settings)

            def step() -> object:
                optimizer.tell(x, Observation.of(y))
                return optimizer.ask(1, x[:0])

            return step

        return setup

    return task


def botorch(size: Size) -> Setup:
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x, y = data(size["n"], size["d"])
    X, u = torch.from_numpy(x), torch.from_numpy(y)

    def step() -> object:
        model = botorch_prior(X, u)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return climbed(LogExpectedImprovement(model, u.max()), size["d"], BOTORCH["climb"])

    return seeded(step)


def scikit_optimize(size: Size) -> Setup:
    from skopt import Optimizer

    x, y = data(size["n"], size["d"])
    climb = SCIKIT_OPTIMIZE["climb"]
    points, values = x.tolist(), (-y).tolist()

    def setup() -> Callable[[], object]:
        optimizer = Optimizer(
            [(0.0, 1.0)] * size["d"],
            "GP",
            n_initial_points=0,
            acq_func="EI",
            acq_optimizer="lbfgs",
            acq_func_kwargs={"xi": SCIKIT_OPTIMIZE["exploration"]},
            acq_optimizer_kwargs={"n_points": climb.raw, "n_restarts_optimizer": climb.starts},
            random_state=300,
        )

        def step() -> object:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # parameters at their bounds
                optimizer.tell(points, values)
                return optimizer.ask()

        return step

    return setup


def optuna(size: Size) -> Setup:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    x, y = data(size["n"], size["d"])
    space = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(size["d"])}
    trials = [
        optuna.trial.create_trial(
            params=dict(zip(space, row, strict=True)), distributions=space, value=value
        )
        for row, value in zip(x.tolist(), y.tolist(), strict=True)
    ]

    def setup() -> Callable[[], object]:
        study = optuna.create_study(
            sampler=optuna.samplers.GPSampler(seed=300), direction="maximize"
        )
        study.add_trials(trials)
        return lambda: study.ask(space)

    return setup


SIZES = [*along("n", (50, 100, 200, 400), d=10), *along("d", (5, 10, 20, 40), n=100)]
# a step of scikit-optimize takes 14 s at n = 400
FEWER = [*along("n", (50, 100, 200), d=10), *along("d", (5, 10, 20), n=100)]
WORKS = [
    Work("GP-EI step", sizes, ours(settings), same, peer, theirs)
    for peer, sizes, settings, theirs, same in (
        (
            "BoTorch",
            SIZES,
            BOTORCH,
            botorch,
            "same data, kernel and priors, ln EI, 512 Sobol candidates, 5 climbs of at most 200"
            " rounds; each side fits and climbs by its own quasi-Newton method until that ends, so"
            " that rounds differ",
        ),
        (
            "scikit-optimize",
            FEWER,
            SCIKIT_OPTIMIZE,
            scikit_optimize,
            "same data, kernel and bounds, two restarts of the fit, EI, 10,000 candidates (ours of"
            " a Sobol sequence, theirs uniform), 5 climbs of at most 20 rounds; scikit-optimize"
            " also checks and transforms its space",
        ),
        (
            "Optuna",
            SIZES,
            OPTUNA,
            optuna,
            "same data, Matern-5/2 with one length-scale per input, ln EI, 2048 candidates, 10"
            " climbs; NOT the same: GPSampler has priors, a tolerance of its fit and a climb of its"
            " own, and reads its trials from its storage",
        ),
    )
]
