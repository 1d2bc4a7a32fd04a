"""GP-EI, GP-PI and GP-UCB: maxima as high as BoTorch's, and what a step costs.
tests/parity compares posteriors, acquisition values, fits and runs.
"""

from collections import Counter

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import (
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.optim import optimize_acqf

from algorithms.api import Observation
from algorithms.parts.processes.exchange import as_gpytorch
from algorithms.parts.processes.fitting import MaternTarget
from algorithms.parts.search.closed_matern import MaternPromise
from tests.algorithms.grouped import builder, changed
from tests.settings import GAMMA

XI, BETA = 0.01, 1.96**2
KINDS = {
    "ei": (XI, LogExpectedImprovement),
    "pi": (XI, LogProbabilityOfImprovement),
    "ucb": (BETA, UpperConfidenceBound),
}
TABLE = changed(GAMMA, acquisition="ei", raw=256, starts=5, steps=100)

new = builder("gp_acquisition.GPAcquisition", TABLE, d=3)


def wavy(x):
    return 10 + 3 * np.sin(6 * x[:, 0]) * np.cos(3 * x[:, 1]) - 4 * ((x - 0.4) ** 2).sum(1)


def told(kind, n=15, d=3, **changes):
    optimizer = new(d, acquisition=kind, exploration=KINDS[kind][0], **changes)
    rng = np.random.default_rng(0)
    x = rng.random((n, d))
    optimizer.tell(x, Observation.of(wavy(x) + 0.05 * rng.standard_normal(n)))
    return optimizer


def promise(optimizer, x):
    """What our acquisition function says of a point x (1, d), and the number that it takes."""
    posterior, units = optimizer.fitted.posterior, optimizer.fitted.units
    aim = BETA if optimizer.exploration == BETA else float(units(optimizer.y.max() + XI))
    return optimizer.acquisition.value(*posterior(torch.from_numpy(x)), aim).item(), aim


@pytest.mark.parametrize("kind", KINDS)
def test_the_maximum_is_as_high_as_botorchs(kind):
    optimizer = told(kind)
    ours, aim = promise(optimizer, optimizer.ask(1, optimizer.x[:0]))
    model = as_gpytorch(optimizer.fitted.posterior)
    acquisition = KINDS[kind][1](model, torch.tensor(aim, dtype=torch.float64))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        bounds = torch.tensor([[0.0] * 3, [1.0] * 3], dtype=torch.float64)
        _, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=5, raw_samples=256)
    assert ours >= value.item() - 1e-6


def test_a_repetition_is_replaced_where_the_library_does():
    optimizer = told("ei", repetitions="replace")
    asked = optimizer.ask(1, optimizer.x[:0])
    for again in ("replace", "repeat"):
        optimizer = told("ei", repetitions=again)
        optimizer.x = np.concatenate([optimizer.x, asked])  # seen, but not learnt from
        assert (again == "repeat") == np.array_equal(optimizer.ask(1, optimizer.x[:0]), asked)


def test_a_step_evaluates_a_kernel_once_for_each_fit_step_and_each_round_of_climbs(work, count):
    """And factorises once for each fit step and once for the posterior, never for climbs."""
    calls = Counter()
    count(calls, MaternTarget, "loss")
    count(calls, MaternPromise, "__call__")
    count(calls, MaternPromise, "with_slopes")
    optimizer = told("ei", n=40, d=6)
    assert calls["loss"] > 5 and calls["with_slopes"] == 0
    assert work == {"kernel": calls["loss"] + 1, "factor": calls["loss"] + 1}
    work.clear()
    optimizer.ask(1, optimizer.x[:0])
    assert calls["__call__"] == 1 and calls["with_slopes"] > 5  # candidates, then rounds
    assert work == {"kernel": 1 + calls["with_slopes"]}
