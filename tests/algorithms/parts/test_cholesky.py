"""Cholesky factors of tensors: by hand, by bordering, and at the edge of positive definiteness."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import LinAlgError

from algorithms.parts.numerics.cholesky import (
    LADDER,
    append,
    inverse,
    residual_cholesky,
    safe_cholesky,
    solve,
    solve_lower,
)


def gram(n, extra=10, seed=0):
    A = torch.from_numpy(np.random.default_rng(seed).standard_normal((n, n + extra)))
    return A @ A.T


def test_a_matrix_that_needs_no_jitter_gets_none_and_is_left_alone():
    K = gram(30)
    kept = K.clone()
    L = safe_cholesky(K)
    assert_allclose(L, torch.linalg.cholesky(K), rtol=0, atol=1e-13 * L.max())
    assert_array_equal(L.triu(1), np.zeros((30, 30)))
    assert_array_equal(K, kept)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_singular_matrix_gets_the_lowest_rung_that_helps_in_units_of_its_diagonal(scale):
    K = scale * torch.ones((5, 5), dtype=torch.float64)
    assert torch.linalg.cholesky_ex(K)[1] != 0
    L = safe_cholesky(K)
    assert_allclose(L @ L.T, K + scale * LADDER[1] * torch.eye(5), rtol=1e-12)


@pytest.mark.parametrize(
    "layout", [torch.clone, lambda L: L.mT.contiguous().mT], ids=["rows", "columns"]
)
def test_solves_and_inverse_in_either_layout(layout):
    K, b = gram(30), torch.from_numpy(np.random.default_rng(1).standard_normal((30, 4)))
    L = layout(torch.linalg.cholesky(K).contiguous())
    assert_allclose(L @ solve_lower(L, b), b, rtol=0, atol=1e-12)
    assert_allclose(L.T @ solve_lower(L, b, transposed=True), b, rtol=0, atol=1e-12)
    assert_allclose(K @ solve(L, b[:, 0]), b[:, 0], rtol=0, atol=1e-12)
    assert_allclose(K @ inverse(L), np.eye(30), rtol=0, atol=1e-12)
    assert_array_equal(inverse(L), inverse(L).T)


def test_bordering_gives_the_factor_of_the_whole():
    K = gram(40)
    L = append(safe_cholesky(K[:31, :31]), K[:31, 31:], K[31:, 31:])
    assert_allclose(L, safe_cholesky(K), rtol=1e-10, atol=1e-10)
    V = solve_lower(L[:31, :31], K[:31, 31:])
    assert_array_equal(residual_cholesky(K[31:, 31:].clone(), V), L[31:, 31:])


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("q", [0, 1, 70])
def test_a_residual_factor_takes_the_place_of_its_matrix(q, by_columns):
    K, V = gram(q), torch.from_numpy(0.1 * np.random.default_rng(1).random((4, q)))
    if by_columns:
        V = V.T.contiguous().T
    kept, expected = V.clone(), torch.linalg.cholesky(K - V.T @ V)
    L = residual_cholesky(K, V)
    assert_allclose(L, expected, rtol=1e-11, atol=1e-12)
    assert_array_equal(V, kept)
    assert L.data_ptr() == K.data_ptr()


def test_the_rungs_of_a_residual_factor_begin_with_the_same_matrix():
    """Explained to the last digit, and a little more: only the third rung helps."""
    K = gram(40)
    unit = K.diagonal().mean()
    V = torch.linalg.cholesky(K + 3e-9 * unit * torch.eye(40)).T
    L = residual_cholesky(K.clone(), V)
    assert_array_equal(L, L.tril())
    left = (LADDER[2] - 3e-9) * unit * torch.eye(40)
    assert_allclose(L @ L.T, left, atol=0.01 * left[0, 0])


def test_a_repeated_row_is_appended_with_jitter_in_units_of_the_prior():
    K = gram(6)
    again = K[:, [2]]
    L = append(safe_cholesky(K), again, K[2:3, 2:3])
    assert 0 <= L[-1, -1] ** 2 <= 2 * LADDER[1] * K[2, 2]
    assert_allclose((L @ L.T)[:6, 6], again[:, 0], rtol=1e-10)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_non_finite_matrix_is_refused_with_its_size(bad):
    K = torch.eye(3, dtype=torch.float64)
    K[1, 0] = K[0, 1] = bad
    with pytest.raises(LinAlgError, match=r"K \(3x3\) holds a non-finite value: look for"):
        safe_cholesky(K)


def test_an_indefinite_matrix_is_refused_with_its_size():
    said = r"K \(2x2\) is not positive definite with a jitter of 1e-06 .*: look for an"
    with pytest.raises(LinAlgError, match=said):
        safe_cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]], dtype=torch.float64))
