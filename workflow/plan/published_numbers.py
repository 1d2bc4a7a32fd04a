"""The numbers that a paper publishes: papers/published/<paper>.csv, one line a number.

Columns: source (where it stands), panel, method (our name of the curve), x (evaluations; empty for
the end of a run), value, low, high, unit. The section `published:` of the paper's YAML says what of
ours each panel is set beside.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workflow.plan.resolve import ROOT
from workflow.trace.curves import PlanError

FOLDER = Path("papers", "published")
COLUMNS = ("source", "panel", "method", "x", "value", "low", "high", "unit")


@dataclass(frozen=True)
class Series:
    """What one panel has of one method: `value` over `x`, with the band `low` to `high` where one
    is printed. Without `x` it is one number, of the end of a run.
    """

    x: tuple[float, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def panel(paper: str, name: str, root: Path | None = None) -> Mapping[str, Series]:
    """The series of one panel by method, of this repository or of another `root`.

    Raises PlanError.
    """
    return _panel(paper, name, root or ROOT)


@cache
def _panel(paper: str, name: str, root: Path) -> Mapping[str, Series]:
    rows = [row for row in _rows(paper, root) if row["panel"] == name]
    if not rows:
        known = ", ".join(dict.fromkeys(row["panel"] for row in _rows(paper, root)))
        raise PlanError(
            f"papers/{paper}.yaml: published: unknown panel {name!r}; known in"
            f" {FOLDER / f'{paper}.csv'}: {known or 'none'}"
        )
    return {
        method: Series(
            *(
                tuple(float(row[column]) for row in rows if row["method"] == method and row[column])
                for column in ("x", "value", "low", "high")
            )
        )
        for method in dict.fromkeys(row["method"] for row in rows)
    }


@cache
def _rows(paper: str, root: Path) -> tuple[Mapping[str, str], ...]:
    path = root / FOLDER / f"{paper}.csv"
    if not path.exists():
        raise PlanError(f"papers/{paper}.yaml: published: expected {path}, found none: write it")
    with path.open(encoding="utf-8", newline="") as lines:
        table = csv.DictReader(lines)
        if tuple(table.fieldnames or ()) != COLUMNS:
            raise PlanError(
                f"{path}: expected the columns {', '.join(COLUMNS)}, got"
                f" {', '.join(table.fieldnames or ())}: name them so"
            )
        return tuple(table)
