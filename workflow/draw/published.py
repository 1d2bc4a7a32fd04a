"""Rows of tables that set our numbers beside a paper's: means and standard errors, and the growth
of measured seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workflow.judge import render
from workflow.judge.closeness import Experiment, experiments
from workflow.judge.evidence import Evidence
from workflow.judge.outcomes import SAME_RUN
from workflow.measure.metrics import metric
from workflow.measure.statistics import interval, power_law
from workflow.measure.store import Store
from workflow.plan.lines import GrowthTable
from workflow.plan.paper import Paper
from workflow.plan.selection import planned, published_panels
from workflow.trace.curves import Curve

Row = dict[str, Any]

SAME = f" ({SAME_RUN})"  # behind the name of a reading


def rows(paper: Paper, store: Store) -> list[Row]:
    """Each published number in brackets behind ours, a row a method: a column a panel as printed
    and, if another setting of its experiment is nearest, one in that.
    """
    every = experiments(paper, store)
    shown = {panel.name: panel.shown or panel.at[-1:] for panel in published_panels(paper)}
    methods = dict.fromkeys(
        fit.method for one in every for fit in one.default.fits if fit.is_scored
    )
    return [
        {"method": method} | dict(cell for one in every for cell in _cells(one, method, shown))
        for method in methods
    ]


def _cells(
    one: Experiment, method: str, shown: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str, str]]:
    """Column and cell of a method, "-" where nothing is published or run."""
    candidates = {"": one.default, f" ({one.nearest.reading})": one.nearest}
    if not one.nearest.reading:
        del candidates[" ()"]
    known: dict[str, list[int]] = {}
    for fit in one.default.fits:
        if fit.is_scored:
            known[fit.panel] = sorted({*known.get(fit.panel, []), *fit.at})
    for panel, every in known.items():
        say = _short if len(every) > 1 else render.printed  # what is read off a curve, or printed
        for setting, candidate in candidates.items():
            said = {
                t: f"{_short(ours)} ({say(theirs)})"
                for fit in candidate.fits
                if (fit.panel, fit.method) == (panel, method)
                for t, ours, theirs in zip(fit.at, fit.ours, fit.published, strict=True)
            }
            for t in shown[panel]:
                at = f", t = {t}" if len(every) > 1 else ""
                yield f"{panel}{at}{setting}", said.get(t, "-")


def _short(value: float) -> str:
    """Three significant digits, and thousands in full."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else render.number(value)


def reading_of(paper: Paper, store: Store, curve: Curve, name: str, shown: Collection[str]) -> str:
    """The readings of a curve in words, and whether its metric `name` is that of the default run
    again, trace by trace, if that run is among those that are `shown`.
    """
    readings = dict.fromkeys(filter(None, (curve.algorithm_reading, curve.problem_reading)))
    usual = planned(paper, curve.problem, curve.algorithm, curve.variant)
    is_shown = bool(readings) and usual is not None and usual.name in shown
    is_same = is_shown and usual and store.is_same(usual, curve, metric(name).reads)
    return (", ".join(readings) or "default") + (SAME if is_same else "")


def growth(paper: Paper, store: Store, line: GrowthTable) -> list[Row]:
    """What a paper says of complexities, and beside it the exponents of t that a study's seconds
    have, from `from` data on.

    A line without `rows` was not measured: it is quoted.
    """
    return [
        {"solution": one.solution, **one.says, **_exponent(paper, store, line, one.rows)}
        for one in line.lines
    ]


def _exponent(
    paper: Paper, store: Store, line: GrowthTable, chosen: Mapping[str, float | str]
) -> Row:
    slopes = np.empty(0)
    if chosen:
        evidence, column = Evidence(paper, store), line.columns[0]
        pairs = [(read(line.x), read(column)) for read in evidence.rows(line.study, chosen)]
        slopes = np.array([power_law(x[x >= line.from_], y[x >= line.from_])[1] for x, y in pairs])
    low, high = (float(end) for end in interval(slopes)) if len(slopes) else (np.nan, np.nan)
    measured = float(slopes.mean()) if len(slopes) else np.nan
    return {
        f"measured exponent of {line.x} from {line.from_:g} on": measured,
        "low": low,
        "high": high,
        "seeds": len(slopes),
        "source": "measured" if chosen else "quoted, not measured",
    }
