"""Settings of NUTS, apart from the sampler, so that they are known where JAX is not installed."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.parts.numerics.choice import chosen

MASSES = {"diagonal": False, "dense": True}


@dataclass(frozen=True)
class NUTS:
    """How parameters are drawn: the No-U-Turn Sampler (hoffman2014nuts; phan2019numpyro).

    warmup: transitions of the first run that are thrown away, in which step and mass adapt; 512
        in the authors' code of eriksson2021saasbo, there at every query.
    readaptation: the same of every later run, which goes on where the one before stood and
        adapts its step alone; an assumption of papers/dumbo.yaml.
    samples: transitions of a run that follow; 256 in that code.
    thinning: every so many of them is a draw that a query is planned from; 16 there.
    tree_depth: doublings of a trajectory at most, 2^tree_depth leapfrog steps; 6 there.
    target: the mean acceptance probability that the step adapts to, in (0, 1); 0.8 in both
        sources.
    mass: the mass matrix, "diagonal" or "dense".
    pad: data are padded to multiples of so many rows, each a program of its own; no number
        depends on it but by rounding.
    """

    warmup: int
    readaptation: int
    samples: int
    thinning: int
    tree_depth: int
    target: float
    mass: str
    pad: int

    def __post_init__(self) -> None:
        if not 1 <= self.thinning <= self.samples:
            raise ValueError(
                f"expected 1 <= thinning <= samples, got thinning {self.thinning}, samples"
                f" {self.samples}"
            )
        chosen(MASSES, self.mass, "mass")

    @property
    def dense(self) -> bool:
        """Whether the mass matrix has more than a diagonal."""
        return MASSES[self.mass]
