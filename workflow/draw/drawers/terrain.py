"""The rough terrain of the rover with the cheapest trajectory found (problems/rover.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import Normal, Stroke

from algorithms.api import Array
from problems import rover
from workflow.draw.drawers import Best, Picture
from workflow.draw.style import Look, look

ROUGH, DARK = "#C8C8C8", "#333333"
WIDTH = 2.6  # of the trajectory
MARGIN = 0.04  # around everything that is drawn
FARTHEST = 0.25  # from the unit square, what is seen of a trajectory that leaves it
FITS = {
    "default": "the least-squares cubic of all control points",
    "none": "a spline through all control points",
}


def trajectory(best: Best, parameters: Mapping[str, Any]) -> Picture:
    """Obstacles, start, goal, and the trajectory of `best` with its control points. `parameters`:
    domain, ends, smoothing.
    """
    domain, ends, smoothing = (parameters[name] for name in ("domain", "ends", "smoothing"))
    points = rover.control_points(best.query, domain=domain)  # (30, 2)
    curve = rover.trajectory(best.query, domain=domain, smoothing=smoothing)  # (1000, 2)
    own = look(best.curve.split("@")[0].split("+")[0])
    figure = Figure(figsize=(8.6, 5.6), layout="constrained")
    ax = figure.subplots()
    _terrain(ax)
    ax.plot(
        *curve.T,
        color=own.colour,
        linestyle=own.dash,
        linewidth=WIDTH,
        zorder=4,
        path_effects=[Stroke(linewidth=WIDTH + 1.6, foreground="white"), Normal()],
    )
    ax.plot(
        *points.T,
        color=own.colour,
        markeredgecolor="white",
        markeredgewidth=0.5,
        marker="o",
        markersize=4.5,
        linestyle="none",
        zorder=5,
    )
    _ends(ax, points if ends == "control-points" else curve)
    _frame(ax, np.concatenate([points, curve]))
    ax.legend(
        handles=_handles(best, own, ends),
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        borderaxespad=0,
        fontsize=8,
    )
    return Picture(figure, _facts(best, domain, ends, smoothing))


def _facts(best: Best, domain: str, ends: str, smoothing: str) -> tuple[str, ...]:
    """What the best value consists of, under which conventions, and whether it comes out here as it
    is recorded.
    """
    cost, misses = (
        float(part[0])
        for part in rover.costs(best.query[None], domain=domain, ends=ends, smoothing=smoothing)
    )
    low, high = rover.BOUNDS[domain]
    return (
        (
            f"cost of the trajectory {cost:.4g}, of missing start and goal {misses:.4g} (by"
            f" {ends.replace('-', ' ')})"
        ),
        f"control points in [{low:g}, {high:g}]²",
        f"the trajectory is {FITS[smoothing]}",
        *best.doubts(cost + misses),
    )


def _terrain(ax: Axes) -> None:
    """Obstacles, and what lies outside of the unit square, as rough as they."""
    ax.set_facecolor(ROUGH)
    ax.grid(visible=False)
    ax.add_patch(Rectangle((0, 0), 1, 1, facecolor="white", edgecolor="none", zorder=1))
    side = 2 * rover.HALF_WIDTH
    squares = [Rectangle((x - side / 2, y - side / 2), side, side) for x, y in rover.OBSTACLES]
    ax.add_collection(PatchCollection(squares, facecolors=ROUGH, edgecolors="none", zorder=2))
    ax.add_patch(Rectangle((0, 0), 1, 1, fill=False, edgecolor=DARK, linewidth=0.8, zorder=2.5))


def _ends(ax: Axes, path: Array) -> None:
    """Start and goal, each joined to the end of `path` (n, 2) that should meet it."""
    for place, end, marker in ((rover.START, path[0], "s"), (rover.GOAL, path[-1], "*")):
        ax.plot(*np.array([place, end]).T, color=DARK, linewidth=1.0, linestyle=":", zorder=6)
        ax.plot(
            *place,
            color=DARK,
            marker=marker,
            markersize=9 if marker == "s" else 14,
            markeredgecolor="white",
            zorder=7,
        )


def _frame(ax: Axes, drawn: Array) -> None:
    """The unit square and all points (n, 2) that are drawn not too far from it, in true
    proportions.
    """
    low = np.maximum(np.minimum(drawn.min(axis=0), 0), -FARTHEST) - MARGIN
    high = np.minimum(np.maximum(drawn.max(axis=0), 1), 1 + FARTHEST) + MARGIN
    ax.set(
        xlim=(low[0], high[0]),
        ylim=(low[1], high[1]),
        aspect="equal",
        xlabel="x (sides of the unit square)",
        ylabel="y (sides of the unit square)",
    )


def _handles(best: Best, own: Look, ends: str) -> list[Line2D | Patch]:
    """The trajectory with its value, then what else is drawn."""
    missed = (
        "first and last control point" if ends == "control-points" else "ends of the trajectory"
    )
    name = f"{best.curve}, seed {best.seed}: {best.quantity}"
    return [
        Line2D([], [], color=own.colour, linestyle=own.dash, linewidth=WIDTH, label=name),
        Line2D(
            [],
            [],
            color=own.colour,
            marker="o",
            markersize=4.5,
            linestyle="none",
            label="its control points",
        ),
        Line2D([], [], color=DARK, marker="s", markersize=8, linestyle="none", label="start"),
        Line2D([], [], color=DARK, marker="*", markersize=12, linestyle="none", label="goal"),
        Line2D(
            [], [], color=DARK, linewidth=1.0, linestyle=":", label=f"from them to the {missed}"
        ),
        Patch(
            facecolor="white",
            edgecolor=DARK,
            linewidth=0.8,
            label=f"ground: {rover.GROUND:g} per unit of length",
        ),
        Patch(facecolor=ROUGH, label=f"obstacles, outside: {rover.GROUND + rover.OBSTACLE:g}"),
    ]
