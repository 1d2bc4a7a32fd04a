"""DEC-HBO: messages against all combinations, tables against posteriors, a small maximum."""

import copy
from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from algorithms import dec_hbo
from algorithms.api import Observation
from algorithms.dec_hbo import max_sum
from algorithms.parts.factors.additive_process import Factors
from algorithms.parts.numerics.sampling import latin_hypercube
from tests.algorithms.grouped import builder, changed
from tests.settings import DECHBO

FIRST = {"outputscale": 0.693, "lengthscale": 0.693, "noise": 0.01}
FITS = {"models": 5, "gram": "noisy", "steps": 5, "new_steps": 5}
PAPER = changed(DECHBO, **FITS, **FIRST, grid=8, rounds=10)

new = builder("dec_hbo.DECHBO", PAPER, d=4)


def tree(rng, d, g):
    """Factors of 1 to 3 of d variables without a cycle, in any order, and a table of each."""
    factors, joined = [], 1
    while joined < d:
        new = list(range(joined, min(joined + int(rng.integers(1, 3)), d)))
        factors.append([int(rng.integers(joined)), *new])
        joined += len(new)
    factors += [[int(j)] for j in rng.choice(d, size=2, replace=False)]
    order = rng.permutation(len(factors))
    factors = [tuple(map(int, rng.permutation(factors[i]))) for i in order]
    return factors, [rng.standard_normal([g] * len(factor)) for factor in factors]


def loops(rng, d, g, partitions=2):
    """Several partitions of d variables into pairs, mostly with cycles, and tables of them."""
    pairs = np.concatenate([rng.permutation(d).reshape(-1, 2) for _ in range(partitions)])
    factors = [tuple(map(int, pair)) for pair in pairs]
    return factors, [rng.standard_normal([g] * 2) for _ in factors]


def total(factors, tables, values):
    """The sum of all tables at values (..., d)."""
    return sum(
        table[tuple(values[..., list(factor)].T)].T
        for factor, table in zip(factors, tables, strict=True)
    )


def everything(d, g):
    return np.array(list(product(range(g), repeat=d)))


@pytest.mark.parametrize("seed", range(10))
def test_without_cycles_messages_find_the_maximum(seed):
    rng = np.random.default_rng(seed)
    d, g = int(rng.integers(2, 8)), int(rng.integers(2, 5))
    factors, tables = tree(rng, d, g)
    found = max_sum(factors, tables, d, rounds=2 * d)
    largest = total(factors, tables, everything(d, g)).max()
    assert total(factors, tables, found) == pytest.approx(largest, abs=1e-12)


def test_a_round_carries_a_message_over_one_factor():
    """A chain whose first variable alone says what all should be: as many rounds as factors."""
    d, same = 6, np.eye(3)
    factors = [(0,)] + [(j, j + 1) for j in range(d - 1)]
    tables = [np.array([0.0, 0.0, 1e-3])] + [same] * (d - 1)
    assert_array_equal(max_sum(factors, tables, d, rounds=d), [2] * d)
    # what has not heard it yet
    assert_array_equal(max_sum(factors, tables, d, rounds=3)[3:], [0, 0, 0])


def test_with_cycles_the_messages_stay_finite_and_most_answers_are_good():
    """Six variables of four values in two pairings.

    Measured over 100 draws of these tables: the maximum itself in 87, better than nine of ten
    random assignments in all. Tables that have nothing to do with one another are the worst case.
    """
    values, better, best = everything(6, 4), [], []
    for seed in range(30):
        factors, tables = loops(np.random.default_rng(seed), 6, 4)
        sums = total(factors, tables, values)
        with np.errstate(all="raise"):
            found = max_sum(factors, tables, 6, rounds=10)
        value = total(factors, tables, found)
        better.append(value > np.quantile(sums, 0.9))
        best.append(value > sums.max() - 1e-9)
    assert np.mean(better) >= 0.95 and np.mean(best) >= 0.7


def test_messages_do_not_grow_with_the_rounds():
    """A variable hears four of its five factors a round: 4^512 is more than a number can hold."""
    factors, tables = loops(np.random.default_rng(2), 6, 4, partitions=5)
    with np.errstate(all="raise"):
        max_sum(factors, tables, 6, rounds=600)


# the optimizer


def told(d=4, n=6, seed=0, **changes):
    optimizer = new(d, seed, **changes)
    x = np.random.default_rng(10 + seed).random((n, d))
    optimizer.tell(x, evaluate(x))
    return optimizer


def evaluate(x):
    return Observation.of(np.sin(6 * x[:, 0] * x[:, 1]) - (x[:, 2:] ** 2).sum(1))


@pytest.mark.parametrize("dims", ["factor", "domain"])
def test_tables_are_bounds_at_one_value_in_each_slice_of_which_messages_choose(monkeypatch, dims):
    optimizer, given = told(beta_dims=dims, grid=5), []

    def spy(*arguments):
        given.append(arguments)
        return max_sum(*arguments)

    monkeypatch.setattr(dec_hbo, "max_sum", spy)
    values = np.sort(latin_hypercube(copy.deepcopy(optimizer.rng), 5, 4), axis=0)  # (g, d)
    query = optimizer.ask(1, optimizer.x[:0])
    ((factors, tables, d, rounds),) = given
    assert_array_equal(query[0], values[max_sum(*given[0]), np.arange(4)])
    assert list(factors) == [V for own, _ in optimizer.models for V in own]
    assert (d, rounds, len(optimizer.models)) == (4, 10, 5)
    exact = Factors.of(optimizer.models, optimizer.x)
    draw = np.random.default_rng(0)
    assert {len(V) for V in factors} > {1}
    for i, (V, table) in enumerate(zip(factors, tables, strict=True)):
        assert table.shape == (5,) * len(V) and len(V) <= 3
        for index in draw.integers(5, size=(4, 4)):
            mean, variance = exact.moments(values[index, np.arange(4)])
            beta = 0.2 * (4 if dims == "domain" else len(V)) * log(2 * 6)
            expected = mean[i] + sqrt(beta) * sqrt(variance[i])
            assert table[tuple(index[list(V)])] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("gram", "through"), [("noise-free", True), ("noisy", False)])
def test_without_noise_in_the_gram_matrix_the_means_go_through_the_data(gram, through):
    optimizer = new(2, gram=gram, least_noise=0.05)
    x = np.random.default_rng(1).random((12, 2))
    optimizer.tell(x, Observation.of(np.sin(5 * x).sum(1)))
    y = (optimizer.y - optimizer.y.mean()) / optimizer.y.std(ddof=1)
    factors = Factors.of(optimizer.models, optimizer.x)
    means = np.array([factors.moments(point)[0] for point in x])
    for j in range(5):
        off = np.abs(means[:, factors.model == j].sum(1) - y).max()
        assert (off < 1e-4) == through


def test_one_factor_alone_and_factors_apart_need_one_round():
    table = np.random.default_rng(0).standard_normal((4, 4, 4))
    found = max_sum([(2, 0, 1)], [table], 3, rounds=1)[[2, 0, 1]]
    assert_array_equal(found, np.unravel_index(table.argmax(), table.shape))
    apart = [np.random.default_rng(j).standard_normal(6) for j in range(3)]
    found = max_sum([(0,), (1,), (2,)], apart, 3, rounds=1)
    assert_array_equal(found, [table.argmax() for table in apart])
