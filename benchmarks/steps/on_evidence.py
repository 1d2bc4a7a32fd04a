"""ln p(y) under Matern-5/2 with one length-scale per input, and its gradient, once."""

from __future__ import annotations

import torch

from algorithms.parts.processes.gp import log_evidence
from benchmarks.effort import evidence
from benchmarks.race import Size, Task, Turn, Work, once
from benchmarks.steps.given import botorch_model, data, known, lengthscales, tensors

BELOW = (
    "square roots and exponentials of n^2/2 numbers cost some twenty flops each and are priced as"
    " one; at small n every call of PyTorch costs microseconds; the inverse of LAPACK stays below"
    " the rate of a product"
)


def ours(size: Size) -> Task:
    X, y = tensors(size["n"], size["d"])
    model = known(size["d"]).requires_grad_()
    parameters = list(model.parameters())
    return Task(
        once(lambda: torch.autograd.grad(log_evidence(model, X, y), parameters)),
        evidence(size["n"], size["d"]),
    )


def gpytorch(size: Size) -> Turn:
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


def scikit_learn(size: Size) -> Turn:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    x, y = data(size["n"], size["d"])
    kernel = ConstantKernel(1.0) * Matern(lengthscales(size["d"]), nu=2.5) + WhiteKernel(1e-2)
    regression = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(x, y)
    theta = regression.kernel_.theta
    return once(lambda: regression.log_marginal_likelihood(theta, eval_gradient=True))


SAME_AS_GPYTORCH = (
    "same data, kernel, parameters and values; both by one Cholesky factor (beyond 800 data"
    " GPyTorch would iterate, and is told not to); GPyTorch adds the log priors, d + 2 numbers"
)
SAME_AS_SCIKIT_LEARN = (
    "same data, kernel and values; scikit-learn's gradient is over logarithms and has no mean"
)
WORKS = (
    Work(
        family="evidence",
        name="evidence and gradient",
        axis="n",
        sizes=[{"n": n, "d": 20} for n in (125, 250, 500, 1000)],
        full=[{"n": 2000, "d": 20}, {"n": 4000, "d": 20}],
        ours=ours,
        exponents=(3, 3),
        same=SAME_AS_GPYTORCH,
        below=BELOW,
        peer="GPyTorch",
        module="botorch",
        theirs=gpytorch,
    ),
    Work(
        family="evidence",
        name="evidence and gradient",
        axis="d",
        sizes=[{"n": 500, "d": d} for d in (10, 20, 50, 100)],
        full=[{"n": 500, "d": 200}, {"n": 500, "d": 500}],
        ours=ours,
        exponents=(1, 1),
        same=SAME_AS_GPYTORCH,
        below=BELOW,
        peer="GPyTorch",
        module="botorch",
        theirs=gpytorch,
    ),
    Work(
        family="evidence",
        name="evidence and gradient",
        axis="n",
        sizes=[{"n": n, "d": 6} for n in (125, 250, 500, 1000)],
        full=[{"n": 2000, "d": 6}],
        ours=ours,
        exponents=(3, 3),
        same=SAME_AS_SCIKIT_LEARN,
        below=BELOW,
        peer="scikit-learn",
        module="sklearn",
        theirs=scikit_learn,
    ),
)
