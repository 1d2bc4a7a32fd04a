"""The published form of records: one Parquet file for all seeds of a curve on a problem, or of a
study.

A row is an evaluation, a column what is kept of it, so that `pandas.read_parquet` gives a tidy
table; docs/data.md is its dictionary. The schema metadata hold the header of each record, what all
seeds share once, as compressed JSON (plain in older files). A column that is kept at some
evaluations alone is null at the others. Equal content gives equal bytes, and a file to which
nothing is added is not written. What is kept of a record is sealed by a hash of its own, since the
columns that are left out are part of the hash of the trace.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from workflow.trace.atomic import atomic
from workflow.trace.record import BadRecord, Header

KEY = b"noregret.published"
SEAL = "published_sha256"  # of what is kept of a record: its header and its columns
CARRIED = "carried"  # the digests that a record had before, and what showed its trace the same
FORMAT = 1
LARGEST = 2_000_000  # bytes of a file
LEVEL = 19  # of zstd: written once, read often
REPEATED = 4  # rows of a column for each of its values, from which on a dictionary is smaller
SEED = "seed"
WHOLE = 1 << 26  # bytes of a page: a column is one
UNREADABLE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError)  # as our Parquet
AGAIN = "take it from the repository again (`git checkout` of it)"
Labels = Mapping[str, str]
Some = tuple[NDArray[np.int64], NDArray]  # rows, in their order, and the values there


class TooLarge(ValueError):
    """A file of more bytes than one may have in the repository."""


@dataclass(frozen=True)
class Kept:
    """What is kept of a record: its header, columns at every row, (n,), and columns at some rows,
    the first and the last among them.
    """

    header: Header
    columns: Mapping[str, NDArray]
    some: Mapping[str, Some] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.header["rows"])

    @property
    def seed(self) -> int:
        return int(self.header["seed"])


class Merged(NamedTuple):
    """The seeds of a merge: those that are new, that were published before, and that were before
    with another digest or trace.
    """

    added: tuple[int, ...]
    there: tuple[int, ...]
    other: tuple[int, ...]


def sealed(kept: Kept) -> Kept:
    """The same with the hash of its header and columns in the header."""
    return Kept({**kept.header, SEAL: _seal(kept)}, kept.columns, kept.some)


def merge(
    path: Path, labels: Labels, records: Mapping[int, Kept], *, replace: bool = False
) -> Merged:
    """Add records to a file, by seed, or make it.

    One that is there with the same digest and trace stays as it is. One with another digest or
    trace is left, too, unless `replace`, which also takes an equal record that was made with other
    kernels of the CPU. Raises BadRecord where the file is damaged, TooLarge.
    """
    before = read(path) if path.exists() else {}
    there = {seed for seed, kept in records.items() if seed in before}
    same = {seed for seed in there if _identity(before[seed]) == _identity(records[seed])}
    if replace:
        same = {seed for seed in same if _kernels(before[seed]) == _kernels(records[seed])}
    other = there - same
    new = {
        seed: sealed(kept)
        for seed, kept in records.items()
        if seed not in there or (replace and seed in other)
    }
    if new:
        write(path, labels, {**before, **new})
    return Merged(*(tuple(sorted(seeds)) for seeds in (new.keys() - there, same, other)))


def amend(path: Path, labels: Labels, changes: Mapping[int, Header]) -> None:
    """Put fields into the headers of some seeds, and seal these anew; columns and other seeds stay
    as they are.

    Raises BadRecord where the file is damaged, TooLarge.
    """
    records = read(path)
    for seed, fields in changes.items():
        kept = records[seed]
        records[seed] = sealed(Kept({**kept.header, **fields}, kept.columns, kept.some))
    write(path, labels, records)


def write(path: Path, labels: Labels, records: Mapping[int, Kept]) -> None:
    """Write sealed records, seed after seed. `labels` are columns that are the same in all rows.

    Raises TooLarge, and leaves what was there, and ValueError where a record is of another seed.
    """
    if wrong := [seed for seed, kept in records.items() if kept.seed != seed]:
        other = records[wrong[0]].seed
        raise ValueError(f"{path}: expected a record of seed {wrong[0]}, got one of seed {other}")
    parts = [records[seed] for seed in sorted(records)]
    rows = [kept.rows for kept in parts]
    columns = {name: _repeated(value, sum(rows)) for name, value in labels.items()}
    columns[SEED] = pa.array(np.repeat(np.array(sorted(records), dtype=np.int64), rows))
    names = dict.fromkeys(name for kept in parts for name in (*kept.columns, *kept.some))
    if taken := sorted(columns.keys() & names.keys()):
        raise ValueError(f"{path}: expected no column called {taken[0]}: every file has one")
    for name in names:
        columns[name] = _joined([_masked(kept, name) for kept in parts])
    said = {"format": FORMAT, "labels": list(labels), **_folded(parts)}
    table = pa.table(columns)
    coded = {name: _encoding(table[name]) for name in table.column_names}
    with atomic(path) as temporary:
        with pq.ParquetWriter(
            temporary,
            table.schema,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=[name for name, code in coded.items() if code is None],
            column_encoding={name: code for name, code in coded.items() if code is not None},
            data_page_size=WHOLE,
            dictionary_pagesize_limit=WHOLE,
            write_statistics=False,
            store_schema=False,  # nobody needs it, and it takes more than most columns
        ) as writer:
            writer.write_table(table, row_group_size=max(1, len(table)))
            writer.add_key_value_metadata({KEY: _packed(said)})
        if (size := temporary.stat().st_size) > LARGEST:
            raise TooLarge(f"{path}: expected at most {LARGEST} bytes, got {size}: keep less of it")


def read(path: Path) -> dict[int, Kept]:
    """All records of a file by their seeds, verified.

    Raises BadRecord, which says what was expected, found and what to do.
    """
    try:
        with pq.ParquetFile(path) as file:
            said = _said(file.metadata)
            headers = unfolded(said)
            known = {SEED, *said["labels"]}
            names = [name for name in file.schema_arrow.names if name not in known]
            table = file.read(columns=names).combine_chunks()
    except UNREADABLE as error:
        raise _unreadable(path, error) from None
    records, first = {}, 0
    for seed, header in headers.items():
        kept = _part(header, table.slice(first, int(header["rows"])))
        first += kept.rows
        if len(table) < first or _seal(kept) != header.get(SEAL):
            raise BadRecord(
                f"{path}: expected seed {seed} with sha256 {str(header.get(SEAL))[:12]}, found"
                f" another: the file was changed after it was written; {AGAIN}"
            )
        records[seed] = kept
    return records


def headers(path: Path) -> dict[int, Header]:
    """The headers alone by seed, without reading or verifying the rows. Raises BadRecord."""
    try:
        return unfolded(_said(pq.read_metadata(path)))
    except UNREADABLE as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> BadRecord:
    return BadRecord(
        f"{path}: expected published records, found a file that cannot be read as such ({error}):"
        f" {AGAIN}"
    )


def unfolded(said: Mapping[str, Any]) -> dict[int, Header]:
    """The header of each seed, by seed in their order, from what the metadata say."""
    each = {int(seed): header for seed, header in said["seeds"].items()}
    return {seed: {**said["shared"], **each[seed]} for seed in sorted(each)}


def _said(file: pq.FileMetaData) -> dict[str, Any]:
    text = (file.metadata or {})[KEY]
    try:
        said = json.loads(text if text.startswith(b"{") else zlib.decompress(text))
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if said["format"] != FORMAT:
        raise ValueError(f"format {said['format']}, not {FORMAT}")
    return dict(said)


def _packed(said: Mapping[str, Any]) -> bytes:
    """The metadata of a file: Parquet compresses its columns alone."""
    return zlib.compress(json.dumps(said, sort_keys=True).encode(), 9)


def _folded(parts: list[Kept]) -> dict[str, Any]:
    """What the headers of all records share, once, and the rest of each."""
    first = parts[0].header
    # by what is written: 0, 0.0 and False are equal, and the seal tells them apart
    said = [
        {name: json.dumps(value, sort_keys=True) for name, value in kept.header.items()}
        for kept in parts
    ]
    shared = {
        name: value
        for name, value in first.items()
        if all(texts.get(name) == said[0][name] for texts in said)
    }
    seeds = {
        str(kept.seed): {name: value for name, value in kept.header.items() if name not in shared}
        for kept in parts
    }
    return {"shared": shared, "seeds": seeds}


def _identity(kept: Kept) -> tuple[object, object]:
    return kept.header["digest"], kept.header["trace_sha256"]


def _kernels(kept: Kept) -> object:
    """On which code path of the CPU a record was made; None before that was written down."""
    return kept.header.get("provenance", {}).get("kernels")


def _seal(kept: Kept) -> str:
    """sha256 over the header as JSON, but for the seal itself, and over all columns by name."""
    plain = {name: value for name, value in kept.header.items() if name != SEAL}
    total = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    arrays = {name: (values,) for name, values in kept.columns.items()}
    for name, parts in sorted({**arrays, **kept.some}.items()):
        total.update(name.encode())
        for values in parts:
            total.update(np.ascontiguousarray(values).tobytes())
    return total.hexdigest()


def _masked(kept: Kept, name: str) -> pa.Array:
    """A column with nulls where nothing is kept; without rows, or without it, all are null."""
    if name in kept.columns:
        return pa.array(kept.columns[name])
    if name not in kept.some:
        return pa.nulls(kept.rows)
    rows, values = kept.some[name]
    whole, absent = np.zeros(kept.rows, dtype=values.dtype), np.ones(kept.rows, dtype=bool)
    whole[rows], absent[rows] = values, False
    return pa.array(whole, mask=absent)


def _joined(arrays: list[pa.Array]) -> pa.ChunkedArray:
    """Arrays one after another, those without a value of the type of the others."""
    typed = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(typed) != 1:
        raise TypeError(f"expected one type in all seeds, got {sorted(map(str, typed))}")
    wanted = typed.pop()
    return pa.chunked_array([array.cast(wanted) for array in arrays])


def _part(header: Header, table: pa.Table) -> Kept:
    """What is kept of one seed, from its rows."""
    columns: dict[str, NDArray] = {}
    some: dict[str, Some] = {}
    for name in table.column_names if len(table) else []:
        column = table[name]
        if column.null_count == 0:
            columns[name] = column.to_numpy()
        elif column.null_count < len(column):
            there = np.flatnonzero(column.is_valid().to_numpy())
            some[name] = there, column.drop_null().to_numpy()
    return Kept(header, columns, some)


def _repeated(value: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [value])


def _encoding(column: pa.ChunkedArray) -> str | None:
    """How a column is written: None is a dictionary of its values."""
    if pa.types.is_integer(column.type):
        return "DELTA_BINARY_PACKED"
    if pa.types.is_boolean(column.type):
        return "PLAIN"
    if pa.types.is_floating(column.type):
        kept = len(column) - column.null_count
        if len(column.unique()) * REPEATED > kept:
            return "BYTE_STREAM_SPLIT"
    return None
