"""Tables as `python -m workflow.fetch` prepares them: float64 columns, the last one called
`target`, provenance in the schema.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from algorithms.api import Array

KEY = b"noregret"  # the schema metadata that the preparation writes


def read(path: Path) -> tuple[Array, dict[str, str]]:
    """The rows (A, d+1), target last, and the provenance of a prepared table.

    Raises ValueError with directions.
    """
    remedy = (
        f"delete {path} and run the workflow again, or `python -m workflow.fetch {Path(path).stem}`"
    )
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"expected a prepared table, cannot read it ({error}): {remedy}") from None
    metadata = table.schema.metadata or {}
    if KEY not in metadata or table.column_names[-1] != "target":
        raise ValueError(
            f"expected provenance and a last column target, got {table.column_names}: {remedy}"
        )
    values = np.column_stack([column.to_numpy() for column in table.columns])  # (A, d+1)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        found = f"{table.column_names[column]} = {values[row, column]} in row {row}"
        raise ValueError(
            f"expected finite numbers, got {found} of {path} (rows count from 0): {remedy}"
        )
    return values, json.loads(metadata[KEY])
