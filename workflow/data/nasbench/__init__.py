"""NAS-Bench-101, the cells with 6 vertices and without 1x1 convolutions: the published table, or a
synthetic stand-in.

It is read when data are prepared, not in problems/: so no run's digest depends on the parser.
"""

from __future__ import annotations

from pathlib import Path

from workflow.data.nasbench import prepare, stand_in
from workflow.data.nasbench.graphs import every
from workflow.data.nasbench.prepare import content_sha256
from workflow.data.places import Prepared

__all__ = ["content_sha256", "parse", "substitute"]


def parse(dataset: object, raw: Path) -> Prepared:
    """The table in nasbench_only108.tfrecord or nasbench_full.tfrecord.

    Raises DataUnavailable, with the byte offset of what is wrong.
    """
    table = prepare.read(raw, every())
    return Prepared(table, prepare.content_sha256(table), raw.name, features=prepare.MEANING)


def substitute(dataset: object) -> Prepared:
    """Synthetic results for the same cells, shaped by 914 measured ones."""
    made = stand_in.draw(every())
    source = (
        "workflow.data.nasbench.stand_in, calibrated on one published training of each measured"
        " cell"
    )
    return Prepared(made, prepare.content_sha256(made), source, features=prepare.MEANING)
