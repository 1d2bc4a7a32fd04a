"""Factorisations that say what went wrong. Cholesky only through `safe_cholesky`, or its sister."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dpotrf

from algorithms.api import Array


def safe_cholesky(K: Array) -> Array:
    """Lower Cholesky factor of a positive definite K (n, n), or LinAlgError with directions."""
    if not np.isfinite(K).all():
        raise _without(K)
    try:
        return cholesky(K, lower=True, check_finite=False)
    except LinAlgError:
        raise _without(K) from None


def cholesky_in_place(K: Array) -> Array:
    """The same factor where the lower triangle of K (n, n) was, which is in Fortran's order; what
    stands above the diagonal is neither read nor written. Raises LinAlgError with directions.
    """
    L, info = dpotrf(K, lower=1, clean=0, overwrite_a=1)
    if info or not np.isfinite(L.diagonal().sum()):  # where anything that is not finite ends up
        raise _without(L)
    return L


def _without(K: Array) -> LinAlgError:
    """What to say of a K (n, n) that has no factor; only its lower triangle counts."""
    size = f"K ({len(K)}x{len(K)})"
    if not np.isfinite(K[np.tril_indices(len(K))]).all():
        return LinAlgError(
            f"{size} holds a non-finite value: look for a non-finite length-scale or input"
        )
    return LinAlgError(
        f"{size} is not positive definite: look for duplicate rows or too small a regularisation"
    )
