"""The numbers that a check compares: one per seed, paired, from the records of curves and studies
under one reading, of all seeds or of the first ones alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from workflow.measure import metrics
from workflow.measure.metrics import Array
from workflow.measure.store import NotRun, Store
from workflow.plan import selection
from workflow.plan.paper import Paper
from workflow.plan.reads import base_of, each_read, named, problems_of, rivals_of, variants_of
from workflow.plan.statements import (
    Band,
    Bound,
    Check,
    ClaimEntry,
    Equivalent,
    Exponent,
    Less,
    Lines,
    More,
    Ordered,
    Over,
    Passes,
    Share,
    Spread,
    Summarised,
)
from workflow.trace.curves import DEFAULT, AnyCurve, Curve, seed_range

Seeds = dict[int, float]
Pairs = list[tuple[Array, Array]]
Reduction = Callable[..., Any]
Paired = Less | More | Equivalent | Spread  # checks of one number a seed on each side
Rowwise = Passes | Bound  # checks of all evaluations, or rows, of both sides
SUMMARIES: Mapping[str, Reduction] = {
    "mean": np.nanmean,
    "median": np.nanmedian,
    "max": np.nanmax,
    "min": np.nanmin,
}
ACROSS: Mapping[str, Reduction] = {"max": np.max, "min": np.min, "mean": np.mean}


@dataclass(frozen=True)
class Evidence:
    """What a check may read: the records of a paper, under one reading, of the first so many
    planned seeds of each run (`first`; 0: of all).
    """

    paper: Paper
    store: Store
    reading: str = DEFAULT
    first: int = 0

    def seeds(self, curve: AnyCurve) -> tuple[int, ...]:
        """The seeds of a run that are read. Raises NotRun where none is there."""
        wanted = self._wanted(curve)
        if there := tuple(seed for seed in self.store.seeds(curve) if seed in wanted):
            return there
        raise NotRun(f"{curve.name}: none of the seeds {seed_range(wanted)} is there")

    def values(self, curve: Curve, name: str) -> Array:
        """A metric of a curve, a row for each of `seeds`. Raises NotRun."""
        rows, read = self.store.values(curve, name), self.seeds(curve)
        there = self.store.seeds(curve)
        return rows if read == there else rows[[seed in read for seed in there]]

    def is_whole(self, curve: AnyCurve) -> bool:
        """Whether all of the first planned seeds of a run have ended, so that those that are still
        to come change nothing here.
        """
        wanted = self._wanted(curve)
        if len(wanted) < self.first or not self.store.has(curve):
            return False
        return wanted <= {*self.store.seeds(curve), *self.store.timeouts(curve)}

    def _wanted(self, curve: AnyCurve) -> Set[int]:
        return frozenset(self.paper.planned(curve)[: self.first or None])

    def series(
        self, check: Check, problem: str, label: str, variant: str = DEFAULT
    ) -> tuple[tuple[int, ...], Array]:
        """Seeds and metric over evaluations, (n,) and (n, T)."""
        curve = self.curve(problem, label, variant)
        values = self.values(curve, check.metric)
        for base in base_of(self.paper, check, curve):
            values = metrics.ratio_to(values, self.values(base, check.metric).mean(axis=0))
        return self.seeds(curve), values

    def summary(self, check: Summarised, problem: str, label: str, variant: str) -> Seeds:
        """One number per seed: the metric at a point or summarised over the run.

        Claims share them.
        """
        curve = self.curve(problem, label, variant)
        # what a ratio is divided by is a mean over the seeds read; all else is of one seed
        read = self if check.relative_to else replace(self, first=0)
        key = (curve.name, read.first, check.metric, check.relative_to, check.at)
        numbers = self.store.remembered(
            key, lambda: _summary(read.series(check, problem, label, variant)[1], check)
        )
        by_seed = dict(zip(read.seeds(curve), numbers, strict=True))
        return {seed: by_seed[seed] for seed in self.seeds(curve)}

    def curve(self, problem: str, label: str, variant: str = DEFAULT) -> Curve:
        return selection.curve_of(self.paper, problem, label, reading=self.reading, variant=variant)

    def named(self, check: Check, side: str, problem: str) -> list[str]:
        return named(self.paper, check, side, problem, self.reading)

    def variants(self, check: Check, problem: str, label: str) -> list[str]:
        return variants_of(self.paper, check, problem, label, self.reading)

    def rows(self, name: str, chosen_by: Mapping[str, Any]) -> Iterator[Callable[[str], Array]]:
        """For each seed of a study, how to get a column of the rows that have these values."""
        study = self.paper.study(name)
        for seed in self.seeds(study):
            yield partial(self.store.column, study, seed, rows=chosen_by)


@dataclass(frozen=True)
class Compared:
    """One comparison of a check, before any record is read: what it is of, the runs whose seeds it
    pairs, and how to read its numbers (NotRun where a run has none).
    """

    what: str
    runs: tuple[AnyCurve, ...]
    read: Callable[[Evidence], Any]


def beside_default(
    paper: Paper, claim: ClaimEntry, reading: str
) -> list[tuple[Curve | None, Curve]]:
    """The default curve and the curve under a reading of everything that a claim reads, where they
    are not one; None where this scale has no default curve.

    Curves that only decide an optimum are left out. Raises PlanError where one is not planned.
    """
    pairs: dict[str, tuple[Curve | None, Curve]] = {}
    for check in (one.check for one in claim.asked):
        for problem, label, variant in [] if check.study else each_read(paper, check, reading):
            own = selection.curve_of(paper, problem, label, reading=reading, variant=variant)
            read = [(own, label, variant)]
            read += [(base, check.relative_to, DEFAULT) for base in base_of(paper, check, own)]
            for other, name, at in read:
                usual = selection.planned(paper, problem, name, at)
                if usual is None or usual.name != other.name:
                    pairs[other.name] = usual, other
    return list(pairs.values())


def labels_of(evidence: Evidence, check: Check) -> Iterator[tuple[str, str]]:
    """(problem, label) for each of the `curves` of a check."""
    for problem in problems_of(evidence.paper, check):
        for label in evidence.named(check, "curves", problem):
            yield problem, label


def scalars(evidence: Evidence, check: Summarised, problem: str, label: str) -> Seeds:
    """One number per seed: a metric at a point or summarised over a run, then across variants."""
    parts = [
        evidence.summary(check, problem, label, variant)
        for variant in evidence.variants(check, problem, label)
    ]
    if not check.across:
        return parts[0]
    common, across = set.intersection(*map(set, parts)), ACROSS[check.across]
    return {seed: float(across([part[seed] for part in parts])) for seed in sorted(common)}


def _summary(values: Array, check: Summarised) -> Array:
    if not values.shape[1]:  # no row of a study was chosen
        return np.full(len(values), np.nan)
    if check.at == "end":
        return values[:, -1]
    if isinstance(check.at, int):
        return values[:, min(check.at, values.shape[1]) - 1]
    if check.at == "mean" and check.metric == "batch_size":  # over batches, not over evaluations
        return np.isfinite(values).sum(axis=1) / np.nansum(1 / values, axis=1)
    return np.asarray(SUMMARIES[check.at](values, axis=1), dtype=np.float64)


def curves_of(
    evidence: Evidence, check: Check, places: Iterable[tuple[str, str]]
) -> tuple[Curve, ...]:
    """The runs of curves on problems, at all variants that a check reads, and what they are divided
    by.
    """
    runs: dict[str, Curve] = {}
    for problem, label in places:
        for variant in evidence.variants(check, problem, label):
            curve = evidence.curve(problem, label, variant)
            runs |= {run.name: run for run in (curve, *base_of(evidence.paper, check, curve))}
    return tuple(runs.values())


def sides(evidence: Evidence, check: Paired) -> Iterator[Compared]:
    """(left, right) for each pair of a check's two sides: one paired number per common seed."""
    if check.study:
        yield Compared(
            _of_study(check),
            (evidence.paper.study(check.study),),
            lambda seen: _study_sides(seen, check),
        )
        return
    for problem in problems_of(evidence.paper, check):
        where = check.opposite or problem
        rivals = rivals_of(evidence.paper, check, problem, evidence.reading)
        less = check.listed("minus")
        lefts = evidence.named(check, "left", problem) if rivals or not less else []
        rights: list[Any] = (
            evidence.named(check, "right", where)
            if isinstance(check.right, list)
            else [check.right]
        )
        for left, right in product(lefts, rights):
            what = f"{left} and {_words(right)} on {problem}"
            if check.opposite:
                what = f"{left} on {problem} and {_words(right)} on {where}"
            if less:
                what += f", less the best of {', '.join(rivals)}"
            places = [(problem, left), *([(where, right)] if isinstance(right, str) else [])]
            places += [(place, rival) for rival in rivals for place in (problem, where)]
            yield Compared(
                what,
                curves_of(evidence, check, places),
                partial(_pair, check=check, problem=problem, left=left, right=right, rivals=rivals),
            )


def _of_study(check: Paired | Rowwise) -> str:
    return f"{_words(check.left)} and {_words(check.right)} of {check.study}"


def _words(side: object) -> str:
    """A side of a check as its comparisons name it."""
    return f"{side:g}" if isinstance(side, float) else str(side)


def _study_sides(evidence: Evidence, check: Paired) -> tuple[Array, Array]:
    pairs = [
        [
            float(_summary(_column(column, side)[None], check)[0])
            for side in (check.left, check.right)
        ]
        for column in evidence.rows(check.study, check.rows)
    ]
    left, right = np.array(pairs).T
    return left, right


def _pair(
    evidence: Evidence,
    *,
    check: Paired,
    problem: str,
    left: str,
    right: str | float,
    rivals: Sequence[str],
) -> tuple[Array, Array]:
    """Both sides of a comparison of runs, one number for each common seed."""
    where = check.opposite or problem
    mine = _ahead(evidence, check, problem, rivals, scalars(evidence, check, problem, left))
    if isinstance(right, str):
        other = _ahead(evidence, check, where, rivals, scalars(evidence, check, where, right))
    else:
        other = dict.fromkeys(mine, float(right))
    common = _common(mine, other)
    if isinstance(check, Ordered) and check.where_defined:
        common = [seed for seed in common if not np.isnan([mine[seed], other[seed]]).all()]
    return np.array([mine[seed] for seed in common]), np.array([other[seed] for seed in common])


def _ahead(
    evidence: Evidence, check: Paired, problem: str, rivals: Sequence[str], values: Seeds
) -> Seeds:
    """A seed's numbers less the smallest of the rivals, where a check names some."""
    others = [scalars(evidence, check, problem, label) for label in rivals]
    common = set(values).intersection(*others)
    if not others:
        return values
    leads = {seed: (values[seed], min(other[seed] for other in others)) for seed in sorted(common)}
    # two infinities are equal
    return {seed: 0.0 if mine == best else mine - best for seed, (mine, best) in leads.items()}


def bound_sides(evidence: Evidence, check: Rowwise) -> Iterator[Compared]:
    """[(left, right) per seed], both over all evaluations or rows."""
    if check.study:
        yield Compared(
            _of_study(check),
            (evidence.paper.study(check.study),),
            lambda seen: [
                (_column(column, check.left), _column(column, check.right))
                for column in seen.rows(check.study, check.rows)
            ],
        )
        return
    for problem in problems_of(evidence.paper, check):
        for names in product(*(evidence.named(check, side, problem) for side in ("left", "right"))):
            yield Compared(
                f"{names[0]} and {names[1]} on {problem}",
                curves_of(evidence, check, [(problem, name) for name in names]),
                partial(_pairs_of_series, check=check, problem=problem, names=names),
            )


def _common(*sides: Mapping[int, Any]) -> list[int]:
    """The seeds that all sides have. Raises NotRun where there is none."""
    if common := sorted(set.intersection(*map(set, sides))):
        return common
    raise NotRun("no seed was run on all sides")


def _pairs_of_series(
    evidence: Evidence, *, check: Check, problem: str, names: Sequence[str]
) -> Pairs:
    left, right = (dict(zip(*evidence.series(check, problem, name), strict=True)) for name in names)
    length = min(len(row) for side in (left, right) for row in side.values())
    common = _common(left, right)
    return [(left[seed][:length], right[seed][:length]) for seed in common]


def _column(column: Callable[[str], Array], term: Any) -> Array:
    return column(term) if isinstance(term, str) else np.array([float(term)])


def points(evidence: Evidence, check: Lines) -> Iterator[Compared]:
    """[(x, y) per seed] of each curve, or of a column of a study."""
    if check.study:
        x = check.x if isinstance(check, Over) else ""
        yield Compared(
            f"{check.column} of {check.study}",
            (evidence.paper.study(check.study),),
            lambda seen: [
                (column(x) if x else np.empty(0), column(check.column))
                for column in seen.rows(check.study, check.rows)
            ],
        )
        return
    for problem, label in labels_of(evidence, check):
        yield Compared(
            f"{label} on {problem}",
            curves_of(evidence, check, [(problem, label)]),
            partial(_drawn, check=check, problem=problem, label=label),
        )


def _drawn(evidence: Evidence, *, check: Lines, problem: str, label: str) -> Pairs:
    """Each seed's metric over evaluations, thinned as a figure thins it but for `band`."""
    _, values = evidence.series(check, problem, label)
    chosen = metrics.thin(values.shape[1], log=isinstance(check, Exponent))
    chosen = np.arange(values.shape[1]) if isinstance(check, Band) else chosen
    known = check.known if isinstance(check, Exponent) else 0
    x = np.asarray(chosen + 1.0 + known, dtype=np.float64)
    return [(x, row[chosen]) for row in values]


def numbers(evidence: Evidence, check: Share) -> Iterator[Compared]:
    """One number per seed (n,) of each of the `curves` of a check."""
    for problem, label in labels_of(evidence, check):

        def read(seen: Evidence, problem: str = problem, label: str = label) -> Array:
            return np.array(list(scalars(seen, check, problem, label).values()))

        yield Compared(
            f"{label} on {problem}", curves_of(evidence, check, [(problem, label)]), read
        )
