"""Moves against all their outcomes, and integer partitions."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, exp, inf, isnan, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import chisquare
from sklearn.metrics import rand_score

from algorithms.parts.factors.decomposition import (
    SPLITS,
    accepts,
    canonical,
    check,
    incidence,
    integer_partitions,
    membership,
    pair_agreement,
    pair_recall,
    propose,
    random_partition,
    singletons,
    whole,
)

CAMEL = ((0,), (0, 1), (1,))


def partitions(d, largest):
    """All partitions of 0..d-1 into factors of at most `largest`."""
    if d == 0:
        return [()]
    found = []
    for rest in partitions(d - 1, largest):
        found.append(canonical([*rest, (d - 1,)]))
        found += [
            canonical([*rest[:i], (*rest[i], d - 1), *rest[i + 1 :]])
            for i in range(len(rest))
            if len(rest[i]) < largest
        ]
    return sorted(found)


def outcomes(current, largest):
    """The exact probability of each partition that may be proposed, by all that can be drawn."""
    splits, merges = defaultdict(Fraction), defaultdict(Fraction)
    several = [factor for factor in current if len(factor) > 1]
    for factor in several:
        seeds = list(permutations(factor, 2))
        for first, second in seeds:
            others = [j for j in factor if j not in (first, second)]
            for coins in product((0, 1), repeat=len(others)):
                sides = [[first], [second]]
                for j, coin in zip(others, coins, strict=True):
                    sides[coin].append(j)
                new = canonical([*(set(current) - {factor}), *sides])
                splits[new] += Fraction(1, len(several) * len(seeds) * 2 ** len(others))
    pairs = [(a, b) for a, b in combinations(current, 2) if len(a) + len(b) <= largest]
    for a, b in pairs:
        merges[canonical([*(set(current) - {a, b}), a + b])] += Fraction(1, len(pairs))
    open_moves = bool(splits) + bool(merges)
    return {new: q / open_moves for moves in (splits, merges) for new, q in moves.items()}


def test_whole_singletons_and_one_order_for_all():
    assert whole(3) == ((0, 1, 2),) and singletons(3) == ((0,), (1,), (2,))
    assert canonical([[3, 1], np.array([2, 0])]) == ((0, 2), (1, 3))
    assert canonical([(1,), (1, 0), (0,)]) == CAMEL
    assert incidence(CAMEL).tolist() == [[0, 0], [1, 0], [1, 1], [2, 1]]
    assert membership(CAMEL, 3).tolist() == [
        [True, False, False],
        [True, True, False],
        [False, True, False],
    ]


@pytest.mark.parametrize(("largest", "number"), [(4, 15), (3, 14), (2, 10)])
def test_proposals_come_as_often_as_all_draws_say_and_know_how_often_that_is(largest, number):
    states = partitions(4, largest)
    assert len(states) == number
    q = {current: outcomes(current, largest) for current in states}
    rng = np.random.default_rng(0)
    for current in states:
        found = [propose(rng, current, largest=largest, split="exact") for _ in range(200)]
        counts = Counter(proposal.decomposition for proposal in found)
        assert sum(q[current].values()) == 1
        assert set(counts) == set(q[current])
        expected = [200 * float(p) for p in q[current].values()]
        assert chisquare([counts[new] for new in q[current]], expected).pvalue > 1e-3
        there = [q[current][proposal.decomposition] for proposal in found]
        back = [q[proposal.decomposition][current] for proposal in found]
        expected = [log(one / other) for one, other in zip(back, there, strict=True)]
        assert_allclose([proposal.log_ratio for proposal in found], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("current", "largest", "split", "match"),
    [
        (CAMEL, 2, "exact", "expected factors without common variables"),
        (whole(3), 2, "exact", "expected factors of at most 2 variables, got 3: start the chain"),
        (whole(3), 3, "fair", "split: expected exact or reference-code, got 'fair'"),
    ],
)
def test_chains_that_cannot_run_are_refused(current, largest, split, match):
    with pytest.raises(ValueError, match=match):
        propose(np.random.default_rng(0), current, largest=largest, split=split)


def test_acceptance_is_min_one_and_the_ratio():
    rng = np.random.default_rng(0)
    assert all(accepts(rng, gain, 1.0) for gain in (-1.0, 0.0, 1e4, inf))
    assert not any(accepts(rng, gain, 1.0) for gain in (-1e4, -inf))
    share = np.mean([accepts(rng, -2.0, 1.0) for _ in range(20_000)])
    assert share == pytest.approx(exp(-1), abs=0.01)
    for gain, log_ratio in ((nan, 0.0), (inf, -inf)):
        with pytest.raises(ValueError, match="look for a model whose evidence is no number"):
            accepts(rng, gain, log_ratio)


def test_integer_partitions_have_their_known_numbers():
    counts = integer_partitions(100)
    assert [counts[n][n] for n in range(11)] == [1, 1, 2, 3, 5, 7, 11, 15, 22, 30, 42]
    assert counts[100][100] == 190_569_292
    assert counts[2][9] == 5 and counts[3][6] == 7
    assert integer_partitions(405)[405][405] < 2**63 <= integer_partitions(406)[406][406]


@pytest.mark.parametrize(("largest", "number"), [(6, 11), (9, 11), (3, 7), (2, 4), (1, 1)])
def test_sizes_are_uniform_among_integer_partitions(largest, number):
    rng = np.random.default_rng(0)
    drawn = [random_partition(rng, 6, largest=largest) for _ in range(2000)]
    counts = Counter(tuple(sorted(map(len, partition))) for partition in drawn)
    assert len(counts) == number and max(max(sizes) for sizes in counts) == min(largest, 6)
    assert number == 1 or chisquare(list(counts.values())).pvalue > 1e-3


def test_variables_are_shuffled_among_factors():
    rng = np.random.default_rng(0)
    counts = Counter(random_partition(rng, 4, largest=2) for _ in range(3000))
    assert set(counts) == set(partitions(4, 2))
    # of each kind of sizes 1/3
    shares = [1 / 3 / {2: 3, 3: 6, 4: 1}[len(partition)] for partition in counts]
    assert chisquare(list(counts.values()), 3000 * np.array(shares)).pvalue > 1e-3


def test_agreement_by_hand():
    a, b = ((0, 1), (2, 3)), ((0, 1, 2), (3,))
    assert pair_agreement(a, b, 4) == 3 / 6  # {0,1} together in both, {0,3} and {1,3} apart in both
    assert pair_recall(a, b, 4) == 1 / 3 and pair_recall(b, a, 4) == 1 / 2
    assert pair_agreement(whole(4), singletons(4), 4) == 0.0
    assert pair_agreement(CAMEL, whole(2), 2) == pair_recall(CAMEL, whole(2), 2) == 1.0
    assert pair_agreement(((0, 1), (1, 2)), whole(3), 3) == 2 / 3
    assert isnan(pair_recall(whole(3), singletons(3), 3))
    assert pair_recall(singletons(3), whole(3), 3) == 0.0
    assert pair_agreement(whole(1), whole(1), 1) == 1.0
    assert isnan(pair_recall(whole(1), whole(1), 1))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 20))
def test_agreement_of_partitions_is_the_rand_index(seed, d):
    rng = np.random.default_rng(seed)
    a, b = (random_partition(rng, d, largest=d) for _ in range(2))
    theirs = rand_score(*(membership(x, d).argmax(0) for x in (a, b)))
    assert pair_agreement(a, b, d) == pytest.approx(theirs)
    assert pair_agreement(a, b, d) == pair_agreement(b, a, d) and pair_agreement(a, a, d) == 1.0


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (((0, 1), (3,)), r"expected variables 0..2, got \[3\] as well: count the variables from 0"),
        (((-1, 0, 1, 2),), r"got \[-1\] as well"),
        (
            ((0,), (2,)),
            r"none of \[1\] in a factor: give those that act alone factors of their own",
        ),
        ((), r"none of \[0, 1, 2\]"),
        (((0, 1, 1), (2,)), r"expected factors of distinct variables, got \(0, 1, 1\): name each"),
        (((0, 1, 2), ()), r"expected factors of distinct variables, got \(\)"),
    ],
)
def test_what_is_no_decomposition_is_refused(wrong, match):
    with pytest.raises(ValueError, match=match):
        check(wrong, 3)


def test_two_variables_by_hand():
    """Each proposes the other; to the reference code the split is half as likely: 2/3 of it."""
    rng = np.random.default_rng(0)
    for split, ratio in (("exact", 0.0), ("reference-code", log(2))):
        assert propose(rng, whole(2), largest=2, split=split).log_ratio == pytest.approx(ratio)
        merged = propose(rng, singletons(2), largest=2, split=split)
        assert merged.decomposition == whole(2) and merged.log_ratio == pytest.approx(-ratio)


@pytest.mark.parametrize("s", range(2, 9))
def test_the_probabilities_of_all_sides_sum_to_one_and_those_of_the_reference_code_do_not(s):
    def total(split):
        return sum(comb(s, a) * exp(SPLITS[split](a, s - a)) for a in range(1, s)) / 2  # unordered

    assert total("exact") == pytest.approx(1.0)
    assert total("reference-code") == pytest.approx(1 - 2.0 ** (1 - s))
