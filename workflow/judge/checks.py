"""The closed vocabulary of `check:` in papers/*.yaml: each test turns records into comparisons with
an effect and a p.

A comparison `holds` if the observed mean lies on the claimed side; its one-sided p is small if that
is no accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from workflow.judge.evidence import (
    Check,
    Evidence,
    along,
    bound_sides,
    curves,
    curves_of,
    scalars,
    sides,
)
from workflow.measure.metrics import Array
from workflow.measure.statistics import (
    LEVEL,
    Test,
    below_zero,
    interval,
    power_law,
    ranked_below_zero,
    share,
    within,
)

OF_ROWS = "share of rows"  # what the kind of a statement about every row begins with
BY_RANK = "by rank"  # what a comparison's kind ends with where some values are infinite
SPREADS = 3.0  # at 10 seeds a ratio of two equal spreads reaches this factor by accident


@dataclass(frozen=True)
class Comparison:
    """One of a claim's comparisons: effect with interval (or extremes), one-sided p-values, paired
    seeds.
    """

    what: str
    kind: str
    effect: float
    low: float
    high: float
    holds: bool
    p: float
    p_flip: float
    n: int
    undecided: str = ""

    @property
    def has_number(self) -> bool:
        """Whether there is an effect; a median by rank may be infinite."""
        return bool(np.isfinite(self.effect)) or (
            BY_RANK in self.kind and not np.isnan(self.effect)
        )


def compare(evidence: Evidence, check: Check) -> list[Comparison]:
    """All comparisons of a check; an empty list where this scale leaves nothing to compare."""
    return list(TESTS[check["test"]](evidence, check))


def _ordered(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """`less`, `more`: left < factor * right, or > , paired over seeds; as a difference or as a
    ratio (in logarithms).

    By rank where a side is infinite, as the best feasible value of a run is that has found none;
    two of them are equal.
    """
    sign, factor = (1.0 if check["test"] == "less" else -1.0), check.get("factor", 1.0)
    mark = "<" if sign > 0 else ">"
    for what, left, right in sides(evidence, check):
        words = what.replace(" and ", f" {mark} " + (f"{factor:g} x " if factor != 1 else ""), 1)
        if check.get("compare") == "ratio":
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = np.log(left) - np.log(right)
            low, high = np.exp(interval(distance))
            effect, kind, test = (
                float(np.exp(distance.mean())),
                "ratio",
                below_zero(sign * (distance - np.log(factor))),
            )
        elif np.isinf(left).any() or np.isinf(right).any():
            distance = _distance(left, factor * right)
            test = ranked_below_zero(sign * distance)
            least, most = sorted([sign * test.low, sign * test.high])
            kind, effect = f"median difference {BY_RANK}", sign * test.mean
            yield Comparison(
                words, kind, effect, least, most, test.mean < 0, test.p, test.p_flip, test.n
            )
            continue
        else:
            distance = left - factor * right
            low, high = interval(distance)
            effect, kind, test = float(distance.mean()), "difference", below_zero(sign * distance)
        yield Comparison(
            words, kind, effect, float(low), float(high), test.mean < 0, test.p, test.p_flip, test.n
        )


def _distance(left: Array, right: Array) -> Array:
    """left - right, 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(left == right, 0.0, left - right)


def _passes(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """From which evaluation on the left side is no worse than the right one at its end, against a
    bound; never is infinite.
    """
    for what, pairs in bound_sides(evidence, check):
        seen = np.array([_first(left <= right[-1]) for left, right in pairs])
        test = ranked_below_zero(seen - check["at_most"] - 0.5)  # the bound itself keeps it
        words = what.replace(" and ", " reaches the end of ", 1)
        effect, low, high = (
            edge + check["at_most"] + 0.5 for edge in (test.mean, test.low, test.high)
        )
        yield Comparison(
            words,
            f"median evaluation {BY_RANK}",
            effect,
            low,
            high,
            test.mean < 0,
            test.p,
            test.p_flip,
            test.n,
        )


def _first(true: Array) -> float:
    """The number, from 1, of the first entry that is true; infinite where none is."""
    return float(np.argmax(true) + 1) if true.any() else float("inf")


def _equivalent(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """Two one-sided tests that the means differ by less than a share of the right one, or than an
    absolute tolerance.

    A share is taken of each seed's own value: the right mean is as uncertain as the left one.
    """
    for what, left, right in sides(evidence, check):
        tolerance = (
            np.full(len(right), float(check["absolute"]))
            if "absolute" in check
            else check["tolerance"] * np.abs(right)
        )
        words = what.replace(" and ", " = ", 1) + f" within {tolerance.mean():.3g}"
        holds = abs(float((left - right).mean())) < tolerance.mean()
        yield _comparison(words, "difference", within(left - right, tolerance), holds=holds)


def _published(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """Our mean over the published value, equivalent within a relative tolerance."""
    value = check["value"]
    for problem, curve in curves_of(evidence, check):
        seen = np.array(list(scalars(evidence, check, problem, curve).values())) / value
        spread = f", published spread {check['spread']:g}" if "spread" in check else ""
        words = (
            f"{curve} on {problem} over the published {value:g} (our spread"
            f" {seen.std(ddof=1) * value:.3g}{spread})"
        )
        test = within(seen - 1, check["tolerance"])
        yield Comparison(
            words,
            "ratio",
            test.mean + 1,
            test.low + 1,
            test.high + 1,
            abs(test.mean) < check["tolerance"],
            test.p,
            test.p_flip,
            test.n,
        )


def _spread(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """Ratio of standard deviations over seeds, with the F interval; undecidable below a factor."""
    factor = check.get("factor", SPREADS)
    for what, left, right in sides(evidence, check):
        n, ratio = (
            len(left),
            (
                float(left.std(ddof=1) / right.std(ddof=1))
                if len(left) > 1 and right.std() > 0
                else float("nan")
            ),
        )
        free = max(n - 1, 1)
        low, high = (
            ratio / float(np.sqrt(stats.f.ppf(q, free, free))) for q in (1 - LEVEL / 2, LEVEL / 2)
        )
        p = float(stats.f.cdf(ratio**2, free, free))
        reason = (
            f"ratio of spreads within a factor {factor:g}" if 1 / factor < ratio < factor else ""
        )
        words = what.replace(" and ", " spreads less than ", 1)
        yield Comparison(
            words, "ratio of spreads", ratio, low, high, ratio < 1, p, float("nan"), n, reason
        )


def _exponent(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """Slope of a metric in log-log over a window, one per seed, against its bounds."""
    for what, seeds in curves(evidence, check):
        slopes = []
        for x, y in seeds:
            chosen = (x >= check["from"]) & (x <= check.get("to", np.inf))
            slopes.append(power_law(x[chosen], y[chosen])[1])
        yield _bounded(what, "exponent", np.array(slopes), check)


def _monotone(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """Kendall's tau between a metric and evaluations, a column or the order of the variants: on
    which side of zero.
    """
    sign = 1 if check["direction"] == "increasing" else -1
    for what, seeds in along(evidence, check):
        tau = np.nan_to_num(
            [stats.kendalltau(x, y).statistic if len(x) > 1 else np.nan for x, y in seeds]
        )
        test = below_zero(-sign * tau)
        low, high = interval(tau)
        yield Comparison(
            what,
            "Kendall's tau",
            float(tau.mean()),
            float(low),
            float(high),
            test.mean < 0,
            test.p,
            test.p_flip,
            test.n,
        )


def _share(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """In how many seeds a number lies within the event's bounds, against bounds for that share."""
    event = check["event"]
    for problem, curve in curves_of(evidence, check):
        seen = np.array(list(scalars(evidence, check, problem, curve).values()))
        hits = int(
            (
                (seen >= event.get("at_least", -np.inf)) & (seen <= event.get("at_most", np.inf))
            ).sum()
        )
        least, most = check.get("at_least", 0.0), check.get("at_most", 1.0)
        test = share(hits, len(seen), at_least=least, at_most=most)
        yield _comparison(
            f"{curve} on {problem}: {hits} of {len(seen)} seeds",
            "share of seeds",
            test,
            holds=least <= test.mean <= most,
        )


def _band(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """Whether a column or a metric stays within constants; low and high are the least and the
    greatest value seen.
    """
    least, most = check.get("at_least", -np.inf), check.get("at_most", np.inf)
    for what, seeds in curves(evidence, check):
        # an infinite value is a violation, only NaN is no number
        rows = [y[~np.isnan(y)] for _, y in seeds]
        yield _kept([(row >= least) & (row <= most) for row in rows], check, what, rows, "value")


def _bound(evidence: Evidence, check: Check) -> Iterator[Comparison]:
    """Whether left <= factor * right + plus in every row; low and high are the least
    and the greatest ratio of left to that bound.
    """
    factor, plus = check.get("factor", 1.0), check.get("plus", 0.0)
    for what, pairs in bound_sides(evidence, check):
        words = what.replace(" and ", " <= " + (f"{factor:g} x " if factor != 1 else ""), 1)
        bounds = [(left, factor * right + plus) for left, right in pairs]
        seen = [~(np.isnan(left) | np.isnan(bound)) for left, bound in bounds]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [
                (left / bound)[kept] for (left, bound), kept in zip(bounds, seen, strict=True)
            ]
        inside = [(left <= bound)[kept] for (left, bound), kept in zip(bounds, seen, strict=True)]
        yield _kept(inside, check, words, ratios, "ratio")


def _kept(
    inside: Sequence[Array], check: Check, what: str, rows: Sequence[Array], number: str
) -> Comparison:
    """A statement about every row. It holds in a seed if all rows keep it, or the share of them
    that the check asks for. `number` says what `rows` are: values, or ratios to a bound.
    """
    wanted = check.get("share", 1.0)
    hits = sum(bool(len(seen)) and bool(seen.mean() >= wanted) for seen in inside)
    every = np.concatenate([*rows, np.empty(0)])
    numbers = every[~np.isnan(every)]  # 0 <= 0 is kept and has no ratio
    extremes = (
        (float(numbers.min()), float(numbers.max()))
        if len(numbers)
        else (float("nan"), float("nan"))
    )
    p = 0.0 if hits == len(inside) else 1.0
    kept = float(np.concatenate(inside).mean()) if len(every) else float("nan")
    words = f"{what}: {hits} of {len(inside)} seeds"
    return Comparison(
        words, f"{OF_ROWS}, {number}", kept, *extremes, p == 0, p, float("nan"), len(inside)
    )


def _bounded(what: str, kind: str, seen: Array, check: Check) -> Comparison:
    """One number per seed against at_least and at_most."""
    tests: list[Test] = []
    if "at_most" in check:
        tests.append(below_zero(seen - check["at_most"]))
    if "at_least" in check:
        tests.append(below_zero(check["at_least"] - seen))
    low, high = interval(seen)
    p, p_flip = (max(getattr(test, name) for test in tests) for name in ("p", "p_flip"))
    holds = all(test.mean < 0 for test in tests)
    return Comparison(
        what, kind, float(seen.mean()), float(low), float(high), holds, p, p_flip, len(seen)
    )


def _comparison(what: str, kind: str, test: Test, *, holds: bool) -> Comparison:
    return Comparison(
        what, kind, test.mean, test.low, test.high, holds, test.p, test.p_flip, test.n
    )


TESTS: Mapping[str, Callable[[Evidence, Check], Iterator[Comparison]]] = {
    "less": _ordered,
    "more": _ordered,
    "passes": _passes,
    "equivalent": _equivalent,
    "published": _published,
    "spread": _spread,
    "exponent": _exponent,
    "monotone": _monotone,
    "share": _share,
    "band": _band,
    "bound": _bound,
}
