"""Tables as arms: scaling by hand, noise by its generator, files not as they should be."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import load, tables
from tests.problems.asked import needs_data, real, rng, written

# two features, target
VALUES = np.array([[3.0, 4.0, 10.0], [6.0, 8.0, 30.0], [0.0, 6.0, 30.0], [3.0, 2.0, 20.0]])
OPTIONS = {"noise": 0.01, "features": "z-scored", "target": "unit-interval"}


def prepared(folder: Path, values: np.ndarray = VALUES, **options: str) -> Path:
    return written(folder, values, **options)


def problem(path: Path, **changes: object):
    return tables.abalone(rng(), data=path, **{**OPTIONS, **changes})


def test_z_scored_columns_have_mean_0_and_variance_1(tmp_path):
    points = problem(prepared(tmp_path)).domain.points
    assert points.flags.c_contiguous
    # By hand: column 1 is 3, 6, 0, 3 with mean 3 and variance 4.5; column 2 is 4, 8, 6, 2 with mean
    # 5 and variance 5.
    assert_allclose(points[:, 0], np.array([0, 3, -3, 0]) / np.sqrt(4.5), rtol=1e-15)
    assert_allclose(points[:, 1], np.array([-1, 3, 1, -3]) / np.sqrt(5), rtol=1e-15)


def test_unit_norm_scales_rows_and_raw_scales_nothing(tmp_path):
    path = prepared(tmp_path)
    assert_allclose(problem(path, features="unit-norm").domain.points[0], [0.6, 0.8], rtol=1e-15)
    assert_array_equal(problem(path, features="raw").domain.points, VALUES[:, :2])


def test_the_optimum_is_the_first_of_the_best_rows(tmp_path):
    found = problem(prepared(tmp_path))
    assert (found.best, found.best_kind) == (1.0, "exact")
    assert_array_equal(found.best_at, [1])
    assert_array_equal(found.evaluate(np.arange(4), rng()).true.y, [0, 1, 1, 0.5])
    assert_array_equal(found.evaluate(found.best_at, rng()).true.y, [found.best])


def test_a_raw_target_keeps_its_unit(tmp_path):
    found = problem(prepared(tmp_path), target="raw")
    assert found.best == 30.0
    assert (found.display.label, found.display.unit) == ("ring count", "rings")
    rescaled = problem(prepared(tmp_path)).display
    assert (rescaled.label, rescaled.unit) == ("rescaled ring count", "")


def test_noise_is_additive_gaussian_and_only_in_what_is_seen(tmp_path):
    found = problem(prepared(tmp_path), noise=0.25)
    query = np.array([2, 0, 2])
    evaluation = found.evaluate(query, rng(5))
    assert_array_equal(evaluation.true.y, [1, 0, 1])
    noise = 0.25 * rng(5).standard_normal(3)
    assert_allclose(evaluation.seen.y - evaluation.true.y, noise, atol=1e-15)
    assert_array_equal(evaluation.seconds, np.zeros(3))
    assert evaluation.seen.g.shape == (3, 0) and evaluation.seen.factor_values.shape == (3, 0)
    silent = problem(prepared(tmp_path), noise=0.0).evaluate(query, rng(5))
    assert_array_equal(silent.seen.y, silent.true.y)


def test_evaluating_does_not_change_the_table(tmp_path):
    found = problem(prepared(tmp_path))
    found.evaluate(np.arange(4), rng()).true.y[:] = 7
    assert_array_equal(found.evaluate(np.arange(4), rng()).true.y, [0, 1, 1, 0.5])


def test_provenance_travels_with_the_problem(tmp_path):
    found = problem(prepared(tmp_path, data="substitute: a toy"))
    assert (found.data, found.data_sha256) == ("substitute: a toy", "ab" * 32)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_located(tmp_path, bad):
    values = VALUES.copy()
    values[2, 1] = bad
    said = rf"got x1 = {bad} in row 2 .*or `python -m workflow.fetch toy`"
    with pytest.raises(ValueError, match=said):
        problem(prepared(tmp_path, values))


def test_tables_that_cannot_be_scaled_are_refused(tmp_path):
    constant = VALUES * [1, 0, 1]
    with pytest.raises(ValueError, match="got column 1 constant"):
        problem(prepared(tmp_path, constant))
    with pytest.raises(ValueError, match="got row 2 zero"):
        problem(prepared(tmp_path, constant), features="unit-norm")
    with pytest.raises(ValueError, match=r"expected targets that differ, got 0\.0 in every row"):
        problem(prepared(tmp_path, VALUES * [1, 1, 0]))


def test_a_missing_or_foreign_file_names_the_command_that_makes_it(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read it .* or `python -m workflow.fetch toy`"):
        problem(tmp_path / "toy.parquet")
    with pytest.raises(ValueError, match="expected provenance and a last column target"):
        problem(prepared(tmp_path, last="rings"))
    pq.write_table(pa.table({"target": [1.0]}), tmp_path / "toy.parquet")
    with pytest.raises(ValueError, match="expected provenance and a last column target"):
        problem(tmp_path / "toy.parquet")


def test_a_flipped_bit_or_a_cut_is_noticed(tmp_path):
    path = prepared(tmp_path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[whole.index(np.array([4.0, 8.0]).tobytes())] ^= 1
    for damaged in (bytes(flipped), whole[:-9]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="cannot read it"):
            problem(path)


@needs_data
@pytest.mark.parametrize(
    ("name", "arms", "best", "label"),
    [("abalone", 4177, 29.0, "ring count"), ("cadata", 20640, 500001.0, "median house value")],
)
def test_the_real_tables(tmp_path, name, arms, best, label):
    path = real(tmp_path, name)
    found = load(f"tables.{name}")(rng(), data=path, noise=0.01, features="z-scored", target="raw")
    assert found.domain.points.shape == (arms, 8)
    # longitude: 20640 sums of 120 / 2
    assert_allclose(found.domain.points.mean(axis=0), 0, atol=1e-10)
    assert_allclose(found.domain.points.std(axis=0), 1, rtol=1e-12)
    assert (found.best, found.data, found.display.label) == (best, "real", label)
    assert_array_equal(found.evaluate(found.best_at, rng()).true.y, [best])
