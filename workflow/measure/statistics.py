"""What a few paired seeds can decide: t intervals, paired t and exact sign-flip tests, Holm,
equivalence, shares.

All tests are one-sided: p is small when the mean lies below zero (or a share beyond its bound).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

LEVEL = 0.05
ENOUGH = 5  # fewer paired seeds decide nothing: an exact sign-flip p cannot fall below 0.05 before
MOST_FLIPS = 14  # all 2^n sign patterns up to here, then a fixed sample of them
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Test:
    """A mean with its 95 % t interval and one-sided p-values for "the mean lies below zero"."""

    n: int
    mean: float
    low: float
    high: float
    p: float
    p_flip: float


def interval(values: ArrayLike, *, level: float = 1 - LEVEL) -> tuple[Array, Array]:
    """t interval of the mean over the first axis (the seeds), NaN where fewer than two values are
    finite.
    """
    n, mean, spread = _moments(values)
    half = stats.t.ppf((1 + level) / 2, np.maximum(n - 1, 1)) * spread / np.sqrt(n)
    return mean - half, mean + half


def wald(values: ArrayLike) -> tuple[Array, Array]:
    """Mean -+ 1.96 standard errors over the first axis, the normal approximation; with five values
    it covers some 88 %.
    """
    n, mean, spread = _moments(values)
    half = 1.96 * spread / np.sqrt(n)
    return mean - half, mean + half


def standard_error(values: ArrayLike) -> Array:
    """Sample standard deviation over sqrt(n) of the n numbers along the first axis, NaN where fewer
    than two are there.
    """
    n, _, spread = _moments(values)
    return spread / np.sqrt(n)


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
    return Test(
        len(seen), float(seen.mean()), float(low), float(high), t_test(seen), sign_flip(seen)
    )


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
    p = sign_flip(np.sign(seen) * stats.rankdata(np.abs(seen)))
    return Test(len(seen), float(middle), float(low), float(high), p, p)


def t_test(values: Array) -> float:
    """One-sided p of Student's t for a mean below zero; 1 or 0 where all values agree, NaN for a
    single one.
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    if error <= 1e-12 * abs(mean) or error == 0:
        return 0.0 if mean < 0 else 1.0
    return float(stats.t.cdf(mean / error, len(values) - 1))


def sign_flip(values: Array) -> float:
    """One-sided p of the sign-flip permutation test: the share of sign patterns with a sum at most
    the observed one.
    """
    n = len(values)
    if not np.isfinite(values).all():
        return float("nan")
    if n <= MOST_FLIPS:
        signs = np.array(list(product((1.0, -1.0), repeat=n)))  # (2^n, n)
    else:
        signs = np.random.Generator(np.random.Philox(key=n)).choice(
            (1.0, -1.0), size=(1 << MOST_FLIPS, n)
        )
        signs[0] = 1.0  # the observed pattern counts
    tolerance = 1e-12 * np.abs(values).sum()
    return float((signs @ values <= values.sum() + tolerance).mean())


def holm(p: ArrayLike) -> Array:
    """Holm's step-down adjusted p-values in the given order; a NaN stays one and counts as a
    comparison.
    """
    seen = np.asarray(p, dtype=np.float64)
    order = np.argsort(seen)  # NaN last
    adjusted = np.maximum.accumulate(np.minimum(seen[order] * np.arange(len(seen), 0, -1), 1.0))
    result = np.empty_like(seen)
    result[order] = adjusted
    return result


def within(values: Array, tolerance: float | Array) -> Test:
    """Equivalence by two one-sided tests: p is the larger one for |mean| < tolerance, which may
    have a value for each seed.
    """
    upper, lower = below_zero(values - tolerance), below_zero(-values - tolerance)
    low, high = interval(values)
    p, p_flip = max(upper.p, lower.p), max(upper.p_flip, lower.p_flip)
    return Test(len(values), float(values.mean()), float(low), float(high), p, p_flip)


def share(hits: int, n: int, *, at_least: float = 0.0, at_most: float = 1.0) -> Test:
    """An observed share with its exact 95 % interval; p that the true share keeps the bounds.

    No test can show a share of exactly 0 or 1: such a bound is kept (p = 0) or broken (p = 1).
    """
    seen = stats.binomtest(hits, n).proportion_ci(1 - LEVEL)
    if at_least in (0, 1) and at_most in (0, 1):
        p = 0.0 if at_least <= hits / n <= at_most else 1.0
    else:
        above = (
            stats.binomtest(hits, n, at_least, alternative="greater").pvalue
            if at_least > 0
            else 0.0
        )
        below = stats.binomtest(hits, n, at_most, alternative="less").pvalue if at_most < 1 else 0.0
        p = float(max(above, below))
    return Test(n, hits / n, float(seen.low), float(seen.high), p, p)


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation; NaN for fewer than three pairs or where all of one side are
    equal.
    """
    ranks = np.array([stats.rankdata(x), stats.rankdata(y)])  # (2, n)
    if ranks.shape[1] < 3 or (ranks == ranks[:, :1]).all(axis=1).any():
        return float("nan")
    return float(np.corrcoef(ranks)[0, 1])


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
    """(c, e) of y ~ c x^e by least squares in the logarithms;
    NaN unless two points are positive.
    """
    fits = (x > 0) & (y > 0) & np.isfinite(y)
    if fits.sum() < 2:
        return float("nan"), float("nan")
    exponent, constant = np.polyfit(np.log(x[fits]), np.log(y[fits]), 1)
    return float(np.exp(constant)), float(exponent)
