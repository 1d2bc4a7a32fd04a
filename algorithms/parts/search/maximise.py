"""Maximum of a function of points in the unit cube over a region: score many candidates, climb from
the best few.

The climbs advance in lockstep, one batched evaluation for all of them per round, but are otherwise
independent: each has its own quasi-Newton matrix, its own step length and its own end, as if each
had been climbed alone (scikit-optimize does that; BoTorch runs one L-BFGS over the sum of all
starts). A region is affine, so that a box, some coordinates with the others fixed and a line are
one thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algorithms.api import Array
from algorithms.parts.numerics.sampling import sobol


@dataclass(frozen=True)
class ClimbSettings:
    """How an acquisition function is maximised: the group `climb`.

    raw: Sobol candidates that are scored first (balandat2020botorch: raw_samples).
    starts: the best candidates, from which climbs begin (balandat2020botorch: num_restarts).
    steps: quasi-Newton rounds of a climb at most (balandat2020botorch: maxiter).
    """

    raw: int
    starts: int
    steps: int


# points (q, d) -> values (q,), each of its own row alone, differentiable unless it is `Sloped`
Function = Callable[[Tensor], Tensor]


@runtime_checkable
class Sloped(Protocol):
    """A function that knows its slopes."""

    def __call__(self, X: Tensor) -> Tensor:
        """Values (q,) at points X (q, d)."""

    def with_slopes(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Values (q,) at points X (q, d), and their slopes over X (q, d)."""


ARMIJO = 1e-4  # share of the predicted gain that a step must reach
FLAT = 1e-5  # a climb ends where no slope into the region is steeper ...
# ... or where a step gains a smaller share of max(|value|, 1): both as in SciPy's L-BFGS-B
LEVEL = 2.2e-9

SHORT = 1e-9  # a climb ends where a refused step was no longer than this
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Region:
    """Points origin + u axes (d,) of the cube with low <= u <= high, where axes is (p, d)."""

    low: Array
    high: Array
    origin: Array
    axes: Array

    def points(self, u: Array) -> Array:
        """The points (q, d) of coordinates u (q, p)."""
        return np.clip(self.origin + u @ self.axes, 0.0, 1.0)


def box(low: Array, high: Array) -> Region:
    """The box between two corners (d,)."""
    return Region(low, high, np.zeros(len(low)), np.eye(len(low)))


def cube(d: int) -> Region:
    """All of [0,1]^d."""
    return box(np.zeros(d), np.ones(d))


def coordinates(x: Array, free: Sequence[int]) -> Region:
    """Points that equal x (d,) outside the coordinates `free`."""
    axes = np.eye(len(x))[list(free)]
    return Region(np.zeros(len(axes)), np.ones(len(axes)), x - x @ axes.T @ axes, axes)


def line(x: Array, direction: Array) -> Region:
    """The part of x + t direction inside the unit cube, x (d,) in it."""
    moving = direction != 0
    if not moving.any():
        raise ValueError("expected a direction, got zeros")
    ends = (np.array([[0.0], [1.0]]) - x[moving]) / direction[moving]  # t at both faces
    return Region(
        ends.min(0).max(keepdims=True), ends.max(0).min(keepdims=True), x, direction[None]
    )


def maximise(
    f: Function, region: Region, rng: np.random.Generator, *, raw: int, starts: int, steps: int
) -> tuple[Array, float]:
    """The best point (d,) found and its value, from `raw` Sobol candidates."""
    u = region.low + (region.high - region.low) * sobol(rng, raw, len(region.low))
    return climb_best(f, region, u, starts=starts, steps=steps)


def climb_best(
    f: Function, region: Region, u: Array, *, starts: int, steps: int
) -> tuple[Array, float]:
    """The best point (d,) found and its value, from candidates u (k, p) of the region."""
    with torch.no_grad():
        values = f(torch.from_numpy(region.points(u))).numpy()
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) == 0:
        raise ArithmeticError(
            f"the function is finite at none of {len(u)} candidates: look at the model behind it"
        )
    best = finite[np.argsort(-values[finite], kind="stable")[:starts]]
    ends, values = climb(f, region, u[best], steps=steps)
    return region.points(ends)[np.argmax(values)], float(values.max())


def climb(f: Function, region: Region, u: Array, *, steps: int) -> tuple[Array, Array]:
    """Local maxima (s, p) and their values (s,) from starts u (s, p): projected BFGS, at most
    `steps` rounds.

    A round tries one step from every start that has not ended. A step that gains enough is taken,
    and teaches the start's matrix H (p, p), inverse curvature, what it met; one that does not is
    shortened. Coordinates that lie on a bound and would leave are not free to move.
    """
    u = u.copy()
    value, slope = _with_slope(f, region, u)  # (s,), (s, p)
    free = _free(region, u, slope)
    # (s, p, p): first steps of length 1
    H = np.eye(u.shape[1]) / np.maximum(np.linalg.norm(slope, axis=1), TINY)[:, None, None]
    length, untaught = np.ones(len(u)), np.ones(len(u), dtype=bool)
    going = _steepest(slope, free) > FLAT
    for _ in range(steps):
        i = np.flatnonzero(going)
        if len(i) == 0:
            break
        ahead = free[i] * _times(H[i], free[i] * slope[i])
        trial = np.clip(u[i] + length[i, None] * ahead, region.low, region.high)
        move = trial - u[i]
        new, steep = _with_slope(f, region, trial)
        hoped, gained = (
            np.maximum((slope[i] * move).sum(1), 0.0),
            np.nan_to_num(new - value[i], nan=-np.inf),
        )
        taken = gained >= ARMIJO * hoped
        going[i] = np.where(
            taken, gained > LEVEL * np.maximum(np.abs(new), 1.0), np.abs(move).max(1) > SHORT
        )
        short, full = i[~taken], i[taken]
        # the top of a parabola through both
        length[short] *= np.clip(hoped / (2 * (hoped - gained + TINY)), 0.1, 0.5)[~taken]
        H[full], untaught[full] = _taught(
            H[full], untaught[full], move[taken], slope[full] - steep[taken]
        )
        u[full], value[full], slope[full], length[full] = (
            trial[taken],
            new[taken],
            steep[taken],
            1.0,
        )
        free[full] = _free(region, u[full], slope[full])
        going[full] &= _steepest(slope[full], free[full]) > FLAT
    return u, value


def _with_slope(f: Function, region: Region, u: Array) -> tuple[Array, Array]:
    """Values (s,) and their gradients over coordinates u (s, p)."""
    X = torch.from_numpy(region.points(u))
    if isinstance(f, Sloped):
        values, slopes = f.with_slopes(X)
        return values.numpy(), slopes.numpy() @ region.axes.T
    X.requires_grad_()
    values = f(X)
    (slopes,) = torch.autograd.grad(values, X, torch.ones_like(values))
    return values.detach().numpy(), slopes.numpy() @ region.axes.T


def _free(region: Region, u: Array, slope: Array) -> NDArray[np.bool_]:
    """All coordinates but those on a bound that the slope points out of, (s, p)."""
    return ((u > region.low) | (slope > 0)) & ((u < region.high) | (slope < 0))


def _steepest(slope: Array, free: NDArray[np.bool_]) -> Array:
    """The largest slope (s,) along a free coordinate."""
    return (free * np.abs(slope)).max(1)


def _times(H: Array, vectors: Array) -> Array:
    return (H @ vectors[:, :, None])[:, :, 0]


def _taught(
    H: Array, untaught: NDArray[np.bool_], move: Array, bend: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """The BFGS update of H (s, p, p) after steps `move` (s, p) along which the slope fell by `bend`
    (s, p).

    Where the slope rose instead, the function is convex there and H keeps what it knew.
    """
    curvature, norm = (move * bend).sum(1), (bend * bend).sum(1)
    concave = curvature > 1e-10 * np.sqrt((move * move).sum(1) * norm)
    c = np.where(concave, curvature, 1.0)
    first = (untaught & concave)[:, None, None]
    H = np.where(first, np.eye(H.shape[1]) * (c / np.maximum(norm, TINY))[:, None, None], H)
    Hb = _times(H, bend)
    cross = Hb[:, :, None] * move[:, None, :]
    scale = (c + (bend * Hb).sum(1)) / c**2
    new = (
        H
        + scale[:, None, None] * (move[:, :, None] * move[:, None, :])
        - (cross + cross.transpose(0, 2, 1)) / c[:, None, None]
    )
    return np.where(concave[:, None, None], new, H), untaught & ~concave
