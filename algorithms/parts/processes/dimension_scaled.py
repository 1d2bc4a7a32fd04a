"""A Matern-5/2 regression whose prior expects longer length-scales where there are more inputs
(hvarfner2024vanilla).

Distances in the unit cube grow with the root of its dimension. A prior that does not grow with them
makes all points of a high-dimensional cube independent of each other.
"""

from __future__ import annotations

from math import log, sqrt

from gpytorch.constraints import GreaterThan
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from gpytorch.priors import LogNormalPrior

from algorithms.parts.numerics.transforms import sample
from algorithms.parts.processes.fitting import LBFGS, Surrogate
from algorithms.parts.processes.kernels import Matern52, Model, ScaledMatern52, double, positive


def dimension_scaled(d: int) -> Model:
    """BoTorch's defaults since its version 0.12 (balandat2020botorch), with its Matern-5/2 kernel:
    ln l ~ N(sqrt 2 + ln(d)/2, 3) for each input, ln noise ~ N(-4, 1), an outputscale of 1, in units
    of the cube and of standardised values. It starts from the modes.
    """
    lengthscale = log_normal(sqrt(2) + 0.5 * log(d), sqrt(3))
    noise = log_normal(-4.0, 1.0)
    kernel = ScaledMatern52(
        Matern52(
            ard_num_dims=d,
            lengthscale_prior=lengthscale,
            lengthscale_constraint=GreaterThan(
                2.5e-2, transform=None, initial_value=lengthscale.mode
            ),
        ),
        outputscale_constraint=positive(),
    )
    kernel.raw_outputscale.requires_grad_(False)
    likelihood = GaussianLikelihood(
        noise_prior=noise,
        noise_constraint=GreaterThan(1e-4, transform=None, initial_value=noise.mode),
    )
    return Model(ConstantMean(), kernel, likelihood)


DIMENSION_SCALED = Surrogate(dimension_scaled, sample, LBFGS())


def log_normal(loc: float, scale: float) -> LogNormalPrior:
    """A prior under which ln x ~ N(loc, scale^2), with constants in double precision."""
    return LogNormalPrior(
        double(loc),
        double(scale),
        validate_args=False,  # constraints keep parameters positive; checks would cost as much
    )
