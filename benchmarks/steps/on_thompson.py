"""Thompson sampling: the best of many candidates under joint draws of a posterior that is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from algorithms.parts.numerics.feasibility import distinct_best
from algorithms.parts.processes.pathwise import by_paths
from benchmarks.effort import joint_draws, path_draws
from benchmarks.race import Size, Task, Turn, Work
from benchmarks.steps.given import botorch_model, points, posterior

FEATURES = 2000


def exact(size: Size) -> Task:
    """TuRBO's: by the joint covariance of all candidates."""
    n, d, k, q = (size[letter] for letter in ("n", "d", "k", "q"))
    known, X = posterior(n, d), points(k, d)

    def turn() -> Callable[[], object]:
        rng = np.random.default_rng(300)
        return lambda: distinct_best(known.sample(X, rng, count=q))

    return Task(turn, joint_draws(n, k, d, q))


def botorch_exact(size: Size) -> Turn:
    from botorch.generation import MaxPosteriorSampling

    X = points(size["k"], size["d"])
    sampling = MaxPosteriorSampling(botorch_model(size["n"], size["d"]), replacement=False)

    def step() -> object:
        with torch.no_grad():
            return sampling(X, num_samples=size["q"])

    def turn() -> Callable[[], object]:
        torch.manual_seed(300)
        return step

    return turn


def paths(size: Size) -> Task:
    """SCBO's default here: along paths."""
    n, d, k, q = (size[letter] for letter in ("n", "d", "k", "q"))
    known, X = posterior(n, d), points(k, d)

    def turn() -> Callable[[], object]:
        rng = np.random.default_rng(300)
        return lambda: distinct_best(by_paths(known, X, rng, count=q, features=FEATURES))

    return Task(turn, path_draws(n, k, d, q, FEATURES))


def botorch_paths(size: Size) -> Turn:
    from functools import partial

    from botorch.sampling.pathwise import draw_kernel_feature_paths, draw_matheron_paths

    X, model = points(size["k"], size["d"]), botorch_model(size["n"], size["d"])
    prior = partial(draw_kernel_feature_paths, num_features=FEATURES)

    def step() -> object:
        with torch.no_grad():
            drawn = draw_matheron_paths(model, torch.Size([size["q"]]), prior_sampler=prior)(X)
            return distinct_best(drawn.numpy())

    def turn() -> Callable[[], object]:
        torch.manual_seed(300)
        return step

    return turn


SAME = (
    "same data, parameters and candidates, as many draws (q), each takes the best candidate that"
    " no other draw has; other random numbers. "
)
EXACT = {
    "name": "the best under exact draws (TuRBO)",
    "ours": exact,
    "same": SAME + "Both factorise the joint covariance of all candidates",
    "below": (
        "a factor of (k, k) and products beside it run near the rate of products; covariances of"
        " k^2/2 pairs cost more than they are priced"
    ),
    "theirs": botorch_exact,
}
PATHS = {
    "name": "the best along paths (SCBO)",
    "ours": paths,
    "same": SAME + f"Both by {FEATURES} random features and a correction by the data",
    "below": (
        f"sines and cosines of {FEATURES} numbers a candidate cost some ten flops each and are"
        " priced as one, and about half of the time goes to page faults of their temporary arrays,"
        " 40 MB each"
    ),
    "theirs": botorch_paths,
}
WORKS = tuple(
    Work(
        family="thompson",
        axis=axis,
        sizes=sizes,
        full=full,
        exponents=exponents,
        peer="BoTorch",
        module="botorch",
        **what,
    )
    for what, axis, sizes, full, exponents in (
        (
            EXACT,
            "k",
            [{"n": 200, "d": 20, "k": k, "q": 50} for k in (625, 1250, 2500, 5000)],
            [],
            (3, 3),
        ),
        (
            EXACT,
            "n",
            [{"n": n, "d": 20, "k": 5000, "q": 50} for n in (250, 1000)],
            [],
            (2, 2),
        ),
        (
            EXACT,
            "d",
            [],
            [{"n": 200, "d": d, "k": 5000, "q": 50} for d in (25, 50, 100)],
            (1, 1),
        ),
        (
            PATHS,
            "n",
            [{"n": n, "d": 20, "k": 5000, "q": 50} for n in (125, 250, 500, 1000)],
            [],
            (2, 2),
        ),
        (
            PATHS,
            "d",
            [{"n": 200, "d": d, "k": 5000, "q": 50} for d in (12, 25, 50, 100)],
            [],
            (1, 1),
        ),
    )
)
