"""The numbers that a paper prints in its tables, and whether ours reach them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow.judge.outcomes import NOT_RUN, REPRODUCED, UNDECIDED
from workflow.measure.metrics import Array, metric
from workflow.measure.statistics import ENOUGH, interval
from workflow.measure.store import NotRun, Store
from workflow.plan import selection
from workflow.plan.cells import Cell, Paper

CLOSE = 0.5  # of a published mean: what ours may differ by in a reproduced cell
LOWER, HIGHER = "ours is lower", "ours is higher"

Block = Mapping[str, Any]  # of a table of published numbers


@dataclass(frozen=True)
class Ours:
    """Our mean beside a printed number, under one reading: with its 95 % t interval, the seeds, and
    the verdict on it.
    """

    reading: str
    mean: float
    low: float
    high: float
    seeds: int
    verdict: str


@dataclass(frozen=True)
class Number:
    """A printed number, read after `at` evaluations, what ours is by default, and what it is under
    each reading that is planned for its run and changes it. `same` are readings whose runs are the
    default one again.
    """

    table: str
    problem: str
    metric: str
    at: str
    curve: str
    printed: float
    default: Ours
    readings: tuple[Ours, ...]
    same: tuple[str, ...]

    @property
    def is_missed(self) -> bool:
        """Whether it lies outside the interval of ours."""
        return self.default.verdict in (LOWER, HIGHER)

    @property
    def reached(self) -> list[Ours]:
        """What reaches it, of the readings."""
        return [ours for ours in self.readings if ours.verdict == REPRODUCED]

    @property
    def tried(self) -> list[Ours]:
        """The readings whose runs were made."""
        return [ours for ours in self.readings if ours.verdict != NOT_RUN]


def numbers(paper: Paper, store: Store) -> list[Number]:
    """Every printed number of the tables that this scale runs. Raises BadRecords."""
    found = []
    for entry in paper.entry.get("tables", []):
        for block in selection.blocks(entry):
            shown = [c for row in selection.block_cells(paper, entry, block) for c in row.values()]
            least = least_budget(shown, block)
            for curve, printed in block["published"].items():
                cells = _under_readings(paper, block["problem"], curve)
                if "" in cells and cells[""].budget >= least:
                    name = block.get("label", block["problem"])
                    head = (entry["id"], name, block["metric"], str(block.get("at", "end")))
                    whole = (*head, curve, printed)
                    found.append(_number(paper, store, block, whole, cells, least))
    return found


def end(store: Store, cell: Cell, block: Block) -> Array:
    """A block's metric where it is read, one number per seed; none where there is no record."""
    try:
        values = store.values(cell, block["metric"])
    except NotRun:
        return np.empty(0)
    return values[:, read_at(values, block) - 1]


def least_budget(cells: Sequence[Cell], block: Block) -> int:
    """How long a run must be planned to stand in a block: as long as where the block reads, or as
    the longest of this scale. A reading that is planned shorter than that has no number there.
    """
    at = block.get("at", "end")
    return 0 if at == "end" else min(at, max((cell.budget for cell in cells), default=0))


def read_at(values: Array, block: Block) -> int:
    """The column, from 1, at which a block reads; the last one where the runs of this scale are
    shorter.
    """
    at, last = block.get("at", "end"), values.shape[1]
    return last if at == "end" else min(at, last)


def verdict(ends: Array, number: float, data: str, *, is_full_size: bool) -> str:
    """Whether a published mean, whose spread is not known, lies in the 95 % interval of ours, and
    ours is close to it.

    An interval that is too wide to tell the two apart although they are not close decides nothing.
    """
    if np.isnan(number):
        return ""
    if len(ends) < ENOUGH or not is_full_size or data.startswith("substitute"):
        return UNDECIDED
    low, high = interval(ends)
    if low <= number <= high:
        return REPRODUCED if abs(ends.mean() - number) <= CLOSE * abs(number) else UNDECIDED
    return LOWER if high < number else HIGHER


def _under_readings(paper: Paper, problem: str, curve: str) -> dict[str, Cell]:
    """The run of a curve by default ("") and under each reading that has one of its own; controls
    are no readings of the paper.
    """
    found: dict[str, Cell] = {}
    known = paper.entry.get("readings", {})
    admitted = [name for name, reading in known.items() if not reading.get("control")]
    for reading in ("default", *admitted):
        for _, cell in selection.under_readings(paper, problem, [curve], [reading]):
            if cell.name not in {other.name for other in found.values()}:
                found["" if reading == "default" else reading] = cell
    return found


def _number(
    paper: Paper,
    store: Store,
    block: Block,
    head: tuple[str, str, str, str, str, float],
    cells: Mapping[str, Cell],
    least: int,
) -> Number:
    """A printed number beside ours, from the runs of its curve."""
    reads, usual = metric(block["metric"]).reads, cells[""]
    same = [name for name, cell in cells.items() if name and store.is_same(usual, cell, reads)]
    read = {
        name: _ours(paper, store, cell, block, name, head[-1])
        for name, cell in cells.items()
        if name not in same and cell.budget >= least
    }
    return Number(*head, read.pop(""), tuple(read.values()), tuple(same))


def _ours(
    paper: Paper, store: Store, cell: Cell, block: Block, reading: str, number: float
) -> Ours:
    ends = end(store, cell, block)
    if not len(ends):
        return Ours(reading, np.nan, np.nan, np.nan, 0, NOT_RUN)
    low, high = (float(edge) for edge in interval(ends))
    judged = verdict(ends, number, store.data(cell), is_full_size=paper.is_full_size)
    return Ours(reading, float(ends.mean()), low, high, len(ends), judged)
