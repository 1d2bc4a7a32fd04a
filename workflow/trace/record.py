"""The record of one run: a trace (hashed, bit-identical for one seed), timing columns, and
provenance.

A record is a parquet file with one row per evaluation and a JSON header in the schema metadata. The
trace hash covers every column except `timing.*`, a seal header and timings as well; both are
checked whenever a record is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from workflow import ROOT
from workflow.trace import one_path
from workflow.trace.atomic import atomic

KEY = b"noregret"
SEAL = "record_sha256"  # of header and all columns; records of before it was introduced have none
LIBRARIES = ("numpy", "scipy", "pyarrow")
OPTIONAL = (  # named if a run loads them
    *("torch", "gpytorch", "scikit-learn", "gymnasium", "mujoco", "camb"),
    *("jax", "numpyro", "botorch", "optuna", "cma", "nevergrad"),
)
MODULES = {"scikit-learn": "sklearn"}  # of those that are imported under another name
TIMEOUT = "timeout"  # the status of a run that an evaluation ended which took too long
FINAL = ("complete", TIMEOUT)  # of runs that are not continued
Header = Mapping[str, Any]
Columns = dict[str, NDArray]


class BadRecord(RuntimeError):
    """A file in results/ that is not the record it should be."""


@dataclass(frozen=True)
class Record:
    """A run as read from disk: its header and its columns (n rows each; vector columns are (n,
    k)).
    """

    header: Mapping[str, Any]
    columns: Columns

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


def trace_hash(columns: Columns) -> str:
    """sha256 over names, shapes and bytes of the trace columns in name order;
    timing is left out.
    """
    total = hashlib.sha256()
    for name in sorted(columns):
        if not name.startswith("timing."):
            values = np.ascontiguousarray(columns[name])
            total.update(f"{name}:{values.dtype.str}:{values.shape}".encode())
            total.update(values.tobytes())
    return total.hexdigest()


def write(path: Path, header: Mapping[str, Any], columns: Columns) -> str:
    """Write a record beside `path` and rename it into place; returns the trace hash."""
    digest = trace_hash(columns)
    rows = len(next(iter(columns.values())))
    full = {**header, "rows": rows, "trace_sha256": digest}
    full |= {SEAL: _seal(full, columns)}
    arrays = [_to_arrow(values) for values in columns.values()]
    table = pa.Table.from_arrays(arrays, names=list(columns)).replace_schema_metadata(
        {KEY: json.dumps(full)}
    )
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
    return digest


def read(path: Path) -> Record:
    """Read and verify a record.

    Raises BadRecord, which says what was expected, found and what to do.
    """
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
        names = table.column_names
    except FileNotFoundError:
        raise BadRecord(
            f"{path}: expected a record, found no file: run the workflow again to make it"
        ) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadRecord(
            f"{path}: expected a record, found a file that is no readable parquet ({error}): "
            "it is half-written or foreign; move it away and run again"
        ) from None
    header = _header(table.schema)
    if not {"trace_sha256", "rows"} <= header.keys():
        raise BadRecord(
            f"{path}: expected a record, found a parquet file without a readable header: move it"
            " away, run again"
        )
    columns = {name: _to_numpy(column) for name, column in zip(names, table.columns, strict=True)}
    trace = trace_hash(columns)
    if trace != header["trace_sha256"] or len(table) != header["rows"]:
        raise BadRecord(
            f"{path}: expected {header['rows']} rows with trace {header['trace_sha256'][:12]},"
            f" found {len(table)} rows with {trace[:12]}: the file was changed after it was"
            " written; move it away and run again"
        )
    if SEAL in header and _seal(header, columns) != header[SEAL]:
        raise BadRecord(
            f"{path}: expected header and timings with sha256 {header[SEAL][:12]}, found others:"
            " the file was changed after it was written; move it away and run again"
        )
    return Record(header, columns)


def read_header(path: Path) -> dict[str, Any]:
    """The JSON header alone, without reading or verifying the rows; {} if there is none."""
    try:
        return _header(pq.read_schema(path))
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return {}


def _seal(header: Mapping[str, Any], columns: Columns) -> str:
    """sha256 over the header as JSON, but for the seal itself, and over all columns."""
    plain = json.loads(json.dumps({name: value for name, value in header.items() if name != SEAL}))
    total = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name in sorted(columns):
        total.update(name.encode())
        total.update(np.ascontiguousarray(columns[name]).tobytes())
    return total.hexdigest()


def _header(schema: pa.Schema) -> dict[str, Any]:
    """The JSON header in a schema; {} where it is missing or damaged."""
    try:
        header = json.loads((schema.metadata or {}).get(KEY, b"{}"))
    except ValueError:
        return {}
    return header if isinstance(header, dict) else {}


def provenance() -> dict[str, Any]:
    """Where and with what a record was made: versions, machine, kernels, commit."""
    system = f"{platform.system()} {platform.machine()}"
    return {
        "python": sys.version.split()[0],
        "libraries": {name: version(name) for name in (*LIBRARIES, *_loaded())},
        "machine": f"{system}, {processor()}, {os.cpu_count()} cores",
        "kernels": one_path.words(),
        "commit": _commit(),
    }


@cache
def processor() -> str:
    """The processor of this machine, with family and model: some of one name differ by a factor of
    two in speed.
    """
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    first = {name.strip(): value.strip() for name, _, value in lines}
    name = first.get("model name") or platform.processor()
    is_x86 = "cpu family" in first
    return f"{name} (family {first['cpu family']} model {first['model']})" if is_x86 else name


def _loaded() -> list[str]:
    return [name for name in OPTIONAL if MODULES.get(name, name) in sys.modules]


@cache  # of the code that this process has loaded, whatever is committed while it runs
def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        head = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        return "unknown"
    return head.stdout.strip() if head.returncode == 0 else "unknown"


# Pyarrow loads pandas, which takes a second, for whatever its own constructors and `to_numpy` are
# given. Numbers go through their buffers instead.


def _to_arrow(values: NDArray) -> pa.Array:
    if values.ndim > 1:
        return pa.FixedSizeListArray.from_arrays(_to_arrow(values.ravel()), values.shape[1])
    if values.dtype.kind not in "if":
        return pa.array(values)
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, buffer])


def _to_numpy(column: pa.ChunkedArray) -> NDArray:
    array = column.combine_chunks()
    if pa.types.is_fixed_size_list(array.type):
        return _numbers(array.flatten()).reshape(-1, array.type.list_size)
    return _numbers(array)


def _numbers(array: pa.Array) -> NDArray:
    is_number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    return (
        np.from_dlpack(array)
        if is_number and not array.null_count
        else array.to_numpy(zero_copy_only=False)
    )
