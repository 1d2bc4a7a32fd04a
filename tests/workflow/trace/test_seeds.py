"""Named streams of random numbers."""

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
