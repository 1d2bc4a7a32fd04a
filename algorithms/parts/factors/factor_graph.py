"""Factors that share variables, and what they tell one another (bardou2024dumbo, Sec. 3.3, App. A,
Alg. 1).

Paper -> here:  n -> F,  V_i -> factors[i],  |F_j| -> degrees,  N_i -> adjacency[i],  |N_i| -> sizes

Values "on the edges" are (E,): one per pair of a factor and a variable of it, factor after factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Indices
from algorithms.parts.factors.decomposition import Decomposition, check, incidence, membership


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Factor nodes and variable nodes, with an edge where a factor holds a variable.

    DuMBO uses the graph to average candidates and to share the variances of factors.
    """

    factors: Decomposition
    d: int
    edges: Indices  # (E, 2) factor, variable
    adjacency: NDArray[np.bool_]  # (F, F) k in N_i, symmetric
    sizes: Indices  # (F,) |N_i|
    degrees: Indices  # (d,) |F_j|

    @classmethod
    def of(
        cls, factors: Sequence[tuple[int, ...]], d: int, blocks: Indices | None = None
    ) -> FactorGraph:
        """The graph of factors of d variables, from one decomposition or from several.

        Factors are neighbours where they share a variable and, given `blocks` (F,), a block.
        Variables hear all their factors in any case.
        """
        factors = tuple(tuple(factor) for factor in factors)
        check(factors, d)
        held = membership(factors, d)  # (F, d)
        counts = held.astype(np.float32)  # exact up to 2^24, and BLAS is faster than NumPy's logic
        adjacency = counts @ counts.T > 0
        if blocks is not None:
            if np.shape(blocks) != (len(factors),):
                raise ValueError(
                    f"expected one block for each of {len(factors)} factors, got shape"
                    f" {np.shape(blocks)}"
                )
            adjacency &= np.equal.outer(blocks, blocks)
        return cls(factors, d, incidence(factors), adjacency, adjacency.sum(1), held.sum(0))

    def edges_of(self, factors: Indices) -> Indices:
        """The edges (G, m) of some factors (G,) that have m variables each."""
        first = np.searchsorted(self.edges[:, 0], factors)
        return first[:, None] + np.arange(len(self.factors[factors[0]]))

    def consensus(self, values: Array) -> Array:
        """x-bar (d,), at each variable the mean of the coordinates (E,) that its factors sent."""
        # eq. (16)
        return np.bincount(self.edges[:, 1], weights=values, minlength=self.d) / self.degrees

    def spread(self, xbar: Array) -> Array:
        """The copies (E,) of x-bar (d,) that the variables send back to their factors."""
        return xbar[self.edges[:, 1]]  # Alg. 1 l. 18

    def terms(self, variances: Array) -> Array:
        """sigma_i^2 / |N_i|^2 (..., F), what each factor sends, from the variances (..., F)."""
        return variances / self.sizes**2  # Alg. 1 l. 14

    def neighbour_sums(self, terms: Array) -> Array:
        """c (..., F), for each factor the sum of the terms (..., F) of its other neighbours.

        Variables pass terms on. A neighbour heard through several common variables counts once,
        since a term travels with the name of its sender.
        """
        # a sum of all terms less the own one could fall below 0
        others = self.adjacency & ~np.eye(len(self.factors), dtype=bool)
        return terms @ others  # Alg. 1 l. 11

    def exploration(self, variances: Array) -> Array:
        """sum_i sqrt(sum_{k in N_i} sigma_k^2 / |N_k|^2) (...), from the variances (..., F)."""
        return np.sqrt(self.terms(variances) @ self.adjacency).sum(-1)  # eq. (6)
