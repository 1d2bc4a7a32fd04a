"""What TuRBO, SCBO and HDsafeBO share: what counts for a region, and what is history."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import algorithms
from algorithms.api import Box
from tests import settings
from tests.algorithms.grouped import changed
from tests.algorithms.history import HISTORY, answered, outcome, told, untouched

BATCH_OF_3 = {"batch_per_dim": 1.5}
METHODS = {
    "turbo": ("turbo.TuRBO", changed(settings.TURBO, patience=4, fit_steps=5), {"batch": 3}),
    "scbo": ("scbo.SCBO", settings.SCBO, BATCH_OF_3),
    "hdsafebo": ("hdsafebo.HDsafeBO", settings.HDSAFEBO, BATCH_OF_3),
}


@pytest.fixture(params=METHODS)
def new(request):
    """new(**changes) -> an optimizer of two variables; its `batches` make three at a time."""
    kind, parameters, batches = METHODS[request.param]

    def build(**changes):
        rng = np.random.default_rng(0)
        return algorithms.build(kind, Box(2), rng, changed(parameters, **changes))

    build.name, build.batches = request.param, batches
    return build


def models(optimizer):
    found = optimizer.outputs.models if hasattr(optimizer, "outputs") else [optimizer.fitted]
    return [one.posterior.alpha for one in found if one is not None]


def assert_same(one, other):
    """All that the next query depends on, and the query."""
    assert one.search.region == other.search.region
    assert_array_equal(one.search.design, other.search.design)
    for name in ("x", "y", "g"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for mine, theirs in zip(models(one), models(other), strict=True):
        assert_array_equal(mine, theirs)
    assert one.rng.bit_generator.state == other.rng.bit_generator.state
    assert_array_equal(one.ask(1, one.x[:0]), other.ask(1, other.x[:0]))


def told_both_ways(together, apart, x, y, g):
    """One block, and point by point."""
    told(together, y, g, x)
    for k in range(len(x)):
        told(apart, y[k : k + 1], g[k : k + 1], x[k : k + 1])


def seen(new, **changes):
    return told(new(**changes), [1.0, 5.0, 2.0], [[-1.0]] * 3)


def test_history_told_point_by_point_is_that_of_one_block(new):
    together, apart = new(), new()
    told_both_ways(together, apart, HISTORY, *outcome(HISTORY))
    assert untouched(apart.search.region) and apart.search.region.restarts == 0
    assert_same(together, apart)


def test_what_was_not_asked_for_between_two_rounds_is_history(new):
    rounds = 5  # a fit is due with the last one
    together, apart = (seen(new, length=0.2, patience=9) for _ in range(2))
    for optimizer in (together, apart):
        for _ in range(rounds):
            answered(optimizer, [0.0], [[0.5]])
        assert optimizer.search.region.failures == rounds
    far = HISTORY[np.abs(HISTORY - together.x[1]).max(1) > 0.2]
    assert len(far) > 4
    told_both_ways(together, apart, far, *outcome(far))
    assert together.search.region.failures == rounds
    assert_same(together, apart)


def test_what_lies_outside_the_region_is_no_answer(new):
    """Though an answer is still to come."""
    optimizer = seen(new, length=0.1)
    optimizer.ask(1, optimizer.x[:0])
    for x in HISTORY[np.abs(HISTORY - optimizer.x[1]).max(1) > 0.4]:
        told(optimizer, [9.0], [[0.5]], x[None])
    assert untouched(optimizer.search.region)


@pytest.mark.parametrize(
    ("y", "g", "successes"),
    [
        ([0.0, 9.0, 1.0], [-1.0, -1.0, -1.0], ["turbo", "scbo", "hdsafebo"]),
        ([9.0, 0.0, 1.0], [-1.0, -1.0, -1.0], ["turbo", "scbo", "hdsafebo"]),
        ([9.0, 0.0, 1.0], [0.5, 0.5, 0.2], ["turbo"]),
        ([0.0, 9.0, 1.0], [-1.0, -1.0, 0.5], ["turbo", "scbo"]),
        ([0.0, 2.0, 1.0], [-1.0, -1.0, 0.5], []),
    ],
)
def test_a_batch_told_in_parts_counts_once(new, y, g, successes):
    together, apart = (seen(new, **new.batches, patience=9) for _ in range(2))
    query = together.ask(3, together.x[:0])
    assert_array_equal(apart.ask(3, apart.x[:0]), query)
    told_both_ways(together, apart, query, np.array(y), np.array(g)[:, None])
    region, success = apart.search.region, new.name in successes
    assert (region.successes, region.failures) == (success, not success)
    assert_same(together, apart)
