"""Cholesky factors of covariance matrices as tensors, and the one policy on jitter.

What is added to the diagonal climbs a fixed ladder in units of the mean prior variance. The first
rung is zero, so that a matrix which needs no help gets none; past the last rung an error says where
to look.
"""

from __future__ import annotations

import torch
from scipy.linalg import LinAlgError
from torch import Tensor

LADDER = (0.0, 1e-10, 1e-8, 1e-6)


def safe_cholesky(K: Tensor) -> Tensor:
    """Lower Cholesky factor of a symmetric positive semidefinite K (n, n)."""
    return _climb(K, K.diagonal().mean())


def append(L: Tensor, cross: Tensor, corner: Tensor) -> Tensor:
    """The factor (n+q, n+q) of [[L L', cross], [cross', corner]], from L (n, n) by bordering: O(n^2
    q).
    """
    n, q = cross.shape
    V = torch.linalg.solve_triangular(L, cross, upper=False)  # (n, q)
    whole = L.new_zeros((n + q, n + q))
    whole[:n, :n] = L
    whole[n:, :n] = V.T
    whole[n:, n:] = residual_cholesky(corner, V)
    return whole


def residual_cholesky(K: Tensor, V: Tensor) -> Tensor:
    """Lower Cholesky factor of K - V'V (q, q), what is left of a prior covariance K once V (n, q)
    is explained.
    """
    return _climb(torch.addmm(K, V.T, V, alpha=-1.0), K.diagonal().mean())


def _climb(K: Tensor, unit: Tensor) -> Tensor:
    if not torch.isfinite(K.sum()):
        raise LinAlgError(
            f"K ({len(K)}x{len(K)}) holds a non-finite value: look for a non-finite length-scale or"
            " input"
        )
    for rung in LADDER:
        shifted = K
        if rung:
            shifted = K.clone()
            shifted.diagonal().add_(rung * unit)
        L, info = torch.linalg.cholesky_ex(shifted)
        if info == 0:
            return L
    raise LinAlgError(
        f"K ({len(K)}x{len(K)}) is not positive definite with a jitter of {LADDER[-1]:g} of its"
        " mean prior variance: look for an indefinite kernel, or for duplicate rows with too"
        " little noise"
    )
