"""Draw the specification curve of each claim: `python -m workflow.specification PAPER [--scale S]
[-o DIR]` reads certificate.json and writes specifications/CLAIM.png beside it.

Above, the effect of the claim's weakest comparison with its interval, as printed and under every
reading that has a number, sorted; its colour and marker say what it comes to. Below, which reading
that is, grouped by axes, and which comparison is the weakest there, where that is not always the
same one. The folder is written anew each time, and may be empty.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from workflow.draw.style import BLUE, GREY, ORANGE, SKY, VERMILLION, put_small_print, wrapped
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
WIDTH = 8.0  # inches; 1280 pixels
ROW, TOP, PLOT, BOTTOM = 0.19, 0.62, 2.3, 0.16  # inches: a line of the matrix; title; curve; margin
LETTER = 0.066  # inches that a letter of a label takes
LEFT = (1.3, 3.4)  # inches: the least and the most for labels
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
    """One specification with a number: its interval, borders, and the look of its outcome."""

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


def points(claim: Mapping[str, Any]) -> tuple[list[Point], list[str]]:
    """The specifications of a claim of certificate.json that have a finite number, by rising
    effect, and the names of the others.
    """
    found, left = [], []
    for spec in claim["specifications"]:
        seen = spec["weakest"]
        # where a run is missing, the weakest of the others may not be that of the claim
        was_run = spec["counts_as"] != NOT_RUN
        if not was_run or seen is None or (effect := _shown(seen)) is None:
            left.append(spec["names"][0] if spec["axis"] else PRINTED)
            continue
        low, high = (effect if seen[key] is None else seen[key] for key in ("low", "high"))
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
    return sorted(found, key=lambda point: (point.effect, point.names)), left


def _shown(seen: Mapping[str, Any]) -> float | None:
    """Where a comparison is drawn: at its effect. Of a statement about every row, whose interval is
    that of the values seen, at the end of these that is nearest to a border, or farthest beyond it.
    """
    ends = [seen["low"], seen["high"]]
    if not seen["kind"].startswith(OF_ROWS) or None in ends or not seen["borders"]:
        return None if seen["kind"].startswith(OF_ROWS) else seen["effect"]
    borders = seen["borders"]
    middle = (borders[0] + borders[-1]) / 2 if len(borders) > 1 else None
    if middle is not None:
        return max(ends, key=lambda end: abs(end - middle))
    return min(ends, key=lambda end: abs(end - borders[0]))


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
    rows = _rows(found)
    small = wrapped(_small_print(claim, found, left), WIDTH)
    labels = max(LEFT[0], min(LEFT[1], 0.15 + LETTER * max(len(label) for label, _ in rows)))
    bottom = BOTTOM + 0.115 * len(small)
    matrix = ROW * len(rows)
    height = TOP + PLOT + 0.12 + matrix + bottom
    figure = plt.figure(figsize=(WIDTH, height))
    width = (WIDTH - labels - 0.2) / WIDTH
    above = figure.add_axes(
        (labels / WIDTH, (bottom + matrix + 0.12) / height, width, PLOT / height)
    )
    below = figure.add_axes((labels / WIDTH, bottom / height, width, matrix / height))
    _curve(above, claim, found)
    _matrix(below, rows, len(found))
    title = "\n".join(_wrapped_title(f"{paper}, {claim['where']}: {claim['says']}"))
    figure.text(0.1 / WIDTH, 1 - 0.08 / height, title, va="top", fontsize=8.5)
    put_small_print(figure, small)
    return figure


def _wrapped_title(text: str) -> list[str]:
    """At most two lines."""
    lines = wrapped(text, WIDTH * 0.73)
    return lines if len(lines) <= 2 else [lines[0], lines[1] + " ..."]


def _rows(found: Sequence[Point]) -> list[tuple[str, list[int]]]:
    """The lines of the matrix, from above: a label, and in which columns there is a dot: in none
    for the head of an axis with several alternatives.
    """
    named = [(at, point) for at, point in enumerate(found)]
    rows = [(PRINTED, [at]) for at, point in named if point.is_default]
    axes = dict.fromkeys(point.axis for point in found if not point.is_default)
    for axis in axes:
        here = [(" = ".join(point.names), [at]) for at, point in named if point.axis == axis]
        rows += [(_axis(axis), [])] * (len(here) > 1) + here
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
        colour, marker = LOOKS.get(point.observed, LOOKS[NO_NUMBER])
        if point.is_default:
            axes.axvspan(at - 0.5, at + 0.5, color="#EFEFEF", lw=0, zorder=0)
        axes.plot([at, at], [point.low, point.high], color=colour, lw=1.6, zorder=2)
        axes.plot(
            [at],
            [point.effect],
            marker,
            color=colour,
            mfc=colour if point.decides else "white",
            mew=1.2,
            ms=6.5,
            zorder=3,
        )
        for border in point.borders:
            ends = [at - 0.5, at + 0.5]
            axes.plot(ends, [border, border], color="black", lw=1.1, zorder=1)
    axes.set_xlim(-0.5, len(found) - 0.5)
    axes.set_xticks([])
    values = [abs(v) for p in found for v in (p.effect, *p.borders) if v]
    if values and max(values) > WIDE * min(values):
        least = max(min(values), max(values) / 1e6)
        axes.set_yscale("symlog", linthresh=least)
        axes.yaxis.set_major_locator(FixedLocator(_ticks(least, max(values))))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.margins(y=0.08)
    axes.grid(axis="y", color="#E6E6E6", lw=0.6)
    axes.set_axisbelow(True)
    axes.set_ylabel(_label(claim, found[0].kind), fontsize=8.5)
    there = dict.fromkeys(point.observed for point in found)
    handles = [
        Line2D([], [], color=LOOKS[name][0], marker=LOOKS[name][1], lw=1.6, label=name)
        for name in LOOKS
        if name in there
    ]
    if not all(point.decides for point in found):
        handles.append(
            Line2D([], [], color=GREY, marker="o", mfc="white", lw=0, label="may not decide")
        )
    handles.append(Line2D([], [], color="black", lw=1.1, label="border of the claim"))
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(-axes.get_position().x0 / axes.get_position().width, 1.0),
        ncols=len(handles),
        frameon=False,
        fontsize=7.5,
        borderpad=0.1,
        handlelength=1.6,
        columnspacing=1.2,
    )


def _ticks(least: float, most: float) -> list[float]:
    """Zero and at most DECADES powers of ten on each side of it, none in the linear part."""
    first, last = math.ceil(math.log10(3 * least)), math.floor(math.log10(most))
    powers = range(last, first - 1, -max(1, math.ceil((last - first + 1) / DECADES)))
    return [0.0, *(sign * 10.0**power for power in powers for sign in (1, -1))]


def _label(claim: Mapping[str, Any], kind: str) -> str:
    """What is drawn, in two lines: the kind of the effect, and of what, with its unit."""
    plain = kind.removeprefix(f"{OF_ROWS}, ").removesuffix(f" {BY_RANK}")
    has_unit = "difference" in plain or plain == "value"
    unit = f" ({claim['unit']})" if claim["unit"] and has_unit else ""
    lines = wrapped(f"{claim['quantity']}{unit}", 1.75)
    return "\n".join([plain, *lines])


def _matrix(axes: Axes, rows: Sequence[tuple[str, list[int]]], columns: int) -> None:
    """Dots under the curve."""
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    longest = round((LEFT[1] - 0.15) / LETTER)
    for row, (label, dots) in enumerate(rows):
        is_head = not dots
        text = label if len(label) <= longest else f"{label[: longest - 1]}…"
        axes.text(
            -0.01,
            row,
            text,
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=7.5,
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


def _small_print(claim: Mapping[str, Any], found: Sequence[Point], left: Sequence[str]) -> str:
    """What the curve shows, and what it lacks."""
    of_rows = found[0].kind.startswith(OF_ROWS)
    said = [f"Grey: {PRINTED}."] if any(point.is_default for point in found) else []
    if of_rows:
        said.append(
            "Bars: the least and the greatest value seen; the mark is at the end that decides."
        )
    elif BY_RANK in found[0].kind:
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
