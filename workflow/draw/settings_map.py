"""Draw what every claim of a paper comes to under every setting.

A row a claim that a setting affects, a column a setting under which some claim was run. Colour and
symbol say the outcome; "=" is the default run again, a dot a claim that was not run, an empty cell
one that the setting does not affect.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from workflow.draw.style import (
    BLUE,
    GREY,
    MARGIN,
    PRINTED_LINE,
    SKY,
    VERMILLION,
    inches,
    put_small_print,
    wrapped,
)
from workflow.judge.claims import Outcome
from workflow.judge.outcomes import CONTRADICTED, DIRECTION, INCONCLUSIVE, REPRODUCED, SYMBOLS
from workflow.judge.sensitivity import Matrix
from workflow.trace.atomic import atomic

COLOURS: Mapping[str, str] = {
    REPRODUCED: BLUE,
    DIRECTION: SKY,
    INCONCLUSIVE: "#D9D9D9",
    CONTRADICTED: VERMILLION,
}
ON_DARK = (REPRODUCED, CONTRADICTED)
CELL, ROW = 0.24, 0.19  # inches
LABEL = 7.5  # points
HEAD, LEGEND = 0.34, 0.3  # inches: the title, the line of the legend
SAME = "="
PRINT = (
    "a row a claim, a column a setting; =: all its runs are the default ones again; dot: not run;"
    " ?: the outcome is observed but not decided; empty: the setting changes no run of the claim"
)


def draw(found: Matrix) -> Figure:
    """The map of a paper, as large as its claims and settings need."""
    columns = ["as printed", *found.run_columns]
    left = max((inches(row.id, LABEL) for row in found.rows), default=0.0) + 3 * MARGIN
    above = max(inches(name, LABEL) for name in columns) + 2 * MARGIN
    wide = left + max(CELL * len(columns), 4.6) + MARGIN
    lines = wrapped(f"{found.paper} · scale {found.scale} · {PRINT}", wide)
    below = PRINTED_LINE * len(lines) + 2 * MARGIN + LEGEND
    tall = HEAD + above + ROW * len(found.rows) + below
    figure = Figure(figsize=(wide, tall))
    ax = figure.add_axes(
        (
            left / wide,
            below / tall,
            CELL * len(columns) / wide,
            ROW * max(len(found.rows), 1) / tall,
        )
    )
    for i, row in enumerate(found.rows):
        _cell(ax, 0, i, row.default, is_same=False)
        for j, name in enumerate(found.run_columns, start=1):
            if name in row.readings:
                _cell(ax, j, i, row.readings[name], is_same=name in row.same)
    if not found.rows:
        words = "No setting changes a run of any claim here."
        figure.text(0.5, below / tall, words, ha="center", va="bottom", fontsize=LABEL)
    ax.set_xlim(0, len(columns))
    ax.set_ylim(max(len(found.rows), 1), 0)
    ax.set_xticks([j + 0.5 for j in range(len(columns))], columns, rotation=90, fontsize=LABEL)
    ax.set_yticks([i + 0.5 for i in range(len(found.rows))], [row.id for row in found.rows])
    ax.tick_params(length=0, labelsize=LABEL, top=True, labeltop=True, labelbottom=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    figure.text(0.5, 1 - 0.5 * HEAD / tall, "Claims under all settings", ha="center", va="center")
    figure.legend(
        handles=[
            Patch(color=colour, label=f"{SYMBOLS[kind]} {kind}") for kind, colour in COLOURS.items()
        ],
        loc="lower center",
        bbox_to_anchor=(0.5, (below - LEGEND) / tall),
        ncols=len(COLOURS),
        fontsize=LABEL,
        frameon=False,
        handlelength=1,
        columnspacing=1,
    )
    put_small_print(figure, lines)
    return figure


def _cell(ax: Axes, x: int, y: int, outcome: Outcome, *, is_same: bool) -> None:
    """One claim under one setting."""
    kind = outcome.observed
    colour = "white" if is_same else COLOURS.get(kind, "white")
    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=1))
    if is_same:
        mark = SAME
    else:
        mark = SYMBOLS.get(kind, "") + "?" * bool(outcome.was_run and outcome.reasons)
    ink = "white" if kind in ON_DARK and not is_same else GREY if is_same else "black"
    ax.text(x + 0.5, y + 0.52, mark, ha="center", va="center", fontsize=LABEL, color=ink)


def write(found: Matrix, folder: Path) -> None:
    """Write claims-by-settings.png."""
    with atomic(folder / "claims-by-settings.png") as temporary:
        draw(found).savefig(temporary, format="png", dpi=160, metadata={"Software": None})
