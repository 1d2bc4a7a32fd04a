"""The framing of TFRecord files: a record of known bytes, and damage of every kind."""

import struct

import numpy as np
import pytest

from tests.workflow.data.nasbench.layout import framed, write
from workflow.data.nasbench.tfrecord import LONGEST, masked_crc, records
from workflow.data.places import DataUnavailable

RECORDS = [b"one", b"", b"three" * 20, bytes(range(256)), b"x"]


def test_the_checksum_is_that_of_the_format():
    # crc32c("123456789") = e3069283: rotated right by 15 bits, plus the constant.
    crc = 0xE3069283
    assert masked_crc(b"123456789") == ((crc >> 15) + (crc << 17) % 2**32 + 0xA282EAD8) % 2**32


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


def test_every_flipped_bit_is_noticed_where_it_is(path):
    whole = path.read_bytes()
    starts = [offset for offset, _ in records(path)]
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        last = max(start for start in starts if start <= bit // 8)
        with pytest.raises(DataUnavailable, match=f"record at byte {last}: expected"):
            list(records(path))


@pytest.mark.parametrize("length", [4, LONGEST + 1, 2**63, 2**64 - 1])
def test_an_absurd_length_with_a_right_checksum_is_refused(tmp_path, length):
    head = struct.pack("<Q", length)
    path = tmp_path / "f"
    checksum = struct.pack("<I", masked_crc(head))
    path.write_bytes(framed(b"first") + head + checksum + b"abc" + bytes(4))
    message = f"at byte 21: expected at most 3 bytes of data, got a length of {length}"
    with pytest.raises(DataUnavailable, match=message):
        list(records(path))


def test_a_record_beyond_any_reason_is_refused_even_if_it_is_there(tmp_path):
    path = write(tmp_path / "f", [bytes(LONGEST + 1)])
    with pytest.raises(DataUnavailable, match=f"expected at most {LONGEST} bytes"):
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
