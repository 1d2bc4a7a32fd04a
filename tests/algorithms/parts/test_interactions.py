"""The chain of decompositions: what it returns, when it moves, and what models inherit."""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.factors.additive_process import (
    Distances,
    Fit,
    Kernel,
    Scales,
    Solved,
    log_evidence,
    solve,
)
from algorithms.parts.factors.decomposition import canonical, check, singletons, whole
from algorithms.parts.factors.interactions import Chain, Fits, Partitions, inherited

FIRST = Scales(outputscale=0.693, lengthscale=0.693, noise=0.693, least_noise=1e-4, mean="zero")
PAIRS = ((0, 1), (2, 3))
TRIALS = 800


def fits_of(steps, new_steps, start="first-values"):
    return Fits(FIRST, Fit(rate=0.1, steps=steps, new_steps=new_steps), start)


QUICK = fits_of(3, 3)


def rules(models=5, largest=inf, acceptance="total"):
    return Partitions(models, largest, "exact", acceptance, "first-values")


def begin(d=4, seed=0, fits=QUICK, **changes):
    return Chain.begin(d, np.random.default_rng(seed), fits, rules(**changes))


def additive(n=60, seed=0):
    """f = g1(x1, x2) + g2(x3, x4), neither of them a sum itself: points and standardised values."""
    X = np.random.default_rng(seed).random((n, 4))
    y = np.sin(6 * X[:, 0] * X[:, 1]) + np.cos(5 * (X[:, 2] - X[:, 3]))
    return X, (y - y.mean()) / y.std(ddof=1)


def kernel(outputscale, lengthscale, noise=0.05):
    return Kernel(np.array(outputscale), np.array(lengthscale), noise)


@dataclass(frozen=True)
class Told(Fits):
    """Evidence as told: -500 where the chain begins, so much more for whatever it proposes."""

    gain: float = 0.0

    def again(self, distances, factors, y, kernel):
        return Solved(self.first(factors), y, np.eye(len(y)), -500.0)

    def anew(self, distances, factors, y, near=None):
        return Solved(self.first(factors), y, np.eye(len(y)), self.gain - 500.0)


# what a chain returns


def test_a_chain_begins_at_the_whole_set_or_at_a_partition_that_is_fine_enough():
    assert begin(5).decomposition == whole(5)
    assert begin(5, largest=5).decomposition == whole(5)
    for seed in range(20):
        start = begin(5, seed, largest=2).decomposition
        check(start, 5)
        assert max(map(len, start)) <= 2
    assert len({begin(5, seed, largest=2).decomposition for seed in range(20)}) > 1


def test_a_sample_holds_so_many_models_from_the_present_one_on():
    X, y = additive(20)
    distances, chain, draw = Distances(X), begin(), np.random.default_rng(1)
    for count in (5, 1, 4):
        present = chain
        found, chain = present.sample(distances, y, draw, count=count)
        assert len(found) == count
        assert found[0][0] == present.decomposition
        refitted = QUICK.again(distances, present.decomposition, y, present.kernel)
        assert_array_equal(found[0][1].alpha, refitted.alpha)
        assert found[0][1].kernel.noise != present.kernel.noise
        assert (chain.decomposition, chain.kernel) == (found[-1][0], found[-1][1].kernel)
        assert replace(chain, decomposition=present.decomposition, kernel=present.kernel) == present
        for decomposition, solved in found:
            assert canonical(decomposition) == decomposition
            again = solve(distances, decomposition, solved.kernel, y)
            assert_allclose(solved.log_evidence, again.log_evidence, rtol=1e-9)
    assert chain.decomposition != whole(4)


def test_successive_models_differ_by_one_split_or_merge_or_not_at_all():
    X, y = additive(20)
    found, _ = begin().sample(Distances(X), y, np.random.default_rng(1), count=40)
    steps = [abs(len(new) - len(old)) for (old, _), (new, _) in pairwise(found)]
    assert set(steps) == {0, 1}
    for (old, before), (new, after) in pairwise(found):
        # a refused proposal leaves the model that stands, fit and all
        assert (old == new) == (before is after)


# when it moves


def moved(acceptance, gain, n):
    """How often a chain on two variables leaves the whole set for the only other partition."""
    fits = Told(FIRST, Fit(rate=0.1, steps=0, new_steps=0), "first-values", gain)
    X, y, draw = np.random.default_rng(0).random((n, 2)), np.zeros(n), np.random.default_rng(2)
    chain, distances = begin(2, fits=fits, acceptance=acceptance), Distances(X)
    ends = [chain.sample(distances, y, draw, count=2)[1] for _ in range(TRIALS)]
    return np.mean([end.decomposition != whole(2) for end in ends])


def test_total_evidence_is_colder_than_evidence_per_datum():
    """One way from {1, 2} to {1}, {2} and one back: what is left of the ratio is the evidence."""
    error = 4.5 * 0.5 / TRIALS**0.5
    assert moved("total", -20.0, n=20) == 0.0  # exp(-20)
    assert moved("per-datum", -20.0, n=20) == pytest.approx(exp(-1), abs=error)
    assert moved("total", -1.0, n=20) == pytest.approx(exp(-1), abs=error)
    assert moved("per-datum", -1.0, n=20) == pytest.approx(exp(-1 / 20), abs=error)
    assert moved("total", 20.0, n=20) == moved("per-datum", 20.0, n=20) == 1.0


# what a new model starts from


def test_a_split_shares_a_variance_by_variables_and_a_merge_adds_them():
    three, near = ((0, 1, 2), (3,)), kernel([0.9, 0.4], [0.5, 0.2])
    model = three, Solved(near, np.zeros(1), np.eye(1), 0.0)
    split = inherited(((0,), (1, 2), (3,)), model)
    assert_allclose(split.outputscale, [0.3, 0.6, 0.4])
    assert_allclose(split.lengthscale, [0.5, 0.5, 0.2])
    merged = inherited(((0, 1, 2, 3),), model)
    assert_allclose(merged.outputscale, [1.3])
    assert_allclose(merged.lengthscale, [(3 * 0.5 + 0.2) / 4])
    same = inherited(three, model)
    assert_allclose(same.outputscale, near.outputscale)
    assert_allclose(same.lengthscale, near.lengthscale)
    assert split.noise == merged.noise == same.noise == 0.05


@pytest.mark.parametrize("start", ["first-values", "inherited"])
def test_a_new_model_starts_where_it_is_told_to(start):
    X, y = additive(15)
    distances, fits = Distances(X), fits_of(0, 0, start)
    near = whole(4), solve(distances, whole(4), kernel([2.0], [0.4]), y)
    new = fits.anew(distances, PAIRS, y, near).kernel
    expected = kernel([0.693] * 2, [0.693] * 2, 0.693)
    if start == "inherited":
        expected = kernel([1.0, 1.0], [0.4, 0.4])
    assert_allclose(new.outputscale, expected.outputscale)
    assert_allclose(new.lengthscale, expected.lengthscale)
    assert_allclose(new.noise, expected.noise)
    assert_allclose(fits.anew(distances, PAIRS, y).kernel.outputscale, 0.693)  # without a near one


def test_in_a_chain_a_model_inherits_from_the_one_that_it_is_proposed_from():
    """Without steps of its own a new model keeps the variance of the first one's fit."""
    X, y = additive(15)
    fits = fits_of(5, 0, "inherited")
    chain = begin(fits=fits, acceptance="per-datum")
    found, _ = chain.sample(Distances(X), y, np.random.default_rng(0), count=10)
    total = [solved.kernel.outputscale.sum() for _, solved in found]
    assert len({decomposition for decomposition, _ in found}) > 2
    assert abs(total[0] - 0.693) > 0.1
    assert_allclose(total, total[0], rtol=1e-12)


def test_new_and_known_models_are_fitted_for_their_own_numbers_of_steps():
    """One step of Adam at rate 0.1 moves every rho of theta = softplus(rho) by 0.1."""
    X, y = additive(15)
    distances, fits = Distances(X), fits_of(0, 1)
    known = fits.again(distances, PAIRS, y, kernel([0.5, 0.6], [0.7, 0.8]))
    assert_allclose(known.kernel.outputscale, [0.5, 0.6])
    assert fits.now(distances, PAIRS, y, known).kernel.noise == pytest.approx(known.kernel.noise)
    new = fits.now(distances, PAIRS, y, None).kernel
    rho = np.log(np.expm1(new.outputscale))
    assert_allclose(np.abs(rho - np.log(np.expm1(0.693))), 0.1, rtol=1e-5)
    _, over_a, *_ = log_evidence(distances, distances.of(PAIRS), fits.first(PAIRS), y)
    assert_array_equal(new.outputscale > 0.693, over_a > 0)


def test_drawn_decompositions_are_independent_partitions_of_what_is_allowed():
    drawn = rules(200, largest=2).drawn(4, np.random.default_rng(3))
    assert len(drawn) == 200
    for decomposition in drawn[:10]:
        check(decomposition, 4)
    sizes = [tuple(sorted(map(len, decomposition))) for decomposition in drawn]
    assert set(sizes) == {(1, 1, 1, 1), (1, 1, 2), (2, 2)}
    for each in set(sizes):  # the three ways to write 4 with parts of at most 2
        assert abs(np.mean([size == each for size in sizes]) - 1 / 3) < 4.5 * (2 / 9 / 200) ** 0.5
    assert drawn[0] != drawn[1] or drawn[1] != drawn[2]


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_no_factor_is_larger_than_allowed(largest):
    X, y = additive(20)
    found, _ = begin(largest=largest).sample(Distances(X), y, np.random.default_rng(1), count=60)
    for decomposition, _ in found:
        check(decomposition, 4)
    assert max(len(factor) for decomposition, _ in found for factor in decomposition) == largest


def test_a_decomposition_that_is_proposed_again_is_not_fitted_again():
    """Only where its fit depends on nothing but the data."""
    X, y = additive(20)
    for start, fewer in (("first-values", True), ("inherited", False)):
        fitted = []

        @dataclass(frozen=True)
        class Counted(Fits):
            def anew(self, distances, factors, y, near=None, fitted=fitted):
                fitted.append(factors)
                return super().anew(distances, factors, y, near)

        fits = Counted(FIRST, Fit(rate=0.1, steps=3, new_steps=3), start)
        distances = Distances(X[:, :2])
        found, _ = begin(2, fits=fits).sample(distances, y, np.random.default_rng(1), count=12)
        assert (len(fitted) == len(set(fitted))) == fewer
        for factors, solved in found[1:]:
            if fewer and factors == singletons(2):
                again = fits.anew(distances, factors, y)
                assert_array_equal(solved.alpha, again.alpha)
