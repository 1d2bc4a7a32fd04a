"""Which variables act together: decompositions, moves between partitions for a Metropolis-Hastings
chain, and how well two decompositions agree.

The chain is that of gardner2017additive. A split is that of the public code of bardou2024dumbo: two
variables are drawn to lie on opposite sides, every other one tosses a fair coin.

Paper -> here:  A -> decomposition,  V_i -> factor,  d-bar -> largest
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, isnan, log, nan

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Indices
from algorithms.parts.numerics.choice import chosen

# one tuple of variables per factor; factors may overlap, those of a partition do not
Decomposition = tuple[tuple[int, ...], ...]


def whole(d: int) -> Decomposition:
    """One factor of all d variables."""
    return (tuple(range(d)),)


def singletons(d: int) -> Decomposition:
    """One factor for each of d variables."""
    return tuple((j,) for j in range(d))


def canonical(factors: Iterable[Iterable[int]]) -> Decomposition:
    """The factors in one order: variables increase within a factor, factors go by their first."""
    return tuple(sorted(tuple(sorted(int(j) for j in factor)) for factor in factors))


def check(decomposition: Decomposition, d: int) -> None:
    """Raises ValueError unless factors hold the variables 0..d-1, each once within a factor."""
    for factor in decomposition:
        if not factor or len(set(factor)) < len(factor):
            raise ValueError(
                f"expected factors of distinct variables, got {factor}: name each variable of a"
                " factor once"
            )
    held = {j for factor in decomposition for j in factor}
    expected = set(range(d))
    if held - expected:
        raise ValueError(
            f"expected variables 0..{d - 1}, got {sorted(held - expected)} as well: count the"
            " variables from 0"
        )
    if expected - held:
        raise ValueError(
            f"expected all variables 0..{d - 1}, found none of {sorted(expected - held)} in a"
            " factor: give those that act alone factors of their own"
        )


def incidence(decomposition: Decomposition) -> Indices:
    """Pairs (E, 2) of a factor and a variable of it, factor after factor."""
    variables = np.array([j for factor in decomposition for j in factor], dtype=np.int64)
    return np.stack(
        [
            np.repeat(np.arange(len(decomposition)), [len(factor) for factor in decomposition]),
            variables,
        ],
        axis=1,
    )


def membership(decomposition: Decomposition, d: int) -> NDArray[np.bool_]:
    """Which of F factors holds which of d variables, (F, d)."""
    held = np.zeros((len(decomposition), d), dtype=bool)
    held[tuple(incidence(decomposition).T)] = True
    return held


@dataclass(frozen=True)
class Proposal:
    """A partition drawn given another, and ln q(other | partition) - ln q(partition | other)."""

    decomposition: Decomposition
    log_ratio: float


def log_split(a: int, b: int) -> float:
    """Log-probability that a factor falls into two given sides of a and b variables.

    Of the s(s-1) ordered pairs of distinct seeds, s = a + b, 2ab lie on opposite sides; the other
    s-2 coins must all fit: q = 2ab / (s(s-1)) 2^(2-s), which sums to 1 over the 2^(s-1) - 1
    unordered pairs of sides.
    """
    s = a + b
    return log(2 * a * b) - log(s * (s - 1)) + (2 - s) * log(2)


def log_split_of_reference_code(a: int, b: int) -> float:
    """What the public code counts in its place: 2^(1-s) whatever the sides."""
    # REFERENCE CODE: as if all sides were equally likely and the empty one possible
    return (1 - a - b) * log(2)


SPLITS: Mapping[str, Callable[[int, int], float]] = {
    "exact": log_split,
    "reference-code": log_split_of_reference_code,
}


def propose(
    rng: np.random.Generator, current: Decomposition, *, largest: float, split: str
) -> Proposal | None:
    """A split or a merge of a partition, each with probability 1/2 where both are possible, or None
    where neither is.

    A split takes any factor of several variables; a merge any pair of at most `largest` variables
    together. `split` names what is counted as the probability of the sides.
    """
    log_sides = chosen(SPLITS, split, "split")
    _require_partition(current, largest)
    can_split, can_merge = splittable(current), mergeable(current, largest)
    if not len(can_split) and not len(can_merge):
        return None
    if len(can_split) and (not len(can_merge) or rng.random() < 0.5):
        taken = [int(can_split[rng.integers(len(can_split))])]
        put = _sides(rng, current[taken[0]])
    else:
        taken = can_merge[rng.integers(len(can_merge))].tolist()
        put = [current[taken[0]] + current[taken[1]]]
    proposed = canonical([factor for i, factor in enumerate(current) if i not in taken] + put)
    if len(put) == 2:
        sides = log_sides(len(put[0]), len(put[1]))
        return Proposal(
            proposed, _log_merge(proposed, largest) - _log_split(current, largest, sides)
        )
    sides = log_sides(len(current[taken[0]]), len(current[taken[1]]))
    return Proposal(proposed, _log_split(proposed, largest, sides) - _log_merge(current, largest))


def accepts(rng: np.random.Generator, gain: float, log_ratio: float) -> bool:
    """Whether a Metropolis-Hastings chain moves, given ln of the ratio of targets, new over old."""
    if isnan(gain + log_ratio):
        raise ValueError(
            f"expected numbers, got gain {gain} and log_ratio {log_ratio}: look for a model whose"
            " evidence is no number"
        )
    return rng.random() < exp(min(gain + log_ratio, 0.0))


def splittable(partition: Decomposition) -> Indices:
    """The factors of more than one variable."""
    return np.flatnonzero([len(factor) > 1 for factor in partition])


def mergeable(partition: Decomposition, largest: float) -> Indices:
    """The pairs (P, 2) of factors with at most `largest` variables together."""
    sizes = np.array([len(factor) for factor in partition])
    return np.argwhere(np.triu(np.add.outer(sizes, sizes) <= largest, 1))


def random_partition(rng: np.random.Generator, d: int, *, largest: int) -> Decomposition:
    """d variables shuffled into factors of at most `largest`.

    Their sizes are uniform among the ways to write d as a sum of such parts. d <= 405, since the
    number of ways has to fit 63 bits.
    """
    # REFERENCE CODE: keeps the parts that are small enough and draws the rest again, which is not
    # uniform for 1 < largest < d-1
    if d < 1 or largest < 1:
        raise ValueError(f"expected d >= 1 and largest >= 1, got {d} and {largest}")
    counts = integer_partitions(d)
    left, part = d, min(largest, d)
    rank, parts = int(rng.integers(counts[part][left])), []
    while left:
        # partitions of what is left that have no part of this size come first
        without = counts[part - 1][left]
        if rank < without:
            part -= 1
        else:
            rank, left = rank - without, left - part
            parts.append(part)
    return canonical(np.split(rng.permutation(d), np.cumsum(parts)[:-1]))


@cache
def integer_partitions(d: int) -> tuple[tuple[int, ...], ...]:
    """The numbers [m][n] of ways to write n as a sum of parts of at most m, for m, n <= d."""
    rows = [[1] + [0] * d]
    for m in range(1, d + 1):
        row = list(rows[-1])
        for n in range(m, d + 1):
            row[n] += row[n - m]
        rows.append(row)
    return tuple(map(tuple, rows))


def pair_agreement(a: Decomposition, b: Decomposition, d: int) -> float:
    """The share of pairs of variables that both put together or both keep apart (Rand index).

    Together means that some factor holds both. Without any pair the share is 1.
    """
    together_a, together_b = _together(a, d), _together(b, d)
    return float((together_a == together_b).mean()) if d > 1 else 1.0


def pair_recall(found: Decomposition, true: Decomposition, d: int) -> float:
    """The share of the pairs of variables in `true` that `found` puts together as well.

    The share is NaN where `true` has no pair. With the two exchanged it is the precision.
    """
    wanted = _together(true, d)
    return float(_together(found, d)[wanted].mean()) if wanted.any() else nan


def _together(decomposition: Decomposition, d: int) -> NDArray[np.bool_]:
    """For each pair of variables whether some factor holds both, (d (d-1) / 2,)."""
    held = membership(decomposition, d)
    return (held.T @ held)[np.triu_indices(d, 1)]


def _require_partition(current: Decomposition, largest: float) -> None:
    """Raises ValueError where a chain cannot stand."""
    sizes = [len(factor) for factor in current]
    if sum(sizes) > len({j for factor in current for j in factor}):
        raise ValueError(
            f"expected factors without common variables, got {current}: only partitions can be"
            " split and merged"
        )
    if max(sizes) > largest:
        raise ValueError(
            f"expected factors of at most {largest} variables, got {max(sizes)}: start the chain"
            " from a finer partition"
        )


def _sides(rng: np.random.Generator, factor: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Two sides of a factor: one drawn variable on either side, fair coins for the others."""
    second = rng.random(len(factor)) < 0.5
    second[rng.choice(len(factor), size=2, replace=False)] = [False, True]
    return [
        tuple(j for j, there in zip(factor, second, strict=True) if there == side)
        for side in (False, True)
    ]


def _log_split(coarse: Decomposition, largest: float, sides: float) -> float:
    """ln q of a split of one of its factors into sides of the log-probability `sides`."""
    splits, merges = len(splittable(coarse)), len(mergeable(coarse, largest))
    return sides - log(splits) - (log(2) if merges else 0.0)


def _log_merge(fine: Decomposition, largest: float) -> float:
    """ln q of a merge of two of its factors."""
    splits, merges = len(splittable(fine)), len(mergeable(fine, largest))
    return -log(merges) - (log(2) if splits else 0.0)
