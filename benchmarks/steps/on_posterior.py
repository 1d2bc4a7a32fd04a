"""Mean and variance at many points, as candidates are scored, and at few points with gradients, as
a round of climbs asks for them; everything of the data is solved before.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.effort import moments, slopes
from benchmarks.race import Size, Task, Turn, Work, once
from benchmarks.steps.given import botorch_model, points, posterior

MANY, FEW = 512, 5
BELOW = (
    "at {} points a call of PyTorch costs about as much as its arithmetic, and the triangular solve"
    " of so narrow a block runs far below a product's rate"
)


def _ours(size: Size, q: int, *, sloped: bool) -> Task:
    n, d = size["n"], size["d"]
    known, X = posterior(n, d), points(q, d)
    if sloped:
        return Task(once(lambda: known.slopes(X)), moments(n, q, d) + slopes(n, q, d))
    return Task(once(lambda: known(X)), moments(n, q, d))


def _theirs(size: Size, q: int, *, sloped: bool) -> Turn:
    model = botorch_model(size["n"], size["d"])
    X = points(q, size["d"])[:, None]  # q batches of one point, as its acquisition functions have

    def both(at: Tensor) -> tuple[Tensor, Tensor]:
        found = model.posterior(at)
        return found.mean[:, 0, 0], found.variance[:, 0, 0]

    def scored() -> object:
        with torch.no_grad():
            return both(X)

    def gradients() -> object:
        at = X.clone().requires_grad_()
        mean, variance = both(at)
        (over_mean,) = torch.autograd.grad(mean.sum(), at, retain_graph=True)
        (over_variance,) = torch.autograd.grad(variance.sum(), at)
        return over_mean, over_variance

    return once(gradients if sloped else scored)


def scoring(size: Size) -> Task:
    return _ours(size, MANY, sloped=False)


def botorch_scoring(size: Size) -> Turn:
    return _theirs(size, MANY, sloped=False)


def climbing(size: Size) -> Task:
    return _ours(size, FEW, sloped=True)


def botorch_climbing(size: Size) -> Turn:
    return _theirs(size, FEW, sloped=True)


SAME = (
    "same data, kernel, parameters and points; numbers agree (tested). BoTorch sees the points as"
    " batches of one, as in its acquisition functions, and keeps what it solved of the data"
)
WORKS = tuple(
    Work(
        family="posterior",
        name=name,
        axis=axis,
        sizes=sizes,
        full=full,
        ours=ours,
        exponents=exponents,
        same=SAME,
        below=BELOW.format(q),
        peer="BoTorch",
        module="botorch",
        theirs=theirs,
    )
    for name, q, ours, theirs in (
        (f"moments at {MANY} points", MANY, scoring, botorch_scoring),
        (f"moments and gradients at {FEW} points", FEW, climbing, botorch_climbing),
    )
    for axis, sizes, full, exponents in (
        (
            "n",
            [{"n": n, "d": 20} for n in (100, 200, 400, 800, 1600)],
            [{"n": 3200, "d": 20}],
            (2, 2),
        ),
        ("d", [{"n": 400, "d": d} for d in (10, 20, 50, 100)], [{"n": 400, "d": 500}], (1, 1)),
    )
)
