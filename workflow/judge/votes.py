"""The specifications of a claim and what each of them counts, from verdicts.json alone.

A **specification** is a way to run a claim: the default one or a reading. Readings under which
every run of the claim is the default one again, or that of another reading, are one specification
with it. An **axis** is the set of settings that a reading gives other values in runs of the claim;
specifications with the same axis are alternatives on it. A reading that repeats all changes of one
other reading and adds to them is a refinement of it, on its axis; one that repeats several combines
questions and has an axis of its own. The default has one **vote**, and each axis has one that its
alternatives share equally. A **control**, an experiment of ours that answers no question of the
paper, has no vote and belongs to no axis. So neither a reading that is said twice, nor one more
value on an axis, nor a refinement gives a question more weight than it had.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from workflow.judge.claims import Outcome, Weakest
from workflow.judge.outcomes import DIRECTION, NOT_RUN, ORDER, REPRODUCED
from workflow.judge.sensitivity import outcome
from workflow.trace.cells import PlanError

AS_PRINTED = "default"  # what the first specification is called
HOLDS = (REPRODUCED, DIRECTION)
KINDS = (*ORDER, NOT_RUN)  # what a specification counts as


@dataclass(frozen=True)
class Spec:
    """One specification of a claim: its reading, and others that come to the same runs; the
    settings that it changes (none by default); its vote; what it comes to; which records of a
    reading other code made; whether it is a control, which is none of the paper's.
    """

    names: tuple[str, ...]
    axis: tuple[str, ...]
    vote: Fraction
    outcome: Outcome
    weakest: Weakest | None
    other_code: str = ""
    is_control: bool = False

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def counts_as(self) -> str:
        """Its verdict, one of KINDS: what was observed where that may decide."""
        return NOT_RUN if not self.outcome.was_run else self.outcome.verdict

    @property
    def holds(self) -> bool:
        return self.counts_as in HOLDS


def specifications(claim: Mapping[str, Any]) -> list[Spec]:
    """All specifications of a claim of a verdicts.json, the default one first, then in the order of
    the YAML; controls are the last.

    Raises PlanError where the verdicts are older than settings.
    """
    found = {AS_PRINTED: _spec(AS_PRINTED, claim, ())}
    of: dict[str, str] = {}  # a reading: the specification that it belongs to
    controls: list[Spec] = []
    for name, judged in claim["readings"].items():
        if "settings" not in judged:
            raise PlanError(
                f"claim {claim['id']}: expected the settings that its readings change, found older"
                " verdicts: run `python -m workflow.report` again"
            )
        if judged.get("control"):
            spec = _spec(name, judged, tuple(judged["settings"]))
            controls.append(replace(spec, vote=Fraction(0), is_control=True))
            continue
        again = AS_PRINTED if outcome(judged).is_same_run else of.get(judged["again"], "")
        of[name] = again or name
        if again:
            found[again] = replace(found[again], names=(*found[again].names, name))
        else:
            # a reading that is named and not planned at this scale is a question of its own
            found[name] = _spec(name, judged, tuple(judged["settings"]) or (f"@{name}",))
    roots = {name: _root(claim["readings"], name, of) for name in found if name != AS_PRINTED}
    specs = [
        replace(spec, axis=found[roots[name]].axis) if name in roots else spec
        for name, spec in found.items()
    ]
    many = Counter(spec.axis for spec in specs)
    return [*(replace(spec, vote=Fraction(1, many[spec.axis])) for spec in specs), *controls]


def _root(readings: Mapping[str, Mapping[str, Any]], name: str, of: Mapping[str, str]) -> str:
    """The one specification that a reading refines and that refines none itself; the reading where
    there is none, or more than one.
    """
    known = [other for other in readings[name]["refines"] if of[other] not in (AS_PRINTED, name)]
    first = {of[one] for one in known if not set(readings[one]["refines"]) & set(known)}
    return first.pop() if len(first) == 1 else name


def axes(specs: Iterable[Spec]) -> dict[tuple[str, ...], list[Spec]]:
    """The alternatives on each axis, without the default and controls."""
    found: dict[tuple[str, ...], list[Spec]] = {}
    for spec in specs:
        if spec.axis and not spec.is_control:
            found.setdefault(spec.axis, []).append(spec)
    return found


def shares(specs: Sequence[Spec]) -> dict[str, float]:
    """The share of the votes that each of KINDS has; they add up to 1."""
    total = sum((spec.vote for spec in specs), Fraction(0))
    return {
        kind: float(sum((s.vote for s in specs if s.counts_as == kind), Fraction(0)) / total)
        for kind in KINDS
    }


def _spec(name: str, judged: Mapping[str, Any], axis: tuple[str, ...]) -> Spec:
    weakest, other = _weakest(judged.get("weakest")), judged.get("other_code", "")
    return Spec((name,), axis, Fraction(1), outcome(judged), weakest, other)


def _weakest(entry: Mapping[str, Any] | None) -> Weakest | None:
    """A weakest comparison as verdicts.json has it; null is infinite or no number."""
    if entry is None:
        return None
    numbers = {
        name: math.nan if entry[name] is None else float(entry[name])
        for name in ("effect", "low", "high")
    }
    return Weakest(entry["what"], entry["kind"], **numbers, borders=tuple(entry["borders"]))
