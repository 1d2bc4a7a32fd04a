"""One figure a family: seconds against what grows, both logarithmic, of ours, of the peer and of
the limit, with fitted and theoretical exponents.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.ledger import Curve, Row, curve
from benchmarks.race import Work
from workflow.draw.style import BLUE, GREY, LONG, SHORT, VERMILLION, put_small_print, wrapped

WIDTH, HEIGHT = 2.6, 2.5  # inches of a panel
COLUMNS = 4
RC: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.dpi": 130,
}
SAYS = (
    "CPU seconds of one thread: medians, bars from the least to the largest. Dashed grey: what"
    " counted flops and bytes take at this machine's rates. Thin lines through the last point of"
    " ours: the theoretical exponent."
)


def draw(rows: Sequence[Row], works: Sequence[Work], path: Path) -> None:
    """All works of one family that have rows, a panel each."""
    panels = [
        (work, own)
        for work in works
        if (own := [each for each in rows if each.curve == _key(work)])
    ]
    columns = min(COLUMNS, len(panels))
    lines = -(-len(panels) // columns)
    size = WIDTH * columns, HEIGHT * lines + 0.4
    with plt.rc_context({**matplotlib.rcParamsDefault, **RC}):
        figure, axes = plt.subplots(
            lines, columns, figsize=size, squeeze=False, layout="constrained"
        )
        small = wrapped(SAYS, size[0])
        room = (0.1 + 0.11 * len(small)) / size[1]
        figure.get_layout_engine().set(rect=(0, room, 1, 1 - room))
        for ax, (work, own) in zip(axes.flat, panels, strict=False):
            _panel(ax, own, work)
        for ax in axes.flat[len(panels) :]:
            ax.set_axis_off()
        put_small_print(figure, small)
        figure.savefig(path, metadata={"Software": None})
        plt.close(figure)


def _panel(ax: Axes, rows: Sequence[Row], work: Work) -> None:
    found = curve(rows, work)
    x = np.array([each.value for each in rows])
    for who, colour, marker, label in (
        ("ours", VERMILLION, "o", _label("ours", found.ours, found.theory)),
        ("theirs", BLUE, "s", _label(work.peer, found.theirs, found.theory_of_peer)),
    ):
        middle, low, high = (
            np.array([getattr(each, who + end) for each in rows]) for end in ("", "_low", "_high")
        )
        if np.isfinite(middle).any():
            ax.errorbar(
                x,
                middle,
                [middle - low, high - middle],
                color=colour,
                marker=marker,
                markersize=4,
                linewidth=1.4,
                elinewidth=0.8,
                label=label,
            )
    ax.plot(x, [each.limit for each in rows], color=GREY, linestyle=LONG, label=_limit(found))
    if len(rows) > 1:
        ideal = rows[-1].ours * (x / x[-1]) ** found.theory
        ax.plot(x, ideal, color=VERMILLION, linestyle=SHORT, linewidth=0.7)
    ax.set(xscale="log", yscale="log", xlabel=work.axis, ylabel="CPU seconds", title=_title(work))
    ax.set_xticks(x, [f"{value:g}" for value in x])
    ax.minorticks_off()
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top * (top / bottom) ** 0.45)  # room for the legend
    ax.legend(fontsize=6.3, loc="upper left")


def _key(work: Work) -> tuple[str, str, str, str]:
    return work.family, work.name, work.peer, work.axis


def _title(work: Work) -> str:
    rest = [f"{letter} = {value}" for letter, value in work.sizes[0].items() if letter != work.axis]
    first, _, second = work.name.partition(", ")
    return "\n".join(part for part in (first, second, ", ".join(rest)) if part)


def _label(who: str, fitted: float, theory: float) -> str:
    if not np.isfinite(fitted):
        return who
    return f"{who}: {fitted:.1f}, theory {theory:.0f}"


def _limit(found: Curve) -> str:
    return f"limit: {found.limit:.1f}" if np.isfinite(found.limit) else "limit"
