"""A raw file: whether it is the wanted one, and how it comes out of a stream or an archive."""

from __future__ import annotations

import hashlib
import lzma
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO

from workflow.data.manifest import File
from workflow.data.places import writing
from workflow.trace.atomic import atomic

SLACK = 1 << 20  # bytes more than are wanted, so that another version can be named by its checksum
LARGEST = 1 << 32  # bytes of a file whose size nobody states
CHUNK = 1 << 16
DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError)


class Rejected(Exception):
    """What one source gave instead of the file.

    A server may be quoted: what moves a cursor, turns the direction of writing or cannot be seen is
    shown as an escape, such as \\u202e.
    """

    def __init__(self, reason: str) -> None:
        shown = (
            each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
            for each in reason
        )
        super().__init__("".join(shown))


def say(line: str) -> None:
    """One line for people, on stderr."""
    print(f"fetch: {line}", file=sys.stderr, flush=True)


def verify(path: Path, wanted: File) -> None:
    """Compare a file of any size with what is wanted. Raises Rejected."""
    _check(file_sha256(path), path.stat().st_size, wanted)


def bound(wanted: File) -> int:
    """More bytes than any version of a file has."""
    return SLACK + (wanted.bytes or LARGEST)


def _check(sha256: str, size: int, wanted: File) -> None:
    if size > bound(wanted):
        raise Rejected(f"expected {wanted.bytes or 'fewer'} bytes, got more than {bound(wanted)}")
    if wanted.sha256 and sha256 != wanted.sha256:
        raise Rejected(
            f"expected sha256 {wanted.sha256} ({wanted.bytes or 'unknown'} bytes), got sha256"
            f" {sha256} ({size} bytes)"
        )


def file_sha256(path: Path) -> str:
    """The checksum of a file, in constant memory. Raises Rejected if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Rejected(error.strerror or str(error)) from None


def unpack(archive: Path, member: str, target: Path, wanted: File) -> None:
    """Copy one plain file out of a zip or tar archive. Raises Rejected if it is not there or not
    the wanted one.

    Nothing else of the archive is written, and no link in it is followed.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                if packed.getinfo(member).flag_bits & 1:
                    raise KeyError(f"{member}, which is encrypted")
                with packed.open(member) as file:
                    return copy(file, target, wanted)
        with tarfile.open(archive) as tar:
            info = tar.getmember(member)
            stream = tar.extractfile(info) if info.isreg() else None
            if stream is None:
                raise KeyError(f"{member}, which is no plain file")
            return copy(stream, target, wanted)
    except (KeyError, OSError, EOFError, NotImplementedError, *DAMAGED) as error:
        raise Rejected(f"expected an archive with {member}, got {error}") from None


def copy(file: IO[bytes], target: Path, wanted: File) -> None:
    """Copy a stream to `target` if it turns out to be the wanted file.

    Raises Rejected, or DataUnavailable if it cannot be written.
    """
    digest, size = hashlib.sha256(), 0
    with writing(target), atomic(target) as temporary, temporary.open("wb") as written:
        while size <= bound(wanted) and (chunk := _piece(file)):
            digest.update(chunk)
            size += len(chunk)
            written.write(chunk)
        _check(digest.hexdigest(), size, wanted)


def _piece(file: IO[bytes]) -> bytes:
    """What cannot be read is the source's fault, not that of the folder written to."""
    try:
        return file.read(CHUNK)
    except OSError as error:
        raise Rejected(error.strerror or str(error)) from None
