"""Does DuMBO's chain find the decomposition of a function (bardou2024dumbo, Sec. 6.1, App. B: only
it can "properly infer" it)?

The share of pairs on which two decompositions agree (Rand's index) is close to 1 wherever both put
few variables together. So the pairs themselves are counted, those of the truth that are found and
those found that are true, and Cohen's kappa sets the agreement beside what decompositions with as
many pairs reach by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

import algorithms
from algorithms.api import Array, Box
from algorithms.dumbo import DuMBO
from algorithms.parts.factors.additive_process import Distances
from algorithms.parts.factors.decomposition import (
    Decomposition,
    check,
    pair_agreement,
    pair_recall,
    singletons,
    whole,
)
from algorithms.parts.factors.interactions import Chain, Model
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.transforms import sample
from problems.api import Problem
from workflow.run import loop
from workflow.studies.paired import Columns, noise, tidy
from workflow.trace.seeds import rng

QUERIES = {"own": True, "uniform": False}


def run(
    seed: int,
    problem: Problem,
    *,
    T: int,
    n: int,
    every: int,
    queries: str,
    optimizer: Mapping[str, Any],
) -> Columns:
    """One row for every `every`-th number t of evaluations and for T: means over the decompositions
    that were sampled then.

    `queries` are DuMBO's own after `n` uniform points, or all uniform: then what is known does not
    depend on what was inferred. `agreement`, `recall`, `precision` (NaN where nothing is put
    together) and `kappa` compare with the decomposition that the problem reveals. `together` is the
    share of all pairs that a sampled one puts together, which chance would recall, and `density`
    that of the truth, which is the precision of chance; `agreement_singletons` and
    `agreement_whole` are those of the two decompositions without any information.
    """
    true = revealed(problem)
    d = cast(Box, problem.domain).d
    built = {name: value for name, value in optimizer.items() if name != "is"}
    stream = rng(seed, "study", "optimizer")
    method = cast(DuMBO, algorithms.build("dumbo.DuMBO", problem.domain, stream, built))
    if method.chain is None:
        raise ValueError(
            f"optimizer: expected decomposition mcmc, got {built['decomposition']}: nothing else is"
            " inferred"
        )
    design = rng(seed, "study", "init").random((T, d))
    if chosen(QUERIES, queries, "queries"):
        steps = along_own(method, method.chain, problem, design[:n], T, seed)
    else:
        steps = along(method.chain, problem, design, n, seed, method.partitions.models)
    rows: list[dict[str, float]] = []
    for t, found in steps:
        if t % every == 0 or t == T:
            measured = [compared(own, true, d) for own in found]
            rows.append(
                {"t": t, **{name: _mean([row[name] for row in measured]) for name in measured[0]}}
            )
    reference = {"singletons": singletons(d), "whole": whole(d)}
    constant = {
        f"agreement_{name}": pair_agreement(own, true, d) for name, own in reference.items()
    }
    return tidy([{**row, **constant, "density": constant["agreement_whole"]} for row in rows])


def revealed(problem: Problem) -> Decomposition:
    """The decomposition that a problem reveals. Raises TypeError where it reveals none."""
    if not isinstance(problem.domain, Box) or "decomposition" not in problem.reveals:
        raise TypeError(
            "expected a problem on a Box that reveals its decomposition: choose one of"
            " problems/additive.py"
        )
    true = tuple(
        tuple(factor) for factor in cast(Sequence[Sequence[int]], problem.reveals["decomposition"])
    )
    check(true, problem.domain.d)
    return true


@dataclass(frozen=True)
class Watched(Chain):
    """A chain that leaves the decompositions of its last steps in a list."""

    seen: list[Decomposition]

    def sample(
        self, distances: Distances, y: Array, rng: np.random.Generator, *, count: int
    ) -> tuple[list[Model], Chain]:
        """As ever."""
        found, chain = super().sample(distances, y, rng, count=count)
        self.seen[:] = [own for own, _ in found]
        return found, chain


def along_own(
    method: DuMBO, chain: Chain, problem: Problem, design: Array, T: int, seed: int
) -> Iterator[tuple[int, list[Decomposition]]]:
    """For each number of evaluations, what DuMBO sampled in its own run from the first points (n,
    d).
    """
    seen: list[Decomposition] = []
    method.chain = Watched(**vars(chain), seen=seen)
    progress = loop.Progress(method)
    loop.start(progress, design, loop.evaluate(problem, design, noise(seed), first=0))
    yield progress.rows, list(seen)
    while progress.rows < T:
        loop.step(problem, progress, budget=T, room=1, noise=noise(seed))
        yield progress.rows, list(seen)


def along(
    chain: Chain, problem: Problem, X: Array, n: int, seed: int, count: int
) -> Iterator[tuple[int, list[Decomposition]]]:
    """The same for given points X (T, d): the first n of them, then one more at a time."""
    y, draw = loop.evaluate(problem, X, noise(seed), first=0).seen.y, rng(seed, "study", "chain")
    for t in range(n, len(X) + 1):
        found, chain = chain.sample(Distances(X[:t]), sample(y[:t])(y[:t]), draw, count=count)
        yield t, [own for own, _ in found]


def compared(found: Decomposition, true: Decomposition, d: int) -> dict[str, float]:
    """How well a decomposition of d variables agrees with the true one, and how large it is."""
    agreement, together, density = (
        pair_agreement(*pair, d) for pair in ((found, true), (found, whole(d)), (true, whole(d)))
    )
    chance = together * density + (1 - together) * (1 - density)
    return {
        "agreement": agreement,
        "recall": pair_recall(found, true, d),
        "precision": pair_recall(true, found, d),
        "kappa": (
            (agreement - chance) / (1 - chance) if chance < 1 else 1.0
        ),  # both put all together, or both nothing
        "together": together,
        "factors": len(found),
        "largest": max(map(len, found)),
    }


def _mean(values: Sequence[float]) -> float:
    """Over the values that are numbers, NaN where none is."""
    numbers = [value for value in values if not np.isnan(value)]
    return float(np.mean(numbers)) if numbers else float("nan")
