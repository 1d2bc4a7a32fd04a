"""Factorisations that say what went wrong. Cholesky only through `safe_cholesky`."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from algorithms.api import Array


def safe_cholesky(K: Array) -> Array:
    """Lower Cholesky factor of a symmetric positive definite K (n, n).

    Raises LinAlgError with directions.
    """
    if not np.isfinite(K).all():
        raise LinAlgError(
            f"K ({len(K)}x{len(K)}) holds a non-finite value: look for a non-finite length-scale or"
            " input"
        )
    try:
        return cholesky(K, lower=True, check_finite=False)
    except LinAlgError:
        raise LinAlgError(
            f"K ({len(K)}x{len(K)}) is not positive definite: look for duplicate rows or too small"
            " a regularisation"
        ) from None
