"""Rank algorithms over several problems.

Writes <ranks>.png (a critical-difference diagram, Demsar, JMLR 7, 2006), <ranks>.csv and, for
print, <ranks>.pdf. What is ranked on a problem is the mean over the seeds, as figures and tables
have it: the problems are the sample, since the seeds of one problem are no independent evidence
about others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
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
from workflow.plan.paper import Paper
from workflow.plan.selection import (
    algorithm_of,
    complete,
    in_scale,
    rank_cells,
    rank_runs,
    ranks,
)
from workflow.trace.atomic import atomic
from workflow.trace.cells import Cell, PlanError

WIDTH, TOP, LINE, BAR = 6.2, 1.0, 0.21, 0.085  # inches: the figure, above its axis, a name, a bar
ASIDE = 0.25  # inches, what is said of those that are not ranked is set in
NAME, TICK = 8.5, 7.5  # points
Bars = list[list[tuple[float, float]]]
DARK, PALE = "#222222", "#444444"
NOTHING, TOO_FEW = "not run", "too few problems to tell any methods apart"


@dataclass(frozen=True)
class Ranking:
    """N problems by k curves, all of them run, and what is left out for want of runs."""

    problems: Sequence[str]
    curves: Sequence[str]
    values: Array  # (N, k)
    seeds: Sequence[int]  # how many each problem's curves have in common
    data: Sequence[str]
    versions: Sequence[str]
    looks: Mapping[str, Look]
    left_out: Sequence[str] = ()  # who is not ranked, each with the reason
    timeouts: Sequence[str] = ()  # cells that lack seeds, and how many

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
    def is_empty(self) -> bool:
        """Whether there is nothing to rank."""
        return not self.problems or len(self.curves) < 2


def ranking(paper: Paper, store: Store, name: str) -> Ranking:
    """The complete part of what was run of a line of ranks. Raises PlanError, BadRecords."""
    entry, planned = ranks(paper, name), rank_cells(paper, name)
    run = {
        problem: [curve for curve, cell in row.items() if store.has(cell)]
        for problem, row in planned.items()
    }
    problems, curves = complete(run, list(next(iter(planned.values()))))
    left_out = _left_out(paper, entry, run, problems, curves)
    seeds = {
        problem: _common(store, [planned[problem][curve] for curve in curves])
        for problem in problems
    }
    left_out += [
        f"{problem}: its curves have no seed in common"
        for problem in problems
        if curves and not seeds[problem]
    ]
    problems = [problem for problem in problems if seeds[problem]]
    kept = {problem: [planned[problem][curve] for curve in curves] for problem in problems}
    values = [_row(store, cells, seeds[problem], entry) for problem, cells in kept.items()]
    every = [cell for cells in kept.values() for cell in cells]
    return Ranking(
        problems=problems,
        curves=curves,
        values=np.array(values).reshape(len(problems), len(curves)),
        seeds=[len(seeds[problem]) for problem in problems],
        data=[made_of(store.data(cell) for cell in cells) for cells in kept.values()],
        versions=sorted({version for cell in every for version in store.versions(cell)}),
        looks=_looks(curves),
        left_out=left_out,
        timeouts=store.lacks({f"{cell.curve} on {cell.problem_name}": cell for cell in every}),
    )


def _common(store: Store, cells: Sequence[Cell]) -> list[int]:
    """The seeds that all cells have: they share instance and initial design."""
    return sorted(set.intersection(*(set(store.seeds(cell)) for cell in cells))) if cells else []


def _row(store: Store, cells: Sequence[Cell], seeds: Sequence[int], entry: Mapping) -> list[float]:
    """The mean over some seeds of each cell's metric at one evaluation; infinite where one of them
    is.
    """
    shortest = min(cell.budget for cell in cells)
    at = shortest if entry.get("at", "end") == "end" else min(entry["at"], shortest)
    means = []
    for cell in cells:
        values = store.values(cell, entry["metric"])
        ends = [
            values[store.seeds(cell).index(seed), min(at, values.shape[1]) - 1] for seed in seeds
        ]
        if np.isnan(ends).any():
            raise PlanError(
                f"ranks {entry['id']}: expected numbers, got NaN for {entry['metric']} of"
                f" {cell.name} after {at} evaluations: rank another metric, or at another"
                " evaluation"
            )
        means.append(float(np.mean(ends)))
    return means


def _looks(curves: Sequence[str]) -> dict[str, Look]:
    """An algorithm keeps its look; a further reading or variant of one that is there already
    differs in all but the hue.
    """
    names = [algorithm_of(curve) for curve in curves]
    return {
        curve: look(name, names[:position].count(name))
        for position, (curve, name) in enumerate(zip(curves, names, strict=True))
    }


def _left_out(
    paper: Paper,
    entry: Mapping[str, Any],
    run: Mapping[str, Collection[str]],
    problems: Sequence[str],
    curves: Sequence[str],
) -> list[str]:
    """Who is not ranked, and why, in words: `run` are the curves with records on each problem that
    is planned, `problems` and `curves` what is left.
    """
    listed = entry["curves"]
    words = [
        f"{problem}: {len(run.get(problem, ()))} of {len(listed)} curves run there"
        for problem in entry["problems"]
        if problem not in problems
    ]
    for curve in listed:
        if curve in curves:
            continue
        nowhere = [problem for problem in problems if not in_scale(paper, problem, [curve])]
        lacks = [problem for problem in problems if curve not in run[problem]]
        # a curve that is not planned on one of the problems is read on none
        why = (
            f"not planned on {', '.join(nowhere)}" if nowhere else f"not run on {', '.join(lacks)}"
        )
        words.append(f"{curve}: {why}")
    return words


def table(found: Ranking) -> pd.DataFrame:
    """A row for each problem and curve, and the mean ranks below."""
    names = ["problem", "curve", "mean", "rank", "seeds", "data"]
    rows = [
        (problem, curve, found.values[i, j], found.ranks[i, j], found.seeds[i], found.data[i])
        for i, problem in enumerate(found.problems)
        for j, curve in enumerate(found.curves)
    ]
    if not found.is_empty:
        data = "; ".join(dict.fromkeys(found.data))
        rows += [
            ("all", curve, np.nan, mean, min(found.seeds), data)
            for curve, mean in zip(found.curves, found.means, strict=True)
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
    found, other = ranking(paper, store, name), store.of_other_code(runs)
    with plt.rc_context({**plt.rcParamsDefault, **RC}):
        figure = diagram(
            found, ranks(paper, name)["title"], _small_print(paper, name, found, other)
        )
        pictures = save(figure, folder / name, title=f"{paper.name} {name}", printed=printed)
    path = folder / f"{name}.csv"
    with atomic(path) as temporary:
        table(found).to_csv(temporary, index=False, float_format="%.9g", lineterminator="\n")
    return [*pictures, path]


def _small_print(paper: Paper, name: str, found: Ranking, other: str = "") -> str:
    """Everything a reader must know who sees the picture alone; `other` says which records other
    code made.
    """
    entry = ranks(paper, name)
    at = "" if entry.get("at", "end") == "end" else f" after {entry['at']} evaluations"
    several = any("@" in label for label in [*entry["curves"], *entry["problems"]])
    replaced = {
        problem: said
        for problem, data in zip(found.problems, found.data, strict=True)
        if (said := stood_in(data))
    }
    substitutes = ", ".join(dict.fromkeys(replaced.values()))
    ends = sorted({min(found.seeds, default=0), max(found.seeds, default=0)})
    parts = [
        f"{paper.name} {name}",
        f"scale {paper.scale}",
        f"{'-'.join(map(str, ends))} {'seed' if ends == [1] else 'seeds'}",
        f"{len(found.problems)} problems: {', '.join(found.problems)}",
        f"reading: {'see labels' if several else 'default'}",
        (
            f"mean ranks, 1 is best, of the {metric(entry['metric']).label}{at or ' at the end'},"
            " its mean over the common seeds"
        ),
        "" if found.is_empty else f"Friedman's test: p {_p(found.p)}, permuted within problems",
        "bars join what Nemenyi's test does not tell apart at 5 %",
        "infinite: tied for the last ranks" if np.isinf(found.values).any() else "",
        "real data" if "real" in found.data else "",
        unverified(found.data),
        f"SUBSTITUTE on {', '.join(replaced)}: {substitutes}" if replaced else "",
        f"MADE BY OTHER CODE: {other}" if other else "",
        f"an evaluation took too long in {'; '.join(found.timeouts)}" if found.timeouts else "",
        ", ".join(found.versions),
        entry.get("note", ""),
    ]
    return " · ".join(filter(None, parts))


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def diagram(found: Ranking, title: str, small_print: str) -> Figure:
    """Mean ranks on an axis, the names on both sides of it; everything is placed in inches, since
    axes would clip names.
    """
    note = wrapped(small_print, WIDTH)
    low = 0.14 + PRINTED_LINE * len(note)
    words = "" if found.is_empty or found.p <= LEVEL else TOO_FEW
    bars = _bars(found)
    rows = 1 if found.is_empty else -(-len(found.curves) // 2)
    outside = wrapped(_outside(found), WIDTH - 2 * ASIDE) if found.left_out else []
    below = low + PRINTED_LINE * len(outside) + (0.08 if outside else 0)
    height = TOP + BAR * len(bars) + LINE * (rows + (1.3 if words else 0.6)) + below
    figure = plt.figure(figsize=(WIDTH, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTH), ylim=(0, height))
    ax.set_axis_off()
    ax.text(WIDTH / 2, height - 0.1, title, ha="center", va="top", fontsize=10, color=DARK)
    if found.is_empty:
        ax.text(WIDTH / 2, height - TOP, NOTHING, ha="center", va="center", color="#888888")
    else:
        _draw_ranks(ax, found, bars, height - TOP)
        ax.text(WIDTH / 2, below, words, ha="center", va="bottom", fontsize=NAME, color=DARK)
    if outside:
        ax.text(
            ASIDE + MARGIN,
            low,
            "\n".join(outside),
            ha="left",
            va="bottom",
            fontsize=SMALL_PRINT,
            color=DARK,
            linespacing=1.15,
        )
    if any(map(stood_in, found.data)):
        put_substituted(ax, WIDTH / 2, (height + below - 0.3) / 2, rotation=12)
    put_small_print(figure, note)
    return figure


def _outside(found: Ranking) -> str:
    """Who is not ranked, and why."""
    return f"NOT RANKED · {' · '.join(found.left_out)}"


def _bars(found: Ranking) -> Bars:
    """The ranks that each bar joins, by rows of bars that do not touch; one bar over all where
    Friedman's test finds nothing.
    """
    if found.is_empty:
        return []
    ascending = np.sort(found.means)
    if found.p > LEVEL:
        return [[(ascending[0], ascending[-1])]]
    levels: Bars = []
    for first, last in indistinct(
        ascending, critical_difference(len(found.curves), len(found.problems))
    ):
        free = next((level for level in levels if level[-1][1] + 0.15 < ascending[first]), None)
        if free is None:
            levels.append(free := [])
        free.append((ascending[first], ascending[last]))
    return levels


def _draw_ranks(ax: Axes, found: Ranking, bars: Bars, y: float) -> None:
    """Axis at a height, critical difference above it, bars and names below."""
    k, words = (
        len(found.curves),
        [f"{curve} ({mean:.2f})" for curve, mean in zip(found.curves, found.means, strict=True)],
    )
    half, order = -(-k // 2), np.argsort(found.means, kind="stable").tolist()
    # the best from the top on the left, the worst from the top on the right
    sides = order[:half], order[half:][::-1]
    start, end = (max(inches(words[j], NAME) for j in side) + MARGIN + 0.3 for side in sides)
    unit = (WIDTH - start - end) / (k - 1)  # inches a rank
    _draw_axis(ax, k, len(found.problems), start, unit, y)
    for depth, bar in enumerate(bars, 1):
        for first, last in bar:
            ends = [start + (first - 1) * unit - 0.04, start + (last - 1) * unit + 0.04]
            ax.plot(
                ends,
                [y - BAR * depth] * 2,
                color=DARK,
                linewidth=3,
                solid_capstyle="butt",
                zorder=3,
            )
    for side, edge, step, align in (
        (sides[0], start - 0.15, -0.09, "right"),
        (sides[1], WIDTH - end + 0.15, 0.09, "left"),
    ):
        for row, j in enumerate(side):
            style, level, x = (
                found.looks[found.curves[j]],
                y - BAR * len(bars) - LINE * (row + 0.8),
                found.means[j] - 1,
            )
            ax.plot(
                [start + x * unit] * 2 + [edge],
                [y, level, level],
                color=style.colour,
                linestyle=style.dash,
                linewidth=1.1,
            )
            face = "white" if "@" in found.curves[j] else style.colour
            ax.plot(
                edge,
                level,
                marker=style.marker or "None",
                color=style.colour,
                markerfacecolor=face,
                markersize=4.5,
            )
            ax.text(
                edge + step,
                level,
                words[j],
                ha=align,
                va="center_baseline",
                fontsize=NAME,
                color=style.colour,
            )


def _draw_axis(ax: Axes, k: int, n: int, start: float, unit: float, y: float) -> None:
    """Ranks 1 to k, and the critical difference as a length above them, no longer than the axis."""
    difference = critical_difference(k, n)
    shown = min(difference, k - 1)
    ax.plot([start, start + (k - 1) * unit], [y, y], color=DARK, linewidth=1, solid_capstyle="butt")
    for x, rank in ((start + position * unit, position + 1) for position in range(k)):
        ax.plot([x, x], [y, y + 0.06], color=DARK, linewidth=0.8)
        ax.text(x, y + 0.08, str(rank), ha="center", va="bottom", fontsize=TICK, color=DARK)
    ax.plot(
        [start, start + shown * unit],
        [y + 0.36] * 2,
        color=PALE,
        linewidth=1.2,
        marker="|",
        markersize=6,
    )
    words = f"critical difference {difference:.2f}" + (
        ", more than the axis" if difference > shown else ""
    )
    ax.text(start, y + 0.43, words, ha="left", va="bottom", fontsize=TICK, color=PALE)
