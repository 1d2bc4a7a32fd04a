"""Published records: deterministic bytes, seeds added and never overwritten, changes by hand."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workflow.trace import curve_file
from workflow.trace.curve_file import Kept
from workflow.trace.record import BadRecord

LABELS = {"paper": "toy", "problem": "p", "algorithm": "A"}


def kept(seed, *, rows=6, digest="d", trace="t", **columns):
    header = {"rows": rows, "seed": seed, "digest": digest, "trace_sha256": f"{trace}{seed}"}
    header["provenance"] = {"commit": "c0ffee", "code_path": {"blas": []}}
    values = {"true": np.linspace(seed, seed + 1, rows), "batch": np.arange(rows), **columns}
    return Kept(header, values, {"slow": (np.array([0, rows - 1]), np.array([0.5, np.nan]))})


def same(one, other):
    first, second = ({**each.header, curve_file.SEAL: ""} for each in (one, other))
    assert first == second
    assert one.columns.keys() == other.columns.keys()
    for name, values in one.columns.items():
        assert values.dtype == other.columns[name].dtype
        np.testing.assert_array_equal(values, other.columns[name])
    assert one.some.keys() == other.some.keys()
    for name, (rows, values) in one.some.items():
        np.testing.assert_array_equal(rows, other.some[name][0])
        np.testing.assert_array_equal(values, other.some[name][1])


def test_what_is_read_is_what_was_written_and_equal_content_has_equal_bytes(tmp_path):
    records = {}
    for seed in (3, 0):
        columns = {"feasible": np.arange(6) > seed, "unknown": np.repeat([np.nan, 1, 2.0], 2)}
        records[seed] = kept(seed, **columns, single=np.float32([seed, 1, 2, 3, 4, np.nan]))
    paths = [tmp_path / name for name in ("one.parquet", "two.parquet")]
    curve_file.merge(paths[0], LABELS, records)
    curve_file.merge(paths[1], LABELS, dict(sorted(records.items())))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = curve_file.read(paths[0])
    assert list(found) == [0, 3]
    for seed, one in found.items():
        same(one, records[seed])
    assert curve_file.headers(paths[0]) == {seed: one.header for seed, one in found.items()}


def test_a_published_file_is_a_tidy_table(tmp_path):
    for name in "AB":
        labels = {**LABELS, "algorithm": name}
        curve_file.merge(tmp_path / f"{name}.parquet", labels, {1: kept(1), 0: kept(0)})
    table = pd.read_parquet(tmp_path)
    assert len(table) == 24 and set(table["algorithm"]) == {"A", "B"}
    assert table["seed"].tolist() == ([0] * 6 + [1] * 6) * 2
    assert table.loc[table["seed"] == 1, "true"].max() == 2
    assert table["slow"].notna().sum() == 4  # at the first row of each of four records


def test_seeds_are_added_and_a_file_to_which_nothing_is_added_is_not_written(tmp_path):
    path = tmp_path / "A.parquet"
    first = {seed: kept(seed) for seed in (0, 1)}
    assert curve_file.merge(path, LABELS, first).added == (0, 1)
    before = curve_file.read(path)
    merged = curve_file.merge(path, LABELS, {1: kept(1), 2: kept(2, rows=3)})
    assert (merged.added, merged.there, merged.other) == ((2,), (1,), ())
    after = curve_file.read(path)
    for seed in (0, 1):
        same(before[seed], after[seed])
        assert before[seed].header[curve_file.SEAL] == after[seed].header[curve_file.SEAL]
    content, stamp = path.read_bytes(), path.stat().st_mtime_ns
    assert curve_file.merge(path, LABELS, first).there == (0, 1)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, stamp)


@pytest.mark.parametrize("change", [{"digest": "other"}, {"trace": "other"}], ids=str)
def test_another_record_of_a_published_seed_is_told_and_replaces_nothing_unasked(tmp_path, change):
    path = tmp_path / "A.parquet"
    curve_file.merge(path, LABELS, {0: kept(0)})
    content = path.read_bytes()
    merged = curve_file.merge(path, LABELS, {0: kept(0, **change)})
    assert merged == ((), (), (0,))
    assert path.read_bytes() == content
    curve_file.merge(path, LABELS, {0: kept(0, **change), 1: kept(1)})
    assert sorted(curve_file.read(path)) == [0, 1]
    same(curve_file.read(path)[0], kept(0))
    assert curve_file.merge(path, LABELS, {0: kept(0, **change)}, replace=True).other == (0,)
    same(curve_file.read(path)[0], kept(0, **change))


def test_an_equal_record_of_another_code_path_replaces_only_when_asked(tmp_path):
    path = tmp_path / "A.parquet"
    curve_file.merge(path, LABELS, {0: kept(0)})
    again = kept(0)
    again = replace(again, header={**again.header, "provenance": {"kernels": "x86-64-v3"}})
    assert curve_file.merge(path, LABELS, {0: again}).there == (0,)
    assert curve_file.merge(path, LABELS, {0: again}, replace=True).other == (0,)
    assert curve_file.read(path)[0].header["provenance"] == {"kernels": "x86-64-v3"}
    assert curve_file.merge(path, LABELS, {0: again}, replace=True).there == (0,)


def test_a_run_without_rows_and_a_column_that_one_seed_lacks_are_kept(tmp_path):
    path = tmp_path / "A.parquet"
    header = {"rows": 0, "seed": 1, "digest": "d", "trace_sha256": "t", "status": "timeout"}
    empty = Kept(header, {})
    records = {0: kept(0, count=np.arange(6)), 1: empty, 2: kept(2)}
    curve_file.merge(path, LABELS, records)
    for seed, one in curve_file.read(path).items():
        same(one, records[seed])
    alone = tmp_path / "B.parquet"
    curve_file.merge(alone, LABELS, {1: empty})
    same(curve_file.read(alone)[1], empty)


def changed(path, said=None, **columns):
    """The file with other values in some columns, by a stranger who keeps the metadata."""
    table = pq.read_table(path)
    said = said or pq.read_metadata(path).metadata[curve_file.KEY]
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({curve_file.KEY: said})


def test_a_file_that_was_changed_is_refused_by_name(tmp_path):
    path = tmp_path / "A.parquet"
    curve_file.merge(path, LABELS, {0: kept(0), 1: kept(1)})
    changed(path)
    assert sorted(curve_file.read(path)) == [0, 1]  # other bytes, the same content
    values = pq.read_table(path)["true"].to_numpy().copy()
    values[-1] += 1e-15
    changed(path, true=values)
    with pytest.raises(BadRecord, match=r"A\.parquet: expected seed 1 with sha256"):
        curve_file.read(path)
    with pytest.raises(BadRecord):
        curve_file.merge(path, LABELS, {2: kept(2)})


@pytest.mark.parametrize("content", [b"", b"PAR1 no", None], ids=["empty", "foreign", "no header"])
def test_what_is_no_published_file_is_refused(tmp_path, content):
    path = tmp_path / "A.parquet"
    if content is None:
        pq.write_table(pa.table({"a": [1]}), path)
    else:
        path.write_bytes(content)
    for reading in (curve_file.headers, curve_file.read):
        with pytest.raises(BadRecord, match="found a file that cannot be read"):
            reading(path)


def test_headers_share_what_all_seeds_have(tmp_path):
    path = tmp_path / "A.parquet"
    curve_file.merge(path, LABELS, {seed: kept(seed) for seed in range(3)})
    said = json.loads(zlib.decompress(pq.read_metadata(path).metadata[curve_file.KEY]))
    assert said["shared"]["provenance"] == {"commit": "c0ffee", "code_path": {"blas": []}}
    assert set(said["seeds"]["1"]) == {"seed", "trace_sha256", curve_file.SEAL}
    now = curve_file.headers(path)
    changed(path, json.dumps(said))  # as older files have it
    assert curve_file.headers(path) == now and set(curve_file.read(path)) == {0, 1, 2}


def test_a_file_that_is_too_large_is_not_written(tmp_path, monkeypatch):
    path = tmp_path / "A.parquet"
    curve_file.merge(path, LABELS, {0: kept(0)})
    content = path.read_bytes()
    monkeypatch.setattr(curve_file, "LARGEST", len(content))
    noise = np.random.default_rng(0).standard_normal(6)
    with pytest.raises(curve_file.TooLarge, match="expected at most"):
        curve_file.merge(path, LABELS, {1: kept(1, noise=noise)})
    assert path.read_bytes() == content and list(tmp_path.iterdir()) == [path]


def test_a_column_may_not_have_the_name_of_a_label(tmp_path):
    with pytest.raises(ValueError, match="expected no column called problem"):
        curve_file.merge(tmp_path / "A.parquet", LABELS, {0: kept(0, problem=np.arange(6))})


@pytest.mark.parametrize("values", [(0, 0.0), (1, True), (0.0, -0.0)])
def test_numbers_that_are_equal_and_written_otherwise_are_kept_apart(tmp_path, values):
    path = tmp_path / "A.parquet"
    records = {}
    for seed, value in enumerate(values):
        one = kept(seed)
        records[seed] = Kept({**one.header, "x": value}, one.columns, one.some)
    curve_file.merge(path, LABELS, records)
    found = curve_file.read(path)
    assert [repr(found[seed].header["x"]) for seed in (0, 1)] == [repr(value) for value in values]


def test_a_record_of_another_seed_is_not_written(tmp_path):
    path = tmp_path / "A.parquet"
    with pytest.raises(ValueError, match=r"expected a record of seed 1, got one of seed 0"):
        curve_file.merge(path, LABELS, {1: kept(0)})
    assert not path.exists()
