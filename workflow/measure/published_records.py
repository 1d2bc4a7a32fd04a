"""The published records of a checkout, as reports read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workflow.measure.condense import restored
from workflow.measure.recent import Recent
from workflow.trace import curve_file
from workflow.trace.curve_file import Header
from workflow.trace.curves import AnyCurve, with_data
from workflow.trace.record import Record

HEADER = 1 << 14  # bytes of a record beside its columns, about


class PublishedRecords:
    """Published records below `root`: a file is read as a whole, and verified, for the first of
    its seeds.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._headers: dict[Path, Mapping[int, Header]] = {}
        self._files: Recent[Path, dict[int, Record]] = Recent(_bytes)

    def place(self, curve: AnyCurve) -> Path:
        """The file of a run."""
        return self.root / curve.published

    def headers(self, curve: AnyCurve) -> Mapping[int, Header]:
        """What the records of a run say, by seed; {} where none is published.

        Raises BadRecord where the file is damaged.
        """
        path = self.place(curve)
        if path not in self._headers:
            self._headers[path] = curve_file.headers(path) if path.exists() else {}
        return self._headers[path]

    def record(self, curve: AnyCurve, seed: int) -> Record:
        """The record of a seed that is published. Raises BadRecord where the file is damaged."""
        path = self.place(curve)

        def records() -> dict[int, Record]:
            return {number: restored(kept) for number, kept in curve_file.read(path).items()}

        return self._files.get(path, records)[seed]


def digest_today(curve: AnyCurve, header: Header) -> str:
    """The digest that a published record of a run would have today on the data that it names,
    whatever data this machine has.
    """
    return with_data(curve.digest, str(header.get("data_sha256", "")))


def bytes_of(record: Record) -> int:
    """What a record takes in memory, about."""
    return HEADER + sum(values.nbytes for values in record.columns.values())


def _bytes(records: Mapping[int, Record]) -> int:
    return sum(map(bytes_of, records.values()))
