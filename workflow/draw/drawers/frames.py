"""The lightest truss and the smallest stepped cantilever found, with the stress in every part
(problems/structures.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from algorithms.api import Array
from problems import structures
from workflow.draw.drawers import Best, Picture
from workflow.draw.style import BLUE, ORANGE, VERMILLION

PER_AREA = 2.6  # points of line width per in^2
AZIMUTH, ELEVATION = np.radians(24.0), np.radians(14.0)  # where the truss is seen from
# compression, none, tension: full hue at a third of the limit, dark at the limit
SIGNED = LinearSegmentedColormap.from_list(
    "signed", [(0, "#002B47"), (0.33, BLUE), (0.5, "#DEDEDE"), (0.67, VERMILLION), (1, "#5C2400")]
)
UNSIGNED = LinearSegmentedColormap.from_list("unsigned", ["#F0F0F0", ORANGE, VERMILLION, "#5A1F00"])
PALE, DARK = "#BDBDBD", "#333333"


def truss(best: Best, parameters: Mapping[str, Any]) -> Picture:
    """The 25-bar truss: width by area, colour by stress; every area beside it. `parameters`:
    load.
    """
    low, high = structures.AREAS
    areas = low + (high - low) * best.query  # (25,) in^2
    forces = structures.LOADS[parameters["load"]]
    analysed = structures.assemble(
        structures.NODES, structures.BARS, structures.SUPPORTS, forces, structures.MODULUS
    )
    # (25,) psi and (18,) in
    stresses, displacements = (response[0] for response in analysed.respond(areas[None]))
    shares = stresses / structures.STRENGTH
    figure = Figure(figsize=(8.4, 5.4), layout="constrained")
    tower, chart = figure.subplots(1, 2, width_ratios=[1.15, 1])
    _tower(tower, areas, shares, forces)
    _chart(chart, areas, shares)
    figure.colorbar(
        _scale(SIGNED, -1),
        ax=chart,
        extend="both",
        label=f"stress / {structures.STRENGTH:,.0f} psi (tension > 0, compression < 0)",
    )
    facts = (
        f"load {parameters['load']}",
        f"greatest stress {np.abs(shares).max():.0%} of {structures.STRENGTH:,.0f} psi",
        f"greatest displacement {np.abs(displacements).max():.3g} of {structures.DEFLECTION} in",
    )
    return Picture(figure, facts)


def _scale(colours: Colormap, least: float) -> ScalarMappable:
    """Shares of the limit as colours; what lies beyond it has the colour of the limit."""
    return ScalarMappable(Normalize(least, 1), colours)


def project(points: Array) -> Array:
    """Points (n, 3) as seen from the front, a little from the right and above: right, up and
    towards the viewer (n, 3).
    """
    x, y, z = points.T
    right = np.cos(AZIMUTH) * x + np.sin(AZIMUTH) * y
    behind = np.cos(AZIMUTH) * y - np.sin(AZIMUTH) * x
    up = np.cos(ELEVATION) * z + np.sin(ELEVATION) * behind
    return np.column_stack([right, up, np.sin(ELEVATION) * z - np.cos(ELEVATION) * behind])


def _tower(ax: Axes, areas: Array, shares: Array, forces: structures.Forces) -> None:
    """The truss in parallel projection, bars behind painted first."""
    numbers = list(structures.NODES)
    seen = dict(
        zip(numbers, project(np.array([structures.NODES[node] for node in numbers])), strict=True)
    )
    bars = np.array([[seen[a], seen[b]] for a, b in structures.BARS])  # (25, 2, 3)
    ax.add_collection(
        LineCollection(list(bars[..., :2]), colors=PALE, linewidths=0.7, linestyles=(0, (2, 2)))
    )
    order = np.argsort(bars[..., 2].mean(axis=1), kind="stable")
    colours = _scale(SIGNED, -1).to_rgba(shares[order])
    ax.add_collection(
        LineCollection(
            list(bars[order, :, :2]),
            colors=colours,
            linewidths=PER_AREA * areas[order],
            capstyle="round",
        )
    )
    for node, place in seen.items():
        fixed = node in structures.SUPPORTS
        ax.plot(
            *place[:2],
            marker="s" if fixed else "o",
            markersize=11,
            color=PALE if fixed else "white",
            markeredgecolor=DARK,
            markeredgewidth=0.7,
            zorder=4,
        )
        ax.text(
            place[0], place[1], str(node), fontsize=6.5, ha="center", va="center_baseline", zorder=5
        )
    _arrows(ax, seen, forces)
    _directions(ax, np.array([88.0, -58.0]))
    everywhere = np.array(list(seen.values()))[:, :2]
    low, high = everywhere.min(axis=0), everywhere.max(axis=0)
    ax.set(xlim=(low[0] - 16, high[0] + 16), ylim=(low[1] - 45, high[1] + 40), aspect="equal")
    ax.set_axis_off()
    sizes = [
        Line2D(
            [],
            [],
            color=DARK,
            linewidth=PER_AREA * area,
            label=f"{area} in²",
            solid_capstyle="butt",
        )
        for area in (1, 3, 5)
    ]
    axis = Line2D(
        [], [], color=PALE, linewidth=0.7, linestyle=(0, (2, 2)), label="axis of every bar"
    )
    support = Line2D(
        [],
        [],
        color=PALE,
        marker="s",
        markersize=8,
        markeredgecolor=DARK,
        markeredgewidth=0.7,
        linestyle="none",
        label="support",
    )
    handles = [sizes[0], axis, sizes[1], support, sizes[2]]  # column by column
    ax.legend(
        handles=handles,
        fontsize=7,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=3,
        handlelength=2.2,
        labelspacing=1,
    )


def _arrows(ax: Axes, seen: Mapping[int, Array], forces: structures.Forces) -> None:
    """The loads: arrows that end at their nodes, 15 to 45 in long in space."""
    greatest = max(float(np.linalg.norm(force)) for force in forces.values())
    for node, force in forces.items():
        size = float(np.linalg.norm(force))
        along = project(np.array([force]))[0, :2] / size * 45 * max(size / greatest, 1 / 3)
        # outside the circle of the node
        tip = seen[node][:2] - 7 * along / max(float(np.linalg.norm(along)), 1e-9)
        x, y = tip - along
        ax.annotate(
            "",
            tuple(tip),
            (x, y),
            arrowprops={"arrowstyle": "-|>", "color": DARK, "linewidth": 1.2},
            zorder=6,
        )
        ax.text(
            x,
            y,
            f" {size:,.0f} lb ",
            fontsize=7,
            ha="right" if along[0] > 0 else "left",
            va="bottom",
            zorder=6,
        )


def _directions(ax: Axes, origin: Array) -> None:
    """The three axes, each 35 in long."""
    for name, arm in zip("xyz", project(35 * np.eye(3))[:, :2], strict=True):
        x, y = origin + 1.2 * arm
        ax.annotate(
            "",
            tuple(origin + arm),
            tuple(origin),
            arrowprops={"arrowstyle": "->", "color": DARK, "linewidth": 0.8},
        )
        ax.text(x, y, name, fontsize=7, ha="center", va="center")


def _chart(ax: Axes, areas: Array, shares: Array) -> None:
    """One row a bar, from the first: its area, and its stress as colour and number."""
    rows = np.arange(len(areas))
    ax.barh(rows, areas, color=_scale(SIGNED, -1).to_rgba(shares), edgecolor=DARK, linewidth=0.4)
    for row, share in enumerate(shares):
        ax.text(areas[row] + 0.08, row, f"{share:+.2f}", fontsize=6.5, va="center")
    ax.set_yticks(rows, [f"{a}-{b}" for a, b in structures.BARS], fontsize=7)
    ax.set(
        ylim=(len(areas) - 0.4, -0.6),
        xlim=(0, structures.AREAS[1] * 1.12),
        xlabel="area (in²)",
        ylabel="bar, by its nodes",
    )
    ax.grid(visible=False, axis="y")
    ax.set_axisbelow(True)


def cantilever(best: Best, parameters: Mapping[str, Any]) -> Picture:
    """The stepped cantilever from the side and from above: heights and widths of its segments.

    `parameters`: displacement.
    """
    low, high = structures.SIDES
    sides = low + (high - low) * best.query  # (50,) in
    stresses, tips = structures.bend(sides[None])
    shares = stresses[0] / structures.BEAM_STRENGTH  # (25,)
    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    views = (
        (axes[0], sides[1::2], "from the side: heights"),
        (axes[1], sides[::2], "from above: widths"),
    )
    for ax, lengths, view in views:
        _outline(ax, lengths, shares)
        ax.set_ylabel("from the axis (in)")
        ax.set_title(view, fontsize=9, loc="left")
    axes[1].set_xlabel("distance from the clamp (in)")
    end, top = structures.SPAN, sides[-1] / 2  # of the beam
    axes[0].set_ylim(top=0.75 * high)  # the load finds room above the highest beam
    axes[0].annotate(
        "", (end, top), (end, top + 1.2), arrowprops={"arrowstyle": "-|>", "color": DARK}
    )
    axes[0].text(end + 1, top + 1, f"{structures.TIP_LOAD:g} lb", fontsize=8, va="center")
    figure.colorbar(
        _scale(UNSIGNED, 0),
        ax=axes,
        extend="max",
        label=f"bending stress / {structures.BEAM_STRENGTH:,.0f} psi",
        aspect=30,
    )
    enforced = structures.DISPLACEMENTS[parameters["displacement"]] > 0
    facts = (
        f"greatest stress {shares.max():.0%} of {structures.BEAM_STRENGTH:,.0f} psi",
        f"deflection of the tip {tips[0]:.4g} of {structures.TIP_DEFLECTION} in"
        + ("" if enforced else f", not enforced (displacement: {parameters['displacement']})"),
        "sides are drawn larger than lengths",
    )
    return Picture(figure, facts)


def _outline(ax: Axes, lengths: Array, shares: Array) -> None:
    """Segments (25,) of these heights or widths around the axis of the beam, coloured by stress;
    the clamp; the bounds.
    """
    step = structures.SPAN / structures.SEGMENTS
    blocks = [Rectangle((step * i, -length / 2), step, length) for i, length in enumerate(lengths)]
    colours = _scale(UNSIGNED, 0).to_rgba(shares)
    ax.add_collection(
        PatchCollection(blocks, facecolors=colours, edgecolors=DARK, linewidths=0.6, zorder=3)
    )
    limit = structures.SIDES[1] / 2
    ax.add_patch(
        Rectangle(
            (-4, -limit),
            4,
            2 * limit,
            facecolor="white",
            edgecolor=DARK,
            hatch="////",
            linewidth=0.6,
            zorder=3,
        )
    )
    for bound in structures.SIDES:
        ax.hlines(
            [-bound / 2, bound / 2],
            0,
            structures.SPAN,
            color="#888888",
            linewidth=0.7,
            linestyle=(0, (4, 2)),
            zorder=2,
        )
    ax.text(structures.SPAN + 1, -limit, "bounds", fontsize=7, color="#444444", va="center")
    ax.set(xlim=(-5, structures.SPAN + 9), ylim=(-1.12 * limit, 1.12 * limit))
    ax.set_yticks([-2, -1, 0, 1, 2], ["2", "1", "0", "1", "2"])
