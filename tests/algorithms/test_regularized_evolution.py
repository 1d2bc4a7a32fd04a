"""Regularized evolution on scripted graphs, where a child tells who its parent was."""

from collections import deque
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from algorithms.api import Arms, Observation
from algorithms.regularized_evolution import RegularizedEvolution

A = 200  # arms; a child of arm x is arm x + A/2, so that it names its parent
NOTHING = np.empty(0, dtype=np.int64)


def heir(arm):
    return np.array([(arm + A // 2) % A])


def ring(arm):
    return np.array([(arm - 1) % A, (arm + 1) % A])


def new(neighbours=heir, population=10, tournament=3, replacement="with", seed=0):
    domain, rng = Arms(np.zeros((A, 1)), neighbours=neighbours), np.random.default_rng(seed)
    settings = {"population": population, "tournament": tournament, "replacement": replacement}
    return RegularizedEvolution(domain, rng, **settings)


def told(arms, values, **options):
    optimizer = new(**options)
    optimizer.tell(np.array(arms, dtype=np.int64), Observation.of(np.array(values, dtype=float)))
    return optimizer


def asked(optimizer, times, pending=NOTHING):
    """What it answers again and again: asking changes nothing but the generator."""
    return np.concatenate([optimizer.ask(1, pending) for _ in range(times)])


def uniform(answers):
    return stats.chisquare(np.bincount(answers, minlength=A)).pvalue > 1e-4


@pytest.mark.parametrize("replacement", ["with", "without"])
@pytest.mark.parametrize("known", [0, 1, 5, 9])
def test_until_the_population_is_full_it_asks_for_uniform_arms_whatever_it_has_seen(
    known, replacement
):
    optimizer = told(np.full(known, 7), np.linspace(0, 1e9, known), replacement=replacement)
    assert uniform(asked(optimizer, 3000))
    optimizer.tell(np.full(10 - known, 7), Observation.of(np.zeros(10 - known)))
    assert set(asked(optimizer, 50)) == {107}


@pytest.mark.parametrize("known", [0, 2, 3, 9])
def test_what_is_pending_counts_as_begun_but_is_nobodys_parent(known):
    pending = np.arange(50, 60 - known)
    answers = asked(told(np.arange(known), np.zeros(known)), 1500, pending)
    if known >= 3:  # enough for a tournament: 10 have begun
        assert set(answers) == set(np.arange(known) + 100)
        assert uniform(asked(told(np.arange(known), np.zeros(known)), 3000, pending[1:]))
    else:
        more = asked(told(np.arange(known), np.zeros(known), seed=1), 1500, pending)
        assert uniform(np.append(answers, more))


def test_a_tournament_of_everybody_breeds_the_best_alive_and_the_oldest_dies_however_good_it_is():
    population, draw = 6, np.random.default_rng(1)
    optimizer = new(ring, population, tournament=population, replacement="without")
    alive, buried, best_was_dead = deque(maxlen=population), -np.inf, 0
    for step in range(200):
        query = optimizer.ask(1, NOTHING)
        if step >= population:
            parent = max(alive, key=lambda member: member[1])
            assert query[0] in ring(parent[0])
            best_was_dead += buried > parent[1]
        y = float(draw.standard_normal())
        optimizer.tell(query, Observation.of(np.array([y])))
        buried = max(buried, alive[0][1]) if len(alive) == population else buried
        alive.append((int(query[0]), y))
    assert best_was_dead > 100


@pytest.mark.parametrize("replacement", ["with", "without"])
@pytest.mark.parametrize("tournament", [1, 2, 4, 7])
def test_the_parent_has_the_rank_of_the_best_of_a_random_tournament(replacement, tournament):
    population, n = 7, 3000
    values = np.random.default_rng(2).permutation(population)  # value = rank from the worst
    rule = {"population": population, "tournament": tournament, "replacement": replacement}
    optimizer = told(np.arange(population), values, **rule)
    ranks = values[asked(optimizer, n) - 100]
    r = np.arange(population)
    if replacement == "with":
        expected = ((r + 1) ** tournament - r**tournament) / population**tournament
    else:
        expected = np.array([comb(k, tournament - 1) for k in r]) / comb(population, tournament)
    counts = np.bincount(ranks, minlength=population)
    assert counts[expected == 0].sum() == 0
    rare = expected < 5 / n
    grouped, means = ([*part[~rare], part[rare].sum()] for part in (counts, n * expected))
    means[-1] += 1e-9  # an empty group
    assert stats.chisquare(grouped, means, sum_check=False).pvalue > 1e-4


def test_ties_are_broken_by_the_draw_of_the_tournament():
    everybody = {"population": 6, "tournament": 6, "replacement": "without"}
    optimizer = told(np.arange(6), np.full(6, 0.5), **everybody)
    counts = np.bincount(asked(optimizer, 3000) - 100, minlength=6)
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("blocks", [[30], [13, 17], [1] * 30])
def test_of_existing_data_the_last_ones_are_the_population(blocks):
    """The best of all came first and is dead."""
    optimizer, start = new(population=8, tournament=1), 0
    for size in blocks:
        arms = np.arange(start, start + size)
        optimizer.tell(arms, Observation.of(100.0 - arms))
        start += size
    assert_array_equal(np.unique(asked(optimizer, 1000)), 100 + np.arange(22, 30))
    everybody = {"population": 8, "tournament": 8, "replacement": "without"}
    strict = told(np.arange(30), 100.0 - np.arange(30), **everybody)
    assert set(asked(strict, 50)) == {122}


def test_a_child_is_a_uniform_neighbour_and_one_that_two_edits_reach_twice_as_likely():
    optimizer = told(np.full(10, 7), np.arange(10.0), neighbours=lambda arm: np.array([1, 2, 2, 3]))
    counts = np.bincount(asked(optimizer, 3000), minlength=4)
    assert stats.chisquare(counts[1:], [750, 1500, 750]).pvalue > 1e-4
    assert counts[0] == 0


def test_an_arm_without_neighbours_is_answered_by_a_uniform_arm():
    """Only the best is one: the others breed."""

    def neighbours(arm):
        return NOTHING if arm == 9 else heir(arm)

    everybody = {"tournament": 10, "replacement": "without"}
    optimizer = told(np.arange(10), np.arange(10.0), neighbours=neighbours, **everybody)
    assert uniform(asked(optimizer, 3000))
    optimizer.tell(np.array([30]), Observation.of(np.array([99.0])))
    assert set(asked(optimizer, 50)) == {130}


def test_one_arm_may_be_several_members():
    optimizer = told([5, 5, 5, 9], np.zeros(4), population=4, tournament=1)
    share = np.mean(asked(optimizer, 1500) == 105)
    assert abs(share - 0.75) < 4.5 * np.sqrt(0.75 * 0.25 / 1500)
