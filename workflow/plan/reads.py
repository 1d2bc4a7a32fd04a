"""Which runs a claim reads: the names in its check, and in its null models, against a plan. No
number is read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from workflow.plan import selection
from workflow.plan.paper import Paper
from workflow.plan.sections import ReadingEntry
from workflow.plan.statements import (
    AppendixEntry,
    Check,
    ClaimEntry,
    Summarised,
)
from workflow.trace.curves import DEFAULT, AnyCurve, Curve


def claims_of(paper: Paper) -> list[ClaimEntry]:
    """What a paper claims."""
    return [ClaimEntry.model_validate(line) for line in paper.entry.get("claims", [])]


def appendix_of(paper: Paper) -> list[ClaimEntry]:
    """What is judged beside its claims."""
    return [AppendixEntry.model_validate(line) for line in paper.entry.get("appendix", [])]


def known_readings(paper: Paper) -> dict[str, ReadingEntry]:
    """The readings of a paper beside the default one, by name."""
    entries = paper.entry.get("readings", {})
    return {name: ReadingEntry.model_validate(entry) for name, entry in entries.items()}


def stated(paper: Paper) -> list[ClaimEntry]:
    """All that a paper's YAML has judged: its claims, then the appendix."""
    return [*claims_of(paper), *appendix_of(paper)]


def written(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The same lines as they stand in the YAML."""
    return [*entry.get("claims", []), *entry.get("appendix", [])]


def runs_of_claim(paper: Paper, claim: ClaimEntry, reading: str = DEFAULT) -> list[AnyCurve]:
    """Every run whose records a claim reads in any of its cases. Raises PlanError."""
    runs = [run for one in claim.asked for run in runs_of(paper, one.check, reading)]
    return list({run.name: run for run in runs}.values()) if claim.cases else runs


def runs_of(paper: Paper, check: Check, reading: str = DEFAULT) -> list[AnyCurve]:
    """Every run whose records a check reads. Raises PlanError where none is planned."""
    if check.study:
        return [paper.study(check.study)]
    runs: list[AnyCurve] = []
    for where, label, variant in each_read(paper, check, reading):
        curve = selection.curve_of(paper, where, label, reading=reading, variant=variant)
        runs += [*selection.companions(paper, curve), *base_of(paper, check, curve)]
    return runs


def null_runs(paper: Paper, claim: ClaimEntry) -> list[Curve]:
    """The runs of the curves that serve as null models of a claim."""
    return [
        selection.curve_of(paper, problem, label)
        for one in claim.asked
        for null in one.null_model
        for label in filter(None, (null.curve, null.instead))
        for problem in problems_of(paper, one.check)
        if not selection.is_left_out(paper, problem, label)
    ]


def each_read(paper: Paper, check: Check, reading: str) -> Iterator[tuple[str, str, str]]:
    """(problem, label, variant) of each curve that a check names."""
    for problem in problems_of(paper, check):
        where, rivals = check.opposite or problem, rivals_of(paper, check, problem, reading)
        places = [(problem, label) for label in named(paper, check, "left", problem, reading)]
        places += [(where, label) for label in named(paper, check, "right", where, reading)]
        places += [(problem, label) for label in named(paper, check, "curves", problem, reading)]
        places += [*product([problem], rivals), *product([where], rivals)]
        for place, label in places:
            for variant in variants_of(paper, check, place, label, reading):
                yield place, label, variant


def base_of(paper: Paper, check: Check, curve: Curve) -> list[Curve]:
    """The run that a check divides by, on the very problem of a curve."""
    return [paper.curve(curve.problem_name, check.relative_to)] if check.relative_to else []


def named(paper: Paper, check: Check, side: str, problem: str, reading: str = DEFAULT) -> list[str]:
    """The labels that a check names on one side, those that this scale has on a problem."""
    return [
        label for label in check.listed(side) if variants_of(paper, check, problem, label, reading)
    ]


def rivals_of(paper: Paper, check: Check, problem: str, reading: str = DEFAULT) -> list[str]:
    """The labels under `minus`, those that this scale has on both problems of a check."""
    there = named(paper, check, "minus", check.opposite or problem, reading)
    return [label for label in named(paper, check, "minus", problem, reading) if label in there]


def problems_of(paper: Paper, check: Check) -> list[str]:
    """The problems that a check names, else all of the paper."""
    return check.problems or list(paper.entry["problems"])


def variants_of(
    paper: Paper, check: Check, problem: str, label: str, reading: str = DEFAULT
) -> list[str]:
    """The variants at which a check looks at a curve on a problem, those that this scale has."""
    named = (check.variants if isinstance(check, Summarised) else []) or [DEFAULT]
    named = list(paper.entry.get("variants", {})) if named == "all" else named
    return [
        variant for variant in named if not left_out(paper, check, problem, label, variant, reading)
    ]


def left_out(
    paper: Paper, check: Check, problem: str, label: str, variant: str, reading: str
) -> bool:
    """Whether a scale leaves out a run under the default reading as under this one.

    What it leaves out under this reading alone is not left out but missing: a reading is never
    judged on default runs.
    """
    how = {"variant": variant, "relative_to": check.relative_to}
    return all(
        selection.is_left_out(paper, problem, label, reading=name, **how)
        for name in {DEFAULT, reading}
    )
