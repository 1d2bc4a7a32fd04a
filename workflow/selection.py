"""Which runs a curve, a panel or a figure means: names from a paper's YAML against its plan, without any numbers.

Snakemake asks this before anything has run, so it imports no numerical library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workflow.plan import DEFAULT, Cell, Paper, PlanError, Study


def place(paper: Paper, problem: str, curve: str, *, reading: str = DEFAULT, variant: str = DEFAULT) -> Cell:
    """The cell of a curve on a problem under a reading and a variant that its own name leaves open.

    A reading reaches only who has a parameter that it changes; everyone else keeps the default run.
    """
    algorithm, name = curve.split("@")[0].split("+")[0], curve
    known = paper.entry.get("readings", {})
    if reading and reading not in known:
        raise PlanError(f"papers/{paper.name}.yaml: unknown reading {reading!r}; known: {', '.join(known)}")
    if reading and "@" not in curve and _reached(paper, reading, "algorithms", algorithm):
        head, plus, tail = curve.partition("+")
        name = f"{head}@{reading}{plus}{tail}"
    if reading and _reached(paper, reading, "problems", problem):
        problem = f"{problem}@{reading}"
    return paper.cell(problem, f"{name}+{variant}" if variant and "+" not in name else name)


def is_cut(paper: Paper, variant: str) -> bool:
    """Whether this scale leaves out a variant."""
    kept = paper.entry["scales"][paper.scale].get("variants")
    return variant != DEFAULT and kept is not None and variant not in kept


def in_scale(paper: Paper, curves: Iterable[str]) -> list[str]:
    """The curves whose own variant this scale has."""
    return [curve for curve in curves if not is_cut(paper, curve.partition("+")[2])]


def companions(paper: Paper, cell: Cell) -> list[Cell]:
    """The cells that decide what regret is on the problem of a cell: all of them where the optimum is the best value seen."""
    if cell.problem_entry.get("optimum") != "best-seen":
        return [cell]
    return [cell, *(other for other in paper.cells if other.problem_name == cell.problem_name and other.name != cell.name)]


def figure_runs(paper: Paper, name: str) -> list[Cell | Study]:
    """Every run whose records a figure reads."""
    runs: list[Cell | Study] = []
    for panel in panel_options(paper, name):
        runs += [paper.study(level["study"]) for level in panel.get("lines", {}).values() if isinstance(level, Mapping)]
        if "study" in panel:
            runs.append(paper.study(panel["study"]))
            continue
        cells = [cell for _, cell in places(paper, panel)]
        runs += [companion for cell in cells for companion in companions(paper, cell)]
        if "relative_to" in panel:
            runs += [paper.cell(cell.problem_name, panel["relative_to"]) for cell in cells]
    return runs


def figure(paper: Paper, name: str) -> Mapping[str, Any]:
    entries = {entry["id"]: entry for entry in paper.entry.get("figures", [])}
    if name not in entries:
        raise PlanError(f"papers/{paper.name}.yaml: unknown figure {name!r}; known: {', '.join(entries) or 'none'}")
    return entries[name]


def panel_options(paper: Paper, name: str) -> list[dict[str, Any]]:
    """The keys of each panel over those of its figure; panels whose variant this scale leaves out are left out."""
    entry = figure(paper, name)
    shared = {key: value for key, value in entry.items() if key not in ("title", "where", "note", "panels")}
    merged = [{**shared, **panel} for panel in entry["panels"]]
    kept = [panel for panel in merged if not is_cut(paper, panel.get("variant", DEFAULT))]
    if not kept:
        raise PlanError(f"figure {name}: scale {paper.scale} leaves out the variants of all its panels")
    return kept


def places(paper: Paper, panel: Mapping[str, Any]) -> list[tuple[str, Cell]]:
    """Label and cell of each curve of a panel."""
    if "problem" not in panel or "metric" not in panel or "curves" not in panel:
        raise PlanError(f"figure {panel['id']}: a panel needs `problem`, `metric` and `curves` (or `study`, `x` and `y`)")
    reading, variant = panel.get("reading", DEFAULT), panel.get("variant", DEFAULT)
    if panel.get("kind") == "dots":
        return under_readings(paper, panel["problem"], panel["curves"], panel.get("readings", ["default"]))
    drawn = [
        (curve, place(paper, panel["problem"], curve, reading=reading, variant=variant))
        for curve in in_scale(paper, panel["curves"])
    ]
    return drawn + [(curve, paper.cell(panel["problem"], curve)) for curve in panel.get("controls", [])]


def under_readings(paper: Paper, problem: str, curves: Iterable[str], readings: Iterable[str]) -> list[tuple[str, Cell]]:
    """Label and cell of each curve under each reading that is planned for it, the same run only once."""
    found: dict[str, tuple[str, Cell]] = {}
    for curve in in_scale(paper, curves):
        for reading in readings:
            try:
                cell = place(paper, problem, curve, reading=DEFAULT if reading == "default" else reading)
            except PlanError:
                if reading == "default" or reading not in paper.entry.get("readings", {}):
                    raise
                continue
            found.setdefault(cell.name, (cell.curve, cell))
    return list(found.values())


def picture(paper: Paper, name: str) -> Mapping[str, Any]:
    """The line of a picture in the paper's YAML. Raises PlanError naming what is known."""
    entries = {entry["id"]: entry for entry in paper.entry.get("pictures", [])}
    if name not in entries:
        raise PlanError(f"papers/{paper.name}.yaml: unknown picture {name!r}; known: {', '.join(entries) or 'none'}")
    return entries[name]


def picture_cells(paper: Paper, name: str) -> list[Cell]:
    """Every cell whose records a picture compares, once each. Raises PlanError."""
    entry = picture(paper, name)
    cells = [paper.cell(entry["problem"], curve) for curve in in_scale(paper, entry["curves"])]
    if not cells:
        raise PlanError(f"picture {name}: scale {paper.scale} leaves out the variants of all its curves")
    return list({cell.name: cell for cell in cells}.values())


def _reached(paper: Paper, reading: str, kind: str, key: str) -> bool:
    """Whether a reading changes a parameter that this algorithm or problem has."""
    changes = paper.entry["readings"][reading].get(kind, {})
    return bool(changes.get(key)) or bool(set(changes.get("*", {})) & set(paper.entry[kind].get(key, {})))
