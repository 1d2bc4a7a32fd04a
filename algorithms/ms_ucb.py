"""MS-UCB: the upper confidence bound maximised over a few low-dimensional subspaces only
(gupta2020msucb).

There is no public code, and what is here is partly inferred. From the abstract: the bound is
maximised on a discrete set of low-dimensional subspaces embedded in the box, whose number trades
computation against convergence. From bardou2024dumbo: two orthogonal subspaces, and alpha = 0.
Inferred: the subspaces are affine and along the axes, they differ in uniform points of the
complement that are drawn anew at every step, and the complement of the best query may be one more
of them. Which coordinates form the low block is not said: the first ones, or a subset drawn at
every step.

Paper -> here:  d -> low,  D -> domain.d,  N_0 -> subspaces,  N_t = N_0 t^alpha -> count,
t -> observations so far
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from algorithms.api import Array, Box, Indices, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.sampling import uniform
from algorithms.parts.processes.fitting import SURROGATES, Fitted
from algorithms.parts.processes.gp import GRAMS, Posterior
from algorithms.parts.search.acquisition import UCB
from algorithms.parts.search.closed_matern import MaternPromise
from algorithms.parts.search.exploration import Width
from algorithms.parts.search.maximise import ClimbSettings, coordinates, maximise


class MSUCB(Optimizer):
    """Maximises the bound over a block of coordinates for each of several settings of the others,
    and takes the best.

    Use it as a baseline for many variables; there is no public code to compare it with. Where the
    block is the whole box there is one subspace: plain GP-UCB. `gram` says with which noise the
    regression predicts: see `gp.GRAMS`.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        low: int,
        block: str,
        subspaces: float,
        alpha: float,
        incumbent: str,
        surrogate: str,
        gram: str,
        width: Width,
        climb: ClimbSettings,
    ) -> None:
        super().__init__(domain, rng)
        if not (low >= 1 and subspaces > 0 and alpha >= 0):
            raise ValueError(
                f"expected low >= 1, subspaces > 0 and alpha >= 0, got {low}, {subspaces}, {alpha}"
            )
        self.low = min(low, domain.d)
        self.block = chosen(BLOCKS, block, "block")
        self.subspaces, self.alpha = subspaces, alpha
        self.with_incumbent = chosen(INCUMBENTS, incumbent, "incumbent")
        self.surrogate = chosen(SURROGATES, surrogate, "surrogate")
        self.gram = chosen(GRAMS, gram, "gram")
        self.width, self.climb = width, climb
        self.fitted: Fitted | None = None
        self.posterior: Posterior | None = None  # that predicts

    @property
    def beta(self) -> float:
        """beta_t, of the whole box: the bound is that of GP-UCB."""
        return self.width.beta(len(self.y), self.domain.d)

    @property
    def count(self) -> int:
        """Points of the complement that the next step draws."""
        return ceil(self.subspaces * len(self.y) ** self.alpha) if self.low < self.domain.d else 0

    def ask(self, room: int, pending: Array) -> Array:
        """Where the bound is largest on any of the subspaces."""
        if self.posterior is None:
            return self.rng.random((1, self.domain.d))
        promise = MaternPromise(self.posterior, UCB, self.beta)
        block = self.block(self.rng, self.domain.d, self.low)
        tops = [
            maximise(promise, coordinates(z, block.tolist()), self.rng, **vars(self.climb))
            for z in self._settings()
        ]
        return max(tops, key=lambda top: top[1])[0][None]

    def tell(self, query: Array, obs: Observation) -> None:
        """Fit anew to everything."""
        super().tell(query, obs)
        self.fitted = self.surrogate.learn(self.x, self.y, self.rng)
        self.posterior = self.gram(self.fitted.posterior)

    def report(self) -> dict[str, float]:
        """beta_t, and how many points of the complement the next step draws."""
        return {} if self.fitted is None else {"beta": self.beta, "subspaces": self.count}

    def _settings(self) -> Array:
        """Points (k, d), of which the coordinates outside the block say where a subspace lies."""
        best = self.x[[np.argmax(self.y)]]
        if self.low == self.domain.d:
            return best  # any point: nothing of it lies outside the block
        z = uniform(self.rng, self.count, self.domain.d)  # Z_t
        return np.concatenate([z, best]) if self.with_incumbent else z


def first(rng: np.random.Generator, d: int, low: int) -> Indices:
    """The first `low` of d coordinates."""
    return np.arange(low)


def drawn(rng: np.random.Generator, d: int, low: int) -> Indices:
    """A uniform subset of `low` of d coordinates."""
    return rng.permutation(d)[:low]


BLOCKS: dict[str, Callable[[np.random.Generator, int, int], Indices]] = {
    "first": first,
    "drawn": drawn,
}
INCUMBENTS = {"included": True, "left-out": False}
