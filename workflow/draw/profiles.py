"""Draw data profiles.

Writes <profile>.png, .csv, .json and, for print, .pdf, as for figures: the share of targets that
each curve has reached (More and Wild, SIAM J. Optim. 20, 2009), over the evaluations after the
initial design or over the CPU seconds of the algorithm.

An instance is a problem with a seed. There f_0 is the value from which the curves start, the best
feasible one of the initial design, and f_L the least feasible one that any of them finds within the
budget. A curve has reached target tau once its best feasible value is at most
f_L + tau (f_0 - f_L).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow.draw.panels import Line, Panel
from workflow.draw.plots import small_print, write
from workflow.draw.style import look
from workflow.measure.metrics import Array
from workflow.measure.statistics import interval
from workflow.measure.store import Store, made_of
from workflow.plan.lines import Drawing, ProfilePanel, ProfilesLine
from workflow.plan.paper import Paper
from workflow.plan.selection import line_of, profile_panels, profile_runs
from workflow.trace.curves import Curve, algorithm_of

POINTS = 201  # of the axis
AXES = {
    "evaluations": "evaluations after the initial design, share of the budget",
    "seconds": "CPU time of the algorithm (s)",
}
SAYS = (
    "share of problems x targets; a target is a share {targets} of what separates the best point of"
    " the initial design from the best that any curve of the panel finds with that seed; without a"
    " feasible point no target is reached"
)
Curves = Mapping[str, Mapping[str, Curve]]


def draw(
    paper: Paper, store: Store, name: str, folder: Path, *, printed: bool = False
) -> list[Path]:
    """Write one line of profiles as a figure is written; returns the paths.

    Raises PlanError, BadRecord.
    """
    line, runs = line_of(paper, "profiles", name, ProfilesLine), profile_runs(paper, name)
    store.check(runs)
    panels = [profile(store, line, own, curves) for own, curves in profile_panels(paper, line)]
    shares = ", ".join(f"{target:g}" for target in line.targets)
    other, says = store.of_other_code(runs), SAYS.format(targets=shares)
    note = small_print(paper, line, panels, other=other, says=says)
    return write(paper, line, panels, note, folder, printed=printed)


def profile(store: Store, line: ProfilesLine, panel: ProfilePanel, planned: Curves) -> Panel:
    """One panel, over the curves that were run on all its problems and the seeds that they share.

    `planned` has the same curves for each problem.
    """
    run = [
        label
        for label in panel.curves
        if all(label in curves and store.has(curves[label]) for curves in planned.values())
    ]
    kept = [curves[label] for curves in planned.values() for label in run]
    seeds = sorted(set.intersection(*(set(store.seeds(curve)) for curve in kept))) if kept else []
    is_timed = line.over == "seconds"
    reached = np.array(
        [
            _reached(store, [curves[label] for label in run], seeds, line.targets, is_timed)
            for curves in (planned.values() if seeds else ())
        ]
    )
    x = _axis(reached) if is_timed else np.linspace(0, 1, POINTS)
    lines = [
        _line(label, x, reached[:, number], seeds) for number, label in enumerate(run) if seeds
    ]
    return Panel(
        title=panel.title,
        xlabel=AXES[line.over],
        ylabel="share of targets reached",
        options=Drawing(
            curves=panel.curves, xscale="log" if is_timed else "linear", ylim=[-0.02, 1.02]
        ),
        data=made_of(store.data(curve) for curve in kept),
        lines=lines,
        seeds=frozenset({len(seeds)} if lines else ()),
        lengths=frozenset(curve.budget for curve in kept),
        missing=[label for label in panel.curves if label not in run],
        is_cut=any(len(store.seeds(curve)) > len(seeds) for curve in kept),
        timeouts=store.lacks({f"{curve.label} on {curve.problem_name}": curve for curve in kept}),
        versions=frozenset(version for curve in kept for version in store.versions(curve)),
        processors=store.processors(kept) if is_timed else (),
    )


def _reached(
    store: Store,
    curves: Sequence[Curve],
    seeds: Sequence[int],
    targets: Sequence[float],
    is_timed: bool,
) -> Array:
    """(curves, seeds, targets): when each of at least one curve reaches each target of one problem,
    as a share of the budget or in seconds; infinite where it does not.
    """
    rows = [[store.seeds(curve).index(seed) for seed in seeds] for curve in curves]
    last = min(store.values(curve, "best_feasible").shape[1] for curve in curves)
    best = np.array(
        [
            store.values(curve, "best_feasible")[own, :last]
            for curve, own in zip(curves, rows, strict=True)
        ]
    )
    design = _design(curves[0])
    needed = evaluations(best, design, np.asarray(targets))
    if not is_timed:
        return np.maximum(needed - design, 0) / (last - design)
    spent = [
        store.values(curve, "seconds")[own, :last] for curve, own in zip(curves, rows, strict=True)
    ]
    return _at(np.array(spent), needed)


def evaluations(best: Array, design: int, targets: Array) -> Array:
    """(curves, seeds, targets): after how many evaluations a curve has reached a target, infinite
    where it does not.

    best: (curves, seeds, T), the least feasible value so far, infinite before there is one.
    design: evaluations of the initial design among the T, which all curves share.
    targets: (targets,), shares of the way from f_0 to f_L that are left.
    """
    least = best[:, :, -1].min(axis=0)  # (seeds,)
    later = best[:, :, max(design, 1) - 1 :]
    first = np.where(np.isfinite(later), later, -np.inf).max(axis=2)
    start = first.max(axis=0)  # that of the design; without one, the worst first feasible value
    with np.errstate(invalid="ignore"):  # nobody has found anything feasible
        level = least[:, None] + targets * (start - least)[:, None]  # (seeds, targets)
        is_there = best[:, :, None, :] <= level[None, :, :, None]
    when = np.argmax(is_there, axis=3) + 1.0
    return np.where(is_there.any(axis=3), when, np.inf)


def _design(curve: Curve) -> int:
    """The evaluations of the initial design that count as evaluations of a run."""
    initial = curve.problem_entry["init"]
    return int(initial["n"]) if initial.get("counted", True) else 0


def _at(spent: Array, needed: Array) -> Array:
    """What was spent (curves, seeds, T) when a number of evaluations was made."""
    place = np.where(np.isfinite(needed), needed, 1).astype(np.int64) - 1
    return np.where(np.isfinite(needed), np.take_along_axis(spent, place, axis=2), np.inf)


def _axis(reached: Array) -> Array:
    """Seconds from the first target to the last one, evenly in the logarithm."""
    known = reached[np.isfinite(reached) & (reached > 0)]
    if not known.size:
        return np.array([1.0])
    low, high = np.log10(known.min()), np.log10(known.max())
    return np.logspace(low, high + 1e-9, POINTS) if high > low else known[:1]


def _line(label: str, x: Array, reached: Array, seeds: Sequence[int]) -> Line:
    """Mean and 95 % interval over the seeds of the share reached (problems, seeds, targets)."""
    shares = (reached[..., None] <= x).mean(axis=(0, 2))  # (seeds, points)
    low, high = interval(shares)
    return Line(
        label=label,
        look=look(algorithm_of(label)),
        x=x,
        centre=shares.mean(axis=0),
        low=np.clip(low, 0, 1),
        high=np.clip(high, 0, 1),
        n=len(seeds),
        hollow="@" in label,
        seeds=tuple(seeds),
    )
