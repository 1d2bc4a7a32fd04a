"""Parameters of SAAS's process drawn by NUTS, from a cold start."""

from __future__ import annotations

from collections.abc import Callable

import torch

from algorithms.parts.processes import saas
from algorithms.parts.processes.nuts import NUTS
from benchmarks.effort import sampled_density
from benchmarks.race import Size, Task, Turn, Work
from benchmarks.steps.given import data

WARMUP, SAMPLES, DEPTH, PAD = 32, 16, 5, 16
SETTINGS = NUTS(
    warmup=WARMUP,
    readaptation=WARMUP,
    samples=SAMPLES,
    thinning=1,
    tree_depth=DEPTH,
    target=0.8,
    mass="dense",
    pad=PAD,
)


def sampler() -> saas.Sampler:
    """Ours with BoTorch's priors."""
    return saas.Sampler("matern", "botorch", 0.1, 1e-4, True, SETTINGS)


def ours(*, compiled: bool) -> Callable[[Size], Task]:
    """A run of ours, whose program was compiled before or is compiled in the turn."""

    def task(size: Size) -> Task:
        x, y = data(size["n"], size["d"])
        _, chain = sampler().run(x, y, None, 300)

        def turn() -> Callable[[], object]:
            if not compiled:
                saas._run.clear_cache()
            return lambda: sampler().run(x, y, None, 300)

        return Task(turn, chain.leapfrogs * sampled_density(-(-size["n"] // PAD) * PAD, size["d"]))

    return task


def botorch(size: Size) -> Turn:
    from botorch.fit import fit_fully_bayesian_model_nuts
    from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP

    X, y = (torch.from_numpy(each) for each in data(size["n"], size["d"]))

    def turn() -> Callable[[], object]:
        model = SaasFullyBayesianSingleTaskGP(X, y[:, None])
        return lambda: fit_fully_bayesian_model_nuts(
            model,
            max_tree_depth=DEPTH,
            warmup_steps=WARMUP,
            num_samples=SAMPLES,
            thinning=1,
            disable_progbar=True,
            seed=300,
        )

    return turn


SAME = (
    "same data, kernel, SAAS prior, dense mass, {} + {} transitions of depth {} at most, both by"
    " NumPyro's NUTS; two chains, which take other numbers of leapfrog steps. {}"
)
BELOW = (
    "matrices of some dozen rows: factors and triangular solves of this size run at a few per cent"
    " of a product's rate, and XLA on one thread adds its calls"
)
WORKS = tuple(
    Work(
        family="saas",
        name=name,
        axis="n",
        sizes=sizes,
        full=full,
        ours=ours(compiled=compiled),
        exponents=(3, 3),
        same=SAME.format(WARMUP, SAMPLES, DEPTH, how),
        below=below,
        peer="BoTorch",
        module="botorch",
        theirs=botorch,
    )
    for name, compiled, how, below, sizes, full in (
        (
            "NUTS, with compiling",
            False,
            "Both compile their program in every run",
            "compiling takes most of the time. " + BELOW,
            [{"n": 32, "d": 10}],
            [],
        ),
        (
            "NUTS, as a step has it",
            True,
            "BoTorch compiles in every run; ours keeps its program until 16 more data are there",
            BELOW,
            [{"n": n, "d": 10} for n in (32, 64, 128)],
            [{"n": 256, "d": 10}],
        ),
    )
)
