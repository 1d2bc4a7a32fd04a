"""A published record gives each metric of the full one, but for seconds and diagnostics exactly."""

import numpy as np
import pytest

from workflow.measure import condense, metrics
from workflow.measure.condense import MOST
from workflow.trace import curve_file
from workflow.trace.record import Record, trace_hash

TIMES = ("seconds", "total_seconds")
LONG = 2000


def runs(rows=LONG, seed=0):
    """Records of made-up runs by what is special about them."""
    rng = np.random.default_rng(seed)
    batch = np.minimum(np.arange(rows) // 7, rows // 7)
    timing = np.where(np.diff(batch, prepend=-1) > 0, rng.exponential(0.1, rows), 0.0)
    header = {"seed": seed, "rows": rows, "digest": "d", "best": 4.0, "setup_seconds": 0.25}
    header |= {"given_seconds": 0.125, "recommendation": {"query": 3, "true": 3.5}}
    plain = {
        "evaluation": np.arange(rows),
        "batch": batch,
        "query": rng.integers(0, 50, rows),
        "y": rng.standard_normal(rows),
        "true": rng.standard_normal(rows),
        "seconds": rng.exponential(3.0, rows),
        "timing.ask": timing,
        "timing.tell": timing / 3,
        "timing.evaluate": timing,
        "report.dictionary": rng.integers(1, 40, rows).astype(float),
        "report.noise": np.cumsum(rng.standard_normal(rows)),
        "report.alpha": np.where(np.arange(rows) < 9, np.nan, np.repeat(0.1, rows)),
    }
    on_box = {**header, "recommendation": {"query": [0.1, 0.2], "true": 3.5, "true_g": [-1.0]}}
    box = {**plain, "query": rng.random((rows, 2))}
    constrained = {
        **box,
        "g": rng.standard_normal((rows, 2)),
        "true_g": rng.standard_normal((rows, 2)) + 1,
        "report.role": rng.integers(0, 3, rows).astype(float),
        "report.iteration": np.sort(rng.integers(0, 600, rows)).astype(float),
    }
    clock = np.cumsum(rng.exponential(1.0, rows))
    columns = {
        "arms": plain,
        "asynchronous": {**plain, "started": clock - 0.5, "finished": clock},
        "box": box,
        "constrained": constrained,
        "infeasible": {**constrained, "true_g": 1 + rng.random((rows, 2))},
    }
    records = {}
    for name, found in columns.items():
        said = on_box if found["query"].ndim > 1 else header
        records[name] = Record({**said, "trace_sha256": trace_hash(found)}, found)
    return records


def published(found, tmp_path):
    """A record as it is read back from a published file."""
    path = tmp_path / "curve.parquet"
    curve_file.merge(path, {"paper": "toy"}, {0: condense.condensed(found)})
    return condense.restored(curve_file.read(path)[0])


def agree(full, short, name):
    expected, found = (metrics.metric(name).of(one) for one in (full, short))
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if name not in TIMES and name != "centre_distance":
        np.testing.assert_array_equal(found, expected)
        return
    kept = condense.sampled(full.rows) if full.rows > MOST else np.arange(full.rows)
    np.testing.assert_allclose(found[kept], expected[kept], rtol=2**-22)


@pytest.mark.parametrize("rows", [LONG, MOST, 30])
@pytest.mark.parametrize("kind", list(runs(30)))
def test_every_metric_of_a_published_record_is_that_of_the_full_one(kind, rows, tmp_path):
    full = runs(rows)[kind]
    short = published(full, tmp_path)
    assert not {"query", "y", "g", "true_g", "timing.evaluate", "started"} & short.columns.keys()
    assert ("seconds" in short.columns) == (kind != "asynchronous")
    names = [*metrics.METRICS, "report.dictionary", "report.alpha", "report.role", "report.none"]
    if full.columns["query"].ndim == 1:
        names.remove("centre_distance")
    for name in names:
        agree(full, short, name)
    assert metrics.is_constrained(short) == metrics.is_constrained(full)
    assert metrics.is_on_arms(short) == metrics.is_on_arms(full)
    np.testing.assert_array_equal(metrics.batch_sizes(short), metrics.batch_sizes(full))
    if full.columns["query"].ndim > 1:
        assert metrics.farthest_query(short) == metrics.farthest_query(full)
        one, other = metrics.best_design(short), metrics.best_design(full)
        assert (one.row, one.true, one.violation) == (other.row, other.true, other.violation)
        np.testing.assert_array_equal(one.query, other.query)
        np.testing.assert_array_equal(one.g, other.g)


def test_a_noisy_diagnostic_is_kept_at_some_evaluations_and_stays_between_them(tmp_path):
    full = runs()["arms"]
    kept = condense.condensed(full)
    rows, values = kept.some["report.noise"]
    assert len(rows) <= MOST and (rows[0], rows[-1]) == (0, LONG - 1)
    assert len(np.unique(np.diff(rows))) > 2  # dense at the beginning, where exponents are fitted
    assert set(kept.some) == {"report.noise", condense.SPENT}
    found = metrics.metric("report.noise").of(published(full, tmp_path))
    whole = full.columns["report.noise"]
    np.testing.assert_array_equal(found[rows], whole[rows].astype(np.float32))
    np.testing.assert_array_equal(found[: rows[200]][-1], found[rows[199]])
    np.testing.assert_array_equal(values, found[rows])


def test_seconds_between_the_evaluations_that_are_kept_grow_evenly(tmp_path):
    full = runs()["arms"]
    found = metrics.seconds(published(full, tmp_path))
    rows = condense.sampled(LONG)
    low, high = rows[-2], rows[-1]
    middle = (low + high) // 2
    share = (middle - low) / (high - low)
    assert found[middle] == pytest.approx(found[low] + share * (found[high] - found[low]))
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("rows", [257, 300, 1000, 10_000])
def test_the_evaluations_that_are_kept_are_few_and_the_same_for_all_runs_of_a_length(rows):
    chosen = condense.sampled(rows)
    assert len(chosen) <= MOST and (chosen[0], chosen[-1]) == (0, rows - 1)
    assert (np.diff(chosen) > 0).all() and np.diff(chosen).max() <= 2 + rows // 100


def test_a_run_without_rows_stays_one(tmp_path):
    header = {"seed": 0, "rows": 0, "digest": "d", "trace_sha256": "t", "status": "timeout"}
    empty = Record(header, {"evaluation": np.arange(0)})
    found = published(empty, tmp_path)
    assert found.rows == 0 and found.header["status"] == "timeout"


def test_parts_of_a_trace_tell_reports_and_recommendation_from_the_rest():
    one, other = runs()["arms"], runs()["arms"]
    assert condense.parts_of_trace(one) == condense.parts_of_trace(other)
    other.columns["report.alpha"][-1] = 7.0
    other.columns["timing.ask"][:] = 1.0
    found = [condense.parts_of_trace(each) for each in (one, other)]
    assert found[0][""] == found[1][""] and found[0]["report"] != found[1]["report"]
    assert found[0]["recommendation"] == found[1]["recommendation"]
    other.header["recommendation"]["query"] = 4
    assert found[1]["recommendation"] != condense.parts_of_trace(other)["recommendation"]
    other.columns["y"][0] += 1
    assert found[1][""] != condense.parts_of_trace(other)[""]


def test_a_study_is_kept_as_it_is(tmp_path):
    header = {"seed": 0, "rows": 400, "digest": "d", "trace_sha256": "t", "study": "s"}
    rng = np.random.default_rng(0)
    columns = {"t": np.arange(400), "timing.seconds": rng.random(400)}
    columns["ratio"] = np.r_[np.nan, rng.random(399)]
    path = tmp_path / "study.parquet"
    kept = condense.condensed(Record(header, columns))
    curve_file.merge(path, {"paper": "toy", "study": "s"}, {0: kept})
    found = condense.restored(curve_file.read(path)[0])
    for name, values in columns.items():
        assert found.columns[name].dtype == values.dtype
        np.testing.assert_array_equal(found.columns[name], values)
