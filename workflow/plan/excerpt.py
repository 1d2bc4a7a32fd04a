"""The part of the published plan that a scale of published size runs: what the claims read that it
decides, and what the exhibits draw that it shows, with the first seeds of each.

A run of such a scale is the one of scale `paper`: same length, parameters and digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from workflow.plan.exhibits import lines_of
from workflow.plan.paper import Paper
from workflow.plan.reads import null_runs, runs_of_claim, stated
from workflow.plan.selection import companions
from workflow.trace.cells import Cell, PlanError, Study

P = TypeVar("P", Cell, Study)


def of(whole: Paper, scale: str) -> Paper:
    """What a scale takes of the plan of scale `paper`. Raises PlanError."""
    cut = whole.entry["scales"][scale]
    entry = {**whole.entry, **_shown(whole, cut.get("shows", []))}
    runs: list[Cell | Study] = []
    for claim in stated(whole.entry):
        if claim["id"] in cut.get("claims", []):
            runs += [*runs_of_claim(whole, claim), *null_runs(whole, claim)]
    for kind, line in lines_of(entry):
        runs += [run for run in kind.wanted(whole, line["id"]) if not _is_left(run, cut)]
    names = {run.name for run in runs}
    if lacks := [
        other.name
        for run in runs
        if isinstance(run, Cell)
        for other in companions(whole, run)
        if other.name not in names
    ]:
        raise PlanError(
            f"papers/{whole.name}.yaml, scale {scale}: expected all runs on a problem whose optimum"
            f" is the best value seen, or none, got some without {lacks[0]}"
        )
    cells = {cell.name: _first(cell, scale, cut) for cell in whole.cells if cell.name in names}
    studies = {
        name: _first(study, scale, cut)
        for name, study in whole.studies.items()
        if study.name in names
    }
    if not names:
        raise PlanError(
            f"papers/{whole.name}.yaml, scale {scale}: expected claims or exhibits that some run"
            " of scale paper makes, got none"
        )
    kept = {place: cells[cell.name] for place, cell in whole.aliases.items() if cell.name in names}
    return replace(
        whole,
        scale=scale,
        entry=entry,
        cells=tuple(cells.values()),
        aliases=kept,
        studies=studies,
        elsewhere=whole.elsewhere | (set(whole.aliases) - set(kept)),
        uncut={part.name: part.seeds for part in whole.parts if part.name in names},
    )


def _is_left(run: Cell | Study, cut: Mapping[str, Any]) -> bool:
    """Whether exhibits of a scale do without a run."""
    algorithm = [run.algorithm] if isinstance(run, Cell) else []
    return not {run.problem, *algorithm}.isdisjoint(cut.get("leaves", []))


def _first(part: P, scale: str, cut: Mapping[str, Any]) -> P:
    """The same cell or study at a scale, with the first of its seeds."""
    return replace(part, scale=scale, seeds=part.seeds[: cut.get("seeds")])


def _shown(whole: Paper, names: list[str]) -> dict[str, Any]:
    """The sections of a paper's exhibits, with those alone that a scale shows."""
    sections = {kind.section for kind, _ in lines_of(whole.entry)}
    return {
        section: [line for line in whole.entry[section] if line["id"] in names]
        for section in sections
    }
