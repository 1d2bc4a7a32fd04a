"""Records: what was written comes back; anything else is refused with directions."""

import json
import sys
from importlib import metadata

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from workflow.trace import one_path, record
from workflow.trace.record import BadRecord

HEADER = {"paper": "bbkb", "seed": 3, "best": 1.0, "display": {"label": "rings"}, "none": None}


def columns(rows=50):
    draw = np.random.default_rng(0)
    return {
        "evaluation": np.arange(rows),
        "query": draw.integers(4177, size=rows),
        "point": draw.random((rows, 3)),
        "y": draw.standard_normal(rows),
        "report.beta": np.where(np.arange(rows) < 2, np.nan, 0.5),
        "timing.ask": draw.random(rows),
    }


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "deep" / "down" / "0.parquet"
    record.write(path, HEADER, columns())
    return path


def refused(path):
    with pytest.raises(BadRecord) as caught:
        record.read(path)
    assert str(path) in str(caught.value)
    assert "expected" in str(caught.value)
    return str(caught.value)


def test_a_record_comes_back_bit_for_bit(tmp_path):
    path = tmp_path / "0.parquet"
    digest = record.write(path, HEADER, columns())
    found = record.read(path)
    seal = found.header[record.SEAL]
    assert found.header == {**HEADER, "rows": 50, "trace_sha256": digest, record.SEAL: seal}
    assert record.read_header(path) == found.header
    assert found.rows == 50
    assert list(found.columns) == list(columns())
    for name, values in columns().items():
        assert found.columns[name].dtype == values.dtype
        assert_array_equal(found.columns[name], values)
    assert record.trace_hash(found.columns) == digest


def test_one_row_and_special_values_come_back(tmp_path):
    values = {"y": np.array([-0.0]), "g": np.array([[np.nan, np.inf]]), "big": np.array([2**62])}
    digest = record.write(tmp_path / "0.parquet", {}, values)
    assert record.trace_hash(record.read(tmp_path / "0.parquet").columns) == digest


def test_the_trace_hash_leaves_timing_and_order_out_and_nothing_else():
    plain, hashes = columns(), set()
    assert record.trace_hash({**plain, "timing.ask": np.zeros(50)}) == record.trace_hash(plain)
    without = {name: values for name, values in plain.items() if name != "timing.ask"}
    assert record.trace_hash(without) == record.trace_hash(plain)
    assert record.trace_hash(dict(reversed(plain.items()))) == record.trace_hash(plain)
    last_bit = plain["y"].copy()
    last_bit[-1] = np.nextafter(last_bit[-1], 9)
    for other in (
        plain,
        {**plain, "y": last_bit},
        {**plain, "evaluation": plain["evaluation"].astype(np.int32)},
        {**plain, "point": plain["point"].reshape(-1, 1)},
        {("z" if name == "y" else name): values for name, values in plain.items()},
        {name: values for name, values in plain.items() if name != "y"},
        {name: values[:-1] for name, values in plain.items()},
    ):
        hashes.add(record.trace_hash(other))
    assert len(hashes) == 7


def test_a_missing_file_is_refused(tmp_path):
    assert "found no file: run the workflow again" in refused(tmp_path / "none.parquet")
    assert record.read_header(tmp_path / "none.parquet") == {}


@pytest.mark.parametrize("keep", [0, 1, 10, 0.5, 0.99])
def test_a_half_written_file_is_refused(written, keep):
    content = written.read_bytes()
    written.write_bytes(content[: keep if isinstance(keep, int) else int(keep * len(content))])
    assert "half-written or foreign; move it away and run again" in refused(written)
    assert record.read_header(written) == {}


def test_a_parquet_file_of_somebody_else_and_a_prepared_table_are_refused(tmp_path):
    path, table = tmp_path / "0.parquet", pa.table({"y": [1.0, 2.0]})
    prepared = {"name": "abalone", "data": "real"}
    for kept, said in [(None, {}), ({record.KEY: json.dumps(prepared)}, prepared)]:
        pq.write_table(table.replace_schema_metadata(kept), path)
        assert "without a readable header: move it away" in refused(path)
        assert record.read_header(path) == said


def test_rows_or_columns_changed_lost_or_added_are_refused(written):
    whole = pq.read_table(written)
    y = whole["y"].to_numpy().copy()
    y[7] += 1e-12
    for table in (
        whole.set_column(whole.column_names.index("y"), "y", pa.array(y)),
        whole.slice(0, 49),
        whole.drop_columns(["y"]),
        whole.append_column("z", whole["y"]),
    ):
        pq.write_table(table.replace_schema_metadata(whole.schema.metadata), written)
        said = refused(written)
        assert "expected 50 rows with trace" in said
        assert "the file was changed after it was written; move it away and run again" in said


def with_header(table, change):
    """The same rows below a header that somebody changed."""
    header = json.loads(table.schema.metadata[record.KEY])
    change(header)
    return table.replace_schema_metadata({record.KEY: json.dumps(header)})


def test_changed_timings_and_headers_are_refused_too(written):
    """Costs and figures of time are made from them."""
    whole = pq.read_table(written)
    place = whole.column_names.index("timing.ask")
    for table in (
        whole.set_column(place, "timing.ask", pa.array(np.zeros(50))),
        with_header(whole, lambda header: header.update(best=2.0)),
    ):
        pq.write_table(table, written)
        assert "found others: the file was changed after it was written" in refused(written)


def test_a_record_of_before_the_seal_is_read(written):
    before = with_header(pq.read_table(written), lambda header: header.pop(record.SEAL))
    pq.write_table(before, written)
    assert record.read(written).rows == 50


@pytest.mark.parametrize("part", ["rows", "header"])
def test_a_flipped_byte_is_refused_or_harmless(written, part):
    """Never another error, and never other numbers."""
    content, trace = written.read_bytes(), record.trace_hash(columns())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for place in range(0, footer, 23) if part == "rows" else range(footer, len(content), 7):
        written.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            found = record.read(written)
        except BadRecord:
            continue
        assert record.trace_hash(found.columns) == trace, f"byte {place} of {len(content)}"


def test_a_record_that_cannot_be_written_leaves_nothing_behind(written):
    before = written.read_bytes()
    with pytest.raises(pa.ArrowInvalid):
        record.write(written, HEADER, {"y": np.zeros(3), "x": np.zeros(2)})
    assert written.read_bytes() == before
    assert [file.name for file in written.parent.iterdir()] == [written.name]


def test_provenance_says_where_a_record_comes_from():
    found = record.provenance()
    assert {"numpy", "scipy"} <= set(found["libraries"])
    assert found["kernels"] == one_path.words() and record.processor() in found["machine"]
    assert found["libraries"]["numpy"] == np.__version__
    json.dumps(found)


@pytest.mark.parametrize("library", ["botorch", "optuna", "cma", "nevergrad"])
def test_provenance_names_a_library_once_it_is_loaded(library, monkeypatch):
    monkeypatch.delitem(sys.modules, library, raising=False)
    assert library not in record.provenance()["libraries"]
    monkeypatch.setitem(sys.modules, library, None)
    assert record.provenance()["libraries"][library] == metadata.version(library)
