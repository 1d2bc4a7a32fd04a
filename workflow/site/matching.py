"""Beside which figure, table or picture a claim is shown: the one that draws what decides it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Line = Mapping[str, Any]  # of a section of a paper's YAML
KINDS = {
    "fig": "figure",
    "table": "table",
    "theorem": "theorem",
    "thm": "theorem",
    "lemma": "lemma",
    "cor": "corollary",
    "corollary": "corollary",
    "def": "definition",
    "definition": "definition",
    "prop": "proposition",
    "proposition": "proposition",
    "assumption": "assumption",
}
ITEM = r"(?:[A-Z]\.)?\d+(?:\.\d+)*(?: ?\([a-z](?:[,-] ?[a-z])*\))?"
PLACE = re.compile(
    r"(supplementary )?\b(figs?|tables?|theorems?|thms?|lemmas?|corollar(?:y|ies)|cors?|"
    r"definitions?|defs?|propositions?|props?|"
    rf"assumptions?)\.? ({ITEM}(?:(?:,| and|, and| to|;) {ITEM})*)",
    re.IGNORECASE,
)
Label = tuple[str, str, str]  # of a kind, its number, the letter of a part


def decided_by(claims: Sequence[Line], shown: Sequence[Line]) -> dict[str, list[str]]:
    """The ids of the claims to be shown beside each thing that is shown; a claim that nothing shows
    is under "".
    """
    found: dict[str, list[str]] = {line["id"]: [] for line in shown}
    for claim in claims:
        best = max(shown, key=lambda line: _score(claim, line), default=None)
        place = best["id"] if best is not None and _score(claim, best)[0] > 0 else ""
        found.setdefault(place, []).append(claim["id"])
    return found


def labels(where: str) -> set[Label]:
    """The figures, tables and theorems that a place in a paper names: "Figs.

    1(a) and 4" holds two.
    """
    found = set()
    for supplementary, kind, items in PLACE.findall(where):
        name = next(full for short, full in KINDS.items() if kind.lower().startswith(short))
        for item in re.findall(ITEM, items):
            number, _, part = item.replace(" ", "").partition("(")
            found.add((f"{supplementary.lower()}{name}", number, part.rstrip(")")))
    return found


def _score(claim: Line, line: Line) -> tuple[float, ...]:
    """How well a thing shows what decides a claim; the first number is 0 where it does not."""
    check = claim["check"]
    same_study = "study" in check and check["study"] in _values(line, "study")
    place = _agreement(
        labels(claim.get("where", "")), labels(line.get("where", "") or line.get("title", ""))
    )
    problems = _share(
        check.get("problems", []), _values(line, "problem") | _values(line, "problems")
    )
    curves = _share(_curves(check), _values(line, "curves"))
    metric = check.get("metric") in _values(line, "metric")
    named = place and ("study" in check or problems or not check.get("problems"))
    fits = same_study or named or (problems and curves and metric)
    return (
        float(bool(fits)),
        2.0 * same_study + place,
        problems + curves + 0.5 * metric,
        -len(line.get("readings", [])),
    )


def _agreement(one: set[Label], other: set[Label]) -> float:
    """2 where both name the same part of a figure, 1 where they name the same figure, 0 else."""
    if any(label in other for label in one):
        return 2.0 if any(label in other and label[2] for label in one) else 1.5
    return float(any(a[:2] == b[:2] and not (a[2] and b[2]) for a in one for b in other))


def _curves(check: Line) -> list[str]:
    sides = [check.get(side) for side in ("left", "right", "curves", "minus")]
    return [curve for side in sides if isinstance(side, list) for curve in side]


def _values(line: Line, key: str) -> set[str]:
    """What a line or one of its panels, blocks or levels says under a key."""
    parts: Iterable[Line] = [line, *line.get("panels", []), *line.get("blocks", [])]
    found: set[str] = set()
    for part in parts:
        value = part.get(key)
        found |= (
            set(value) if isinstance(value, list) else {value} if isinstance(value, str) else set()
        )
    return found


def _share(wanted: Sequence[str], there: set[str]) -> float:
    return len(set(wanted) & there) / len(set(wanted)) if wanted else 0.0
