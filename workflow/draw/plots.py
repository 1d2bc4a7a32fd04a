"""Draw one figure of a paper.

Writes <figure>.png, .csv (what is drawn) and .json (the same, thinned, for interactive pages) into
figures/<scale>/<paper>/, and for print <figure>.pdf where that is asked for. The files are the same
bytes when drawn again. Substituted data are named in the small print and written across their
panels.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)
from numpy.typing import NDArray

from workflow.draw import shrink
from workflow.draw.interactive import as_json
from workflow.draw.panels import BANDS, Dots, Mark, Panel, drawn, panels_of
from workflow.draw.panels import Line as Drawn
from workflow.draw.style import (
    DPI,
    MARGIN,
    PRINTED_LINE,
    SMALL_PRINT,
    put_small_print,
    put_substituted,
    spans,
    wrapped,
)
from workflow.judge.outcomes import stood_in, unverified
from workflow.measure.metrics import OPTIMAL
from workflow.measure.store import Store
from workflow.plan.lines import FigureLine, ProfilesLine
from workflow.plan.paper import Paper
from workflow.plan.selection import figure_runs, line_of
from workflow.trace.atomic import atomic

Line = FigureLine | ProfilesLine
PAD = 0.05  # inches, around the words of a panel
BESIDE = 0.9  # inches of a panel's width that are not its axes
BESIDE_NAMES = 2.6  # the same where rows of dots have names
PALE = "#444444"
MARK = "\N{BLACK LEFT-POINTING TRIANGLE}"  # of a number that the paper prints
# how a published curve is drawn, in the colour of its method
PUBLISHED: Mapping[str, Any] = {"linewidth": 1.1, "linestyle": (0, (3, 1.5)), "zorder": 1.5}
NEAR = 0.05  # of an axis: marks that are nearer than this hide each other
WIDE = 0.05  # of a panel's height
MANY = 3  # bands of that width, from which on they are shown side by side, too
BAR = 0.02  # of a panel's width, that each then takes
TITLE, HEAD_LINE = 11.0, 0.2  # of the figure: points; inches a line
USUAL = (0.6, 0.45, 0.1, 0.3)  # inches: the margins of most panels
SHORT = 200.0  # the ratio of the ends of a short logarithmic axis
RC: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titley": 1.0,  # else each layout looks for ticks above a panel, of which there are none
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.hashsalt": "noregret",
    "pdf.fonttype": 42,
    "figure.dpi": DPI,
}


def draw(
    paper: Paper, store: Store, name: str, folder: Path, *, printed: bool = False
) -> list[Path]:
    """Write one figure as PNG, CSV, JSON and, where it is to be `printed`, PDF; returns their
    paths. Raises PlanError, BadRecord.
    """
    runs = figure_runs(paper, name)
    store.check(runs)
    panels = panels_of(paper, store, name)
    line = line_of(paper, "figures", name, FigureLine)
    note = small_print(paper, line, panels, other=store.of_other_code(runs))
    return write(paper, line, panels, note, folder, printed=printed)


def write(
    paper: Paper,
    line: Line,
    panels: Sequence[Panel],
    note: str,
    folder: Path,
    *,
    printed: bool = False,
) -> list[Path]:
    """Write panels under the name of their line in the YAML, with a small print, in the formats of
    `draw`; returns their paths.
    """
    name = line.id
    with plt.rc_context({**matplotlib.rcParamsDefault, **RC}):
        figure = _figure(panels, note, line.title)
        pictures = save(figure, folder / name, title=f"{paper.name} {name}", printed=printed)
    paths = [folder / f"{name}.{kind}" for kind in ("csv", "json")]
    with atomic(paths[0]) as temporary:
        drawn(panels).to_csv(temporary, index=False, float_format="%.9g", lineterminator="\n")
    with atomic(paths[1]) as temporary:
        temporary.write_text(as_json(line.title or name, panels), encoding="utf-8")
    return [*pictures, *paths]


def save(figure: Figure, stem: Path, *, title: str, printed: bool = False) -> list[Path]:
    """Write a figure as PNG, and as PDF, which takes longer, where it is to be `printed`; without
    the time that made it. Closes it and returns the paths.
    """
    paths = [Path(f"{stem}.png")]
    with atomic(paths[0]) as temporary:
        shrink.write(figure, temporary)
    if printed:
        paths.append(Path(f"{stem}.pdf"))
        with atomic(paths[1]) as temporary:
            figure.savefig(temporary, format="pdf", metadata={"CreationDate": None, "Title": title})
    plt.close(figure)
    return paths


def small_print(
    paper: Paper, line: Line, panels: Sequence[Panel], *, other: str = "", says: str = ""
) -> str:
    """Everything a reader must know who sees the picture alone; `other` says which records other
    code made, and `says` how what is drawn was made of them.
    """
    seeds = {n for panel in panels for n in panel.seeds}
    lengths = {n for panel in panels for n in panel.lengths}
    substitutes = sorted({said for panel in panels if (said := stood_in(panel.data))})
    real = [panel.data == "real" for panel in panels]
    late = dict.fromkeys(part for panel in panels for part in panel.timeouts)
    processors = {processor for panel in panels for processor in panel.processors}
    bands: dict[str, list[str]] = {}
    for place, panel in enumerate(panels, 1):
        bands.setdefault(BANDS[panel.options.band], []).append(str(place))
    told = [
        f"{band} in panel{'s' * (len(places) > 1)} {', '.join(places)}"
        for band, places in bands.items()
    ]
    dotted = isinstance(line, FigureLine) and line.kind == "dots"
    shown = "one dot a seed" if dotted else "; ".join(told if len(bands) > 1 else bands)
    if any(barred := [bool(_ends(panel)) for panel in panels]):
        shown += ", at the end as bars" + ("" if all(barred) else " in some panels")
    parts = [
        f"{paper.name} {line.id}",
        f"scale {paper.scale}",
        f"{_span(seeds)} {'seed' if seeds == {1} else 'seeds'}"
        + (", see above the panels" if _seeds_differ(panels) else ""),
        f"{_span(lengths)} evaluations" if lengths else "",
        _readings(panels),
        shown,
        says,
        "real data" + " in some panels" * (not all(real)) if any(real) else "",
        unverified(panel.data for panel in panels),
        _listed("SUBSTITUTE:", substitutes, "; "),
        f"MADE BY OTHER CODE: {other}" if other else "",
        # what one panel lacks stands above it
        _listed("not run:", sorted(_missing_everywhere(panels))),
        _elsewhere(paper, panels),
        _listed("an evaluation took too long in", late, "; "),
        _listed("timed on one thread of", sorted(processors)),
        _marked(panels),
        ", ".join(sorted({version for panel in panels for version in panel.versions})),
        line.note,
    ]
    return " · ".join(filter(None, parts))


def _readings(panels: Sequence[Panel]) -> str:
    """Under which reading the runs were made, or that of each panel, in their order. A panel of a
    study has none: what it was made with stands in its title.
    """
    of_runs = [panel.options for panel in panels if not panel.options.study]
    if not of_runs:
        return ""
    several = any(
        "readings" in one.model_fields_set or "@" in "".join(one.curves) for one in of_runs
    )
    names = [one.reading or ("see labels" if several else "default") for one in of_runs]
    studies = "" if len(of_runs) == len(panels) else "; those of studies: see their titles"
    if len(set(names)) > 1:
        return f"readings of the panels: {', '.join(names)}{studies}"
    return f"reading: {names[0]}{studies}"


def _listed(words: str, found: Collection[str], joint: str = ", ") -> str:
    """What is found, behind some words; nothing where nothing is."""
    return f"{words} {joint.join(found)}" if found else ""


def _elsewhere(paper: Paper, panels: Sequence[Panel]) -> str:
    """Which curves this scale leaves to others in all of its panels."""
    named = dict.fromkeys(label for panel in panels for label in panel.elsewhere)
    here = {line.label for panel in panels for line in panel.lines}
    left = [label for label in named if label not in here]
    return _listed(f"not at scale {paper.scale}:", left)


def _missing_everywhere(panels: Sequence[Panel]) -> set[str]:
    return set.intersection(*(set(panel.missing) for panel in panels)) if panels else set()


def _marked(panels: Sequence[Panel]) -> str:
    """How published numbers are drawn."""
    said = ["thin dashed lines without marks: published"] * any(panel.published for panel in panels)
    said += ["triangles at the right: published ends"] * any(panel.marks for panel in panels)
    return "; ".join(said)


def _span(numbers: set[int]) -> str:
    return f"{min(numbers)}-{max(numbers)}" if len(numbers) > 1 else str(next(iter(numbers), 0))


def _figure(panels: Sequence[Panel], small_print: str, title: str = "") -> Figure:
    """A title, all panels, one legend below them, the small print in the lower left corner."""
    across = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    down = -(-len(panels) // across)
    dotted = any(panel.dots for panel in panels)
    width = 4.1 * across if across > 1 else 5.6
    differ, nowhere = _seeds_differ(panels), _missing_everywhere(panels)
    above = [
        wrapped(
            _said_above(panel, differ=differ, nowhere=nowhere),
            width / across - (BESIDE_NAMES if panel.dots else BESIDE),
        )
        for panel in panels
    ]
    height = 0.9 + 0.24 * max(len(panel.dots) for panel in panels) if dotted else 2.9
    height += PRINTED_LINE * max(len([line for line in lines if line]) for lines in above)
    legend = _legend(panels)
    longest = max((len(str(handle.get_label())) for handle in legend), default=0)
    # inches at font size 8
    columns = max(1, min(len(legend), int(width / (0.75 + 0.065 * longest))))
    note = wrapped(small_print, width)
    note_height = 0.1 + PRINTED_LINE * len(note)
    low = note_height + 0.2 * -(-len(legend) // columns) + 0.04
    head = wrapped(title, width, TITLE) if title else []
    high = HEAD_LINE * len(head) + (MARGIN if head else 0)
    total = height * down + low + high
    figure, axes = plt.subplots(down, across, figsize=(width, total), squeeze=False)
    for panel, ax, lines in zip(panels, axes.flat, above, strict=False):
        _draw_panel(ax, panel)
        _put_above(ax, panel.title, "\n".join(lines))
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    if legend:
        figure.legend(
            handles=legend,
            loc="lower center",
            bbox_to_anchor=(0.5, note_height / total),
            ncols=columns,
            fontsize=8,
            handlelength=3.2,
            borderaxespad=0,
            borderpad=0,
            labelspacing=0.35,
        )
    if head:
        figure.text(0.5, 1 - MARGIN / total, "\n".join(head), ha="center", va="top", fontsize=TITLE)
    put_small_print(figure, note)
    _arrange(figure, axes, low, total - high)
    return figure


def _arrange(figure: Figure, axes: NDArray, low: float, high: float) -> None:
    """Give all panels (rows, columns) of a figure one size between two heights in inches, with room
    for the words around them. Layout engines do the same and take longer than all else of a figure.
    """
    margins = np.tile(USUAL, (*axes.shape, 1))
    _place(figure, axes, margins, low, high)  # ticks and their labels depend on a panel's size
    for place, ax in np.ndenumerate(axes):
        margins[place] = 0
        if ax.axison:
            around, own = ax.get_tightbbox(for_layout_only=True).extents, ax.bbox.extents
            margins[place] = np.maximum((own - around) * [1, 1, -1, -1], 0) / figure.dpi + PAD
    _place(figure, axes, margins, low, high)


def _place(figure: Figure, axes: NDArray, margins: NDArray, low: float, high: float) -> None:
    """Give all panels one size, with these margins around each: left, below, right, above."""
    (down, across), wide = axes.shape, figure.get_figwidth()
    before, after = margins.max(axis=0)[:, [0, 2]].T  # of each column
    below, above = margins.max(axis=1)[:, [1, 3]].T  # of each row
    size = np.array([wide - (before + after).sum(), high - low - (below + above).sum()])
    size = size / (across, down)
    x = np.cumsum(before + after + size[0]) - after - size[0]
    y = high - np.cumsum(below + above + size[1]) + below
    for (row, column), ax in np.ndenumerate(axes):
        inside = np.array([x[column], y[row], *size])
        ax.set_position(inside / np.tile(figure.get_size_inches(), 2))


def _legend(panels: Sequence[Panel]) -> list[Line2D]:
    """One handle per label, in the order of the first panel that has it, and one for what was
    published.
    """
    lines = {line.label: line for panel in panels for line in panel.lines}
    handles = [Line2D([], [], label=line.label, **_looks(line)) for line in lines.values()]
    if any(panel.published for panel in panels):
        handles.append(Line2D([], [], label="published", color=PALE, **PUBLISHED))
    return handles


def _looks(line: Drawn) -> dict[str, Any]:
    if line.fitted:
        return {
            "color": line.look.colour,
            "linestyle": (0, (2, 2)),
            "linewidth": 1.0,
            "alpha": 0.55,
        }
    face = "white" if line.hollow else line.look.colour
    return {
        "color": line.look.colour,
        "linestyle": line.look.dash,
        "linewidth": line.look.width,
        "marker": line.look.marker or "None",
        "markerfacecolor": face,
        "markeredgecolor": line.look.colour if line.hollow else "white",
        "markeredgewidth": 0.8 if line.hollow else 0.4,
    }


def _seeds_differ(panels: Sequence[Panel]) -> bool:
    """Whether not all curves of a figure are over the same seeds."""
    return len({line.seeds for panel in panels for line in panel.lines if line.seeds}) > 1


def _said_above(panel: Panel, *, differ: bool, nowhere: Collection[str]) -> str:
    """What belongs to the curves of one panel, in words: their seeds where those differ within the
    figure, what it lacks of what is somewhere, power laws. It stands above the panel, where it
    hides no curve.
    """
    over: dict[tuple[int, ...], list[str]] = {}
    for line in panel.lines:
        if line.seeds:
            over.setdefault(line.seeds, []).append(line.label)
    parts = []
    if differ and over:
        most = max(over, key=lambda seeds: (len(over[seeds]), len(seeds)))
        others = [f"{', '.join(labels)}: {_seeds(s)}" for s, labels in over.items() if s != most]
        shared = ", which all curves have" if panel.is_cut else ""
        parts.append("; ".join([f"{_seeds(most)}{shared}", *others]))
    missing = [label for label in panel.missing if label not in nowhere]
    if missing and (panel.lines or panel.dots):
        parts.append(f"not run: {', '.join(missing)}")
    absent = [f"{line.label} {line.absent} of {line.n}" for line in panel.lines if line.absent]
    if absent:
        unbroken = ", ".join(words.replace(" ", "\N{NO-BREAK SPACE}") for words in absent)
        parts.append(f"seeds without a feasible point: {unbroken}")
    fits = {"fitted": [(line.label, line.fitted) for line in panel.lines]}
    fits["fitted, mean over the seeds"] = [(line.label, line.law) for line in panel.lines]
    for words, laws in fits.items():
        known = [(label, law) for label, law in laws if law and not law.endswith("nan")]
        shown = [f"{label.partition(':')[0]} {law}" for label, law in known]
        parts += [f"{words}: {', '.join(shown)}"] if shown else []
    return " · ".join(parts)


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {spans(seeds)}"


def _put_above(ax: Axes, title: str, words: str) -> None:
    """The title of a panel, and small words between it and the panel."""
    lines = words.count("\n") + 1 if words else 0
    ax.set_title(title, pad=plt.rcParams["axes.titlepad"] + 72 * PRINTED_LINE * lines)
    if words:
        ax.annotate(
            words,
            (0.5, 1),
            xycoords="axes fraction",
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=SMALL_PRINT,
            color=PALE,
            linespacing=1.15,
            annotation_clip=False,
        )


def _draw_panel(ax: Axes, panel: Panel) -> None:
    options = panel.options
    ax.set_xscale(options.xscale)
    ax.set_yscale(options.yscale)
    logarithmic = options.yscale == "log"
    lines = [_positive(line) for line in panel.lines] if logarithmic else panel.lines
    for curve in panel.published:
        ax.plot(curve.x, curve.centre, color=curve.look.colour, **PUBLISHED)
    ends, shaded = _ends(panel), [] if options.bars else lines
    if ends and not shaded:  # the bars are drawn last, within the limits
        edges = np.array([edge[-1] for line in ends for edge in (line.low, line.high)])
        kept = edges[np.isfinite(edges) & ((edges > 0) | (not logarithmic))]
        ax.update_datalim([(ends[0].x[-1], edge) for edge in kept])
    for position, line in enumerate(lines):
        step = max(1, len(line.x) // 8)
        first = position * step // len(lines)
        ax.plot(line.x, line.centre, markevery=(first, step), **_looks(line))
        if shaded and np.isfinite(line.low).any():
            ax.fill_between(
                line.x,
                line.low,
                line.high,
                color=line.look.colour,
                alpha=_shade(lines),
                linewidth=0,
            )
    if panel.dots:
        _draw_dots(ax, panel.dots)
    is_empty = not panel.lines and not panel.dots  # then its axes have no numbers
    levels = {} if is_empty else panel.levels
    levels = {label: at for label, at in levels.items() if at > 0 or not logarithmic}
    for at in levels.values():
        ax.axhline(at, color="#666666", linewidth=0.8, linestyle=(0, (4, 2)))
    _draw_open_bands(ax, shaded)
    columns = 0 if is_empty else _draw_marks(ax, panel.marks)
    for label, at in levels.items():
        # right of the marks
        _put_beside(ax, textwrap.fill(label, 12), (1.01, at), columns * SMALL_PRINT, PALE)
    ax.set(xlabel=panel.xlabel, ylabel=textwrap.fill(panel.ylabel, 36))
    if options.ylim:
        ax.set_ylim(*options.ylim)
    _draw_ends(ax, ends)
    _label_logs(ax)
    if stood_in(panel.data):
        put_substituted(ax, rotation=24)
    if panel.lines and not any(
        line.absent or np.isfinite(line.centre).any() for line in panel.lines
    ):
        words = "no value in runs of this length"
        ax.text(0.5, 0.85, words, transform=ax.transAxes, ha="center", va="center", color=PALE)
    if is_empty:
        ax.set(xticks=[], yticks=[])
        ax.minorticks_off()
        words = textwrap.fill(f"not run: {', '.join(panel.missing)}", 40, break_on_hyphens=False)
        ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=PALE)


def _positive(line: Drawn) -> Drawn:
    """What a logarithmic axis can show of a curve, as a regret that is 0: nothing there, and of its
    band what lies above.
    """
    low, high = (np.where(line.high > 0, edge, np.nan) for edge in (line.low, line.high))
    return replace(line, centre=np.where(line.centre > 0, line.centre, np.nan), low=low, high=high)


def _label_logs(ax: Axes) -> None:
    """On logarithmic axes label whole decades, and mark 2 and 5 of each; on short ones label these,
    too, and on such that hold fewer than three of all some even numbers, as plain numbers.
    """
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if axis.get_scale() != "log":
            continue
        axis.set_minor_formatter(NullFormatter())
        is_short = low > 0 and high / low < SHORT
        # each tick takes time: all eight between two decades a tenth of a report's
        axis.set_minor_locator(NullLocator() if is_short else LogLocator(subs=(2, 5)))
        if is_short:
            decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
            usual = np.outer(decades, [1.0, 2.0, 5.0]).ravel()
            enough = np.sum((low <= usual) & (usual <= high)) > 2
            axis.set_major_locator(
                FixedLocator(usual.tolist()) if enough else MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
            )
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _shade(lines: Sequence[Drawn]) -> float:
    """How opaque bands are: the more curves a panel has, the less, lest they hide each other."""
    return 0.13 * min(1.0, 6 / len(lines))


def _draw_open_bands(ax: Axes, lines: Sequence[Drawn]) -> None:
    """Bands without an upper edge, up to the top of what the curves span."""
    top = ax.get_ylim()[1]
    for line in lines:
        if (opened := np.isinf(line.high) & np.isfinite(line.low)).any():
            ax.fill_between(
                line.x,
                line.low,
                top,
                where=opened.tolist(),
                color=line.look.colour,
                alpha=_shade(lines),
                linewidth=0,
            )
            ax.set_ylim(top=top)


def _ends(panel: Panel) -> list[Drawn]:
    """The curves whose bands at the last x are shown as bars side by side, too: where several are
    wide, nobody tells their edges apart. With `bars`, all of them.
    """
    is_log = panel.options.yscale == "log"
    lines = [_positive(line) if is_log else line for line in panel.lines if len(line.x)]
    last = max((line.x[-1] for line in lines), default=0.0)
    ends = [line for line in lines if line.x[-1] == last and np.isfinite(line.high[-1])]
    scaled = np.log if is_log else np.asarray
    shown = np.concatenate([scaled(line.centre) for line in lines] or [np.zeros(0)])
    span = np.ptp(shown[np.isfinite(shown)]) if np.isfinite(shown).any() else 0.0
    least = 0.0 if is_log else -np.inf
    with np.errstate(divide="ignore"):  # a band from 0 on is wide
        wide = [
            scaled(line.high[-1]) - scaled(max(line.low[-1], least)) > WIDE * span for line in ends
        ]
    return ends if sum(wide) >= MANY or panel.options.bars else []


def _draw_ends(ax: Axes, ends: Sequence[Drawn]) -> None:
    """Bands at the last x as bars beyond it, each with the marker of its curve, or dashed as one
    that has none.
    """
    if not ends:
        return
    scale = ax.xaxis.get_transform()
    bottom, top = ax.get_ylim()
    left, right = ax.get_xlim()
    begin, end, at = scale.transform([left, right, ends[0].x[-1]])
    step = BAR * (end - begin)
    for number, line in enumerate(ends, start=1):
        (x,) = scale.inverted().transform([at + (number + 0.5) * step])
        low, high = max(line.low[-1], bottom), line.high[-1]  # a logarithm has no 0
        ax.plot(
            [x, x],
            [low, high],
            color=line.look.colour,
            linewidth=1.6,
            linestyle="-" if line.look.marker else line.look.dash,
            solid_capstyle="butt",
        )
        marker = {"marker": line.look.marker or "_", "markersize": 4, "zorder": 3}
        ax.plot([x], [line.centre[-1]], **{**_looks(line), **marker})
    # no number stands below the bars
    ax.set_xticks([tick for tick in ax.get_xticks() if tick <= ends[0].x[-1]])
    (beyond,) = scale.inverted().transform([max(end, at + (len(ends) + 1.5) * step)])
    ax.set(xlim=(left, beyond), ylim=(bottom, top))


def _draw_marks(ax: Axes, marks: Sequence[Mark]) -> int:
    """The paper's numbers: triangles outside the right edge that point at their height, within
    what the axis then spans. Where some are too near each other, they stand side by side, the
    figure's first curve next to the edge. Returns in how many columns they stand.
    """
    logarithmic = ax.get_yscale() == "log"
    shown = [mark for mark in marks if mark.value > 0 or not logarithmic]
    if not shown:
        return 0
    low, high = ax.get_ylim()
    values = [mark.value for mark in shown]
    ax.set_ylim(min(low, *values), max(high, *values))
    heights = ax.transLimits.transform(
        ax.transScale.transform([(ax.get_xlim()[0], value) for value in values])
    )[:, 1]
    columns = _columns(heights)
    for mark, column in zip(shown, columns, strict=True):
        _put_beside(ax, MARK, (1, mark.value), 1 + column * SMALL_PRINT, mark.look.colour)
    return max(columns) + 1


def _put_beside(ax: Axes, words: str, at: tuple[float, float], right: float, colour: str) -> None:
    """Words so many points right of a place at the edge of a panel, where no curve is; words,
    unlike markers, are given room there.
    """
    ax.annotate(
        words,
        at,
        xycoords=("axes fraction", "data"),
        xytext=(right, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        fontsize=SMALL_PRINT,
        color=colour,
        annotation_clip=False,
    )


def _columns(heights: Iterable[float]) -> list[int]:
    """In which column each mark stands, as shares of an axis: in the first where none is near."""
    taken: list[list[float]] = []
    columns = []
    for height in heights:
        free = (
            number
            for number, others in enumerate(taken)
            if all(abs(height - other) > NEAR for other in others)
        )
        column = next(free, len(taken))
        if column == len(taken):
            taken.append([])
        taken[column].append(height)
        columns.append(column)
    return columns


def _draw_dots(ax: Axes, rows: Sequence[Dots]) -> None:
    """A row per curve from the top: a dot per seed,
    and how many of the seeds are off the optimum.
    """
    for position, row in enumerate(rows):
        shift = np.linspace(-0.28, 0.28, len(row.values)) if len(row.values) > 1 else np.zeros(1)
        ax.plot(
            row.values,
            position + shift,
            linestyle="none",
            marker=row.look.marker or ".",
            color=row.look.colour,
            markerfacecolor="white" if row.hollow else row.look.colour,
            markersize=4,
            clip_on=False,
        )
        off = int((row.values > OPTIMAL).sum())
        ax.text(
            1.01,
            position,
            f"{off}/{len(row.values)}",
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize=SMALL_PRINT,
        )
    ax.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=SMALL_PRINT)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.text(
        1.01, -0.9, "above 0", transform=ax.get_yaxis_transform(), va="bottom", fontsize=SMALL_PRINT
    )
