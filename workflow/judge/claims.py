"""Judge the claims of a paper.

Paired over seeds; a one-sided paired t test decides, at five seeds and at ten, and the exact
sign-flip p stands beside it. `outcomes` has the words: reproduced, direction only, inconclusive,
contradicted, and not decided with the reasons: substituted data, a scale other than `paper`, too
few seeds, missing runs, or hypotheses that the runs do not meet. A claim about several comparisons
is contradicted as soon as one of them is, whether or not the others were run. The comparisons of a
claim that is asked in several cases are those of all of them; a case outside the theorem, about an
implementation, or in which nothing can fail decides nothing while others do. A claim is judged
under every reading, too, that changes one of its runs and for which the plan has all of them; where
the plan lacks some, a reading that the claim names is `not run`. Where the runs under a reading
have the traces of the default ones, the outcome is the `same run`, no second one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import ge, le
from typing import Any

import numpy as np

from workflow.data.places import is_substitute
from workflow.judge import trivial
from workflow.judge.checks import (
    AGAINST,
    FOR,
    Comparison,
    compare,
    pairs_of,
    parts_of,
    refuting_level,
)
from workflow.judge.evidence import Evidence, beside_default
from workflow.judge.history import Fixed, Line, of
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    DISAGREE,
    FADED,
    HOLDS,
    IMPLEMENTATION,
    INCONCLUSIVE,
    NO_NUMBER,
    NOT_RUN,
    NOTHING,
    ON_SUBSTITUTE,
    OTHER_CODE,
    OUTSIDE,
    REPRODUCED,
    SEVERAL_PROCESSORS,
    TRIVIAL,
    UNDECIDED,
    group,
)
from workflow.measure.metrics import TIME, metric
from workflow.measure.statistics import FULL, false_discovery
from workflow.measure.store import NotRun, Store
from workflow.plan import selection
from workflow.plan.paper import Paper
from workflow.plan.parameters import flat
from workflow.plan.reads import (
    known_readings,
    left_out,
    named,
    null_runs,
    problems_of,
    runs_of_claim,
    stated,
    variants_of,
    written,
)
from workflow.plan.statements import (
    AnyCheck,
    AppendixEntry,
    Asked,
    ClaimEntry,
    Requirement,
)
from workflow.trace.curves import DEFAULT, AnyCurve, Curve, PlanError, seed_range

AS_PRINTED = "as printed"  # the setting of what the paper says
OUR_SECONDS = "seconds of our own code"


@dataclass(frozen=True)
class Outcome:
    """What a claim comes to under one setting; all that is `not run` has no numbers.

    Of the `runs` of the claim to which the setting gives other parameters, `same_runs` have the
    very traces of the default ones. A `control` is an experiment of ours, no reading of the paper.
    """

    verdict: str
    observed: str
    reasons: tuple[str, ...]
    seeds: int
    comparisons: tuple[Comparison, ...] = ()
    runs: int = 0
    same_runs: int = 0
    control: bool = False

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
    def counts_as(self) -> str:
        """Its verdict, one of KINDS."""
        return self.verdict if self.was_run else NOT_RUN


@dataclass(frozen=True)
class Nearest:
    """What a claim comes to under the reading that is nearest to the published numbers of its
    experiment (`judge/closeness.py`), where that is not the default one.
    """

    experiment: str
    reading: str
    verdict: str
    observed: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """A claim, judged: what was compared, why it may not be decided, and what its outcome is worth.

    `p` and `p_against` are those of the whole claim, for it and against it, valid at both looks; q
    is the one of the side that it is on, adjusted over the claims that are counted with it
    (`with_q`). `fixed` says when check and defaults were (`with_history`); None where nobody asked.
    `kind` says why it stands in the appendix; "" of a claim.
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
    fixed: Fixed | None = None
    nearest: Nearest | None = None
    kind: str = ""

    @property
    def settings(self) -> dict[str, Outcome]:
        """What the claim comes to under every setting, the paper as printed first."""
        parts = self.verdict, self.observed, self.reasons, self.seeds, self.comparisons
        return {AS_PRINTED: Outcome(*parts), **self.readings}


def judge(paper: Paper, store: Store, claim: ClaimEntry) -> Verdict:
    """The verdict on one claim, and what it comes to under the other readings that affect it."""
    verdict = by_default(paper, store, claim)
    if not claim.cases and verdict.observed in HOLDS:
        why = trivial.why(Evidence(paper, store, DEFAULT, FULL), claim.asked[0])
        qualifiers = [f"{TRIVIAL}: {why}"] if why else []
        verdict = replace(verdict, qualifiers=(*verdict.qualifiers, *qualifiers))
    known = known_readings(paper)
    others = {
        name: replace(_outcome(paper, store, claim, name, runs), control=known[name].control)
        for name, runs in readings_of(paper, claim).items()
    }
    return replace(verdict, readings=others)


def by_default(paper: Paper, store: Store, claim: ClaimEntry) -> Verdict:
    """The verdict on one claim under the default reading alone, without other qualifiers than
    those of its numbers.
    """
    return _judge(Evidence(paper, store), claim, runs_of_claim(paper, claim))


def with_q(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts of a whole ledger, each with its p adjusted over those that are counted with it,
    that for the claim where its numbers are on the claimed side, else that against it.
    """
    families = [group(one.qualifiers) for one in verdicts]
    judged = list(verdicts)
    for family in set(families):
        places = [place for place, name in enumerate(families) if name == family]
        for name in ("p", "p_against"):
            adjusted = false_discovery([getattr(verdicts[place], name) for place in places])
            for place, q in zip(places, adjusted, strict=True):
                is_for = verdicts[place].observed in HOLDS
                if is_for == (name == "p"):
                    judged[place] = replace(verdicts[place], q=float(q))
    return judged


def with_history(
    paper: Paper, verdicts: Sequence[Verdict], lines: Mapping[str, Line]
) -> list[Verdict]:
    """The verdicts of a whole ledger, each with what the lines of its paper's history say."""
    claims = {line["id"]: line for line in written(paper.entry)}
    pairs = [(one, of(paper.entry, claims[one.id], lines)) for one in verdicts]
    return [
        replace(one, fixed=said, qualifiers=(*one.qualifiers, *said.qualifiers))
        for one, said in pairs
    ]


def runs(paper: Paper) -> list[AnyCurve]:
    """Every run that a claim reads, under all readings.

    Raises PlanError where none is planned under the default one.
    """
    every: list[AnyCurve] = []
    for claim in stated(paper):
        every += [*runs_of_claim(paper, claim), *null_runs(paper, claim)]
        every += [run for wanted in readings_of(paper, claim).values() for run in wanted]
    return every


def readings_of(paper: Paper, claim: ClaimEntry) -> dict[str, list[AnyCurve]]:
    """The other readings that affect a claim, with its runs under each.

    A reading affects a claim if at least one of its runs is another one then, and if it leaves two
    sides to compare. Where the plan lacks some of the runs the reading is left out; if the claim
    names it, it stays, without runs. Raises PlanError where a claim names an unknown reading.
    """
    known = known_readings(paper)
    if unknown := [name for name in claim.readings if name not in known]:
        raise PlanError(
            f"claim {claim.id}: unknown reading {', '.join(unknown)}; known:"
            f" {', '.join(known) or 'none'}"
        )
    readings: dict[str, list[AnyCurve]] = {}
    for reading in known:
        try:
            wanted = runs_of_claim(paper, claim, reading)
        except PlanError:
            if reading in claim.readings:
                readings[reading] = []
            continue
        is_empty = all(_compares_nothing(paper, one.check, reading) for one in claim.asked)
        if beside_default(paper, claim, reading) and not is_empty:
            readings[reading] = wanted
    return readings


def _compares_nothing(paper: Paper, check: AnyCheck, reading: str) -> bool:
    """Whether both sides of a check are the same runs under a reading, as where one side is named
    by that very reading.
    """
    if check.study:
        return True  # which no reading changes
    if check.opposite:
        return False
    pairs = [
        [
            selection.curve_of(paper, problem, label, reading=reading, variant=variant)
            for label in both
        ]
        for problem in problems_of(paper, check)
        for both in product(
            *(named(paper, check, side, problem, reading) for side in ("left", "right"))
        )
        for variant in variants_of(paper, check, problem, both[0], reading)
        if variant in variants_of(paper, check, problem, both[1], reading)
    ]
    return bool(pairs) and all(left == right for left, right in pairs)


def _judge(evidence: Evidence, claim: ClaimEntry, planned: Sequence[AnyCurve]) -> Verdict:
    """The verdict on the `planned` runs of a claim, which are those that the evidence reads."""
    store, wanted = evidence.store, {run.name: run for run in planned}
    every = compared(evidence, claim)
    decisive, many = deciding(every), len(_admitted(every) or every)
    there = [one for one in decisive if not one.missing]
    data = sorted({store.data(run) for run in wanted.values() if store.has(run)} if there else ())
    observed = _observed(decisive)
    if is_faded := _has_faded(decisive, observed, many):
        holds = observed == REPRODUCED and all(one.holds for one in decisive)
        observed = DIRECTION if holds else INCONCLUSIVE
    unmet = outside(evidence, claim) if there else ""
    reasons = [unmet] * bool(unmet) + _standing(evidence, claim, data, wanted)
    reasons += [] if any(one.decides == AGAINST for one in decisive) else _lacking(decisive)
    most = max((one.first for one in every if not one.missing), default=0)
    said = _qualifiers(claim, decisive, observed, data, is_outside=bool(unmet), is_faded=is_faded)
    if processors := _processors(evidence, claim):
        said.append(f"{SEVERAL_PROCESSORS}: {'; '.join(processors)}")
    if other := store.of_other_code(wanted.values()):
        said.append(f"{OTHER_CODE}: {other}")
    return Verdict(
        id=claim.id,
        where=claim.where,
        says=claim.says,
        verdict=UNDECIDED if reasons else observed,
        qualifiers=tuple(said),
        reasons=tuple(reasons),
        observed=observed,
        comparisons=tuple(every),
        p=_p(decisive),
        p_against=_p_against(decisive, many),
        q=math.nan,
        seeds=min((one.n for one in there), default=0),
        data="; ".join(data),
        note=claim.note,
        readings={},
        rerun=tuple(dict.fromkeys(command(run, most) for run in wanted.values())),
        kind=claim.kind if isinstance(claim, AppendixEntry) else "",
    )


def _processors(evidence: Evidence, claim: ClaimEntry) -> list[str]:
    """The processors of the records, if a claim compares seconds of several. A study times all of
    its methods in one process.
    """
    timed = (
        part.runs
        for one in claim.asked
        if not one.check.study and metric(one.check.metric).reads == TIME
        for part in parts_of(evidence, one.check)
    )
    each = [evidence.store.processors(runs) for runs in timed if len(runs) > 1]
    return sorted({processor for names in each if len(names) > 1 for processor in names})


def compared(evidence: Evidence, claim: ClaimEntry) -> list[Comparison]:
    """The comparisons of a claim in all its cases. Those of a case outside the theorem, about an
    implementation, or in which nothing can fail say so; the level at which one refutes the claim is
    shared by all others and by those that cannot fail.
    """
    if not claim.cases:
        return compare(evidence, claim.check, deterministic=claim.deterministic)
    barred = [_barred(evidence, one) for one in claim.asked]
    many = sum(
        len(parts_of(evidence, one.check))
        for one, why in zip(claim.asked, barred, strict=True)
        if not why
    )
    comparisons: list[Comparison] = []
    for one, why in zip(claim.asked, barred, strict=True):
        share = 0 if why else many
        mine = compare(evidence, one.check, deterministic=claim.deterministic, many=share)
        if not why and mine and all(part.holds for part in mine):
            null = trivial.why(replace(evidence, first=FULL), one)
            why = f"{TRIVIAL}: {null}" if null else ""
        comparisons += [replace(part, what=f"{one.name}: {part.what}", apart=why) for part in mine]
    return comparisons


def deciding(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons that the outcome of a claim rests on: those of cases that decide; where
    none does, those that may; else all.
    """
    return (
        [one for one in comparisons if not one.apart] or _admitted(comparisons) or list(comparisons)
    )


def _admitted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons of cases that may decide."""
    return [one for one in comparisons if not one.apart.startswith((OUTSIDE, IMPLEMENTATION))]


def _barred(evidence: Evidence, asked: Asked) -> str:
    """Why a case decides nothing, whatever its numbers are; "" of one that may."""
    if unmet := _outside(evidence, asked):
        return f"{OUTSIDE}: {unmet}"
    return f"{IMPLEMENTATION}: {OUR_SECONDS}" if asked.implementation else ""


def _outcome(
    paper: Paper, store: Store, claim: ClaimEntry, reading: str, planned: Sequence[AnyCurve]
) -> Outcome:
    """What a claim comes to under another reading."""
    if not planned:
        return Outcome(NOT_RUN, NOT_RUN, (f"not planned at scale {paper.scale}",), 0)
    evidence = Evidence(paper, store, reading)
    try:
        verdict = _judge(evidence, claim, planned)
    except PlanError as error:  # a hypothesis about a curve that the check does not read
        return Outcome(NOT_RUN, NOT_RUN, (str(error),), 0)
    judged = NOT_RUN if verdict.observed == NOT_RUN else verdict.verdict
    pairs = beside_default(paper, claim, reading)
    # beside the trace of a record
    reads = {metric(one.check.metric).reads if one.check.metric else "" for one in claim.asked}
    missing = [other.name for _, other in pairs if not store.has(other)]
    if missing and judged != NOT_RUN and not _refuted_by(verdict, evidence, claim, pairs):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        why = f"{missing[0]}{more}: not run at scale {paper.scale}; the default's runs decide"
        return Outcome(NOT_RUN, NOT_RUN, (why,), 0, runs=len(pairs))
    same = [
        usual is not None and all(store.is_same(usual, other, what) for what in reads)
        for usual, other in pairs
    ]
    parts = verdict.observed, verdict.reasons, verdict.seeds, verdict.comparisons
    return Outcome(judged, *parts, runs=len(pairs), same_runs=sum(same))


def _refuted_by(
    verdict: Verdict,
    evidence: Evidence,
    claim: ClaimEntry,
    pairs: Sequence[tuple[Curve | None, Curve]],
) -> bool:
    """Whether a comparison that refutes a claim under a reading has a run of the reading's own."""
    own = {run.name for _, run in pairs}
    parts = pairs_of(evidence, claim)
    return any(
        one.decides == AGAINST and own & {run.name for run in part}
        for one, part in zip(verdict.comparisons, parts, strict=True)
    )


def _observed(comparisons: Sequence[Comparison]) -> str:
    """What the numbers say, whether or not they may decide."""
    if not comparisons:
        return NOTHING
    if any(one.side == AGAINST for one in comparisons):
        return CONTRADICTED
    if any(one.missing for one in comparisons):
        return NOT_RUN
    if any(not one.has_number for one in comparisons):
        return NO_NUMBER
    if all(one.side == FOR for one in comparisons):
        return REPRODUCED
    return DIRECTION if all(one.holds or one.side == FOR for one in comparisons) else INCONCLUSIVE


def _standing(
    evidence: Evidence, claim: ClaimEntry, data: Sequence[str], wanted: Mapping[str, AnyCurve]
) -> list[str]:
    """Why the `wanted` runs of a claim, which are made of `data`, may not decide it, whatever their
    numbers are.
    """
    reasons = []
    if any(map(is_substitute, data)) and claim.data != "any":
        reasons.append("substituted data")
    if evidence.paper.scale != "paper" and claim.scale != "any":
        reasons.append(f"scale {evidence.paper.scale}")
    if claim.is_of_implementations:
        reasons.append(OUR_SECONDS)
    late = evidence.store.lacks(wanted)
    return reasons + [f"an evaluation took too long in {seeds}" for seeds in late]


def _lacking(comparisons: Sequence[Comparison]) -> list[str]:
    """Why these numbers do not decide the claim yet; empty if they do."""
    missing = list(dict.fromkeys(one.missing for one in comparisons if one.missing))
    reasons = missing[:1] + [f"and {len(missing) - 1} more"] * (len(missing) > 1)
    reasons += [one.few for one in comparisons if one.few]
    if not comparisons:
        reasons.append("nothing to compare at this scale")
    if any(not one.missing and not one.has_number for one in comparisons):
        reasons.append("a comparison has no number at this budget")
    return list(dict.fromkeys(reasons)) + sorted(
        {one.undecided for one in comparisons if one.undecided}
    )


def outside(evidence: Evidence, claim: ClaimEntry) -> str:
    """Which hypotheses of the claim's theorem its runs do not meet, in any case."""
    unmet = [_outside(evidence, one) for one in claim.asked]
    return "; ".join(dict.fromkeys(unmet)) if all(unmet) else ""


def _outside(evidence: Evidence, asked: Asked) -> str:
    """The same of one case; "" where nothing of it was run, which breaks no hypothesis."""
    try:
        unmet = [_unmet(evidence, asked.check, one) for one in asked.requires]
    except NotRun:
        return ""
    said = "; ".join(sentence for sentence in unmet if sentence)
    return f"hypotheses not met: {said}" if said else ""


def _qualifiers(
    claim: ClaimEntry,
    comparisons: Sequence[Comparison],
    observed: str,
    data: Sequence[str],
    *,
    is_outside: bool,
    is_faded: bool,
) -> list[str]:
    """What the outcome of a claim is worth."""
    said = [f"{OUTSIDE}: observed {observed}"] if is_outside else []
    said += [one.apart for one in comparisons if one.apart.startswith(TRIVIAL)][:1]
    said += [IMPLEMENTATION] * claim.is_of_implementations
    said += [ON_SUBSTITUTE] if any(map(is_substitute, data)) else []
    said += [DISAGREE] if any(one.tests_disagree for one in comparisons) else []
    return said + [FADED] * is_faded


def _has_faded(comparisons: Sequence[Comparison], observed: str, many: int) -> bool:
    """Whether an outcome rests on what the first look decided and later seeds show no longer: one
    comparison of those that all have to be shown, or all that refute the claim.
    """
    early = [
        one for one in comparisons if 0 < one.at < one.n
    ]  # where nothing is drawn there is no look
    if observed == REPRODUCED:
        return any(not one.p <= one.level for one in early)
    against = [one for one in comparisons if one.side == AGAINST and not one.few]
    return (
        observed == CONTRADICTED
        and bool(against)
        and all(one in early and not one.p_against <= refuting_level(one, many) for one in against)
    )


def _p(comparisons: Sequence[Comparison]) -> float:
    """p of the whole claim: the largest of its comparisons, times how often they are looked at."""
    values = [one.p * one.looks for one in comparisons]
    return min(1.0, max(values)) if values and np.isfinite(values).all() else math.nan


def _p_against(comparisons: Sequence[Comparison], many: int) -> float:
    """p against the whole claim: the smallest of its comparisons, times the number of all."""
    values = [one.p_against * one.looks for one in comparisons if np.isfinite(one.p_against)]
    return min(1.0, many * min(values)) if values else math.nan


def _unmet(evidence: Evidence, check: AnyCheck, required: Requirement) -> str:
    """Why a hypothesis is not met by what was run; "" if it is."""
    because = f" ({required.because})" if required.because else ""
    if required.never:
        return required.because
    if required.always:
        return ""
    if required.column:
        rows = evidence.rows(check.study, check.rows)
        numbers = np.concatenate([column(required.column) for column in rows])
        values = [float(numbers.min()), float(numbers.max())] if len(numbers) else [math.nan]
        where = f"{required.column} of {check.study}"
    else:
        label, problem = required.curve, required.problem
        where = f"{required.parameter} of {label} on {problem}"
        if left_out(evidence.paper, check, problem, label, DEFAULT, evidence.reading):
            return f"{where} belongs to no run of scale {evidence.paper.scale}"
        values = [_parameter(evidence.curve(problem, label), required.parameter)]
    for bound, text, keeps in (
        (required.at_least, "at least", ge),
        (required.at_most, "at most", le),
    ):
        if math.isfinite(bound) and not all(keeps(value, bound) for value in values):
            if required.column and because and keeps is ge and bound == 1:
                met = "no row" if values[-1] < 1 else "not every row"
                return f"{met} of {check.study} meets{because}"
            said = " to ".join(dict.fromkeys(f"{value:g}" for value in values))
            return f"{where} is {said}, has to be {text} {bound:g}{because}"
    return ""


def _parameter(curve: Curve, name: str) -> Any:
    entry = flat(curve.algorithm_entry, {name})
    if name not in entry:
        raise PlanError(
            f"{curve.name}: no parameter {name!r} to check a hypothesis on; known:"
            f" {', '.join(entry)}"
        )
    value = entry[name]
    if isinstance(value, dict):
        raise PlanError(
            f"{curve.name}: {name} is given by the problem, so that no hypothesis can be checked on"
            " it before a run"
        )
    return value


def command(curve: AnyCurve, first: int = 0) -> str:
    """What makes the records of a curve again, of all its seeds or of the first so many."""
    place, seeds = " ".join(curve.place), seed_range(curve.seeds[: first or None])
    return f"python -m workflow.run {curve.paper} {place} {seeds} --scale {curve.scale}"
