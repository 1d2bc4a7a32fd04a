"""LogEI as BoTorch has it: noisy expected improvement on the logarithmic scale (ament2023logei).

Model, fit, acquisition function and its maximiser are BoTorch's (balandat2020botorch), with their
defaults: `SingleTaskGP` with the prior whose length-scales grow with the dimension
(hvarfner2024vanilla), inputs as they are in the unit cube, and `qLogNoisyExpectedImprovement`,
which needs no best value and is what Ax takes for one objective, noisy or not. As in Ax, observed
points that are hardly the best are left out of its sample (`prune_baseline`). With constraints each
output has a process of its own, and an improvement counts where all g are negative.

The acquisition function is smoothed on an absolute scale. It therefore sees standardised values,
and each constraint in units of its own root mean square.
"""

from __future__ import annotations

import warnings
from functools import partial
from types import ModuleType

import numpy as np
import torch
from torch import Tensor

from algorithms.api import Array, Box, Optimizer
from algorithms.parts.numerics.feasibility import best
from algorithms.parts.numerics.optional import imported
from algorithms.parts.numerics.transforms import standardised


class BoTorchLogEI(Optimizer):
    """One query at a time, where the expected improvement over all that was observed and all that
    is pending is largest.

    Use it for smooth functions of few evaluations, if a query may take a second.
    """

    domains = (Box,)
    domain: Box
    constrained = True

    def __init__(self, domain: Box, rng: np.random.Generator, *, restarts: int, raw: int) -> None:
        """How `optimize_acqf` maximises, which has no defaults for the two:

        restarts: `num_restarts`, climbs of L-BFGS-B
        raw: `raw_samples`, Sobol points of which the starts are drawn
        """
        super().__init__(domain, rng)
        _botorch()
        self.restarts, self.raw = restarts, raw

    def ask(self, room: int, pending: Array) -> Array:
        """What `optimize_acqf` finds, with PyTorch's generator set by a draw of ours."""
        if len(self.y) == 0:
            return self.rng.random((1, self.domain.d))
        seed = int(self.rng.integers(2**63))
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of each jitter and each climb that is tried again
            torch.manual_seed(seed)
            return self._suggested(_botorch(), pending)

    def _suggested(self, botorch: ModuleType, pending: Array) -> Array:
        X, models = torch.from_numpy(self.x), botorch.models
        outputs = torch.from_numpy(standardised(self.y, self.g))
        model = models.SingleTaskGP(X, outputs)
        settings = {}
        if constraints := outputs.shape[1] - 1:
            settings = {
                "objective": botorch.acquisition.objective.GenericMCObjective(_objective),
                "constraints": [partial(_output, which=1 + i) for i in range(constraints)],
            }
        mll = imported("gpytorch", "LogEI").mlls.ExactMarginalLogLikelihood(model.likelihood, model)
        botorch.fit.fit_gpytorch_mll(mll)
        promise = botorch.acquisition.logei.qLogNoisyExpectedImprovement(
            model,
            X,
            prune_baseline=True,
            X_pending=torch.from_numpy(pending) if len(pending) else None,
            **settings,
        )
        cube = torch.tensor([[0.0], [1.0]], dtype=X.dtype).expand(2, self.domain.d)
        query, _ = botorch.optim.optimize_acqf(
            promise, cube, q=1, num_restarts=self.restarts, raw_samples=self.raw
        )
        found: Array = query.numpy()
        return found

    def recommend(self) -> Array:
        """The best observed feasible query; where none is, the one with the least violation."""
        return self.x[best(self.y, self.g)][None]


def _botorch() -> ModuleType:
    return imported("botorch", "LogEI")


def _output(samples: Tensor, which: int) -> Tensor:
    """One output of samples (..., q, 1 + m)."""
    return samples[..., which]


def _objective(samples: Tensor, X: Tensor | None = None) -> Tensor:
    return _output(samples, 0)
