"""What a raw file becomes, whatever its format: a table with provenance, real or a labelled substitute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa


class DataUnavailable(RuntimeError):
    """A data set that cannot be had, read or written; says what was tried or found, and what to do."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """The table of a data set and where it came from; `content_sha256` is that of the values, whichever file held them.

    `data` is "real" or "substitute: ..."; `features` names what the columns mean, with units.
    """

    table: pa.Table
    content_sha256: str
    source: str
    data: str = "real"
    features: Mapping[str, str] = field(default_factory=dict)
