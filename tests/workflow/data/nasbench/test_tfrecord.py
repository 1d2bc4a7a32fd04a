"""The framing of TFRecord files: a record of known bytes, and damage of every kind."""

import hashlib
import struct

import numpy as np
import pytest

from tests.workflow.data.nasbench.layout import framed
from workflow.data.nasbench.tfrecord import LONGEST, masked_crc, records
from workflow.data.places import DataUnavailable

RECORDS = [b"one", b"", b"three" * 20, bytes(range(256)), b"x"]
# one record in the layout of nasbench_only108.tfrecord, but without line breaks in the measurements
KNOWN = bytes.fromhex(
    "8d0100000000000039dff0895b223030303035633134326536663438616337346664636637336533343339383734222c203130382c20223031303031"
    "3130303031303030303030303130303130303030303130303030303031303030303030303130303030303030222c2022696e7075742c636f6e763378"
    "332d626e2d72656c752c6d6178706f6f6c3378332c636f6e763378332d626e2d72656c752c636f6e763378332d626e2d72656c752c636f6e76317831"
    "2d626e2d72656c752c6f7574707574222c20224369304a41414141414141414141415241414141414141414141415a6d706d5a6d5a6d5a755438686d"
    "706d5a6d5a6d5a755438706d706d5a6d5a6d5a7554384b4c516b41414141414141424c51424541414141417170754c51426b4141414141306f447150"
    "7945414141416764754c6f50796b4141414241374d546f50776f744351414141414141414674414551414141414344704a7441475141414141414141"
    "50412f49514141414344666b75302f4b514141414b42426575302f454971596967515a41414141414142416e30413d225d1c6baae3"
)


def write(path, contents):
    path.write_bytes(b"".join(framed(data) for data in contents))
    return path


def test_the_known_record(tmp_path):
    assert (
        hashlib.sha256(KNOWN).hexdigest()
        == "1fddc88760efbd222cb50825cd370c02d0bef0b42673775f2b92109e7b43b422"
    )
    path = tmp_path / "known.tfrecord"
    path.write_bytes(KNOWN * 2)
    (first, data), (second, again) = records(path)
    assert (first, second) == (0, 413)
    assert data == again == KNOWN[12:-4]
    assert data.startswith(b'["00005c142e6f48ac74fdcf73e3439874", 108, "')


def test_the_checksum_is_that_of_the_format():
    # crc32c("123456789") = e3069283: rotated right by 15 bits, plus the constant.
    crc = 0xE3069283
    assert masked_crc(b"123456789") == ((crc >> 15) + (crc << 17) % 2**32 + 0xA282EAD8) % 2**32


def test_offsets_and_data(tmp_path):
    found = list(records(write(tmp_path / "f", RECORDS)))
    assert [data for _, data in found] == RECORDS
    assert [offset for offset, _ in found] == np.cumsum(
        [0, *(len(data) + 16 for data in RECORDS[:-1])]
    ).tolist()


def test_an_empty_file_has_no_records(tmp_path):
    assert list(records(write(tmp_path / "f", []))) == []


def test_a_cut_anywhere_but_between_records_is_noticed(tmp_path):
    path = write(tmp_path / "f", RECORDS)
    whole = path.read_bytes()
    starts = [offset for offset, _ in records(path)]
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        if length in starts:
            assert len(list(records(path))) == starts.index(length)
            continue
        last = max(start for start in starts if start < length)
        with pytest.raises(
            DataUnavailable, match=rf"record at byte {last}: expected .*, got "
        ) as caught:
            list(records(path))
        assert (
            ": if its sha256 is not the one in data/manifest.yaml, delete the file and fetch it"
            " again" in str(caught.value)
        )
        assert str(caught.value).endswith("; if it is, please report this")


def test_every_flipped_bit_is_noticed_where_it_is(tmp_path):
    path = write(tmp_path / "f", RECORDS)
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
    path.write_bytes(
        framed(b"first") + head + struct.pack("<I", masked_crc(head)) + b"abc" + bytes(4)
    )
    with pytest.raises(
        DataUnavailable,
        match=f"at byte 21: expected at most 3 bytes of data, got a length of {length}",
    ):
        list(records(path))


def test_a_record_beyond_any_reason_is_refused_even_if_it_is_there(tmp_path):
    path = write(tmp_path / "f", [bytes(LONGEST + 1)])
    with pytest.raises(DataUnavailable, match=f"expected at most {LONGEST} bytes"):
        list(records(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(
        DataUnavailable,
        match=r"gone\.tfrecord: the record at byte 0: expected a readable file, got",
    ):
        list(records(tmp_path / "gone.tfrecord"))


def test_records_are_read_one_by_one(tmp_path):
    path = write(tmp_path / "f", [b"good", b"bad"])
    path.write_bytes(path.read_bytes()[:-1])
    reading = records(path)
    assert next(reading) == (0, b"good")
    with pytest.raises(DataUnavailable, match="byte 20"):
        next(reading)
