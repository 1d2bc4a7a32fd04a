"""Formulas of flops against loops that count, and efforts of steps against what the steps do."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import effort
from benchmarks.effort import DOUBLE, NOTHING, Effort
from benchmarks.steps import on_boxes, on_constrained
from benchmarks.steps.given import counted, points, posterior


def by_hand_cholesky(n):
    """Multiplications, additions, divisions and roots of the textbook loop."""
    count = 0
    for j in range(n):
        count += 2 * j + 1  # the diagonal
        count += (n - j - 1) * (2 * j + 1)  # below it
    return count


def by_hand_triangular(n, q):
    return q * sum(2 * i + 1 for i in range(n))


def by_hand_inverse(n):
    """The inverse of L by columns, then L^-T L^-1, the lower half of it."""
    inverted = sum(sum(2 * (i - j) + 1 for i in range(j, n)) for j in range(n))
    multiplied = sum(2 * (n - max(i, j)) for i in range(n) for j in range(i + 1))
    return inverted + multiplied


@pytest.mark.parametrize(
    ("formula", "loops"),
    [
        (effort.cholesky(400).flops, by_hand_cholesky(400)),
        (effort.triangular(400, 7).flops, by_hand_triangular(400, 7)),
        (effort.inverse(400).flops, by_hand_inverse(400)),
        (effort.product(3, 400, 7).flops, 3 * 7 * (400 + 399)),
    ],
    ids=["cholesky", "triangular", "inverse", "product"],
)
def test_a_formula_counts_what_the_loops_do(formula, loops):
    assert formula == pytest.approx(loops, rel=0.01)


def test_efforts_add_up_and_the_slower_of_two_rates_is_the_limit():
    total = 2 * Effort(3.0, 5.0) + Effort(1.0, 0.5) + NOTHING
    assert total == Effort(7.0, 10.5)
    assert total.seconds(7.0, 100.0) == 1.0
    assert total.seconds(700.0, 10.5) == 1.0


@pytest.mark.parametrize(
    ("growing", "exponent"),
    [
        (lambda n: effort.evidence(n, 5), 3),
        (lambda d: effort.evidence(100, d), 1),
        (lambda n: effort.moments(n, 5, 5), 2),
        (lambda k: effort.joint_draws(50, k, 5, 50), 3),
        (lambda n: effort.path_draws(n, 50, 5, 50, 200), 2),
        (lambda d: effort.path_draws(50, 50, d, 50, 200), 1),
        (lambda u: effort.pull(10, u, 5), 2),
        (lambda A: effort.pull(A, 50, 5), 1),
        (lambda A: effort.sketch(A, 50, 30, 30), 1),
        (lambda n: effort.sampled_density(n, 5), 3),
        (lambda n: effort.joint_moments(3, n, 10, 5), 2),
        (lambda n: effort.reduction(3, 10, 5, n, 5), 2),
        (lambda n: effort.design(3, n, 5), 3),
        (lambda n: effort.additive_evidence(n, 20), 3),
    ],
)
def test_the_leading_term_grows_as_the_theory_says(growing, exponent):
    large = 1e7
    assert np.log2(growing(2 * large).flops / growing(large).flops) == pytest.approx(
        exponent, abs=0.01
    )


def test_bytes_are_those_of_whole_matrices():
    assert effort.product(2, 3, 5).bytes == DOUBLE * (6 + 15 + 10)
    assert effort.elementwise(100, 3).bytes == 2 * DOUBLE * 300


def test_a_step_is_counted_by_what_it_asks_for():
    """Scoring alone, then scoring with slopes."""
    known, X = posterior(30, 3), points(7, 3)
    assert counted(lambda: known(X)) == effort.moments(30, 7, 3)
    both = effort.moments(30, 7, 3) + effort.slopes(30, 7, 3)
    assert counted(lambda: known.slopes(X)) == both
    assert counted(lambda: None) == NOTHING


def test_the_candidates_of_a_step_on_a_box_are_in_its_effort():
    work = on_boxes.WORKS[0]
    size = {"n": 12, "d": 2}
    climb = work.ours(size).effort
    more = {**on_boxes.BOTORCH, "climb": replace(on_boxes.BOTORCH["climb"], raw=1024)}
    difference = on_boxes.ours(more)(size).effort.flops - climb.flops
    assert difference > 0.5 * effort.moments(12, 512, 2).flops


def test_an_iteration_of_lcbo_is_counted_by_its_descents():
    few, more = (
        on_constrained.iteration_of_lcbo({"climb.steps": steps})({"d": 3}).effort
        for steps in (2, 5)
    )
    assert 1.5 < more.flops / few.flops < 2.5  # 7 reductions beside 4, and what steps do not change
