"""Rank algorithms over several problems.

Writes <ranks>.png (with the critical difference of Demsar, JMLR 7, 2006), <ranks>.csv and, for
print, <ranks>.pdf. What is ranked on a problem is the mean over the seeds, as figures and tables
have it: the problems are the sample, since the seeds of one problem are no independent evidence
about others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from workflow.draw.plots import RC, save
from workflow.draw.style import (
    MARGIN,
    PRINTED_LINE,
    SMALL_PRINT,
    Look,
    inches,
    look,
    put_small_print,
    put_substituted,
    wrapped,
)
from workflow.judge.outcomes import stood_in, unverified
from workflow.measure.metrics import Array, metric
from workflow.measure.statistics import (
    LEVEL,
    critical_difference,
    friedman,
    indistinct,
    ranks_in_rows,
)
from workflow.measure.store import Store, made_of
from workflow.plan.lines import RanksLine
from workflow.plan.paper import Paper
from workflow.plan.selection import (
    algorithm_of,
    complete,
    in_scale,
    line_of,
    rank_curves,
    rank_runs,
)
from workflow.trace.atomic import atomic
from workflow.trace.curves import Curve, PlanError

# inches: the figure, its title, a row, the axis with its words
WIDTH, HEAD, LINE, AXIS = 6.2, 0.36, 0.24, 0.42
BAR = 0.18  # ranks from a bar to the next
DOT = 11  # square points: one problem
NAME, TICK = 8.5, 7.5  # points
DARK, PALE = "#222222", "#444444"
NOTHING, TOO_FEW = "not run", "too few problems to tell any methods apart"


@dataclass(frozen=True)
class Ranking:
    """N problems by k curves, all of them run, and what is left out for want of runs."""

    problems: Sequence[str]
    labels: Sequence[str]
    values: Array  # (N, k)
    seeds: Sequence[int]  # how many each problem's curves have in common
    data: Sequence[str]
    versions: Sequence[str]
    looks: Mapping[str, Look]
    left_out: Sequence[str] = ()  # who is not ranked, each with the reason
    timeouts: Sequence[str] = ()  # curves that lack seeds, and how many

    @property
    def ranks(self) -> Array:
        """(N, k), 1 for the least value."""
        return ranks_in_rows(self.values)

    @property
    def means(self) -> Array:
        """(k,) mean ranks."""
        return np.asarray(self.ranks.mean(axis=0))

    @cached_property
    def p(self) -> float:
        """Of Friedman's test."""
        return friedman(self.ranks)

    @property
    def difference(self) -> float:
        """Of mean ranks, from which on Nemenyi's test tells two methods apart."""
        return critical_difference(len(self.labels), len(self.problems))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to rank."""
        return not self.problems or len(self.labels) < 2


def ranking(paper: Paper, store: Store, name: str) -> Ranking:
    """The complete part of what was run of a line of ranks. Raises PlanError, BadRecords."""
    line, planned = line_of(paper, "ranks", name, RanksLine), rank_curves(paper, name)
    run = {
        problem: [label for label, curve in row.items() if store.has(curve)]
        for problem, row in planned.items()
    }
    problems, labels = complete(run, list(next(iter(planned.values()))))
    left_out = _left_out(paper, line, run, problems, labels)
    seeds = {
        problem: _common(store, [planned[problem][label] for label in labels])
        for problem in problems
    }
    left_out += [
        f"{problem}: its curves have no seed in common"
        for problem in problems
        if labels and not seeds[problem]
    ]
    problems = [problem for problem in problems if seeds[problem]]
    kept = {problem: [planned[problem][label] for label in labels] for problem in problems}
    values = [_row(store, curves, seeds[problem], line) for problem, curves in kept.items()]
    every = [curve for curves in kept.values() for curve in curves]
    return Ranking(
        problems=problems,
        labels=labels,
        values=np.array(values).reshape(len(problems), len(labels)),
        seeds=[len(seeds[problem]) for problem in problems],
        data=[made_of(store.data(curve) for curve in curves) for curves in kept.values()],
        versions=sorted({version for curve in every for version in store.versions(curve)}),
        looks=_looks(labels),
        left_out=left_out,
        timeouts=store.lacks({f"{curve.label} on {curve.problem_name}": curve for curve in every}),
    )


def _common(store: Store, curves: Sequence[Curve]) -> list[int]:
    """The seeds that all curves have: they share instance and initial design."""
    return (
        sorted(set.intersection(*(set(store.seeds(curve)) for curve in curves))) if curves else []
    )


def _row(
    store: Store, curves: Sequence[Curve], seeds: Sequence[int], line: RanksLine
) -> list[float]:
    """The mean over some seeds of each curve's metric at the end of the shortest run; infinite
    where one of them is.
    """
    at = min(curve.budget for curve in curves)
    means = []
    for curve in curves:
        values = store.values(curve, line.metric)
        ends = [
            values[store.seeds(curve).index(seed), min(at, values.shape[1]) - 1] for seed in seeds
        ]
        if np.isnan(ends).any():
            raise PlanError(
                f"ranks {line.id}: expected numbers, got NaN for {line.metric} of {curve.name}"
                f" after {at} evaluations: rank another metric"
            )
        means.append(float(np.mean(ends)))
    return means


def _looks(labels: Sequence[str]) -> dict[str, Look]:
    """An algorithm keeps its look; a further reading or variant of one that is there already
    differs in all but the hue.
    """
    names = [algorithm_of(label) for label in labels]
    return {
        label: look(name, names[:position].count(name))
        for position, (label, name) in enumerate(zip(labels, names, strict=True))
    }


def _left_out(
    paper: Paper,
    line: RanksLine,
    run: Mapping[str, Collection[str]],
    problems: Sequence[str],
    labels: Sequence[str],
) -> list[str]:
    """Who is not ranked, and why, in words: `run` are the curves with records on each problem that
    is planned, `problems` and `labels` what is left.
    """
    words = [
        f"{problem}: {len(run.get(problem, ()))} of {len(line.curves)} curves run there"
        for problem in line.problems
        if problem not in problems
    ]
    for label in line.curves:
        if label in labels:
            continue
        nowhere = [problem for problem in problems if not in_scale(paper, problem, [label])]
        lacks = [problem for problem in problems if label not in run[problem]]
        # a curve that is not planned on one of the problems is read on none
        why = (
            f"not planned on {', '.join(nowhere)}" if nowhere else f"not run on {', '.join(lacks)}"
        )
        words.append(f"{label}: {why}")
    return words


def table(ranking: Ranking) -> pd.DataFrame:
    """A row for each problem and curve, and the mean ranks below."""
    names = ["problem", "curve", "mean", "rank", "seeds", "data"]
    rows = [
        (
            problem,
            label,
            ranking.values[i, j],
            ranking.ranks[i, j],
            ranking.seeds[i],
            ranking.data[i],
        )
        for i, problem in enumerate(ranking.problems)
        for j, label in enumerate(ranking.labels)
    ]
    if not ranking.is_empty:
        data = "; ".join(dict.fromkeys(ranking.data))
        rows += [
            ("all", label, np.nan, mean, min(ranking.seeds), data)
            for label, mean in zip(ranking.labels, ranking.means, strict=True)
        ]
    return pd.DataFrame(rows, columns=names)


def draw(
    paper: Paper, store: Store, name: str, folder: Path, *, printed: bool = False
) -> list[Path]:
    """Write the diagram as PNG, and as PDF where it is to be `printed`, and the ranks as CSV;
    returns their paths. Raises PlanError, BadRecord.
    """
    runs = rank_runs(paper, name)
    store.check(runs)
    ranks, line = ranking(paper, store, name), line_of(paper, "ranks", name, RanksLine)
    with plt.rc_context({**plt.rcParamsDefault, **RC}):
        note = _small_print(paper, line, ranks, store.of_other_code(runs))
        figure = diagram(ranks, line.title, note)
        pictures = save(figure, folder / name, title=f"{paper.name} {name}", printed=printed)
    path = folder / f"{name}.csv"
    with atomic(path) as temporary:
        table(ranks).to_csv(temporary, index=False, float_format="%.9g", lineterminator="\n")
    return [*pictures, path]


def _small_print(paper: Paper, line: RanksLine, ranking: Ranking, other: str = "") -> str:
    """Everything a reader must know who sees the picture alone; `other` says which records other
    code made.
    """
    several = any("@" in label for label in [*line.curves, *line.problems])
    replaced = {
        problem: said
        for problem, data in zip(ranking.problems, ranking.data, strict=True)
        if (said := stood_in(data))
    }
    substitutes = ", ".join(dict.fromkeys(replaced.values()))
    whose = zip(ranking.problems, ranking.data, strict=True)
    real = [problem for problem, data in whose if data == "real"]
    ends = sorted({min(ranking.seeds, default=0), max(ranking.seeds, default=0)})
    parts = [
        f"{paper.name} {line.id}",
        f"scale {paper.scale}",
        f"{'-'.join(map(str, ends))} {'seed' if ends == [1] else 'seeds'}",
        f"{len(ranking.problems)} problems: {', '.join(ranking.problems)}",
        f"reading: {'see labels' if several else 'default'}",
        (
            f"mean ranks, 1 is best, of the {metric(line.metric).label} at the end,"
            " its mean over the common seeds; a dot is larger where several problems have it"
        ),
        "" if ranking.is_empty else _told_apart(ranking),
        "infinite: tied for the last ranks" if np.isinf(ranking.values).any() else "",
        f"real data on {', '.join(real)}" if real else "",
        unverified(ranking.data),
        f"SUBSTITUTE on {', '.join(replaced)}: {substitutes}" if replaced else "",
        f"MADE BY OTHER CODE: {other}" if other else "",
        f"an evaluation took too long in {'; '.join(ranking.timeouts)}" if ranking.timeouts else "",
        ", ".join(ranking.versions),
        line.note,
    ]
    return " · ".join(filter(None, parts))


def _told_apart(ranking: Ranking) -> str:
    """What the tests say, in words."""
    p = "< 0.001" if ranking.p < 0.001 else f"= {ranking.p:.2g}"
    bars = "bars join what Nemenyi's test does not tell apart at 5 %, mean ranks less than"
    said = f"{bars} {ranking.difference:.2f} apart" if ranking.p <= LEVEL else TOO_FEW
    return f"Friedman's test: p {p}, permuted within problems · {said}"


def diagram(ranking: Ranking, title: str, small_print: str) -> Figure:
    """A row for each curve, the best on top: its rank on each problem as dots, its mean rank as a
    marker. Bars beside the rows join what Nemenyi's test does not tell apart.
    """
    means = [] if ranking.is_empty else sorted(zip(ranking.means, ranking.labels, strict=True))
    labels = [label for _, label in means]
    names = [f"{label} ({mean:.2f})" for mean, label in means]
    note, outside = wrapped(small_print, WIDTH), list[str]()
    if ranking.left_out:
        outside = wrapped(f"NOT RANKED · {' · '.join(ranking.left_out)}", WIDTH)
    low = MARGIN + PRINTED_LINE * len(note)
    below = low + PRINTED_LINE * (len(outside) + 1) + AXIS
    height = HEAD + LINE * max(len(labels), 2) + below
    left = max((inches(name, NAME) for name in names), default=0.0) + 3 * MARGIN
    figure = plt.figure(figsize=(WIDTH, height))
    inside = (left, below, WIDTH - left - MARGIN, height - HEAD - below)
    ax = figure.add_axes(tuple(np.array(inside) / [WIDTH, height, WIDTH, height]))
    figure.text(0.5, 1 - 0.1 / height, title, ha="center", va="top", fontsize=10)
    if ranking.is_empty:
        ax.set_axis_off()
        ax.text(0.5, 0.5, NOTHING, transform=ax.transAxes, ha="center", va="center", color=PALE)
    else:
        _draw_ranks(ax, ranking, labels)
        ax.set_yticks(range(len(labels)), names, fontsize=NAME)
    if outside:
        x, y, words = MARGIN / WIDTH, (low + 0.04) / height, "\n".join(outside)
        figure.text(x, y, words, va="bottom", fontsize=SMALL_PRINT, linespacing=1.15)
    if any(map(stood_in, ranking.data)):
        put_substituted(ax, rotation=12)
    put_small_print(figure, note)
    return figure


def _draw_ranks(ax: Axes, ranking: Ranking, labels: Sequence[str]) -> None:
    """Curves in rows from the top."""
    ranks_of = pd.DataFrame(ranking.ranks, columns=list(ranking.labels))[list(labels)]
    equal = ranks_of.melt(var_name="curve", value_name="rank").value_counts().reset_index()
    equal["row"] = equal["curve"].map(labels.index)
    seaborn.scatterplot(
        equal,
        x="rank",
        y="row",
        hue="curve",
        palette={label: ranking.looks[label].colour for label in labels},
        size="count",
        sizes={count: DOT * count for count in equal["count"]},
        alpha=0.4,
        legend=False,
        ax=ax,
    )
    for row, (label, mean) in enumerate(ranks_of.mean().items()):
        style = ranking.looks[str(label)]
        face = "white" if "@" in str(label) else style.colour
        marker = style.marker or "|"
        ax.plot(mean, row, marker, color=style.colour, markersize=7.5, markerfacecolor=face)
    bars = _bars(ranking)
    for number, (first, last) in enumerate(bars, 1):
        x, ends = len(labels) + 0.2 + BAR * number, [first - 0.2, last + 0.2]
        ax.plot([x, x], ends, color=DARK, linewidth=3, solid_capstyle="butt")
    right = len(labels) + 0.4 + BAR * len(bars)
    ax.set(xlim=(0.6, right), ylim=(len(labels) - 0.5, -0.5), ylabel="")
    ax.set_xticks(range(1, len(labels) + 1))
    ax.set_xlabel("rank on each problem (dots) and mean rank (marker)", fontsize=TICK)


def _bars(ranking: Ranking) -> list[tuple[int, int]]:
    """First and last place of the mean ranks that each bar joins; one bar over all where Friedman's
    test finds nothing.
    """
    if ranking.p > LEVEL:
        return [(0, len(ranking.labels) - 1)]
    return indistinct(np.sort(ranking.means), ranking.difference)
