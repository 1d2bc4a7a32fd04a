"""Layouts of wireless networks: where nodes and users are, in m, and which users are associated
with which node.

`twelve` stands in for the network of bardou2024dumbo, App. I.2, of which only a picture and these
facts are published: 12 nodes, 36 users, every node in range of at least two others, factors of at
most 6 variables. It is the first draw from seeds 0, 1, 2, ... that `fits`. At this radius the
greatest capacity is 123.8 bit/s/Hz and uniform powers have 114.5 in the mean; the paper's Table 2
reports 116.4 to 121.1.

`T12` is the largest plane layout in the public code of one of its authors, under its name there
(github.com/abardou/IMAB-SR-STA-802.11ax and github.com/abardou/IMAB-RING-SR-AP-802.11AX), to
0.01 m.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array

Place = tuple[float, float]  # m

ROWS, COLUMNS, PER_NODE = 3, 4, 3  # of the grid; users of a node
# m: of the grid; of a node in both coordinates; of the disc that holds its users
SPACING, JITTER, RADIUS = 80.0, 20.0, 39.0
FEWEST, MOST = 2, 5  # neighbours of a node


@dataclass(frozen=True)
class Topology:
    """Nodes, and the users of each of them."""

    nodes: tuple[Place, ...]
    users: tuple[tuple[Place, ...], ...]

    @cached_property
    def node_places(self) -> Array:
        """(n, 2) m."""
        return np.array(self.nodes, dtype=np.float64)

    @cached_property
    def user_places(self) -> Array:
        """(u, 2) m, those of the first node first."""
        return np.array([place for group in self.users for place in group], dtype=np.float64)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """(u,) the node of every user."""
        return np.repeat(np.arange(len(self.nodes)), [len(group) for group in self.users])

    @cached_property
    def distances(self) -> Array:
        """(n, u) m between every node and every user."""
        return np.linalg.norm(self.node_places[:, None] - self.user_places, axis=2)

    def neighbours(self, reach: float) -> NDArray[np.bool_]:
        """(n, n) whether two nodes are at most `reach` m apart; no node is its own neighbour."""
        apart = np.linalg.norm(self.node_places[:, None] - self.node_places, axis=2)
        return (apart <= reach) & ~np.eye(len(self.nodes), dtype=np.bool_)


def draw(rng: np.random.Generator) -> Topology:
    """12 nodes near the points of a grid, and three users of each, uniform over a disc around it;
    to 0.1 m.
    """
    # (12, 2)
    grid = SPACING * np.stack(np.meshgrid(np.arange(COLUMNS), np.arange(ROWS)), axis=-1).reshape(
        -1, 2
    )
    nodes = grid + JITTER * (2 * rng.random(grid.shape) - 1)
    away = RADIUS * np.sqrt(rng.random((len(nodes), PER_NODE)))  # (12, 3)
    angle = 2 * np.pi * rng.random((len(nodes), PER_NODE))
    # (12, 3, 2)
    users = nodes[:, None] + away[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return Topology(
        tuple((round(x, 1), round(y, 1)) for x, y in nodes.tolist()),
        tuple(tuple((round(x, 1), round(y, 1)) for x, y in group) for group in users.tolist()),
    )


def fits(topology: Topology, reach: float) -> bool:
    """Whether a draw is the paper's network as far as it is described, where nodes up to `reach` m
    apart are neighbours.

    Each node has 2 to 5 neighbours, one has 5, the graph is connected, and no user is nearer to
    another node than to its own.
    """
    near = topology.neighbours(reach)
    degrees = near.sum(axis=1)  # (12,)
    steps = np.linalg.matrix_power(
        near.astype(np.int64) + np.eye(len(near), dtype=np.int64), len(near)
    )
    own = (topology.distances.argmin(axis=0) == topology.owners).all()
    return bool(degrees.min() >= FEWEST and degrees.max() == MOST and steps.all() and own)


TOPOLOGIES: Mapping[str, Topology] = {
    "twelve": Topology(
        nodes=(
            (5.0, 15.9), (91.0, -11.0), (152.0, 14.9), (220.2, 12.8),
            (11.9, 78.7), (72.1, 71.1), (150.2, 77.8), (240.2, 82.1),
            (19.8, 171.7), (84.9, 179.6), (148.6, 146.4), (244.5, 141.8),
        ),
        users=(
            ((-0.8, 11.4), (-13.1, -5.4), (-6.9, -7.9)),
            ((112.8, 19.3), (62.2, 0.3), (92.9, 16.9)),
            ((129.5, 30.7), (167.9, 26.0), (156.2, 14.1)),
            ((223.9, 29.5), (204.9, -15.8), (214.8, 29.4)),
            ((28.5, 61.9), (10.6, 76.7), (35.9, 104.9)),
            ((80.7, 58.5), (91.1, 64.3), (102.2, 50.4)),
            ((125.0, 66.0), (172.1, 106.2), (161.2, 107.0)),
            ((270.4, 67.4), (229.0, 78.3), (252.3, 108.1)),
            ((40.6, 153.2), (-3.1, 143.4), (-1.4, 161.8)),
            ((63.4, 200.7), (76.8, 184.6), (86.5, 203.8)),
            ((170.1, 151.7), (159.4, 135.8), (114.1, 153.5)),
            ((221.5, 134.7), (227.6, 176.4), (244.8, 111.8)),
        ),
    ),
    "T12": Topology(
        nodes=(
            (0.0, 0.0), (-48.0, 48.0), (-48.0, 116.0), (0.0, 164.0), (48.0, 116.0), (48.0, 48.0),
            (-16.0, 55.0), (-16.0, 110.0),
            (16.0, 110.0), (16.0, 55.0),
        ),
        users=(
            ((7.54, 5.81), (-7.55, 12.17), (3.64, 2.68)), ((-44.67, 44.03), (-45.23, 45.21)),
            ((-37.29, 111.87), (-38.98, 124.65)), ((6.81, 174.9), (10.41, 171.73), (2.55, 152.31)),
            ((36.48, 122.41), (40.83, 117.16), (62.58, 113.86)), ((49.67, 54.52), (36.04, 52.19)),
            ((-12.6, 65.04), (-24.98, 49.49), (-5.51, 61.69)), ((-4.28, 105.42), (-26.01, 115.7)),
            ((14.91, 124.04), (15.53, 124.89)), ((16.82, 54.84), (12.06, 59.35), (21.58, 44.57)),
        ),
    ),
}  # fmt: skip
