"""Additive models whose decompositions are sampled: Metropolis-Hastings over partitions of the
variables (gardner2017additive; bardou2024dumbo, App. B; hoang2018dechbo).

A decomposition is judged by the evidence of its fitted model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.api import Array
from algorithms.parts.factors.additive_process import (
    MEANS,
    Distances,
    Factor,
    Fit,
    Kernel,
    Scales,
    Solved,
    equal_kernel,
    fit,
)
from algorithms.parts.factors.decomposition import (
    SPLITS,
    Decomposition,
    accepts,
    propose,
    random_partition,
    whole,
)
from algorithms.parts.numerics.choice import chosen

Model = tuple[Decomposition, Solved]

# the ln p of a model by which a chain accepts
ACCEPTANCES: Mapping[str, Callable[[Solved], float]] = {
    "total": lambda solved: solved.log_evidence,
    "per-datum": lambda solved: solved.log_evidence / len(solved.alpha),
    "predictive": lambda solved: solved.log_predictive() / len(solved.alpha),
}
FIRST_VALUES, INHERITED = "first-values", "inherited"
STARTS = {FIRST_VALUES: False, INHERITED: True}


@dataclass(frozen=True)
class Partitions:
    """How decompositions are sampled (gardner2017additive; bardou2024dumbo, App. B).

    DuMBO and DEC-HBO take the group `partitions`.

    models: decompositions that a query is planned from; 5 in the public code of
        bardou2024dumbo.
    largest_factor: variables of a factor at most; infinity where nothing is assumed
        (bardou2024dumbo, Sec. 2.2), 3 for DEC-HBO (Sec. 6).
    split: what is counted as the probability of a split: "exact", that of the rule by which it
        is drawn, or "reference-code", what the public code takes in its place.
    acceptance: the evidence by which the chain moves: "total" (App. B); "per-datum", which is
        hotter by the number of data; or "predictive", what the public code computes: per datum, the
        density of the same values if they were observed once more.
    fit_start: where the fit of a proposed decomposition starts: "first-values", as in the
        public code, or "inherited", from the scales of the one that it is proposed from.
    """

    models: int
    largest_factor: float
    split: str
    acceptance: str
    fit_start: str

    def __post_init__(self) -> None:
        if not (self.models >= 1 and self.largest_factor >= 1):
            raise ValueError(
                "expected models and largest_factor of at least 1, got"
                f" {self.models} and {self.largest_factor}"
            )
        chosen(SPLITS, self.split, "split")
        chosen(ACCEPTANCES, self.acceptance, "acceptance")
        chosen(STARTS, self.fit_start, "fit_start")

    def drawn(self, d: int, rng: np.random.Generator) -> list[Decomposition]:
        """Independent random partitions of d variables, `models` of them (ziomek2023random)."""
        largest = int(min(self.largest_factor, d))
        return [random_partition(rng, d, largest=largest) for _ in range(self.models)]


@dataclass(frozen=True)
class Fits:
    """How models are fitted: first scales, Adam's steps, and where a new model starts.

    All methods whose models are additive processes fit by `Fits`.
    """

    scales: Scales
    adam: Fit
    start: str

    def __post_init__(self) -> None:
        chosen(STARTS, self.start, "fit_start")

    def first(self, factors: Sequence[Factor]) -> Kernel:
        """The scales that every factor starts with."""
        first = self.scales
        return equal_kernel(
            len(factors),
            outputscale=first.outputscale,
            lengthscale=first.lengthscale,
            noise=first.noise,
        )

    def now(
        self, distances: Distances, factors: Sequence[Factor], y: Array, before: Solved | None
    ) -> Solved:
        """The model of y (n,) now, from the scales that it had before, if there were any."""
        if before is None:
            return self.anew(distances, factors, y)
        return self.again(distances, factors, y, before.kernel)

    def again(
        self, distances: Distances, factors: Sequence[Factor], y: Array, kernel: Kernel
    ) -> Solved:
        """The model of y (n,) now, from the scales that it had before."""
        return self._fit(distances, factors, y, kernel, self.adam.steps)

    def anew(
        self, distances: Distances, factors: Sequence[Factor], y: Array, near: Model | None = None
    ) -> Solved:
        """A new model, from the first values or from what it inherits of a near one."""
        kernel = inherited(factors, near) if near and self.inherit else self.first(factors)
        return self._fit(distances, factors, y, kernel, self.adam.new_steps)

    @property
    def inherit(self) -> bool:
        """Whether a new model depends on the one that it is proposed from."""
        return STARTS[self.start]

    def _fit(
        self, distances: Distances, factors: Sequence[Factor], y: Array, kernel: Kernel, steps: int
    ) -> Solved:
        return fit(
            distances,
            factors,
            y,
            kernel,
            least_noise=self.scales.least_noise,
            steps=steps,
            rate=self.adam.rate,
            with_mean=MEANS[self.scales.mean],
        )


def inherited(factors: Sequence[Factor], near: Model) -> Kernel:
    """Scales from a near model: variances go with variables, length-scales are averaged."""
    others, kernel = near[0], near[1].kernel
    overlap = np.array(
        [[len(set(factor) & set(other)) for other in others] for factor in factors],
        dtype=np.float64,
    )
    outputscale = (overlap / [len(other) for other in others]) @ kernel.outputscale
    lengthscale = (overlap @ kernel.lengthscale) / overlap.sum(1)
    return Kernel(outputscale, lengthscale, kernel.noise)


@dataclass(frozen=True)
class Chain:
    """Where the Metropolis chain stands, with its scales, and the rules by which it moves.

    A method uses a chain where the data have to tell which variables act together.
    """

    decomposition: Decomposition
    kernel: Kernel
    fits: Fits
    partitions: Partitions

    @classmethod
    def begin(cls, d: int, rng: np.random.Generator, fits: Fits, partitions: Partitions) -> Chain:
        """A chain at one factor of all d variables, or at a random partition if d is too large."""
        largest = min(partitions.largest_factor, d)
        first = whole(d) if largest == d else random_partition(rng, d, largest=int(largest))
        return cls(first, fits.first(first), fits, partitions)

    def sample(
        self, distances: Distances, y: Array, rng: np.random.Generator, *, count: int
    ) -> tuple[list[Model], Chain]:
        """`count` models of y (n,), the present one and one each Metropolis step; the new chain."""
        model = self.decomposition, self.fits.again(distances, self.decomposition, y, self.kernel)
        found: list[Model] = [model]
        rules = self.partitions
        evidence = ACCEPTANCES[rules.acceptance]
        known: dict[Decomposition, Solved] = {}  # fits from first values, the same each time
        while len(found) < count:
            proposal = propose(rng, model[0], largest=rules.largest_factor, split=rules.split)
            if proposal is not None:
                proposed = proposal.decomposition
                solved = known.get(proposed) or self.fits.anew(distances, proposed, y, model)
                if not self.fits.inherit:
                    known[proposed] = solved
                new = proposed, solved
                if accepts(rng, evidence(solved) - evidence(model[1]), proposal.log_ratio):
                    model = new
            found.append(model)
        return found, replace(self, decomposition=model[0], kernel=model[1].kernel)
