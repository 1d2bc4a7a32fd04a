"""Draw the best design found on a problem.

Of all evaluations of all curves, readings and seeds the best one by its true value is taken that is
feasible (all true g <= 0), or, where none is, the one that violates the constraints least, which
the picture says. Writes <picture>.png, and <picture>.gif where the picture moves.
The files are the same bytes when drawn again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from workflow.draw import shrink
from workflow.draw.drawers import Best, Picture
from workflow.draw.plots import RC
from workflow.draw.style import PRINTED_LINE, put_small_print, wrapped
from workflow.measure.metrics import best_design
from workflow.measure.store import NotRun, Store
from workflow.plan.lines import PictureLine
from workflow.plan.paper import Paper
from workflow.plan.parameters import signature
from workflow.plan.selection import line_of, picture_curves
from workflow.trace.atomic import atomic
from workflow.trace.curves import Curve, PlanError, own_parameters
from workflow.trace.seeds import with_seed

WARNING = "#B00000"
PALETTE = 64  # colours of an animation
Drawer = Callable[[Best, Mapping[str, Any]], Picture]


def draw(paper: Paper, store: Store, name: str, folder: Path) -> list[Path]:
    """Write one picture as PNG and, if it moves, as GIF; returns their paths.

    Raises PlanError, BadRecord, NotRun.
    """
    line = line_of(paper, "pictures", name, PictureLine)
    curves, drawer = picture_curves(paper, name), drawer_of(line)
    store.check(curves)
    best = best_of(store, curves)
    missing = ", ".join(curve.label for curve in curves if not store.has(curve))
    other = store.of_other_code(curves)
    paths = [folder / f"{name}.png"]
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **RC}):
        picture = drawer(best, with_seed(own_parameters(curves[0].problem_entry), best.seed))
        _put_title(picture.still, line, best)
        facts = [*picture.facts, f"MADE BY OTHER CODE: {other}" if other else ""]
        facts.append(f"not run: {missing}" if missing else "")
        note = _small_print(paper, line, best, _compared(store, curves), facts)
        _put_small_print(picture.still, note)
        with atomic(paths[0]) as temporary:
            shrink.write(picture.still, temporary)
    if picture.frames:
        paths.append(folder / f"{name}.gif")
        with atomic(paths[1]) as temporary:
            _animate(temporary, picture)
    return paths


def drawer_of(line: PictureLine) -> Drawer:
    """The function of workflow/draw/drawers that draws. Raises PlanError."""
    try:
        signature(line.is_, "workflow/draw/drawers")
    except LookupError as error:
        raise PlanError(f"picture {line.id}: `is: {line.is_}`: {error.args[0]}") from None
    module, _, function = line.is_.partition(".")
    drawer: Drawer = getattr(importlib.import_module(f"workflow.draw.drawers.{module}"), function)
    return drawer


def best_of(store: Store, curves: Sequence[Curve]) -> Best:
    """The evaluation with the least violation, among those the greatest true value, among those the
    first. Raises NotRun.
    """
    runs = [(curve, seed) for curve in curves if store.has(curve) for seed in store.seeds(curve)]
    if not runs:
        raise NotRun(
            f"expected a record of {', '.join(curve.name for curve in curves)}, found none: run the"
            " workflow first"
        )
    designs, compared = [], 0
    for run in runs:
        record = store.record(*run)
        designs.append(best_design(record))
        compared += record.rows
    first = min(range(len(runs)), key=lambda i: (designs[i].violation, -designs[i].true))
    (curve, seed), design = runs[first], designs[first]
    record = store.record(curve, seed)
    display = record.header["display"]
    return Best(
        query=design.query,
        value=float(display["sign"] * design.true),
        label=display["label"],
        unit=display["unit"],
        g=design.g,
        curve=curve.label,
        seed=seed,
        evaluation=design.row + 1,
        evaluations=record.rows,
        compared=compared,
        libraries=record.header["provenance"]["libraries"],
    )


def _put_title(figure: Figure, line: PictureLine, best: Best) -> None:
    """The title above a still, whose design it is and how good; one that is not feasible cannot be
    missed.
    """
    title, colour = line.title or f"best {best.label}", "black"
    title += f"\n{best.label} {best.quantity}, found by {best.curve} with seed {best.seed}"
    if best.violation > 0:
        title += (
            f"\nNOT FEASIBLE: the least violation in {best.compared} evaluations, none of them"
            " feasible"
        )
        colour = WARNING
    figure.suptitle(title, fontsize=10.5, color=colour)


def _compared(store: Store, curves: Sequence[Curve]) -> str:
    """Among which runs the best was looked for, in words."""
    there = {curve.label: len(store.seeds(curve)) for curve in curves if store.has(curve)}
    runs = sum(there.values())
    return f"{runs} {'run' if runs == 1 else 'runs'} of {', '.join(there)}"


def _small_print(
    paper: Paper, line: PictureLine, best: Best, compared: str, facts: Sequence[str]
) -> str:
    """Everything a reader must know who sees the picture alone."""
    chosen = (
        "best feasible"
        if best.violation == 0
        else f"least infeasible (violations sum to {best.violation:.3g})"
    )
    parts = [
        f"{paper.name} {line.id}",
        f"scale {paper.scale}",
        (
            f"{chosen} of {best.compared} evaluations in {compared}: {best.curve} seed {best.seed},"
            f" evaluation {best.evaluation} of {best.evaluations}"
        ),
        f"{best.label} {best.quantity}",
        (
            f"constraints g (feasible where <= 0): {', '.join(f'{g:.3g}' for g in best.g)}"
            if best.g.size
            else ""
        ),
        *facts,
        line.note,
    ]
    return " · ".join(filter(None, parts))


def _put_small_print(figure: Figure, small_print: str) -> None:
    """The small print below a still, on paper added there."""
    width, height = figure.get_size_inches()
    note = wrapped(small_print, width)
    low = 0.12 + PRINTED_LINE * len(note)
    total = height + low
    figure.set_size_inches(width, total)
    figure.set_layout_engine(
        ConstrainedLayoutEngine(rect=(0, low / total, 1, 1 - low / total), w_pad=0.06, h_pad=0.05)
    )
    put_small_print(figure, note)


def _animate(path: Path, picture: Picture) -> None:
    """Write the frames as a GIF without end, in the colours of its first frame."""
    images = [Image.fromarray(frame) for frame in picture.frames]
    palette = images[0].quantize(PALETTE, method=Image.Quantize.MAXCOVERAGE)
    first, *rest = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    first.save(
        path, format="GIF", save_all=True, append_images=rest, duration=1000 // picture.rate, loop=0
    )
