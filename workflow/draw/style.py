"""One colour, marker and dash per algorithm across all papers, readable in greyscale and by
colour-blind readers; small print.

A name that is not in the table gets a look derived from the name itself, so that it, too, never
changes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

# points, the smallest letters of all: 16 pixels at 160 dots an inch; inches
SMALL_PRINT, MARGIN = 7.2, 0.06
PRINTED_LINE = 0.138  # inches, a line of the small print
DPI = 160  # pixels an inch
SUBSTITUTED = "SUBSTITUTE DATA"  # what is written across what was made of such
# Okabe and Ito's palette, its yellow left out
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#8A8A8A"
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
MARKERS = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "p", "h", "*", "d")
SOLID, LONG, SHORT = (0, ()), (0, (6, 1.5)), (0, (3, 1.2))
DOTTED, DASH_DOT = (0, (1, 1.3)), (0, (6, 1.5, 1, 1.5))
DASHES = (SOLID, LONG, DASH_DOT, SHORT, DOTTED)


@dataclass(frozen=True)
class Look:
    """How one algorithm is drawn; a reading of it has the same look with hollow markers."""

    colour: str
    marker: str
    dash: tuple
    width: float = 1.4  # points


LOOKS = {
    "Global-BBKB": Look(VERMILLION, "o", SOLID),
    "GlobalLocal-BBKB": Look(BLUE, "s", SOLID),
    "BKB": Look(GREEN, "^", LONG),
    "GP-UCB": Look(BLACK, "D", DASH_DOT),
    "GP-UCB-textbook": Look("#555555", "d", SHORT),
    "GP-BUCB": Look(PURPLE, "v", LONG),
    "GP-BUCB-Lemma1": Look("#8C4A72", "<", SHORT),
    "GP-BUCB-textbook": Look("#A85C8B", ">", SHORT),
    "Async-TS": Look(ORANGE, "P", SHORT),
    "eps-greedy": Look(SKY, "X", DASH_DOT),
    "uniform": Look(GREY, "", DOTTED),
    "random-search": Look(GREY, "", DOTTED),
    "Reg-evolution": Look("#A6761D", "h", LONG),
    "Reg-evolution-async": Look("#C9A46A", "p", DASH_DOT),
    "DuMBO": Look(VERMILLION, "o", SOLID),
    "ADD-DuMBO": Look(BLUE, "s", SOLID),
    "ADD-GPUCB": Look(GREEN, "^", LONG),
    "DEC-HBO": Look(PURPLE, "v", DASH_DOT),
    "average-of-5": Look("#8C510A", "*", SHORT),
    "MS-UCB": Look(SKY, "X", SHORT),
    "SAASBO": Look(ORANGE, "P", LONG),
    "TuRBO": Look("#6A3D9A", "h", DASH_DOT),
    "LineBO": Look("#4D4D00", ">", SHORT),
    "GO-UCB": Look(VERMILLION, "o", SOLID),
    "GP-EI": Look(GREEN, "^", LONG),
    "GP-PI": Look(PURPLE, "v", SHORT),
    "LCBO": Look(VERMILLION, "o", SOLID),
    "CEI": Look(GREEN, "^", LONG),
    "EPBO": Look(PURPLE, "v", SHORT),
    "SCBO": Look(BLUE, "s", DASH_DOT),
    "HDsafeBO": Look(ORANGE, "P", LONG),
    "LogEI": Look("#882255", "p", SHORT),
    "Optuna-GP": Look("#8A8A2E", "D", LONG),
    "Optuna-TPE": Look("#8C510A", "P", DASH_DOT),
    "CMA-ES": Look(SKY, "d", DASH_DOT),
    "NGOpt": Look("#1D2F6F", "s", LONG),
}


def look(algorithm: str, variant: int = 0) -> Look:
    """The look of an algorithm's legend name; its n-th variant, where several share a panel,
    differs in all but the hue.
    """
    own = LOOKS.get(algorithm) or _derived(algorithm)
    if not variant:
        return own
    shift = MARKERS.index(own.marker) if own.marker in MARKERS else 0
    return Look(
        _lighter(own.colour, 0.17 * (variant % 5)),
        MARKERS[(shift + variant) % len(MARKERS)],
        DASHES[variant % len(DASHES)],
    )


def own_look(algorithm: str, position: int) -> Look:
    """The look of the n-th curve of an algorithm, from 0, in a panel that shows no other one: hues
    are free there.
    """
    first = look(algorithm)
    if not position:
        return first
    colours = [colour for colour in COLOURS if colour not in (first.colour, GREY)]
    markers = [marker for marker in MARKERS if marker != first.marker]
    dashes = [dash for dash in DASHES if dash != first.dash]
    n = position - 1
    return Look(colours[n % len(colours)], markers[n % len(markers)], dashes[n % len(dashes)])


def _derived(algorithm: str) -> Look:
    drawn = int.from_bytes(hashlib.sha256(algorithm.encode()).digest()[:6], "big")
    colour, rest = drawn % len(COLOURS), drawn // len(COLOURS)
    return Look(
        COLOURS[colour], MARKERS[rest % len(MARKERS)], DASHES[rest // len(MARKERS) % len(DASHES)]
    )


def _lighter(colour: str, share: float) -> str:
    """A colour moved towards white."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * share):02X}" for part in parts)


def column_look(position: int) -> Look:
    """The look of the n-th column of a study, which belongs to no algorithm."""
    return Look(
        COLOURS[position % 8], MARKERS[position % len(MARKERS)], DASHES[position // 8 % len(DASHES)]
    )


def wrapped(text: str, width: float, size: float = SMALL_PRINT) -> list[str]:
    """Words in lines that fit on paper of a width in inches; measured, since capitals are wider
    than other letters. A formula is not broken, nor what a no-break space joins.
    """
    room, space = width - 2 * MARGIN, inches(" ", size)
    lines, used = list[list[str]](), room
    for word in re.findall(r"(?:\$[^$]*\$|\S|\xa0)+", text):
        needed = inches(word, size)
        if used + space + needed > room:
            lines.append([])
            used = -space
        lines[-1].append(word)
        used += space + needed
    return [" ".join(words) for words in lines] or [""]


@cache
def inches(text: str, size: float) -> float:
    """How wide a text of a size in points is, in the files of vectors or in those of pixels,
    whichever is wider: pixels hold whole ones of a letter, so that some sizes are set wider.
    """
    font = FontProperties(size=size)
    points, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    pixels, _, _ = RendererAgg(1, 1, DPI).get_text_width_height_descent(text, font, ismath=False)
    return max(points / 72, pixels / DPI)


def spans(numbers: Iterable[int]) -> str:
    """Whole numbers in words: 0-4, 7."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def put_small_print(figure: Figure, lines: list[str]) -> None:
    """Into the lower left corner."""
    width, height = figure.get_size_inches()
    figure.text(
        MARGIN / width,
        MARGIN / height,
        "\n".join(lines),
        fontsize=SMALL_PRINT,
        color="#444444",
        va="bottom",
        ha="left",
        linespacing=1.15,
    )


def put_substituted(axes: Axes, rotation: float) -> None:
    """Across a panel, that it shows runs on data that take the place of the paper's."""
    axes.text(
        0.5,
        0.5,
        SUBSTITUTED,
        transform=axes.transAxes,
        rotation=rotation,
        ha="center",
        va="center",
        fontsize=19,
        weight="bold",
        color="#B00000",
        alpha=0.22,
        zorder=0.5,  # behind what is drawn
    )
