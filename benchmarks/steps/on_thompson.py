"""Thompson sampling: the best of many candidates under joint draws of a posterior that is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from algorithms.parts.numerics.feasibility import distinct_best
from algorithms.parts.processes.pathwise import by_paths
from benchmarks.race import Setup, Size, Work, along
from benchmarks.steps.given import botorch_model, points, posterior, seeded

FEATURES = 2000


def exact(size: Size) -> Setup:
    """TuRBO's: by the joint covariance of all candidates."""
    n, d, k, q = (size[letter] for letter in ("n", "d", "k", "q"))
    known, X = posterior(n, d), points(k, d)

    def setup() -> Callable[[], object]:
        rng = np.random.default_rng(300)
        return lambda: distinct_best(known.sample(X, rng, count=q))

    return setup


def botorch_exact(size: Size) -> Setup:
    from botorch.generation import MaxPosteriorSampling

    X = points(size["k"], size["d"])
    sampling = MaxPosteriorSampling(botorch_model(size["n"], size["d"]), replacement=False)

    def step() -> object:
        with torch.no_grad():
            return sampling(X, num_samples=size["q"])

    return seeded(step)


def paths(size: Size) -> Setup:
    """SCBO's default here: along paths."""
    n, d, k, q = (size[letter] for letter in ("n", "d", "k", "q"))
    known, X = posterior(n, d), points(k, d)

    def setup() -> Callable[[], object]:
        rng = np.random.default_rng(300)
        return lambda: distinct_best(by_paths(known, X, rng, count=q, features=FEATURES))

    return setup


def botorch_paths(size: Size) -> Setup:
    from functools import partial

    from botorch.sampling.pathwise import draw_kernel_feature_paths, draw_matheron_paths

    X, model = points(size["k"], size["d"]), botorch_model(size["n"], size["d"])
    prior = partial(draw_kernel_feature_paths, num_features=FEATURES)

    def step() -> object:
        with torch.no_grad():
            drawn = draw_matheron_paths(model, torch.Size([size["q"]]), prior_sampler=prior)(X)
            return distinct_best(drawn.numpy())

    return seeded(step)


SAME = (
    "same data, parameters and candidates, as many draws (q), each takes the best candidate that"
    " no other draw has; other random numbers. "
)
MANY = {"d": 20, "k": 5000, "q": 50}
WORKS = [
    Work(
        "the best under exact draws (TuRBO)",
        [*along("k", (625, 1250, 2500, 5000), n=200, d=20, q=50), *along("n", (250, 1000), **MANY)],
        exact,
        SAME + "Both factorise the joint covariance of all candidates",
        "BoTorch",
        botorch_exact,
    ),
    Work(
        "the best along paths (SCBO)",
        [
            *along("n", (125, 250, 500, 1000), **MANY),
            *along("d", (12, 25, 50, 100), n=200, k=5000, q=50),
        ],
        paths,
        SAME + f"Both by {FEATURES} random features and a correction by the data",
        "BoTorch",
        botorch_paths,
    ),
]
