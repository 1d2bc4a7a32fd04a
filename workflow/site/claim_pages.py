"""A claim, and each of its comparisons, as its page shows them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from workflow.judge import ledger, outcomes, render
from workflow.judge.checks import AGAINST, FOR, OF_ROWS, Comparison
from workflow.judge.history import UNENTERED, Fixed

Entry = Mapping[str, Any]
WIDTH, EDGE = 240, 8  # of a small picture, and of its margins, in pixels


@dataclass(frozen=True)
class Claim:
    """A claim with its verdict, as verdicts.json has it, and its line in the paper's YAML: {} where
    it is gone from there.
    """

    entry: Entry
    line: Entry

    @property
    def id(self) -> str:
        return str(self.entry["id"])

    @property
    def verdict(self) -> str:
        return str(self.entry["verdict"])

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All comparisons, the weakest first."""
        unsorted = [ledger.comparison(entry) for entry in self.entry["comparisons"]]
        return sorted(unsorted, key=lambda one: one.weakness)

    @property
    def group(self) -> str:
        """The group that it is counted in, if it is counted apart; "" for the others."""
        return outcomes.group(self.entry["qualifiers"])

    @property
    def summary(self) -> str:
        """What its comparisons came to, in a sentence."""
        comparisons = self.comparisons
        if self.entry["reasons"]:
            return f"Not decided: {'; '.join(self.entry['reasons'])}."
        if not comparisons:
            return "Nothing was compared."
        counted = [one for one in comparisons if not one.apart]
        if not counted:
            return "All comparisons are counted apart."
        sides = [one.decides for one in counted if not one.has_faded]
        holds = sum(one.holds for one in counted)
        faded = sum(one.has_faded for one in counted)
        many = f"{len(counted)} comparison{'s' * (len(counted) > 1)}"
        parts = [f"On the claimed side in {holds} of {many}"]
        if holds:
            parts.append(f"decided for the claim in {sides.count(FOR)}")
        if against := sides.count(AGAINST):
            parts.append(f"decided against the claim in {against}")
        if faded:
            parts.append(f"decided at the first look alone in {faded}")
        if apart := len(comparisons) - len(counted):
            parts.append(f"{apart} more decide{'s' * (apart == 1)} nothing")
        return f"{', '.join(parts)}; the weakest is {comparisons[0].what}."

    @property
    def fixed(self) -> str:
        """When its check and the defaults were fixed, in words; "" where nobody entered it."""
        said = self.entry["fixed"]
        return str(Fixed(**said)) if said and said["check"] != UNENTERED else ""

    @property
    def outcome(self) -> str:
        """That of a line of the appendix."""
        return render.outcome_of(self.verdict, self.entry["reasons"], self.entry["observed"])

    @property
    def why_apart(self) -> str:
        """Why it stands in the appendix."""
        entry = self.entry
        return outcomes.why_apart(entry["kind"], entry["qualifiers"], entry["observed"])

    @property
    def check(self) -> str:
        """Its check with its cases, as YAML; "" where it is gone from the paper's."""
        kept = {key: self.line[key] for key in ("check", "cases") if key in self.line}
        return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True) if kept else ""


def effect(one: Comparison) -> str:
    """An effect with its interval; why there is none."""
    return one.missing or render.effect(one)


def decided(one: Comparison) -> str:
    """Which side a comparison decides for, or why for none, in words."""
    if one.has_faded:
        return f"{one.decides} the claim at {one.at} seeds, no longer at {one.n}"
    if one.decides:
        return f"{one.decides} the claim"
    if why := one.apart or one.missing or one.few or one.undecided:
        return why
    if one.p_against <= one.level:
        return "on the other side, not surely enough for one comparison of several"
    return "for neither side"


def drawn(one: Comparison) -> dict[str, Any]:
    """Where a small picture of a comparison has the borders of the claimed side, the ends of the
    interval and the effect, on a scale of its own; {} where there is nothing to draw.
    """
    borders = [edge for edge in one.borders if math.isfinite(edge)]
    ends = [] if math.isnan(one.low) or math.isnan(one.high) else [one.low, one.high]  # of one seed
    effects = [] if OF_ROWS in one.kind else [one.effect]
    seen = [value for value in (one.low, *effects, one.high) if math.isfinite(value)]
    if not borders or not seen:
        return {}
    least, most = min(*borders, *seen), max(*borders, *seen)
    room = 0.08 * (most - least) or max(abs(most), 1.0)
    scale = (WIDTH - 2 * EDGE) / (most - least + 2 * room)

    def at(values: Iterable[float]) -> list[str]:
        places = (EDGE + (value - least + room) * scale for value in values)
        return [f"{min(max(place, EDGE), WIDTH - EDGE):.1f}" for place in places]

    return {"borders": at(borders), "ends": at(ends), "effect": at(filter(math.isfinite, effects))}
