"""Which bandwidth of the Gaussian kernel explains best what was told: the evidence over a grid
(rasmussen2006gaussian, eq. 5.8).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from algorithms.api import Array

TIE = 1e-6  # of log evidence: less is rounding, as between bandwidths far below all distances
MOST = 500  # rows that count, evenly chosen among more: a grid of them takes a second


def by_evidence(X: Array, y: Array, bandwidths: Sequence[float], noises: Sequence[float]) -> float:
    """The bandwidth, in units of X (n, d), under which y (n,) has the largest evidence.

    noises: ratios of the noise's variance to the signal's; the best one for each bandwidth counts.
    Mean and variance of the signal are those of greatest likelihood. The first of equal ones wins,
    as when all values are equal or there are fewer than three. Raises ValueError without a
    bandwidth or a noise above 0.
    """
    if not (len(bandwidths) and len(noises) and min(*bandwidths, *noises) > 0):
        raise ValueError(
            f"expected bandwidths and noises above 0, got {list(bandwidths)} and {list(noises)}"
        )
    rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), MOST)).astype(int))
    X, y = X[rows], y[rows]
    if len(y) < 3 or np.ptp(y) == 0:
        return float(bandwidths[0])
    squares = (X**2).sum(1)
    square = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0)
    evidences = [profiled(square, y, bandwidth, noises).max() for bandwidth in bandwidths]
    return float(bandwidths[int(np.argmax(evidences >= np.max(evidences) - TIE))])


def profiled(square: Array, y: Array, bandwidth: float, noises: Sequence[float]) -> Array:
    """Log evidence of y (n,) for each noise, up to a constant, at squared distances (n, n); mean
    and variance of the signal are those of greatest likelihood.
    """
    w, Q = np.linalg.eigh(np.exp(square / (-2.0 * bandwidth**2)))
    ones, u = Q.T @ np.ones(len(y)), Q.T @ y
    spectra = np.maximum(w, 0.0) + np.asarray(noises)[:, None]  # (noises, n)
    means = (ones * u / spectra).sum(1) / (ones**2 / spectra).sum(1)
    residuals = ((u - means[:, None] * ones) ** 2 / spectra).sum(1)
    found: Array = -0.5 * (len(y) * np.log(residuals / len(y)) + np.log(spectra).sum(1))
    return found
