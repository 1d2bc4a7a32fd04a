"""One Gaussian process for y and one for every g at the same inputs, independent, with RBF kernels
that are known or fitted.

Column 0 of the values is y, column i is g_i. Between two fits the kernels stay and the Cholesky
factors grow by rows, whatever happens to the centre of the units: new values under the same kernel
cost O(n^2). Noise that is known in the units of the observations is another one in every other
unit, so that spreads stay, too, until the next fit is due.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from torch import Tensor

from algorithms.api import Array
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.feasibility import violation
from algorithms.parts.numerics.transforms import STANDARDS, Units
from algorithms.parts.processes.fitting import LBFGS, Fitted, Target, fit
from algorithms.parts.processes.gp import Posterior
from algorithms.parts.processes.kernels import Model, double, positive
from algorithms.parts.processes.rbf import isotropic

# lengthscale (1 or d numbers), outputscale and mean of one column
Kernel = Mapping[str, float | Sequence[float]]
Models = tuple[Fitted, ...]

FIT = "fit"


@dataclass(frozen=True)
class OutputSettings:
    """How y and every g are modelled: the group `surrogate` of the constrained methods.

    kernels: "fit", or the known ones, one for y and one for each g (jing2026lcbo, App. D: the true
        ones on the synthetic tasks).
    noise: variance of the noise (jing2026lcbo, App. D).
    noise_units: observed, or models, the units of `standard`: what the noise is a variance in.
    standard: the units that the models see: raw, population, sample or median (jing2026lcbo,
        App. D: z-scores).
    lengthscale: concentration and rate of its Gamma prior, then the first value, in units of the
        cube (jing2026lcbo, App. D).
    outputscale: mean and standard deviation of its normal prior, then the first value, a variance
        in the units of `standard` (jing2026lcbo, App. D).
    """

    kernels: str | Sequence[Kernel]
    noise: float
    noise_units: str
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
        chosen(NOISE_UNITS, self.noise_units, "noise_units")

    @property
    def known(self) -> Sequence[Kernel]:
        """The known kernels; none where they are fitted."""
        return () if isinstance(self.kernels, str) else self.kernels

    @property
    def units(self) -> Callable[[Array], Units]:
        """What finds the units of a column (n,)."""
        return UNITS[self.standard]

    @property
    def noise_is_observed(self) -> bool:
        """Whether the noise is in the units of the observations."""
        return NOISE_UNITS[self.noise_units]

    def noise_in(self, units: Units) -> float:
        """The variance of the noise in the units that a model sees."""
        return self.noise / units.spread**2 if self.noise_is_observed else self.noise

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
    """The models of all columns after some blocks of data, fitted by this kind of target."""

    surrogate: OutputSettings
    fit: RefitSettings
    target: type[Target] = Target
    models: Models = ()
    told: int = 0  # blocks

    def learn(self, x: Array, values: Array, rng: np.random.Generator) -> Outputs:
        """After one block more; values (n, 1 + m) at x (n, d) are all that was told.

        A fit is due with the first block and with every `fit.every`-th after it; it starts from the
        last one. Spreads under which the noise is known are found anew where a fit is due.
        """
        due = self.told % self.fit.every == 0
        X, units = torch.from_numpy(x), [self.surrogate.units(column) for column in values.T]
        if self.models and self.surrogate.noise_is_observed and not due:
            units = [
                replace(unit, spread=fitted.units.spread)
                for unit, fitted in zip(units, self.models, strict=True)
            ]
        models = []
        for i, unit in enumerate(units):
            u, noise = torch.from_numpy(unit(values[:, i])), self.surrogate.noise_in(unit)
            old = self.models[i].posterior if self.models else None
            model = _under(old.model, noise) if old else self._first(i, len(units), noise)
            if due and not self.surrogate.known:
                model = fit(model, X, u, LBFGS(self.fit.steps), rng, self.target)
                posterior = Posterior.of(model, X, u)
            elif old and old.model is model:
                posterior = _retold(old, X, u)
            else:
                posterior = Posterior.of(model, X, u)
            models.append(Fitted(unit, posterior))
        return replace(self, models=tuple(models), told=self.told + 1)

    @property
    def zeros(self) -> Tensor:
        """Where 0 lies in the units of the model of every g, (m, 1)."""
        return double([zero(fitted) for fitted in self.models[1:]])[:, None]

    def report(self, g: Array) -> dict[str, float]:
        """Length-scales, noise and feasible share, as `diagnostics` has them; nothing before the
        first block. g (n, m) are all observed constraints.
        """
        if not self.models:
            return {}
        models = [fitted.posterior.model for fitted in self.models]
        return diagnostics(
            [model.kernel.base_kernel.lengthscale.numpy() for model in models],
            [
                fitted.posterior.model.noise.item() * fitted.units.spread**2
                for fitted in self.models
            ],
            g,
        )

    def _first(self, i: int, columns: int, noise: float) -> Model:
        """The model that column i of so many starts from."""
        surrogate = self.surrogate
        if not surrogate.known:
            (*gamma, lengthscale), (*normal, outputscale) = (
                surrogate.lengthscale,
                surrogate.outputscale,
            )
            return isotropic(
                lengthscale=lengthscale,
                outputscale=outputscale,
                noise=noise,
                gamma=gamma,
                normal=normal,
            )
        given = surrogate.kernels_for(columns)[i]
        return known(given if surrogate.has_means else {**given, "mean": 0.0}, noise)


def diagnostics(
    lengthscales: Sequence[Array], noises: Sequence[float], g: Array
) -> dict[str, float]:
    """What the constrained methods report of their models, of y and of g_1, g_2, ... each, and of
    what they have seen.

    `lengthscale_*`: in units of the cube, the geometric mean where every coordinate has its own.
    `noise_*`: the variance of the likelihood's noise in squared units of the observations.
    `feasible`: the share of all evaluations so far that were observed to be feasible, from g (n,
    m).
    """
    names = ["y", *(f"g{i}" for i in range(1, len(noises)))]
    return {
        **{
            f"lengthscale_{name}": float(np.exp(np.log(lengthscale).mean()))
            for name, lengthscale in zip(names, lengthscales, strict=True)
        },
        **{f"noise_{name}": float(noise) for name, noise in zip(names, noises, strict=True)},
        "feasible": float((violation(g) == 0).mean()),
    }


def known(kernel: Kernel, noise: float) -> Model:
    """The model of one column whose parameters are all known; `noise` is a variance."""
    lengthscale = torch.atleast_1d(double(kernel["lengthscale"]))
    rbf = RBFKernel(
        ard_num_dims=len(lengthscale) if len(lengthscale) > 1 else None,
        lengthscale_constraint=positive(),
    )
    scaled = ScaleKernel(rbf, outputscale_constraint=positive())
    mean, likelihood = ConstantMean(), GaussianLikelihood(noise_constraint=positive())
    for module in (scaled, mean, likelihood):
        module.requires_grad_(False)
    model = Model(mean, scaled, likelihood)
    rbf.lengthscale, scaled.outputscale, likelihood.noise = (
        lengthscale,
        double(kernel["outputscale"]),
        double([noise]),
    )
    mean.constant.copy_(double(kernel["mean"]))
    return model


def zero(fitted: Fitted) -> float:
    """Where 0 lies in the units of a model."""
    return -fitted.units.centre / fitted.units.spread


def raw(y: Array) -> Units:
    """The units that it came in."""
    return Units(0.0, 1.0)


UNITS = {"raw": raw, **STANDARDS}
NOISE_UNITS = {"models": False, "observed": True}  # what the variance `noise` is in


def _under(model: Model, noise: float) -> Model:
    """A model whose noise has this variance: itself where it has."""
    if model.noise.item() == noise:
        return model
    changed = copy.deepcopy(model)
    changed.likelihood.noise = double([noise])
    return changed


def _retold(posterior: Posterior, X: Tensor, u: Tensor) -> Posterior:
    """The same model given u (n,) at all of X (n, d), whose first rows it knows in other units."""
    n = len(posterior.X)
    return replace(posterior, y=u[:n]).extend(X[n:], u[n:])
