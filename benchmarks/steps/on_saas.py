"""Parameters of SAAS's process drawn by NUTS, from a cold start."""

from __future__ import annotations

from collections.abc import Callable

import torch

from algorithms.parts.processes import saas
from algorithms.parts.processes.nuts import NUTS
from benchmarks.race import Setup, Size, Work, along
from benchmarks.steps.given import data

WARMUP, SAMPLES, DEPTH = 32, 16, 5
SETTINGS = NUTS(
    warmup=WARMUP,
    readaptation=WARMUP,
    samples=SAMPLES,
    thinning=1,
    tree_depth=DEPTH,
    target=0.8,
    mass="dense",
    pad=16,
)


def sampler() -> saas.Sampler:
    """Ours with BoTorch's priors."""
    return saas.Sampler("matern", "botorch", 0.1, 1e-4, True, SETTINGS)


def ours(*, compiled: bool) -> Callable[[Size], Setup]:
    """A run of ours, whose program was compiled before or is compiled in the turn."""

    def task(size: Size) -> Setup:
        x, y = data(size["n"], size["d"])
        sampler().run(x, y, None, 300)

        def setup() -> Callable[[], object]:
            if not compiled:
                saas._run.clear_cache()
            return lambda: sampler().run(x, y, None, 300)

        return setup

    return task


def botorch(size: Size) -> Setup:
    from botorch.fit import fit_fully_bayesian_model_nuts
    from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP

    X, y = (torch.from_numpy(each) for each in data(size["n"], size["d"]))

    def setup() -> Callable[[], object]:
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

    return setup


SAME = (
    "same data, kernel, SAAS prior, dense mass, {} + {} transitions of depth {} at most, both by"
    " NumPyro's NUTS; two chains, which take other numbers of leapfrog steps. {}"
)
WORKS = [
    Work(
        name,
        sizes,
        ours(compiled=compiled),
        SAME.format(WARMUP, SAMPLES, DEPTH, how),
        "BoTorch",
        botorch,
    )
    for name, sizes, compiled, how in (
        (
            "NUTS, with compiling",
            along("n", [32], d=10),
            False,
            "Both compile their program in every run",
        ),
        (
            "NUTS, as a step has it",
            along("n", (32, 64, 128), d=10),
            True,
            "BoTorch compiles in every run; ours keeps its program until 16 more data are there",
        ),
    )
]
