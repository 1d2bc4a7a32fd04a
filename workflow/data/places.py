"""What a raw file becomes, whatever its format: a table with provenance, real or a labelled
substitute, and its place.

Snakemake's rules ask for that place in every process, so this imports no numerical library.
"""

from __future__ import annotations

import filecmp
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# what is said of data begins with one of these, unless they are real
UNVERIFIED = "unverified: "  # before the file of a table that no checksum confirms
SUBSTITUTE = "substitute: "  # before what takes the place of the paper's


class DataUnavailable(RuntimeError):
    """A data set that cannot be had, read or written; says what was tried or found,
    and what to do.
    """


def is_substitute(data: str) -> bool:
    """Whether what is said of data names what takes the place of the paper's."""
    return data.startswith(SUBSTITUTE)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The table of a data set and where it came from; `content_sha256` is that of the values,
    whichever file held them.

    `data` is "real", "unverified: ..." or "substitute: ..."; `features` names what the columns
    mean, with units.
    """

    table: pa.Table
    content_sha256: str
    source: str
    data: str = "real"
    features: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write into a sentence. Raises DataUnavailable."""
    try:
        yield
    except OSError as error:
        raise DataUnavailable(
            f"{path}: cannot be written ({error.strerror}): expected a folder with room that we may"
            " write to; change its permissions or run in another checkout"
        ) from None


def prepared_path(name: str, *, root: Path, substitutes: bool) -> Path:
    """Where the prepared table lies: what may be a substitute never takes the place of the real
    one.

    The place depends on no file, so that every job of a run, and its report, name the same one.
    """
    return root / "data" / "prepared" / ("or-substitute" if substitutes else "") / f"{name}.parquet"


def superseded(name: str, *, root: Path) -> bool:
    """Whether there is a real table, and what may be a substitute is not a copy of it."""
    real, other = (
        prepared_path(name, root=root, substitutes=substitutes) for substitutes in (False, True)
    )
    return real.exists() and other.exists() and not filecmp.cmp(real, other, shallow=False)


def substitutes_allowed(scale: str) -> bool:
    """Whether a run may use substitutes: at paper scale only if NOREGRET_SUBSTITUTES says so.

    Raises DataUnavailable.
    """
    return bool(_wish()) or scale != "paper"


def downloads_allowed() -> bool:
    """Whether a server may be asked: not if substitutes are preferred. Raises DataUnavailable."""
    return _wish() != "preferred"


def mirror_as_shown() -> str:
    """NOREGRET_DATA as it may be printed and kept: a name and a password in it are for its server
    alone.
    """
    return without_credentials(os.environ.get("NOREGRET_DATA", ""))


def without_credentials(address: str) -> str:
    """An address without what stands before its host.

    Where a password holds an @ or a / that should have been escaped, nothing says where it ends:
    all up to the last @ goes. A path of this machine, `file:` or not, stays as it is.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = "", address
    if scheme == "file" or (not separator and not re.match(r"[^/@]+:[^/@]*@", address)):
        return address
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _wish() -> str:
    """What the environment says of substitutes: nothing, allowed or preferred."""
    said = os.environ.get("NOREGRET_SUBSTITUTES", "")
    if said not in ("", "allowed", "preferred"):
        raise DataUnavailable(
            f"NOREGRET_SUBSTITUTES: expected allowed, preferred or nothing, got {said!r}: correct"
            " or unset it"
        )
    return said
