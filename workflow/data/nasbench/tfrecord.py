"""TFRecord files: length, a checksum of the length, data, a checksum of the data; one after the
other, nothing else.

The checksums are passed over: the sha256 of the whole file is verified before the file is read, but
for one that `--accept-unverified` takes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from workflow.data.places import DataUnavailable

LONGEST = 1 << 20  # bytes; a record of NAS-Bench-101 has some 400
HEAD, CHECKSUM = struct.Struct("<Q4x"), 4


def records(path: Path) -> Iterator[tuple[int, bytes]]:
    """Byte offset and data of each record. Raises DataUnavailable at the first damage."""
    offset = 0
    try:
        with path.open("rb", buffering=1 << 20) as file:
            while head := file.read(HEAD.size):
                if len(head) < HEAD.size:
                    said = f"expected {HEAD.size} bytes of length and checksum, got {len(head)}"
                    raise damage(path, offset, said)
                (length,) = HEAD.unpack(head)
                if length > LONGEST:
                    said = f"expected at most {LONGEST} bytes of data, got a length of {length}"
                    raise damage(path, offset, said)
                data = file.read(length + CHECKSUM)
                if (missing := length + CHECKSUM - len(data)) > 0:
                    raise damage(path, offset, f"expected {missing} bytes more, got the file's end")
                yield offset, data[:length]
                offset += HEAD.size + len(data)
    except OSError as error:
        raise damage(path, offset, f"expected a readable file, got {error}") from None


def damage(path: Path, offset: int, what: str) -> DataUnavailable:
    """The error for the record that begins at a byte offset; `what` says what was expected and
    what was got.
    """
    remedy = (
        "if its sha256 is not the one in data/manifest.yaml, delete the file and fetch it again; if"
        " it is, please report this"
    )
    return DataUnavailable(f"{path}: the record at byte {offset}: {what}: {remedy}")
