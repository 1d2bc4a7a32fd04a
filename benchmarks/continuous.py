"""Seconds of one GP-EI step, ours and BoTorch's, and of one evidence gradient: `python -m
benchmarks.continuous [--repeats 5]`.

A step fits Matern-5/2 with BoTorch's Gamma priors and maximises ln EI, both sides with the same
number of Sobol candidates and of climbs, on Styblinski-Tang's function in 20 dimensions. Seconds
are CPU seconds on one thread, the least over repeats; the sides take turns in one process, so that
their ratio means something on a shared machine. ln EI of both points is under our fit; a log
density is evidence times prior, each side of its own fit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial

from workflow.trace import record

# isort: split
import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.utils.gpytorch_modules import (
    get_gaussian_likelihood_with_gamma_prior,
    get_matern_kernel_with_gamma_prior,
)
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from algorithms.api import Array
from algorithms.parts.acquisition import log_ei
from algorithms.parts.fitting import SURROGATES, Fitted
from algorithms.parts.gp import log_evidence
from algorithms.parts.kernels import gamma_priors
from algorithms.parts.maximise import cube, maximise

D, RAW, STARTS = 20, 512, 5


def data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n uniform points of the unit cube (n, d) and what they show (n,), with noise."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, D))
    z = 10 * x - 5
    return x, -0.5 * (z**4 - 16 * z**2 + 5 * z).sum(1) + 0.01 * rng.standard_normal(n)


def our_step(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[Array, Fitted]:
    """The next point and our fit."""
    rng = np.random.default_rng(seed)
    fitted = SURROGATES["gamma-priors"].learn(x, y, rng)
    return maximise(promise(fitted, y), cube(D), rng, raw=RAW, starts=STARTS, steps=200)[0], fitted


def promise(fitted: Fitted, y: np.ndarray) -> Callable[[Tensor], Tensor]:
    """ln EI under our fit."""
    best = float(fitted.units(y.max()))
    return lambda X: log_ei(*fitted.posterior(X), best)


def their_step(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[Array, float]:
    """The next point by BoTorch, and the log posterior density of its fit."""
    X, u = torch.from_numpy(x), torch.from_numpy((y - y.mean()) / y.std(ddof=1))
    model = SingleTaskGP(
        X,
        u[:, None],
        covar_module=get_matern_kernel_with_gamma_prior(D),
        likelihood=get_gaussian_likelihood_with_gamma_prior(),
        outcome_transform=None,
    )
    mll = fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    torch.manual_seed(seed)
    bounds = torch.stack([torch.zeros(D), torch.ones(D)]).double()
    found, _ = optimize_acqf(
        LogExpectedImprovement(model, u.max()), bounds, q=1, num_restarts=STARTS, raw_samples=RAW
    )
    model.train()
    return found[0].numpy(), len(y) * mll(model(X), u).item()


def our_gradient(X: Tensor, y: Tensor) -> Callable[[], object]:
    """One value and gradient of the evidence, by us."""
    model = gamma_priors(D).requires_grad_()
    return lambda: torch.autograd.grad(log_evidence(model, X, y), list(model.parameters()))


def their_gradient(X: Tensor, y: Tensor) -> Callable[[], object]:
    """The same by GPyTorch."""
    model = SingleTaskGP(
        X, y[:, None], covar_module=get_matern_kernel_with_gamma_prior(D), outcome_transform=None
    )
    mll = ExactMarginalLogLikelihood(model.likelihood, model.train())
    return lambda: torch.autograd.grad(
        mll(model(X), y), [p for p in model.parameters() if p.requires_grad]
    )


def least(repeats: int, *sides: Callable[[], object]) -> list[float]:
    """The least CPU seconds of each side, taking turns."""
    seconds = [[_seconds(side) for side in sides] for _ in range(repeats)]
    return np.min(seconds, axis=0).tolist()


def _seconds(side: Callable[[], object]) -> float:
    start = time.process_time()
    side()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.continuous", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    print(
        f"machine: {record.provenance()['machine']}, one thread, d = {D}, {RAW} candidates,"
        f" {STARTS} climbs"
    )
    print(
        f"{'n':>5}{'data':>6}{'ours s':>9}{'BoTorch s':>11}{'ratio':>7}"
        f"{'ln EI of both points':>26}{'ln density of fits':>28}"
    )
    for n in (50, 100, 200):
        for seed in range(3):
            x, y = data(n, seed)
            (ours, fitted), (theirs, density) = our_step(x, y, seed), their_step(x, y, seed)
            quick, slow = least(
                repeats, partial(our_step, x, y, seed), partial(their_step, x, y, seed)
            )
            found = promise(fitted, y)(torch.from_numpy(np.stack([ours, theirs]))).tolist()
            posterior = fitted.posterior
            densities = posterior.log_evidence + posterior.model.log_prior().item(), density
            values = f"{found[0]:>14.6f}{found[1]:>12.6f}{densities[0]:>16.4f}{densities[1]:>12.4f}"
            print(
                f"{n:>5}{seed:>6}{quick:>9.4f}{slow:>11.4f}{slow / quick:>7.1f}{values}", flush=True
            )
    X, y = (torch.from_numpy(part) for part in data(1000, 0))
    y = (y - y.mean()) / y.std()
    quick, slow = least(repeats, our_gradient(X, y), their_gradient(X, y))
    print(
        f"gradient of the evidence at n = 1000: {quick:.3f} s, GPyTorch {slow:.3f} s, ratio"
        f" {slow / quick:.1f}"
    )


if __name__ == "__main__":
    main()
