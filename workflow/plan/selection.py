"""Which curves a label, a panel or a figure means: names from a paper's YAML against its plan,
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
from workflow.plan.sections import ExperimentEntry, PublishedPanel
from workflow.plan.vocabulary import Section
from workflow.trace.curves import DEFAULT, AnyCurve, Curve, PlanError, algorithm_of

Line = Mapping[str, Any]  # of a section of a paper's YAML
M = TypeVar("M", bound=Section)
TABLE: TypeAdapter[lines.AnyTable] = TypeAdapter(lines.AnyTable)
WITHOUT_RUNS = (lines.ParametersTable, lines.SettingsTable)  # they show what the YAML says


def curve_of(
    paper: Paper, problem: str, label: str, *, reading: str = DEFAULT, variant: str = DEFAULT
) -> Curve:
    """The curve of a label on a problem, under a reading and a variant that the label leaves open.

    A reading reaches only who has a parameter that it changes; everyone else keeps the default run.
    """
    return paper.curve(*_named(paper, problem, label, reading, variant))


def _named(paper: Paper, problem: str, label: str, reading: str, variant: str) -> tuple[str, str]:
    """Problem and label of the curve that `curve_of` looks for, with their readings."""
    name = label
    if "@" not in label and (reading, "algorithms", algorithm_of(label)) in paper.reached:
        head, plus, tail = label.partition("+")
        name = f"{head}@{reading}{plus}{tail}"
    if (reading, "problems", problem) in paper.reached:
        problem = f"{problem}@{reading}"
    return problem, f"{name}+{variant}" if variant and "+" not in name else name


def planned(
    paper: Paper, problem: str, label: str, variant: str = DEFAULT, *, reading: str = DEFAULT
) -> Curve | None:
    """The curve that `curve_of` gives; None where none is planned."""
    return paper.aliases.get(_named(paper, problem, label, reading, variant))


def is_left_out(
    paper: Paper,
    problem: str,
    label: str,
    *,
    reading: str = DEFAULT,
    variant: str = DEFAULT,
    relative_to: str = "",
) -> bool:
    """Whether this scale leaves out a curve, or what it is divided by, there. The published size
    leaves out nothing: what no run makes there is a mistake.
    """
    where, name = _named(paper, problem, label, reading, variant)
    needed = {(where, name), (where, relative_to or name)}
    return not (paper.is_whole or needed <= paper.aliases.keys())


def in_scale(paper: Paper, problem: str, labels: Iterable[str], **how: str) -> list[str]:
    """The labels that this scale does not leave out on a problem; `how` as for `is_left_out`."""
    return [label for label in labels if not is_left_out(paper, problem, label, **how)]


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


def companions(paper: Paper, curve: Curve) -> list[Curve]:
    """The curves that decide what regret is on a curve's problem: all of them where the optimum is
    the best value seen.
    """
    if curve.problem_entry.get("optimum") != "best-seen":
        return [curve]
    return [
        curve,
        *(
            other
            for other in (*paper.curves, *paper.borrowed)
            if other.problem_name == curve.problem_name and other.name != curve.name
        ),
    ]


def table_of(paper: Paper, name: str) -> lines.AnyTable:
    """The line of a table. Raises PlanError naming what is known."""
    return TABLE.validate_python(entry_of(paper, "tables", name))


def figure_runs(paper: Paper, name: str) -> list[AnyCurve]:
    """Every run whose records a figure reads."""
    runs: list[AnyCurve] = []
    for panel in panel_options(paper, name):
        levels = panel.lines.values()
        runs += [paper.study(one.study) for one in levels if isinstance(one, lines.Level)]
        if panel.study:
            runs.append(paper.study(panel.study))
            continue
        curves = [curve for _, curve in curves_of_panel(paper, panel)]
        runs += [companion for curve in curves for companion in companions(paper, curve)]
        if panel.relative_to:
            runs += [paper.curve(curve.problem_name, panel.relative_to) for curve in curves]
    return runs


def panel_options(paper: Paper, name: str) -> list[lines.FigureLine]:
    """The panels of a figure that this scale does not leave out, each as a figure of its own.
    Raises PlanError.
    """
    return [
        panel
        for panel in line_of(paper, "figures", name, lines.FigureLine).apart()
        if (panel.study in paper.studies if panel.study else curves_of_panel(paper, panel))
    ]


def published_series(paper: Paper, panel: lines.Drawing) -> dict[str, Series]:
    """The published numbers of each curve of a panel of a figure, by its label, their x counted in
    our evaluations; none for a variant. Raises PlanError.
    """
    by_method: dict[str, Series] = {}
    if panel.variant:
        return by_method
    for one in published_panels(paper):
        series = published_numbers.panel(paper.name, one.panel)
        # what is divided by one of its own curves is printed undivided
        base = "" if one.relative_to in series else one.relative_to
        if (panel.problem, panel.metric, panel.relative_to) == (one.problem, one.metric, base):
            by_method = {**{by: _from(of, one.known) for by, of in series.items()}, **by_method}
    labels: dict[str, str] = {}  # of several curves of one method the first one stands for it
    for label in panel.curves:
        labels.setdefault(algorithm_of(label), label)
    return {label: by_method[method] for method, label in labels.items() if method in by_method}


def _from(series: Series, known: int) -> Series:
    """A series whose x counts from the first evaluation of ours on, after `known` ones."""
    return replace(series, x=tuple(x - known for x in series.x))


def curves_of_panel(paper: Paper, panel: lines.FigureLine) -> list[tuple[str, Curve]]:
    """Label and curve for each label of a panel that this scale does not leave out."""
    problem, labels, base = panel.problem, panel.curves, panel.relative_to
    how = {"reading": panel.reading, "variant": panel.variant}
    if panel.kind == "dots":
        return under_readings(paper, problem, labels, panel.readings, relative_to=base)
    drawn = [
        (label, curve_of(paper, problem, label, **how))
        for label in in_scale(paper, problem, labels, relative_to=base, **how)
    ]
    controls = in_scale(paper, problem, panel.controls, relative_to=base)
    return drawn + [(label, paper.curve(problem, label)) for label in controls]


def under_readings(
    paper: Paper,
    problem: str,
    labels: Iterable[str],
    readings: Iterable[str],
    *,
    relative_to: str = "",
) -> list[tuple[str, Curve]]:
    """Label and curve for each label under each reading that is planned for it, the same run only
    once.
    """
    curves: dict[str, tuple[str, Curve]] = {}
    for label, name in product(labels, readings):
        reading = DEFAULT if name == "default" else name
        there = in_scale(paper, problem, [label], reading=reading, relative_to=relative_to)
        # nothing but a default run may be planned
        if there and not (
            reading and _named(paper, problem, label, reading, DEFAULT) not in paper.aliases
        ):
            curve = curve_of(paper, problem, label, reading=reading)
            curves.setdefault(curve.name, (curve.label, curve))
    return list(curves.values())


def table_curves(paper: Paper, line: lines.DiagnosticsTable | lines.FeasibleTable) -> list[Curve]:
    """The curve of each row of a table: its labels on each problem under each planned reading."""
    base = line.relative_to if isinstance(line, lines.DiagnosticsTable) else ""
    return [
        curve
        for problem in line.problems
        for _, curve in under_readings(paper, problem, line.curves, line.readings, relative_to=base)
    ]


def table_runs(paper: Paper, name: str) -> Sequence[AnyCurve]:
    """Every run whose records a table needs. Raises PlanError."""
    line = table_of(paper, name)
    if isinstance(line, WITHOUT_RUNS):
        return []
    if isinstance(line, lines.StudyTable | lines.GrowthTable):
        return [paper.study(line.study)]
    if isinstance(line, lines.PublishedTable):
        return published_curves(paper)
    curves = table_curves(paper, line)
    if isinstance(line, lines.DiagnosticsTable) and line.relative_to:
        curves += [paper.curve(curve.problem_name, line.relative_to) for curve in curves]
    return [companion for curve in curves for companion in companions(paper, curve)]


def tabulated_runs(paper: Paper, name: str) -> Sequence[AnyCurve]:
    """Those that a table needs, and those of which it says how many there are. What is published is
    compared with all settings of its experiments: with all runs of the paper.
    """
    line = table_of(paper, name)
    if isinstance(line, lines.PublishedTable):
        return paper.every_curve if published_curves(paper) else []
    if isinstance(line, lines.ParametersTable):
        places = product(line.problems or paper.entry["problems"], line.algorithms)
        return [paper.aliases[place] for place in places if place in paper.aliases]
    return table_runs(paper, name)


def experiments(paper: Paper) -> dict[str, ExperimentEntry]:
    """The experiments whose numbers a paper publishes, by name."""
    entries = paper.entry.get("published", {})
    return {name: ExperimentEntry.model_validate(entry) for name, entry in entries.items()}


def published_panels(paper: Paper) -> list[PublishedPanel]:
    """The panels of all of them."""
    return [panel for experiment in experiments(paper).values() for panel in experiment.panels]


def published_curves(paper: Paper) -> list[Curve]:
    """The default runs that are set beside published numbers, as far as this scale has them."""
    places = [
        (panel.problem, method)
        for panel in published_panels(paper)
        for method in published_numbers.panel(paper.name, panel.panel)
    ]
    curves = [planned(paper, *place) for place in dict.fromkeys(places)]
    return [curve for curve in curves if curve is not None]


def picture_curves(paper: Paper, name: str) -> list[Curve]:
    """Every curve whose records a picture compares, once each: its own, then the readings of
    those that name none, on the same problem. Raises PlanError.
    """
    line = line_of(paper, "pictures", name, lines.PictureLine)
    labels = in_scale(paper, line.problem, line.curves)
    curves = [paper.curve(line.problem, label) for label in labels]
    curves += [
        curve
        for curve in paper.curves
        if curve.problem_name == line.problem
        and curve.algorithm in labels
        and curve.algorithm_reading
        and not curve.variant
    ]
    return list({curve.name: curve for curve in curves}.values())


def complete(
    there: Mapping[str, Collection[str]], labels: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The problems and labels of which every pair was run, given the labels that are there on each
    problem.

    First go the problems on which fewer than half of the curves were run, then the curves that a
    remaining problem lacks.
    """
    problems = [problem for problem, some in there.items() if 2 * len(some) >= len(labels)]
    return problems, [
        label for label in labels if all(label in there[problem] for problem in problems)
    ]


def rank_curves(paper: Paper, name: str) -> dict[str, dict[str, Curve]]:
    """The curve of each label on each problem that ranks compare at this scale: the complete part
    of what it has; nothing where there is nothing to compare. Raises PlanError.
    """
    line = line_of(paper, "ranks", name, lines.RanksLine)
    planned = {
        problem: {
            label: curve_of(paper, problem, label)
            for label in in_scale(paper, problem, line.curves)
        }
        for problem in line.problems
    }
    problems, labels = complete(planned, line.curves)
    if min(len(problems), len(labels)) < 2:
        return {}
    return {problem: {label: planned[problem][label] for label in labels} for problem in problems}


def rank_runs(paper: Paper, name: str) -> list[Curve]:
    """Every run whose records ranks read. Raises PlanError."""
    curves = [curve for row in rank_curves(paper, name).values() for curve in row.values()]
    return [companion for curve in curves for companion in companions(paper, curve)]


def profile_panels(
    paper: Paper, line: lines.ProfilesLine
) -> list[tuple[lines.ProfilePanel, dict[str, dict[str, Curve]]]]:
    """The panels of a line of profiles at this scale: each with its labels, and the curve of each
    label on each of its problems, of those that have all of them.

    A problem that lacks a curve at this scale is left out, and so is a panel without problems.
    """
    panels = []
    for own in line.panels:
        labels = own.curves or line.curves
        curves = {
            problem: {label: curve_of(paper, problem, label) for label in labels}
            for problem in own.problems
            if in_scale(paper, problem, labels) == labels
        }
        if curves:
            panels.append((own.model_copy(update={"curves": labels}), curves))
    return panels


def profile_runs(paper: Paper, name: str) -> list[Curve]:
    """Every run whose records a line of profiles reads. Raises PlanError."""
    panels = profile_panels(paper, line_of(paper, "profiles", name, lines.ProfilesLine))
    return [curve for _, curves in panels for row in curves.values() for curve in row.values()]
