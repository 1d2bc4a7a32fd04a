"""Cholesky factors of covariance matrices as tensors, and the one policy on jitter.

What is added to the diagonal climbs a fixed ladder in units of the mean prior variance. The first
rung is zero, so that a matrix which needs no help gets none; past the last rung an error says where
to look.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf
from torch import Tensor

LADDER = (0.0, 1e-10, 1e-8, 1e-6)


def safe_cholesky(K: Tensor) -> Tensor:
    """Lower Cholesky factor of a symmetric positive semidefinite K (n, n)."""

    def attempt(jitter: Tensor) -> Tensor | None:
        shifted = K
        if jitter:
            shifted = K.clone()
            shifted.diagonal().add_(jitter)
        L, info = torch.linalg.cholesky_ex(shifted)
        return None if info else L

    _require_finite(K)
    return _climb(len(K), K.diagonal().mean(), attempt)


def append(L: Tensor, cross: Tensor, corner: Tensor) -> Tensor:
    """The factor (n+q, n+q) of [[L L', cross], [cross', corner]], from L (n, n) by bordering: O(n^2
    q).
    """
    n, q = cross.shape
    V = torch.linalg.solve_triangular(L, cross, upper=False)  # (n, q)
    whole = L.new_zeros((n + q, n + q))
    whole[:n, :n] = L
    whole[n:, :n] = V.T
    whole[n:, n:] = residual_cholesky(corner.clone(), V)
    return whole


def residual_cholesky(K: Tensor, V: Tensor) -> Tensor:
    """Lower Cholesky factor of K - V'V (q, q), what is left of a prior covariance K once V (n, q)
    is explained, both double. It takes the place of a K that lies row by row in one piece.

    BLAS and LAPACK work in place at and below the diagonal; they are told the transpose, since they
    read matrices by columns. What lies above still holds K for the next rung.
    """
    K, prior = K.contiguous(), K.diagonal().clone()
    columns = K.numpy().T
    by_columns = V.T.is_contiguous()
    v = V.numpy() if by_columns else V.contiguous().numpy().T

    def attempt(jitter: Tensor) -> Tensor | None:
        if jitter:
            K.copy_(K.triu(1) + K.triu(1).T)
            K.diagonal().copy_(prior)
        dsyrk(-1.0, v, trans=by_columns, beta=1.0, c=columns, lower=0, overwrite_c=1)
        _require_finite(K)
        K.diagonal().add_(jitter)
        info = dpotrf(columns, lower=0, clean=0, overwrite_a=1)[1]
        return None if info else K.tril_()

    return _climb(len(K), prior.mean(), attempt) if len(K) else K


def _climb(n: int, unit: Tensor, attempt: Callable[[Tensor], Tensor | None]) -> Tensor:
    """The factor (n, n) by the first jitter that gives one."""
    for rung in LADDER:
        L = attempt(rung * unit)
        if L is not None:
            return L
    raise LinAlgError(
        f"K ({n}x{n}) is not positive definite with a jitter of {LADDER[-1]:g} of its"
        " mean prior variance: look for an indefinite kernel, or for duplicate rows with too"
        " little noise"
    )


def _require_finite(K: Tensor) -> None:
    if not torch.isfinite(K.sum()):
        raise LinAlgError(
            f"K ({len(K)}x{len(K)}) holds a non-finite value: look for a non-finite length-scale or"
            " input"
        )
