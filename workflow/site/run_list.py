"""What was run and what it cost, for the page of data and runs: a line for each problem of a paper,
and for each of its curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow.site.folder import Report
from workflow.trace.cells import PUBLISHED


@dataclass(frozen=True)
class Line:
    """The records of a problem or of one of its curves. `published` says below which path the
    repository holds their evaluations; "" where it does not.
    """

    name: str
    seeds: str
    records: int
    seconds: float
    peak_mib: int
    data: str
    published: str = ""
    curves: Sequence[Line] = ()


def lines(report: Report, root: Path) -> list[Line]:
    """A line for each problem, the studies the last, each with its curves."""
    return [
        _line(str(problem), table, report, root, curves=True)
        for problem, table in report.records.groupby("problem", sort=False)
    ]


def _line(name: str, table: pd.DataFrame, report: Report, root: Path, *, curves: bool) -> Line:
    numbers = sorted(set(table.groupby("curve").size()))
    place = Path(PUBLISHED, report.scale, report.name, str(table["problem"].iloc[0]))
    file = place if curves else place / f"{name}.parquet"
    return Line(
        name,
        " to ".join(dict.fromkeys(map(str, [numbers[0], numbers[-1]]))),
        len(table),
        float(table["cpu_seconds"].sum()),
        int(table["peak_mib"].max()),
        "; ".join(sorted(set(table["data"]))),
        file.as_posix() if (root / file).exists() else "",
        [
            _line(str(curve), rows, report, root, curves=False)
            for curve, rows in (table.groupby("curve", sort=False) if curves else ())
        ],
    )
