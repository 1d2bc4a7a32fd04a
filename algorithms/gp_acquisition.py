"""GP-EI, GP-PI and GP-UCB on a box: one query at a time where an acquisition function is largest.

Expected improvement (jones1998ego), probability of improvement (kushner1964multipeak), upper
confidence bound (srinivas2010gpucb). Papers run them as baselines with a library's defaults: whose
regression and settings are parameters. Library -> here:  xi, or beta = kappa^2 -> exploration,
num_restarts -> climb.starts,  raw_samples, n_points -> climb.raw,  maxiter -> climb.steps

Priors on length-scales are statements about units. A library that scales neither inputs nor outputs
meets the box and the values of the paper that runs it: `inputs` says which box its regression sees.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from torch import Tensor

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.sampling import REPETITIONS
from algorithms.parts.processes.dimension_scaled import DIMENSION_SCALED
from algorithms.parts.processes.fitting import SURROGATES, Fitted
from algorithms.parts.processes.outputs import raw
from algorithms.parts.search.acquisition import EI, PI, UCB
from algorithms.parts.search.closed_matern import MaternPromise
from algorithms.parts.search.maximise import ClimbSettings, cube, maximise

ACQUISITIONS = {"ei": EI, "pi": PI, "ucb": UCB}
# balandat2020botorch: until its version 0.12 a model standardised y only where it was told to
REGRESSIONS = {
    **SURROGATES,
    "gamma-priors-raw": replace(SURROGATES["gamma-priors"], standard=raw),
    "dimension-scaled": DIMENSION_SCALED,
}


@dataclass(frozen=True)
class InputSettings:
    """The box in whose units the regression sees the points: the group `inputs`.

    low: the least value of every coordinate, in the units of the printed domain.
    high: the greatest value of every coordinate, in the same units.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"inputs: expected finite low < high, got [{self.low}, {self.high}]")

    def __call__(self, X: Tensor) -> Tensor:
        """Points of the unit cube X (q, d) in these units."""
        return self.low + (self.high - self.low) * X


CUBE = InputSettings(0.0, 1.0)  # the units of the domain, where nobody names others


class GPAcquisition(Optimizer):
    """Maximises ln EI, ln PI or UCB under a regression that it refits to every observation,
    whatever is pending.

    Use it for few evaluations of up to some twenty variables without constraints. `exploration` is
    xi for the improvements, what a value must exceed the best one by in the units of y, and beta
    for the bound.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        surrogate: str,
        acquisition: str,
        exploration: float,
        climb: ClimbSettings,
        repetitions: str,
        inputs: InputSettings = CUBE,
    ) -> None:
        super().__init__(domain, rng)
        self.surrogate = chosen(REGRESSIONS, surrogate, "surrogate")
        self.inputs = inputs
        self.acquisition = chosen(ACQUISITIONS, acquisition, "acquisition")
        self.repetition = chosen(REPETITIONS, repetitions, "repetitions")
        self.exploration = exploration
        self.climb = climb
        self.fitted: Fitted | None = None

    def ask(self, room: int, pending: Array) -> Array:
        """Where the acquisition function is largest."""
        if self.fitted is None:
            return self.rng.random((1, self.domain.d))
        aim = self.exploration
        if self.acquisition != UCB:
            aim = float(self.fitted.units(self.y.max() + self.exploration))
        promise = MaternPromise(
            self.fitted.posterior,
            self.acquisition,
            aim,
            low=self.inputs.low,
            width=self.inputs.high - self.inputs.low,
        )
        x, _ = maximise(promise, cube(self.domain.d), self.rng, **asdict(self.climb))
        return self.repetition(self.rng, x, self.x)[None]

    def tell(self, query: Array, obs: Observation) -> None:
        """Fit anew to everything."""
        super().tell(query, obs)
        X = self.inputs(torch.from_numpy(self.x)).numpy()
        self.fitted = self.surrogate.learn(X, self.y, self.rng)

    def report(self) -> dict[str, float]:
        """Noise variance and log evidence, both in the units in which the regression sees y."""
        if self.fitted is None:
            return {}
        posterior = self.fitted.posterior
        return {"noise": posterior.model.noise.item(), "log_evidence": posterior.log_evidence}
