"""Functions whose norm in the reproducing kernel Hilbert space is known: what the regret bounds of
calandriello2019bkb (Thm. 2) and calandriello2020bbkb (Thm. 2) assume.

f = sum_i alpha_i k(c_i, .) over a few arms c_i has the norm sqrt(alpha' K alpha), so that alpha can
be scaled to any norm. On a finite set of arms the optimum is known, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Arms, Array, Observation
from problems.api import Evaluation, Problem


def sphere(
    instance: np.random.Generator,
    *,
    arms: int,
    d: int,
    bandwidth: float,
    centres: int,
    norm: float,
    noise: float,
) -> Problem:
    """Arms uniform on the unit sphere of R^d (d = 2: a ring); f has exactly this `norm` under the
    Gaussian kernel of this `bandwidth`, with k(x, x) = 1, and is seen with noise N(0, noise^2).

    The weights of the `centres` are normal and then centred, since a constant makes no regret but
    takes most of the norm under a wide kernel. No arm of a sphere lies further out than another, so
    that exploration pulls ever new arms, each a few times: a dictionary then need not hold them
    all, however large q-bar is. `noise`, `norm` and `bandwidth` are revealed. Raises ValueError
    where the centres cannot be told apart.
    """
    if d < 2:
        raise ValueError(f"expected d >= 2, got {d}: correct it in papers/*.yaml")
    if not 2 <= centres <= arms:
        raise ValueError(
            f"expected 2 <= centres <= arms, got {centres} centres and {arms} arms: correct it in"
            " papers/*.yaml"
        )
    if not (bandwidth > 0 and norm > 0 and noise >= 0):
        found = f"bandwidth = {bandwidth}, norm = {norm} and noise = {noise}"
        raise ValueError(
            f"expected bandwidth > 0, norm > 0 and noise >= 0, got {found}: correct it in"
            " papers/*.yaml"
        )
    points = instance.standard_normal((arms, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)  # (A, d)
    chosen = instance.choice(arms, size=centres, replace=False)
    weights = instance.standard_normal(centres)
    f = combination(points, chosen, weights - weights.mean(), bandwidth=bandwidth, norm=norm)
    best = int(np.argmax(f))

    def evaluate(query: NDArray[np.int64], rng: np.random.Generator) -> Evaluation:
        true = f[query]  # (q,)
        seen = true + noise * rng.standard_normal(len(query))
        return Evaluation(Observation.of(seen), Observation.of(true), np.zeros(len(query)))

    return Problem(
        domain=Arms(points),
        evaluate=evaluate,
        best=float(f[best]),
        best_at=np.array([best]),
        reveals={"noise": noise, "norm": norm, "bandwidth": bandwidth},
    )


def combination(
    points: Array, centres: NDArray[np.int64], weights: Array, *, bandwidth: float, norm: float
) -> Array:
    """Values (A,) at `points` (A, d) of the combination of kernels at some of them, scaled to
    `norm`.

    Raises ValueError where the weights give a function that is zero but for rounding.
    """
    K = kernel(points, points[centres], bandwidth)  # (A, m)
    squared = float(weights @ K[centres] @ weights)
    if not squared > 1e-10 * float(weights @ weights):
        raise ValueError(
            f"expected centres that the kernel tells apart, got a squared norm of {squared:.3g}:"
            " choose a smaller bandwidth or other centres in papers/*.yaml"
        )
    values: Array = K @ weights * (norm / np.sqrt(squared))
    return values


def kernel(left: Array, right: Array, bandwidth: float) -> Array:
    """k(x, x') = exp(-|x - x'|^2 / (2 bandwidth^2)) between points (n, d) and (m, d): (n, m)."""
    squared = ((left[:, None] - right[None]) ** 2).sum(axis=-1)  # (n, m)
    values: Array = np.exp(-squared / (2.0 * bandwidth**2))
    return values
