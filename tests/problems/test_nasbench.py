"""Architectures as arms: features by hand, one of three trainings at a time, wrong files."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from problems import load, nasbench
from tests.problems.asked import rng

OPTIONS = {"features": "per-half", "scored_by": "validation", "spread": "pooled"}
# Upper triangles row by row, (0,1) first and (4,5) last: those two edges are in every cell.
ADJACENCY = np.array(
    [
        [1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1],  # a chain: 3 edges that vary
        [1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1],  # 7
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],  # none
        [1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1],  # 4
    ]
)
CONV = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0]])
VALIDATION = np.array(
    [[0.90, 0.91, 0.98], [0.93, 0.93, 0.93], [0.10, 0.50, 0.60], [0.91, 0.94, 0.97]]
)
TEST = np.array([[0.99, 0.80, 0.80], [0.95, 0.96, 0.97], [0.11, 0.52, 0.63], [0.93, 0.94, 0.95]])
SECONDS = np.array(
    [[100.0, 200.0, 300.0], [11.0, 12.0, 13.0], [7.0, 8.0, 9.0], [1000.0, 2000.0, 3000.0]]
)
EDITS = [[1, 3, 3], [0], [], [0, 2]]


def blocks(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), kind), values.shape[1])


def prepared(folder: Path, data: str = "real", header: object = None, **changes: object) -> Path:
    """A table as the preparation writes it, but its numbers lie plainly in the file."""
    columns = {
        "module_hash": pa.array([f"{i:032x}" for i in range(4)]),
        "adjacency": blocks(ADJACENCY, pa.int8()),
        "conv": blocks(CONV, pa.int8()),
        "validation_accuracy": blocks(VALIDATION, pa.float64()),
        "test_accuracy": blocks(TEST, pa.float64()),
        "training_seconds": blocks(SECONDS, pa.float64()),
        "trainable_parameters": pa.array([4, 3, 2, 1], pa.int64()),
        "edits": pa.array(EDITS, pa.list_(pa.int32())),
        **changes,
    }
    columns = {name: column for name, column in columns.items() if column is not None}
    provenance = {"data": data, "content_sha256": "ab" * 32} if header is None else header
    table = pa.table(columns).replace_schema_metadata({b"noregret": json.dumps(provenance)})
    path = folder / "nasbench101.parquet"
    pq.write_table(table, path, write_page_checksum=True, use_dictionary=False, compression="none")
    return path


def problem(path: Path, **changes: object):
    return nasbench.cells(rng(), data=path, **{**OPTIONS, **changes})


def test_per_half_the_largest_norm_is_1_and_proportions_stay(tmp_path):
    """Of the edges that vary and the operations."""
    points = problem(prepared(tmp_path)).domain.points
    assert points.shape == (4, 17) and points.dtype == np.float64
    assert_array_equal(points > 0, np.hstack([ADJACENCY[:, 1:14], CONV]) == 1)
    edges, operations = points[:, :13], points[:, 13:]
    # By hand: 3, 7, 0 and 4 edges over the root of 7; 4, 0, 1 and 2 convolutions over the root of
    # 4.
    assert_allclose(np.linalg.norm(edges, axis=1), np.sqrt([3 / 7, 1, 0, 4 / 7]), rtol=1e-15)
    assert_allclose(np.linalg.norm(operations, axis=1), [1, 0, 0.5, np.sqrt(0.5)], rtol=1e-15)
    assert_allclose(np.unique(edges), [0, 1 / np.sqrt(7)], rtol=1e-15)
    assert_allclose(np.unique(operations), [0, 0.5], rtol=1e-15)


def test_per_row_every_half_that_is_not_zero_has_norm_1(tmp_path):
    points = problem(prepared(tmp_path), features="per-row").domain.points
    assert_allclose(np.linalg.norm(points[:, :13], axis=1), [1, 1, 0, 1], rtol=1e-15)
    assert_allclose(np.linalg.norm(points[:, 13:], axis=1), [1, 0, 1, 1], rtol=1e-15)
    assert_allclose(points[3][points[3] > 0], [0.5] * 4 + [np.sqrt(0.5)] * 2, rtol=1e-15)


def test_a_reward_is_one_of_three_trainings_with_the_seconds_of_the_same(tmp_path):
    found = problem(prepared(tmp_path))
    query = np.tile(np.arange(4), 3000)
    evaluation = found.evaluate(query, rng(1))
    # no two trainings of a cell took as long
    training = np.argmax(SECONDS[query] == evaluation.seconds[:, None], axis=1)
    assert_array_equal(evaluation.seconds, SECONDS[query, training])
    assert_array_equal(evaluation.seen.y, VALIDATION[query, training])
    for arm in range(4):
        assert stats.chisquare(np.bincount(training[query == arm], minlength=3)).pvalue > 1e-4
    assert evaluation.seen.g.shape == evaluation.true.factor_values.shape == (12000, 0)
    # drawn by the generator of the evaluation
    assert_array_equal(evaluation.seen.y, found.evaluate(query, rng(1)).seen.y)
    assert (evaluation.seen.y != found.evaluate(query, rng(2)).seen.y).any()


@pytest.mark.parametrize(
    ("scored_by", "means", "best", "best_at"),
    # By hand; the best single training is one of cell 0 on both sides.
    [
        ("validation", [0.93, 0.93, 0.4, 0.94], 0.94, 3),
        ("test", [2.59 / 3, 0.96, 0.42, 0.94], 0.96, 1),
    ],
)
def test_the_true_value_is_a_mean_over_the_trainings(tmp_path, scored_by, means, best, best_at):
    found = problem(prepared(tmp_path), scored_by=scored_by)
    evaluation = found.evaluate(np.array([2, 0, 1, 3, 2]), rng())
    assert_allclose(evaluation.true.y, np.array(means)[[2, 0, 1, 3, 2]], rtol=1e-14)
    assert (found.best, found.best_kind) == (pytest.approx(best, rel=1e-14), "exact")
    assert_array_equal(found.best_at, [best_at])
    assert_array_equal(found.evaluate(found.best_at, rng()).true.y, [found.best])
    assert found.display.label == f"{scored_by} accuracy"


def test_what_is_seen_is_a_validation_whatever_scores_it(tmp_path):
    path = prepared(tmp_path)
    names = ("validation", "test")
    one, other = (problem(path, scored_by=n).evaluate(np.arange(4), rng(3)) for n in names)
    assert_array_equal(one.seen.y, other.seen.y)
    assert (one.true.y != other.true.y).any()


@pytest.mark.parametrize("scored_by", ["validation", "test"])
def test_the_revealed_noise_is_the_pooled_standard_deviation_of_the_validations(
    tmp_path, scored_by
):
    reveals = problem(prepared(tmp_path), scored_by=scored_by).reveals
    # By hand, squared deviations x 1e4 with two degrees of freedom: (9+4+25)/2, 0, (900+100+400)/2,
    # (9+0+9)/2.
    assert reveals["noise_variance"] == pytest.approx((19 + 0 + 700 + 9) * 1e-4 / 4, rel=1e-12)
    assert reveals["noise"] == pytest.approx(np.sqrt(reveals["noise_variance"]), rel=1e-15)
    assert set(reveals) == {"noise", "noise_variance"}
    assert all(type(value) is float for value in reveals.values())  # they go into a JSON header


def test_the_typical_noise_is_not_widened_by_a_failed_training(tmp_path):
    draw = rng()
    normal = 0.9 + 0.004 * draw.standard_normal((4, 3))
    path = prepared(tmp_path, validation_accuracy=blocks(normal, pa.float64()))
    reveals = problem(path, spread="typical").reveals
    median = np.median(normal.var(axis=1, ddof=1))
    assert reveals["noise_variance"] == pytest.approx(median / np.log(2), rel=1e-12)
    # The factor makes the median unbiased for Gaussian trainings, three of each cell.
    many = 0.004 * draw.standard_normal((100_000, 3))

    def spread(name):
        return np.sqrt(nasbench.SPREADS[name](many.var(axis=1, ddof=1)))

    assert spread("typical") == pytest.approx(0.004, rel=0.01)
    many[:500] -= np.array([0.8, 0.0, 0.0])
    assert spread("typical") == pytest.approx(0.004, rel=0.02)
    assert spread("pooled") > 0.03


def test_neighbours_are_the_cells_that_one_edit_reaches(tmp_path):
    neighbours = problem(prepared(tmp_path)).domain.neighbours
    for arm, reached in enumerate(EDITS):
        assert_array_equal(neighbours(arm), reached)
        assert neighbours(arm).dtype == np.int64
    assert_array_equal(neighbours(np.int64(3)), [0, 2])


def test_provenance_travels_with_the_problem(tmp_path):
    found = problem(prepared(tmp_path, data="substitute: synthetic accuracies"))
    assert (found.data, found.data_sha256) == ("substitute: synthetic accuracies", "ab" * 32)
    assert load("nasbench.cells") is nasbench.cells


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", ["validation_accuracy", "test_accuracy", "training_seconds"])
def test_a_number_that_is_not_finite_is_located(tmp_path, column, bad):
    values = VALIDATION.copy()
    values[2, 1] = values[3, 0] = bad
    path = prepared(tmp_path, **{column: blocks(values, pa.float64())})
    said = rf"got {column} = {bad} in row 2 .*run the workflow again"
    with pytest.raises(ValueError, match=said):
        problem(path)


def test_choices_that_there_are_not_are_refused(tmp_path):
    for option in OPTIONS:
        with pytest.raises(ValueError, match=f"expected {option} to be .*, got 'other'"):
            problem(prepared(tmp_path), **{option: "other"})


def test_a_file_that_is_absent_or_foreign_damaged_or_too_short_says_how_it_is_made_again(tmp_path):
    remedy = r"cannot read it .*delete .*nasbench101\.parquet and run the workflow again"
    path = tmp_path / "nasbench101.parquet"
    with pytest.raises(ValueError, match=remedy):
        problem(path)
    pq.write_table(pa.table({"target": [1.0]}), path)
    with pytest.raises(ValueError, match=remedy):
        problem(path)
    for header in ({"data": "real"}, {"content_sha256": "ab"}, {}, [], "real"):
        with pytest.raises(ValueError, match=remedy):
            problem(prepared(tmp_path, header=header))
    whole = prepared(tmp_path).read_bytes()
    flipped = bytearray(whole)
    flipped[whole.index(VALIDATION.tobytes())] ^= 1
    for damaged in (bytes(flipped), whole[:-9]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=remedy):
            problem(path)


def test_a_missing_column_is_named(tmp_path):
    for column in ("adjacency", "conv", "validation_accuracy", "training_seconds", "edits"):
        with pytest.raises(ValueError, match=rf"cannot read it .*{column}.*run the workflow again"):
            problem(prepared(tmp_path, **{column: None}))
