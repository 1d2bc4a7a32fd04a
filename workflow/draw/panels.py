"""What the panels of a figure show, as arrays: curves with bands, extrapolations, dots per seed,
columns of studies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workflow.draw.style import COLOURS, LOOKS, MARKERS, Look, column_look, look, own_look
from workflow.measure import metrics
from workflow.measure.metrics import TIME, Array, ratio_to
from workflow.measure.statistics import interval, power_law, wald, within_error
from workflow.measure.store import NotRun, Store, made_of, study_table
from workflow.plan.lines import Drawing, FigureLine, Level
from workflow.plan.paper import Paper
from workflow.plan.parameters import draws_instance
from workflow.plan.selection import curves_of_panel, panel_options, published_series
from workflow.trace.curves import Curve, algorithm_of, own_parameters

ABSCISSA = "(x)"
CONTROLS = ("random-search", "uniform")  # grey wherever they are
FAR = 1e300  # stands for infinity where numbers are interpolated
EDGES = {"ci95": interval, "wald": wald, "se": within_error}
BANDS = {
    "ci95": "mean and 95 % t interval",
    "ci95-log": "geometric mean and 95 % t interval",
    "wald": "mean and 1.96 standard errors",
    "se": "mean and one standard error",
    "iqr": "median and quartiles",
    "none": "mean",
}


@dataclass(frozen=True)
class Line:
    """One drawn curve: centre and band over x, from n seeds, 0 of a curve as it was published;
    `fitted` (as t^2.9) marks an extrapolation. `each` has the values of each seed over x, by its
    number, for pages on which these can be shown.
    """

    label: str
    look: Look
    x: NDArray
    centre: NDArray
    low: NDArray
    high: NDArray
    n: int
    fitted: str = ""
    hollow: bool = False
    seeds: tuple[int, ...] = ()  # which these are, where a curve is of runs
    law: str = ""  # a power law fitted to it, in words
    absent: int = 0  # of the n seeds end at no number
    each: Mapping[int, NDArray] = field(default_factory=dict)


@dataclass(frozen=True)
class Mark:
    """A number that the paper prints for the end of a curve."""

    label: str
    look: Look
    value: float


@dataclass(frozen=True)
class Dots:
    """One row of a dot plot: a value per seed."""

    label: str
    look: Look
    seeds: tuple[int, ...]
    values: Array
    hollow: bool = False


@dataclass(frozen=True)
class Panel:
    """What one panel shows, ready to be drawn."""

    title: str
    xlabel: str
    ylabel: str
    options: Drawing
    data: str = "none"
    lines: Sequence[Line] = ()
    dots: Sequence[Dots] = ()
    marks: Sequence[Mark] = ()
    published: Sequence[Line] = ()
    seeds: frozenset[int] = field(default_factory=frozenset)  # how many, over the curves
    lengths: frozenset[int] = field(default_factory=frozenset)
    missing: Sequence[str] = ()  # curves of which nothing was run
    elsewhere: Sequence[str] = ()  # curves that other scales run
    is_cut: bool = False  # whether seeds that not all of its curves have are left out
    timeouts: Sequence[str] = ()  # curves that lack seeds, and how many
    levels: Mapping[str, float] = field(default_factory=dict)  # horizontal lines, by label
    # of libraries that decide the values
    versions: frozenset[str] = field(default_factory=frozenset)
    processors: Sequence[str] = ()  # those that it shows seconds of


def panels_of(paper: Paper, store: Store, name: str) -> list[Panel]:
    """The panels of a figure that this scale has. Raises PlanError, BadRecords."""
    options = panel_options(paper, name)
    looks = looks_of(paper, options)
    panels = [
        _study_panel(paper, store, panel) if panel.study else _panel(paper, store, panel, looks)
        for panel in options
    ]
    of_studies = _study_looks(paper, panels)
    return [
        replace(panel, lines=[replace(line, look=of_studies[line.label]) for line in panel.lines])
        if panel.options.study
        else _named(panel)
        for panel in panels
    ]


def _named(panel: Panel) -> Panel:
    """A panel of runs whose curves have the names that the figure gives them."""
    names = panel.options.names
    lines = [replace(line, label=names.get(line.label, line.label)) for line in panel.lines]
    return replace(panel, lines=lines)


def _study_looks(paper: Paper, panels: Sequence[Panel]) -> dict[str, Look]:
    """The look of every label of the studies of a figure: that of the method which it names, as in
    all other figures, else the next one whose colour and marker no method here has.
    """
    labels = dict.fromkeys(
        line.label for panel in panels if panel.options.study for line in panel.lines
    )
    methods = {label: look(label) for label in labels if _is_method(paper, label)}
    colours = {way.colour for way in methods.values()}
    markers = {way.marker for way in methods.values()}
    ways = [column_look(position) for position in range(len(COLOURS) * len(MARKERS))]
    apart = [way for way in ways if way.colour not in colours and way.marker not in markers]
    free = iter([*apart, *ways])
    return {label: methods.get(label) or next(free) for label in labels}


def _is_method(paper: Paper, label: str) -> bool:
    """Whether a label of a study is the name of a method, of this paper or of another one."""
    return label in paper.entry["algorithms"] or label in LOOKS


def looks_of(paper: Paper, panels: Sequence[FigureLine]) -> dict[str, Look]:
    """The look of every label of a figure, one and the same in all panels, since a legend has one
    line for a label. It depends on the names in the YAML alone, not on what was run.

    An algorithm keeps its look; only where a figure compares several curves of one alone do hues
    tell them apart.
    """
    named = [(panel, label) for panel in panels for label in _curves(panel)]
    labels = list(dict.fromkeys(label for _, label in named))
    drawn = {algorithm_of(label) for label in labels}
    of_dots = any(panel.kind == "dots" for panel in panels)
    looks: dict[str, Look] = {}
    for algorithm in dict.fromkeys(map(algorithm_of, labels)):
        mine = [label for label in labels if algorithm_of(label) == algorithm]
        alone = not drawn - {algorithm, *CONTROLS} and not of_dots
        taken = set[tuple[Look, bool]]()
        for number, label in enumerate(mine):
            hollow, position = "@" in label, _position(paper, label, mine)
            own = (
                own_look(algorithm, number)
                if alone and len(mine) > 2
                else next(
                    way
                    for way in (look(algorithm, position + more) for more in range(len(mine) + 1))
                    if (way, hollow) not in taken
                )
            )
            taken.add((own, hollow))
            looks[label] = own
    return looks


def _curves(panel: FigureLine) -> list[str]:
    """The labels of a panel of runs, run or not."""
    return [] if panel.study else [*panel.curves, *panel.controls]


def _panel(paper: Paper, store: Store, panel: FigureLine, looks: Mapping[str, Look]) -> Panel:
    shown = metrics.metric(panel.metric)
    missing: list[str] = []
    lines: list[Line] = []
    dots: list[Dots] = []
    dotted = panel.kind == "dots"
    planned = curves_of_panel(paper, panel)
    here = {label for label, _ in planned}
    read: list[tuple[str, Curve, tuple[int, ...], Array]] = []
    common = frozenset[int]() if dotted else _common(paper, store, panel, planned)
    for label, curve in planned:
        try:
            read.append((label, curve, *_values(paper, store, panel, curve, common)))
        except NotRun:
            missing.append(label)
    ends = [panel.to] if panel.to else []
    ends += [values.shape[1] for *_, values in read] if panel.shortest else []
    to = min(ends, default=None)
    for label, curve, mine, values in read:
        style = looks.get(label) or look(curve.algorithm)
        hollow = bool(curve.algorithm_reading) and not panel.reading
        if dotted:
            dots.append(Dots(label, style, mine, values[:, -1], hollow))
        else:
            lines.append(_line(label, style, values[:, :to], panel, hollow, mine))
    if beyond := panel.extrapolate:
        lines += _extrapolated(lines, start=beyond.from_, to=beyond.to)
    numbers = {} if dotted else published_series(paper, panel)
    if panel.known:
        lines = [replace(line, x=line.x + panel.known) for line in lines]

    def way(label: str) -> Look:
        return looks.get(label) or look(algorithm_of(label))

    base, curves = panel.relative_to, [curve for _, curve, _, _ in read]
    ratio = f"{shown.label} / that of {base}" if base else shown.axis
    return Panel(
        title=panel.title,
        xlabel=panel.xlabel or (ratio if dotted else f"{shown.over} {shown.index}"),
        ylabel=panel.ylabel or ("" if dotted else ratio),
        options=panel,
        levels=_levels(paper, store, panel, common),
        data=made_of(map(store.data, curves)),
        lines=lines,
        dots=dots,
        marks=[
            Mark(label, way(label), one.value[0]) for label, one in numbers.items() if not one.x
        ],
        published=[
            _bare(label, way(label), np.array(one.x) + panel.known, np.array(one.value), 0)
            for label, one in numbers.items()
            if one.x
        ],
        seeds=frozenset(len(values) for *_, values in read),
        lengths=frozenset(min(curve.budget, panel.to or curve.budget) for curve in curves),
        missing=missing,
        elsewhere=[] if dotted else [label for label in _curves(panel) if label not in here],
        is_cut=any(
            len(store.seeds(curve)) > len(common) > 0 for _, curve in planned if store.has(curve)
        ),
        timeouts=[late for label, curve in planned for late in store.lacks({label: curve})],
        versions=frozenset(one for curve in curves for one in store.versions(curve)),
        processors=store.processors(curve for _, curve in planned) if shown.reads == TIME else (),
    )


def _common(
    paper: Paper, store: Store, panel: FigureLine, planned: Sequence[tuple[str, Curve]]
) -> frozenset[int]:
    """The seeds over which all curves of a panel are drawn; none where each is drawn over its own.

    Where a seed is an instance, curves over other seeds are of other problems. With fewer than two
    seeds in common each is drawn over its own all the same, and the panel says so, as it does
    where seeds are repetitions of one problem.
    """
    curves = [curve for _, curve in planned]
    if not any(map(_is_instance, curves)):
        return frozenset()
    if panel.relative_to:
        curves += [paper.curve(curve.problem_name, panel.relative_to) for curve in curves]
    there = [set(store.seeds(curve)) for curve in curves if store.has(curve)]
    common = frozenset(set.intersection(*there)) if there else frozenset[int]()
    return common if len(common) > 1 or all(common == seeds for seeds in there) else frozenset()


def _is_instance(curve: Curve) -> bool:
    """Whether a seed of a curve is an instance of its problem, or a part of its data."""
    entry = curve.problem_entry
    return draws_instance(entry["is"]) or "seed" in own_parameters(entry).values()


def _values(
    paper: Paper, store: Store, panel: FigureLine, curve: Curve, common: Collection[int]
) -> tuple[tuple[int, ...], Array]:
    """What a panel shows of a curve: its seeds, and a row of values for each. Raises NotRun."""

    def of(run: Curve) -> tuple[tuple[int, ...], Array]:
        seeds, values = store.seeds(run), store.values(run, panel.metric)
        kept = [row for row, seed in enumerate(seeds) if not common or seed in common]
        return tuple(seeds[row] for row in kept), values[kept]

    seeds, values = of(curve)
    if panel.relative_to:
        others, base = of(paper.curve(curve.problem_name, panel.relative_to))
        paired = [row for row, seed in enumerate(others) if seed in seeds]
        values = ratio_to(values, base[paired or slice(None)].mean(axis=0))
    return seeds, values


def _levels(
    paper: Paper, store: Store, panel: FigureLine, common: Collection[int] = ()
) -> dict[str, float]:
    """The horizontal lines of a panel: constants, or the median over seeds of a study's column
    where that was run; over those of the curves, where a seed is an instance.
    """
    levels = {}
    for label, level in panel.lines.items():
        if isinstance(level, Level):
            study = paper.study(level.study)
            try:
                kept = [seed for seed in store.seeds(study) if not common or seed in common]
            except NotRun:
                continue
            if not kept:
                continue
            rows = [store.column(study, seed, level.column) for seed in kept]
            level = float(np.nanmedian(np.concatenate(rows)))
        levels[label] = level
    return levels


def _position(paper: Paper, label: str, labels: Iterable[str]) -> int:
    """Which variant a curve's own name names, or which reading where several share the panel, from
    1; 0 for neither, and for a variant that is borrowed.
    """
    head, _, variant = label.partition("+")
    if variant:
        known = list(paper.entry.get("variants", {}))
        return 1 + known.index(variant) if variant in known else 0
    algorithm, _, reading = head.partition("@")
    named = [other for other in labels if other.startswith(f"{algorithm}@")]
    return 1 + named.index(label) if reading and len(named) > 1 else 0


def _line(
    label: str,
    style: Look,
    values: Array,
    panel: FigureLine,
    hollow: bool,
    seeds: tuple[int, ...],
) -> Line:
    """Centre and band over the seeds, thinned."""
    chosen = metrics.thin(values.shape[1], log=panel.xscale == "log")
    centre, low, high = _band(values[:, chosen], panel.band)
    absent = int(np.isinf(values[:, -1]).sum())
    return Line(
        label,
        style,
        chosen + 1.0,
        centre,
        low,
        high,
        len(values),
        hollow=hollow,
        seeds=seeds,
        absent=absent,
        each=dict(zip(seeds, values[:, chosen], strict=True)),
    )


def _band(values: Array, band: str) -> tuple[Array, Array, Array]:
    """Centre, lower and upper edge over the first axis; edges are NaN where there is no band."""
    none = np.full(values.shape[1], np.nan)
    if band == "iqr" and np.isinf(values).any():  # between a number and infinity lies infinity
        low, centre, high = np.quantile(
            np.where(np.isinf(values), FAR, values), [0.25, 0.5, 0.75], axis=0
        )
        beyond = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        low, centre, high = (np.where(edge > beyond, np.inf, edge) for edge in (low, centre, high))
        return np.where(np.isinf(centre), np.nan, centre), low, high
    if band == "ci95-log":
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(values > 0, np.log(values), np.nan)
        centre, low, high = (np.exp(edge) for edge in _band(logs, "ci95"))
        return centre, low, high
    empty = ~np.isfinite(values).any(axis=0)
    filled = np.where(empty, 0.0, values)
    if band == "iqr":
        # `nanquantile` is slow
        quantiles = np.nanquantile if np.isnan(filled).any() else np.quantile
        low, centre, high = quantiles(filled, [0.25, 0.5, 0.75], axis=0)
    else:
        centre = np.nanmean(filled, axis=0)
        low, high = EDGES[band](filled) if band in EDGES else (none, none)
    centre, low, high = (np.where(empty, np.nan, edge) for edge in (centre, low, high))
    return centre, low, high


def _law(panel: FigureLine, x: Array, rows: Array) -> str:
    """The mean exponent of the power laws through the part of each seed's row that the panel's
    `fit` names, as tables and verdicts have it; nothing where it names none.
    """
    if not panel.fit:
        return ""
    tail = x >= panel.fit.from_
    exponents = [power_law(x[tail], row[tail])[1] for row in rows]
    return f"{panel.x}^{np.mean(exponents):.2f}"


def _extrapolated(lines: Iterable[Line], *, start: int, to: int) -> list[Line]:
    """Power laws through the measured tails, from where a measurement ends up to the longest of the
    panel.
    """
    longest = min(to, max((line.x[-1] for line in lines), default=0))
    fitted = []
    for line in lines:
        tail = line.x >= start
        if line.x[-1] >= longest or tail.sum() < 2:
            continue
        constant, exponent = power_law(line.x[tail], line.centre[tail])
        x = np.geomspace(line.x[-1], longest, 50)
        law = _bare(f"{line.label}: fitted $t^x$", line.look, x, constant * x**exponent, line.n)
        fitted.append(replace(law, fitted=f"t^{exponent:.2f}"))
    return fitted


def _bare(label: str, style: Look, x: NDArray, centre: NDArray, n: int) -> Line:
    """A line without a band."""
    none = np.full(len(x), np.nan)
    return Line(label, style, x, centre, none, none, n)


def _study_panel(paper: Paper, store: Store, panel: FigureLine) -> Panel:
    """Columns of a study over another one, one line per column and value of `split`."""
    study = paper.study(panel.study)
    columns = [panel.y] if isinstance(panel.y, str) else panel.y
    split, names = panel.split, panel.names
    ylabel = panel.ylabel or (columns[0].replace("_", " ") if len(columns) == 1 else "")
    levels = _levels(paper, store, panel)
    whole = Panel(panel.title, panel.xlabel or panel.x, ylabel, panel, levels=levels)
    wanted = [panel.x, *columns, *([split] if split else [])]
    try:
        table, data = study_table(store, study, wanted, panel.rows), store.data(study)
    except NotRun:
        return replace(whole, missing=[study.id])
    # a copy, since a column may be drawn against itself
    table = table.assign(**{ABSCISSA: table[panel.x]})
    groups = [("", table)]
    if split:
        groups = [
            (names.get(f"{value:g}", f"{split} = {value:g}"), rows)
            for value, rows in table.groupby(split)
        ]
    lines: list[Line] = []
    for column in columns:
        for label, rows in groups:
            seeds = rows.pivot_table(index="seed", columns=ABSCISSA, values=column)
            values = seeds.to_numpy()
            centre, low, high = _band(values, panel.band)
            own = names.get(column, column.replace("_", " "))
            parts = [own, label] if len(columns) > 1 or not label else [label]
            words = ", ".join(filter(None, parts))
            x = seeds.columns.to_numpy(float)
            law = _law(panel, x, values)
            each = dict(zip(map(int, seeds.index), values, strict=True))
            style = column_look(len(lines))
            lines.append(Line(words, style, x, centre, low, high, len(seeds), law=law, each=each))
    is_timed = any(column.startswith(TIME) for column in columns)
    return replace(
        whole,
        data=data,
        lines=lines,
        seeds=frozenset([table["seed"].nunique()]),
        processors=store.processors([study]) if is_timed else (),
    )


def drawn(panels: Sequence[Panel]) -> pd.DataFrame:
    """What the figure shows, as rows."""
    names = ["panel", "curve", "kind", "x", "centre", "low", "high", "seeds", "data"]
    frames = [pd.DataFrame(columns=names)]
    for number, panel in enumerate(panels, 1):
        where = f"{number} {panel.title}".strip()
        columns = [
            {
                "curve": line.label,
                "kind": f"fitted {line.fitted}" if line.fitted else "measured",
                "seeds": line.n,
                **{name: getattr(line, name) for name in ("x", "centre", "low", "high")},
            }
            for line in panel.lines
        ]
        columns += [
            {
                "curve": row.label,
                "kind": "seed",
                "seeds": len(row.seeds),
                "x": row.seeds,
                "centre": row.values,
            }
            for row in panel.dots
        ]
        frames += [pd.DataFrame({**one, "panel": where, "data": panel.data}) for one in columns]
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled).reindex(columns=names) if filled else frames[0]
