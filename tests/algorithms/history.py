"""Optimizers with a region that are told what nobody asked for: points, blocks, and what must not
differ between them.
"""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

from algorithms.api import Observation

HISTORY = np.random.default_rng(9).random((40, 2))


def told(optimizer, y, g, x=None):
    y, n = np.array(y, dtype=float), len(y)
    x = np.random.default_rng(len(optimizer.y)).random((n, optimizer.domain.d)) if x is None else x
    g = np.array(g, dtype=float).reshape(n, -1)
    optimizer.tell(x, Observation(y, g, np.empty((n, 0))))
    return optimizer


def answered(optimizer, y, g):
    """What was asked for shows y and g, all of it at the first point of the batch."""
    query = optimizer.ask(len(y), optimizer.x[:0])
    return told(optimizer, y, g, np.repeat(query[:1], len(y), axis=0))


def untouched(region):
    """Whether no batch has counted since it began."""
    return region == replace(region, length=region.settings.length, successes=0, failures=0)


def bowl(x):
    return -((x - 0.3) ** 2).sum(1)


def outcome(x):
    return bowl(x), x[:, :1] - 0.7


def assert_same(one, other):
    """All that the next query depends on, and the query."""
    assert one.search.region == other.search.region
    assert_array_equal(one.search.design, other.search.design)
    for name in ("x", "y", "g"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.outputs.told == other.outputs.told
    for mine, theirs in zip(one.outputs.models, other.outputs.models, strict=True):
        assert_array_equal(mine.posterior.alpha, theirs.posterior.alpha)
    assert one.rng.bit_generator.state == other.rng.bit_generator.state
    assert_array_equal(one.ask(1, one.x[:0]), other.ask(1, other.x[:0]))


def told_both_ways(together, apart, x, y, g):
    """One block, and point by point."""
    told(together, y, g, x)
    for k in range(len(x)):
        told(apart, y[k : k + 1], g[k : k + 1], x[k : k + 1])


def history_is_no_failure(new):
    """Forty points told one by one, and in one block."""
    together, apart = new(), new()
    told_both_ways(together, apart, HISTORY, *outcome(HISTORY))
    assert untouched(apart.search.region) and apart.search.region.restarts == 0
    assert_same(together, apart)


def history_comes_between_rounds(new, rounds):
    """Far points told one by one, and in one block, after so many failures."""
    together, apart = (
        told(new(length=0.2, patience=9), [1.0, 5.0, 2.0], [[-1.0]] * 3) for _ in range(2)
    )
    for optimizer in (together, apart):
        for _ in range(rounds):
            answered(optimizer, [0.0], [[0.5]])
        assert optimizer.search.region.failures == rounds
        centre = optimizer.x[1]
    far = HISTORY[np.abs(HISTORY - centre).max(1) > 0.2]
    assert len(far) > 5
    told_both_ways(together, apart, far, *outcome(far))
    assert together.search.region.failures == rounds
    assert_same(together, apart)


def outside_is_no_answer(new):
    """Points outside the region that was asked, while its answer is still to come."""
    optimizer = told(new(length=0.1), [1.0, 5.0, 2.0], [[-1.0]] * 3)
    centre = optimizer.x[1]
    optimizer.ask(1, optimizer.x[:0])
    for x in HISTORY[np.abs(HISTORY - centre).max(1) > 0.4]:
        told(optimizer, [9.0], [[0.5]], x[None])
    assert untouched(optimizer.search.region)


def batch_counts_once(new, y, g, success):
    """A batch of three told in parts, and at once."""
    together, apart = (
        told(new(batch_per_dim=1.5, patience=9), [1.0, 5.0, 2.0], [[-1.0]] * 3) for _ in range(2)
    )
    query = together.ask(3, together.x[:0])
    assert_array_equal(apart.ask(3, apart.x[:0]), query)
    told_both_ways(together, apart, query, np.array(y), np.array(g)[:, None])
    assert (apart.search.region.successes, apart.search.region.failures) == (
        success,
        not success,
    )
    assert_same(together, apart)
