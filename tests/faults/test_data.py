"""Data that are changed after use: no run is made of them, no record of others counts."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults import steep
from tests.workflow import checkout
from workflow.data import delimited, fetch
from workflow.data.manifest import read_manifest
from workflow.data.places import DataUnavailable
from workflow.trace import record

RUN = ("workflow.run", "mini", "abalone", "uniform", "0-1", "--scale", "smoke")
FOLDER = Path("results", "smoke", "mini", "abalone", "uniform")
TABLE = Path("data", "prepared", "or-substitute", "abalone.parquet")


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A checkout in which two runs were made of a prepared table."""
    copy = checkout.make(tmp_path_factory.mktemp("data"))
    checkout.succeed(copy, *RUN)
    return copy


@pytest.fixture
def copy(used, tmp_path):
    return checkout.another(used, tmp_path)


def changed(table, change):
    """The same table and header, whole in every checksum of the format, but for the target."""
    position = table.column_names.index("target")
    target = pa.array(change(table.column(position).to_numpy()))
    return table.set_column(position, "target", target)


def test_a_table_that_is_not_what_it_says_is_refused_with_the_remedy(used, tmp_path):
    table, path = pq.read_table(used / TABLE), tmp_path / "abalone.parquet"
    fetch.check_table(used / TABLE, root=checkout.ROOT)
    said = {**json.loads(table.schema.metadata[record.KEY]), "name": "abalon"}
    for harmed in (
        changed(table, lambda target: np.r_[11.5, target[1:]]),
        table.rename_columns(["x9", *table.column_names[1:]]),
        pa.table({"target": [1.0]}),
        table.replace_schema_metadata({record.KEY: json.dumps(said)}),
        None,
    ):
        if harmed is None:
            path.write_bytes((used / TABLE).read_bytes()[:-1000])
        else:
            pq.write_table(harmed, path, write_page_checksum=True)
        with pytest.raises(DataUnavailable) as refused:
            fetch.check_table(path, root=checkout.ROOT)
        assert str(path) in str(refused.value) and "expected" in str(refused.value)
        assert "fetch" in str(refused.value)


def test_no_flipped_bit_gives_other_values_under_the_same_name(tmp_path):
    """One bit of every fourth byte: what is accepted has the values and content written."""
    dataset = read_manifest(checkout.ROOT)["diabetes"]
    values = np.random.default_rng(0).random((30, 4))
    path = tmp_path / "diabetes.parquet"
    fetch._write(delimited._prepared(values, {"a": "", "b": "", "c": ""}, "made"), dataset, path)
    content, said, accepted = path.read_bytes(), fetch.provenance(path), 0
    for byte in range(0, len(content), 4):
        changed = bytearray(content)
        changed[byte] ^= 1 << byte % 8
        path.write_bytes(changed)
        try:
            fetch.check_table(path, root=checkout.ROOT)
        except DataUnavailable:
            continue
        accepted += 1
        found = np.column_stack([column.to_numpy() for column in pq.read_table(path).columns])
        assert found.tobytes() == values.tobytes(), f"byte {byte}"
        assert fetch.provenance(path)["content_sha256"] == said["content_sha256"], f"byte {byte}"
    assert 0 < accepted < len(content) / 8  # statistics, padding, and the words of the header


@pytest.mark.slow
def test_a_damaged_table_makes_no_record_and_once_it_is_removed_all_is_as_before(copy):
    before, kept = steep.traces(copy, FOLDER), (copy / FOLDER / "0.parquet").stat().st_mtime_ns
    (copy / FOLDER / "1.parquet").unlink()
    content = bytearray((copy / TABLE).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / TABLE).write_bytes(content)
    failed = checkout.run(copy, *RUN)
    assert failed.returncode == 1
    assert str(TABLE) in failed.stderr and "run the workflow again" in failed.stderr
    assert list(steep.traces(copy, FOLDER)) == ["0.parquet"]
    (copy / TABLE).unlink()
    checkout.succeed(copy, *RUN)
    assert steep.traces(copy, FOLDER) == before
    assert (copy / FOLDER / "0.parquet").stat().st_mtime_ns == kept


@pytest.mark.slow
def test_another_table_makes_other_records_and_none_of_before_is_shown(copy):
    """A table that says it has other content: other records; the store keeps those of before."""
    before = steep.traces(copy, FOLDER)
    table = pq.read_table(copy / TABLE)
    other = changed(table, lambda target: target + 1.0)
    said = {
        **json.loads(table.schema.metadata[record.KEY]),
        "content_sha256": delimited.content_sha256(other),
    }
    shutil.copy(copy / TABLE, copy / "kept")
    pq.write_table(
        other.replace_schema_metadata({record.KEY: json.dumps(said)}),
        copy / TABLE,
        write_page_checksum=True,
    )
    refused = checkout.run(copy, "workflow.report", "mini", "verdicts", "--scale", "smoke")
    assert refused.returncode == 1 and "it is stale; move it away" in refused.stderr
    checkout.succeed(copy, *RUN)
    store = list((copy / "results" / "store").glob("*/*.parquet"))
    assert len({record.read_header(path)["digest"] for path in store}) == 2
    assert len(store) == 2 * len(before)  # a target that is only shifted gives the same traces
    shutil.copy(copy / "kept", copy / TABLE)
    checkout.succeed(copy, *RUN)
    assert steep.traces(copy, FOLDER) == before
