"""Write one table of a paper, as CSV and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow.draw import published
from workflow.draw.panels import BANDS
from workflow.judge import render
from workflow.measure.metrics import batch_sizes, farthest_query, is_on_arms
from workflow.measure.statistics import interval
from workflow.measure.store import NotRun, Store, study_table
from workflow.plan import lines
from workflow.plan.expand import load
from workflow.plan.paper import Paper
from workflow.plan.parameters import dotted
from workflow.plan.selection import (
    curves_of_panel,
    panel_options,
    table_curves,
    table_of,
    table_runs,
)
from workflow.trace.atomic import atomic
from workflow.trace.curves import Curve, PlanError
from workflow.trace.record import BadRecord

Row = dict[str, Any]
LEGEND = (
    "Same run: the reading changes nothing in these runs, it is no independent evidence beside the"
    " default."
)
COLUMNS = {  # what the names of some say too little of
    "low": "low and high are the ends of the 95 % interval of the mean over seeds",
    "share stuck": (
        "share stuck is the share of seeds whose recommendation at the end is not optimal"
    ),
    "recommended most": (
        "recommended most is the arm that most seeds recommend at the end, by seeds how many do"
    ),
    "farthest new query": (
        "farthest new query is the largest distance of a query from all before it, after the"
        " initial design, in sides of the box"
    ),
    "median search from there": (
        "median search from there is over designs without a feasible point: evaluations after"
        " one up to the first feasible one"
    ),
    "recommendation regret": "recommendation regret is that of what is recommended at the end",
    "oracle moved": (
        "oracle moved and rounds moved are the largest changes of a weight by the oracle, and after"
        " it"
    ),
    "restarts": "length and restarts are those of TuRBO's region",
    # of studies of sketches
    "qbar": "qbar is q̄, by which arms enter the dictionary",
    "hypothesis_met": "hypothesis_met is 1 where q̄ is as large as the theorem asks for",
    "regret_hypothesis_met": (
        "regret_hypothesis_met is 1 where q̄ is as large as the theorem asks for and the function's"
        " norm as small"
    ),
    "vacuous": (
        "vacuous is 1 where the dictionary has over nine tenths of the distinct arms, and is no"
        " sketch"
    ),
    "ratio_min": "ratio_min and ratio_max are the ends of sketched over exact variance",
    "ratio_min_so_far": (
        "ratio_min_so_far and ratio_max_so_far are the ends of sketched over exact variance up to"
        " then"
    ),
    "regressors_min": "regressors_min is the lower end for the subset of regressors, which starves",
    "prior_over_exact": (
        "prior_over_exact is the greatest prior over exact variance, that of an empty dictionary"
    ),
    "distinct": "dictionary and distinct count the arms in it and those that were pulled",
    "dictionary_bound": "dictionary_bound is the theorem's bound of its size",
    "worst_regret": (
        "uniform_regret and worst_regret are those of uniform draws and of the worst arm alone"
    ),
}


def draw(paper: Paper, store: Store, name: str, folder: Path) -> list[Path]:
    """Write one table as CSV and Markdown; returns their paths. Raises PlanError, BadRecord."""
    runs = table_runs(paper, name)
    store.check(runs)
    table = build(paper, store, name)
    text = as_markdown(paper, name, table, store.of_other_code(runs))
    paths = [folder / f"{name}.csv", folder / f"{name}.md"]
    with atomic(paths[0]) as temporary:
        table.to_csv(temporary, index=False, float_format="%.9g", lineterminator="\n")
    with atomic(paths[1]) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return paths


def build(paper: Paper, store: Store, name: str) -> pd.DataFrame:
    """One table as rows. Raises PlanError, BadRecords."""
    line = table_of(paper, name)
    match line:
        case lines.ParametersTable():
            return pd.DataFrame(_parameters(paper, store, line))
        case lines.SettingsTable():
            return pd.DataFrame(_settings(paper, line))
        case lines.StudyTable():
            return _study(paper, store, line)
        case lines.GrowthTable():
            return pd.DataFrame(published.growth(paper, store, line))
        case lines.PublishedTable():
            return pd.DataFrame(published.rows(paper, store))
    curves = table_curves(paper, line)
    shown = {curve.name for curve in curves}
    rows = [
        _feasible(paper, store, curve, shown)
        if isinstance(line, lines.FeasibleTable)
        else _diagnostics(paper, store, line, curve, shown)
        for curve in curves
    ]
    return pd.DataFrame([row for row in rows if row])


def _cell(value: Any) -> str:
    """A value for people: numbers with three digits."""
    return render.number(value) if isinstance(value, float) else render.quoted(value)


def as_markdown(paper: Paper, name: str, table: pd.DataFrame, other: str = "") -> str:
    """A table for people; `other` says which records other code made."""
    line = table_of(paper, name)
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    where = f" ({line.where})" if line.where else ""
    parts = [
        f"# {render.quoted((line.title or name) + where)}",
        render.quoted(f"{paper.name}, scale {paper.scale}"),
        render.table([render.quoted(column) for column in table.columns], rows),
    ]
    if "reading" in table and table["reading"].str.endswith(published.SAME).any():
        parts.append(LEGEND)
    if words := [said for column, said in COLUMNS.items() if column in table]:
        parts.append(f"Columns: {'; '.join(words)}.")
    if other:
        parts.append(render.quoted(f"Made by other code than today's: {other}."))
    if line.note:
        parts.append(render.quoted(line.note))
    if errata := [one for one in paper.entry.get("errata", []) if one["id"] in line.errata]:
        says = "{where}: {says}. Instead: {instead}"
        listed = ["* " + render.quoted(says.format_map(erratum)) for erratum in errata]
        parts.append("\n".join(["What the paper itself gets wrong or contradicts:", "", *listed]))
    return "\n\n".join(parts) + "\n"


def _parameters(paper: Paper, store: Store, line: lines.ParametersTable) -> list[Row]:
    """A parameter of each algorithm on each problem, budget and repetitions, as published: at scale
    `paper`. Beside the repetitions planned stand those that there are records of. The bands are
    those that figures draw around the same runs; there is no column where no figure draws them.
    """
    full = _as_published(paper)
    problems = line.problems or list(paper.entry["problems"])
    bands, rows = _bands(full), list[Row]()
    for algorithm in line.algorithms:
        curves = {problem: full.curve(problem, algorithm) for problem in problems}
        values = {
            f"{line.parameter} ({problem})": dotted(curve.algorithm_entry).get(line.parameter, "-")
            for problem, curve in curves.items()
        }
        around = dict.fromkeys(
            band for curve in curves.values() for band in bands.get(curve.name, ())
        )
        rows.append(
            {
                "algorithm": algorithm,
                **values,
                "evaluations": _by_problem({p: str(curve.budget) for p, curve in curves.items()}),
                "repetitions": _by_problem(
                    {p: _repetitions(paper, store, curve) for p, curve in curves.items()}
                ),
                "band": "; ".join(around) or "-",
            }
        )
    if all(row["band"] == "-" for row in rows):
        return [{name: value for name, value in row.items() if name != "band"} for row in rows]
    return rows


def _by_problem(said: Mapping[str, str]) -> str:
    """What is said of each problem: once where it is the same on all of them, else each with its
    problems.
    """
    of: dict[str, list[str]] = {}
    for problem, value in said.items():
        of.setdefault(value, []).append(problem)
    if len(of) < 2:
        return "".join(of)
    return "; ".join(f"{value} ({', '.join(problems)})" for value, problems in of.items())


def _repetitions(paper: Paper, store: Store, curve: Curve) -> str:
    """How many repetitions of a published run are planned, and how many of these are there, which a
    report of another scale does not know.
    """
    planned = f"{len(curve.seeds)} planned"
    if paper.scale != curve.scale:
        return planned
    try:
        return f"{len(store.seeds(curve))} of {planned}"
    except NotRun:
        return f"0 of {planned}"
    except BadRecord:  # a table of what is published needs no records
        return planned


def _as_published(paper: Paper) -> Paper:
    """The plan of all runs of a paper. Raises PlanError."""
    return paper if paper.is_whole and not paper.uncut else load(paper.name, "paper")


def _bands(paper: Paper) -> dict[str, list[str]]:
    """The bands that the figures of a paper draw around each of its curves, by name."""
    bands: dict[str, list[str]] = {}
    for entry in paper.entry.get("figures", []):
        for panel in panel_options(paper, entry["id"]):
            if panel.study or panel.kind == "dots":
                continue  # no curves, or none with a band
            for _, curve in curves_of_panel(paper, panel):
                bands.setdefault(curve.name, []).append(BANDS[panel.band])
    return bands


def _settings(paper: Paper, line: lines.SettingsTable) -> list[Row]:
    """Several parameters of each algorithm on each problem, as published: at scale `paper`."""
    full = _as_published(paper)
    rows = []
    for algorithm, names in line.settings.items():
        values = {
            problem: dotted(full.curve(problem, algorithm).algorithm_entry)
            for problem in line.problems
        }
        if unknown := [name for name in names if any(name not in one for one in values.values())]:
            known = ", ".join(set.intersection(*map(set, values.values())) - {"is"})
            raise PlanError(
                f"table {line.id}: {algorithm} has no parameter {', '.join(unknown)}; known:"
                f" {known}"
            )
        rows += [
            {
                "algorithm": algorithm,
                "parameter": name,
                **{problem: str(own[name]) for problem, own in values.items()},
            }
            for name in names
        ]
    return rows


def _feasible(paper: Paper, store: Store, curve: Curve, shown: Collection[str]) -> Row:
    """The best feasible value at the end of one curve's runs, and how they came by it; empty where
    there is no record. `shown` names the runs of the whole table.
    """
    try:
        best = store.values(curve, "best_feasible")[:, -1]
    except NotRun:
        return {}
    low, middle, high = _quartiles(best)
    search = store.values(curve, "search_for_feasible")[:, -1]
    searched = search[~np.isnan(search)]
    return {
        "problem": curve.problem_name,
        "algorithm": curve.algorithm,
        "reading": published.reading_of(paper, store, curve, "best_feasible", shown),
        "seeds": len(best),
        "evaluations": curve.budget,
        "seeds with a feasible point": int(np.isfinite(best).sum()),
        "median": middle,
        "lower quartile": low,
        "upper quartile": high,
        "designs without a feasible point": len(searched),
        "median search from there": _quartiles(searched)[1] if len(searched) else np.nan,
        "feasible evaluations": _last(store.values(curve, "feasible_evaluations")),
        "descent over the last 30 %": float(np.median(store.values(curve, "late_descent")[:, -1])),
        "seconds per 1000 evaluations": (
            float(store.values(curve, "seconds")[:, -1].mean()) * 1000 / curve.budget
        ),
        "data": store.data(curve),
    }


def _quartiles(ends: np.ndarray) -> list[float]:
    """Lower quartile, median and upper quartile as the figures draw them: interpolated, but between
    a number and infinity lies infinity.
    """
    ordered = np.sort(ends)
    quartiles = []
    for place in np.array([0.25, 0.5, 0.75]) * (len(ordered) - 1):
        below, above = ordered[int(place)], ordered[int(np.ceil(place))]
        quartiles.append(float(above if np.isinf(above) else below + place % 1 * (above - below)))
    return quartiles


def _diagnostics(
    paper: Paper, store: Store, line: lines.DiagnosticsTable, curve: Curve, shown: Collection[str]
) -> Row:
    """How one curve ended: regret, arms, batches, dictionary, seconds; empty where a partial report
    has no record. `shown` names the runs of the whole table.
    """
    try:
        seeds = store.seeds(curve)
        if line.relative_to:
            base = paper.curve(curve.problem_name, line.relative_to)
            regret = store.relative(curve, "cumulative_regret", base)[:, -1]
        else:
            regret = store.values(curve, "cumulative_regret")[:, -1]
    except NotRun:
        return {}
    low, high = interval(regret)
    size = np.concatenate([batch_sizes(store.record(curve, seed)) for seed in seeds])
    seconds = store.values(curve, "seconds")
    return {
        "problem": curve.problem_name,
        "algorithm": curve.algorithm,
        "reading": published.reading_of(paper, store, curve, "cumulative_regret", shown),
        "seeds": len(seeds),
        "evaluations": curve.budget,
        "regret ratio" if line.relative_to else "regret": float(regret.mean()),
        "low": float(low),
        "high": float(high),
        **(
            _of_arms(store, curve, size)
            if is_on_arms(store.record(curve, seeds[0]))
            else _on_a_box(store, curve)
        ),
        **{
            name.replace("_", " "): _last(store.values(curve, f"report.{name}"))
            for name in line.reports
        },
        "seconds per 1000 evaluations": float(seconds[:, -1].mean()) * 1000 / seconds.shape[1],
        "data": store.data(curve),
    }


def _of_arms(store: Store, curve: Curve, size: np.ndarray) -> Row:
    """Which arm was recommended, how large the batches were, what the sketch kept."""
    return {
        "share stuck": float(store.values(curve, "stuck").mean()),
        **_recommended(store, curve),
        "mean batch": float(size.mean()) if len(size) else np.nan,
        "median batch": float(np.median(size)) if len(size) else np.nan,
        "largest batch": float(size.max()) if len(size) else np.nan,
        "batches": float(store.values(curve, "batches")[:, -1].mean()),
        "dictionary": _last(store.values(curve, "report.dictionary")),
        "distinct arms": _last(store.values(curve, "report.distinct_arms")),
    }


def _on_a_box(store: Store, curve: Curve) -> Row:
    """Regret of what was recommended, and how far a query after the initial design ever was from
    all before it, side length 1.
    """
    return {
        "recommendation regret": _last(store.values(curve, "recommendation_regret")),
        "farthest new query": max(
            farthest_query(store.record(curve, seed)) for seed in store.seeds(curve)
        ),
    }


def _recommended(store: Store, curve: Curve) -> Row:
    """The arm that most seeds recommend at the end (the first of equals), how many do, and its
    regret.
    """
    headers = [store.record(curve, seed).header for seed in store.seeds(curve)]
    arms = [str(header["recommendation"]["query"]) for header in headers]
    arm, votes = Counter(arms).most_common(1)[0]
    one = headers[arms.index(arm)]
    regret = float(one["best"] - one["recommendation"]["true"])
    return {"recommended most": arm, "by seeds": votes, "its regret": regret}


def _last(values: np.ndarray) -> float:
    return float(values[:, -1].mean())


def _study(paper: Paper, store: Store, line: lines.StudyTable) -> pd.DataFrame:
    """Means over the seeds of a study's columns, grouped."""
    study, wanted = paper.study(line.study), [*line.by, *line.columns]
    table = study_table(store, study, wanted, line.rows)
    grouped = table.groupby(line.by)
    return grouped[line.columns].mean().assign(seeds=grouped["seed"].nunique()).reset_index()
