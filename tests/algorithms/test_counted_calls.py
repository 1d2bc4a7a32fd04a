"""What BKB and BBKB compute in a step, counted: kernel columns, eigendecompositions and the rows of
the product with all arms.

Seconds depend on the machine; these numbers say that no step does the work of another one again.
"""

from collections import Counter

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_array_equal

from algorithms.api import Arms, Observation
from algorithms.bbkb import BBKB
from algorithms.bkb import BKB
from algorithms.parts.arms import ExactPosterior, GaussianTable, Pulls, SketchedPosterior, sketch
from tests import settings

ARMS, FIRST = 300, 12
NOTHING = np.empty(0, dtype=np.int64)
SKETCH = {**settings.CONFIDENCE, **settings.SKETCH, "beta": "reference-code"}
SKETCH |= {"bandwidth": 0.2, "lam": 0.3}
BATCH = {**SKETCH, "C": 2.0, "parallelism": 0, "start": "resparsify"}


@pytest.fixture
def counted(count):
    """How often kernel columns are computed, matrices factorised and triangular systems solved, and
    how many rows the products with all arms have.
    """
    calls = Counter()
    count(calls, GaussianTable, "compute", "columns")
    count(calls, GaussianTable, "columns", "whole")
    count(calls, GaussianTable, "blocks", "rows", lambda kernel, arms, size: len(arms))
    for name in ("eigh", "svd", "inv", "solve", "cholesky", "slogdet"):
        count(calls, np.linalg, name)
    for name in ("cho_solve", "solve_triangular", "cholesky"):
        count(calls, scipy.linalg, name)
    count(calls, ExactPosterior, "add", "exact")
    return calls


def told(optimizer, query):
    """The optimizer after a smooth function was seen at some arms."""
    x = optimizer.domain.points[query]
    optimizer.tell(query, Observation.of(np.sin(5 * x[:, 0]) + x[:, 1]))
    return optimizer


def new(kind, **parameters):
    draw = np.random.default_rng(300)
    optimizer = kind(Arms(draw.random((ARMS, 2))), draw, **parameters)
    return told(optimizer, draw.choice(ARMS, size=FIRST, replace=False))


def check_refit(calls, optimizer, columns):
    """A refit computes the columns of arms that are new to it, two eigendecompositions and one
    product, and copies no column of all arms.
    """
    pulled = len(optimizer.pulls.arms)
    m = len(optimizer.posterior.dictionary)  # or, where that is almost as many, all pulled arms
    rows = m if pulled >= sketch.MANY and m < sketch.MATRIX * pulled else pulled
    assert calls == Counter(columns=columns, eigh=2, rows=rows)


def test_a_step_of_bkb_computes_at_most_one_column(counted):
    optimizer = new(BKB, **SKETCH, epsilon=0.5)
    check_refit(counted, optimizer, FIRST)
    new_arms = 0
    for _ in range(40):
        counted.clear()
        query = optimizer.ask(1, NOTHING)
        assert not counted.total()
        fresh = int(np.isin(query, optimizer.pulls.arms, invert=True).sum())
        told(optimizer, query)
        check_refit(counted, optimizer, fresh)
        new_arms += fresh
    assert 5 < new_arms < 40


@pytest.mark.parametrize("inclusion", ["per-pull", "per-arm"])
def test_a_batch_of_bbkb_computes_no_column_and_its_refit_each_new_one_once(
    counted, monkeypatch, inclusion
):
    monkeypatch.setattr(sketch, "MANY", 1)
    optimizer = new(BBKB, **{**BATCH, "inclusion": inclusion}, rule="global")
    check_refit(counted, optimizer, FIRST)
    shares = []
    for _ in range(12):
        counted.clear()
        query = optimizer.ask(1000, NOTHING)
        assert not counted.total()  # a batch lives on the features of its sketch
        fresh = np.setdiff1d(query, optimizer.pulls.arms)
        told(optimizer, query)
        check_refit(counted, optimizer, len(fresh))
        shares.append(len(optimizer.posterior.dictionary) / len(optimizer.pulls.arms))
    assert min(shares) < sketch.MATRIX < max(shares)  # both ways of the product were taken


def test_a_local_rule_adds_one_covariance_for_each_distinct_arm_of_a_batch(counted):
    optimizer = new(BBKB, **BATCH, rule="global-local")
    for _ in range(6):
        known = optimizer.pulls.arms
        counted.clear()
        query = optimizer.ask(1000, NOTHING)
        distinct = np.unique(query)
        fresh = np.setdiff1d(distinct, known)
        assert counted == Counter(columns=len(fresh), whole=len(distinct))
        counted.clear()
        told(optimizer, query)
        check_refit(counted, optimizer, 0)  # the batch has computed them


def test_columns_of_pulled_arms_lie_in_their_order_whichever_enter_the_dictionary():
    """Otherwise every later step would gather them all."""
    pulls, kernel = Pulls(), GaussianTable(np.random.default_rng(0).random((ARMS, 2)), 0.2)
    for start in (0, 20, 40):
        pulls.add(np.arange(start, start + 20), np.zeros(20))
        included = np.random.default_rng(start).random(start + 20) < 0.7
        SketchedPosterior.fit(kernel, 0.01, pulls, included)
        columns = kernel.columns(pulls.arms)
        assert np.shares_memory(columns, kernel.column(0))
        assert_array_equal(columns[7], kernel.compute(7))
