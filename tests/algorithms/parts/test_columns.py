"""The Gaussian kernel over a table: by hand, by scikit-learn; its memo changes no answer."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.arms.columns import FIRST_ROWS, GaussianTable


@pytest.mark.parametrize("bandwidth", [0.1, 1.0, 17.5])
def test_all_columns_match_scikit_learn(smooth, gram, bandwidth):
    points, _ = smooth(0, A=150, d=3)
    found = GaussianTable(points, bandwidth).columns(np.arange(150))
    assert_allclose(found, gram(points, bandwidth), rtol=1e-12, atol=1e-300)


def test_distances_of_neighbours_far_from_the_origin_do_not_cancel():
    kernel = GaussianTable(np.array([[1e8], [1e8 + 1.0]]), bandwidth=1.0)
    assert_allclose(kernel.column(0), [1.0, np.exp(-0.5)], rtol=1e-15)


def test_views_and_gathers_and_blocks_are_the_same_numbers(smooth, gram):
    points, _ = smooth(0, A=3 * FIRST_ROWS, d=2)
    K, kernel = gram(points, 0.5), GaussianTable(points, 0.5)
    asked = np.random.default_rng(0).permutation(len(points))  # more than the first buffer holds
    few = [[], asked[:5], asked[:5], asked[[3, 1, 1, 0]], asked[[0, 2, 1, 3]], asked[2:7]]
    for arms in (*few, asked[:1], asked, asked[::-1]):
        arms = np.asarray(arms, dtype=np.int64)
        assert_allclose(kernel.columns(arms), K[arms], rtol=1e-12)
        assert_allclose(kernel.among(arms, asked[:4]), K[np.ix_(arms, asked[:4])], rtol=1e-12)
    assert_allclose(kernel.column(asked[-1]), K[asked[-1]], rtol=1e-12)
    assert_array_equal(kernel.column(asked[-1]), kernel.compute(asked[-1]))


def test_a_pickle_leaves_the_memo_out_and_answers_the_same(smooth):
    kernel = GaussianTable(smooth(0, A=100)[0], 0.5)
    empty = pickle.dumps(kernel)
    columns = kernel.columns([5, 3, 8]).copy()
    assert pickle.dumps(kernel) == empty
    copy = pickle.loads(empty)
    assert_array_equal(copy.column(8), columns[2])
    assert_array_equal(copy.columns([5, 3, 8]), columns)


MOST = 20  # columns that the memo of 60 arms may hold in the tests below


@pytest.fixture
def narrow(smooth, monkeypatch):
    """A kernel whose memo holds 20 columns, and all its values."""
    points, _ = smooth(0)
    monkeypatch.setattr("algorithms.parts.arms.columns.MOST_BYTES", MOST * 8 * 60)
    kernel = GaussianTable(points, 0.5)
    return kernel, np.array([kernel.compute(arm) for arm in range(60)])


@pytest.mark.parametrize("seed", range(5))
def test_forgetting_columns_changes_no_answer_and_bounds_the_memo(narrow, seed):
    kernel, K = narrow
    draw, forgot, before = np.random.default_rng(seed), 0, 0
    for _ in range(200):
        arms = draw.integers(60, size=draw.integers(0, MOST // 2 + 1))
        others = draw.integers(60, size=7)
        if draw.random() < 0.5:
            assert_array_equal(kernel.columns(arms), K[arms])
        else:
            assert_array_equal(kernel.among(arms, others), K[np.ix_(arms, others)])
        used = np.count_nonzero(kernel._place >= 0)
        forgot, before = forgot + (used < before), used
        assert used <= MOST
        assert len(kernel._buffer) <= max(2 * MOST, FIRST_ROWS)
    assert forgot > 5


def test_columns_given_out_before_the_memo_was_forgotten_keep_their_values(narrow):
    kernel, K = narrow
    view, column = kernel.columns(np.arange(10)), kernel.column(3)
    for first in (10, 20, 30, 40, 50):
        kernel.columns(np.arange(first, first + 10))
    assert kernel._place[3] < 0
    assert_array_equal(view, K[:10])
    assert_array_equal(column, K[3])
    assert_array_equal(kernel.column(3), K[3])
