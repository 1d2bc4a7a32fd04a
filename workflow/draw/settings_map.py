"""Draw what every claim of a paper comes to under every setting.

A row a claim that a setting changes, a column a setting under which some claim was run. Colour and
symbol say the outcome; "=" is the default run again, a dot a claim that was not run, an empty cell
a claim that the setting does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd
import seaborn
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from workflow.draw import shrink
from workflow.draw.style import (
    BLUE,
    MARGIN,
    PRINTED_LINE,
    VERMILLION,
    inches,
    put_small_print,
    wrapped,
)
from workflow.judge import settings
from workflow.judge.outcomes import CONTRADICTED, DIRECTION, INCONCLUSIVE, REPRODUCED, SYMBOLS
from workflow.plan.paper import Paper
from workflow.trace.atomic import atomic

COLOURS: Mapping[str, str] = {
    REPRODUCED: BLUE,
    DIRECTION: "#9AD0F2",  # light enough for dark letters
    INCONCLUSIVE: "#D9D9D9",
    CONTRADICTED: VERMILLION,
}
CELL, ROW = 0.24, 0.19  # inches
LABEL = 7.5  # points
HEAD, LEGEND = 0.34, 0.3  # inches: the title, the line of the legend
PRINT = (
    "a row a claim, a column a setting; =: all its runs are the default ones again; dot: not run;"
    " ?: the outcome is observed but not decided; empty: the setting changes no run of the claim,"
    " or the plan lacks a run"
)


def draw(paper: Paper, table: pd.DataFrame) -> Figure:
    """The map of a paper, from `settings.frame`, as large as its claims and settings need."""
    marks = settings.matrix(table)
    marks = marks[marks.index.isin([claim["id"] for claim in paper.entry.get("claims", [])])]
    rows, columns = max(len(marks), 1), len(marks.columns)
    left = max((inches(claim, LABEL) for claim in marks.index), default=0.0) + 3 * MARGIN
    above = max((inches(name, LABEL) for name in marks.columns), default=0.0) + 2 * MARGIN
    wide = left + max(CELL * columns, 4.6) + MARGIN
    lines = wrapped(f"{paper.name} · scale {paper.scale} · {PRINT}", wide)
    below = PRINTED_LINE * len(lines) + 2 * MARGIN + LEGEND
    tall = HEAD + above + ROW * rows + below
    figure = Figure(figsize=(wide, tall))
    ax = figure.add_axes((left / wide, below / tall, CELL * columns / wide, ROW * rows / tall))
    if len(marks):
        codes = {SYMBOLS[kind]: code for code, kind in enumerate(COLOURS, 1)}
        seaborn.heatmap(
            marks.map(lambda mark: codes.get(mark.removesuffix("?"), 0)),
            annot=marks,
            fmt="",
            annot_kws={"fontsize": LABEL},
            cmap=ListedColormap(["white", *COLOURS.values()]),
            vmin=0,
            vmax=len(COLOURS),
            cbar=False,
            linewidths=0.5,
            xticklabels=True,
            yticklabels=True,
            ax=ax,
        )
        ax.set(xlabel="", ylabel="")
        ax.tick_params(axis="x", labelrotation=90)
        ax.tick_params(axis="y", labelrotation=0)  # whatever seaborn finds fit for few rows
        ax.tick_params(length=0, labelsize=LABEL, top=True, labeltop=True, labelbottom=False)
        ax.spines[:].set_visible(False)
    else:
        ax.set_axis_off()
        words = "No setting changes a run of any claim here."
        figure.text(0.5, below / tall, words, ha="center", va="bottom", fontsize=LABEL)
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


def write(paper: Paper, table: pd.DataFrame, folder: Path) -> None:
    """Write claims-by-settings.png."""
    with atomic(folder / "claims-by-settings.png") as temporary:
        shrink.write(draw(paper, table), temporary)
