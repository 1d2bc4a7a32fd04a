"""Steps under two constraints: the acquisition of CEI under known kernels, batches of SCBO.

The functions are those of jing2026lcbo's synthetic tasks, the settings those of papers/lcbo.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch

import algorithms
from algorithms.api import Optimizer
from algorithms.cei import CEI
from algorithms.scbo import SCBO
from benchmarks.race import Setup, Size, Work, along
from benchmarks.steps.given import climbed, seeded
from problems.api import Problem
from problems.gp_samples import within_model
from workflow.plan.expand import load
from workflow.plan.parameters import flat, nested, signature
from workflow.trace.curves import own_parameters
from workflow.trace.seeds import rng

SEED = 300


def functions(d: int) -> Problem:
    """An instance of the synthetic task."""
    return within_model(
        rng(SEED, "instance", d),
        d=d,
        constraints=2,
        offset=0.5,
        features=500,
        noise=0.1,
        lengthscales="official-code",
    )


def built(problem: Problem, label: str, changes: Mapping[str, Any] | None = None) -> Optimizer:
    """A method as published on the synthetic task, kernels known."""
    entry = load("lcbo", "paper").curve("syn-25", label).algorithm_entry
    known = signature(entry["is"], "algorithms")
    parameters = {**flat(own_parameters(entry), known), **(changes or {})}
    parameters["surrogate.kernels"] = problem.reveals["kernels"]
    return algorithms.build(entry["is"], problem.domain, rng(SEED, "optimizer"), nested(parameters))


def told(problem: Problem, optimizer: Optimizer, n: int) -> Optimizer:
    """The optimizer after n uniform evaluations, in one block."""
    query = rng(SEED, "init").random((n, problem.domain.d))
    optimizer.tell(query, problem.evaluate(query, rng(SEED, "noise")).seen)
    return optimizer


def asks(optimizer: Optimizer, room: int = 1) -> Setup:
    """The same ask again and again: it changes the generator alone, which is put back."""
    state = optimizer.rng.bit_generator.state

    def setup() -> Callable[[], object]:
        optimizer.rng.bit_generator.state = state
        return lambda: optimizer.ask(room, optimizer.x[:0])

    return setup


def ask_of_cei(size: Size) -> Setup:
    """An ask, given n data."""
    problem = functions(size["d"])
    return asks(told(problem, built(problem, "CEI"), size["n"]))


def botorch_cei(size: Size) -> Setup:
    from botorch.acquisition.analytic import LogConstrainedExpectedImprovement

    problem = functions(size["d"])
    ours = cast(CEI, told(problem, built(problem, "CEI"), size["n"]))
    bar, zeros = ours.best_feasible, ours.outputs.zeros[:, 0].tolist()
    if bar is None:
        raise ValueError(f"{dict(size)}: expected a feasible point, before which ours has no EI")
    acquisition = LogConstrainedExpectedImprovement(
        botorch_models(ours),
        best_f=bar,
        objective_index=0,
        constraints={i: (None, zero) for i, zero in enumerate(zeros, 1)},
    )
    return seeded(lambda: climbed(acquisition, size["d"], ours.climb))


def botorch_models(ours: CEI | SCBO) -> Any:
    """BoTorch's models of y and of every g under the kernels, units and data of ours."""
    from botorch.models import ModelListGP, SingleTaskGP
    from gpytorch.kernels import RBFKernel, ScaleKernel
    from gpytorch.means import ConstantMean

    models = []
    for fitted in ours.outputs.models:
        known = fitted.posterior.model
        lengthscale = known.kernel.base_kernel.lengthscale
        kernel = ScaleKernel(
            RBFKernel(ard_num_dims=lengthscale.shape[1] if lengthscale.shape[1] > 1 else None)
        )
        model = SingleTaskGP(
            fitted.posterior.X,
            fitted.posterior.y[:, None],
            covar_module=kernel.double(),
            mean_module=ConstantMean(),
            outcome_transform=None,
        )
        with torch.no_grad():
            kernel.base_kernel.lengthscale = lengthscale.detach()
            kernel.outputscale = known.kernel.outputscale.detach()
            model.likelihood.noise = known.noise.detach()
            model.mean_module.constant.fill_(known.mean(fitted.posterior.X[:1]).item())
        models.append(model)
    return ModelListGP(*models).eval()


def batch_of_scbo(size: Size) -> Setup:
    """A batch by exact joint draws; its candidates are scattered in the same turn."""
    n, d, k, q = (size[letter] for letter in ("n", "d", "k", "q"))
    problem = functions(d)
    optimizer = told(problem, built(problem, "SCBO", {"candidates": k, "draws": "factor"}), n)
    return asks(optimizer, q)


def botorch_scbo(size: Size) -> Setup:
    from botorch.generation.sampling import ConstrainedMaxPosteriorSampling
    from botorch.models import ModelListGP

    n, d, k, q = (size[letter] for letter in ("n", "d", "k", "q"))
    problem = functions(d)
    models = botorch_models(cast(SCBO, told(problem, built(problem, "SCBO"), n))).models
    sampling = ConstrainedMaxPosteriorSampling(
        models[0], ModelListGP(*models[1:]), replacement=False
    )
    X = torch.from_numpy(rng(SEED, "candidates").random((k, d)))

    def step() -> object:
        with torch.no_grad():
            return sampling(X, num_samples=q)

    return seeded(step)


WORKS = [
    Work(
        "CEI, acquisition maximised",
        [*along("n", (50, 100, 200, 400), d=25), *along("d", (12, 25, 50, 100), n=200)],
        ask_of_cei,
        "same data, kernels, noise, bar and limits, ln EI and ln of the probabilities of"
        " feasibility, 512 candidates, 10 climbs; NOT the same: ours climbs by 50 steps of Adam,"
        " as the paper has it, BoTorch by at most 50 rounds of L-BFGS over all climbs together",
        "BoTorch",
        botorch_cei,
    ),
    Work(
        "SCBO, a batch by exact draws",
        along("k", (500, 1000, 2000), n=200, d=10, q=5),
        batch_of_scbo,
        "same data, kernels, number of candidates and draws of y and both g, the best feasible one"
        " or the least violation; ours also scatters its candidates in its region, BoTorch is"
        " given uniform ones",
        "BoTorch",
        botorch_scbo,
    ),
]
