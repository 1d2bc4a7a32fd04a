"""data/manifest.yaml: what every data set is, where it can be had, and what stands in where it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from workflow.prepared import DataUnavailable

DELIMITED = ("rows", "separator", "columns", "target", "content_sha256")  # what a table of delimited text must state


@dataclass(frozen=True)
class File:
    """A path below a mirror, and what must lie there."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Source:
    """A canonical URL of the raw file, or of the archive whose `member` it is; bytes 0 where the size is not known."""

    url: str
    sha256: str
    stated_by: str
    bytes: int = 0
    verified: bool = False
    member: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Substitute:
    """Which maker fills in, how it is labelled, and the numbers that shape it."""

    made_by: str
    says: str
    shape: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """One entry of the manifest, whose head explains the fields; from `rows` on only delimited text has them."""

    name: str
    title: str
    licence: str
    citation: str
    mirror: File
    sources: tuple[Source, ...]
    substitute: Substitute
    format: str = "delimited"
    content_sha256: str = ""
    calibration: File | None = None
    also_at: tuple[str, ...] = ()
    rows: int = 0
    separator: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    ignored: tuple[str, ...] = ()
    missing: str = "?"
    codes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def features(self) -> dict[str, str]:
        """Name and unit of the features, in the order of the raw file."""
        return {name: unit for name, unit in self.columns.items() if name not in (self.target, *self.ignored)}

    @property
    def accepted(self) -> dict[str, int]:
        """sha256 and size of every version of the raw file; they differ in a last newline, never in content."""
        direct = {source.sha256: source.bytes for source in self.sources if not source.member}
        return {self.mirror.sha256: self.mirror.bytes, **direct}


def read_manifest(root: Path) -> dict[str, Dataset]:
    """The data sets of root/data/manifest.yaml by name. Raises DataUnavailable if it is missing or lacks a field."""
    path = root / "data" / "manifest.yaml"
    try:
        entries = yaml.safe_load(path.read_text())
    except OSError as error:
        raise DataUnavailable(f"{path}: no manifest ({error.strerror}): run from the repository root") from None
    for name, entry in entries.items():
        if complaint := _complaint(entry):
            raise DataUnavailable(f"{path}: {name}: {complaint}: correct the entry")
    return {name: _dataset(name, entry) for name, entry in entries.items()}


def _complaint(entry: Mapping[str, Any]) -> str:
    """What is wrong with the fields of an entry, "" if nothing is."""
    known = [one.name for one in fields(Dataset) if one.name != "name"]
    required = [
        one.name for one in fields(Dataset) if one.name in known and one.default is MISSING and one.default_factory is MISSING
    ]
    delimited = entry.get("format", "delimited") == "delimited"
    if lacking := [one for one in [*required, *(DELIMITED if delimited else ())] if one not in entry]:
        return f"expected the fields {', '.join(lacking)}, got none"
    if foreign := [one for one in entry if one not in known]:
        return f"expected fields among {', '.join(known)}, got {', '.join(foreign)}"
    return ""


def _dataset(name: str, entry: Mapping[str, Any]) -> Dataset:
    nested = {
        "mirror": File(**entry["mirror"]),
        "sources": tuple(Source(**source) for source in entry["sources"]),
        "substitute": Substitute(**entry["substitute"]),
        "calibration": File(**entry["calibration"]) if "calibration" in entry else None,
    }
    return Dataset(name=name, **{**entry, **nested})
