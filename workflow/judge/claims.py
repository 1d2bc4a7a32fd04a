"""Judge the claims of a paper.

Paired over seeds; paired t with Holm's correction over a claim's comparisons decides at 5 %, from
five seeds on, the exact sign-flip p stands beside it. A verdict is `reproduced`, `direction only`,
`not reproduced`, or `undecided` with the reasons: substituted data, a scale other than `paper`, too
few seeds, or hypotheses that the runs do not meet. A claim is judged under every reading, too, that
changes one of its runs and for which the plan has all of them. Where the runs under a reading have
the traces of the default ones, the outcome is the `same run`, no second one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workflow.judge.checks import Comparison, compare
from workflow.judge.evidence import Check, Evidence, beside_default, runs_of
from workflow.measure.metrics import metric
from workflow.measure.statistics import ENOUGH, LEVEL, holm
from workflow.measure.store import NotRun, Run, Store
from workflow.plan.cells import DEFAULT, Cell, Paper
from workflow.plan.parameters import flat
from workflow.plan.resolve import PlanError, seed_range

REPRODUCED, DIRECTION, NOT, UNDECIDED = (
    "reproduced",
    "direction only",
    "not reproduced",
    "undecided",
)
NOT_RUN = "not run"
SAME_RUN = "same run"
Claim = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a claim comes to under another reading; all that is `not run` has no numbers.

    Of the `runs` of the claim to which the reading gives other parameters, `same_runs` have the
    very traces of the default ones.
    """

    verdict: str
    observed: str
    reasons: tuple[str, ...]
    seeds: int
    runs: int = 0
    same_runs: int = 0

    @property
    def was_run(self) -> bool:
        return self.observed != NOT_RUN

    @property
    def is_same_run(self) -> bool:
        """Whether the reading changes nothing on the problems of the claim: what is observed under
        it is no independent evidence.
        """
        return 0 < self.runs == self.same_runs

    @property
    def in_part(self) -> str:
        """Of how many runs a part is the same; "" where all are, or none."""
        return f"{self.same_runs} of {self.runs}" if 0 < self.same_runs < self.runs else ""


@dataclass(frozen=True)
class Verdict:
    """A claim, judged: what was compared, and why it may not be decided."""

    id: str
    where: str
    says: str
    verdict: str
    reasons: tuple[str, ...]
    observed: str
    comparisons: tuple[Comparison, ...]
    p_holm: tuple[float, ...]
    seeds: int
    data: str
    note: str
    readings: Mapping[str, Outcome]
    rerun: tuple[str, ...]


def judge(paper: Paper, store: Store, claim: Claim) -> Verdict:
    """The verdict on one claim, and what it comes to under the other readings that affect it."""
    verdict = _judge(paper, store, claim, DEFAULT)
    others = {
        name: _outcome(paper, store, claim, name, wanted)
        for name, wanted in readings_of(paper, claim).items()
    }
    return replace(verdict, readings=others)


def runs(paper: Paper) -> list[Run]:
    """Every run that a claim reads, under all readings.

    Raises PlanError where none is planned under the default one.
    """
    found: list[Run] = []
    for claim in paper.entry.get("claims", []):
        found += runs_of(paper, claim["check"])
        found += [run for wanted in readings_of(paper, claim).values() for run in wanted]
    return found


def readings_of(paper: Paper, claim: Claim) -> dict[str, list[Run]]:
    """The other readings that affect a claim, with its runs under each.

    A reading affects a claim if at least one of its runs is another one then. Where the plan lacks
    some of them the reading is left out; if the claim names it, it stays, without runs. Raises
    PlanError where a claim names an unknown reading.
    """
    known, named = paper.entry.get("readings", {}), claim.get("readings", [])
    if unknown := [name for name in named if name not in known]:
        raise PlanError(
            f"claim {claim['id']}: unknown reading {', '.join(unknown)}; known:"
            f" {', '.join(known) or 'none'}"
        )
    usual, found = [run.name for run in runs_of(paper, claim["check"])], {}
    for reading in known:
        try:
            wanted = runs_of(paper, claim["check"], reading)
        except PlanError:
            wanted = []
        if wanted or reading in named:
            found[reading] = wanted
    return {
        reading: wanted
        for reading, wanted in found.items()
        if [run.name for run in wanted] != usual
    }


def _judge(paper: Paper, store: Store, claim: Claim, reading: str) -> Verdict:
    check, wanted = claim["check"], runs_of(paper, claim["check"], reading)
    evidence = Evidence(paper, store, reading)
    try:
        comparisons, missing = compare(evidence, check), ""
        data = sorted(
            {
                store.data(run)
                for run in {run.name: run for run in wanted}.values()
                if store.has(run)
            }
        )
        seeds = min((comparison.n for comparison in comparisons), default=0)
    except NotRun as error:
        comparisons, missing, data, seeds = [], str(error), [], 0
    corrected = holm([comparison.p for comparison in comparisons]) if comparisons else np.empty(0)
    observed = NOT_RUN if missing else _observed(claim, comparisons, corrected)
    reasons = [missing] if missing else _reasons(evidence, claim, comparisons, data, seeds)
    reasons += [
        f"an evaluation took too long in {seeds}"
        for seeds in store.lacks({run.name: run for run in wanted})
    ]
    return Verdict(
        id=claim["id"],
        where=claim["where"],
        says=claim["says"],
        verdict=UNDECIDED if reasons else observed,
        reasons=tuple(reasons),
        observed=observed,
        comparisons=tuple(comparisons),
        p_holm=tuple(corrected.tolist()),
        seeds=seeds,
        data="; ".join(data),
        note=claim.get("note", ""),
        readings={},
        rerun=tuple(dict.fromkeys(command(run) for run in wanted)),
    )


def _outcome(
    paper: Paper, store: Store, claim: Claim, reading: str, planned: Sequence[Run]
) -> Outcome:
    """The verdict under another reading in short."""
    if not planned:
        return Outcome(NOT_RUN, NOT_RUN, (f"not planned at scale {paper.scale}",), 0)
    try:
        verdict = _judge(paper, store, claim, reading)
    except PlanError as error:  # a hypothesis about a curve that the check does not read
        return Outcome(NOT_RUN, NOT_RUN, (str(error),), 0)
    judged = NOT_RUN if verdict.observed == NOT_RUN else verdict.verdict
    pairs, check = beside_default(paper, claim["check"], reading), claim["check"]
    reads = metric(check["metric"]).reads if "metric" in check else ""
    same = [usual is not None and store.is_same(usual, other, reads) for usual, other in pairs]
    return Outcome(judged, verdict.observed, verdict.reasons, verdict.seeds, len(pairs), sum(same))


def _observed(claim: Claim, comparisons: Sequence[Comparison], corrected: np.ndarray) -> str:
    """What the numbers say, whether or not they may decide."""
    if not comparisons:
        return "nothing to compare"
    if any(not comparison.has_number for comparison in comparisons):
        return "no number"
    if all(comparison.holds for comparison in comparisons):
        significant = claim.get("deterministic") or (
            np.isfinite(corrected).all() and (corrected <= LEVEL).all()
        )
        return (
            REPRODUCED
            if significant and not any(comparison.undecided for comparison in comparisons)
            else DIRECTION
        )
    return NOT


def _reasons(
    evidence: Evidence,
    claim: Claim,
    comparisons: Sequence[Comparison],
    data: Sequence[str],
    seeds: int,
) -> list[str]:
    """Why these numbers do not decide the claim; empty if they do."""
    paper, reasons = evidence.paper, []
    unmet = [
        sentence
        for requirement in claim.get("requires", [])
        if (sentence := _unmet(evidence, claim["check"], requirement))
    ]
    if unmet:
        reasons.append(f"hypotheses not met: {'; '.join(unmet)}")
    if any(status.startswith("substitute") for status in data) and claim.get("data") != "any":
        reasons.append("substituted data")
    if paper.scale != "paper" and claim.get("scale") != "any":
        reasons.append(f"scale {paper.scale}")
    if not comparisons:
        reasons.append("nothing to compare at this scale")
    elif seeds < ENOUGH and not claim.get("deterministic"):
        reasons.append(f"{seeds} seed{'s' if seeds > 1 else ''}, {ENOUGH} are needed")
    if any(not comparison.has_number for comparison in comparisons):
        reasons.append("a comparison has no number at this budget")
    return reasons + sorted(
        {comparison.undecided for comparison in comparisons if comparison.undecided}
    )


def _unmet(evidence: Evidence, check: Check, requirement: Mapping[str, Any]) -> str:
    """Why a hypothesis is not met by what was run; "" if it is."""
    because = f" ({requirement['because']})" if "because" in requirement else ""
    if requirement.get("never"):
        return str(requirement["because"])
    if "column" in requirement:
        found = np.concatenate(
            [column(requirement["column"]) for _, column in evidence.rows(check)]
        )
        values = [float(found.min()), float(found.max())] if len(found) else [math.nan]
        where = f"{requirement['column']} of {check['study']}"
    elif "study" in requirement:
        values = np.atleast_1d(
            flat(evidence.paper.study(requirement["study"]).parameters, {requirement["parameter"]})[
                requirement["parameter"]
            ]
        ).tolist()
        where = f"{requirement['parameter']} of {requirement['study']}"
    else:
        curve, problem = requirement["curve"], requirement["problem"]
        where = f"{requirement['parameter']} of {curve} on {problem}"
        if evidence.leaves_out(check, problem, curve):
            return f"{where} belongs to no run of scale {evidence.paper.scale}"
        values = [_parameter(evidence.place(check, problem, curve), requirement["parameter"])]
    words = {"at_least": "at least", "at_most": "at most", "equals": "equal to"}
    for key, text in words.items():
        if key in requirement and not all(_meets(value, key, requirement[key]) for value in values):
            said = ", ".join(
                f"{value:g}" if isinstance(value, float | int) else str(value) for value in values
            )
            return f"{where} is {said}, has to be {text} {requirement[key]}{because}"
    return ""


def _meets(value: Any, key: str, bound: Any) -> bool:
    if key == "equals":
        return bool(value == bound)
    return bool(value >= bound if key == "at_least" else value <= bound)


def _parameter(cell: Cell, name: str) -> Any:
    entry = flat(cell.algorithm_entry, {name})
    if name not in entry:
        raise PlanError(
            f"{cell.name}: no parameter {name!r} to check a hypothesis on; known:"
            f" {', '.join(entry)}"
        )
    value = entry[name]
    if isinstance(value, dict):
        raise PlanError(
            f"{cell.name}: {name} is given by the problem, so that no hypothesis can be checked on"
            " it before a run"
        )
    return value


def command(run: Run) -> str:
    """What makes the records of a run again."""
    place = f"{run.problem_name} {run.curve}" if isinstance(run, Cell) else f"studies {run.id}"
    return f"python -m workflow.run {run.paper} {place} {seed_range(run.seeds)} --scale {run.scale}"
