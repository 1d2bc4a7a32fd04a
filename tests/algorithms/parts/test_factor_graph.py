"""The graph of the paper's example, and messages sent one by one."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.factors.factor_graph import FactorGraph

EXAMPLE = ((0, 2), (1,), (1, 2), (0, 2))  # eq. (19), counted from 0


@st.composite
def graphs(draw):
    """Any factors of up to 6 variables."""
    d = draw(st.integers(1, 6))
    factors = draw(st.lists(st.sets(st.integers(0, d - 1), min_size=1), max_size=7))
    missing = [{j} for j in sorted(set(range(d)).difference(*factors))]
    return FactorGraph.of([tuple(sorted(factor)) for factor in factors + missing], d)


def slow_round(factors, blocks, x, terms):
    """One round of Alg. 1, every message by itself: x-bar, c, and whom each factor heard."""
    at_variable, at_factor = defaultdict(dict), [{} for _ in factors]
    for i, factor in enumerate(factors):
        for j in factor:
            at_variable[j][i] = (x[i, j], terms[i])
    xbar = {
        j: sum(value for value, _ in heard.values()) / len(heard)
        for j, heard in at_variable.items()
    }
    for heard in at_variable.values():
        for i in heard:
            at_factor[i] |= {k: term for k, (_, term) in heard.items() if blocks[k] == blocks[i]}
    c = [sum(term for k, term in heard.items() if k != i) for i, heard in enumerate(at_factor)]
    return xbar, c, [set(heard) for heard in at_factor]


def test_the_papers_example():
    """Appendix A prints N_3 = {2, 3, 4}; by V_3 and F_3 = {1, 3, 4} factor 1 is there as well."""
    graph = FactorGraph.of(EXAMPLE, 3)
    expected = [[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1], [1, 0, 1, 1]]
    assert_array_equal(graph.adjacency, expected)
    assert_array_equal(graph.sizes, [3, 2, 4, 3])
    assert_array_equal(graph.degrees, [2, 2, 3])  # F_3 = {1, 3, 4}
    assert_array_equal(graph.edges_of(np.array([0, 2, 3])), [[0, 1], [3, 4], [5, 6]])
    assert_array_equal(graph.edges, [[0, 0], [0, 2], [1, 1], [2, 1], [2, 2], [3, 0], [3, 2]])
    assert (graph.factors, graph.d) == (EXAMPLE, 3)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 10**6))
def test_vectors_equal_messages_sent_one_by_one(graph, seed):
    rng = np.random.default_rng(seed)
    F = len(graph.factors)
    x, terms, blocks = rng.random((F, graph.d)), rng.random(F), rng.integers(2, size=F)
    for tried, of in (
        (np.zeros(F), graph),
        (blocks, FactorGraph.of(graph.factors, graph.d, blocks)),
    ):
        xbar, c, heard = slow_round(graph.factors, tried, x, terms)
        agreed = of.consensus(x[of.edges[:, 0], of.edges[:, 1]])
        assert_allclose(agreed, [xbar[j] for j in range(of.d)])
        assert_allclose(of.neighbour_sums(terms), c, atol=1e-12)
        assert_allclose(of.consensus(of.spread(x[0])), x[0])
        for i in range(F):
            assert set(np.flatnonzero(of.adjacency[i])) == heard[i] and i in heard[i]
            assert of.sizes[i] == len(heard[i])


def test_sums_of_nothing_are_nothing_however_large_the_own_term():
    graph = FactorGraph.of(((0, 1), (1,), (2,)), 3)
    assert_array_equal(graph.neighbour_sums(np.array([1e300, 0.1, 5.0])), [0.1, 1e300, 0.0])
    assert_array_equal(graph.neighbour_sums(np.ones((4, 3))), np.tile([1.0, 1.0, 0.0], (4, 1)))
    assert graph.exploration(np.ones((4, 3))).shape == (4,)


def test_a_graph_without_all_variables_or_blocks_is_refused():
    with pytest.raises(ValueError, match=r"none of \[2\] in a factor"):
        FactorGraph.of(((0, 1), (1,)), 3)
    with pytest.raises(ValueError, match="expected one block for each of 2 factors"):
        FactorGraph.of(((0, 1), (1,)), 2, np.zeros(3, dtype=int))


def test_one_round_on_the_example_by_hand():
    graph = FactorGraph.of(EXAMPLE, 3)
    assert_allclose(graph.consensus(np.array([0.0, 0.1, 0.2, 0.4, 0.6, 1.0, 0.5])), [0.5, 0.3, 0.4])
    assert_array_equal(graph.spread(np.array([7.0, 8.0, 9.0])), [7, 9, 8, 8, 9, 7, 9])
    assert_allclose(graph.terms(np.array([9.0, 4.0, 16.0, 18.0])), [1, 1, 1, 2])
    sums = graph.neighbour_sums(np.array([1.0, 10.0, 100.0, 1000.0]))
    assert_allclose(sums, [1100, 100, 1011, 101])
    assert_allclose(graph.exploration(np.array([9.0, 4.0, 16.0, 18.0])), 2 + 2**0.5 + 5**0.5 + 2)
