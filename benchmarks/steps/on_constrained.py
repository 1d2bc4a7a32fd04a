"""Steps under two constraints: the acquisition of CEI and EPBO under known kernels, batches of SCBO
and HDsafeBO, and whole iterations of LCBO.

The functions are those of jing2026lcbo's synthetic tasks, the settings those of papers/lcbo.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import torch

import algorithms
from algorithms.api import Optimizer
from algorithms.cei import CEI
from algorithms.hdsafebo import HDsafeBO
from algorithms.lcbo import LCBO
from algorithms.parts.processes.closed_rbf import JointRBF
from algorithms.parts.processes.gradient_information import GradientInformation
from algorithms.scbo import SCBO
from benchmarks.effort import (
    NOTHING,
    design,
    joint_draws,
    joint_moments,
    joint_slopes,
    path_draws,
    reduction,
)
from benchmarks.race import Size, Task, Turn, Work
from benchmarks.steps.given import noted
from problems.api import Problem
from problems.gp_samples import within_model
from workflow.plan.expand import load
from workflow.plan.parameters import flat, nested, parameters_of
from workflow.trace.cells import own_parameters
from workflow.trace.seeds import rng

OUTPUTS = 3  # y and two constraints
SEED = 300
CODE = {  # the plan of LCBO's public code
    "acquisition.selection": "greedy",
    "acquisition.condition": "data-and-repeats",
    "climb.starts": 5,
    "climb.rate": 0.05,
}


def functions(d: int) -> Problem:
    """An instance of the synthetic task."""
    return within_model(
        rng(SEED, "instance", d),
        d=d,
        constraints=OUTPUTS - 1,
        offset=0.5,
        features=500,
        noise=0.1,
        lengthscales="official-code",
    )


def built(problem: Problem, curve: str, changes: Mapping[str, Any] | None = None) -> Optimizer:
    """A method as published on the synthetic task, kernels known."""
    entry = load("lcbo", "paper").cell("syn-25", curve).algorithm_entry
    known = parameters_of(entry["is"], "algorithms")[1]
    parameters = {**flat(own_parameters(entry), known), **(changes or {})}
    parameters["surrogate.kernels"] = problem.reveals["kernels"]
    return algorithms.build(entry["is"], problem.domain, rng(SEED, "optimizer"), nested(parameters))


def told(problem: Problem, optimizer: Optimizer, n: int) -> Optimizer:
    """The optimizer after n uniform evaluations, in one block."""
    query = rng(SEED, "init").random((n, problem.domain.d))
    optimizer.tell(query, problem.evaluate(query, rng(SEED, "noise")).seen)
    return optimizer


def asks(optimizer: Optimizer, room: int = 1) -> Turn:
    """The same ask again and again: it changes the generator alone, which is put back."""
    state = optimizer.rng.bit_generator.state

    def turn() -> Callable[[], object]:
        optimizer.rng.bit_generator.state = state
        return lambda: optimizer.ask(room, optimizer.x[:0])

    return turn


def acquisition(curve: str) -> Callable[[Size], Task]:
    """An ask of CEI or of EPBO, given n data."""

    def task(size: Size) -> Task:
        n, d = size["n"], size["d"]
        problem = functions(d)
        turn = asks(told(problem, built(problem, curve), n))
        spent = [NOTHING]

        def moments(joint: JointRBF, X: torch.Tensor) -> None:
            spent.append(joint_moments(OUTPUTS, n, len(X), d))

        def slopes(joint: JointRBF, X: torch.Tensor, over: object) -> None:
            spent.append(joint_moments(OUTPUTS, n, len(X), d) + joint_slopes(OUTPUTS, n, len(X), d))

        with noted(JointRBF, "__call__", moments), noted(JointRBF, "slopes", slopes):
            turn()()
        return Task(turn, sum(spent[1:], NOTHING))

    return task


def botorch_cei(size: Size) -> Turn:
    from botorch.acquisition.analytic import LogConstrainedExpectedImprovement
    from botorch.optim import optimize_acqf

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
    bounds = torch.stack([torch.zeros(size["d"]), torch.ones(size["d"])]).double()
    climb = ours.climb

    def step() -> object:
        return optimize_acqf(
            acquisition,
            bounds,
            q=1,
            num_restarts=climb.starts,
            raw_samples=climb.raw,
            options={"maxiter": climb.steps},
        )

    def turn() -> Callable[[], object]:
        torch.manual_seed(SEED)
        return step

    return turn


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


def batch_of_scbo(size: Size) -> Task:
    """A batch by exact joint draws; its candidates are scattered in the same turn."""
    n, d, k, q = (size[letter] for letter in ("n", "d", "k", "q"))
    problem = functions(d)
    optimizer = told(problem, built(problem, "SCBO", {"candidates": k, "draws": "factor"}), n)
    return Task(asks(optimizer, q), OUTPUTS * joint_draws(n, k, d, q))


def batch_along_paths(curve: str, drawn: int) -> Callable[[Size], Task]:
    """A batch as published: `drawn` outputs are drawn along paths, the others are bounded."""

    def task(size: Size) -> Task:
        n, d = size["n"], size["d"]
        problem = functions(d)
        optimizer = cast(SCBO | HDsafeBO, told(problem, built(problem, curve), n))
        k, q = optimizer.candidates, optimizer.batch
        effort = drawn * path_draws(n, k, d, q, optimizer.features)
        return Task(asks(optimizer, q), effort + joint_moments(OUTPUTS - drawn, n, k, d))

    return task


def botorch_scbo(size: Size) -> Turn:
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

    def turn() -> Callable[[], object]:
        torch.manual_seed(SEED)
        return step

    return turn


def iteration_of_lcbo(changes: Mapping[str, Any]) -> Callable[[Size], Task]:
    """Iterations in a row, the window of 2 d data full: step, plan, and handing it out."""

    def task(size: Size) -> Task:
        d = size["d"]
        problem = functions(d)
        optimizer = cast(LCBO, told(problem, built(problem, "LCBO", changes), 2 * d))

        def iteration() -> None:
            k = optimizer.k
            while optimizer.k == k:
                query = optimizer.ask(1000, optimizer.x[:0])
                seen = problem.evaluate(query, rng(SEED, "noise", len(optimizer.y))).seen
                optimizer.tell(query, seen)

        spent = [design(OUTPUTS, 2 * d, d)]

        def reduces(information: GradientInformation, Z: np.ndarray) -> None:
            s, b, _ = Z.shape
            spent.append(reduction(OUTPUTS, s, b, len(information.offsets), d))

        with noted(GradientInformation, "reduction", reduces):
            iteration()
        return Task(lambda: iteration, sum(spent, NOTHING))

    return task


AXES = (
    ("n", [{"n": n, "d": 25} for n in (50, 100, 200, 400)], [{"n": 800, "d": 25}], (2, 2)),
    ("d", [{"n": 200, "d": d} for d in (12, 25, 50, 100)], [], (1, 1)),
)
NARROW = (
    "each of Adam's steps solves triangular systems for ten points, which reads the whole factor"
    " for little arithmetic; many small calls of PyTorch"
)
WORKS = (
    *(
        Work(
            family="constrained",
            name="CEI, acquisition maximised",
            axis=axis,
            sizes=sizes,
            full=full,
            ours=acquisition("CEI"),
            exponents=exponents,
            same=(
                "same data, kernels, noise, bar and limits, ln EI and ln of the probabilities of"
                " feasibility, 512 candidates, 10 climbs; NOT the same: ours climbs by 50 steps of"
                " Adam, as the paper has it, BoTorch by at most 50 rounds of L-BFGS over all climbs"
                " together"
            ),
            below=NARROW,
            peer="BoTorch",
            module="botorch",
            theirs=botorch_cei,
        )
        for axis, sizes, full, exponents in AXES
    ),
    Work(
        family="constrained",
        name="EPBO, acquisition maximised",
        axis="n",
        sizes=[{"n": n, "d": 25} for n in (50, 100, 200, 400)],
        full=[],
        ours=acquisition("EPBO"),
        exponents=(2, None),
        same="no library has EPBO",
        below=NARROW,
    ),
    Work(
        family="constrained",
        name="SCBO, a batch by exact draws",
        axis="k",
        sizes=[{"n": 200, "d": 10, "k": k, "q": 5} for k in (500, 1000, 2000)],
        full=[{"n": 200, "d": 10, "k": 5000, "q": 5}],
        ours=batch_of_scbo,
        exponents=(3, 3),
        same=(
            "same data, kernels, number of candidates and draws of y and both g, the best feasible"
            " one or the least violation; ours also scatters its candidates in its region, BoTorch"
            " is given uniform ones"
        ),
        below="products of candidates with themselves are followed by passes over k^2 numbers",
        peer="BoTorch",
        module="botorch",
        theirs=botorch_scbo,
    ),
    *(
        Work(
            family="constrained",
            name=f"{curve}, a batch as published",
            axis="n",
            sizes=[{"n": n, "d": 50} for n in (125, 250, 500)],
            full=[{"n": 1000, "d": 50}],
            ours=batch_along_paths(curve, drawn),
            exponents=(2, None),
            same="its parts have peers in the family of Thompson sampling",
            below=(
                "sines and cosines cost some ten flops each and are priced as one, and about half"
                " of the time goes to page faults of temporary arrays of 40 MB"
            ),
        )
        for curve, drawn in (("SCBO", OUTPUTS), ("HDsafeBO", 1))
    ),
    *(
        Work(
            family="constrained",
            name=f"LCBO, an iteration, {name}",
            axis="d",
            sizes=[{"d": d} for d in (12, 25, 50, 100)],
            full=[],
            ours=iteration_of_lcbo(changes),
            exponents=(3, None),
            same="no library has LCBO; evaluating the made-up functions is in the time, below 4 %",
            below=(
                "Adam's steps on ten batches of few points at 2 d data are products of narrow"
                " matrices, each read again for every step, and many small calls of NumPy"
            ),
        )
        for name, changes in (("as published", {}), ("greedy, 5 starts", CODE))
    ),
)
