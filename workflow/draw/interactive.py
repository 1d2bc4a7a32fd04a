"""The panels of a figure as JSON, for pages on which curves can be switched off and axes changed.

Curves keep some hundred points and four digits: enough to look at, and small enough to commit. The
CSV beside holds all of them. The seeds of a curve keep fewer points and
digits, since there are many of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow.draw.panels import Dots, Line, Mark, Panel

POINTS, LEAST = 110, 48  # points of a curve, in a figure of few of them and of many
TRACED, FEWEST = 32, 12  # the same of a seed
LINES = 24  # curves from which on a figure counts as one of many
MANY = 20  # seeds that can be told apart; a curve of more has no lines of its seeds
DIGITS, FEW = 4, 3  # of what is drawn; of its seeds
DOTTED, LONG, DASH_DOT, PRINTED = [2, 3], [9, 4], [9, 3, 2, 3], [4, 2]  # pixels


def as_json(title: str, panels: Sequence[Panel]) -> str:
    """What a figure draws, for a script: {title, panels: [{title, xlabel, ylabel, log, data,
    levels, xs, lines, dots}]}, where the `x` of a line says which of `xs`, since most lines share
    theirs. `each` of a line has what its seeds have: {seeds, at, values: [a list a seed]}, where
    `at` says which points of its x these are. A panel of which the paper prints numbers has
    `marks`.
    """
    share = LINES / max(LINES, sum(len(panel.lines) for panel in panels))
    most = max(LEAST, round(POINTS * share)), max(FEWEST, round(TRACED * share))
    whole = {"title": title, "panels": [_panel(panel, *most) for panel in panels]}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _panel(panel: Panel, points: int, traced: int) -> dict[str, Any]:
    logarithmic = panel.options.xscale == "log"
    drawn = [*panel.lines, *panel.published]
    lines = [_line(line, points, traced, logarithmic=logarithmic) for line in drawn]
    xs = list(dict.fromkeys(tuple(line["x"]) for line in lines))
    return {
        "title": panel.title,
        "xlabel": panel.xlabel,
        "ylabel": panel.ylabel,
        "log": [logarithmic, panel.options.yscale == "log"],
        "data": panel.data,
        "levels": {label: _number(float(value)) for label, value in panel.levels.items()},
        "xs": [list(x) for x in xs],
        "lines": [{**line, "x": xs.index(tuple(line["x"]))} for line in lines],
        "dots": [_dots(row) for row in panel.dots],
        **({"marks": [_mark(mark) for mark in panel.marks]} if panel.marks else {}),
    }


def _line(line: Line, points: int, traced: int, *, logarithmic: bool) -> dict[str, Any]:
    kept = _kept(line.x, points, logarithmic=logarithmic)
    banded = bool(np.isfinite(line.low).any())
    return {
        "label": line.label if line.n else f"{line.label}, published",
        "colour": line.look.colour,
        "dash": _dash(line),
        "x": _numbers(line.x[kept]),
        "centre": _numbers(line.centre[kept]),
        **({"low": _numbers(line.low[kept]), "high": _numbers(line.high[kept])} if banded else {}),
        **_each(line, kept, traced, logarithmic=logarithmic),
    }


def _each(line: Line, kept: NDArray[np.int64], traced: int, *, logarithmic: bool) -> dict[str, Any]:
    """The values of each seed at some of the points that the line keeps; nothing of a single seed,
    which is the line itself.
    """
    if not 1 < len(line.each) <= MANY:
        return {}
    at = _kept(line.x[kept], traced, logarithmic=logarithmic)
    values = [_numbers(np.asarray(one)[kept][at], FEW) for one in line.each.values()]
    return {"each": {"seeds": list(line.each), "at": at.tolist(), "values": values}}


def _dots(row: Dots) -> dict[str, Any]:
    return {"label": row.label, "colour": row.look.colour, "values": _numbers(row.values)}


def _mark(mark: Mark) -> dict[str, Any]:
    return {"label": mark.label, "colour": mark.look.colour, "value": _number(mark.value)}


def _kept(x: NDArray, most: int, *, logarithmic: bool) -> NDArray[np.int64]:
    """Which of the points of a line stay: the ends and others evenly, or evenly in the logarithm,
    between them.
    """
    if len(x) <= most:
        return np.arange(len(x))
    at = np.log(np.maximum(x, 1e-300)) if logarithmic else x
    nearest = np.searchsorted(at, np.linspace(at[0], at[-1], most))
    return np.unique(np.concatenate([[0], np.minimum(nearest, len(x) - 1), [len(x) - 1]]))


def _dash(line: Line) -> list[int]:
    if not line.n:
        return PRINTED
    if line.fitted:
        return DOTTED
    pattern = [*line.look.dash, ()][1]
    if len(pattern) == 2:
        return LONG if pattern[0] > 2 else DOTTED
    return DASH_DOT if pattern else []


def _numbers(values: NDArray, digits: int = DIGITS) -> list[float | int | None]:
    return [_number(value, digits) for value in np.asarray(values, dtype=np.float64).tolist()]


def _number(value: float, digits: int = DIGITS) -> float | int | None:
    """A number of so many significant digits; null where there is no number."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
