"""Judge the claims of a paper.

Paired over seeds; a one-sided paired t test decides, at five seeds and at ten, and the exact
sign-flip p stands beside it. `outcomes` has the words: reproduced, direction only, inconclusive,
contradicted, and not decided with the reasons: substituted data, a scale other than `paper`, too
few seeds, missing runs, or hypotheses that the runs do not meet. A claim about several comparisons
is contradicted as soon as one of them is, whether or not the others were run. A claim is judged
under every reading, too, that changes one of its runs and for which the plan has all of them. Where
the runs under a reading have the traces of the default ones, the outcome is the `same run`, no
second one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workflow.judge import trivial
from workflow.judge.checks import AGAINST, FOR, Comparison, compare
from workflow.judge.evidence import Check, Evidence, beside_default, runs_of
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    DISAGREE,
    FADED,
    INCONCLUSIVE,
    NO_NUMBER,
    NOT_RUN,
    NOTHING,
    OURS,
    OUTSIDE,
    REPRODUCED,
    STAND_IN,
    TRIVIAL,
    UNDECIDED,
)
from workflow.measure.metrics import metric
from workflow.measure.statistics import FULL, false_discovery
from workflow.measure.store import Run, Store
from workflow.plan.cells import DEFAULT, Cell, Paper
from workflow.plan.parameters import flat
from workflow.plan.reads import null_runs
from workflow.plan.resolve import PlanError, seed_range

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
    """A claim, judged: what was compared, why it may not be decided, and what its outcome is worth.

    `p` and `p_against` are those of the whole claim, for it and against it, valid at both looks; q
    is the one of the side that it is on, adjusted over all claims of the ledger (`with_q`).
    """

    id: str
    where: str
    says: str
    verdict: str
    qualifiers: tuple[str, ...]
    reasons: tuple[str, ...]
    observed: str
    comparisons: tuple[Comparison, ...]
    p: float
    p_against: float
    q: float
    seeds: int
    data: str
    note: str
    readings: Mapping[str, Outcome]
    rerun: tuple[str, ...]


def judge(paper: Paper, store: Store, claim: Claim) -> Verdict:
    """The verdict on one claim, and what it comes to under the other readings that affect it; none
    where the scale does not run what it reads.
    """
    if not paper.judges(claim["id"]):
        return _not_run(paper, claim)
    verdict = _judge(paper, store, claim, DEFAULT)
    if "null_model" in claim and verdict.observed in (REPRODUCED, DIRECTION):
        why = trivial.why(Evidence(paper, store, DEFAULT, FULL), claim)
        verdict = replace(
            verdict, qualifiers=(*verdict.qualifiers, *(f"{TRIVIAL}: {why}",) * bool(why))
        )
    others = {
        name: _outcome(paper, store, claim, name, wanted)
        for name, wanted in readings_of(paper, claim).items()
    }
    return replace(verdict, readings=others)


def with_q(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts of a whole ledger, each with its p adjusted over all of them: that for the claim
    where its numbers are on the claimed side, else that against it.
    """
    sides = [
        false_discovery([getattr(one, name) for one in verdicts]) for name in ("p", "p_against")
    ]
    return [
        replace(one, q=float(sides[one.observed not in (REPRODUCED, DIRECTION)][number]))
        for number, one in enumerate(verdicts)
    ]


def runs(paper: Paper) -> list[Run]:
    """Every run that a claim reads, under all readings.

    Raises PlanError where none is planned under the default one.
    """
    found: list[Run] = []
    for claim in paper.entry.get("claims", []):
        if not paper.judges(claim["id"]):
            continue
        found += [*runs_of(paper, claim["check"]), *null_runs(paper, claim)]
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
    wanted = {run.name: run for run in runs_of(paper, claim["check"], reading)}
    evidence = Evidence(paper, store, reading)
    found = compare(evidence, claim["check"], deterministic=bool(claim.get("deterministic")))
    there = [one for one in found if not one.missing]
    data = sorted({store.data(run) for run in wanted.values() if store.has(run)} if there else ())
    observed = _observed(found)
    outside = _outside(evidence, claim) if there else ""
    reasons = [outside] if outside else []
    reasons += _barred(evidence, claim, data)
    reasons += [] if any(one.decides == AGAINST for one in found) else _lacking(found)
    reasons += [f"an evaluation took too long in {seeds}" for seeds in store.lacks(wanted)]
    most = max((one.first for one in there), default=0)
    return Verdict(
        id=claim["id"],
        where=claim["where"],
        says=claim["says"],
        verdict=UNDECIDED if reasons else observed,
        qualifiers=tuple(_qualifiers(claim, found, observed, data, is_outside=bool(outside))),
        reasons=tuple(reasons),
        observed=observed,
        comparisons=tuple(found),
        p=_p(found),
        p_against=_p_against(found),
        q=math.nan,
        seeds=min((one.n for one in there), default=0),
        data="; ".join(data),
        note=claim.get("note", ""),
        readings={},
        rerun=tuple(dict.fromkeys(command(run, most) for run in wanted.values())),
    )


def _not_run(paper: Paper, claim: Claim) -> Verdict:
    """No verdict, of a claim whose runs belong to other scales."""
    return Verdict(
        id=claim["id"],
        where=claim["where"],
        says=claim["says"],
        verdict=UNDECIDED,
        qualifiers=(OURS,) if claim.get("ours") else (),
        reasons=(f"not run at scale {paper.scale}",),
        observed=NOT_RUN,
        comparisons=(),
        p=math.nan,
        p_against=math.nan,
        q=math.nan,
        seeds=0,
        data="",
        note=claim.get("note", ""),
        readings={},
        rerun=(),
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


def _observed(found: Sequence[Comparison]) -> str:
    """What the numbers say, whether or not they may decide."""
    if not found:
        return NOTHING
    if any(one.side == AGAINST for one in found):
        return CONTRADICTED
    if any(one.missing for one in found):
        return NOT_RUN
    if any(not one.has_number for one in found):
        return NO_NUMBER
    if all(one.side == FOR for one in found):
        return REPRODUCED
    return DIRECTION if all(one.holds or one.side == FOR for one in found) else INCONCLUSIVE


def _barred(evidence: Evidence, claim: Claim, data: Sequence[str]) -> list[str]:
    """Why no numbers of these runs decide the claim."""
    paper, reasons = evidence.paper, []
    if any(status.startswith("substitute") for status in data) and claim.get("data") != "any":
        reasons.append("substituted data")
    if not paper.is_full_size and claim.get("scale") != "any":
        reasons.append(f"scale {paper.scale}")
    return reasons


def _lacking(found: Sequence[Comparison]) -> list[str]:
    """Why these numbers do not decide the claim yet; empty if they do."""
    missing = list(dict.fromkeys(one.missing for one in found if one.missing))
    reasons = missing[:1] + [f"and {len(missing) - 1} more"] * (len(missing) > 1)
    reasons += [one.few for one in found if one.few]
    if not found:
        reasons.append("nothing to compare at this scale")
    if any(not one.missing and not one.has_number for one in found):
        reasons.append("a comparison has no number at this budget")
    return list(dict.fromkeys(reasons)) + sorted({one.undecided for one in found if one.undecided})


def _outside(evidence: Evidence, claim: Claim) -> str:
    """Which hypotheses of the claim's theorem its runs do not meet."""
    unmet = [_unmet(evidence, claim["check"], one) for one in claim.get("requires", [])]
    said = "; ".join(sentence for sentence in unmet if sentence)
    return f"hypotheses not met: {said}" if said else ""


def _qualifiers(
    claim: Claim,
    found: Sequence[Comparison],
    observed: str,
    data: Sequence[str],
    *,
    is_outside: bool,
) -> list[str]:
    """What the outcome of a claim is worth."""
    said = [OURS] if claim.get("ours") else []
    said += [f"{OUTSIDE}: observed {observed}"] if is_outside else []
    said += [STAND_IN] if any(status.startswith("substitute") for status in data) else []
    said += [DISAGREE] if any(one.tests_disagree for one in found) else []
    faded = any(one.decides == FOR and one.at < one.n and not one.p <= one.level for one in found)
    return said + ([FADED] if faded else [])


def _p(found: Sequence[Comparison]) -> float:
    """p of the whole claim: the largest of its comparisons, times how often they are looked at."""
    values = [min(1.0, one.p * one.looks) for one in found]
    return max(values) if values and np.isfinite(values).all() else math.nan


def _p_against(found: Sequence[Comparison]) -> float:
    """p against the whole claim: the smallest of its comparisons, times their number."""
    values = [one.p_against * one.looks for one in found if np.isfinite(one.p_against)]
    return min(1.0, len(found) * min(values)) if values else math.nan


def _unmet(evidence: Evidence, check: Check, requirement: Mapping[str, Any]) -> str:
    """Why a hypothesis is not met by what was run; "" if it is."""
    because = f" ({requirement['because']})" if "because" in requirement else ""
    if requirement.get("never"):
        return str(requirement["because"])
    if requirement.get("always"):
        return ""
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


def command(run: Run, first: int = 0) -> str:
    """What makes the records of a run again, of all its seeds or of the first so many."""
    place = f"{run.problem_name} {run.curve}" if isinstance(run, Cell) else f"studies {run.id}"
    seeds = seed_range(run.seeds[: first or None])
    return f"python -m workflow.run {run.paper} {place} {seeds} --scale {run.scale}"
