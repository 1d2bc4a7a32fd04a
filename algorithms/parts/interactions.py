"""Additive models whose decompositions are sampled: Metropolis-Hastings over partitions of the
variables (gardner2017additive).

bardou2024dumbo, App. B; hoang2018dechbo does the same. A decomposition is judged by the evidence of
its fitted model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.api import Array
from algorithms.parts.additive_process import (
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
from algorithms.parts.choice import chosen
from algorithms.parts.decomposition import (
    SPLITS,
    Decomposition,
    accepts,
    propose,
    random_partition,
    whole,
)

Model = tuple[Decomposition, Solved]

# ln p by which a chain accepts, of a model
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

    def chain(self, d: int, rng: np.random.Generator, scales: Scales, fit: Fit) -> Chain:
        """Where the chain over partitions of d variables begins."""
        return Chain.begin(
            d,
            rng,
            Fits(scales, fit, self.fit_start),
            largest=self.largest_factor,
            split=self.split,
            acceptance=self.acceptance,
        )


@dataclass(frozen=True)
class Fits:
    """How models are fitted: their first scales, Adam's steps, and where a new model starts."""

    scales: Scales
    adam: Fit
    start: str

    def __post_init__(self) -> None:
        chosen(STARTS, self.start, "fit_start")

    def first(self, factors: Sequence[Factor]) -> Kernel:
        """The scales that every factor starts with."""
        return equal_kernel(
            len(factors),
            outputscale=self.scales.outputscale,
            lengthscale=self.scales.lengthscale,
            noise=self.scales.noise,
        )

    def again(
        self, distances: Distances, factors: Sequence[Factor], y: Array, kernel: Kernel
    ) -> Solved:
        """A model seen before, given y (n,) now, from the scales that it had."""
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
        self,
        distances: Distances,
        factors: Sequence[Factor],
        y: Array,
        kernel: Kernel,
        steps: int,
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
    """Scales of factors of a partition from those of another: variances go with the variables,
    length-scales are averaged.
    """
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
    """Where the Metropolis chain stands: the last decomposition with its scales, and the rules by
    which it moves.
    """

    decomposition: Decomposition
    kernel: Kernel
    fits: Fits
    largest: int
    split: str
    acceptance: str

    @classmethod
    def begin(
        cls,
        d: int,
        rng: np.random.Generator,
        fits: Fits,
        *,
        largest: float,
        split: str,
        acceptance: str,
    ) -> Chain:
        """At one factor of all d variables, or at a random partition where that is larger than
        allowed.
        """
        chosen(ACCEPTANCES, acceptance, "acceptance")
        if not largest >= 1:
            raise ValueError(f"largest_factor: expected at least 1 variable, got {largest}")
        most = int(min(largest, d))
        first = whole(d) if most == d else random_partition(rng, d, largest=most)
        return cls(first, fits.first(first), fits, most, split, acceptance)

    def sample(
        self, distances: Distances, y: Array, rng: np.random.Generator, *, count: int
    ) -> tuple[list[Model], Chain]:
        """The present decomposition and count - 1 Metropolis steps from it, each a model of y (n,);
        and where the chain ends.
        """
        model = self.decomposition, self.fits.again(distances, self.decomposition, y, self.kernel)
        found: list[Model] = [model]
        evidence = ACCEPTANCES[self.acceptance]
        known: dict[Decomposition, Solved] = {}  # fits from first values, the same each time
        while len(found) < count:
            proposal = propose(rng, model[0], largest=self.largest, split=self.split)
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


def random_models(
    distances: Distances,
    y: Array,
    rng: np.random.Generator,
    fits: Fits,
    *,
    d: int,
    largest: float,
    count: int,
) -> list[Model]:
    """`count` models of independent random partitions, fitted from the first values
    (ziomek2023random).
    """
    drawn = [random_partition(rng, d, largest=int(min(largest, d))) for _ in range(count)]
    return [(decomposition, fits.anew(distances, decomposition, y)) for decomposition in drawn]
