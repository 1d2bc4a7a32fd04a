"""Draw the specification curve of each claim: `python -m workflow.specification PAPER [--scale S]
[-o DIR]` reads certificate.json and writes specifications/CLAIM.png beside it.

Above, the effect of the claim's weakest comparison with its interval, as printed and under every
reading that has a number, sorted; its colour and marker say what it comes to. A wide bar has the
quartiles, where ranks decide; a thin one the 95 % interval of a mean. An infinite effect is an
arrow at the edge of the axis. Below, which reading that is, grouped by axes, and which comparison
is the weakest there, where that is not always the same one. Substituted data are named in the small
print and written across the curve. The folder is written anew each time, and may be empty.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from workflow.draw.style import (
    BLUE,
    GREY,
    MARGIN,
    ORANGE,
    PRINTED_LINE,
    SKY,
    VERMILLION,
    inches,
    put_small_print,
    put_stand_in,
    wrapped,
)
from workflow.judge.checks import BY_RANK, OF_ROWS
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    INCONCLUSIVE,
    NO_NUMBER,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
)
from workflow.plan.exhibits import SPECIFICATIONS
from workflow.trace.atomic import atomic

PRINTED = "as printed"  # what the default specification is called
OTHERS = "others:"  # the head of the readings that are alone on their axes
WIDTH = 8.0  # inches; 880 pixels
# inches: a line of the matrix; above the title and for the legend below it; curve; margin
ROW, TOP, PLOT, BOTTOM = 0.19, 0.36, 2.3, 0.16
KEY = 0.16  # inches, a line of the legend below its first
MORE = 0.13  # inches, a line of a label below its first
TITLE, TITLE_LINE = 8.5, 0.15  # points; inches
LABEL = 7.5  # points
HANDLE, GAP = 1.6, 1.2  # of the legend, in letters: a handle, and between two entries
# points: bars of intervals and of quartiles; how opaque the latter are
THIN, BROAD, PALE = 1.6, 7.0, 0.4
LEFT, ASIDE = (1.3, 4.0), 0.15  # inches: the least and the most for labels, what of it is free
EDGE = 0.05  # of the height of the axis, between its edge and the mark of an infinite effect
EVALUATION = "median evaluation"  # a kind of effect that is never below zero
# what a label tells of the numbers of one reading: not part of what is compared
NUMBERS = re.compile(r": \d+ of \d+ seeds$| within -?[\d.]+(e[+-]?\d+)?$| \(our spread [^)]*\)$")
WIDE = 300.0  # ratio of effects beyond which the axis is logarithmic on both sides of zero
DECADES = 4  # powers of ten that are named on each side of zero
LOOKS = {  # what is observed: colour and marker, which differ in shape and in grey, too
    REPRODUCED: (BLUE, "o"),
    DIRECTION: (SKY, "s"),
    INCONCLUSIVE: (ORANGE, "D"),
    CONTRADICTED: (VERMILLION, "X"),
    NO_NUMBER: (GREY, "v"),
}
RC: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 110,
    "figure.dpi": 100,
}


@dataclass(frozen=True)
class Point:
    """One specification with a number, which may be infinite: its interval, borders, and the look
    of its outcome.
    """

    names: tuple[str, ...]
    axis: tuple[str, ...]
    what: str
    kind: str
    effect: float
    low: float
    high: float
    borders: tuple[float, ...]
    observed: str
    decides: bool

    @property
    def is_default(self) -> bool:
        return not self.axis

    @property
    def is_ranked(self) -> bool:
        """Whether it is a median with its quartiles, which ranks decide; else a mean, or a row."""
        return BY_RANK in self.kind

    @property
    def ends(self) -> tuple[float, float, float]:
        """The interval with the effect in it."""
        return self.low, self.effect, self.high


def points(claim: Mapping[str, Any]) -> tuple[list[Point], list[str]]:
    """The specifications of a claim of certificate.json that have a number, by rising effect, and
    the names of the others; controls are no readings of the paper, and left out.
    """
    found, left = [], []
    for spec in _of_the_paper(claim):
        seen = spec["weakest"]
        # where a run is missing, the weakest of the others may not be that of the claim
        was_run = spec["counts_as"] != NOT_RUN
        if not was_run or seen is None or (effect := _shown(seen)) is None:
            if not (was_run and _is_unplaced(seen)):
                left.append(_name(spec))
            continue
        low, high = _ends(seen, effect)
        found.append(
            Point(
                tuple(spec["names"]),
                tuple(spec["axis"]),
                seen["what"],
                seen["kind"],
                effect,
                low,
                high,
                tuple(seen["borders"]),
                spec["observed"],
                spec["counts_as"] != UNDECIDED,
            )
        )
    named = _named_alike([point.what for point in found])
    found = [replace(point, what=named[point.what]) for point in found]
    return sorted(found, key=lambda point: (point.effect, point.names)), left


def unplaced(claim: Mapping[str, Any]) -> list[str]:
    """The specifications whose number is infinite and has no place on the axis, each with what it
    comes to.
    """
    return [
        f"{_name(spec)} ({spec['observed']})"
        for spec in _of_the_paper(claim)
        if spec["counts_as"] != NOT_RUN
        and _is_unplaced(spec["weakest"])
        and _shown(spec["weakest"]) is None
    ]


def _of_the_paper(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The specifications of a claim that are no controls."""
    return [spec for spec in claim["specifications"] if not spec.get("control")]


def _is_unplaced(seen: Mapping[str, Any] | None) -> bool:
    """Whether a comparison that is not drawn has a number: by rank without one, it is infinite; a
    statement about every row has a share of them.
    """
    if seen is None:
        return False
    return BY_RANK in seen["kind"] or (
        seen["kind"].startswith(OF_ROWS) and seen["effect"] is not None
    )


def _name(spec: Mapping[str, Any]) -> str:
    return str(spec["names"][0]) if spec["axis"] else PRINTED


def _named_alike(whats: Sequence[str]) -> dict[str, str]:
    """Each label of a comparison, and that under which it is named: those that differ only in the
    numbers of their readings are of one comparison.
    """
    alike = {what: NUMBERS.sub("", what) for what in whats}
    several = {
        plain for plain in alike.values() if len({w for w in alike if alike[w] == plain}) > 1
    }
    return {what: plain if plain in several else what for what, plain in alike.items()}


def _shown(seen: Mapping[str, Any]) -> float | None:
    """Where a comparison is drawn: at its effect. Of a statement about every row, whose interval is
    that of the values seen, at the end of these that is nearest to a border, or farthest beyond it.

    Infinity is null in the file. By rank an effect without a number is infinite; a finite end of
    its interval tells on which side, and an evaluation that never comes is late.
    """
    ends = [seen["low"], seen["high"]]
    if BY_RANK in seen["kind"] and seen["effect"] is None:
        if ends == [None, None]:
            return math.inf if seen["kind"].startswith(EVALUATION) else None
        return math.inf if seen["high"] is None else -math.inf
    if not seen["kind"].startswith(OF_ROWS) or None in ends or not seen["borders"]:
        return None if seen["kind"].startswith(OF_ROWS) else seen["effect"]
    borders = seen["borders"]
    middle = (borders[0] + borders[-1]) / 2 if len(borders) > 1 else None
    if middle is not None:
        return max(ends, key=lambda end: abs(end - middle))
    return min(ends, key=lambda end: abs(end - borders[0]))


def _ends(seen: Mapping[str, Any], effect: float) -> tuple[float, float]:
    """The interval of a comparison. By rank, null is infinite; else there is none, and it ends at
    the effect.
    """
    is_ranked = BY_RANK in seen["kind"] and math.isfinite(effect)
    ends = (-math.inf, math.inf) if is_ranked else (effect, effect)
    low, high = (
        end if seen[key] is None else seen[key]
        for key, end in zip(("low", "high"), ends, strict=True)
    )
    return low, high


def draw(claim: Mapping[str, Any], path: Path, paper: str) -> bool:
    """Write the curve of one claim as PNG; whether there is one: it takes two specifications."""
    found, left = points(claim)
    if len(found) < 2:
        return False
    with plt.rc_context({**matplotlib.rcParamsDefault, **RC}):
        figure = _figure(claim, found, left, paper)
        with atomic(path) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": None})
        plt.close(figure)
    return True


def _figure(
    claim: Mapping[str, Any], found: Sequence[Point], left: Sequence[str], paper: str
) -> Figure:
    rows = [(_lines(label), dots) for label, dots in _rows(found)]
    small = wrapped(_small_print(claim, found, left), WIDTH)
    title = wrapped(f"{paper}, {claim['where']}: {claim['says']}", WIDTH, TITLE)
    widest = max(inches(line, LABEL) for lines, _ in rows for line in lines)
    labels = max(LEFT[0], min(LEFT[1], ASIDE + widest))
    bottom = BOTTOM + PRINTED_LINE * len(small)
    matrix = sum(_tall(lines) for lines, _ in rows)
    keys = _handles(found)
    columns = _columns([str(key.get_label()) for key in keys])
    top = TOP + KEY * (-(-len(keys) // columns) - 1) + TITLE_LINE * len(title)
    height = top + PLOT + 0.12 + matrix + bottom
    figure = plt.figure(figsize=(WIDTH, height))
    width = (WIDTH - labels - 0.2) / WIDTH
    above = figure.add_axes(
        (labels / WIDTH, (bottom + matrix + 0.12) / height, width, PLOT / height)
    )
    below = figure.add_axes((labels / WIDTH, bottom / height, width, matrix / height))
    _curve(above, claim, found)
    above.legend(
        handles=keys,
        loc="lower left",
        bbox_to_anchor=(-above.get_position().x0 / above.get_position().width, 1.0),
        ncols=columns,
        frameon=False,
        fontsize=LABEL,
        borderpad=0.1,
        handlelength=HANDLE,
        columnspacing=GAP,
    )
    if claim.get("stand_in"):
        put_stand_in(above, 0.5, 0.5, rotation=12, transform=above.transAxes)
    _matrix(below, rows, len(found))
    figure.text(
        0.1 / WIDTH, 1 - 0.08 / height, "\n".join(title), va="top", fontsize=TITLE, linespacing=1.2
    )
    put_small_print(figure, small)
    return figure


def _rows(found: Sequence[Point]) -> list[tuple[str, list[int]]]:
    """The lines of the matrix, from above: a label, and in which columns there is a dot: in none
    for a head. An axis with several alternatives has one; what is alone on its axis follows these,
    under a head of its own, so that it is not taken for one more of their alternatives.
    """
    named = [(at, point) for at, point in enumerate(found)]
    rows = [(PRINTED, [at]) for at, point in named if point.is_default]
    axes = dict.fromkeys(point.axis for point in found if not point.is_default)
    alone: list[tuple[str, list[int]]] = []
    for axis in axes:
        here = [(" = ".join(point.names), [at]) for at, point in named if point.axis == axis]
        if len(here) > 1:
            rows += [(_axis(axis), []), *here]
        else:
            alone += here
    is_grouped = any(not dots for _, dots in rows)
    rows += [(OTHERS, [])] * (is_grouped and bool(alone)) + alone
    whats = list(dict.fromkeys(point.what for point in found))
    if len(whats) > 1:
        rows.append(("weakest comparison:", []))
        rows += [(what, [at for at, point in named if point.what == what]) for what in whats]
    return rows


def _axis(axis: Sequence[str]) -> str:
    more = f" and {len(axis) - 1} more" if len(axis) > 1 else ""
    return f"{axis[0].removeprefix('@')}{more}:"


def _curve(axes: Axes, claim: Mapping[str, Any], found: Sequence[Point]) -> None:
    for at, point in enumerate(found):
        colour, _ = LOOKS.get(point.observed, LOOKS[NO_NUMBER])
        if point.is_default:
            axes.axvspan(at - 0.5, at + 0.5, color="#EFEFEF", lw=0, zorder=0)
        if known := [y for y in point.ends if math.isfinite(y)]:
            axes.plot([at, at], [min(known), max(known)], color=colour, **_bar(point))
        for border in point.borders:
            axes.plot([at - 0.5, at + 0.5], [border, border], color="black", lw=1.1, zorder=1)
    axes.set_xlim(-0.5, len(found) - 0.5)
    axes.set_xticks([])
    values = [abs(v) for p in found for v in (p.effect, *p.borders) if v and math.isfinite(v)]
    if values and max(values) > WIDE * min(values):
        least = max(min(values), max(values) / 1e6)
        axes.set_yscale("symlog", linthresh=least)
        axes.yaxis.set_major_locator(FixedLocator(_ticks(least, max(values))))
        axes.yaxis.set_minor_locator(NullLocator())
    is_endless = any(math.isinf(end) for point in found for end in point.ends)
    axes.margins(y=0.16 if is_endless else 0.08)
    _marks(axes, found)
    axes.grid(axis="y", color="#E6E6E6", lw=0.6)
    axes.set_axisbelow(True)
    axes.set_ylabel(_label(claim, found), fontsize=TITLE)


def _bar(point: Point) -> dict[str, Any]:
    """How the bar of a specification is drawn: wide and pale as a box of quartiles, or thin."""
    if point.is_ranked:
        return {"lw": BROAD, "alpha": PALE, "solid_capstyle": "butt", "zorder": 2}
    return {"lw": THIN, "zorder": 2}


def _handles(found: Sequence[Point]) -> list[Line2D]:
    """The legend: the outcomes that are there, and what the signs beside them are."""
    there = dict.fromkeys(point.observed for point in found)
    handles = [
        Line2D([], [], color=LOOKS[name][0], marker=LOOKS[name][1], lw=THIN, label=name)
        for name in LOOKS
        if name in there
    ]
    if not all(point.decides for point in found):
        handles.append(
            Line2D([], [], color=GREY, marker="o", mfc="white", lw=0, label="may not decide")
        )
    if any(math.isinf(end) for point in found for end in point.ends):
        handles.append(Line2D([], [], color=GREY, marker="^", ms=4, lw=0, label="to infinity"))
    if _is_mixed(found):
        box = Line2D([], [], color=GREY, lw=BROAD, alpha=PALE, label="by rank: median, quartiles")
        box.set_solid_capstyle("butt")
        handles.append(box)
    handles.append(Line2D([], [], color="black", lw=1.1, label="border of the claim"))
    return handles


def _is_mixed(found: Sequence[Point]) -> bool:
    """Whether ranks decide some of the points alone."""
    return len({point.is_ranked for point in found}) > 1


def _columns(labels: Sequence[str]) -> int:
    """In how many columns a legend fits on the paper; it is filled column by column, and the first
    ones are the longer ones.
    """
    letter = LABEL / 72
    beside = (HANDLE + 0.8 + GAP) * letter  # a handle, its distance from the words, the next entry
    widths = [inches(label, LABEL) + beside for label in labels]
    for columns in range(len(labels), 1, -1):
        if sum(map(max, np.array_split(widths, columns))) <= WIDTH:
            return columns
    return 1


def _marks(axes: Axes, found: Sequence[Point]) -> None:
    """A mark at each effect. What is infinite goes on to the edge of what the axis then spans, an
    arrow there; the mark of an infinite effect is beside it.
    """
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top)
    share = axes.get_xaxis_transform()  # whose heights are shares of the axis
    for at, point in enumerate(found):
        colour, marker = LOOKS.get(point.observed, LOOKS[NO_NUMBER])
        known = [y for y in point.ends if math.isfinite(y)]
        for end in set(point.ends) - set(known):
            edge, arrow, place = (top, "^", 1.0) if end > 0 else (bottom, "v", 0.0)
            if known:
                start = max(known) if end > 0 else min(known)
                axes.plot([at, at], [start, edge], color=colour, **_bar(point))
            axes.plot([at], [place], arrow, color=colour, ms=4, transform=share, clip_on=False)
        is_finite, place = math.isfinite(point.effect), EDGE if point.effect < 0 else 1 - EDGE
        axes.plot(
            [at],
            [point.effect if is_finite else place],
            marker,
            color=colour,
            mfc=colour if point.decides else "white",
            mew=1.2,
            ms=6.5,
            zorder=3,
            transform=axes.transData if is_finite else share,
        )


def _ticks(least: float, most: float) -> list[float]:
    """Zero and at most DECADES powers of ten on each side of it, none in the linear part."""
    first, last = math.ceil(math.log10(3 * least)), math.floor(math.log10(most))
    powers = range(last, first - 1, -max(1, math.ceil((last - first + 1) / DECADES)))
    return [0.0, *(sign * 10.0**power for power in powers for sign in (1, -1))]


def _label(claim: Mapping[str, Any], found: Sequence[Point]) -> str:
    """What is drawn, in lines: the kind of the effect, both where it is of means and of medians,
    and of what, with its unit.
    """
    plain = list(
        dict.fromkeys(
            point.kind.removeprefix(f"{OF_ROWS}, ").removesuffix(f" {BY_RANK}")
            for point in sorted(found, key=lambda point: point.is_ranked)
        )
    )
    has_unit = all("difference" in kind or kind == "value" for kind in plain)
    unit = f" ({claim['unit']})" if claim["unit"] and has_unit else ""
    kind = " or ".join(plain)
    if plain == ["difference", "median difference"]:
        kind = "mean or median difference"
    lines = [wrapped(words, PLOT, TITLE) for words in (kind, f"{claim['quantity']}{unit}")]
    return "\n".join(line for part in lines for line in part)


def _lines(label: str) -> list[str]:
    """A label in lines that its column has room for; a word that is wider is cut."""
    room = LEFT[1] - ASIDE
    return [_cut(line, room) for line in wrapped(label, room + 2 * MARGIN, LABEL)]


def _tall(lines: Sequence[str]) -> float:
    """Inches that a line of the matrix takes with a label of so many lines."""
    return ROW + MORE * (len(lines) - 1)


def _matrix(axes: Axes, rows: Sequence[tuple[Sequence[str], list[int]]], columns: int) -> None:
    """Dots under the curve; the axis is in inches, as labels of several lines are taller."""
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(sum(_tall(lines) for lines, _ in rows), 0)
    below = 0.0
    for lines, dots in rows:
        row, below = below + _tall(lines) / 2, below + _tall(lines)
        is_head = not dots
        axes.text(
            -0.01,
            row,
            "\n".join(lines),
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=LABEL,
            color="#666666" if is_head else "black",
            style="italic" if is_head else "normal",
        )
        if not is_head:
            axes.axhline(row, color="#E6E6E6", lw=0.6, zorder=0)
            axes.plot(dots, [row] * len(dots), "o", color="black", ms=4)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _cut(label: str, width: float) -> str:
    """As much of a label as a width in inches has room for."""
    if inches(label, LABEL) <= width:
        return label
    letters = range(1, len(label))
    return f"{label[: bisect_right(letters, width, key=lambda n: inches(f'{label[:n]}…', LABEL))]}…"


def _small_print(claim: Mapping[str, Any], found: Sequence[Point], left: Sequence[str]) -> str:
    """What the curve shows, and what it lacks."""
    of_rows = found[0].kind.startswith(OF_ROWS)
    substitute = claim.get("stand_in", "")
    said = [f"SUBSTITUTE: {substitute}."] if substitute else []
    said += [f"Grey: {PRINTED}."] if any(point.is_default for point in found) else []
    if of_rows:
        said.append(
            "Bars: the least and the greatest value seen; the mark is at the end that decides."
        )
    elif _is_mixed(found):
        said.append(
            "Thin bars: means with 95 % intervals. Wide bars: medians with quartiles, where some"
            " values are infinite and ranks decide."
        )
    elif found[0].is_ranked:
        said.append("Marks and bars: median and quartiles.")
    else:
        said.append("Bars: 95 % intervals.")
    whats = {point.what for point in found}
    said.append(
        "Of several comparisons the weakest is drawn, named below."
        if len(whats) > 1
        else f"Weakest comparison: {found[0].what}."
    )
    if left:
        said.append(f"Left out, not run or without a number: {', '.join(left)}.")
    if others := unplaced(claim):
        said.append(f"Infinite, without a place on the axis: {', '.join(others)}.")
    said.append(str(claim["sentence"]))
    return " ".join(said)


def write(certificate: Path, folder: Path) -> list[Path]:
    """Draw all curves of a certificate.json into a folder that is made anew; returns the paths."""
    told = json.loads(certificate.read_text(encoding="utf-8"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = [(claim, folder / f"{claim['id']}.png") for claim in told["claims"]]
    return [path for claim, path in paths if draw(claim, path, told["paper"])]


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="python -m workflow.specification", description=__doc__)
    options.add_argument("paper")
    options.add_argument("--scale", default="quick")
    options.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: figures/SCALE/PAPER"
    )
    chosen = options.parse_args(arguments)
    folder = chosen.output or Path("figures", chosen.scale, chosen.paper)
    certificate = folder / "certificate.json"
    if not certificate.exists():
        again = f"run `python -m workflow.certificate {chosen.paper} --scale {chosen.scale}`"
        print(f"error: expected {certificate}, found none: {again}", file=sys.stderr)
        return 1
    paths = write(certificate, folder / SPECIFICATIONS)
    print(f"wrote {len(paths)} curves into {folder / SPECIFICATIONS}", file=sys.stderr)
    return 0
