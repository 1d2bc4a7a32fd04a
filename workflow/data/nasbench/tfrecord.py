"""TFRecord files: length, masked crc32c of the length, data, masked crc32c of the data; one after
the other, nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import google_crc32c

from workflow.data.places import DataUnavailable

LONGEST = 1 << 20  # bytes; a record of NAS-Bench-101 has some 400
HEAD, TAIL = struct.Struct("<QI"), struct.Struct("<I")


def records(path: Path) -> Iterator[tuple[int, bytes]]:
    """Byte offset and data of each record, both checksums verified.

    Raises DataUnavailable at the first damage.
    """
    offset = 0
    try:
        size = path.stat().st_size
        with path.open("rb", buffering=1 << 20) as file:
            while offset < size:
                data = _record(file, path, offset, size)
                yield offset, data
                offset += HEAD.size + len(data) + TAIL.size
    except OSError as error:
        raise damage(path, offset, f"expected a readable file, got {error}") from None


def masked_crc(data: bytes) -> int:
    """The checksum of the format: crc32c, rotated by 15 bits, plus a constant."""
    crc: int = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def damage(path: Path, offset: int, what: str) -> DataUnavailable:
    """The error for the record that begins at a byte offset; `what` says what was expected and
    what was got.
    """
    remedy = (
        "if its sha256 is not the one in data/manifest.yaml, delete the file and fetch it again; if"
        " it is, please report this"
    )
    return DataUnavailable(f"{path}: the record at byte {offset}: {what}: {remedy}")


def _record(file: BinaryIO, path: Path, offset: int, size: int) -> bytes:
    """The data of the record at the position of an open file of `size` bytes."""
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise damage(
            path, offset, f"expected {HEAD.size} bytes of length and checksum, got only {len(head)}"
        )
    length, crc = HEAD.unpack(head)
    if masked_crc(head[:8]) != crc:
        raise damage(
            path,
            offset,
            f"expected checksum {crc:08x} of the length, got {masked_crc(head[:8]):08x}",
        )
    most = min(size - offset - HEAD.size - TAIL.size, LONGEST)
    if length > most:
        raise damage(
            path, offset, f"expected at most {max(most, 0)} bytes of data, got a length of {length}"
        )
    data, tail = file.read(length), file.read(TAIL.size)
    if len(data) + len(tail) < length + TAIL.size:
        raise damage(
            path,
            offset,
            f"expected {size} bytes as at the start of reading, got a file that became shorter",
        )
    if masked_crc(data) != TAIL.unpack(tail)[0]:
        raise damage(
            path,
            offset,
            f"expected checksum {TAIL.unpack(tail)[0]:08x} of the data, got {masked_crc(data):08x}",
        )
    return data
