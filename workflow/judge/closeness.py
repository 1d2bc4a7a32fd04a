"""Which reading of an experiment comes nearest to the numbers that the authors published, and what
claims come to under it.

The score of a reading is the mean of |ln(ours / published)| over all methods of the experiment,
each method's over its points. A difference of more than CAP counts as CAP, so that no method that
meets an optimum exactly decides alone. The nearest reading is, of those all of whose runs were made
and whose score is within MARGIN of the least, the one that sets the fewest parameters: a smaller
lead may be the seeds', or luck among many readings. `scored: false` marks what the choice did not
see, and what therefore tests it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from workflow.judge import render
from workflow.judge.claims import Nearest, Verdict
from workflow.judge.outcomes import UNDECIDED
from workflow.measure.metrics import Array
from workflow.measure.store import NotRun, Store
from workflow.plan import published_numbers, selection
from workflow.plan.paper import Paper
from workflow.plan.published_numbers import Series
from workflow.plan.reads import claims_of, known_readings, problems_of
from workflow.plan.sections import PublishedPanel
from workflow.plan.statements import AnyCheck, ClaimEntry
from workflow.trace.curves import DEFAULT, Curve, algorithm_of

CAP = 100.0  # a ratio beyond it, or one of opposite signs, counts as it
MARGIN = 1.1  # in the geometric mean over methods
REPRODUCES = 1.5  # in the geometric mean over its points: a curve that is nearer is reproduced
SAME_SEED, SPREAD = "same seed", "spread"
FEW = 3  # missing runs that a table names
TITLE = "Published numbers beside ours"
RULES = f"""\
The factor of a reading is that between our numbers and the published ones, in the geometric mean
over all methods of the experiment and some points; more than {CAP:g} counts as {CAP:g}. The nearest
reading sets the fewest parameters of those all of whose runs were made and whose factor is within
{MARGIN:g} times the least. *Test*: the factor of published numbers that had no part in the choice.
*Alike*: the factor if all methods had one number, the published median. Of a reading that lacks
runs the default's factor over the same methods stands beside. In the nearest setting a comparison
of methods is decided only if the setting beats that, and if each of its methods is within a factor
of {REPRODUCES:g} of what is published, in the geometric mean over the points; a claim about one
method needs the latter of that method."""


@dataclass(frozen=True)
class Fit:
    """One method beside its published numbers, under one reading: `ours` and `published` at `at`;
    empty where its run is not there. `reading` is that of its own run: "" where the reading leaves
    the method as it is.
    """

    panel: str
    problem: str
    metric: str
    statistic: str
    method: str
    is_scored: bool
    reading: str
    at: tuple[int, ...] = ()
    ours: tuple[float, ...] = ()
    published: tuple[float, ...] = ()
    seeds: int = 0

    @property
    def score(self) -> float:
        """The mean |ln(ours / published)|; NaN without points."""
        return _mean(map(_distance, self.ours, self.published))


@dataclass(frozen=True)
class Candidate:
    """A reading of an experiment, "" for the default one, with the fit of every method."""

    reading: str
    fits: tuple[Fit, ...]
    changes: int = 0  # parameters that it sets

    @property
    def score(self) -> float:
        """Over the methods; NaN where a run is missing."""
        return _mean(fit.score for fit in self.fits if fit.is_scored)

    @property
    def test(self) -> float:
        """The same of what was not scored, as far as it was run; NaN where nothing was."""
        return _mean(fit.score for fit in self.fits if not fit.is_scored and fit.at)

    @property
    def missing(self) -> list[str]:
        """The methods whose runs are missing, each with its problem."""
        return [
            f"{fit.method} on {fit.problem}" for fit in self.fits if fit.is_scored and not fit.at
        ]


@dataclass(frozen=True)
class Experiment:
    """An experiment with the candidates for its nearest reading, the default one first."""

    name: str
    problems: tuple[str, ...]
    candidates: tuple[Candidate, ...]

    @property
    def default(self) -> Candidate:
        return self.candidates[0]

    @property
    def alike(self) -> float:
        """The score if all methods of a panel had one number, the best one: what a setting that
        knows nothing of the methods reaches.
        """
        panels: dict[tuple[str, int], list[float]] = {}
        for fit in self.default.fits:
            for t, published in zip(fit.at, fit.published, strict=True):
                if fit.is_scored:
                    panels.setdefault((fit.panel, t), []).append(published)
        return _mean(
            _distance(statistics.median(others), published)
            for others in panels.values()
            for published in others
        )

    @cached_property
    def nearest(self) -> Candidate:
        """The whole candidate near the least score that sets the fewest parameters; the default one
        where no candidate is whole.
        """
        whole = [one for one in self.candidates if not math.isnan(one.score)]
        least = min((one.score for one in whole), default=math.nan)
        near = [one for one in whole if one.score <= least + math.log(MARGIN)]
        return min(near, key=lambda one: (one.changes, one.score), default=self.default)

    def common(self, candidate: Candidate) -> tuple[float, float]:
        """The scores of a candidate and of the default over the methods that the candidate has."""
        pairs = [
            (mine.score, usual.score)
            for mine, usual in zip(candidate.fits, self.default.fits, strict=True)
            if mine.is_scored and mine.at and usual.at
        ]
        return _mean(mine for mine, _ in pairs), _mean(usual for _, usual in pairs)


def experiments(paper: Paper, store: Store) -> list[Experiment]:
    """The experiments of a paper with published numbers. Raises PlanError, BadRecords."""
    every = []
    for name, entry in selection.experiments(paper).items():
        readings = {DEFAULT: 0, **_admitted(paper, entry.panels)}
        candidates = [
            Candidate(reading, tuple(_fits(paper, store, entry.panels, reading)), changes)
            for reading, changes in readings.items()
        ]
        every.append(Experiment(name, tuple(entry.problems), tuple(candidates)))
    return every


def with_nearest(
    paper: Paper, verdicts: Iterable[Verdict], experiments: Sequence[Experiment]
) -> list[Verdict]:
    """The verdicts of a whole ledger, those of experiments with another nearest reading than the
    default one with what they come to under it.
    """
    claims = {claim.id: claim for claim in claims_of(paper)}
    return [
        replace(one, nearest=_under_nearest(paper, claims[one.id], one, experiments))
        for one in verdicts
    ]


def _under_nearest(
    paper: Paper, claim: ClaimEntry, verdict: Verdict, experiments: Sequence[Experiment]
) -> Nearest | None:
    """None for a claim of no experiment, or of one whose nearest reading leaves its runs as they
    are. A side that the reading does not reproduce decides nothing.
    """
    checks = [one.check for one in claim.asked]
    if any(check.study for check in checks):
        return None
    asked = {problem for check in checks for problem in problems_of(paper, check)}
    of_claim = next((one for one in experiments if asked <= set(one.problems)), None)
    if of_claim is None or of_claim.nearest.reading not in verdict.readings:
        return None
    outcome = verdict.readings[of_claim.nearest.reading]
    unmet = dict.fromkeys(why for check in checks for why in _not_met(check, of_claim))
    return Nearest(
        of_claim.name,
        of_claim.nearest.reading,
        UNDECIDED if unmet else outcome.verdict,
        outcome.observed,
        (*unmet, *outcome.reasons),
    )


def _not_met(check: AnyCheck, experiment: Experiment) -> Iterator[str]:
    """Why the nearest setting cannot decide a claim: what it does not reproduce of the claim's
    methods, on whichever problem of the experiment numbers are published.

    A comparison of methods needs published numbers of what it compares, and a setting that says
    more of the methods than one number for all of them would.
    """
    nearest = experiment.nearest
    compares = bool(check.listed("left") and check.listed("right"))
    labels = [label for side in ("left", "right", "curves") for label in check.listed(side)]
    if compares and nearest.score >= experiment.alike:
        yield (
            "one number for all methods fits as well or better (a factor of"
            f" {_factor(experiment.alike)} from what is published; the setting:"
            f" {_factor(nearest.score)})"
        )
    for method in dict.fromkeys(map(algorithm_of, labels)):
        fits = [
            fit
            for fit in nearest.fits
            if fit.method == method
            and fit.statistic != SPREAD
            and (fit.metric == check.metric if compares else fit.is_scored)
        ]
        if not fits and method != check.relative_to:
            yield f"no numbers of {method} are published for this"
        if lacking := [fit.problem for fit in fits if not fit.at]:
            yield f"{method} was not run in the nearest setting on {', '.join(lacking)}"
        far = [fit for fit in fits if fit.at and not fit.score <= math.log(REPRODUCES)]
        if factors := [f"{_factor(fit.score)} on {fit.problem}" for fit in far]:
            yield f"{method} differs from what is published by a factor of {', '.join(factors)}"


def _admitted(paper: Paper, panels: Sequence[PublishedPanel]) -> dict[str, int]:
    """The readings that answer a question of the paper and change a run of an experiment, and how
    many parameters each sets.
    """
    return {
        name: _leaves(reading.problems) + _leaves(reading.algorithms)
        for name, reading in known_readings(paper).items()
        if not reading.control
        and any(
            selection.planned(paper, panel.problem, method, reading=name)
            not in (None, selection.planned(paper, panel.problem, method))
            for panel in panels
            for method in published_numbers.panel(paper.name, panel.panel)
        )
    }


def _fits(
    paper: Paper, store: Store, panels: Iterable[PublishedPanel], reading: str
) -> Iterable[Fit]:
    """Every method of every panel under a reading; those that it does not reach by default."""
    for panel in panels:
        for method in published_numbers.panel(paper.name, panel.panel):
            if method == panel.relative_to:
                continue  # over itself
            curve = selection.planned(paper, panel.problem, method, reading=reading)
            yield _fit(paper, store, panel, method, curve)


def _leaves(value: object) -> int:
    """How many values a reading sets."""
    return sum(map(_leaves, value.values())) if isinstance(value, Mapping) else 1


def _fit(
    paper: Paper, store: Store, panel: PublishedPanel, method: str, curve: Curve | None
) -> Fit:
    points: list[tuple[int, float, float]] = []
    with suppress(NotRun):
        if curve:
            values, published = measured(paper, store, panel, curve), theirs(paper, panel, method)
            points = [
                (t, _over_seeds(panel, values[:, t - 1]), published(t))
                for t in panel.at
                if t <= values.shape[1] and not np.isnan(values[:, t - 1]).all()
            ]
            points = [point for point in points if not math.isnan(point[-1])]
    at, ours, printed = zip(*points, strict=True) if points else ((), (), ())
    return Fit(
        panel.name,
        panel.problem,
        panel.metric,
        panel.statistic,
        method,
        panel.scored,
        (curve.algorithm_reading or curve.problem_reading) if curve else "",
        at,
        ours,
        printed,
        seeds=len(store.seeds(curve)) if curve and points else 0,
    )


def _over_seeds(panel: PublishedPanel, values: Array) -> float:
    """What a panel reads of one number a seed: their mean, or their standard deviation."""
    if panel.statistic == SPREAD:
        return float(np.nanstd(values, ddof=1)) if len(values) > 1 else math.nan
    return float(np.nanmean(values))


def theirs(paper: Paper, panel: PublishedPanel, method: str) -> Callable[[int], float]:
    """The published number of a method after so many evaluations of ours; NaN where its curve has
    not begun or has ended. One number stands for the end of a run.
    """
    every = published_numbers.panel(paper.name, panel.panel)
    series, base = every[method], every.get(panel.relative_to)

    def read(of: Series, t: int) -> float:
        if not of.x:
            return of.value[0]
        x, value = t + panel.known, np.array(of.value)
        if panel.statistic == SPREAD:  # the band is 1.96 standard errors to each side
            value = (np.array(of.high) - np.array(of.low)) / 2 / 1.96 * math.sqrt(panel.seeds)
        return float(np.interp(x, of.x, value, left=np.nan, right=np.nan))

    return lambda t: read(series, t) / (read(base, t) if base else 1.0)


def measured(paper: Paper, store: Store, panel: PublishedPanel, curve: Curve) -> Array:
    """What a panel sets beside published numbers: a row a seed, a column an evaluation.

    Raises NotRun where the curve, or the one that it is divided by, is not there.
    """
    if not panel.relative_to:
        return store.values(curve, panel.metric)
    reading = curve.algorithm_reading or curve.problem_reading
    base = selection.curve_of(paper, curve.problem, panel.relative_to, reading=reading)
    if panel.denominator != SAME_SEED:
        return store.relative(curve, panel.metric, base)
    seeds, others = store.seeds(curve), store.seeds(base)
    both = [seed for seed in seeds if seed in others]
    if not both:
        raise NotRun(f"{curve.name}: no seed in common with {base.name}")
    ours = store.values(curve, panel.metric)[[seeds.index(seed) for seed in both]]
    theirs = store.values(base, panel.metric)[[others.index(seed) for seed in both]]
    length = min(ours.shape[1], theirs.shape[1])
    below = np.where(theirs[:, :length] == 0, np.nan, theirs[:, :length])
    ratios: Array = ours[:, :length] / below
    return ratios


def _distance(ours: float, published: float) -> float:
    """|ln(ours / published)|, at most ln CAP."""
    ratio = ours / published if published else math.inf
    if not 1 / CAP < ratio < CAP:  # also a ratio that is negative or no number
        return math.log(CAP)
    return abs(math.log(ratio))


def _factor(score: float) -> str:
    """A mean distance as people read it."""
    factor = math.exp(score)
    return f"more than {CAP:g}" if factor > 0.999 * CAP else f"{factor:.2g}"


def _mean(scores: Iterable[float]) -> float:
    every = list(scores)
    return sum(every) / len(every) if every else math.nan


def as_markdown(experiments: Sequence[Experiment]) -> str:
    """How near every reading comes, a table an experiment; "" for a paper without numbers."""
    if not experiments:
        return ""
    parts = [f"## {TITLE}", RULES]
    for one in experiments:
        nearest = render.quoted(one.nearest.reading or "the default one")
        parts += [
            f"### {render.quoted(one.name)}",
            f"On {render.quoted(', '.join(one.problems))}. The nearest reading is {nearest}."
            f" Alike: {math.exp(one.alike):.2f}.",
            render.table(
                ["reading", "factor", "the default there", "test", "lacks"],
                [_row(one, candidate) for candidate in one.candidates],
            ),
        ]
    return "\n\n".join(parts)


def _row(experiment: Experiment, candidate: Candidate) -> list[str]:
    """A candidate; what lacks runs is set beside the default over the methods that it has."""
    score, usual = experiment.common(candidate)
    missing = candidate.missing
    return [
        render.quoted(candidate.reading or "default"),
        f"{math.exp(score):.2f}",
        f"{math.exp(usual):.2f}" if missing else "",
        render.number(math.exp(candidate.test)),
        render.quoted(f"{len(missing)}: {', '.join(missing[:FEW])}") if missing else "",
    ]


def as_data(experiments: Sequence[Experiment]) -> dict[str, Any]:
    """The same for verdicts.json, with every point as printed and in the nearest setting."""
    return {
        one.name: {
            "problems": one.problems,
            "nearest": one.nearest.reading,
            "alike": one.alike,
            "scores": [
                {name: getattr(candidate, name) for name in ("reading", "score", "test", "missing")}
                for candidate in one.candidates
            ],
            "fits": {
                reading: [asdict(fit) | {"score": fit.score} for fit in candidate.fits]
                for reading, candidate in {
                    "": one.default,
                    one.nearest.reading: one.nearest,
                }.items()
            },
        }
        for one in experiments
    }
