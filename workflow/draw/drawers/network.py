"""A wireless network with the best transmission powers found, as bardou2024dumbo, Figure 6
(problems/wlan.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from algorithms.api import Array
from problems import wlan
from problems.topologies import TOPOLOGIES, Topology
from workflow.draw.drawers import Best, Picture
from workflow.draw.style import BLACK, BLUE, ORANGE

GREY = "#9A9A9A"
NODE = 13.0  # points, diameter of a node
# points, diameter of the halo of the greatest power; its area is proportional to the power
HALO = 44.0
SHOWN = (10.0, 100.0)  # mW, in the legend, beside the least and the greatest
MARGIN = 22.0  # m around nodes and users


def powers(best: Best, parameters: Mapping[str, Any]) -> Picture:
    """Nodes with halos of their powers, users, associations and ranges.

    `parameters`: topology, interference, scale, backend, bandwidth.
    """
    topology = TOPOLOGIES[parameters["topology"]]
    sent = wlan.powers(best.query, scale=parameters["scale"])  # (n,) mW
    figure = Figure(figsize=(8.6, 5.4), layout="constrained")
    ax = figure.subplots()
    _ground(ax, topology)
    x, y = topology.node_places.T
    ax.scatter(x, y, s=_diameters(sent) ** 2, color=ORANGE, alpha=0.45, linewidths=0, zorder=2)
    ax.scatter(x, y, s=NODE**2, color=BLUE, edgecolors="white", linewidths=0.6, zorder=5)
    ax.scatter(topology.user_places[:, 0], topology.user_places[:, 1], s=9, color=BLACK, zorder=6)
    for i, place in enumerate(topology.nodes):
        ax.text(
            *place,
            str(i + 1),
            fontsize=7,
            color="white",
            ha="center",
            va="center_baseline",
            zorder=7,
        )
        above = np.mean(topology.users[i], axis=0)[1] < place[1]  # where fewer users are in the way
        ax.annotate(
            _milliwatts(sent[i]),
            place,
            (0, (1 if above else -1) * (NODE / 2 + 1.5)),
            textcoords="offset points",
            fontsize=6.5,
            ha="center",
            va="bottom" if above else "top",
            zorder=4.5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
        )
    _legends(ax)
    return Picture(figure, _facts(best, parameters, topology, sent))


def _facts(
    best: Best, parameters: Mapping[str, Any], topology: Topology, sent: Array
) -> tuple[str, ...]:
    """What disturbs whom, the worst and best SINR, and whether the value comes out here as it is
    recorded.
    """
    network = wlan.network(topology, interference=parameters["interference"])
    sinr = network.sinr(sent[None])  # (1, u)
    capacity = float(network.capacities(sinr, parameters["bandwidth"]).sum())
    decibels = 10 * np.log10(sinr)
    heard = (
        "its own node's neighbours"
        if parameters["interference"] == "neighbours"
        else "all other nodes"
    )
    facts = (
        (
            f"topology {parameters['topology']}: a user is disturbed by {heard}; nodes up to"
            f" {wlan.RANGE:.1f} m apart are in range"
        ),
        (
            f"SINR of the users if all nodes send at once: {decibels.min():.1f} to"
            f" {decibels.max():.1f} dB"
        ),
    )
    if parameters["backend"] == "csma":
        return (
            *facts,
            (
                "the value is that of one simulated second of CSMA/CA; if all nodes send at once,"
                f" it is {-capacity:.4g}"
            ),
        )
    return (*facts, *best.doubts(-capacity))


def _ground(ax: Axes, topology: Topology) -> None:
    """Ranges and associations as lines, in true proportions."""
    nodes, users = topology.node_places, topology.user_places
    pairs = np.argwhere(np.triu(topology.neighbours(wlan.RANGE)))  # (e, 2)
    ax.add_collection(LineCollection(list(nodes[pairs]), colors=BLACK, linewidths=1.1, zorder=3))
    associated = np.stack([nodes[topology.owners], users], axis=1)  # (u, 2, 2)
    ax.add_collection(LineCollection(list(associated), colors=GREY, linewidths=0.7, zorder=4))
    low, high = (bound(np.concatenate([nodes, users]), axis=0) for bound in (np.min, np.max))
    ax.grid(visible=False)
    ax.set(
        xlim=(low[0] - MARGIN, high[0] + MARGIN),
        ylim=(low[1] - MARGIN, high[1] + MARGIN),
        aspect="equal",
        xlabel="x (m)",
        ylabel="y (m)",
    )


def _diameters(sent: Array) -> Array:
    """Of halos, in points, at powers (n,) in mW."""
    return np.asarray(HALO * np.sqrt(sent / _ends()[1]), dtype=np.float64)


def _ends() -> Array:
    """The least and the greatest power, in mW."""
    return np.asarray(10 ** (np.array(wlan.POWERS) / 10), dtype=np.float64)


def _milliwatts(power: float) -> str:
    return f"{power:.3g} mW"


def _legends(ax: Axes) -> None:
    """Powers as halos, with room for the greatest, above what else is drawn."""
    least, greatest = _ends()
    sizes = np.array([least, *SHOWN, greatest])
    halos = [
        Line2D(
            [],
            [],
            color=ORANGE,
            alpha=0.45,
            marker="o",
            markersize=size,
            markeredgewidth=0,
            linestyle="none",
            label=label,
        )
        for size, label in zip(_diameters(sizes), map(_milliwatts, sizes), strict=True)
    ]
    others = [
        Line2D([], [], color=BLUE, marker="o", markersize=9, linestyle="none", label="node"),
        Line2D([], [], color=BLACK, marker="o", markersize=3, linestyle="none", label="user"),
        Line2D([], [], color=GREY, linewidth=0.7, label="association"),
        Line2D([], [], color=BLACK, linewidth=1.1, label="in range of each other"),
    ]
    ax.add_artist(
        ax.legend(
            handles=halos,
            title="power of a node",
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
            borderaxespad=0,
            fontsize=8,
            labelspacing=3.7,
            handlelength=5.5,
        )
    )
    ax.legend(
        handles=others, loc="lower left", bbox_to_anchor=(1.01, 0), borderaxespad=0, fontsize=8
    )
