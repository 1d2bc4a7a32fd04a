"""Layouts of wireless networks: where nodes and users are, in m, and which users are associated
with which node.

`twelve` stands in for the network of bardou2024dumbo, App. I.2, of which only a picture and these
facts are published: 12 nodes, 36 users, every node in range of at least two others, factors of at
most 6 variables. It is the first draw from seeds 0, 1, 2, ... that `fits`. At this radius uniform
powers reach about what the paper's Table 2 reports.

The others are the plane layouts in the public code of one of its authors
(github.com/abardou/IMAB-SR-STA-802.11ax and github.com/abardou/IMAB-RING-SR-AP-802.11AX), under the
names that they have there, to 0.01 m; two that extend over several floors are left out.
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
SPACING, JITTER, RADIUS = 80.0, 20.0, 40.0
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
            (16.1, -17.3), (86.9, -1.1), (167.1, -18.4), (222.0, -12.9), (19.1, 72.1), (83.6,
            99.4), (168.2, 68.4), (237.0, 64.1),
            (-8.6, 152.1), (60.8, 173.7), (175.9, 160.7), (245.4, 163.8),
        ),
        users=(
            ((1.4, -46.3), (48.0, -41.3), (32.6, -42.9)), ((71.8, -1.3), (58.1, 15.6), (76.5,
            -32.7)),
            ((151.8, -52.1), (153.6, 11.7), (150.9, -34.4)), ((215.8, -7.8), (248.6, -16.3),
            (225.5, 18.6)),
            ((-10.9, 88.7), (38.6, 45.7), (-11.4, 77.2)), ((81.3, 130.4), (86.5, 118.5), (79.8,
            74.6)),
            ((155.2, 46.0), (164.8, 75.8), (153.7, 104.6)), ((225.5, 62.6), (263.7, 35.2), (217.8,
            34.1)),
            ((9.0, 158.8), (-25.4, 134.8), (10.0, 145.0)), ((33.5, 189.5), (65.6, 168.6), (81.9,
            158.4)),
            ((181.8, 194.9), (159.5, 182.2), (181.5, 191.9)), ((219.3, 165.1), (232.3, 135.0),
            (250.3, 127.0)),
        ),
    ),
    "C6o": Topology(
        nodes=(
            (0.0, 0.0), (50.0, 0.0), (50.0, -53.0), (50.0, 37.0), (102.0, 0.0), (102.0, 68.0),
        ),
        users=(
            ((-0.36, -17.34), (5.24, -17.77), (-1.4, -10.56)), ((46.41, 9.82),), ((69.79, -63.33),),
            ((63.51, 35.7), (49.87, 53.26)), ((117.87, -9.41), (99.45, -3.16), (123.22, -11.28)),
            ((102.34, 80.57), (106.22, 54.29)),
        ),
    ),
    "G6o": Topology(
        nodes=(
            (0.0, 0.0), (0.0, 50.0), (50.0, 0.0), (50.0, 50.0), (100.0, 0.0), (100.0, 50.0),
        ),
        users=(
            ((-5.42, -2.01), (-5.93, -15.11), (9.91, 8.04)), ((10.22, 50.95),), ((30.39, 6.38),),
            ((73.32, 48.6), (46.09, 53.62)),
            ((87.7, -16.87), (108.31, 7.42), (123.9, -5.29)), ((83.4, 49.38), (99.63, 53.46)),
        ),
    ),
    "K6o": Topology(
        nodes=(
            (30.0, 0.0), (15.0, 25.98), (-15.0, 25.98), (-30.0, 0.0), (-15.0, -25.98), (15.0,
            -25.98),
        ),
        users=(
            ((31.35, -7.68), (21.55, 7.73), (35.91, -1.62)), ((5.21, 34.95),), ((-7.7, 27.87),),
            ((-22.15, -4.08), (-34.54, 5.95)), ((-19.69, -35.88), (-25.06, -24.81), (-22.58,
            -32.81)),
            ((25.62, -29.29), (20.54, -28.18)),
        ),
    ),
    "T6o": Topology(
        nodes=(
            (100.0, 100.0), (128.5, 149.36), (157.0, 100.0), (128.5, 190.0),
        ),
        users=(
            ((98.44, 104.69), (93.13, 121.51)), ((125.14, 143.24), (130.71, 130.81)), ((150.21,
            90.9), (147.03, 111.49)),
            ((118.21, 185.0), (143.0, 190.0)),
        ),
    ),
    "T7": Topology(
        nodes=(
            (0.0, 0.0), (18.0, 47.0), (36.0, 0.0), (54.0, 47.0), (72.0, 0.0), (90.0, 47.0),
        ),
        users=(
            ((1.98, -21.27), (16.43, -7.39)), ((35.97, 62.1), (11.28, 49.91), (5.49, 50.17)),
            ((45.66, 7.44), (36.95, 13.24), (52.96, 12.75)), ((61.4, 30.86), (39.18, 51.46)),
            ((62.23, -18.36), (82.62, 19.03), (61.57, -25.62)), ((109.92, 62.03), (107.39, 41.15)),
        ),
    ),
    "T8": Topology(
        nodes=(
            (0.0, 0.0), (70.0, 0.0), (0.0, 35.0), (70.0, 35.0), (17.5, 17.5), (52.5, 17.5),
        ),
        users=(
            ((-10.94, -19.22), (-4.07, 6.52), (-8.06, -26.77)), ((54.6, -7.53), (60.81, -5.74),
            (83.7, 10.61)),
            ((-16.74, 21.62), (11.17, 30.18)), ((72.87, 33.1), (62.31, 31.26)), ((15.71, 27.31),
            (34.24, 29.93), (17.1, 3.67)),
            ((37.15, 3.0), (44.68, -1.77)),
        ),
    ),
    "T9": Topology(
        nodes=(
            (0.0, 0.0), (25.0, -50.0), (50.0, 0.0), (50.0, 50.0), (0.0, 50.0), (25.0, 25.0),
        ),
        users=(
            ((7.4, -19.78), (13.96, -15.74)), ((30.57, -70.25), (25.84, -47.97), (13.91, -39.42)),
            ((63.88, -19.46), (70.88, 16.7), (53.4, 6.49)), ((40.29, 39.15), (30.45, 56.79),
            (48.34, 71.02), (68.6, 54.81)),
            ((-16.01, 47.28),), ((11.8, 22.96), (12.2, 28.79)),
        ),
    ),
    "T10": Topology(
        nodes=(
            (0.0, 0.0), (50.0, 0.0), (75.0, 25.0), (100.0, 0.0), (150.0, 0.0), (75.0, -25.0),
        ),
        users=(
            ((16.66, -16.82), (16.2, -0.31), (-26.93, -7.39)), ((64.32, -2.6), (46.03, 8.52),
            (42.14, 9.68)),
            ((82.8, 19.6), (70.05, 19.66), (82.98, 28.48)), ((96.84, 9.55), (105.46, 27.55),
            (124.68, -14.13)),
            ((149.47, -25.03),), ((91.52, -27.27), (60.4, -17.1)),
        ),
    ),
    "T11": Topology(
        nodes=(
            (0.0, 0.0), (-35.0, 35.0), (-12.0, 35.0), (11.0, 35.0), (35.0, 35.0), (0.0, 70.0),
        ),
        users=(
            ((6.87, -11.76), (7.23, -0.73), (-5.02, -13.5)), ((-38.44, 6.29), (-41.15, 34.59)),
            ((-8.62, 23.61), (-10.29, 19.26), (-20.04, 36.15)), ((6.18, 39.2), (16.89, 40.56)),
            ((41.61, 27.52), (49.66, 57.39)),
            ((1.93, 56.79), (-0.81, 55.02), (-5.42, 54.65)),
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
