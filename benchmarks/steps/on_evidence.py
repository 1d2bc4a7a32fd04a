"""ln p(y) under Matern-5/2 with one length-scale per input, and its gradient, once."""

from __future__ import annotations

import torch

from algorithms.parts.processes.gp import log_evidence
from benchmarks.race import Setup, Size, Work, along, once
from benchmarks.steps.given import botorch_model, data, known, lengthscales, tensors


def ours(size: Size) -> Setup:
    X, y = tensors(size["n"], size["d"])
    model = known(size["d"]).requires_grad_()
    parameters = list(model.parameters())
    return once(lambda: torch.autograd.grad(log_evidence(model, X, y), parameters))


def gpytorch(size: Size) -> Setup:
    import gpytorch

    X, y = tensors(size["n"], size["d"])
    model = botorch_model(size["n"], size["d"]).train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    parameters = [each for each in model.parameters() if each.requires_grad]

    def gradient() -> object:
        # beyond 800 data GPyTorch would iterate, which is another work
        with gpytorch.settings.max_cholesky_size(10**6):
            return torch.autograd.grad(mll(model(X), y), parameters)

    return once(gradient)


def scikit_learn(size: Size) -> Setup:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    x, y = data(size["n"], size["d"])
    kernel = ConstantKernel(1.0) * Matern(lengthscales(size["d"]), nu=2.5) + WhiteKernel(1e-2)
    regression = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(x, y)
    theta = regression.kernel_.theta
    return once(lambda: regression.log_marginal_likelihood(theta, eval_gradient=True))


NAME, N = "evidence and gradient", (125, 250, 500, 1000)
WORKS = [
    Work(
        NAME,
        [*along("n", N, d=20), *along("d", (10, 20, 50, 100), n=500)],
        ours,
        "same data, kernel, parameters and values; both by one Cholesky factor (beyond 800 data"
        " GPyTorch would iterate, and is told not to); GPyTorch adds the log priors, d + 2 numbers",
        "GPyTorch",
        gpytorch,
    ),
    Work(
        NAME,
        along("n", N, d=6),
        ours,
        "same data, kernel and values; scikit-learn's gradient is over logarithms and has no mean",
        "scikit-learn",
        scikit_learn,
    ),
]
