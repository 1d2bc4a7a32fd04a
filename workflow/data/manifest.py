"""data/manifest.yaml: what every data set is, where it can be had, and what stands in where it
cannot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from workflow.data.places import DataUnavailable

# the same, but every process of a run reads the names
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# below data/raw: no .., no root
PLACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
# what a table of delimited text must state
DELIMITED = "rows", "separator", "columns", "target", "content_sha256"


@dataclass(frozen=True)
class File:
    """A path below a mirror, and what must lie there; sha256 "" and bytes 0 if these are not known:
    then the content of the table decides.
    """

    path: str
    sha256: str = ""
    bytes: int = 0


@dataclass(frozen=True)
class Source:
    """A canonical URL of a raw file, or of the archive whose `member` it is; `file` is the path of
    that file, "" for the first one of the mirror.
    """

    url: str
    member: str = ""
    file: str = ""


@dataclass(frozen=True)
class Layout:
    """Another order of the columns, between which there are `separator`s (" ": any blanks)."""

    separator: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Substitute:
    """Which maker fills in, how it is labelled, and the numbers that shape it."""

    made_by: str
    says: str
    shape: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """One entry of the manifest, whose head explains the fields; from `rows` on only delimited text
    has them.
    """

    name: str
    title: str
    licence: str
    citation: str
    mirror: tuple[File, ...]
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
    layouts: tuple[Layout, ...] = ()

    @property
    def features(self) -> dict[str, str]:
        """Name and unit of the features, in the order of the raw file."""
        return {
            name: unit
            for name, unit in self.columns.items()
            if name not in (self.target, *self.ignored)
        }

    def file(self, source: Source) -> File:
        """The raw file that a source gives."""
        return next(file for file in self.mirror if source.file in ("", file.path))


def read_manifest(root: Path) -> dict[str, Dataset]:
    """The data sets of root/data/manifest.yaml by name.

    Raises DataUnavailable if it is missing or an entry is wrong.
    """
    found = {}
    for name, entry in _entries(root).items():
        try:
            if complaint := _complaint(name, entry):
                raise ValueError(complaint)
            found[name] = _dataset(name, entry)
            if complaint := _misplaced(found[name]):
                raise ValueError(complaint)
        except (
            TypeError,
            KeyError,
            ValueError,
        ) as error:  # nested fields that are lacking or foreign
            raise DataUnavailable(
                f"{root / 'data' / 'manifest.yaml'}: {name}: {error}: correct the entry"
            ) from None
    return found


@cache
def names_in(root: Path) -> list[str]:
    """The names of the data sets. Raises DataUnavailable if there is no manifest."""
    return list(map(str, _entries(root)))


def _entries(root: Path) -> dict[Any, Any]:
    """The manifest as YAML has it."""
    path = root / "data" / "manifest.yaml"
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
    except OSError as error:
        raise DataUnavailable(
            f"{path}: no manifest ({error.strerror}): run from the repository root"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise DataUnavailable(
            f"{path} is no valid YAML: {error or 'nested too deep'}: get it again"
        ) from None
    if not isinstance(entries, dict):
        raise DataUnavailable(
            f"{path}: expected entries by the name of a data set, got {entries!r:.80}: get it again"
        )
    return entries


def _misplaced(dataset: Dataset) -> str:
    """What is wrong with the places that an entry names, "" if nothing is: files lie below
    data/raw, sources are on the web.
    """
    for file in filter(None, (*dataset.mirror, dataset.calibration)):
        if not PLACE.fullmatch(str(file.path)) or not isinstance(file.bytes, int):
            return (
                "expected a file as folder/name (letters, digits, -, _ and .) and its bytes, got"
                f" {file.path!r}, {file.bytes!r}"
            )
    paths = [file.path for file in dataset.mirror]
    for source in dataset.sources:
        if not str(source.url).startswith(("https://", "http://")):
            return f"expected a http or https URL, got {source.url!r:.200}"
        if source.file not in ("", *paths):
            return f"expected a file among {', '.join(paths)}, got {source.file!r:.200}"
    if not dataset.content_sha256 and not all(file.sha256 for file in dataset.mirror):
        return "expected the sha256 of each file, or content_sha256 of the table"
    return ""


def _complaint(name: object, entry: object) -> str:
    """What is wrong with the fields of an entry, "" if nothing is."""
    if not re.fullmatch("[a-z0-9_]+", str(name)):
        return "expected a name of small letters, digits and _"
    if not isinstance(entry, dict):
        return f"expected fields, got {entry!r:.80}"
    known = [one.name for one in fields(Dataset) if one.name != "name"]
    required = [
        one.name
        for one in fields(Dataset)
        if one.name in known and one.default is MISSING and one.default_factory is MISSING
    ]
    delimited = entry.get("format", "delimited") == "delimited"
    if lacking := [
        one for one in [*required, *(DELIMITED if delimited else ())] if one not in entry
    ]:
        return f"expected the fields {', '.join(lacking)}, got none"
    if foreign := [one for one in entry if one not in known]:
        return f"expected fields among {', '.join(known)}, got {', '.join(foreign)}"
    return ""


def _dataset(name: str, entry: Mapping[str, Any]) -> Dataset:
    nested = {
        "mirror": tuple(File(**file) for file in entry["mirror"]),
        "sources": tuple(Source(**source) for source in entry["sources"]),
        "substitute": Substitute(**entry["substitute"]),
        "calibration": File(**entry["calibration"]) if "calibration" in entry else None,
        "layouts": tuple(Layout(**layout) for layout in entry.get("layouts", ())),
    }
    return Dataset(name=name, **{**entry, **nested})
