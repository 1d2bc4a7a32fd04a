"""The 12,416 cells of NAS-Bench-101 with 6 vertices and inner operations conv3x3 or maxpool3x3,
without their measurements.

Source: ying2019nasbench101 and its public code: the order in which it generates cells, its hash and
its networks. A cell is a directed acyclic graph: vertex 0 is the input, vertex 5 the output, each
of the 4 inner vertices has an operation. It is kept as a code of 19 bits. Bit 4 + x + y(y-1)/2 is
the edge from x to y, x < y. The lowest 4 bits are the inner vertices 1 to 4, the first one highest,
and set for a max-pool. The code that nasbench meets first is thus the least of its class.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
V, INNER, EDGES = 6, 4, 9  # vertices, inner vertices, edges at most
PAIRS = tuple(itertools.combinations(range(V), 2))  # the upper triangle, row-major
BIT = {(x, y): INNER + x + y * (y - 1) // 2 for x, y in PAIRS}
BITS = INNER + len(PAIRS)
LABELS = {"input": -1, "conv3x3-bn-relu": 0, "conv1x1-bn-relu": 1, "maxpool3x3": 2, "output": -2}
KERNEL = {"conv3x3-bn-relu": 3, "conv1x1-bn-relu": 1}
CONV, POOL = "conv3x3-bn-relu", "maxpool3x3"
STEM, STACKS, MODULES, CLASSES = 128, 3, 3, 10  # channels, and the network that repeats the cell


@dataclass(frozen=True, eq=False)
class Cells:
    """n cells by rising hash: codes (n,), upper triangles (n, 15), convolutions (n, 4), parameter
    counts (n,), edits.

    edits[i] holds an index into the n cells for every edit of cell i that stays among them: one of
    the 19 bits flipped. Two edits may lead to the same cell, none to the cell itself, since every
    edit changes the number of edges or of pools. Taking an edge away from what was reached by
    adding it leads back; the opposite need not, because an edge is only added along the order of
    the cell's own vertices.
    """

    hashes: tuple[str, ...]
    codes: Codes
    adjacency: NDArray[np.int8]
    conv: NDArray[np.int8]
    parameters: NDArray[np.int64]
    edits: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, codes: Codes) -> Cells:
        """The cells with these codes (n,), at most one of each class, whichever representative of
        it.
        """
        named = [(module_hash(matrix(code), operations(code)), code) for code in codes.tolist()]
        hashes, ordered = zip(*sorted(named), strict=True)
        array = np.array(ordered, dtype=np.int64)
        adjacency = np.stack([array >> BIT[pair] & 1 for pair in PAIRS], axis=1).astype(np.int8)
        conv = np.stack([~array >> bit & 1 for bit in reversed(range(INNER))], axis=1).astype(
            np.int8
        )
        parameters = np.array(
            [parameter_count(matrix(code), operations(code)) for code in ordered], dtype=np.int64
        )
        return cls(hashes, array, adjacency, conv, parameters, edits(array))


def matrix(code: int) -> tuple[tuple[int, ...], ...]:
    """The adjacency matrix (6, 6) of a code: row = source, column = target."""
    return tuple(tuple(code >> BIT[x, y] & 1 if x < y else 0 for y in range(V)) for x in range(V))


def operations(code: int) -> tuple[str, ...]:
    """The names of the 6 vertices of a code."""
    inner = (POOL if code >> bit & 1 else CONV for bit in reversed(range(INNER)))
    return ("input", *inner, "output")


def code_of(adjacency: str, names: Sequence[str]) -> int:
    """The code of 36 characters 0 or 1, row-major, and 6 names.

    Raises ValueError, which says what is wrong with them.
    """
    ones = {divmod(place, V) for place, digit in enumerate(adjacency) if digit == "1"}
    if len(adjacency) != V * V or set(adjacency) - {"0", "1"} or not ones <= BIT.keys():
        raise ValueError(
            f"expected a strictly upper triangular matrix of 36 digits 0 or 1, got {adjacency!r}"
        )
    if (
        len(names) != V
        or (names[0], names[-1]) != ("input", "output")
        or not set(names[1:-1]) <= {CONV, POOL}
    ):
        raise ValueError(f"expected input, 4 of {CONV} or {POOL}, output, got {','.join(names)!r}")
    pools = (1 << place for place, name in enumerate(reversed(names[1:-1])) if name == POOL)
    return sum(pools) + sum(1 << BIT[pair] for pair in ones)


@cache
def every() -> Cells:
    """The 12,416 cells, each as nasbench meets it first."""
    return Cells.of(enumerate_codes())


def enumerate_codes() -> Codes:
    """The code of each class that nasbench meets first (12416,), rising."""
    codes: Codes = np.unique(canonical())
    return codes[codes >= 0]


@cache
def canonical() -> NDArray[np.int32]:
    """For every code (2^19,) the least code of its class, -1 where it is no cell of the set;
    read-only.
    """
    graphs = np.arange(1 << len(PAIRS), dtype=np.int32)
    edge = {pair: graphs >> bit - INNER & 1 for pair, bit in BIT.items()}
    labels = np.arange(1 << INNER, dtype=np.int32)
    worst = np.int32(1 << BITS)
    least = np.full((len(graphs), len(labels)), worst, dtype=np.int32)
    for order in itertools.permutations(range(1, V - 1)):
        place = (0, *order, V - 1)  # where each vertex goes
        moved, upper = np.zeros_like(graphs), np.ones(len(graphs), dtype=bool)
        for (x, y), present in edge.items():
            if place[x] < place[y]:
                moved |= present << BIT[place[x], place[y]]
            else:
                upper &= present == 0
        named = sum(
            ((labels >> INNER - v & 1) << INNER - place[v] for v in range(1, V - 1)),
            np.zeros_like(labels),
        )
        least = np.minimum(least, np.where(upper[:, None], moved[:, None] | named, worst))
    leaving = [np.sum([edge[v, y] for y in range(v + 1, V)], axis=0) for v in range(V - 1)]
    entering = [np.sum([edge[x, v] for x in range(v)], axis=0) for v in range(1, V)]
    whole = np.all([*leaving, *entering], axis=0) & (np.sum(list(edge.values()), axis=0) <= EDGES)
    least[~whole] = -1
    flat = least.ravel()
    flat.flags.writeable = False
    return flat


def edits(codes: Codes) -> tuple[tuple[int, ...], ...]:
    """For each of n codes the indices among the n of the cells that one flipped bit leads to, in
    the order of the bits.
    """
    least = canonical()
    classes = least[codes]  # (n,)
    index = np.full(1 << BITS, -1, dtype=np.int64)
    index[classes] = np.arange(len(codes))
    reached = least[codes[:, None] ^ (1 << np.arange(BITS))]  # (n, 19)
    there = np.where(reached >= 0, index[reached], -1)
    return tuple(tuple(int(i) for i in row if i >= 0) for row in there.tolist())


def module_hash(edges: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """The md5 by which nasbench names a cell: adjacency (V, V), V names; the same for every
    representative of its class.
    """
    into = [[x for x, row in enumerate(edges) if row[v]] for v in range(len(edges))]
    out = [[y for y, there in enumerate(row) if there] for row in edges]
    state = [_md5(str((len(out[v]), len(into[v]), LABELS[name]))) for v, name in enumerate(names)]
    for _ in edges:
        state = [
            _md5(
                "".join(sorted(state[x] for x in into[v]))
                + "|"
                + "".join(sorted(state[y] for y in out[v]))
                + "|"
                + state[v]
            )
            for v in range(len(edges))
        ]
    return _md5(str(sorted(state)))


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def parameter_count(edges: Sequence[Sequence[int]], names: Sequence[str]) -> int:
    """Trainable parameters of the whole network around a cell: stem, 3 stacks of 3 cells, dense
    layer.
    """
    total, cin = _layer(3, 3, STEM), STEM
    for stack in range(STACKS):
        cout = STEM << stack
        for _ in range(MODULES):
            total, cin = total + _module(edges, names, cin, cout), cout
    return total + cin * CLASSES + CLASSES


def _module(edges: Sequence[Sequence[int]], names: Sequence[str], cin: int, cout: int) -> int:
    """Parameters of one cell between cin and cout channels."""
    last = len(edges) - 1
    width = channels(edges, cout)
    total = _layer(1, cin, cout) if edges[0][last] else 0
    for v in range(1, last):
        total += _layer(1, cin, width[v]) if edges[0][v] else 0
        total += _layer(KERNEL[names[v]], width[v], width[v]) if names[v] in KERNEL else 0
    return total


def channels(edges: Sequence[Sequence[int]], cout: int) -> list[int]:
    """The channels of each vertex (V,) of a cell with cout of them: the output's share, else the
    largest of the successors.
    """
    last = len(edges) - 1
    sharing = [v for v in range(1, last) if edges[v][last]]
    width = [0] * last + [cout]
    for place, v in enumerate(sharing):
        width[v] = cout // len(sharing) + (place < cout % len(sharing))
    for v in reversed(range(1, last)):
        if v not in sharing:
            width[v] = max(width[y] for y in range(v + 1, last) if edges[v][y])
    return width


def _layer(k: int, a: int, b: int) -> int:
    """Parameters of a k x k convolution from a to b channels with batch normalisation."""
    return k * k * a * b + 2 * b
