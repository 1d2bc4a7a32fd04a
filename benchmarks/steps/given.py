"""Data and known parameters that both sides of a work are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from algorithms.api import Array
from algorithms.parts.processes.gp import Posterior
from algorithms.parts.processes.kernels import Model, gamma_priors
from algorithms.parts.search.adam import AdamClimbSettings
from algorithms.parts.search.maximise import ClimbSettings
from benchmarks.race import Setup

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

OUTPUTSCALE, NOISE = 1.0, 1e-2


def data(n: int, d: int, seed: int = 300) -> tuple[Array, Array]:
    """n uniform points of the cube (n, d), and Styblinski-Tang's function there with a little
    noise, negated and standardised, (n,).
    """
    rng = np.random.default_rng(seed)
    x = rng.random((n, d))
    z = 10 * x - 5
    y = -0.5 * (z**4 - 16 * z**2 + 5 * z).sum(1) + 0.01 * rng.standard_normal(n)
    return x, (y - y.mean()) / y.std(ddof=1)


def tensors(n: int, d: int) -> tuple[Tensor, Tensor]:
    """The same as tensors."""
    x, y = data(n, d)
    return torch.from_numpy(x), torch.from_numpy(y)


def lengthscales(d: int) -> Array:
    """One for each coordinate, about as long as keeps distances at 1 whatever d is."""
    return np.linspace(0.8, 1.2, d) * 0.5 * d**0.5


def points(q: int, d: int) -> Tensor:
    """q other points of the cube."""
    return torch.from_numpy(np.random.default_rng(301).random((q, d)))


def known(d: int) -> Model:
    """Our Matern-5/2 model with the given parameters and mean zero."""
    return _given(gamma_priors(d), d)


def posterior(n: int, d: int) -> Posterior:
    """Ours of the data."""
    return Posterior.of(known(d), *tensors(n, d))


def botorch_model(n: int, d: int) -> SingleTaskGP:
    """BoTorch's of the same data under the same parameters, in evaluation mode."""
    model = botorch_prior(*tensors(n, d))
    _given(model, d)
    return model.eval()


def botorch_prior(X: Tensor, y: Tensor) -> SingleTaskGP:
    """BoTorch's model with the Gamma priors that ours has."""
    from botorch.models import SingleTaskGP
    from botorch.models.utils.gpytorch_modules import (
        get_gaussian_likelihood_with_gamma_prior,
        get_matern_kernel_with_gamma_prior,
    )

    return SingleTaskGP(
        X,
        y[:, None],
        covar_module=get_matern_kernel_with_gamma_prior(X.shape[1]),
        likelihood=get_gaussian_likelihood_with_gamma_prior(),
        outcome_transform=None,
    )


def seeded(step: Callable[[], object]) -> Setup:
    """A step of BoTorch's, whose draws are the same in each turn."""

    def setup() -> Callable[[], object]:
        torch.manual_seed(300)
        return step

    return setup


def climbed(acquisition: Any, d: int, climb: ClimbSettings | AdamClimbSettings) -> object:
    """Where BoTorch's climbs end on the cube, as many and as long as ours."""
    from botorch.optim import optimize_acqf

    return optimize_acqf(
        acquisition,
        torch.stack([torch.zeros(d), torch.ones(d)]).double(),
        q=1,
        num_restarts=climb.starts,
        raw_samples=climb.raw,
        options={"maxiter": climb.steps},
    )


def _given(model: Any, d: int) -> Any:
    kernel = model.kernel if isinstance(model, Model) else model.covar_module
    mean = model.mean if isinstance(model, Model) else model.mean_module
    with torch.no_grad():
        kernel.base_kernel.lengthscale = torch.from_numpy(lengthscales(d))
        kernel.outputscale = torch.tensor(OUTPUTSCALE, dtype=torch.float64)
        model.likelihood.noise = torch.tensor([NOISE], dtype=torch.float64)
        mean.constant.fill_(0.0)
    return model
