"""data/manifest.yaml: what every data set is, where it can be had, and which substitute replaces
it where it cannot.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from workflow.data.places import DataUnavailable

# the same, but every process of a run reads the names
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# below data/raw: no .., no root
PLACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
# each has parse, substitute, content_sha256
FORMATS = {"delimited": "workflow.data.delimited", "nasbench101": "workflow.data.nasbench"}
# what a table of delimited text must state
DELIMITED = "rows", "separator", "columns", "target", "content_sha256"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class File(_Entry):
    """A path below a mirror, and what must lie there. sha256 "" and bytes 0: not known; then the
    content of the table decides.
    """

    path: str
    sha256: str = ""
    bytes: int = 0

    @field_validator("path")
    @classmethod
    def _below_the_data(cls, path: str) -> str:
        if not PLACE.fullmatch(path):
            raise ValueError(
                f"expected a file as folder/name (letters, digits, -, _ and .), got {path!r:.200}"
            )
        return path


class Source(_Entry):
    """A canonical URL of a raw file, or of the archive whose `member` it is; `file` is the path of
    that file, "" for the first one of the mirror.
    """

    url: str
    member: str = ""
    file: str = ""

    @field_validator("url")
    @classmethod
    def _on_the_web(cls, url: str) -> str:
        if not url.startswith(("https://", "http://")):
            raise ValueError(f"expected a http or https URL, got {url!r:.200}")
        return url


class Layout(_Entry):
    """Another order of the columns, between which there are `separator`s (" ": any blanks)."""

    separator: str
    columns: tuple[str, ...]


class Substitute(_Entry):
    """Which maker fills in, how it is labelled, and the numbers that shape it."""

    made_by: str
    says: str
    shape: Mapping[str, float] = Field(default_factory=dict)


class Dataset(_Entry):
    """One entry of the manifest, whose head explains the fields; from `rows` on only delimited text
    has them.
    """

    name: str
    title: str
    licence: str
    citation: str
    mirror: tuple[File, ...] = Field(min_length=1)
    sources: tuple[Source, ...]
    substitute: Substitute
    format: str = "delimited"
    content_sha256: str = ""
    also_at: tuple[str, ...] = ()
    rows: int = 0
    separator: str = ""
    columns: Mapping[str, str] = Field(default_factory=dict)
    target: str = ""
    ignored: tuple[str, ...] = ()
    missing: str = "?"
    codes: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    layouts: tuple[Layout, ...] = ()

    @field_validator("name")
    @classmethod
    def _is_plain(cls, name: str) -> str:
        if not re.fullmatch("[a-z0-9_]+", name):
            raise ValueError("expected a name of small letters, digits and _")
        return name

    @model_validator(mode="after")
    def _fields_fit(self) -> Dataset:
        if self.format not in FORMATS:
            raise ValueError(
                f"expected a format among {', '.join(FORMATS)}, got {self.format!r:.80}"
            )
        lacking = [one for one in DELIMITED if not getattr(self, one)]
        if self.format == "delimited" and lacking:
            raise ValueError(f"expected the fields {', '.join(lacking)}, got none")
        paths = [file.path for file in self.mirror]
        for source in self.sources:
            if source.file not in ("", *paths):
                raise ValueError(
                    f"expected a file among {', '.join(paths)}, got {source.file!r:.200}"
                )
        if not self.content_sha256 and not all(file.sha256 for file in self.mirror):
            raise ValueError("expected the sha256 of each file, or content_sha256 of the table")
        return self

    @property
    def module(self) -> Any:
        """What reads the format, makes a substitute, and knows the checksum of a table."""
        return importlib.import_module(FORMATS[self.format])

    @property
    def features(self) -> dict[str, str]:
        """Name and unit of the features, in the order of the raw file."""
        skipped = (self.target, *self.ignored)
        return {name: unit for name, unit in self.columns.items() if name not in skipped}

    def file(self, source: Source) -> File:
        """The raw file that a source gives."""
        return next(file for file in self.mirror if source.file in ("", file.path))


def read_manifest(root: Path) -> dict[str, Dataset]:
    """The data sets of root/data/manifest.yaml by name.

    Raises DataUnavailable if it is missing or an entry is wrong.
    """
    datasets = {}
    for name, entry in _entries(root).items():
        try:
            if not isinstance(entry, dict):
                raise ValueError(f"expected fields, got {entry!r:.80}")
            datasets[name] = Dataset.model_validate({**entry, "name": name})
        except ValueError as error:
            wrong = str(error)
            if isinstance(error, ValidationError):
                first = error.errors()[0]
                field = ".".join(map(str, first["loc"]))
                said = first["msg"].removeprefix("Value error, ")
                wrong = f"{field}: {said}" if field else said
            path = root / "data" / "manifest.yaml"
            raise DataUnavailable(f"{path}: {name}: {wrong}: correct the entry") from None
    return datasets


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
