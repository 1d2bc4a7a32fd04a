"""BBKB's ratio bounds on random small instances (calandriello2020bbkb, Lemmas 1 and 3, App. B.3).

Each bounds sigma~^2_fb(x)/sigma~^2_t(x), the fall of a sketched variance within a batch, for every
arm x:
    Lemma 1      1 + sum_s sigma~^2_fb(x_s)
    Lemma 3      1 + sum_s k~_fb(x, x_s)^2 / sigma~^2_fb(x)
                 as printed: k~ with the residual of the sketch
    App. B.3     1 + sum_s (z(x)' V^-1 z(x_s))^2 / sigma~^2_fb(x)
                 as proved: without it
A column `*_worst` is the largest ratio over its bound among the arms of an instance: above 1 the
bound is violated.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from algorithms.api import Array
from algorithms.parts.arms import GaussianTable, Pulls, SketchedPosterior
from algorithms.parts.numerics.linalg import safe_cholesky
from problems.api import Problem
from workflow.studies.paired import Columns, tidy
from workflow.trace.seeds import rng

ROUNDING = 1e-9  # a ratio this close above its bound is rounding, no violation


def run(
    seed: int,
    problem: Problem,
    *,
    instances: int,
    arms: list[int],
    dimensions: list[int],
    batch: list[int],
    bandwidth: list[float],
    lam: list[float],
) -> Columns:
    """Two rows an instance: an incomplete dictionary (a random part of the pulled arms) and the
    full one (all arms).

    `arms`, `dimensions` and `batch` are inclusive ranges of integers, `bandwidth` and `lam` ranges
    drawn evenly in the logarithm. `problem` is not used: the statements are deterministic and hold
    for any table.
    """
    rows: list[dict[str, float]] = []
    for i in range(instances):
        draw = rng(seed, "study", "lemma3", i)
        size, d, q = (int(draw.integers(low, high + 1)) for low, high in (arms, dimensions, batch))
        kernel = GaussianTable(draw.standard_normal((size, d)), _log_uniform(draw, bandwidth))
        scale = _log_uniform(draw, lam)
        pulls = Pulls()
        pulls.add(np.arange(size), np.zeros(size))
        pulls.n = draw.poisson(1.0, size).astype(np.float64)  # 0: in no incomplete dictionary
        chosen = draw.integers(size, size=q)
        partial = (pulls.n > 0) & (draw.random(size) < draw.random())
        for full, included in enumerate((partial, np.ones(size, dtype=bool))):
            fb = SketchedPosterior.fit(kernel, scale, pulls, included)
            measured = _ratios_over_bounds(fb, chosen)
            violated = {
                name.replace("worst", "violated"): int(worst > 1 + ROUNDING)
                for name, worst in measured.items()
            }
            rows.append(
                {
                    "instance": i,
                    "full": full,
                    "arms": size,
                    "dictionary": int(included.sum()),
                    "lam": scale,
                    "bandwidth": kernel.bandwidth,
                    "batch": q,
                    **measured,
                    **violated,
                }
            )
    return tidy(rows)


def _ratios_over_bounds(fb: SketchedPosterior, chosen: np.ndarray) -> dict[str, float]:
    """The worst ratio over each bound after a batch of arms `chosen` (q,) on the frozen
    dictionary.
    """
    variance = fb.variance  # (A,)
    ratio = variance / after(fb, chosen)
    printed = np.array([fb.covariance(arm) for arm in chosen])  # (q, A)
    proved = np.array([fb.sketched_covariance(arm) for arm in chosen])
    return {
        "lemma1_worst": float((ratio / (1 + variance[chosen].sum())).max()),
        "printed_worst": float((ratio / (1 + (printed**2).sum(axis=0) / variance)).max()),
        "appendix_worst": float((ratio / (1 + (proved**2).sum(axis=0) / variance)).max()),
    }


def after(fb: SketchedPosterior, chosen: np.ndarray) -> Array:
    """Sketched variances (A,) after pulls of some arms (q,) on the frozen dictionary: eq. (3) with
    the same embedding.

    With b(x) = phi(x)/sqrt(g + lambda) and the rows B (q, r) of the batch, |b|^2 becomes b' (I +
    B'B)^-1 b.
    """
    if len(fb.dictionary) == 0:
        return fb.variance
    b = fb.features(np.arange(len(fb.variance))) / np.sqrt(fb.g + fb.lam)  # (A, r)
    B = b[chosen]
    root = solve_triangular(safe_cholesky(np.eye(b.shape[1]) + B.T @ B), b.T, lower=True)  # (r, A)
    kept: Array = fb.variance - (b * b).sum(axis=1) + (root * root).sum(axis=0)
    return kept


def _log_uniform(draw: np.random.Generator, bounds: list[float]) -> float:
    low, high = np.log(bounds)
    return float(np.exp(draw.uniform(low, high)))
