"""NAS-Bench-101, the cells with 6 vertices and without 1x1 convolutions: the published table, or a synthetic stand-in."""

from __future__ import annotations

from pathlib import Path

from workflow.nasbench import synthetic, table
from workflow.nasbench.cells import every
from workflow.nasbench.table import content_sha256
from workflow.prepared import Prepared

__all__ = ["content_sha256", "parse", "substitute"]


def parse(dataset: object, raw: Path) -> Prepared:
    """The table in nasbench_only108.tfrecord. Raises DataUnavailable, with the byte offset of what is wrong."""
    found = table.read(raw, every())
    return Prepared(found, table.content_sha256(found), raw.name, features=table.MEANING)


def substitute(dataset: object, calibration: Path | None) -> Prepared:
    """Synthetic results for the same cells, shaped by the 914 measured ones where there is a file of them."""
    cells = every()
    model = synthetic.PUBLISHED if calibration is None else synthetic.fit(cells, synthetic.measured(calibration, cells))
    made = synthetic.draw(cells, model)
    return Prepared(made, table.content_sha256(made), model.source, f"substitute: {model.says}", table.MEANING)
