"""Named streams of random numbers."""

import itertools

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from workflow.trace.seeds import rng

GOLDEN = [148, 312, 909, 595, 191, 179]
NORMAL = [1.5317283349038275, -0.19511032686030244, 0.9867427259706802]


def test_golden_values_of_one_stream():
    # Committed numbers: if they change, every published trace changes with them.
    draw = rng(0, "noise", "abalone", 17)
    assert_array_equal(draw.integers(1000, size=6), GOLDEN)
    assert_allclose(draw.standard_normal(3), NORMAL, rtol=1e-14)


def test_other_names_give_other_numbers():
    names = [(0,), (1,), (0, "a"), (0, "b"), (0, "a", "b"), (0, "ab"), (0, "b", "a"), (1, "a")]
    names += [(0, "a", 1), (0, "a", 11), (0, "a", 1, 1)]
    names += [(0, "noise", "abalone", i) for i in range(300)]
    firsts = {name: tuple(rng(*name).random(2)) for name in names}
    assert len(set(firsts.values())) == len(names)


def test_neighbouring_streams_are_uncorrelated_and_standard_normal():
    first = np.array([rng(0, "noise", "abalone", i).standard_normal() for i in range(4000)])
    assert abs(first.mean()) < 4.5 / np.sqrt(4000)
    assert abs(first.var() - 1) < 4.5 * np.sqrt(2 / 4000)
    for lag in (1, 2, 10):
        assert abs(np.corrcoef(first[:-lag], first[lag:])[0, 1]) < 4.5 / np.sqrt(4000)


def test_a_stream_is_no_shifted_copy_of_another():
    streams = [rng(0, "optimizer", name) for name in ("BKB", "GP-UCB", "BBKB")]
    long = [set(stream.integers(2**62, size=2000).tolist()) for stream in streams]
    assert all(not (one & other) for one, other in itertools.combinations(long, 2))
