"""Fit papers/costs.yaml, what a run costs, to records: `python -m benchmarks.costs FOLDER...`.

A folder holds records of runs, complete ones or the beginnings of longer ones, or published ones;
without a folder it is results/paper and figures/reference/records. Every record says what an
optimizer had spent after each evaluation, so that one run gives the whole growth of its cost.
`--validate` leaves 30 cells out, chosen by a fixed seed over all methods, and prints what is
predicted of them. workflow/plan/costs.py says what the numbers mean.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from algorithms.api import Arms
from workflow.measure.condense import restored, restored_study
from workflow.measure.metrics import best_design, is_on_arms
from workflow.plan import costs, machine
from workflow.plan.cells import PUBLISHED, Paper
from workflow.plan.costs import Run
from workflow.plan.digest import with_data
from workflow.plan.expand import load
from workflow.plan.resolve import PlanError
from workflow.run.instance import build_problem
from workflow.trace import curve_file, record

Name = tuple[str, str, str]  # paper, problem[@reading], curve
FOLDERS = [Path("results", "paper"), PUBLISHED / "paper"]
LEFT_OUT = 30  # cells of the validation
SEED = 20_261_123  # chooses them
FEW = 5  # errors, of which nobody tells a quantile
UNSEEN = 10.0  # the factor that is taken instead where nothing is known of a cell
FOLDS = 15  # of the cross-validation that gives the intervals
SHARE = 0.8  # of the cells that lie within an interval
NOISE = 0.25  # standard deviations of logarithms: of a cost, the machine's moods in it
CELL = 0.3  # of what is a cell's own
PROBLEM = 0.7  # of what is a problem's, beyond its features
SETTING = 0.3  # of what is an algorithm's name, a reading's or a variant's
# what is thought of exponents before any record is seen: mean and standard deviation
EXPONENTS = {
    "d": (0.5, 0.4),
    "m": (1.0, 0.4),
    "arms": (0.8, 0.3),
    "bandwidth": (-2.0, 3.0),
    "lam": (-0.2, 0.5),
    "qbar": (0.2, 0.5),
}
TURNS = (1.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
GROWTH = (1.0, 1.0)  # the same of the power of growth
SLOPE = 0.3  # of what a problem or a setting adds to it
# the same of the logarithm of a table's size, whose noise is this
SIZES = {"bandwidth": (-1.0, 1.0), "lam": (-0.1, 0.3), "arms": (0.3, 0.3)}
SIZE_NOISE = 0.2
SOME_MORE = 1.5  # times what was pulled, where nobody knows how far it goes
ARMS = 100.0  # for which the step of a method is told, where it grows with them
CELL_SLOPE = 0.2  # of what a cell adds to it
ITERATIONS = 4
WORTH = 1.0  # seconds: cells of less are left to the clock's moods
LEAST = 0.1  # seconds: what is shorter is the clock's and the first call's
RATIO = 1.5  # between the evaluations at which the growth of a cost is read
COMMENTS = {
    "reference": """The machine of the fit, the seconds of its probe, what was read; seconds of
        records from other machines count as they are.""",
    "validation": """Cells of a second and more that were left out of a fit: the median of
        |predicted/measured - 1|, the worst factor, how many are beyond a factor of two.""",
    "within": """Four of five costs lie within this factor of the estimate: the cell measured; its
        method on its problem and its settings known; its method known; nothing known.""",
    "reach": """The logarithm of that factor grows by this much for each e-fold that a run is longer
        than what was measured.""",
    "methods": """A step of a method at t evaluations takes step ((turn + t)/(turn + at))^growth
        prod (feature/typical)^exponent seconds. Problems and settings (the algorithm's name,
        @reading, +variant): [a factor of the step, what is added to the growth]. features:
        [exponent, typical, least and largest seen]; m counts the objective's process, too.""",
    "sizes": """How many arms a run on a table ends with, pulled or in its dictionary: base prod
        (feature/typical)^exponent, times the factors of method, problem and settings. Where a
        method's turn is `size`, its step is step (u/at)^growth, u = t up to that size.""",
    "problems": """CPU seconds of an evaluation beside the method, dimension, constraints, rows of
        the table, and the bandwidth that those of methods are divided by.""",
    "cells": """Measured: [CPU seconds of a seed, the evaluations that they reach to, peak MiB, what
        the cell adds to the growth, the size].""",
    "studies": """[CPU seconds of a seed at scale paper, peak MiB]; those without a record since are
        of an earlier machine.""",
}


@dataclass(frozen=True)
class Sample:
    """One record: its run as far as it went, CPU seconds of all, and those of the method (k,) after
    some numbers of evaluations (k,).
    """

    run: Run
    seconds: float
    mib: float
    complete: bool
    at: NDArray
    spent: NDArray
    evaluation: float
    shape: Mapping[str, float]
    pulled: float = 0.0  # arms, or those in the dictionary, at the end; 0 where it means nothing

    @property
    def size(self) -> float:
        """What `pulled` ends with; 0 where it still grows."""
        return self.pulled if self.pulled < 0.7 * costs.steps(self.run) else 0.0

    @property
    def name(self) -> Name:
        return self.run.paper, self.run.problem, self.run.curve


@dataclass(frozen=True)
class Predicted:
    """A cell's seconds, predicted and measured, as far as `run` goes."""

    run: Run
    level: str
    seconds: float
    measured: float

    @property
    def error(self) -> float:
        """The logarithm of predicted over measured."""
        return float(np.log(self.seconds / self.measured))


@cache
def _plan(paper: str) -> Paper:
    return load(paper, "paper")


@cache
def _arms(paper: str, problem: str) -> int:
    """Rows of a problem's table."""
    domain = build_problem(_plan(paper).first_cell(problem), 0).domain
    return len(domain) if isinstance(domain, Arms) else 0


def sample(found: record.Record, trusted: Sequence[str]) -> Sample | None:
    """What a record says of costs.

    None where the plan does not know its cell, or where it is of other code than today's and its
    method is none of those whose speed is the same.
    """
    header = found.header
    try:
        cell = _plan(header["paper"]).cell(header["problem"], header["curve"])
    except PlanError:
        return None
    run = cell.planned
    is_stale = header["digest"] != with_data(cell.digest, header["data_sha256"])
    if (is_stale and run.kind not in trusted) or "cpu_seconds" not in header:
        return None
    columns = found.columns
    rows = len(columns["evaluation"])
    offset = run.first if run.last > cell.budget else 0  # what was known before is no row
    run = replace(run, last=rows + offset)
    if run.last <= run.first:
        return None
    method = header["setup_seconds"] - header["given_seconds"]
    spent = method + np.cumsum(columns["timing.ask"] + columns["timing.tell"])
    shape = _shape(found, run)
    at = _checkpoints(run.first, run.last)
    total = header["cpu_seconds"] - header["given_seconds"]
    return Sample(
        run,
        total,
        header["peak_mib"],
        header["status"] == "complete" and rows >= cell.budget,
        at,
        spent[at - offset - 1],
        max(0.0, total - spent[-1]) / costs.steps(run),
        shape,
        _pulled(columns) if shape["arms"] and "bandwidth" in run.parameters else 0.0,
    )


def _shape(found: record.Record, run: Run) -> dict[str, float]:
    """Dimension, constraints and arms of a record's problem."""
    if is_on_arms(found):
        return {"d": 0, "m": 0, "arms": _arms(run.paper, run.problem)}
    best = best_design(found)  # which published records have, too
    return {"d": len(best.query), "m": len(best.g), "arms": 0}


def _pulled(columns: record.Columns) -> float:
    """How many arms a run on a table has at its end, in its dictionary where it has one."""
    dictionary = columns.get("report.dictionary")
    if dictionary is None:
        if "query" not in columns:  # a published record
            return float(columns["report.distinct_arms"][-1])
        return float(len(np.unique(columns["query"])))
    return float(np.nanmedian(dictionary[-max(1, len(dictionary) // 10) :]))


def _checkpoints(first: int, last: int) -> NDArray:
    """Numbers of evaluations between `first` and `last`, evenly in the logarithm of steps."""
    found = [last]
    while (found[-1] - first) / RATIO >= 4:
        found.append(first + round((found[-1] - first) / RATIO))
    return np.array(found[::-1])


def read(folders: Iterable[Path], trusted: Sequence[str]) -> tuple[list[Sample], dict[Any, Any]]:
    """The samples of all records below some folders, and [seconds, MiB] of studies by paper and
    name.
    """
    samples = []
    studies: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    known = set()  # a run that lies in two folders counts once
    for found in _records(folders):
        header = found.header
        name = tuple(header.get(part) for part in ("paper", "problem", "curve", "study", "seed"))
        if header.get("scale") != "paper" or "peak_mib" not in header or name in known:
            continue
        known.add(name)
        if "study" in header:
            studies[header["paper"]][header["study"]].append(
                (header["cpu_seconds"], header["peak_mib"])
            )
        elif (one := sample(found, trusted)) is not None:
            samples.append(one)
    means = {
        paper: {
            name: [_short(np.mean([a for a, _ in some])), round(max(b for _, b in some))]
            for name, some in here.items()
        }
        for paper, here in studies.items()
    }
    return samples, means


def _records(folders: Iterable[Path]) -> Iterator[record.Record]:
    """All records below some folders, those of one run and the published ones of many."""
    for folder in folders:
        for path in sorted(folder.rglob("*.parquet")):
            if not curve_file.headers(path):
                yield record.read(path)
                continue
            for kept in curve_file.read(path).values():
                yield restored_study(kept) if "study" in kept.header else restored(kept)


def fitted(samples: Sequence[Sample]) -> dict[str, Any]:
    """The blocks `methods`, `problems` and `cells` of papers/costs.yaml."""
    problems: dict[str, dict[str, Any]] = defaultdict(dict)
    by_problem: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    by_method: dict[str, list[Sample]] = defaultdict(list)
    by_cell: dict[Name, list[Sample]] = defaultdict(list)
    bandwidths: dict[str, list[float]] = defaultdict(list)
    for one in samples:
        if (length := one.run.parameters.get("bandwidth")) is not None:
            bandwidths[one.run.base].append(float(length))
        by_problem[one.name[:2]].append(one)
        by_method[one.run.method].append(one)
        by_cell[one.name].append(one)
    for (paper, problem), some in sorted(by_problem.items()):
        curves = {one.run.curve for one in some}
        # what steps cost beside the optimizer is least where they are few: that is the problem's
        evaluation = min(
            float(np.median([one.evaluation for one in some if one.run.curve == curve]))
            for curve in curves
        )
        problems[paper][problem] = {"evaluation": _short(evaluation), **some[0].shape}
        if lengths := bandwidths.get(some[0].run.base):
            problems[paper][problem]["bandwidth"] = _short(np.exp(np.mean(np.log(lengths))))
    cells: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for (paper, problem, curve), some in sorted(by_cell.items()):
        some = _longest(some)
        mean = float(np.mean([one.seconds for one in some]))
        # a process that made other runs before has their peak: the least is the nearest
        cells[paper][problem][curve] = [
            _short(mean),
            some[0].run.last,
            min(one.mib for one in some),
        ]
    model: dict[str, Any] = {"problems": _plain(problems)}
    model["sizes"] = fitted_sizes(model, samples)
    model["cells"] = cells
    for name, some in by_cell.items():
        longest = _longest(some)
        own = float(np.mean([one.size for one in longest]))
        pulled = max(one.pulled for one in longest)
        if not own and pulled and (costs.size(model, longest[0].run) or 0.0) < SOME_MORE * pulled:
            own = SOME_MORE * pulled  # it had not ended with growing
        paper, problem, curve = name
        cells[paper][problem][curve] += [0.0, round(own, 1)] if own else [0.0]
    methods = {}
    for method, some in sorted(by_method.items()):
        methods[method], slopes = fitted_method(model, some)
        for (paper, problem, curve), slope in slopes.items():
            cells[paper][problem][curve][3] = slope
    return {"methods": methods, **_plain(model)}


def fitted_method(
    model: Mapping[str, Any], samples: Sequence[Sample]
) -> tuple[dict[str, Any], dict[Name, float]]:
    """The coefficients of one method, and what each cell adds to the growth: those of a linear
    model of logarithms, each with what is thought of it beforehand, for the turn that fits best.
    """
    lasts = []
    for one in samples:
        beside = one.evaluation - model["problems"][one.run.paper][one.run.problem]["evaluation"]
        spent = one.spent + max(0.0, beside) * (one.at - one.run.first)
        begin = max(0, len(spent) - 1 - int((spent[:-1] >= LEAST).sum()))
        lasts += [(one, int(one.at[i]), float(spent[i])) for i in range(begin, len(spent))]
    known = [costs.features(model, one.run) for one in samples]
    names = [name for name in EXPONENTS if any(name in here for here in known)]
    typical = _typical(names, known)
    of = {id(one): here for one, here in zip(samples, known, strict=True)}
    bases = sorted({one.run.base for one in samples})
    settings = sorted({name for one in samples for name in one.run.settings})
    cells = sorted({one.name for one in samples})
    X = np.array(
        [
            [
                1.0,
                *(np.log(of[id(one)].get(name, typical[name]) / typical[name]) for name in names),
                *(float(one.run.base == base) for base in bases),
                *(float(name in one.run.settings) for name in settings),
                *(float(one.name == cell) for cell in cells),
            ]
            for one, _, _ in lasts
        ]
    )  # (k, p)
    both = [*bases, *settings]
    before = [
        (0.0, 10.0),
        *(EXPONENTS[name] for name in names),
        *((0.0, PROBLEM) for _ in bases),
        *((0.0, SETTING) for _ in settings),
        *((0.0, CELL) for _ in cells),
        GROWTH,
        *((0.0, SLOPE) for _ in both),
        *((0.0, CELL_SLOPE) for _ in cells),
    ]
    mean, deviation = np.array(before).T
    # whose growth a row has: everybody's, its problem's, its settings', its own
    G = np.array(
        [
            [
                1.0,
                *(float(name in (one.run.base, *one.run.settings)) for name in both),
                *(float(one.name == cell) for cell in cells),
            ]
            for one, _, _ in lasts
        ]
    )  # (k, 1 + both + cells)
    # checkpoints of one run tell nearly the same: together they weigh as three
    weight = np.array([min(1.0, 3 / len(one.at)) for one, _, _ in lasts]) / NOISE**2
    y = np.log([max(spent, 1e-6) for _, _, spent in lasts])
    arms = {id(one): costs.size(model, one.run) for one in samples}
    spans = [(one.run.first, last, arms[id(one)]) for one, last, _ in lasts]
    turns = [*TURNS, costs.SIZE] if all(arms.values()) else TURNS
    usual = float(np.exp(np.mean([np.log(one.run.last / 2) for one in samples])))
    least, best = np.inf, (turns[0], usual, mean)
    for turn in turns:
        at = ARMS if turn == costs.SIZE else usual
        found = mean.copy()
        for _ in range(ITERATIONS):  # of Gauss and Newton: sums of powers are not linear in these
            powers = np.clip(G @ found[X.shape[1] :], -costs.LIMIT, costs.LIMIT)
            work, slope = _work(spans, turn, at, powers)
            J = np.hstack([X, G * slope[:, None]])
            z = y - work - X @ mean[: X.shape[1]] + slope * (powers - G @ mean[X.shape[1] :])
            right = J.T @ (weight * z)
            found = mean + np.linalg.solve((J.T * weight) @ J + np.diag(deviation**-2), right)
        powers = np.clip(G @ found[X.shape[1] :], -costs.LIMIT, costs.LIMIT)
        left = y - _work(spans, turn, at, powers)[0] - X @ found[: X.shape[1]]
        misfit = float((weight * left) @ left + (((found - mean) / deviation) ** 2).sum())
        if misfit < least:
            least, best = misfit, (turn, at, found)
    turn, at, found = best
    sizes = [len(part) for part in (names, bases, settings, cells, "1", bases, settings)]
    of_features, of_bases, of_settings, _, growth, base_slopes, slopes, own = np.split(
        found[1:], np.cumsum(sizes)
    )
    method = {
        "step": _short(np.exp(found[0])),
        "at": round(at),
        "turn": turn,
        "growth": _short(growth[0]),
        "features": {
            name: [_short(value), _short(typical[name]), *_range(name, known)]
            for name, value in zip(names, of_features, strict=True)
        },
        "problems": _effects(bases, of_bases, base_slopes),
        "settings": _effects(settings, of_settings, slopes),
    }
    return method, {cell: _short(slope) for cell, slope in zip(cells, own, strict=True)}


def _typical(names: Iterable[str], known: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The geometric mean of each feature where it is known."""
    return {
        name: float(np.exp(np.mean([np.log(here[name]) for here in known if name in here])))
        for name in names
    }


def _range(name: str, known: Sequence[Mapping[str, float]]) -> list[float]:
    """The least and the largest value of a feature that was seen."""
    values = [here[name] for here in known if name in here]
    return [_short(min(values)), _short(max(values))]


def _work(
    spans: Sequence[tuple[int, int, float | None]],
    turn: float | str,
    at: float,
    powers: NDArray,
) -> tuple[NDArray, NDArray]:
    """Logarithms of the growth of costs (k,), and their slopes over the powers (k,)."""

    def grown(first: int, last: int, arms: float | None, power: float) -> float:
        if isinstance(turn, float):
            return costs.growth(first, last, turn, at, power)
        return costs.saturated(first, last, arms or at, at, power)

    more, less = (
        np.log([grown(*span, power) for span, power in zip(spans, powers + move, strict=True)])
        for move in (1e-4, -1e-4)
    )
    return (more + less) / 2, (more - less) / 2e-4


def fitted_sizes(model: Mapping[str, Any], samples: Sequence[Sample]) -> dict[str, Any]:
    """The regression of the sizes that runs on tables end with, over all methods at once; nothing
    where no run had one.
    """
    known = [(one, costs.features(model, one.run)) for one in samples if one.size]
    if not known:
        return {}
    names = [name for name in SIZES if any(name in here for _, here in known)]
    typical = _typical(names, [here for _, here in known])
    effects = sorted(
        {name for one, _ in known for name in (one.run.method, one.run.base, *one.run.settings)}
    )
    X = np.array(
        [
            [
                1.0,
                *(np.log(here.get(name, typical[name]) / typical[name]) for name in names),
                *(
                    float(name in (one.run.method, one.run.base, *one.run.settings))
                    for name in effects
                ),
            ]
            for one, here in known
        ]
    )
    before = [(0.0, 10.0), *(SIZES[name] for name in names), *((0.0, SETTING) for _ in effects)]
    mean, deviation = np.array(before).T
    y = np.log([one.size for one, _ in known])
    A = X.T @ X / SIZE_NOISE**2 + np.diag(deviation**-2)
    found = mean + np.linalg.solve(A, X.T @ (y - X @ mean) / SIZE_NOISE**2)
    exponents, factors = np.split(found[1:], [len(names)])
    return {
        "base": _short(np.exp(found[0])),
        "typical": {name: _short(value) for name, value in typical.items()},
        "exponents": {name: _short(value) for name, value in zip(names, exponents, strict=True)},
        "factors": {
            name: _short(np.exp(value)) for name, value in zip(effects, factors, strict=True)
        },
    }


def _effects(names: Sequence[str], logarithms: NDArray, slopes: NDArray) -> dict[str, list[float]]:
    """A factor and an addition to the growth for each name."""
    return {
        name: [_short(np.exp(value)), _short(slope)]
        for name, value, slope in zip(names, logarithms, slopes, strict=True)
    }


def predicted(samples: Sequence[Sample], left_out: Iterable[Name]) -> list[Predicted]:
    """What a fit without some cells says of them."""
    out = set(left_out)
    model = fitted([one for one in samples if one.name not in out])
    found = []
    for name in sorted(out):
        some = _longest([one for one in samples if one.name == name])
        run = some[0].run
        seconds = costs.estimate(run, model).seconds
        measured = float(np.mean([one.seconds for one in some]))
        found.append(Predicted(run, costs.known_as(model, run), seconds, measured))
    return found


def left_out(samples: Sequence[Sample], many: int, seed: int) -> list[Name]:
    """Cells of a second and more by chance, method after method in turn, none of which is its
    method's only one.
    """
    rng = np.random.default_rng(seed)
    of: dict[str, list[Name]] = defaultdict(list)
    for name, method in sorted({(one.name, one.run.method) for one in samples}):
        if max(one.seconds for one in samples if one.name == name) >= WORTH:
            of[method].append(name)
    queues = [
        [names[i] for i in rng.permutation(len(names))][: len(names) - 1]
        for _, names in sorted(of.items())
    ]
    queues = [queues[i] for i in rng.permutation(len(queues))]
    turns = [name for turn in range(many) for queue in queues for name in queue[turn : turn + 1]]
    return turns[:many]


def spreads(samples: Sequence[Sample]) -> tuple[dict[str, float], float]:
    """The factors `within` by level of knowledge, and `reach`, by runs of a second and more.

    Known cells and methods: from a cross-validation over cells. Measured ones: a seed by the mean
    of the others. Reach: complete runs by their beginnings, up to a tenth of them or more.
    """
    rng = np.random.default_rng(SEED)
    names = sorted({one.name for one in samples})
    fold = dict(zip(names, rng.permutation(len(names)) % FOLDS, strict=True))
    errors: dict[str, list[float]] = defaultdict(list)
    for number in range(FOLDS):
        for each in predicted(samples, [name for name in names if fold[name] == number]):
            if each.measured >= WORTH:
                errors[each.level].append(each.error)
    for name in names:
        seconds = [one.seconds for one in samples if one.name == name and one.complete]
        if len(seconds) < 2 or min(seconds) < WORTH:
            continue
        for i, value in enumerate(seconds):
            others = np.mean([*seconds[:i], *seconds[i + 1 :]])
            errors["measured"].append(float(np.log(others / value)))
    within, wider = {}, 1.0
    for level in costs.LEVELS:
        if len(errors[level]) < FEW:
            wider = max(wider, UNSEEN) if level == costs.LEVELS[-1] else wider
        else:
            wider = max(wider, float(np.exp(np.quantile(np.abs(errors[level]), SHARE))))
        within[level] = _short(wider)
    reaches = []
    for number in range(FOLDS):
        here = [one for one in samples if fold[one.name] == number and one.complete]
        begun = {one.name: begin for one in here if (begin := beginning(one)) is not None}
        others = [one for one in samples if one.name not in begun]
        model = fitted([*others, *begun.values()])
        for one in here:
            if one.name in begun:
                e_folds = np.log(costs.steps(one.run) / costs.steps(begun[one.name].run))
                seconds = costs.estimate(one.run, model).seconds
                reaches.append(abs(np.log(seconds / one.seconds)) / e_folds)
    return within, _short(np.quantile(reaches, SHARE)) if reaches else 0.3


def beginning(one: Sample) -> Sample | None:
    """A run as if it had been cut after a second, if that is less than a third of its steps."""
    cut = int(np.searchsorted(one.spent, 1.0)) + 1
    if cut >= len(one.at) or 3 * (one.at[cut - 1] - one.run.first) > costs.steps(one.run):
        return None
    run = replace(one.run, last=int(one.at[cut - 1]))
    seconds = float(one.spent[cut - 1]) + one.evaluation * costs.steps(run)
    return replace(
        one,
        run=run,
        seconds=seconds,
        complete=False,
        at=one.at[:cut],
        spent=one.spent[:cut],
        pulled=0.0,  # nobody has counted them there
    )


def summary(found: Sequence[Predicted]) -> dict[str, Any]:
    """Median and worst error of some predictions."""
    errors = np.array([each.error for each in found])
    return {
        "cells": len(found),
        "median": _short(np.median(np.abs(np.expm1(errors)))),
        "worst": _short(np.exp(np.abs(errors).max())),
        "beyond_2": int((np.abs(errors) > np.log(2)).sum()),
    }


def listed(found: Sequence[Predicted]) -> list[str]:
    """A table of predictions, as Markdown."""
    head = ["| cell | known | predicted (s) | measured (s) | ratio |", "|---|---|---|---|---|"]
    return head + [
        f"| {each.run.paper}/{each.run.problem}/{each.run.curve} to {each.run.last} | {each.level}"
        f" | {each.seconds:.3g} | {each.measured:.3g} | {np.exp(each.error):.2f} |"
        for each in found
    ]


def _longest(samples: Sequence[Sample]) -> list[Sample]:
    """Those that went as far as any."""
    longest = max(one.run.last for one in samples)
    return [one for one in samples if one.run.last == longest]


def _short(value: float) -> float:
    """Three digits, as a number of Python's."""
    return float(f"{value:.3g}")


def _plain(value: Any) -> Any:
    """Dictionaries without defaults, for YAML."""
    return {key: _plain(part) for key, part in value.items()} if isinstance(value, dict) else value


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What was seen, and what was not as it was."""
    both = [key for key in old if isinstance(old[key], dict) and isinstance(new.get(key), dict)]
    return {**old, **new, **{key: merged(old[key], new[key]) for key in both}}


def written(model: Mapping[str, Any]) -> str:
    """The text of papers/costs.yaml."""
    blocks = []
    for name, comment in COMMENTS.items():
        if name in model:
            text = yaml.safe_dump(
                {name: model[name]},
                # what has no parts would be written in braces
                default_flow_style=None if isinstance(model[name], dict) else False,
                sort_keys=False,
                width=120,
            )
            lines = wrap(
                " ".join(comment.split()), 110, initial_indent="# ", subsequent_indent="# "
            )
            blocks.append("\n".join([*lines, text]))
    return (
        "# Written by `python -m benchmarks.costs`; workflow/plan/costs.py has the formula.\n"
        + "".join(blocks)
    )


def main(arguments: list[str] | None = None) -> int:
    """Fit papers/costs.yaml to the records below some folders; methods, cells and studies without
    a record stay as they are.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=main.__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument(
        "--trust",
        nargs="*",
        default=[],
        metavar="METHOD",
        help="module.Class: its stale records count, too, since its speed is the same",
    )
    parser.add_argument(
        "--validate", action="store_true", help="print the validation and write nothing"
    )
    options = parser.parse_args(arguments)
    samples, studies = read(options.folders, options.trust)
    if not samples:
        print("error: expected records at scale paper, got none", file=sys.stderr)
        return 1
    checked = predicted(samples, left_out(samples, LEFT_OUT, SEED))
    print("\n".join(listed(checked)))
    print(summary(checked))
    if options.validate:
        return 0
    within, reach = spreads(samples)
    reference = {
        "machine": record.provenance()["machine"],
        "probe": _short(machine.probed()),
        "date": datetime.now(UTC).date().isoformat(),
        "records": len(samples),
        "cells": len({one.name for one in samples}),
    }
    new = {
        "reference": reference,
        "validation": summary(checked),
        "within": within,
        "reach": reach,
        **fitted(samples),
        "studies": studies,
    }
    path = costs.ROOT / "papers" / "costs.yaml"
    path.write_text(written(merged(costs.table(), new)), encoding="utf-8")
    print(
        f"papers/costs.yaml: {len(samples)} records of {reference['cells']} cells", file=sys.stderr
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
