"""One Gaussian process for y and one for every g at the same inputs, independent, with RBF kernels
that are known or fitted.

Column 0 of the values is y, column i is g_i. Between two fits the kernels stay and the Cholesky
factors grow by rows, whatever happens to the units: new values under the same kernel cost O(n^2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from torch import Tensor

from algorithms.api import Array
from algorithms.parts.choice import chosen
from algorithms.parts.fitting import LBFGS, Fitted, fit
from algorithms.parts.gp import Posterior
from algorithms.parts.kernels import Model
from algorithms.parts.rbf import isotropic
from algorithms.parts.transforms import STANDARDS, Units

# lengthscale (1 or d numbers), outputscale and mean of one column
Kernel = Mapping[str, float | Sequence[float]]
Models = tuple[Fitted, ...]

FIT = "fit"


@dataclass(frozen=True)
class OutputSettings:
    """How y and every g are modelled: the group `surrogate` of the constrained methods.

    kernels: "fit", or the known ones, one for y and one for each g (jing2026lcbo, App. D: the true
        ones on the synthetic tasks).
    noise: variance of the noise, in the units of `standard` (jing2026lcbo, App. D).
    standard: the units that the models see: raw, population, sample or median (jing2026lcbo,
        App. D: z-scores).
    lengthscale: concentration and rate of its Gamma prior, then the first value, in units of the
        cube (jing2026lcbo, App. D).
    outputscale: mean and standard deviation of its normal prior, then the first value, a variance
        in the units of `standard` (jing2026lcbo, App. D).
    """

    kernels: str | Sequence[Kernel]
    noise: float
    standard: str
    lengthscale: Sequence[float]
    outputscale: Sequence[float]

    def __post_init__(self) -> None:
        if isinstance(self.kernels, str) and self.kernels != FIT:
            raise ValueError(
                f"kernels: expected {FIT} or a list with one kernel for y and one for each g, got"
                f" {self.kernels!r}"
            )
        if not self.noise > 0:
            raise ValueError(f"noise: expected a positive number, got {self.noise}")
        chosen(UNITS, self.standard, "standard")

    @property
    def known(self) -> Sequence[Kernel]:
        """The known kernels; none where they are fitted."""
        return () if isinstance(self.kernels, str) else self.kernels

    @property
    def units(self) -> Callable[[Array], Units]:
        """What finds the units of a column (n,)."""
        return UNITS[self.standard]

    @property
    def has_means(self) -> bool:
        """Whether the prior means of known kernels count, which are in raw units."""
        return self.units is raw

    def kernels_for(self, columns: int) -> Sequence[Kernel]:
        """The known kernels of so many columns. Raises ValueError where their number differs."""
        if len(self.known) != columns:
            raise ValueError(
                f"kernels: expected {columns}, one for y and one for each of {columns - 1}"
                f" constraints, got {len(self.known)}"
            )
        return self.known


@dataclass(frozen=True)
class RefitSettings:
    """When and how fitted kernels are fitted: the group `fit` of the constrained baselines.

    every: blocks told from one fit to the next (jing2026lcbo, App. D: five iterations).
    steps: of L-BFGS at most, from the last fit on.
    """

    every: int
    steps: int

    def __post_init__(self) -> None:
        if not self.every > 0:
            raise ValueError(f"every: expected a positive number, got {self.every}")


@dataclass(frozen=True, eq=False)
class Outputs:
    """The models of all columns after some blocks of data: none before the first block."""

    surrogate: OutputSettings
    fit: RefitSettings
    models: Models = ()
    told: int = 0  # blocks

    def learn(self, x: Array, values: Array, rng: np.random.Generator) -> Outputs:
        """After one block more; values (n, 1 + m) at x (n, d) are all that was told.

        A fit is due with the first block and with every `fit.every`-th after it; it starts from the
        last one.
        """
        X, columns = torch.from_numpy(x), values.T
        units = [self.surrogate.units(column) for column in columns]
        U = [torch.from_numpy(unit(column)) for unit, column in zip(units, columns, strict=True)]
        if not self.surrogate.known and self.told % self.fit.every == 0:
            method = LBFGS(self.fit.steps)
            posteriors = [
                Posterior.of(fit(model, X, u, method, rng), X, u) for model, u in self._pairs(U)
            ]
        elif self.models:
            posteriors = [
                _retold(fitted.posterior, X, u) for fitted, u in zip(self.models, U, strict=True)
            ]
        else:
            posteriors = [Posterior.of(model, X, u) for model, u in self._pairs(U)]
        models = tuple(
            Fitted(unit, posterior) for unit, posterior in zip(units, posteriors, strict=True)
        )
        return replace(self, models=models, told=self.told + 1)

    def _pairs(self, U: list[Tensor]) -> list[tuple[Model, Tensor]]:
        """Each column with the model to start from."""
        if self.models:
            return [(fitted.posterior.model, u) for fitted, u in zip(self.models, U, strict=True)]
        surrogate = self.surrogate
        if not surrogate.known:
            (*gamma, lengthscale), (*normal, outputscale) = (
                surrogate.lengthscale,
                surrogate.outputscale,
            )
            first = isotropic(
                lengthscale=lengthscale,
                outputscale=outputscale,
                noise=surrogate.noise,
                gamma=gamma,
                normal=normal,
            )
            return [(first, u) for u in U]
        given = surrogate.kernels_for(len(U))
        if not surrogate.has_means:
            given = [{**kernel, "mean": 0.0} for kernel in given]
        return [(known(kernel, surrogate.noise), u) for kernel, u in zip(given, U, strict=True)]


def known(kernel: Kernel, noise: float) -> Model:
    """The model of one column whose parameters are all known; `noise` is a variance."""
    lengthscale = torch.atleast_1d(_double(kernel["lengthscale"]))
    rbf = RBFKernel(
        ard_num_dims=len(lengthscale) if len(lengthscale) > 1 else None,
        lengthscale_constraint=_positive(),
    )
    scaled = ScaleKernel(rbf, outputscale_constraint=_positive())
    mean, likelihood = ConstantMean(), GaussianLikelihood(noise_constraint=_positive())
    for module in (scaled, mean, likelihood):
        module.requires_grad_(False)
    model = Model(mean, scaled, likelihood)
    rbf.lengthscale, scaled.outputscale, likelihood.noise = (
        lengthscale,
        _double(kernel["outputscale"]),
        _double([noise]),
    )
    mean.constant.copy_(_double(kernel["mean"]))
    return model


def zero(fitted: Fitted) -> float:
    """Where 0 lies in the units of a model."""
    return -fitted.units.centre / fitted.units.spread


def raw(y: Array) -> Units:
    """The units that it came in."""
    return Units(0.0, 1.0)


UNITS = {"raw": raw, **STANDARDS}


def _retold(posterior: Posterior, X: Tensor, u: Tensor) -> Posterior:
    """The same model given u (n,) at all of X (n, d), whose first rows it knows in other units."""
    n = len(posterior.X)
    grown = posterior.extend(X[n:], u[n:])
    return replace(
        grown,
        X=X,
        y=u,
        alpha=torch.cholesky_solve((u - grown.model.mean(X))[:, None], grown.L)[:, 0],
    )


def _positive() -> GreaterThan:
    return GreaterThan(0.0, transform=None, initial_value=1.0)


def _double(numbers: float | Sequence[float]) -> Tensor:
    """Not rounded to single precision, as GPyTorch's initial values are."""
    return torch.tensor(numbers, dtype=torch.float64)
