"""Hyperparameters that maximise evidence times prior.

The search runs over logarithms of the parameters that must be positive, or over numbers whose
softplus they are (priors stay densities of the parameters themselves), and starts from the values
that the model has: hand in an earlier model for a warm start, a fresh one for a cold start.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import lgamma, log, pi
from typing import Any, ClassVar

import numpy as np
import torch
from gpytorch.means import ConstantMean, ZeroMean
from gpytorch.priors import GammaPrior, LogNormalPrior
from scipy.optimize import Bounds, minimize
from scipy.special import expit
from torch import Tensor

from algorithms.api import Array
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.transforms import STANDARDS, Units, population, sample
from algorithms.parts.processes.gp import MaternDensity, Posterior, log_evidence
from algorithms.parts.processes.kernels import (
    Model,
    ScaledMatern52,
    bounded,
    gamma_priors,
    scikit_optimize,
)

# a positive parameter without bounds of its own stays in [EDGE, 1/EDGE], where floats are safe
EDGE = 1e-8
# past steps that L-BFGS-B keeps: about as many as there are parameters save a tenth of the steps
MEMORY = 20


@dataclass(frozen=True)
class Chart:
    """How a positive value is told by a number without bounds: value(number), its inverse, and the
    derivative of the value over the number as a function of both.
    """

    value: Callable[[Array], Array]
    number: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]


def _itself(number: Array, value: Array) -> Array:
    return value


def _softplus(number: Array) -> Array:
    return np.logaddexp(0.0, number)


def _softplus_number(value: Array) -> Array:
    """ln(e^v - 1), where e^v may be too large for a float."""
    return value + np.log(-np.expm1(-value))


def _softplus_slope(number: Array, value: Array) -> Array:
    return expit(number)


LOGARITHM = Chart(np.exp, np.log, _itself)
# v = ln(1 + e^r), as GPyTorch stores what must be positive (gardner2018gpytorch)
SOFTPLUS = Chart(_softplus, _softplus_number, _softplus_slope)


@dataclass(frozen=True)
class LBFGS:
    """L-BFGS-B from the present values and from `restarts` uniform draws of logarithms."""

    steps: int = 15_000  # SciPy's own limit
    restarts: int = 0
    chart: ClassVar[Chart] = LOGARITHM

    def climb(self, target: Target, start: Array, rng: np.random.Generator) -> Array:
        """The best end of all climbs."""
        run = partial(
            minimize,
            target.loss,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(target.low, target.high),
        )
        starts = [start] + [target.draw(rng) for _ in range(self.restarts)]
        ends = [run(theta, options={"maxiter": self.steps, "maxcor": MEMORY}) for theta in starts]
        return min(ends, key=lambda end: end.fun).x


@dataclass(frozen=True)
class Adam:
    """Adam's steps (kingma2015adam) from the present values, in `chart`, kept in the bounds."""

    rate: float
    steps: int
    chart: Chart = LOGARITHM

    def climb(self, target: Target, start: Array, rng: np.random.Generator) -> Array:
        """Where the last step ends."""
        theta = torch.from_numpy(start.copy()).requires_grad_()
        adam = torch.optim.Adam([theta], lr=self.rate)
        for _ in range(self.steps):
            theta.grad = torch.from_numpy(target.loss(theta.detach().numpy())[1])
            adam.step()
            with torch.no_grad():
                theta.clamp_(torch.from_numpy(target.low), torch.from_numpy(target.high))
        return theta.detach().numpy()


Method = LBFGS | Adam


def fit(
    model: Model,
    X: Tensor,
    y: Tensor,
    method: Method,
    rng: np.random.Generator,
    target: type[Target] | None = None,
) -> Model:
    """A copy of the model whose free parameters suit y (n,) at X (n, d), by this kind of target.

    Raises ArithmeticError on what is not finite.
    """
    return fit_in_place(copy.deepcopy(model), X, y, method, rng, target)


def fit_in_place(
    model: Model,
    X: Tensor,
    y: Tensor,
    method: Method,
    rng: np.random.Generator,
    target: type[Target] | None = None,
) -> Model:
    """Fit a model that nobody else has, which changes, and return it."""
    if not (torch.isfinite(X).all() and torch.isfinite(y).all()):
        raise ArithmeticError(
            "expected finite data, got inf or nan: look at what the problem returned"
        )
    if not model.free:
        raise ValueError(
            "expected a model with free parameters, got one whose parameters are all known:"
            " condition it as it is"
        )
    kind = target or (MaternTarget if MaternTarget.suits(model) else Target)
    density = kind(model, X, y, method.chart)
    density.write(method.climb(density, density.read(), rng))
    density.model.requires_grad_(False)
    return density.model


class Target:
    """Minus the log posterior density per observation, over one vector theta of all free parameters
    of its own model.

    theta (p,) holds the number of the chart (by default the logarithm) of what must be positive
    and the value of the rest, between low (p,) and high (p,).
    """

    def __init__(self, model: Model, X: Tensor, y: Tensor, chart: Chart = LOGARITHM) -> None:
        self.model, self.X, self.y, self.chart = model, X, y, chart
        self.parameters = [model.get_parameter(name).requires_grad_() for name in model.free]
        ranges = [_range(model, name, chart) for name in model.free]
        self.positive, self.low, self.high = (
            np.concatenate(column) for column in zip(*ranges, strict=True)
        )

    def read(self) -> Array:
        """theta of the model's present values."""
        values = torch.nn.utils.parameters_to_vector(self.parameters).detach().numpy()
        return np.clip(
            np.where(
                self.positive, self.chart.number(np.where(self.positive, values, 1.0)), values
            ),
            self.low,
            self.high,
        )

    def write(self, theta: Array) -> Array:
        """Give the model the values (p,) that theta stands for."""
        values = np.where(
            self.positive, self.chart.value(np.where(self.positive, theta, 0.0)), theta
        )
        torch.nn.utils.vector_to_parameters(torch.from_numpy(values), self.parameters)
        return values

    def draw(self, rng: np.random.Generator) -> Array:
        """A uniform theta between the bounds; present values where there are none."""
        bounded = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.where(bounded, self.low, 0.0), np.where(bounded, self.high, 1.0)
        return np.where(bounded, rng.uniform(low, high), self.read())

    def log_evidence(self) -> Tensor:
        """ln p(y | X), differentiable over the parameters."""
        return log_evidence(self.model, self.X, self.y)

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient (p,)."""
        values = self.write(theta)
        density = (self.log_evidence() + self.model.log_prior()) / len(self.y)
        if not torch.isfinite(density):
            raise ArithmeticError(
                f"evidence {density.item()} at the parameters {values}: standardise y, or narrow"
                " their bounds"
            )
        slopes = torch.autograd.grad(density, self.parameters)
        slope = torch.nn.utils.parameters_to_vector(slopes).numpy()
        steep = self.chart.slope(np.where(self.positive, theta, 0.0), values)
        return -density.item(), -np.where(self.positive, steep * slope, slope)


# values (k,) -> the sum of their log densities, and its slopes (k,)
LogDensity = Callable[[Array], tuple[float, Array]]


class MaternTarget(Target):
    """The same of a Matern-5/2 model without GPyTorch's graph, for fits that ask hundreds of times.

    `Target` is its oracle. The model holds the values of a fit at its end alone.
    """

    def __init__(self, model: Model, X: Tensor, y: Tensor, chart: Chart = LOGARITHM) -> None:
        super().__init__(model, X, y, chart)
        sizes = [parameter.numel() for parameter in self.parameters]
        ends = np.cumsum(sizes)
        self.places = {
            name: slice(end - size, end)
            for name, size, end in zip(model.free, sizes, ends, strict=True)
        }
        named = {name.rpartition(".")[2]: prior for name, _, prior, *_ in model.named_priors()}
        self.priors = {
            name: DENSITIES[type(named[prior])](named[prior])
            for name, prior in PRIORS.items()
            if prior in named and name in self.places
        }
        kernel = model.kernel
        self.known = {
            CONSTANT: model.mean(X[:1]).detach(),
            SCALE: kernel.outputscale.detach(),
            LENGTHSCALE: kernel.base_kernel.lengthscale.detach(),
            NOISE: model.noise.detach(),
        }

    @staticmethod
    def suits(model: Model) -> bool:
        """Whether a model has the kernel, the mean and the priors of which slopes are known."""
        kernel = model.kernel
        return (
            isinstance(kernel, ScaledMatern52)
            and kernel.active_dims is None
            and isinstance(model.mean, ConstantMean | ZeroMean)
            and all(isinstance(prior, tuple(DENSITIES)) for _, prior, _ in model.priors)
        )

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient (p,)."""
        values = np.where(
            self.positive, self.chart.value(np.where(self.positive, theta, 0.0)), theta
        )
        now = dict(self.known)
        for name, place in self.places.items():
            now[name] = torch.from_numpy(values[place]).reshape(self.known[name].shape)
        density = MaternDensity(
            self.y - now[CONSTANT], self.X, now[LENGTHSCALE], now[SCALE], now[NOISE][0]
        )
        value, slope = float(density.value()), np.empty(len(theta))
        over_r, over_lengthscale, over_scale, over_noise = density.slopes()
        over = {
            CONSTANT: -over_r.sum(),
            SCALE: over_scale,
            LENGTHSCALE: over_lengthscale.flatten(),
            NOISE: over_noise,
        }
        for name, place in self.places.items():
            slope[place] = over[name].numpy()
        for name, prior in self.priors.items():
            place = self.places[name]
            more, steep = prior(values[place])
            value += more
            slope[place] += steep
        if not np.isfinite(value):
            raise ArithmeticError(
                f"evidence {value} at the parameters {values}: standardise y, or narrow"
                " their bounds"
            )
        steep = self.chart.slope(np.where(self.positive, theta, 0.0), values)
        n = len(self.y)
        return -value / n, -np.where(self.positive, steep * slope, slope) / n


def _gamma(prior: GammaPrior) -> LogDensity:
    a, b = prior.concentration.item(), prior.rate.item()
    constant = a * log(b) - lgamma(a)

    def density(x: Array) -> tuple[float, Array]:
        value = len(x) * constant + ((a - 1) * np.log(x) - b * x).sum()
        return float(value), (a - 1) / x - b

    return density


def _log_normal(prior: LogNormalPrior) -> LogDensity:
    loc, scale = prior.loc.item(), prior.scale.item()
    constant = -log(scale) - 0.5 * log(2 * pi)

    def density(x: Array) -> tuple[float, Array]:
        logs = np.log(x)
        z = (logs - loc) / scale
        value = len(x) * constant - (0.5 * z * z + logs).sum()
        return float(value), -(1 + z / scale) / x

    return density


CONSTANT, SCALE = "mean.raw_constant", "kernel.raw_outputscale"
LENGTHSCALE = "kernel.base_kernel.raw_lengthscale"
NOISE = "likelihood.noise_covar.raw_noise"
PRIORS = {SCALE: "outputscale_prior", LENGTHSCALE: "lengthscale_prior", NOISE: "noise_prior"}
DENSITIES: dict[type, Callable[[Any], LogDensity]] = {
    GammaPrior: _gamma,
    LogNormalPrior: _log_normal,
}


def _range(model: Model, name: str, chart: Chart) -> tuple[Array, Array, Array]:
    """Whether a parameter must be positive, and its bounds in the chart, for each element."""
    constraint, size = model.constraint_for_parameter_name(name), model.get_parameter(name).numel()
    if constraint is None:
        return np.zeros(size, dtype=bool), np.full(size, -np.inf), np.full(size, np.inf)
    if constraint.enforced:
        raise ValueError(
            f"{name}: expected a constraint without a transform, which would make it another"
            " parameter"
        )
    low, high = (
        np.broadcast_to(bound.numpy(), size)
        for bound in (constraint.lower_bound, constraint.upper_bound)
    )
    return (
        np.ones(size, dtype=bool),
        chart.number(np.maximum(low, EDGE)),
        chart.number(np.minimum(high, 1 / EDGE)),
    )


@dataclass(frozen=True, eq=False)
class Fitted:
    """A posterior, and the units of y that it speaks in."""

    units: Units
    posterior: Posterior


@dataclass(frozen=True)
class Surrogate:
    """A library's default regression: its prior, the units in which it sees y, how it fits."""

    prior: Callable[[int], Model]
    standard: Callable[[Array], Units]
    method: Method

    def learn(self, x: Array, y: Array, rng: np.random.Generator) -> Fitted:
        """What y (n,) at x (n, d) teaches, from a cold start as the libraries have it."""
        return self.fitted(x, y, self.standard(y), rng)

    def fitted(self, x: Array, y: Array, units: Units, rng: np.random.Generator) -> Fitted:
        """The same in these units of y, whatever `standard` says."""
        X, u = torch.from_numpy(x), torch.from_numpy(units(y))
        model = fit_in_place(self.prior(x.shape[1]), X, u, self.method, rng)
        return Fitted(units, Posterior.of(model, X, u))


@dataclass(frozen=True)
class FitSettings:
    """How a regression is fitted anew at every tell: the group `fit`.

    method: l-bfgs or adam.
    steps: of L-BFGS at most, of Adam exactly (eriksson2019turbo, the authors' public code: 50).
    rate: the length of Adam's first step, in logarithms of the parameters; L-BFGS has none.
    """

    method: str
    steps: int
    rate: float

    def climber(self) -> Method:
        """The method by its name. Raises ValueError."""
        known: dict[str, Method] = {
            "l-bfgs": LBFGS(self.steps),
            "adam": Adam(self.rate, self.steps),
        }
        return chosen(known, self.method, "method")


@dataclass(frozen=True)
class BoundedSurrogate:
    """A Matern-5/2 regression whose parameters have bounds and no priors: the group `surrogate`.

    Each of the three is (least, first, largest) value (eriksson2019turbo, the authors' public
    code).

    standard: how y is standardised: population, sample or median.
    lengthscale: one for each coordinate, in units of the cube.
    outputscale: a variance, in the standardised units of y.
    noise: a variance, in the standardised units of y.
    """

    standard: str
    lengthscale: Sequence[float]
    outputscale: Sequence[float]
    noise: Sequence[float]

    def fitted_by(self, fit: FitSettings) -> Surrogate:
        """The regression that is fitted in this way. Raises ValueError on an unknown name."""
        prior = partial(
            bounded, lengthscale=self.lengthscale, outputscale=self.outputscale, noise=self.noise
        )
        return Surrogate(prior, chosen(STANDARDS, self.standard, "standard"), fit.climber())


SURROGATES = {
    "gamma-priors": Surrogate(gamma_priors, sample, LBFGS()),
    "scikit-optimize": Surrogate(scikit_optimize, population, LBFGS(restarts=2)),
}
