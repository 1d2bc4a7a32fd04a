"""Raw files out of streams and archives: never more than is accepted, and nothing else than the one
that is wanted.
"""

from __future__ import annotations

import hashlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from workflow.data.download import CHUNK
from workflow.data.partial import Rejected, bound, check, writing
from workflow.trace.atomic import atomic

DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError)


def unpack(archive: Path, member: str, target: Path, accepted: Mapping[str, int]) -> None:
    """Copy one plain file out of a zip or tar archive. Raises Rejected if it is not there or not
    the accepted one.

    Nothing else of the archive is written, and no link in it is followed.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                if packed.getinfo(member).flag_bits & 1:
                    raise KeyError(f"{member}, which is encrypted")
                with packed.open(member) as file:
                    return copy(file, target, accepted)
        with tarfile.open(archive) as tar:
            info = tar.getmember(member)
            found = tar.extractfile(info) if info.isreg() else None
            if found is None:
                raise KeyError(f"{member}, which is no plain file")
            return copy(found, target, accepted)
    except (KeyError, OSError, EOFError, NotImplementedError, *DAMAGED) as error:
        raise Rejected(f"expected an archive with {member}, got {error}") from None


def copy(file: IO[bytes], target: Path, accepted: Mapping[str, int]) -> None:
    """Copy a stream to `target` if it turns out to be an accepted one. Raises Rejected."""
    found, size = hashlib.sha256(), 0
    with writing(target), atomic(target) as temporary, temporary.open("wb") as written:
        for chunk in _pieces(file):
            found.update(chunk)
            size += len(chunk)
            if size > bound(accepted):
                raise Rejected(
                    f"expected {max(accepted.values()) or 'fewer'} bytes, got more than"
                    f" {bound(accepted)}"
                )
            written.write(chunk)
        check(found.hexdigest(), size, accepted)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """A stream piece by piece; what cannot be read is the source's fault, not that of the folder
    written to.
    """
    try:
        while chunk := file.read(CHUNK):
            yield chunk
    except OSError as error:
        raise Rejected(error.strerror or str(error)) from None
