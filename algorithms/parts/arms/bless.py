"""BLESS: bottom-up leverage-score sampling (rudi2018bless; its rejection-sampling form, step by
step as in the authors' code).

Ridge leverage scores at a large regularisation are nearly uniform and need few points to be known;
each round lowers the regularisation and takes the dictionary of the round before to estimate the
scores of a few preselected points.

Paper -> here:  lambda_h -> ridge,  J_h -> dictionary,  A_h -> p (weights),  q -> qbar

As in the code, H = ceil(ln n) regularisations from n to lambda leave H - 1 rounds, since the first
dictionary belongs to n; the first pull is always in that dictionary; and a member weighs with the
probability with which it was kept once it was preselected.
"""

from __future__ import annotations

from math import ceil, log

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from algorithms.api import Array, Indices
from algorithms.parts.arms.columns import GaussianTable
from algorithms.parts.numerics.linalg import safe_cholesky


def bless(
    kernel: GaussianTable, arms: Indices, lam: float, qbar: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw which of n pulls (arms (n,), repeats allowed) make a dictionary for the regularisation
    `lam`: bool (n,).

    Each enters with probability min(qbar tau, 1), tau its approximate ridge leverage score: as
    `lam`-scaled variance. Fewer than three pulls leave no round: the first of them enters for sure,
    another one with min(qbar / n, 1).
    """
    n = len(arms)
    p = np.full(n, min(qbar * kernel.variance / n, 1.0))
    included = rng.random(n) < p
    included[0] = True  # a dictionary needs somebody
    for ridge in np.geomspace(n, lam, max(ceil(log(n)), 1))[1:]:
        # no score is larger
        most = np.minimum(qbar * kernel.variance / (kernel.variance + ridge), 1.0)
        candidates = np.flatnonzero(rng.random(n) < most)
        score = leverage(kernel, arms[included], p[included], arms[candidates], ridge)
        accepted = np.minimum(qbar * score, most) / most
        kept = rng.random(len(candidates)) < accepted
        if kept.any():  # a round that accepts nobody keeps the dictionary of the round before
            included, p = np.zeros(n, dtype=bool), np.zeros(n)
            included[candidates[kept]] = True
            p[candidates[kept]] = accepted[kept]
    return included


def leverage(
    kernel: GaussianTable, dictionary: Indices, p: Array, arms: Indices, ridge: float
) -> Array:
    """Approximate ridge leverage scores of some arms, (len(arms),): eq. (3), at most 1.

    `p` (m,) are the weights of the dictionary's members. With the whole probability with which each
    entered, sums over members, each divided by its weight, would be right on average.
    """
    k = kernel.among(dictionary, arms)  # (m, arms)
    L = safe_cholesky(kernel.among(dictionary, dictionary) + ridge * np.diag(p))
    explained = np.einsum("ij,ij->j", k, cho_solve((L, True), k))
    return np.clip((kernel.variance - explained) / ridge, 0.0, 1.0)
