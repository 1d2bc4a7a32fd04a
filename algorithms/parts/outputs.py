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
class Outputs:
    """How the columns are modelled: in which units, with which noise variance there, with which
    kernels.
    """

    kernels: Sequence[Kernel]  # the known ones; none where they are fitted
    standard: Callable[[Array], Units]
    noise: float
    lengthscale: Sequence[float]  # concentration and rate of its Gamma prior, first value
    outputscale: Sequence[float]  # mean and standard deviation of its normal prior, first value
    fit_every: int
    method: LBFGS

    @classmethod
    def named(
        cls,
        *,
        kernels: str | Sequence[Kernel],
        standard: str,
        noise: float,
        lengthscale: Sequence[float],
        outputscale: Sequence[float],
        fit_every: int,
        fit_steps: int,
    ) -> Outputs:
        """From the parameters of an optimizer. Raises ValueError on what has no meaning."""
        if isinstance(kernels, str) and kernels != FIT:
            raise ValueError(
                f"kernels: expected {FIT} or a list with one kernel for y and one for each g, got"
                f" {kernels!r}"
            )
        if not (noise > 0 and fit_every > 0):
            raise ValueError(f"expected noise > 0 and fit_every > 0, got {noise}, {fit_every}")
        known = () if isinstance(kernels, str) else kernels
        units = chosen(UNITS, standard, "standard")
        return cls(
            known, units, noise, tuple(lengthscale), tuple(outputscale), fit_every, LBFGS(fit_steps)
        )

    def learn(
        self, models: Models, x: Array, values: Array, rng: np.random.Generator, *, told: int
    ) -> Models:
        """What values (n, 1 + m) at x (n, d) teach, told in blocks: `told` of them before, after
        which it was `models`.

        A fit is due with the first block and with every `fit_every`-th after it; it starts from the
        last one.
        """
        X, columns = torch.from_numpy(x), values.T
        units = [self.standard(column) for column in columns]
        U = [torch.from_numpy(unit(column)) for unit, column in zip(units, columns, strict=True)]
        if not self.kernels and told % self.fit_every == 0:
            posteriors = [
                Posterior.of(fit(model, X, u, self.method, rng), X, u)
                for model, u in self._pairs(models, U)
            ]
        elif models:
            posteriors = [
                _retold(fitted.posterior, X, u) for fitted, u in zip(models, U, strict=True)
            ]
        else:
            posteriors = [Posterior.of(model, X, u) for model, u in self._pairs(models, U)]
        return tuple(
            Fitted(unit, posterior) for unit, posterior in zip(units, posteriors, strict=True)
        )

    def _pairs(self, models: Models, U: list[Tensor]) -> list[tuple[Model, Tensor]]:
        """Each column with the model to start from."""
        if models:
            return [(fitted.posterior.model, u) for fitted, u in zip(models, U, strict=True)]
        if not self.kernels:
            (*gamma, lengthscale), (*normal, outputscale) = self.lengthscale, self.outputscale
            first = isotropic(
                lengthscale=lengthscale,
                outputscale=outputscale,
                noise=self.noise,
                gamma=gamma,
                normal=normal,
            )
            return [(first, u) for u in U]
        if len(self.kernels) != len(U):
            wanted = f"{len(U)}, one for y and one for each of {len(U) - 1} constraints"
            raise ValueError(f"kernels: expected {wanted}, got {len(self.kernels)}")
        given = (
            self.kernels
            if self.standard is raw
            else [{**kernel, "mean": 0.0} for kernel in self.kernels]
        )
        return [(known(kernel, self.noise), u) for kernel, u in zip(given, U, strict=True)]


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
