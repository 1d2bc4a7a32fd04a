"""Two structures, to be made as light as strength and stiffness allow: jing2026lcbo, App. C.1 and
C.2.

That paper minimises; here y = -weight/100 and y = -volume/100 are maximised, in the units in which
the authors' public code adds its noise. Many limits become two constraints by the LogSumExp of
stress/limit - 1 and displacement/limit - 1, which exceeds their maximum by up to ln(k)/alpha for k
limits. A query runs through the bounds of every variable in proportion. Lengths are in inches,
forces in pounds, stresses in psi.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from algorithms.api import Array, Box
from problems.api import Display, Evaluation, Problem, constrained

Vector = tuple[float, float, float]
Forces = Mapping[int, Vector]  # on nodes, lb

# The 25-bar space truss: nodes in in, numbered as everywhere in the literature.
NODES: Mapping[int, Vector] = {
    1: (-37.5, 0.0, 200.0),
    2: (37.5, 0.0, 200.0),
    3: (-37.5, 37.5, 100.0),
    4: (37.5, 37.5, 100.0),
    5: (37.5, -37.5, 100.0),
    6: (-37.5, -37.5, 100.0),
    7: (-100.0, 100.0, 0.0),
    8: (100.0, 100.0, 0.0),
    9: (100.0, -100.0, 0.0),
    10: (-100.0, -100.0, 0.0),
}
SUPPORTS = (7, 8, 9, 10)
BARS = (  # in the eight groups of the classical problem; here every bar has an area of its own
    (1, 2),
    (1, 4), (2, 3), (1, 5), (2, 6),
    (2, 4), (2, 5), (1, 3), (1, 6),
    (3, 6), (4, 5),
    (3, 4), (5, 6),
    (3, 10), (6, 7), (4, 9), (5, 8),
    (4, 7), (3, 8), (5, 10), (6, 9),
    (6, 10), (3, 7), (4, 8), (5, 9),
)  # fmt: skip
MODULUS, DENSITY = 1e7, 0.1  # psi, lb/in^3
STRENGTH, DEFLECTION = 40_000.0, 0.35  # limits of every bar, psi, and of every free coordinate, in
LOADS: Mapping[str, Forces] = {  # "Case 1" is the name of three of them in the literature
    "official": {1: (1e3, 1e4, -5e3)},  # the authors' public code
    "S": {
        1: (1e3, -1e4, -1e4),
        2: (0.0, -1e4, -1e4),
        3: (500.0, 0.0, 0.0),
        6: (600.0, 0.0, 0.0),
    },  # the discrete problem
    "M1": {
        1: (0.0, 2e4, -5e3),
        2: (0.0, -2e4, -5e3),
    },  # the continuous problem with two loads: torsion
    "M2": {
        1: (1e3, 1e4, -5e3),
        2: (0.0, 1e4, -5e3),
        3: (500.0, 0.0, 0.0),
        6: (500.0, 0.0, 0.0),
    },  # the same: bending
}
AREAS = (0.01, 5.0)  # in^2
# The best designs known, by load and alpha: where SLSQP ended from most of ten uniform designs,
# rounded up to be feasible.
LIGHTEST: Mapping[tuple[str, float], tuple[float, ...]] = {
    ("official", 20.0): (
        0.01, 0.18481, 0.01, 0.01, 0.01, 0.01, 0.01, 3.94304, 3.42451, 0.01, 0.01, 0.01, 0.01,
        0.83481, 0.7263, 0.02645, 0.01, 0.01, 2.10458, 0.01, 1.813, 2.40948, 2.75425, 0.17728, 0.01,
    ),
    ("official", 10.0): (
        0.01, 0.21876, 0.01, 0.01, 0.01, 0.01, 0.01, 3.93765, 3.43189, 0.01, 0.01, 0.0113, 0.01,
        0.83472, 0.72852, 0.03646, 0.01, 0.01, 2.10345, 0.01, 1.81812, 2.41496, 2.75099, 0.21402,
        0.01,
    ),
    ("S", 20.0): (
        0.04173, 0.01, 0.09034, 0.04089, 0.01, 2.76016, 4.29655, 2.91173, 4.24285, 0.01, 0.01,
        1.60178, 2.50271,
        0.64607, 0.90053, 0.5843, 0.92531, 0.01, 0.01, 0.01, 0.03577, 4.61042, 3.32677, 2.99848,
        4.76428,
    ),
    ("M1", 20.0): (
        0.05983, 1.94757, 2.22323, 2.22323, 1.94757, 2.49334, 3.15425, 3.15425, 2.49334, 0.21024,
        0.21024, 0.01, 0.01,
        0.49067, 0.01, 0.01, 0.49067, 1.54, 1.80337, 1.80337, 1.54, 0.01, 0.01, 0.01, 0.01,
    ),
    ("M2", 20.0): (
        0.02291, 0.06564, 0.01, 0.01, 0.06029, 4.05998, 3.28111, 3.94659, 3.36008, 0.01, 0.01,
        2.35809, 1.88044,
        0.83736, 0.72898, 0.88354, 0.69456, 0.01, 0.01, 0.02877, 0.01, 3.75694, 4.31009, 4.55187,
        3.55376,
    ),
}  # fmt: skip

# The stepped cantilever: 25 segments from the clamp to the tip; x is w_1, h_1, w_2, h_2, ...
SEGMENTS, SPAN, TIP_LOAD = 25, 100.0, 500.0  # -, in, lb
# psi, psi, in, -
BEAM_MODULUS, BEAM_STRENGTH, TIP_DEFLECTION, BEAM_ALPHA = 2.9e7, 40_000.0, 2.5, 20.0
SIDES = (0.5, 5.0)  # in
# The optimal heights, found by SLSQP and rounded up to be feasible; the optimal widths are all
# least.
HEIGHTS: Mapping[str, tuple[float, ...]] = {
    "correct": (
        4.748365, 4.650465, 4.55046, 4.448209, 4.343551, 4.236311, 4.126285, 4.013245, 3.89693,
        3.777037, 3.653214, 3.525048,
        3.392048, 3.253621, 3.109046, 2.957424, 2.797612, 2.628126, 2.446969, 2.251349, 2.037155,
        1.797891, 1.522214, 1.187704,
        0.776748,
    ),
    "official-code": (
        4.184507, 4.10221, 4.018135, 3.932164, 3.844165, 3.75399, 3.661471, 3.56642, 3.46862,
        3.367823, 3.263739, 3.156031,
        3.0443, 2.928066, 2.806749, 2.679629, 2.545804, 2.404107, 2.252992, 2.090333, 1.91306,
        1.716451, 1.492533, 1.2257,
        0.875418,
    ),
}  # fmt: skip
# REFERENCE CODE: the sign of the sum is wrong
DISPLACEMENTS: Mapping[str, float] = {"correct": 1.0, "official-code": -1.0}


@dataclass(frozen=True, eq=False)
class Truss:
    """A pin-jointed space truss under one load, assembled once for all cross-sections: b bars, f
    free coordinates.
    """

    lengths: Array  # (b,) in
    elongation: Array  # (b, f) of each bar per unit displacement
    stiffness: Array  # (b, f, f) lb/in per in^2 of each bar
    load: Array  # (f,) lb
    modulus: float  # psi

    def respond(self, areas: Array) -> tuple[Array, Array]:
        """Stresses (n, b) in psi, tension positive, and displacements (n, f) in in at areas (n, b)
        in in^2.

        Raises ValueError at areas that are not positive, without which the stiffness may be
        singular.
        """
        if not (areas > 0).all():
            raise ValueError(
                f"expected positive areas, got {areas[~(areas > 0)][0]} in^2: raise the lower bound"
            )
        K = np.tensordot(areas, self.stiffness, axes=1)  # (n, f, f)
        u = np.asarray(np.linalg.solve(K, self.load[:, None])[..., 0], dtype=np.float64)  # (n, f)
        return self.modulus * (u @ self.elongation.T) / self.lengths, u


def assemble(
    nodes: Mapping[int, Vector],
    bars: Collection[tuple[int, int]],
    supports: Collection[int],
    forces: Forces,
    modulus: float,
) -> Truss:
    """The truss of these nodes (in), bars, pinned nodes and forces (lb).

    Raises ValueError where it is a mechanism.
    """
    free = {node: 3 * i for i, node in enumerate(sorted(nodes.keys() - set(supports)))}
    elongation, lengths, load = (
        np.zeros((len(bars), 3 * len(free))),
        np.empty(len(bars)),
        np.zeros(3 * len(free)),
    )
    for bar, (a, b) in enumerate(bars):
        along = np.subtract(nodes[b], nodes[a])  # (3,)
        lengths[bar] = np.linalg.norm(along)
        for node, sign in ((a, -1), (b, 1)):
            if node in free:
                elongation[bar, free[node] : free[node] + 3] = sign * along / lengths[bar]
    for node in forces.keys() & free.keys():  # a support carries its own
        load[free[node] : free[node] + 3] = forces[node]
    if (rank := np.linalg.matrix_rank(elongation)) < len(load):
        raise ValueError(
            f"expected bars that hold all {len(load)} free coordinates, got a mechanism of rank"
            f" {rank}: add bars or supports"
        )
    stiffness = modulus / lengths[:, None, None] * elongation[:, :, None] * elongation[:, None, :]
    return Truss(lengths, elongation, stiffness, load, modulus)


def smooth_maximum(values: Array, alpha: float) -> Array:
    """ln(sum_j exp(alpha v_j))/alpha of each row of `values` (n, k): above its maximum by at most
    ln(k)/alpha.
    """
    aggregated: Array = logsumexp(alpha * values, axis=1) / alpha
    return aggregated


def truss25(instance: np.random.Generator, *, load: str, alpha: float, noise: float) -> Problem:
    """The lightest 25-bar space truss (d = 25, areas in in^2) under a load of `LOADS`. `instance`
    is not used.

    g (q, 2): stress of the 25 bars, displacement of the 18 free coordinates, both in absolute
    value, aggregated with `alpha` (the paper: 20; the authors' public code: 10). Within the bounds
    no stiffness is singular. The optimum is the best known one for the pairs of load and alpha in
    `LIGHTEST`.
    """
    _one_of("load", load, LOADS)
    if not 0 < alpha < np.inf:
        raise ValueError(f"expected a finite alpha > 0, got {alpha}: correct it in papers/*.yaml")
    truss = assemble(NODES, BARS, SUPPORTS, LOADS[load], MODULUS)

    def values(areas: Array) -> Array:
        stresses, displacements = truss.respond(areas)
        weight = DENSITY * (areas @ truss.lengths)  # (q,) lb
        strength = smooth_maximum(np.abs(stresses) / STRENGTH - 1, alpha)
        deflection = smooth_maximum(np.abs(displacements) / DEFLECTION - 1, alpha)
        return np.column_stack([-weight / 100, strength, deflection])

    best = np.array(LIGHTEST.get((load, float(alpha)), ()))  # (25,) or (0,)
    return _problem(
        values, len(BARS), AREAS, best, "best-known", noise, Display("weight", "100 lb", -1)
    )


def cantilever(instance: np.random.Generator, *, displacement: str, noise: float) -> Problem:
    """The smallest stepped cantilever (d = 50, widths and heights in in) for a load at its tip.
    `instance` is not used.

    g (q, 2): bending stress of the 25 segments at their ends towards the clamp, aggregated;
    deflection of the tip. `displacement` is correct, or official-code: there the deflection comes
    out negative, so that it never binds. In the logarithms of the variables this is a convex
    problem: its optimum is exact to the digits of `HEIGHTS`.
    """
    _one_of("displacement", displacement, DISPLACEMENTS)
    sign = DISPLACEMENTS[displacement]

    def values(sides: Array) -> Array:
        stresses, tip = bend(sides)
        volume = SPAN / SEGMENTS * (sides[:, ::2] * sides[:, 1::2]).sum(axis=1)  # (q,) in^3
        strength = smooth_maximum(stresses / BEAM_STRENGTH - 1, BEAM_ALPHA)
        return np.column_stack([-volume / 100, strength, sign * tip / TIP_DEFLECTION - 1])

    heights = HEIGHTS.get(displacement, ())
    # (50,): all widths are least
    best = np.array([side for height in heights for side in (SIDES[0], height)])
    return _problem(
        values, 2 * SEGMENTS, SIDES, best, "exact", noise, Display("volume", "100 in³", -1)
    )


def bend(sides: Array) -> tuple[Array, Array]:
    """Stresses (n, 25) in psi at the ends towards the clamp and tip deflections (n,) in in of beams
    with sides (n, 50).
    """
    w, h = sides[:, ::2], sides[:, 1::2]  # (n, 25)
    inertia = w * h**3 / 12
    ends = np.linspace(SPAN, 0, SEGMENTS + 1)  # distances from the tip
    stresses = TIP_LOAD * ends[:-1] * (h / 2) / inertia
    # Euler-Bernoulli
    tip = (TIP_LOAD * (ends[:-1] ** 3 - ends[1:] ** 3) / (3 * BEAM_MODULUS * inertia)).sum(axis=1)
    return stresses, tip


def _one_of(option: str, value: str, choices: Collection[str]) -> None:
    if value not in choices:
        raise ValueError(
            f"expected {option} to be {' or '.join(choices)}, got {value!r}: correct it in"
            " papers/*.yaml"
        )


def _problem(
    values: Callable[[Array], Array],
    d: int,
    bounds: tuple[float, float],
    best: Array,
    kind: str,
    noise: float,
    display: Display,
) -> Problem:
    """y and g, the columns of `values` at designs (q, d) within `bounds`; `best` is the optimal
    design, empty if unknown.
    """
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )
    low, high = bounds

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        true = values(low + (high - low) * query)  # (q, 3)
        return Evaluation(
            constrained(true + noise * rng.standard_normal(true.shape)),
            constrained(true),
            np.zeros(len(query)),
        )

    known = best.size > 0
    return Problem(
        domain=Box(d),
        evaluate=evaluate,
        best=float(values(best[None])[0, 0]) if known else None,
        best_kind=kind,
        best_at=(best[None] - low) / (high - low) if known else None,
        display=display,
    )
