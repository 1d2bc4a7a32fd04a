"""Layouts: the table is the rule's first draw, the rule is the published one, the rest stays."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import topologies, wlan
from problems.topologies import TOPOLOGIES, Topology, draw, fits

TWELVE = TOPOLOGIES["twelve"]
DEGREES = [3, 3, 4, 3, 3, 5, 5, 3, 2, 2, 3, 2]


def test_the_table_is_the_first_draw_that_fits():
    drawn = (draw(np.random.default_rng(seed)) for seed in itertools.count())
    assert next(found for found in drawn if fits(found, wlan.RANGE)) == TWELVE


def test_the_table_has_what_is_published_of_the_network():
    """Pair by pair: nodes reach at least two others, two reach five, and all are connected."""
    assert (len(TWELVE.nodes), [len(group) for group in TWELVE.users]) == (12, [3] * 12)
    near = {i: set() for i in range(12)}
    for i, j in itertools.permutations(range(12), 2):
        if math.dist(TWELVE.nodes[i], TWELVE.nodes[j]) <= 102.5046:
            near[i].add(j)
    assert [len(near[i]) for i in range(12)] == DEGREES
    reached = {0}
    for _ in range(12):
        reached |= {j for i in reached for j in near[i]}
    assert reached == set(range(12))
    for i, group in enumerate(TWELVE.users):
        for user in group:
            assert min(range(12), key=lambda j: math.dist(TWELVE.nodes[j], user)) == i
            assert math.dist(TWELVE.nodes[i], user) <= topologies.RADIUS + 0.1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda nodes: nodes * 1.4, "a node alone"),
        (lambda nodes: nodes * 0.6, "too many neighbours"),
        (lambda nodes: nodes + [[400 * (i >= 8), 0] for i in range(12)], "two parts"),
    ],
)
def test_what_does_not_fit_is_refused(change, why):
    moved = change(TWELVE.node_places)
    users = TWELVE.user_places.reshape(12, 3, 2) + (moved - TWELVE.node_places)[:, None]
    groups = tuple(tuple(map(tuple, group)) for group in users.tolist())
    other = Topology(tuple(map(tuple, moved.tolist())), groups)
    assert fits(TWELVE, wlan.RANGE) and not fits(other, wlan.RANGE), why


def test_a_user_that_is_nearer_to_another_node_does_not_fit():
    first, *others = TWELVE.users
    assert not fits(Topology(TWELVE.nodes, ((TWELVE.nodes[1], *first[1:]), *others)), wlan.RANGE)


def test_places_of_a_published_layout():
    """The largest one: the first node and its users, and sums over all, as in the public code."""
    found = TOPOLOGIES["T12"]
    assert found.nodes[:3] == ((0.0, 0.0), (-48.0, 48.0), (-48.0, 116.0))
    assert found.users[0] == ((7.54, 5.81), (-7.55, 12.17), (3.64, 2.68))
    assert [len(group) for group in found.users] == [3, 2, 2, 3, 3, 2, 3, 2, 2, 3]
    assert_array_equal(found.neighbours(wlan.RANGE).sum(axis=1), [4, 7, 7, 4, 7, 7, 8, 8, 8, 8])


def test_distances_owners_and_neighbours_by_hand():
    users = (((0.0, 1.0),), ((3.0, 5.0), (3.0, 2.0)), ((0.0, 19.0),))
    found = Topology(((0.0, 0.0), (3.0, 4.0), (0.0, 20.0)), users)
    assert_array_equal(found.owners, [0, 1, 1, 2])
    assert_allclose(found.distances[:, 0], [1, np.sqrt(18), 19], rtol=1e-15)
    assert_array_equal(found.neighbours(5.0), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert_array_equal(found.neighbours(4.999), np.zeros((3, 3)))
    assert_array_equal(found.neighbours(100.0), 1 - np.eye(3))
