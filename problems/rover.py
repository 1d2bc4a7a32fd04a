"""A rover's trajectory over a rough terrain, bardou2024dumbo, App. I.3, as made by wang2018ebo.

30 points of the plane, x_1, y_1, x_2, y_2, ..., become a curve: a cubic B-spline in their chord
length, at 1000 equal steps of its parameter. Over the curve a density is integrated that is 0.05
everywhere and 20 more inside any of 113 square obstacles and outside of the unit square. To this
cost c come 10 for every unit, in the L1 norm, by which the trajectory misses start and goal, and y
= -(c + misses). Lengths are in sides of the unit square.

The spline is less free than it looks: with FITPACK's default smoothing of 30 - sqrt(60) = 22.25 the
fit always stops at one cubic polynomial, the least-squares one, because the squared distances of 30
points of the domain from their mean sum to at most 30 * 2 * 0.6^2 = 21.6. REFERENCE CODE: every
call first moves all coordinates by Gaussian noise of 1e-4, and 5 is added to y.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, splprep

from algorithms.api import Array, Box, Observation
from problems.api import Display, Evaluation, Problem

POINTS, STEPS, DEGREE = 30, 1000, 3  # control points, points of the curve, of the spline
START, GOAL = (0.05, 0.05), (0.95, 0.95)
MISS = 10.0  # for every unit between trajectory and start or goal
GROUND, OBSTACLE = 0.05, 20.0  # per unit of length: everywhere, and what an obstacle adds
HALF_WIDTH = 0.025  # of an obstacle
OBSTACLES = (  # their centres
    (0.43143755, 0.20876147), (0.38485367, 0.39183579), (0.02985961, 0.22328303), (0.7803707,
    0.3447003),
    (0.93685657, 0.56297285), (0.04194252, 0.23598362), (0.28049582, 0.40984475), (0.6756053,
    0.70939481),
    (0.01926493, 0.86972335), (0.5993437, 0.63347932), (0.57807619, 0.40180792), (0.56824287,
    0.75486851),
    (0.35403502, 0.38591056), (0.72492026, 0.59969313), (0.27618746, 0.64322757), (0.54029566,
    0.25492943),
    (0.30903526, 0.60166842), (0.2913432, 0.29636879), (0.78512072, 0.62340245), (0.29592116,
    0.08400595),
    (0.87548394, 0.04877622), (0.21714791, 0.9607346), (0.92624074, 0.53441687), (0.53639253,
    0.45127928),
    (0.99892031, 0.79537837), (0.84621631, 0.41891986), (0.39432819, 0.06768617), (0.92365693,
    0.72217512),
    (0.95520914, 0.73956575), (0.820383, 0.53880139), (0.22378049, 0.9971974), (0.34023233,
    0.91014706),
    (0.64960636, 0.35661133), (0.29976464, 0.33578931), (0.43202238, 0.11563227), (0.66764947,
    0.52086962),
    (0.45431078, 0.94582745), (0.12819915, 0.33555344), (0.19287232, 0.8112075), (0.61214791,
    0.71940626),
    (0.4522542, 0.47352186), (0.95623345, 0.74174186), (0.17340293, 0.89136853), (0.04600255,
    0.53040724),
    (0.42493468, 0.41006649), (0.37631485, 0.88033853), (0.66951947, 0.29905739), (0.4151516,
    0.77308712),
    (0.55762991, 0.26400156), (0.6280609, 0.53201974), (0.92727447, 0.61054975), (0.93206587,
    0.42107549),
    (0.63885574, 0.37540613), (0.15303425, 0.57377797), (0.8208471, 0.16566631), (0.14889043,
    0.35157346),
    (0.71724622, 0.57110725), (0.32866327, 0.8929578), (0.74435871, 0.47464421), (0.9252026,
    0.21034329),
    (0.57039306, 0.54356078), (0.56611551, 0.02531317), (0.84830056, 0.01180542), (0.51282028,
    0.73916524),
    (0.58795481, 0.46527371), (0.83259048, 0.98598188), (0.00242488, 0.83734691), (0.72505789,
    0.04846931),
    (0.07312971, 0.30147979), (0.55250344, 0.23891255), (0.51161315, 0.46466442), (0.802125,
    0.93440495),
    (0.9157825, 0.32441602), (0.44927665, 0.53380074), (0.67708372, 0.67527231), (0.81868924,
    0.88356194),
    (0.48228814, 0.88668497), (0.39805433, 0.99341196), (0.86671752, 0.79016975), (0.01115417,
    0.6924913),
    (0.34272199, 0.89543756), (0.40721675, 0.86164495), (0.26317679, 0.37334193), (0.74446787,
    0.84782643),
    (0.55560143, 0.46405104), (0.73567977, 0.12776233), (0.28080322, 0.26036748), (0.17507419,
    0.95540673),
    (0.54233783, 0.1196808), (0.76670967, 0.88396285), (0.61297539, 0.79057776), (0.9344029,
    0.86252764),
    (0.48746839, 0.74942784), (0.18657635, 0.58127321), (0.10377802, 0.71463978), (0.7771771,
    0.01463505),
    (0.7635042, 0.45498358), (0.83345861, 0.34749363), (0.38273809, 0.51890558), (0.33887574,
    0.82842507),
    (0.02073685, 0.41776737), (0.68754547, 0.96430979), (0.4704215, 0.92717361), (0.72666234,
    0.63241306),
    (0.48494401, 0.72003268), (0.52601215, 0.81641253), (0.71426732, 0.47077212), (0.00258906,
    0.30377501),
    (0.35495269, 0.98585155), (0.65507544, 0.03458909), (0.10550588, 0.62032937), (0.60259145,
    0.87110846),
    (0.04959159, 0.535785),
)  # fmt: skip
BOUNDS: Mapping[str, tuple[float, float]] = {  # of every coordinate
    "unit": (0.0, 1.0),  # the paper
    "extended": (-0.1, 1.1),  # wang2018ebo
}
ENDS = ("control-points", "curve")  # what must meet start and goal: in the paper; in wang2018ebo
SMOOTHING: Mapping[
    str, float
] = {  # greatest sum of squared distances between spline and control points
    "default": POINTS - np.sqrt(2 * POINTS),  # FITPACK's for 30 points
    "none": 0.0,  # through all of them
}
COINCIDENT = 1e-9  # of the length of the path: neighbours that are closer are one point
GRID = np.linspace(0, 1, STEPS)  # of the parameter


def trajectory_planning(
    instance: np.random.Generator, *, domain: str, ends: str, smoothing: str, noise: float
) -> Problem:
    """The cheapest trajectory of 30 control points (d = 60). `instance` is not used.

    `domain` is unit or extended: where control points may lie. `ends` is control-points (eq. (70)
    to the letter) or curve: what must meet start and goal. `smoothing` is default or none (through
    all control points). The optimum is unknown.
    """
    for option, value, choices in (
        ("domain", domain, BOUNDS),
        ("ends", ends, ENDS),
        ("smoothing", smoothing, SMOOTHING),
    ):
        _one_of(option, value, choices)
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        cost, misses = costs(query, domain=domain, ends=ends, smoothing=smoothing)
        true = -(cost + misses)  # (q,)
        seen = true + noise * rng.standard_normal(len(query))
        return Evaluation(Observation.of(seen), Observation.of(true), np.zeros(len(query)))

    return Problem(
        domain=Box(2 * POINTS),
        evaluate=evaluate,
        best_kind="best-seen",
        display=Display("negative reward", sign=-1),
    )


def costs(query: Array, *, domain: str, ends: str, smoothing: str) -> tuple[Array, Array]:
    """c (q,) and the misses (q,) of queries (q, 60): what is integrated, and what start and goal
    add.
    """
    points = control_points(query, domain=domain)
    curves = np.array([_curve(one, SMOOTHING[smoothing]) for one in points]).reshape(-1, STEPS, 2)
    ended = (points if ends == "control-points" else curves)[:, [0, -1]]  # (q, 2, 2)
    return integrated(curves), MISS * np.abs(ended - [START, GOAL]).sum(axis=(1, 2))  # eq. (70)


def control_points(query: Array, *, domain: str) -> Array:
    """The control points (..., 30, 2) of queries (..., 60)."""
    low, high = BOUNDS[domain]
    return (low + (high - low) * query).reshape(*query.shape[:-1], POINTS, 2)


def trajectory(query: Array, *, domain: str, smoothing: str) -> Array:
    """The curve (1000, 2) of one query (60,), from its start to its end."""
    return _curve(control_points(query, domain=domain), SMOOTHING[smoothing])


def _curve(points: Array, smoothing: float) -> Array:
    """The spline (1000, 2) of control points (30, 2).

    A point that repeats the one before it adds to its weight: the limit of the least-squares cubic
    as the two approach each other, where FITPACK itself gives up. If fewer than four points remain,
    the degree is one less than their number; if all coincide, the rover stays where it is.
    """
    lengths = np.hypot(*np.diff(points, axis=0).T)  # (29,)
    if lengths.sum() == 0:
        return np.tile(points[0], (STEPS, 1))
    u = np.concatenate([[0.0], np.cumsum(lengths)])  # (30,)
    kept = np.flatnonzero(np.diff(u, prepend=-np.inf) > COINCIDENT * u[-1])
    u, weights = u[kept] / u[kept[-1]], np.sqrt(np.diff(kept, append=len(points)))
    degree = min(DEGREE, len(kept) - 1)
    fitted, _ = splprep(points[kept].T, w=weights, u=u, k=degree, s=smoothing)
    knots, coefficients, _ = cast(tuple[Array, list[Array], int], fitted)
    curve: Array = BSpline(knots, np.stack(coefficients, axis=1), degree)(GRID)
    return curve


def integrated(curves: Array) -> Array:
    """c (q,): the density along curves (q, n, 2) by the trapezoidal rule, whose nodes are the
    points of the curve.
    """
    density = GROUND + OBSTACLE * blocked(curves)  # (q, n)
    lengths = np.linalg.norm(np.diff(curves, axis=1), axis=2)  # (q, n-1)
    total: Array = (lengths * (density[:, 1:] + density[:, :-1]) / 2).sum(axis=1)
    return total


def blocked(points: Array) -> NDArray[np.bool_]:
    """Whether points (..., 2) lie in an obstacle, low <= x < high in both coordinates, or outside
    of the unit square.
    """
    column, row = (
        np.searchsorted(edges, points[..., i], side="right") for i, edges in enumerate(EDGES)
    )
    return BLOCKED[column, row]


def _rasterise() -> tuple[tuple[Array, Array], NDArray[np.bool_]]:
    """The edges of all obstacles in both coordinates, and whether a cell between neighbouring edges
    is blocked.

    Cell i lies below edge i and not below edge i - 1, so that a lookup is exact: what is on an edge
    belongs to the cell above.
    """
    centres = np.array(OBSTACLES)
    low, high = centres - HALF_WIDTH, centres + HALF_WIDTH  # (113, 2)
    edges = (
        np.unique(np.concatenate([[0.0, 1.0], low[:, 0], high[:, 0]])),
        np.unique(np.concatenate([[0.0, 1.0], low[:, 1], high[:, 1]])),
    )
    cells = np.ones((len(edges[0]) + 1, len(edges[1]) + 1), dtype=np.bool_)

    def between(least: Array, most: Array) -> tuple[slice, slice]:
        column, row = (
            slice(*np.searchsorted(edges[i], [least[i], most[i]], side="right")) for i in (0, 1)
        )
        return column, row

    cells[between(np.zeros(2), np.ones(2))] = False
    for corners in zip(low, high, strict=True):
        cells[between(*corners)] = True
    return edges, cells


EDGES, BLOCKED = _rasterise()


def _one_of(option: str, value: str, choices: Collection[str]) -> None:
    if value not in choices:
        raise ValueError(
            f"expected {option} to be {' or '.join(choices)}, got {value!r}: correct it in"
            " papers/*.yaml"
        )
