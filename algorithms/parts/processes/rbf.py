"""An RBF kernel with priors on its parameters, to be fitted under noise that is known
(gardner2018gpytorch).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, ZeroMean
from gpytorch.priors import GammaPrior, NormalPrior

from algorithms.parts.processes.kernels import Model, double, positive


def isotropic(
    *,
    lengthscale: float,
    outputscale: float,
    noise: float,
    gamma: Sequence[float],
    normal: Sequence[float],
    mean: float | None = None,
) -> Model:
    """a exp(-|x - x'|^2/(2 l^2)), from first values of l and a; `noise` is a variance and stays.

    Prior of l: Gamma of this concentration and rate. Prior of a: normal of this mean and standard
    deviation. The mean is zero, or a constant without a prior whose first value is `mean`.
    """
    rbf = RBFKernel(lengthscale_prior=GammaPrior(*double(gamma)), lengthscale_constraint=positive())
    kernel = ScaleKernel(
        rbf, outputscale_prior=NormalPrior(*double(normal)), outputscale_constraint=positive()
    )
    model = Model(ZeroMean() if mean is None else ConstantMean(), kernel, _known_noise())
    if mean is not None:
        model.mean.constant.copy_(double(mean))
    rbf.lengthscale, kernel.outputscale, model.likelihood.noise = (
        double([lengthscale]),
        double(outputscale),
        double([noise]),
    )
    return model


def _known_noise() -> GaussianLikelihood:
    likelihood = GaussianLikelihood(noise_constraint=positive())
    likelihood.requires_grad_(False)
    return likelihood
