"""Problems are asked with generators of known seeds, and of tables as the preparation has them."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workflow.data import fetch

MANIFEST = Path(__file__).resolve().parents[2] / "data" / "manifest.yaml"
needs_data = pytest.mark.skipif(
    "NOREGRET_DATA" not in os.environ, reason="needs the real data: set NOREGRET_DATA to a mirror"
)


def rng(seed=0):
    return np.random.default_rng(seed)


def true(found, query):
    """What queries (q, d), or a single one (d,), show without noise."""
    return found.evaluate(np.atleast_2d(query), rng()).true


def written(folder, values, data="real", last="target"):
    """A table of columns x0, x1, ... and the last one; its numbers lie plainly in the file."""
    header = {"name": "toy", "data": data, "content_sha256": "ab" * 32}
    names = [*(f"x{i}" for i in range(values.shape[1] - 1)), last]
    table = pa.Table.from_arrays([pa.array(column) for column in values.T], names=names)
    table = table.replace_schema_metadata({"noregret": json.dumps(header)})
    path = folder / "toy.parquet"
    pq.write_table(table, path, write_page_checksum=True, use_dictionary=False, compression="none")
    return path


def real(folder, name):
    """The real table, prepared from the mirror."""
    (folder / "data").mkdir()
    (folder / "data" / "manifest.yaml").write_bytes(MANIFEST.read_bytes())
    return fetch.prepare(name, root=folder, substitutes=False)
