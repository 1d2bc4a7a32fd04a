"""Which runs a claim reads: the names in its check, and in its null models, against a plan. No
number is read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from workflow.plan import selection
from workflow.plan.paper import Paper
from workflow.trace.cells import DEFAULT, Cell, Study

Check = Mapping[str, Any]
Claim = Mapping[str, Any]


def stated(entry: Mapping[str, Any]) -> list[Claim]:
    """All that a paper's YAML has judged: its claims, then the appendix."""
    return [*entry.get("claims", []), *entry.get("appendix", [])]


def settings_of(claim: Claim) -> list[Claim]:
    """A claim as it is asked in each of its settings, with the check, the hypotheses and the null
    models of that one; the claim itself where it names no settings.
    """
    own = ("name", "requires", "null_model")
    return [
        {
            **claim,
            **{key: line[key] for key in own if key in line},
            "check": {**claim["check"], **{k: v for k, v in line.items() if k not in own}},
        }
        for line in claim.get("settings", [])
    ] or [claim]


def runs_of_claim(paper: Paper, claim: Claim, reading: str = DEFAULT) -> list[Cell | Study]:
    """Every run whose records a claim reads in any of its settings. Raises PlanError."""
    runs = [run for one in settings_of(claim) for run in runs_of(paper, one["check"], reading)]
    return list({run.name: run for run in runs}.values()) if "settings" in claim else runs


def runs_of(paper: Paper, check: Check, reading: str = DEFAULT) -> list[Cell | Study]:
    """Every run whose records a check reads. Raises PlanError where none is planned."""
    if "study" in check:
        return [paper.study(check["study"])]
    runs: list[Cell | Study] = []
    for place, curve, variant in each_read(paper, check, reading):
        cell = selection.place(paper, place, curve, reading=reading, variant=variant)
        runs += [*selection.companions(paper, cell), *base_of(paper, check, cell)]
    return runs


def null_runs(paper: Paper, claim: Claim) -> list[Cell]:
    """The runs of the curves that serve as null models of a claim."""
    return [
        selection.place(paper, problem, line[kind])
        for one in settings_of(claim)
        for line in one.get("null_model", [])
        for kind in ("curve", "instead")
        if kind in line
        for problem in problems_of(paper, one["check"])
        if not selection.is_left_out(paper, problem, line[kind])
    ]


def each_read(paper: Paper, check: Check, reading: str) -> Iterator[tuple[str, str, str]]:
    """(problem, curve, variant) of each run that a check names."""
    for problem in problems_of(paper, check):
        where, rivals = opposite(check, problem), rivals_of(paper, check, problem, reading)
        places = [(problem, curve) for curve in named(paper, check, "left", problem, reading)]
        places += [(where, curve) for curve in named(paper, check, "right", where, reading)]
        places += [(problem, curve) for curve in named(paper, check, "curves", problem, reading)]
        places += [*product([problem], rivals), *product([where], rivals)]
        for place, curve in places:
            for variant in variants_of(paper, check, place, curve, reading):
                yield place, curve, variant


def base_of(paper: Paper, check: Check, cell: Cell) -> list[Cell]:
    """The run that a check divides by, on the very problem of a cell."""
    return [paper.cell(cell.problem_name, check["relative_to"])] if "relative_to" in check else []


def named(paper: Paper, check: Check, side: str, problem: str, reading: str = DEFAULT) -> list[str]:
    """The curves that a check names on one side, those that this scale has on a problem."""
    curves = check[side] if isinstance(check.get(side), list) else []
    return [curve for curve in curves if variants_of(paper, check, problem, curve, reading)]


def rivals_of(paper: Paper, check: Check, problem: str, reading: str = DEFAULT) -> list[str]:
    """The curves under `minus`, those that this scale has on both problems of a check."""
    there = named(paper, check, "minus", opposite(check, problem), reading)
    return [curve for curve in named(paper, check, "minus", problem, reading) if curve in there]


def problems_of(paper: Paper, check: Check) -> list[str]:
    return list(check.get("problems", paper.entry["problems"]))


def opposite(check: Check, problem: str) -> str:
    """The problem on which the right side of a check is read: the same one, unless the check
    compares two problems.
    """
    return str(check.get("against", problem))


def variants_of(
    paper: Paper, check: Check, problem: str, curve: str, reading: str = DEFAULT
) -> list[str]:
    """The variants at which a check looks at a curve on a problem, those that this scale has."""
    named = check.get("variants", [DEFAULT])
    named = list(paper.entry.get("variants", {})) if named == "all" else named
    return [
        variant for variant in named if not left_out(paper, check, problem, curve, variant, reading)
    ]


def left_out(
    paper: Paper, check: Check, problem: str, curve: str, variant: str, reading: str
) -> bool:
    """Whether a scale leaves out a run under the default reading as under this one.

    What it leaves out under this one alone is missed: the verdict on a reading is none on default
    runs.
    """
    how = {"variant": variant, "relative_to": check.get("relative_to", "")}
    return all(
        selection.is_left_out(paper, problem, curve, reading=name, **how)
        for name in {DEFAULT, reading}
    )
