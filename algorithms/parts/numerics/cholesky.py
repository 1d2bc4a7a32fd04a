"""Cholesky factors of covariance matrices as tensors, and the one policy on jitter.

What is added to the diagonal climbs a fixed ladder in units of the mean prior variance. The first
rung is zero, so that a matrix which needs no help gets none; past the last rung an error says where
to look.

All goes through SciPy's OpenBLAS: on the code path of all runs PyTorch's MKL takes its kernels for
any processor, which need two to four times as long. None of these functions has a gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf, dpotri
from torch import Tensor

from algorithms.api import Array

LADDER = (0.0, 1e-10, 1e-8, 1e-6)


def safe_cholesky(K: Tensor) -> Tensor:
    """Lower Cholesky factor of a symmetric positive semidefinite K (n, n)."""

    def attempt(jitter: Tensor) -> Tensor | None:
        shifted = K
        if jitter:
            shifted = K.clone()
            shifted.diagonal().add_(jitter)
        L, info = dpotrf(
            shifted.numpy().T, lower=1, clean=1
        )  # by columns, which a symmetric K allows
        return None if info else torch.from_numpy(L)

    _require_finite(K)
    return _climb(len(K), K.diagonal().mean(), attempt)


def solve_lower(L: Tensor, b: Tensor, *, transposed: bool = False) -> Tensor:
    """L^-1 b, or L'^-1 b if transposed, of b (n, q); fastest for a b that lies column by column."""
    factor, lower = _by_columns(L)
    return torch.from_numpy(dtrsm(1.0, factor, b.numpy(), lower=lower, trans_a=lower == transposed))


def solve(L: Tensor, b: Tensor) -> Tensor:
    """(L L')^-1 b of b (n,)."""
    return solve_lower(L, solve_lower(L, b[:, None]), transposed=True)[:, 0]


def inverse(L: Tensor) -> Tensor:
    """(L L')^-1 (n, n), symmetric."""
    factor, lower = _by_columns(L)
    K = torch.from_numpy(dpotri(factor, lower=lower)[0])  # one triangle
    half = K.tril(-1) if lower else K.triu(1)
    half.diagonal().copy_(K.diagonal() / 2)
    return half + half.T


def _by_columns(L: Tensor) -> tuple[Array, bool]:
    """L as BLAS reads matrices, by columns, and whether that is L; else it is its transpose."""
    lower = L.mT.is_contiguous()
    return (L.numpy() if lower else L.contiguous().numpy().T), lower


def append(L: Tensor, cross: Tensor, corner: Tensor) -> Tensor:
    """The factor of [[L L', cross], [cross', corner]] by bordering L (n, n): O(n^2 q)."""
    n, q = cross.shape
    V = solve_lower(L, cross)  # (n, q)
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
