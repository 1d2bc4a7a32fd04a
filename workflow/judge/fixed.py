"""Whether the check of a claim, and the defaults of its runs, were fixed before its first records.

papers/history.json holds a line a claim: since when both have been what they are, and when records
of the claim were there first. `python -m workflow.history` writes the lines. A line holds hashes of
what it speaks of: where the YAML says something else today, the claim has been changed since, and
the verdict says so at once.

The check is what decides: `check` with its tolerances, `settings`, `requires`,
`deterministic`, and the scale and the data that may decide. The defaults are the entries of the
problems, algorithms and studies that the check names, and of readings and variants where it names
these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow.judge.outcomes import CHANGED, LATE
from workflow.plan.reads import settings_of

LEDGER = Path("papers", "history.json")
BEFORE, TOGETHER, AFTER = "before", "together", "after"  # than the first records, or with them
ALTERED = "changed"  # the YAML is not what the ledger speaks of
UNENTERED = "not entered"
DECIDES = ("check", "settings", "requires", "deterministic", "scale", "data")
TOLD = frozenset({"because", "label", "note", "says", "title", "where"})  # for people, no setting
HOW = {TOGETHER: "in the same commit as", BEFORE: "before", AFTER: "after"}  # the first records
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """What the ledger says of a claim: the hashes of its check and defaults, since when they have
    been these, and when the first records of the claim were there ("" where none is known). A date
    is in UTC; a commit may follow after a blank.
    """

    check: str
    check_since: str
    check_came: str
    defaults: str
    defaults_since: str
    defaults_came: str
    first_records: str


@dataclass(frozen=True)
class Fixed:
    """The same for a verdict: each of the two is BEFORE, TOGETHER, AFTER, ALTERED or UNENTERED."""

    check: str
    check_since: str
    defaults: str
    defaults_since: str
    first_records: str

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """What a reader should know before relying on the outcome."""
        if self.check == ALTERED:
            after = ", after its first records" if self.first_records else ""
            return (f"{CHANGED} since {day(self.check_since)}{after}",)
        return (LATE,) if self.check == AFTER else ()

    def __str__(self) -> str:
        if self.check == UNENTERED:
            return "Nobody entered when the check was fixed."
        sides = (
            ("check", self.check, self.check_since),
            ("default settings of its runs", self.defaults, self.defaults_since),
        )
        told = [_told(what, came, since, self.first_records) for what, came, since in sides]
        first = day(self.first_records) if self.first_records else "none known when entered"
        return f"Unchanged since then: {'; '.join(told)}. First records: {first}."


def _told(what: str, came: str, since: str, first: str) -> str:
    if came == ALTERED:
        return f"{what} changed since {day(since)}, which nobody entered"
    return f"{what} {day(since)}" + (f", {HOW[came]} the first records" if first else "")


def day(date: str) -> str:
    """A date of the ledger for people, to the minute, with its commit."""
    when, _, commit = date.partition(" ")
    minute = when[:16].replace("T", " ")
    return f"{minute} ({commit})" if commit else minute


def read(root: Path) -> dict[str, dict[str, Line]]:
    """The lines of the ledger by paper and claim; {} where there is none."""
    path = root / LEDGER
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return {
        paper: {claim: Line(**line) for claim, line in lines.items()}
        for paper, lines in found.items()
    }


def of(entry: Entry, claim: Entry, lines: Mapping[str, Line]) -> Fixed:
    """What the lines of a paper say of one of its claims as it stands today."""
    line = lines.get(str(claim["id"]))
    if line is None:
        return Fixed(UNENTERED, "", UNENTERED, "", "")
    check, defaults = hashes(entry, claim)
    return Fixed(
        line.check_came if check == line.check else ALTERED,
        line.check_since,
        line.defaults_came if defaults == line.defaults else ALTERED,
        line.defaults_since,
        line.first_records,
    )


def hashes(entry: Entry, claim: Entry) -> tuple[str, str]:
    """The hashes of the check of a claim and of the defaults of its runs, from a paper's YAML. What
    is required `always` is met.
    """
    parts = {key: claim[key] for key in DECIDES if claim.get(key) is not None}
    if wanted := [one for one in _list(parts.pop("requires", [])) if not _is_met(one)]:
        parts["requires"] = wanted
    check = _sha256({key: _sha256(value) for key, value in parts.items()})
    defaults = [
        [section, key, _sha256(_keyed(entry, section).get(key))]
        for section, key in sorted(named(entry, claim))
    ]
    return check, _sha256(defaults)


def _is_met(requirement: Any) -> bool:
    return isinstance(requirement, Mapping) and bool(requirement.get("always"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def named(entry: Entry, claim: Entry) -> set[tuple[str, str]]:
    """The entries that the runs of a claim have their defaults from, as a section and a key: what
    its check names, and what a study names in turn.
    """
    words: set[str] = set()
    found: set[tuple[str, str]] = set()
    for check in (one["check"] for one in settings_of(claim)):
        words |= set(_words(check))
        if "study" in check:
            study = _keyed(entry, "studies").get(str(check["study"]), {})
            words |= set(_words(study))
            found.add(("studies", str(check["study"])))
        elif "problems" not in check:  # then it is of all of them
            found |= {("problems", problem) for problem in _keyed(entry, "problems")}
        if check.get("variants") == "all":
            words |= set(_keyed(entry, "variants"))
    for word in words:
        head, _, variant = word.partition("+")
        algorithm, _, reading = head.partition("@")
        parts = (
            ("problems", algorithm),
            ("algorithms", algorithm),
            ("readings", reading),
            ("variants", variant or algorithm),
        )
        found |= {(section, key) for section, key in parts if key in _keyed(entry, section)}
    return found


def _keyed(entry: Entry, section: str) -> dict[str, Any]:
    """A section of a paper's YAML by names, also where it is a list; {} for what is neither."""
    found = entry.get(section)
    if isinstance(found, list):
        return {str(line["id"]): line for line in found if isinstance(line, dict) and "id" in line}
    return dict(found) if isinstance(found, Mapping) else {}


def _words(value: Any) -> Iterable[str]:
    """All texts within a value that are no sentences for people."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in TOLD:
                yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)


def _sha256(value: Any) -> str:
    """Sixteen digits that do not depend on the order of keys, on texts for people, or on whether
    2 is written as 2.0.
    """
    text = json.dumps(_plain(value), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items() if key not in TOLD}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
