"""What a few paired seeds can decide: t intervals, paired t and exact sign-flip tests, two looks at
the seeds, equivalence, shares, the smallest effect that could have been seen.

All tests are one-sided: `p` is small when the mean lies below zero (or a share beyond its bound),
`p_against` when it lies above. `t_test` and `sign_flip` take (n, ...), one row a seed, and judge
every column by itself: simulations of their errors are one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

LEVEL = 0.05
ENOUGH = 5  # fewer paired seeds decide nothing: an exact sign-flip p cannot fall below 0.05 before
FULL = 10  # seeds at which the second look is taken, the last one
# Levels of the two looks, which keep LEVEL together. The first spends what an exact test of five
# pairs can reach at all, 1/32, near the 0.0310 of the spending function 0.05 ln(1 + (e - 1)/2) of
# Lan and DeMets (Biometrika 70, 1983, p. 659); the second is what is left: docs/verdicts.md.
LOOKS = ((ENOUGH, 1 / 32), (FULL, 0.026))
POWER = 0.8  # with which the smallest effect is seen that a claim shows
MOST_FLIPS = 14  # all 2^n sign patterns up to here, then a fixed sample of them
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Look:
    """One look at the seeds: at how many of them, and at which level it decides."""

    seeds: int
    level: float


def looks(planned: int) -> tuple[Look, ...]:
    """The looks at a comparison for which so many seeds are planned.

    Ten or more are looked at twice. Where fewer are planned, the plan itself has fixed beforehand
    that there is one look, when all of them are there, at the full level.
    """
    if planned < FULL:
        return (Look(max(planned, ENOUGH), LEVEL),)
    return tuple(Look(*look) for look in LOOKS)


@dataclass(frozen=True)
class Test:
    """A mean with its 95 % t interval and one-sided p-values for "the mean lies below zero", and
    against it, for "it lies above"; `p_flip` are those of the exact test.
    """

    n: int
    mean: float
    low: float
    high: float
    p: float
    p_flip: float
    p_against: float
    p_flip_against: float


def interval(values: ArrayLike, *, level: float = 1 - LEVEL) -> tuple[Array, Array]:
    """t interval of the mean over the first axis (the seeds), NaN where fewer than two values are
    finite.
    """
    n, mean, spread = _moments(values)
    half = special.stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) * spread / np.sqrt(n)
    return mean - half, mean + half


def wald(values: ArrayLike) -> tuple[Array, Array]:
    """Mean -+ 1.96 standard errors over the first axis, the normal approximation; with five values
    it covers some 88 %.
    """
    n, mean, spread = _moments(values)
    half = 1.96 * spread / np.sqrt(n)
    return mean - half, mean + half


def within_error(values: ArrayLike) -> tuple[Array, Array]:
    """Mean -+ one standard error over the first axis."""
    n, mean, spread = _moments(values)
    error = spread / np.sqrt(n)
    return mean - error, mean + error


def _moments(values: ArrayLike) -> tuple[Array, Array, Array]:
    """How many numbers lie along the first axis, their mean and sample standard deviation: NaN for
    none, for fewer than two.
    """
    seen = np.asarray(values, dtype=np.float64)
    n = np.isfinite(seen).sum(axis=0)
    with np.errstate(all="ignore"):
        mean = np.nansum(seen, axis=0) / n
        spread = np.sqrt(np.nansum((seen - mean) ** 2, axis=0) / (n - 1))
    return n, mean, np.where(n > 1, spread, np.nan)


def below_zero(values: ArrayLike) -> Test:
    """Is the mean of one value per seed below zero? A paired test where the values are
    differences.
    """
    seen = np.asarray(values, dtype=np.float64)
    low, high = interval(seen)
    both = (float(test(side)) for side in (seen, -seen) for test in (t_test, sign_flip))
    p, p_flip, p_against, p_flip_against = both
    mean = float(seen.mean())
    return Test(len(seen), mean, float(low), float(high), p, p_flip, p_against, p_flip_against)


def ranked_below_zero(values: ArrayLike) -> Test:
    """Is a value likelier below zero than above? Wilcoxon's signed ranks, exact, for differences
    that may be infinite.

    Infinite values share the largest ranks. The mean is replaced by the median, the interval by the
    quartiles.
    """
    seen = np.asarray(values, dtype=np.float64)
    low, high = np.quantile(seen, [0.25, 0.75], method="inverted_cdf")
    below, above = (np.quantile(seen, 0.5, method=method) for method in ("inverted_cdf", "higher"))
    middle = 0.0 if below < 0 < above else max(below, above, key=lambda end: -abs(end))
    ranks = signed_ranks(seen)
    p, against = float(sign_flip(ranks)), float(sign_flip(-ranks))
    return Test(len(seen), float(middle), float(low), float(high), p, p, against, against)


def signed_ranks(values: Array) -> Array:
    """The rank of each size among those of its column (n, ...), with the sign of the value."""
    return np.asarray(np.sign(values) * stats.rankdata(np.abs(values), axis=0), dtype=np.float64)


def t_test(values: Array) -> Array:
    """One-sided p of Student's t for a mean below zero, of each column of (n, ...).

    Where all values agree there is no spread to measure by: the exact 2^-n below zero, else 1. NaN
    for a single value.
    """
    n = len(values)
    finite = np.isfinite(values).all(axis=0) & (n > 1)
    with np.errstate(all="ignore"):
        mean = values.mean(axis=0)
        error = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full_like(mean, np.nan)
        p = special.stdtr(max(n - 1, 1), mean / error)  # as stats.t.cdf, at a tenth of its cost
        agree = error <= 1e-12 * np.abs(mean)
    return np.where(finite, np.where(agree, np.where(mean < 0, 0.5**n, 1.0), p), np.nan)


def sign_flip(values: Array) -> Array:
    """One-sided p of the sign-flip permutation test of each column of (n, ...): the share of sign
    patterns with a sum at most the observed one.
    """
    n, columns = len(values), values.reshape(len(values), int(np.prod(values.shape[1:])))
    finite = np.isfinite(columns).all(axis=0)
    seen = np.where(finite, columns, 0.0)
    signs, shares = _signs(n), np.empty(columns.shape[1])
    most = seen.sum(axis=0) + 1e-12 * np.abs(seen).sum(axis=0)
    at_once = max(1, (1 << 22) // len(signs))
    for first in range(0, len(shares), at_once):
        part = slice(first, first + at_once)
        shares[part] = (signs @ seen[:, part] <= most[part]).mean(axis=0)
    return np.where(finite, shares, np.nan).reshape(values.shape[1:])


@cache
def _signs(n: int) -> Array:
    """Sign patterns (N, n), the observed one among them: all of them, or a fixed sample."""
    if n <= MOST_FLIPS:
        return np.array(list(product((1.0, -1.0), repeat=n)))
    random = np.random.Generator(np.random.Philox(key=n))
    signs = random.choice((1.0, -1.0), size=(1 << MOST_FLIPS, n))
    signs[0] = 1.0
    return signs


def either(one: Test, other: Test) -> Test:
    """Both statements of two tests of the same values: p is the larger one. Against them, one of
    the two is enough, and p is twice the smaller one.
    """
    p, p_flip = max(one.p, other.p), max(one.p_flip, other.p_flip)
    p_against, p_flip_against = (
        min(1.0, 2 * min(getattr(one, name), getattr(other, name)))
        for name in ("p_against", "p_flip_against")
    )
    return Test(one.n, one.mean, one.low, one.high, p, p_flip, p_against, p_flip_against)


def within(values: Array, tolerance: float | Array) -> Test:
    """Equivalence by two one-sided tests: |mean| < tolerance, which may have a value for each
    seed.
    """
    both = either(below_zero(values - tolerance), below_zero(-values - tolerance))
    return with_mean_of(values, both)


def with_mean_of(values: Array, test: Test) -> Test:
    """A test with mean and interval of the numbers that are shown, which it need not test."""
    low, high = interval(values)
    return replace(test, mean=float(values.mean()), low=float(low), high=float(high))


@cache
def share(hits: int, n: int, *, at_least: float = 0.0, at_most: float = 1.0) -> Test:
    """An observed share with its exact 95 % interval; p that the true share keeps the bounds.

    No number of seeds shows a share of exactly 0 or 1 (p = 1); one seed refutes it (p_against = 0).
    """
    seen = stats.binomtest(hits, n).proportion_ci(1 - LEVEL)
    p, against = [0.0], [1.0]
    if at_least > 0:
        p.append(float(stats.binomtest(hits, n, at_least, alternative="greater").pvalue))
        against.append(float(stats.binomtest(hits, n, at_least, alternative="less").pvalue))
    if at_most < 1:
        p.append(float(stats.binomtest(hits, n, at_most, alternative="less").pvalue))
        against.append(float(stats.binomtest(hits, n, at_most, alternative="greater").pvalue))
    refuted = min(1.0, (len(against) - 1) * min(against))
    return Test(n, hits / n, float(seen.low), float(seen.high), max(p), max(p), refuted, refuted)


@cache
def detectable(n: int, level: float, power: float = POWER) -> float:
    """The smallest mean, in standard deviations of n values, that a one-sided t test at a level
    sees with this power; NaN for a single value.
    """
    if n < 2:
        return float("nan")
    critical = stats.t.isf(level, n - 1)

    def lacks(effect: float) -> float:
        return float(stats.nct.sf(critical, n - 1, effect * np.sqrt(n))) - power

    return float(optimize.brentq(lacks, 0.0, 100.0))


def detectable_ratio(n: int, level: float, power: float = POWER) -> float:
    """The largest ratio below 1 of two standard deviations, each of n values, that an F test at a
    level sees with this power.
    """
    free = max(n - 1, 1)
    return float(np.sqrt(stats.f.ppf(level, free, free) / stats.f.ppf(power, free, free)))


def false_discovery(p: Sequence[float]) -> Array:
    """Benjamini and Hochberg's adjusted p-values: calling everything significant whose adjusted p
    is at most q keeps the expected share of false calls among the calls at q. NaN stays NaN and
    counts for nothing.
    """
    seen = np.asarray(p, dtype=np.float64)
    known = ~np.isnan(seen)
    adjusted = np.full_like(seen, np.nan)
    if known.any():
        adjusted[known] = stats.false_discovery_control(seen[known], method="bh")
    return adjusted


def ranks_in_rows(values: ArrayLike) -> Array:
    """Ranks from 1 for the least in each row of (N, k); ties share the mean of their ranks, as all
    infinite values of a row do.

    Means of the same numbers in another order differ by rounding alone: what is closer than 1e-12
    of the row's largest is tied.
    """
    seen = np.asarray(values, dtype=np.float64)
    ranked = np.empty_like(seen)
    for row, out in zip(seen, ranked, strict=True):
        order = np.argsort(row)
        tolerance = 1e-12 * np.abs(row[np.isfinite(row)]).max(initial=0.0)
        with np.errstate(invalid="ignore"):
            step = np.diff(row[order]) > tolerance  # two infinities: NaN, no step
        out[order] = stats.rankdata(np.concatenate([[0], np.cumsum(step)]))
    return ranked


def friedman(ranks: Array) -> float:
    """p of Friedman's test that the columns of (N, k) ranks within rows do not differ: the rows are
    permuted, each by itself.

    Chi-square and Iman and Davenport's F need many rows: without any effect F rejects at 5 % in 20
    % of samples of 3 x 3.
    """
    random = np.random.Generator(np.random.Philox(key=len(ranks))).random(
        ((1 << MOST_FLIPS) - 1, *ranks.shape)
    )
    permuted = np.take_along_axis(ranks[None], random.argsort(axis=2), axis=2)  # (2^14 - 1, N, k)
    sums, seen = (permuted.sum(axis=1) ** 2).sum(axis=1), float((ranks.sum(axis=0) ** 2).sum())
    # the observed pattern counts
    return float((1 + (sums >= seen * (1 - 1e-12)).sum()) / (1 + len(sums)))


def critical_difference(k: int, n: int) -> float:
    """Nemenyi's: two of k mean ranks over n rows that lie at least this far apart differ at 5 %,
    whatever pair one looks at.
    """
    return float(
        stats.studentized_range.ppf(1 - LEVEL, k, np.inf) * np.sqrt(k * (k + 1) / (12 * n))
    )


def indistinct(ascending: Array, difference: float) -> list[tuple[int, int]]:
    """First and last position of each longest run of ascending numbers that lie less than a
    difference apart.
    """
    ends = np.searchsorted(ascending, ascending + difference - 1e-9) - 1
    runs = [(first, int(last)) for first, last in enumerate(ends) if last > first]
    return [
        run for position, run in enumerate(runs) if not position or run[1] > runs[position - 1][1]
    ]


def power_law(x: Array, y: Array) -> tuple[float, float]:
    """(c, e) of y ~ c x^e by least squares in the logarithms; NaN unless two points are positive. c
    is infinite where the law is so steep that no number holds it.
    """
    fits = (x > 0) & (y > 0) & np.isfinite(y)
    if fits.sum() < 2:
        return float("nan"), float("nan")
    exponent, constant = np.polyfit(np.log(x[fits]), np.log(y[fits]), 1)
    with np.errstate(over="ignore"):
        return float(np.exp(constant)), float(exponent)
