"""Factors that share variables, and what they tell one another (bardou2024dumbo, section 3.3,
Appendix A, Alg. 1).

Paper -> here:  n -> F,  V_i -> variables_of(i),  F_j -> factors_of(j),
N_i -> neighbours(i), |N_i| -> sizes

Values "on the edges" are (E,): one per pair of a factor and a variable of it, factor after factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Indices
from algorithms.parts.decomposition import Decomposition, check, incidence, membership


@dataclass(frozen=True)
class Messages:
    """What passes between the nodes in one round, each way: messages, and the numbers in all of
    them.
    """

    to_variables: int
    to_factors: int
    numbers_to_variables: int
    numbers_to_factors: int


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Factor nodes and variable nodes, with an edge where a factor holds a variable."""

    factors: Decomposition
    d: int
    edges: Indices  # (E, 2) factor, variable
    adjacency: NDArray[np.bool_]  # (F, F) k in N_i, symmetric
    sizes: Indices  # (F,) |N_i|
    degrees: Indices  # (d,) |F_j|

    @classmethod
    def of(cls, factors: Sequence[tuple[int, ...]], d: int) -> FactorGraph:
        """Factors, of one decomposition of d variables or of several, that are neighbours where
        they share a variable.
        """
        return cls.of_blocks(factors, d, np.zeros(len(factors), dtype=np.int64))

    @classmethod
    def of_blocks(cls, factors: Sequence[tuple[int, ...]], d: int, blocks: Indices) -> FactorGraph:
        """The same, but factors are neighbours only within the same of `blocks` (F,); variables
        still hear all their factors.
        """
        factors = tuple(tuple(factor) for factor in factors)
        check(factors, d)
        if np.shape(blocks) != (len(factors),):
            raise ValueError(
                f"expected one block for each of {len(factors)} factors, got shape"
                f" {np.shape(blocks)}"
            )
        held = membership(factors, d)  # (F, d)
        counts = held.astype(np.float32)  # exact up to 2^24, and BLAS is faster than NumPy's logic
        adjacency = (counts @ counts.T > 0) & np.equal.outer(blocks, blocks)
        return cls(factors, d, incidence(factors), adjacency, adjacency.sum(1), held.sum(0))

    def variables_of(self, i: int) -> Indices:
        """V_i, the variables of factor i."""
        return np.array(self.factors[i])

    def factors_of(self, j: int) -> Indices:
        """F_j, the factors of variable j."""
        return self.edges[self.edges[:, 1] == j, 0]

    def neighbours(self, i: int) -> Indices:
        """N_i, the factors that share a variable with factor i: itself, too."""
        return np.flatnonzero(self.adjacency[i])

    def consensus(self, values: Array) -> Array:
        """x-bar (d,), the mean at each variable of the coordinates (E,) that its factors
        have sent.
        """
        # eq. (16)
        return np.bincount(self.edges[:, 1], weights=values, minlength=self.d) / self.degrees

    def spread(self, xbar: Array) -> Array:
        """The copies (E,) of x-bar (d,) that the variables send back to their factors."""
        return xbar[self.edges[:, 1]]  # Alg. 1 l. 18

    def terms(self, variances: Array) -> Array:
        """sigma_i^2 / |N_i|^2 (..., F), what factor i sends to its variables, from its variance
        (..., F).
        """
        return variances / self.sizes**2  # Alg. 1 l. 14

    def neighbour_sums(self, terms: Array) -> Array:
        """c (..., F), the sum in factor i of the terms (..., F) of its neighbours other than
        itself, which its variables pass on.

        A neighbour heard through several common variables counts once: a term travels with the name
        of its sender.
        """
        # subtracting the own term could leave less than 0
        others = self.adjacency & ~np.eye(len(self.factors), dtype=bool)
        return terms @ others  # Alg. 1 l. 11

    def exploration(self, variances: Array) -> Array:
        """sum_i sqrt(sum_{k in N_i} sigma_k^2 / |N_k|^2) (...), from the factors' variances (...,
        F).
        """
        return np.sqrt(self.terms(variances) @ self.adjacency).sum(-1)  # eq. (6)

    @property
    def messages(self) -> Messages:
        """One round of Alg. 1: x_ij and a term up each edge (l.

        14), x-bar_j and the terms of F_j within N_i down it (l. 18).
        """
        E = len(self.edges)
        held = membership(self.factors, self.d).astype(np.float32)
        # (E,) |F_j and N_i|: |F_j| with a single block
        heard = (self.adjacency @ held)[self.edges[:, 0], self.edges[:, 1]]
        return Messages(E, E, 2 * E, E + int(heard.sum()))
