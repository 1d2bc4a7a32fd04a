"""NAS-Bench-101 as arms: the 12,416 cells that calandriello2020bbkb, App. D.2, searches
(ying2019nasbench101).

A query trains one cell: what is seen is the validation accuracy of one of its three recorded
trainings, drawn uniformly, and what it costs are that training's seconds. The table is prepared by
`python -m workflow.fetch nasbench101`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from algorithms.api import Arms, Array, Indices, Observation
from problems.api import Display, Evaluation, Problem

KEY = b"noregret"  # the schema metadata that the preparation writes
# edges (0,1) and (4,5), which every cell has (App. D.2: the first and the last feature)
CONSTANT = [0, 14]
Halves = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Cells:
    """The columns of the prepared table: A cells, three trainings each."""

    adjacency: Array  # (A, 15) upper triangle, row-major
    conv: Array  # (A, 4) 1 convolution, 0 max-pooling
    validation: Array  # (A, 3) accuracy
    test: Array  # (A, 3) accuracy
    seconds: Array  # (A, 3)
    edits: tuple[Indices, ...]  # the cells that one valid edit reaches, one entry an edit
    data: str
    content_sha256: str


def cells(
    instance: np.random.Generator, *, data: Path, features: str, scored_by: str, spread: str
) -> Problem:
    """Find the cell with the best mean accuracy. `instance` is not used: the table is the instance.

    `features` is per-half (each half divided by its largest norm) or per-row (by each row's own
    norm); `scored_by` says whose mean over the three trainings is the true value, validation or
    test. Reveals `noise_variance` of the validation accuracies of one cell and its root, `noise`;
    `spread` says which, pooled over all cells or typical of them.
    """
    table = read(data)
    options = {
        "features": (features, FEATURES),
        "scored_by": (scored_by, SCORES),
        "spread": (spread, SPREADS),
    }
    for option, (value, known) in options.items():
        if value not in known:
            raise ValueError(
                f"expected {option} to be {' or '.join(known)}, got {value!r}: correct it in"
                " papers/*.yaml"
            )
    points = FEATURES[features](table.adjacency, table.conv)  # (A, 17)
    true = (table.validation if scored_by == "validation" else table.test).mean(axis=1)  # (A,)
    variance = SPREADS[spread](table.validation.var(axis=1, ddof=1))
    best = int(np.argmax(true))

    def evaluate(query: NDArray[np.int64], rng: np.random.Generator) -> Evaluation:
        training = rng.integers(table.validation.shape[1], size=len(query))  # (q,)
        seen = table.validation[query, training]
        return Evaluation(
            Observation.of(seen), Observation.of(true[query]), table.seconds[query, training]
        )

    return Problem(
        domain=Arms(points, neighbours=table.edits.__getitem__),
        evaluate=evaluate,
        best=float(true[best]),
        best_at=np.array([best]),
        reveals={"noise": variance**0.5, "noise_variance": variance},
        display=Display(f"{scored_by} accuracy"),
        data=table.data,
        data_sha256=table.content_sha256,
    )


def read(path: Path) -> Cells:
    """The prepared table.

    Raises ValueError with directions if it is none, or holds a number that is none.
    """
    remedy = f"delete {path} and run the workflow again, which prepares it anew"
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        metadata = json.loads(table.schema.metadata[KEY])
        adjacency, conv = _block(table, "adjacency"), _block(table, "conv")
        validation, test, seconds = measured = tuple(_block(table, name) for name in MEASURED)
        edits = tuple(
            np.array(reached, dtype=np.int64) for reached in table.column("edits").to_pylist()
        )
        status, checksum = metadata["data"], metadata["content_sha256"]
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"expected the prepared table of NAS-Bench-101, cannot read it ({error}): {remedy}"
        ) from None
    for name, values in zip(MEASURED, measured, strict=True):
        if not np.isfinite(values).all():
            row, repeat = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"expected finite numbers, got {name} = {values[row, repeat]} in row {row} of"
                f" {path}: {remedy}"
            )
    astray = [
        row
        for row, reached in enumerate(edits)
        if len(reached) and not 0 <= reached.min() <= reached.max() < len(edits)
    ]
    if astray:
        raise ValueError(
            f"expected edits that lead to rows 0..{len(edits) - 1}, got others in row {astray[0]}"
            f" of {path}: {remedy}"
        )
    return Cells(adjacency, conv, validation, test, seconds, edits, status, checksum)


def _block(table: pa.Table, name: str) -> Array:
    """A column of fixed-size lists as float64 (A, size)."""
    column = table.column(name).combine_chunks()
    flat: Array = column.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
    return flat.reshape(len(table), column.type.list_size)


def _per_half(adjacency: Array, conv: Array) -> Array:
    """Each half divided by its largest norm, so that every row has at most unit norm in each."""
    return np.hstack(
        [half / np.linalg.norm(half, axis=1).max() for half in _halves(adjacency, conv)]
    )


def _per_row(adjacency: Array, conv: Array) -> Array:
    """Each half of each row divided by its own norm; a half of zeros stays."""
    scaled = []
    for half in _halves(adjacency, conv):
        norms = np.linalg.norm(half, axis=1, keepdims=True)
        scaled.append(half / np.where(norms > 0, norms, 1.0))
    return np.hstack(scaled)


def _pooled(variances: Array) -> float:
    """The mean of the sample variances of all cells; a few failed trainings dominate it."""
    return float(variances.mean())


def _typical(variances: Array) -> float:
    """From their median, that of sigma^2 chi^2_2 / 2 being sigma^2 ln 2: the variance of most
    cells.
    """
    return float(np.median(variances) / np.log(2))


def _halves(adjacency: Array, conv: Array) -> Halves:
    """13 varying entries of the adjacency matrix and 4 operations."""
    return np.delete(adjacency, CONSTANT, axis=1), conv


MEASURED = ("validation_accuracy", "test_accuracy", "training_seconds")
SCORES = ("validation", "test")
FEATURES: Mapping[str, Callable[[Array, Array], Array]] = {
    "per-half": _per_half,
    "per-row": _per_row,
}
SPREADS: Mapping[str, Callable[[Array], float]] = {"pooled": _pooled, "typical": _typical}
