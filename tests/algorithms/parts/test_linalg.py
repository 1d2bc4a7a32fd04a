"""Cholesky that says what went wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgError

from algorithms.parts.arms.sketch import inverse_root
from algorithms.parts.numerics.linalg import cholesky_in_place, safe_cholesky


def test_the_factor_of_a_larger_matrix_multiplies_back():
    A = np.random.default_rng(0).standard_normal((30, 40))
    L = safe_cholesky(A @ A.T)
    assert_allclose(L @ L.T, A @ A.T, rtol=1e-12, atol=1e-12)
    assert_allclose(L, np.tril(L), atol=0)


def test_a_factor_in_place_leaves_what_stands_above_the_diagonal():
    A = np.random.default_rng(0).standard_normal((30, 40))
    K = np.asfortranarray(np.tril(A @ A.T) + np.triu(np.full((30, 30), 7.0), 1))
    L = cholesky_in_place(K)
    assert np.shares_memory(K, L)
    assert_allclose(np.tril(L), safe_cholesky(A @ A.T), rtol=1e-12)
    assert (L[np.triu_indices(30, 1)] == 7.0).all()
    K[3, 3] = np.nan
    with pytest.raises(LinAlgError, match=r"K \(30x30\) holds a non-finite value"):
        cholesky_in_place(K)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_non_finite_matrix_is_refused_with_its_size(bad):
    K = np.eye(3)
    K[1, 0] = K[0, 1] = bad
    with pytest.raises(LinAlgError, match=r"K \(3x3\) holds a non-finite value: look for"):
        safe_cholesky(K)
    with pytest.raises(LinAlgError, match=r"holds a non-finite value: look at the features"):
        inverse_root(K)


def test_a_matrix_that_is_not_positive_definite_is_refused_with_its_size():
    said = r"K \(2x2\) is not positive definite: look for duplicate rows"
    with pytest.raises(LinAlgError, match=said):
        safe_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_the_inverse_root_of_a_singular_gram_matrix_is_that_of_its_pseudo_inverse():
    # the first two arms are duplicates
    K = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
    root = inverse_root(K)
    assert root.shape == (3, 2)
    assert_allclose(root @ root.T, np.linalg.pinv(K), atol=1e-14)


def test_noise_of_the_eigenvalues_of_a_singular_gram_matrix_is_dropped():
    features = np.tile(np.random.default_rng(0).standard_normal((3, 3)), (20, 1))  # (60, 3): rank 3
    assert inverse_root(features @ features.T).shape == (60, 3)
