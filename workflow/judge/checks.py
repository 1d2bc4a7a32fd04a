"""The closed vocabulary of `check:` in papers/*.yaml: each test turns the numbers of the seeds into
a comparison with an effect and p-values, for the claim and against it.

A comparison `holds` if the observed mean lies on the claimed side; its one-sided p is small if that
is no accident. What `compare` says of it beside that is which side it has decided for, and at how
many seeds: it is looked at when five seeds are there and when ten are, never in between, and what
one look has decided the next one does not undo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from workflow.judge.evidence import (
    Compared,
    Evidence,
    Pairs,
    bound_sides,
    numbers,
    points,
    sides,
)
from workflow.judge.outcomes import OUTSIDE
from workflow.measure.metrics import Array
from workflow.measure.statistics import (
    ENOUGH,
    LEVEL,
    POWER,
    Test,
    below_zero,
    detectable,
    detectable_ratio,
    either,
    looks,
    power_law,
    ranked_below_zero,
    share,
    with_mean_of,
    within,
)
from workflow.measure.store import NotRun
from workflow.plan.statements import (
    AnyCheck,
    Band,
    Bound,
    Bounds,
    ClaimEntry,
    Equivalent,
    Exponent,
    Less,
    Monotone,
    More,
    Passes,
    Share,
    Spread,
)
from workflow.trace.curves import AnyCurve

OF_ROWS = "share of rows"  # what the kind of a statement about every row begins with
BY_RANK = "by rank"  # what a comparison's kind ends with where some values are infinite
EVALUATION = "median evaluation"  # what that of evaluations begins with
SPREADS = 3.0  # at 10 seeds a ratio of two equal spreads reaches this factor by accident
FOR, AGAINST = "for", "against"
NAN = float("nan")
Kept = npt.NDArray[np.bool_]  # whether each row of a seed keeps a bound
# tests of statements about all seeds, which one seed can refute, whenever it comes
OF_ALL = ("share", "band", "bound")
MOST = 0.5  # share of all runs that a statement about every run is shown to hold in, at least


@dataclass(frozen=True)
class Comparison:
    """One of a claim's comparisons: effect with interval (or extremes), one-sided p-values, paired
    seeds.

    `missing` says why there are no numbers, `undecided` and `few` why they may not decide; `side`
    is what they say, for the claim or against it, decided `at` so many seeds. The p-values are
    those of the last look and are held against its `level`; `seen` is the smallest effect, in the
    unit of the effect, that this many seeds of this spread would have shown in four of five times.
    `first` is how many of the planned seeds were read. `borders` are the effects at which the
    claimed side ends: one, or the two ends of a stretch. The `low` and `high` of a statement about
    every row are its extremes, and these its borders. `apart` says why a case of its claim
    decides nothing; "" where it does.
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
    p_against: float = NAN
    p_flip_against: float = NAN
    seen: float = NAN
    missing: str = ""
    few: str = ""
    side: str = ""
    at: int = 0
    level: float = LEVEL
    looks: int = 1
    first: int = 0
    borders: tuple[float, ...] = ()
    apart: str = ""

    @property
    def has_number(self) -> bool:
        """Whether there is an effect; a median by rank may be infinite."""
        return bool(np.isfinite(self.effect)) or (
            BY_RANK in self.kind and not np.isnan(self.effect)
        )

    @property
    def decides(self) -> str:
        """The side that it has decided for; "" where its numbers may not decide."""
        return "" if self.few or self.apart else self.side

    @property
    def has_faded(self) -> bool:
        """Whether its first seeds have decided it, and all of them show that no longer, at the
        level of one comparison; a claim may ask for a smaller one that its comparisons share.
        """
        p = self.p if self.side == FOR else self.p_against
        return bool(self.decides) and 0 < self.at < self.n and not p <= self.level

    @property
    def tests_disagree(self) -> bool:
        """Whether one of the two tests is significant at the level of the look and the other is
        not, where there are seeds enough for both.
        """
        pairs = ((self.p, self.p_flip), (self.p_against, self.p_flip_against))
        p, p_flip = pairs[0 if self.holds else 1]
        if self.few or np.isnan([p, p_flip]).any():
            return False
        return (p <= self.level) != (p_flip <= self.level)

    @property
    def weakness(self) -> tuple[int, int, float, float]:
        """The order in which comparisons are shown, the weakest first: what refutes the claim, what
        lies on the wrong side, then by falling p and, of equal ones, by p against the claim; then
        what is missing, what holds trivially, and last what is outside the theorem, which speaks
        for neither side.
        """
        rank = 0 if self.side == AGAINST else 1 if not self.holds else 2
        last = 3 if self.apart.startswith(OUTSIDE) else 2 if self.apart else int(bool(self.missing))
        return last, rank, -np.nan_to_num(self.p, nan=2.0), np.nan_to_num(self.p_against, nan=2.0)


def compare(
    evidence: Evidence, check: AnyCheck, *, deterministic: bool = False, many: int = 0
) -> list[Comparison]:
    """All comparisons of a check; an empty list where this scale leaves nothing to compare. `many`
    is how many its claim has in all, where it has those of other checks, too.

    Where nothing is drawn (`deterministic`) the numbers decide as they are, without a p.
    """
    test, parts = TESTS[check.test][1], parts_of(evidence, check)
    if not deterministic:
        return [_looked_at(evidence, check, part, test, many or len(parts)) for part in parts]
    return [_decided(_read(evidence, check, part, test, LEVEL)) for part in parts]


def parts_of(evidence: Evidence, check: AnyCheck) -> list[Compared]:
    """The comparisons of a check, before any record is read."""
    return list(TESTS[check.test][0](evidence, check))


def pairs_of(evidence: Evidence, claim: ClaimEntry) -> list[tuple[AnyCurve, ...]]:
    """The runs of each comparison of a claim, before any record is read."""
    return [part.runs for one in claim.asked for part in parts_of(evidence, one.check)]


def _decided(comparison: Comparison) -> Comparison:
    """A comparison whose numbers decide as they are, without a p."""
    side = (FOR if comparison.holds else AGAINST) if comparison.has_number else ""
    comparison = replace(comparison, p=NAN, p_flip=NAN, p_against=NAN, p_flip_against=NAN, seen=NAN)
    return replace(comparison, side=side, first=comparison.n)


def holds(evidence: Evidence, check: AnyCheck) -> bool:
    """Whether the numbers that are there lie on the claimed side in all comparisons of a check."""
    source, test = TESTS[check.test]
    return all(
        test(check, part.what, part.read(evidence), LEVEL).holds for part in source(evidence, check)
    )


def _looked_at(
    evidence: Evidence, check: AnyCheck, part: Compared, test: Judge, many: int
) -> Comparison:
    """A comparison at the looks that its seeds allow, one of so `many` of its claim."""
    plan = looks(min(len(evidence.paper.planned(run)) for run in part.runs))
    there = replace(evidence, first=plan[-1].seeds)
    if check.test in OF_ALL:
        comparison = _read(there, check, part, test, plan[-1].level)
        if comparison.has_number and comparison.p_against == 0:
            few = _too_few(comparison.n) if comparison.n < ENOUGH else ""
            first = _there(there, part)
            return replace(
                comparison, side=AGAINST, at=comparison.n, few=few, first=first, looks=len(plan)
            )
    latest, side, at = None, "", 0
    for look in plan:
        narrow = replace(evidence, first=look.seeds)
        if not all(narrow.is_whole(run) for run in part.runs):
            break
        latest = _read(narrow, check, part, test, look.level)
        latest = replace(latest, first=look.seeds, looks=len(plan))
        if not side and latest.n >= ENOUGH:
            side = _side(latest, many)
            at = look.seeds if side else 0
    if latest is None or latest.n < ENOUGH:
        if latest is None:
            latest = _read(there, check, part, test, plan[0].level)
            latest = replace(latest, first=0 if latest.missing else _there(there, part))
        few = f"the first {plan[0].seeds} seeds are not all there" if latest.n >= ENOUGH else ""
        few = few or ("" if latest.missing else _too_few(latest.n))
        return replace(latest, side=_side(latest, many), few=few, looks=len(plan))
    return replace(latest, side=side, at=at, looks=len(plan))


def _read(
    evidence: Evidence, check: AnyCheck, part: Compared, test: Judge, level: float
) -> Comparison:
    """A comparison of what is there; without numbers where a run has no record."""
    try:
        data = part.read(evidence)
    except NotRun as error:
        nothing = (NAN, NAN, NAN, False, NAN, NAN, 0)
        return Comparison(part.what, "", *nothing, missing=str(error), level=level)
    return replace(test(check, part.what, data, level), level=level)


def _there(evidence: Evidence, part: Compared) -> int:
    """How many planned seeds of the runs of a comparison are there, at most."""
    return max(len(evidence.seeds(run)) for run in part.runs)


def _side(comparison: Comparison, many: int) -> str:
    """For the claim, against it, or neither.

    A claim about many comparisons is shown when each of them is, at the level of one
    (intersection-union; Berger, Technometrics 24, 1982). It is refuted when one of them is, and for
    that the level is shared among all of them and their looks (Bonferroni).
    """
    if comparison.undecided or not comparison.has_number:
        return ""
    if comparison.holds:
        return FOR if comparison.p <= comparison.level else ""
    return AGAINST if comparison.p_against <= refuting_level(comparison, many) else ""


def refuting_level(comparison: Comparison, many: int) -> float:
    """The level at which one of so many comparisons refutes their claim."""
    return comparison.level if many == 1 else LEVEL / (many * comparison.looks)


def _too_few(n: int) -> str:
    return f"{n} seed{'' if n == 1 else 's'}, {ENOUGH} are needed"


def _of(
    what: str, kind: str, test: Test, *, holds: bool, borders: Sequence[float], seen: float = NAN
) -> Comparison:
    """A comparison from its test."""
    return Comparison(
        what,
        kind,
        test.mean,
        test.low,
        test.high,
        holds,
        test.p,
        test.p_flip,
        test.n,
        p_against=test.p_against,
        p_flip_against=test.p_flip_against,
        seen=seen,
        borders=tuple(edge for edge in borders if np.isfinite(edge)),
    )


def _ends(check: Bounds) -> list[float]:
    """The constants between which a check wants a number."""
    return [check.at_least, check.at_most]


def _smallest(values: Array, level: float, power: float = POWER) -> float:
    """The smallest mean that a t test of numbers of this spread sees."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else NAN
    return detectable(len(values), level, power) * spread


def _ordered(check: Less | More, what: str, data: tuple[Array, Array], level: float) -> Comparison:
    """`less`, `more`: left < factor * right, or > , paired over seeds; as a difference or as a
    ratio (in logarithms).

    By rank where a side is infinite, as the best feasible value of a run is that has found none;
    two of them are equal.
    """
    left, right = data
    sign, factor = (1.0 if check.test == "less" else -1.0), check.factor
    mark = "<" if sign > 0 else ">"
    words = what.replace(" and ", f" {mark} " + (f"{factor:g} x " if factor != 1 else ""), 1)
    if check.compare == "ratio":
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.log(left) - np.log(right)
        test = below_zero(sign * (distance - np.log(factor)))
        shown = with_mean_of(distance, test)
        mean, low, high = (float(np.exp(edge)) for edge in (shown.mean, shown.low, shown.high))
        shown = replace(shown, mean=mean, low=low, high=high)
        seen = float(np.exp(_smallest(distance, level)))
        return _of(words, "ratio", shown, holds=test.mean < 0, seen=seen, borders=[float(factor)])
    if np.isinf(left).any() or np.isinf(right).any():
        test = ranked_below_zero(sign * _distance(left, factor * right))
        least, most = sorted([sign * test.low, sign * test.high])
        shown = replace(test, mean=sign * test.mean, low=least, high=most)
        kind = f"median difference {BY_RANK}"
        return _of(words, kind, shown, holds=test.mean < 0, borders=[0.0])
    distance = left - factor * right
    test, seen = below_zero(sign * distance), _smallest(distance, level)
    shown = with_mean_of(distance, test)
    return _of(words, "difference", shown, holds=test.mean < 0, seen=seen, borders=[0.0])


def _distance(left: Array, right: Array) -> Array:
    """left - right, 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(left == right, 0.0, left - right)


def _passes(check: Passes, what: str, data: Pairs, level: float) -> Comparison:
    """From which evaluation on the left side is no worse than the right one at its end, against a
    bound; never is infinite.
    """
    seen = crossings(data)
    test = ranked_below_zero(seen - check.at_most - 0.5)  # the bound itself keeps it
    words = what.replace(" and ", " reaches the end of ", 1)
    effect, low, high = (edge + check.at_most + 0.5 for edge in (test.mean, test.low, test.high))
    shown = replace(test, mean=effect, low=low, high=high)
    kind, borders = f"{EVALUATION} {BY_RANK}", [check.at_most]
    return _of(words, kind, shown, holds=test.mean < 0, borders=borders)


def crossings(data: Pairs) -> Array:
    """From which evaluation on each seed's left side is no worse than its right one at its end,
    (n,).
    """
    ends = [right[-1] for _, right in data]
    return np.array(
        [
            NAN if np.isnan(end) else _first(left <= end)
            for (left, _), end in zip(data, ends, strict=True)
        ]
    )


def _first(true: Array) -> float:
    """The number, from 1, of the first entry that is true; infinite where none is."""
    return float(np.argmax(true) + 1) if true.any() else float("inf")


def _equivalent(
    check: Equivalent, what: str, data: tuple[Array, Array], level: float
) -> Comparison:
    """Two one-sided tests that the means differ by less than a share of the right one, or than an
    absolute tolerance. `seen` is the smallest tolerance that they would keep without a difference.

    A share is taken of each seed's own value: the right mean is as uncertain as the left one.
    """
    left, right = data
    tolerance = (
        np.full(len(right), check.absolute) if check.absolute else check.tolerance * np.abs(right)
    )
    words = what.replace(" and ", " = ", 1)
    if np.isfinite(tolerance).all():  # a share of no number is none
        words += f" within {tolerance.mean():.3g}"
    holds = abs(float((left - right).mean())) < tolerance.mean()
    seen = _smallest(left - right, level, (1 + POWER) / 2)
    edge, test = float(tolerance.mean()), within(left - right, tolerance)
    return _of(words, "difference", test, holds=holds, seen=seen, borders=[-edge, edge])


def _spread(_check: Spread, what: str, data: tuple[Array, Array], level: float) -> Comparison:
    """Ratio of standard deviations over seeds, with the F interval; undecidable below a factor."""
    left, right = data
    n = len(left)
    ratio = float(left.std(ddof=1) / right.std(ddof=1)) if n > 1 and right.std() > 0 else NAN
    free = max(n - 1, 1)
    low, high = (
        ratio / float(np.sqrt(stats.f.ppf(q, free, free))) for q in (1 - LEVEL / 2, LEVEL / 2)
    )
    p, p_against = (float(one(ratio**2, free, free)) for one in (stats.f.cdf, stats.f.sf))
    is_near = 1 / SPREADS < ratio < SPREADS
    is_told = f"spreads that differ by less than a factor of {SPREADS:g} are not told apart"
    reason = is_told if is_near else ""
    words = what.replace(" and ", " spreads less than ", 1)
    test = Test(n, ratio, low, high, p, NAN, p_against, NAN)
    seen = detectable_ratio(n, level)
    comparison = _of(words, "ratio of spreads", test, holds=ratio < 1, seen=seen, borders=[1.0])
    return replace(comparison, undecided=reason)


def _exponent(check: Exponent, what: str, data: Pairs, level: float) -> Comparison:
    """Slope of a metric in log-log over a window, one per seed, against its bounds."""
    seen = slopes(check, data)
    tests: list[Test] = []
    if np.isfinite(check.at_most):
        tests.append(below_zero(seen - check.at_most))
    if np.isfinite(check.at_least):
        tests.append(below_zero(check.at_least - seen))
    shown = with_mean_of(seen, tests[0] if len(tests) == 1 else either(*tests))
    holds = all(test.mean < 0 for test in tests)
    smallest = _smallest(seen, level)
    return _of(what, "exponent", shown, holds=holds, seen=smallest, borders=_ends(check))


def slopes(check: Exponent, data: Pairs) -> Array:
    """The exponent of each seed's power law over the window of a check, (n,)."""
    exponents = []
    for x, y in data:
        chosen = x >= check.from_
        exponents.append(power_law(x[chosen], y[chosen])[1])
    return np.array(exponents)


def _monotone(check: Monotone, what: str, data: Pairs, level: float) -> Comparison:
    """Kendall's tau between a metric and evaluations, or a column: on which side of zero."""
    sign = 1 if check.direction == "increasing" else -1
    tau = taus(data)
    test, seen = below_zero(-sign * tau), _smallest(tau, level)
    shown = with_mean_of(tau, test)
    return _of(what, "Kendall's tau", shown, holds=test.mean < 0, seen=seen, borders=[0.0])


def taus(data: Pairs) -> Array:
    """Kendall's tau of the numbers of each seed that are there, (n,); 0 where there is none."""
    there = [(x[np.isfinite(y)], y[np.isfinite(y)]) for x, y in data]
    return np.nan_to_num(
        [stats.kendalltau(x, y).statistic if len(x) > 1 else np.nan for x, y in there]
    )


def _share(check: Share, what: str, data: Array, level: float) -> Comparison:
    """In how many seeds a number lies within the event's bounds, against bounds for that share.
    `seen` is the least share that would be shown to keep a lower bound.
    """
    if np.isnan(data).any():  # neither within the bounds nor beyond them
        return Comparison(what, "share of seeds", NAN, NAN, NAN, False, NAN, NAN, len(data))
    inside = (data >= check.event.at_least) & (data <= check.event.at_most)
    hits, n = int(inside.sum()), len(data)
    least, most = max(check.at_least, 0.0), min(check.at_most, 1.0)
    test = share(hits, n, at_least=least, at_most=most)
    enough = [k for k in range(n + 1) if share(k, n, at_least=least, at_most=most).p <= level]
    return _of(
        f"{what}: {hits} of {n} seeds",
        "share of seeds",
        test,
        holds=least <= test.mean <= most,
        borders=_ends(check),
        seen=(enough[0] if least > 0 else enough[-1]) / n if enough else NAN,
    )


def _band(check: Band, what: str, data: Pairs, _level: float) -> Comparison:
    """Whether a column or a metric stays within constants; low and high are the least and the
    greatest value seen.
    """
    inside, rows = within_band(check, data)
    return _kept(inside, what, rows, "value", _ends(check))


def within_band(check: Band, data: Pairs) -> tuple[list[Kept], list[Array]]:
    """Of each seed, whether each row lies between the constants, and its value."""
    # an infinite value is a violation, only NaN is no number
    rows = [y[~np.isnan(y)] for _, y in data]
    return [(row >= check.at_least) & (row <= check.at_most) for row in rows], rows


def _bound(check: Bound, what: str, data: Pairs, _level: float) -> Comparison:
    """Whether left <= factor * right + plus in every row; low and high are the least
    and the greatest ratio of left to that bound.
    """
    factor = check.factor
    words = what.replace(" and ", " <= " + (f"{factor:g} x " if factor != 1 else ""), 1)
    inside, ratios = below_bound(check, data)
    return _kept(inside, words, ratios, "ratio", [1.0])


def below_bound(check: Bound, data: Pairs) -> tuple[list[Kept], list[Array]]:
    """Of each seed, whether each row keeps the bound, and its ratio to the bound."""
    bounds = [(left, check.factor * right + check.plus) for left, right in data]
    seen = [~(np.isnan(left) | np.isnan(bound)) for left, bound in bounds]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [(left / bound)[kept] for (left, bound), kept in zip(bounds, seen, strict=True)]
    inside = [(left <= bound)[kept] for (left, bound), kept in zip(bounds, seen, strict=True)]
    return inside, ratios


def _kept(
    inside: Sequence[Kept], what: str, rows: Sequence[Array], number: str, borders: Sequence[float]
) -> Comparison:
    """A statement about every row. It holds in a seed if all rows keep it. `number` says what
    `rows` are: values, or ratios to a bound.

    One seed that breaks it refutes it; one without a row says nothing, and leaves no number. Where
    all keep it, p is that of at least half of all runs breaking it: 2^-n.
    """
    n = len(inside)
    kept_by = [bool(seen.all()) for seen in inside if len(seen)]
    hits, broken = sum(kept_by), kept_by.count(False)
    every = np.concatenate([*rows, np.empty(0)])
    seen = every[~np.isnan(every)]  # 0 <= 0 is kept and has no ratio
    extremes = (float(seen.min()), float(seen.max())) if len(seen) else (NAN, NAN)
    is_number = bool(broken) or len(kept_by) == n
    kept = float(np.concatenate(inside).mean()) if is_number else NAN
    p, against = share(hits, n, at_least=MOST).p, share(n - broken, n, at_least=1).p_against
    test = Test(n, kept, *extremes, p, NAN, against, NAN)
    told = f"{hits} of {n} seeds" if is_number else f"no row in {n - len(kept_by)} of {n} seeds"
    words, kind = f"{what}: {told}", f"{OF_ROWS}, {number}"
    return _of(words, kind, test, holds=hits == n, borders=borders)


# each is called with checks of its own test alone
Judge = Callable[[Any, str, Any, float], Comparison]
Source = Callable[[Evidence, Any], Iterator[Compared]]
TESTS: Mapping[str, tuple[Source, Judge]] = {
    "less": (sides, _ordered),
    "more": (sides, _ordered),
    "passes": (bound_sides, _passes),
    "equivalent": (sides, _equivalent),
    "spread": (sides, _spread),
    "exponent": (points, _exponent),
    "monotone": (points, _monotone),
    "share": (numbers, _share),
    "band": (points, _band),
    "bound": (bound_sides, _bound),
}
