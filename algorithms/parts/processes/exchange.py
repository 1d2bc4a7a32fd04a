"""A posterior of ours as its users know it from GPyTorch and BoTorch, with the same modules: the
oracle of the fast paths, and a model for acquisition functions that are not here.
"""

from __future__ import annotations

import gpytorch
from botorch.models.gpytorch import GPyTorchModel
from torch import Tensor

from algorithms.parts.processes.gp import Posterior


class AsGPyTorch(gpytorch.models.ExactGP, GPyTorchModel):
    """An exact process of one output given data, with BoTorch's `posterior(X)`."""

    _num_outputs = 1

    def __init__(self, posterior: Posterior) -> None:
        model = posterior.model
        super().__init__(posterior.X, posterior.y, model.likelihood)
        self.mean_module, self.covar_module = model.mean, model.kernel
        self.eval()

    def forward(self, X: Tensor) -> gpytorch.distributions.MultivariateNormal:
        """The prior at X (q, d)."""
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def as_gpytorch(posterior: Posterior) -> AsGPyTorch:
    """The same process in evaluation mode. Needs BoTorch, an extra."""
    return AsGPyTorch(posterior)
