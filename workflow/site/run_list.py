"""What was run and what it cost, for the page of data and runs: a line for each problem of a paper,
and for each of its curves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from workflow.site.folder import Report
from workflow.trace.cells import PUBLISHED

Line = dict[str, Any]


def lines(report: Report, root: Path) -> list[Line]:
    """A line for each problem, the studies the last, each with its `curves`; `published` says
    whether the repository has the evaluations.
    """
    found = []
    for problem, table in report.records.groupby("problem", sort=False):
        place = root / PUBLISHED / report.scale / report.name / str(problem)
        curves = [
            {**_line(curve, rows), "published": (place / f"{curve}.parquet").exists()}
            for curve, rows in table.groupby("curve", sort=False)
        ]
        found.append({**_line(problem, table), "published": place.exists(), "curves": curves})
    return found


def _line(name: Any, table: pd.DataFrame) -> Line:
    seeds = table.groupby("curve").size()
    return {
        "name": name,
        "seeds": " to ".join(dict.fromkeys([str(seeds.min()), str(seeds.max())])),
        "records": len(table),
        "seconds": float(table["cpu_seconds"].sum()),
        "peak_mib": int(table["peak_mib"].max()),
        "data": "; ".join(sorted(set(table["data"]))),
    }
