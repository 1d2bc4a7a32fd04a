"""Rows of tables that set our numbers beside a paper's: means and standard errors, and the growth
of measured seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from workflow.judge import printed
from workflow.judge.evidence import Evidence, curves
from workflow.judge.outcomes import REPRODUCED, SAME_RUN
from workflow.measure.metrics import Array, metric
from workflow.measure.statistics import (
    interval,
    power_law,
    rank_correlation,
    standard_error,
)
from workflow.measure.store import Store
from workflow.plan.cells import Cell, Paper
from workflow.plan.selection import block_cells, default_of

Row = dict[str, Any]

PRINTED = "published"  # the column of what a paper prints
SAME = f" ({SAME_RUN})"  # behind the name of a reading
BESIDE = "beside the published"
LEVEL = {REPRODUCED: "level"}  # a number is no claim, and has no verdict


def rows(
    paper: Paper, store: Store, entry: Mapping[str, Any], block: Mapping[str, Any]
) -> list[Row]:
    """Our numbers on one problem beside a paper's, each run once; ranks are among those of one
    reading that have both.
    """
    found: dict[str, Row] = {}
    shown = block_cells(paper, entry, block)
    names = {cell.name for cells in shown for cell in cells.values()}
    least = printed.least_budget([cell for cells in shown for cell in cells.values()], block)
    for cells in shown:
        ends = {
            curve: end
            for curve, cell in cells.items()
            if cell.budget >= least and len(end := printed.end(store, cell, block))
        }
        ranks = _ranks(
            {curve: float(end.mean()) for curve, end in ends.items()}, block["published"]
        )
        for curve, end in ends.items():
            cell, number = cells[curve], float(block["published"].get(curve, np.nan))
            reading = reading_of(paper, store, cell, block["metric"], names)
            verdict = printed.verdict(
                end, number, store.data(cell), is_full_size=paper.is_full_size
            )
            row = {
                **_beside(store, cell, block, end, number, reading),
                # a second comparison of the numbers of the default run would be none
                BESIDE: SAME_RUN
                if reading.endswith(SAME) and verdict
                else LEVEL.get(verdict, verdict),
                **ranks[curve],
                "data": store.data(cell),
            }
            found.setdefault(cell.name, row)
    return list(found.values())


def reading_of(paper: Paper, store: Store, cell: Cell, name: str, shown: Collection[str]) -> str:
    """The readings of a cell in words, and whether its metric `name` is that of the default run
    again, trace by trace, if that run is among those that are `shown`.
    """
    readings = dict.fromkeys(filter(None, (cell.algorithm_reading, cell.problem_reading)))
    usual = default_of(paper, cell)
    is_shown = bool(readings) and usual is not None and usual.name in shown
    is_same = is_shown and usual and store.is_same(usual, cell, metric(name).reads)
    return (", ".join(readings) or "default") + (SAME if is_same else "")


def basins(store: Store, cell: Cell, end: Array) -> Row:
    """The median of a number over the seeds, and the share of them in the basin of a global optimum
    at the end of the run, among those whose records say.
    """
    reached = store.values(cell, "basin")[:, -1]
    said = reached[~np.isnan(reached)]
    share = float(said.mean()) if len(said) else np.nan
    return {"median": float(np.median(end)), "share in the basin": share}


def growth(paper: Paper, store: Store, entry: Mapping[str, Any]) -> list[Row]:
    """What a paper says of complexities, and beside it the exponents of t that a study's seconds
    have, from `from` data on.

    A line without `rows` was not measured: it is quoted.
    """
    return [
        {
            "solution": line["solution"],
            **line["says"],
            **_exponent(paper, store, entry, line.get("rows", {})),
        }
        for line in entry["lines"]
    ]


def _exponent(
    paper: Paper, store: Store, entry: Mapping[str, Any], chosen: Mapping[str, float]
) -> Row:
    check = {
        "test": "exponent",
        "study": entry["study"],
        "x": entry["x"],
        "column": entry["columns"][0],
        "rows": chosen,
    }
    slopes = np.empty(0)
    if chosen:
        evidence = Evidence(paper, store)
        pairs = [pair for part in curves(evidence, check) for pair in part.read(evidence)]
        slopes = np.array(
            [power_law(x[x >= entry["from"]], y[x >= entry["from"]])[1] for x, y in pairs]
        )
    low, high = (float(end) for end in interval(slopes)) if len(slopes) else (np.nan, np.nan)
    measured = float(slopes.mean()) if len(slopes) else np.nan
    what = (
        f"measured exponent of {entry['x']} from {entry['from']} on"
        if "from" in entry
        else "measured exponent"
    )
    return {
        what: measured,
        "low": low,
        "high": high,
        "seeds": len(slopes),
        "source": "measured" if chosen else "quoted, not measured",
    }


def _beside(
    store: Store, cell: Cell, block: Mapping[str, Any], end: Array, number: float, reading: str
) -> Row:
    """One method's mean and standard error, and the published number."""
    values, mean = store.values(cell, block["metric"]), float(end.mean())
    return {
        "problem": block.get("label", block["problem"]),
        "evaluations": printed.read_at(values, block) if values.shape[1] > 1 else cell.budget,
        "metric": block["metric"],
        "algorithm": cell.algorithm + (f"+{cell.variant}" if cell.variant else ""),
        "reading": reading,
        PRINTED: number,
        "mean": mean,
        "ratio": mean / number if number else np.nan,
        **(basins(store, cell, end) if block.get("basins") else {}),
        "standard error": float(standard_error(end)),
        "seeds": len(end),
    }


def _ranks(ours: Mapping[str, float], published: Mapping[str, float]) -> dict[str, Row]:
    """The rank of each method by our numbers and by the published ones, 1 for the least; NaN for
    who lacks one of them.
    """
    both = [curve for curve, mean in ours.items() if curve in published and not np.isnan(mean)]
    sides: Sequence[Sequence[float]] = [
        [side[curve] for curve in both] for side in (ours, published)
    ]
    ranks = [dict(zip(both, rankdata(side).tolist(), strict=True)) for side in sides]
    correlation = rank_correlation(*sides)
    return {
        curve: {
            "our rank": ranks[0].get(curve, np.nan),
            "published rank": ranks[1].get(curve, np.nan),
            "rank correlation": correlation,
        }
        for curve in ours
    }
