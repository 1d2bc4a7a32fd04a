"""Which runs a curve, a panel or a figure means: names from a paper's YAML against its plan,
without any numbers.

Snakemake asks this before anything has run, so it imports no numerical library.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

from pydantic import TypeAdapter

from workflow.plan import lines, published_numbers
from workflow.plan.paper import Paper
from workflow.plan.published_numbers import Series
from workflow.plan.vocabulary import Section
from workflow.trace.cells import DEFAULT, Cell, PlanError, Study, algorithm_of

Line = Mapping[str, Any]  # of a section of a paper's YAML
M = TypeVar("M", bound=Section)
TABLE: TypeAdapter[lines.AnyTable] = TypeAdapter(lines.AnyTable)
WITHOUT_RUNS = (lines.ParametersTable, lines.SettingsTable)  # they show what the YAML says


def place(
    paper: Paper, problem: str, curve: str, *, reading: str = DEFAULT, variant: str = DEFAULT
) -> Cell:
    """The cell of a curve on a problem under a reading and a variant that its own name leaves open.

    A reading reaches only who has a parameter that it changes; everyone else keeps the default run.
    """
    return paper.cell(*_named(paper, problem, curve, reading, variant))


def _named(paper: Paper, problem: str, curve: str, reading: str, variant: str) -> tuple[str, str]:
    """What the cell is called that `place` looks for."""
    name = curve
    if "@" not in curve and (reading, "algorithms", algorithm_of(curve)) in paper.reached:
        head, plus, tail = curve.partition("+")
        name = f"{head}@{reading}{plus}{tail}"
    if (reading, "problems", problem) in paper.reached:
        problem = f"{problem}@{reading}"
    return problem, f"{name}+{variant}" if variant and "+" not in name else name


def planned(paper: Paper, problem: str, curve: str, variant: str = DEFAULT) -> Cell | None:
    """The cell of a curve under the default reading; None where none is planned."""
    return paper.aliases.get(_named(paper, problem, curve, DEFAULT, variant))


def is_left_out(
    paper: Paper,
    problem: str,
    curve: str,
    *,
    reading: str = DEFAULT,
    variant: str = DEFAULT,
    relative_to: str = "",
) -> bool:
    """Whether this scale leaves out a curve, or what it is divided by, there. The published size
    leaves out nothing: what no run makes there is a mistake.
    """
    where, name = _named(paper, problem, curve, reading, variant)
    needed = {(where, name), (where, relative_to or name)}
    return not (paper.is_whole or needed <= paper.aliases.keys())


def in_scale(paper: Paper, problem: str, curves: Iterable[str], **how: str) -> list[str]:
    """The curves that this scale does not leave out on a problem; `how` as for `is_left_out`."""
    return [curve for curve in curves if not is_left_out(paper, problem, curve, **how)]


def line_of(paper: Paper, section: str, name: str, model: type[M]) -> M:
    """The line of a name in a section of the YAML. Raises PlanError naming what is known."""
    return model.model_validate(entry_of(paper, section, name))


def entry_of(paper: Paper, section: str, name: str) -> Line:
    """The same as it stands there."""
    known = {line["id"]: line for line in paper.entry.get(section, [])}
    if name not in known:
        raise PlanError(
            f"papers/{paper.name}.yaml: unknown {section.removesuffix('s')} {name!r}; known:"
            f" {', '.join(known) or 'none'}"
        )
    return known[name]


def companions(paper: Paper, cell: Cell) -> list[Cell]:
    """The cells that decide what regret is on the problem of a cell: all of them where the optimum
    is the best value seen.
    """
    if cell.problem_entry.get("optimum") != "best-seen":
        return [cell]
    return [
        cell,
        *(
            other
            for other in (*paper.cells, *paper.borrowed)
            if other.problem_name == cell.problem_name and other.name != cell.name
        ),
    ]


def table_of(paper: Paper, name: str) -> lines.AnyTable:
    """The line of a table. Raises PlanError naming what is known."""
    return TABLE.validate_python(entry_of(paper, "tables", name))


def figure_runs(paper: Paper, name: str) -> list[Cell | Study]:
    """Every run whose records a figure reads."""
    runs: list[Cell | Study] = []
    for panel in panel_options(paper, name):
        levels = panel.lines.values()
        runs += [paper.study(one.study) for one in levels if isinstance(one, lines.Level)]
        if panel.study:
            runs.append(paper.study(panel.study))
            continue
        cells = [cell for _, cell in places(paper, panel)]
        runs += [companion for cell in cells for companion in companions(paper, cell)]
        if panel.relative_to:
            runs += [paper.cell(cell.problem_name, panel.relative_to) for cell in cells]
    return runs


def panel_options(paper: Paper, name: str) -> list[lines.FigureLine]:
    """The panels of a figure that this scale does not leave out, each as a figure of its own.
    Raises PlanError.
    """
    return [
        panel
        for panel in line_of(paper, "figures", name, lines.FigureLine).apart()
        if (panel.study in paper.studies if panel.study else places(paper, panel))
    ]


def published_series(paper: Paper, panel: lines.Drawing) -> dict[str, Series]:
    """The published numbers of each curve of a panel of a figure, by its label, their x counted in
    our evaluations; none for a variant. Raises PlanError.
    """
    found: dict[str, Series] = {}
    if panel.variant:
        return found
    for experiment in paper.entry.get("published", {}).values():
        for one in experiment["panels"]:
            series = published_numbers.panel(paper.name, one["panel"])
            # what is divided by one of its own curves is printed undivided
            base = "" if one.get("relative_to") in series else one.get("relative_to", "")
            mine = (panel.problem, panel.metric, panel.relative_to)
            if mine == (one["problem"], one["metric"], base):
                found = {**series_from(series, one.get("known", 0)), **found}
    labels: dict[str, str] = {}  # of several curves of one method the first one stands for it
    for label in panel.curves:
        labels.setdefault(algorithm_of(label), label)
    return {label: found[method] for method, label in labels.items() if method in found}


def series_from(series: Mapping[str, Series], known: int) -> dict[str, Series]:
    """Series whose x counts from the first evaluation of ours on, after `known` ones."""
    return {
        method: replace(one, x=tuple(x - known for x in one.x)) for method, one in series.items()
    }


def places(paper: Paper, panel: lines.FigureLine) -> list[tuple[str, Cell]]:
    """Label and cell of each curve of a panel that this scale does not leave out."""
    problem, curves, base = panel.problem, panel.curves, panel.relative_to
    how = {"reading": panel.reading, "variant": panel.variant}
    if panel.kind == "dots":
        return under_readings(paper, problem, curves, panel.readings, relative_to=base)
    drawn = [
        (curve, place(paper, problem, curve, **how))
        for curve in in_scale(paper, problem, curves, relative_to=base, **how)
    ]
    controls = in_scale(paper, problem, panel.controls, relative_to=base)
    return drawn + [(curve, paper.cell(problem, curve)) for curve in controls]


def under_readings(
    paper: Paper,
    problem: str,
    curves: Iterable[str],
    readings: Iterable[str],
    *,
    relative_to: str = "",
) -> list[tuple[str, Cell]]:
    """Label and cell of each curve under each reading that is planned for it, the same run only
    once.
    """
    found: dict[str, tuple[str, Cell]] = {}
    for curve, name in product(curves, readings):
        reading = DEFAULT if name == "default" else name
        there = in_scale(paper, problem, [curve], reading=reading, relative_to=relative_to)
        # nothing but a default run may be planned
        if there and not (
            reading and _named(paper, problem, curve, reading, DEFAULT) not in paper.aliases
        ):
            cell = place(paper, problem, curve, reading=reading)
            found.setdefault(cell.name, (cell.curve, cell))
    return list(found.values())


def table_cells(paper: Paper, line: lines.DiagnosticsTable | lines.FeasibleTable) -> list[Cell]:
    """The cell of each row of a table: the curves on each problem under each planned reading."""
    base = line.relative_to if isinstance(line, lines.DiagnosticsTable) else ""
    return [
        cell
        for problem in line.problems
        for _, cell in under_readings(paper, problem, line.curves, line.readings, relative_to=base)
    ]


def table_runs(paper: Paper, name: str) -> Sequence[Cell | Study]:
    """Every run whose records a table needs. Raises PlanError."""
    line = table_of(paper, name)
    if isinstance(line, WITHOUT_RUNS):
        return []
    if isinstance(line, lines.StudyTable | lines.GrowthTable):
        return [paper.study(line.study)]
    if isinstance(line, lines.PublishedTable):
        return published_cells(paper)
    cells = table_cells(paper, line)
    if isinstance(line, lines.DiagnosticsTable) and line.relative_to:
        cells += [paper.cell(cell.problem_name, line.relative_to) for cell in cells]
    return [companion for cell in cells for companion in companions(paper, cell)]


def tabulated_runs(paper: Paper, name: str) -> Sequence[Cell | Study]:
    """Those that a table needs, and those of which it says how many there are. What is published is
    compared with all settings of its experiments: with all runs of the paper.
    """
    line = table_of(paper, name)
    if isinstance(line, lines.PublishedTable):
        return paper.parts if published_cells(paper) else []
    if isinstance(line, lines.ParametersTable):
        places = product(line.problems or paper.entry["problems"], line.algorithms)
        return [paper.aliases[place] for place in places if place in paper.aliases]
    return table_runs(paper, name)


def published_cells(paper: Paper) -> list[Cell]:
    """The default runs that are set beside published numbers, as far as this scale has them."""
    places = [
        (panel["problem"], method)
        for experiment in paper.entry.get("published", {}).values()
        for panel in experiment["panels"]
        for method in published_numbers.panel(paper.name, panel["panel"])
    ]
    found = [planned(paper, *place) for place in dict.fromkeys(places)]
    return [cell for cell in found if cell is not None]


def picture_cells(paper: Paper, name: str) -> list[Cell]:
    """Every cell whose records a picture compares, once each: its curves, then the readings of
    those that name none, on the same problem. Raises PlanError.
    """
    line = line_of(paper, "pictures", name, lines.PictureLine)
    curves = in_scale(paper, line.problem, line.curves)
    cells = [paper.cell(line.problem, curve) for curve in curves]
    cells += [
        cell
        for cell in paper.cells
        if cell.problem_name == line.problem
        and cell.algorithm in curves
        and cell.algorithm_reading
        and not cell.variant
    ]
    return list({cell.name: cell for cell in cells}.values())


def complete(
    run: Mapping[str, Collection[str]], curves: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The problems and curves of which every pair was run, given the curves that were run on each
    problem.

    First go the problems on which fewer than half of the curves were run, then the curves that a
    remaining problem lacks.
    """
    problems = [problem for problem, there in run.items() if 2 * len(there) >= len(curves)]
    return problems, [
        curve for curve in curves if all(curve in run[problem] for problem in problems)
    ]


def rank_cells(paper: Paper, name: str) -> dict[str, dict[str, Cell]]:
    """The cell of each curve on each problem that ranks compare at this scale: the complete part of
    what it has; nothing where there is nothing to compare. Raises PlanError.
    """
    line = line_of(paper, "ranks", name, lines.RanksLine)
    planned = {
        problem: {
            curve: place(paper, problem, curve) for curve in in_scale(paper, problem, line.curves)
        }
        for problem in line.problems
    }
    problems, curves = complete(planned, line.curves)
    if min(len(problems), len(curves)) < 2:
        return {}
    return {problem: {curve: planned[problem][curve] for curve in curves} for problem in problems}


def rank_runs(paper: Paper, name: str) -> list[Cell]:
    """Every run whose records ranks read. Raises PlanError."""
    cells = [cell for row in rank_cells(paper, name).values() for cell in row.values()]
    return [companion for cell in cells for companion in companions(paper, cell)]


def profile_panels(
    paper: Paper, line: lines.ProfilesLine
) -> list[tuple[lines.ProfilePanel, dict[str, dict[str, Cell]]]]:
    """The panels of a line of profiles at this scale: each with its curves, and the cell of each
    curve on each of its problems, of those that all its curves have.

    A problem that lacks a curve at this scale is left out, and so is a panel without problems.
    """
    found = []
    for own in line.panels:
        curves = own.curves or line.curves
        cells = {
            problem: {curve: place(paper, problem, curve) for curve in curves}
            for problem in own.problems
            if in_scale(paper, problem, curves) == curves
        }
        if cells:
            found.append((own.model_copy(update={"curves": curves}), cells))
    return found


def profile_runs(paper: Paper, name: str) -> list[Cell]:
    """Every run whose records a line of profiles reads. Raises PlanError."""
    panels = profile_panels(paper, line_of(paper, "profiles", name, lines.ProfilesLine))
    return [cell for _, cells in panels for row in cells.values() for cell in row.values()]
