"""The framing of TFRecord files: a record of known bytes, and files that end within one."""

import struct

import numpy as np
import pytest

from tests.workflow.data.nasbench.layout import framed, write
from workflow.data.nasbench.tfrecord import LONGEST, records
from workflow.data.places import DataUnavailable

RECORDS = [b"one", b"", b"three" * 20, bytes(range(256)), b"x"]


def test_offsets_and_data(tmp_path):
    found = list(records(write(tmp_path / "f", RECORDS)))
    assert [data for _, data in found] == RECORDS
    sizes = [len(data) + 16 for data in RECORDS[:-1]]
    assert [offset for offset, _ in found] == np.cumsum([0, *sizes]).tolist()


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "f", RECORDS)


def test_a_cut_anywhere_but_between_records_is_noticed(path):
    whole = path.read_bytes()
    starts = [offset for offset, _ in records(path)]
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        if length in starts:
            assert len(list(records(path))) == starts.index(length)
            continue
        last = max(start for start in starts if start < length)
        remedy = ": if its sha256 is not the one in data/manifest.yaml, delete the file and fetch"
        message = rf"record at byte {last}: expected .*, got .*{remedy}"
        with pytest.raises(DataUnavailable, match=message):
            list(records(path))


@pytest.mark.parametrize("length", [LONGEST + 1, 2**63, 2**64 - 1])
def test_an_absurd_length_is_refused(tmp_path, length):
    path = tmp_path / "f"
    path.write_bytes(framed(b"first") + struct.pack("<Q4x", length) + b"abc")
    message = f"at byte 21: expected at most {LONGEST} bytes of data, got a length of {length}"
    with pytest.raises(DataUnavailable, match=message):
        list(records(path))


def test_a_missing_file_is_named(tmp_path):
    message = r"gone\.tfrecord: the record at byte 0: expected a readable file, got"
    with pytest.raises(DataUnavailable, match=message):
        list(records(tmp_path / "gone.tfrecord"))


def test_records_are_read_one_by_one(tmp_path):
    path = write(tmp_path / "f", [b"good", b"bad"])
    path.write_bytes(path.read_bytes()[:-1])
    reading = records(path)
    assert next(reading) == (0, b"good")
    with pytest.raises(DataUnavailable, match="byte 20"):
        next(reading)
