"""The table of NAS-Bench-101 cells with their three trainings each, and its making from
nasbench_only108.tfrecord or nasbench_full.tfrecord.

Source: ying2019nasbench101. Every record that is kept is checked against what the cell itself
implies: hash and parameters.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workflow.data.nasbench import rows
from workflow.data.nasbench.graphs import (
    Cells,
    Codes,
    canonical,
    matrix,
    operations,
    parameter_count,
)
from workflow.data.nasbench.tfrecord import damage, records

REPEATS = 3
MEANING = {  # of the columns, with units
    "module_hash": "the name of the cell; rows are sorted by it",
    "adjacency": "upper triangle of the 6 x 6 matrix, row-major (0,1), (0,2), ..., (4,5)",
    "conv": "inner vertices 1 to 4: 1 for conv3x3-bn-relu, 0 for maxpool3x3",
    "validation_accuracy": "after 108 epochs, three trainings",
    "test_accuracy": "after 108 epochs, the same three trainings",
    "training_seconds": "of the same three trainings, s",
    "trainable_parameters": "of the whole network",
    "edits": (
        "rows reached by flipping one entry of adjacency or conv, as far as they are cells of the"
        " table"
    ),
}
SCHEMA = pa.schema(
    {
        "module_hash": pa.string(),
        "adjacency": pa.list_(pa.int8(), 15),
        "conv": pa.list_(pa.int8(), 4),
        "validation_accuracy": pa.list_(pa.float64(), REPEATS),
        "test_accuracy": pa.list_(pa.float64(), REPEATS),
        "training_seconds": pa.list_(pa.float64(), REPEATS),
        "trainable_parameters": pa.int64(),
        "edits": pa.list_(pa.int32()),
    }
)
Array = NDArray[np.float64]


class Collected:
    """What the records said so far about n cells: measurements (n, 3 repeats, 3), how many repeats
    (n,), codes (n,).
    """

    def __init__(self, cells: Cells) -> None:
        self.cells, n = cells, len(cells.hashes)
        self.index = {code: i for i, code in enumerate(canonical()[cells.codes].tolist())}
        self.measured = np.full((n, REPEATS, 3), np.nan)
        self.count = np.zeros(n, dtype=np.int64)
        self.codes: Codes = cells.codes.copy()

    def add(self, row: rows.Row) -> None:
        """The next repeat of a cell. Raises ValueError: expected, got."""
        i = self.index.get(int(canonical()[row.code]), -1)
        if i < 0:
            raise ValueError(
                f"expected one of the {len(self.index)} cells, got another: {row.module_hash}, code"
                f" {row.code}"
            )
        # The hash is the same for every representative of a class, so that of the enumerated one
        # decides.
        if row.module_hash != self.cells.hashes[i]:
            raise ValueError(
                f"expected the hash {self.cells.hashes[i]} of its graph, got {row.module_hash}"
            )
        if row.trainable_parameters != (expected := self._parameters(row.code, i)):
            raise ValueError(
                f"expected {expected} trainable_parameters, got {row.trainable_parameters}"
            )
        repeat = int(self.count[i])
        if repeat == REPEATS:
            raise ValueError(f"expected {REPEATS} repeats of {row.module_hash}, got one more")
        if repeat and row.code != self.codes[i]:
            raise ValueError(
                f"expected the matrix and operations of the repeats before (code {self.codes[i]}),"
                f" got {row.code}"
            )
        self.codes[i] = row.code
        self.measured[i, repeat] = row.validation_accuracy, row.test_accuracy, row.training_seconds
        self.count[i] += 1

    def _parameters(self, code: int, i: int) -> int:
        """The parameter count of a representative of cell i.

        The count may depend on the order of the vertices: three that feed the output have 43, 43
        and 42 of 128 channels.
        """
        if code == self.cells.codes[i]:
            return int(self.cells.parameters[i])
        return parameter_count(matrix(code), operations(code))


def read(path: Path, cells: Cells) -> pa.Table:
    """The table of the given cells, and of no others with 6 vertices, from a file.

    Raises DataUnavailable, with byte offset.
    """
    collected = Collected(cells)
    for offset, data in records(path):
        try:
            row = rows.read(data)
            if row is not None:
                collected.add(row)
        except ValueError as error:
            raise damage(path, offset, str(error)) from None
    lacking = np.flatnonzero(collected.count < REPEATS)
    if lacking.size:
        name, count = cells.hashes[lacking[0]], collected.count[lacking[0]]
        got = f"the end with fewer for {lacking.size} of them, such as {count} of {name}"
        raise damage(
            path,
            path.stat().st_size,
            f"expected {REPEATS} repeats of {len(cells.hashes)} cells, got {got}",
        )
    # other representatives of the same classes may have other edits and parameter counts
    written = cells if np.array_equal(collected.codes, cells.codes) else Cells.of(collected.codes)
    return assemble(written, *np.moveaxis(collected.measured, 2, 0))


def assemble(cells: Cells, validation: Array, test: Array, seconds: Array) -> pa.Table:
    """The table of n cells, sorted by hash, with the results (n, 3) of their trainings."""
    tables: list[NDArray[np.generic]] = [cells.adjacency, cells.conv, validation, test, seconds]
    columns = [cells.hashes, *map(list, tables), cells.parameters, cells.edits]
    return pa.Table.from_pydict(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)


def content_sha256(table: pa.Table) -> str:
    """sha256 over all columns in order: name, newline, bytes of the values.

    Strings end with a newline each; numbers are little-endian in the type of the schema, row after
    row; a column of lists of different lengths begins with its lengths as int32.
    """
    total = hashlib.sha256()
    for name in table.column_names:
        total.update(f"{name}\n".encode())
        column = table.column(name).combine_chunks()
        if pa.types.is_string(column.type):
            total.update("".join(f"{text}\n" for text in column.to_pylist()).encode())
            continue
        if pa.types.is_list(column.type):
            total.update(_little_endian(column.value_lengths()))
        total.update(
            _little_endian(column.flatten() if pa.types.is_nested(column.type) else column)
        )
    return total.hexdigest()


def _little_endian(column: pa.Array) -> bytes:
    values = column.to_numpy(zero_copy_only=False)
    content: bytes = values.astype(values.dtype.newbyteorder("<")).tobytes()
    return content
