"""Mean and variance at many points, as candidates are scored, and at few points with gradients, as
a round of climbs asks for them; everything of the data is solved before.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.race import Setup, Size, Work, along, once
from benchmarks.steps.given import botorch_model, points, posterior

MANY, FEW = 512, 5


def ours(q: int, *, sloped: bool) -> Callable[[Size], Setup]:
    def setup(size: Size) -> Setup:
        known, X = posterior(size["n"], size["d"]), points(q, size["d"])
        return once(lambda: known.slopes(X) if sloped else known(X))

    return setup


def theirs(q: int, *, sloped: bool) -> Callable[[Size], Setup]:
    def setup(size: Size) -> Setup:
        model = botorch_model(size["n"], size["d"])
        # q batches of one point, as its acquisition functions have
        X = points(q, size["d"])[:, None].requires_grad_(sloped)

        def moments() -> object:
            with torch.set_grad_enabled(sloped):
                posterior = model.posterior(X)
                mean, variance = posterior.mean[:, 0, 0], posterior.variance[:, 0, 0]
            if not sloped:
                return mean, variance
            (over_mean,) = torch.autograd.grad(mean.sum(), X, retain_graph=True)
            return over_mean, *torch.autograd.grad(variance.sum(), X)

        return once(moments)

    return setup


SAME = (
    "same data, kernel, parameters and points; numbers agree (tested). BoTorch sees the points as"
    " batches of one, as in its acquisition functions, and keeps what it solved of the data"
)
SIZES = [*along("n", (100, 200, 400, 800, 1600), d=20), *along("d", (10, 20, 50, 100), n=400)]
WORKS = [
    Work(name, SIZES, ours(q, sloped=sloped), SAME, "BoTorch", theirs(q, sloped=sloped))
    for name, q, sloped in (
        (f"moments at {MANY} points", MANY, False),
        (f"moments and gradients at {FEW} points", FEW, True),
    )
]
