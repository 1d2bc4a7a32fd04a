"""Whether the check of a claim, and the defaults of its runs, were fixed before its first records:
`python -m workflow.history [--check]`, called by `make history`.

papers/history.json holds a line a claim: since when both have been what they are, and when records
of the claim were there first. A line holds hashes of what it speaks of: where the YAML says
something else today, the claim has been changed since, and the verdict says so at once. The program
enters a new check, or new defaults, as of now: before the first records of the claim, if no
comparison of the claim has all its runs published, and after them otherwise. The history of the
file in git shows every entry. `--check` fails where a claim is not what its line speaks of, has
none, or is gone.

The check is what decides: `check` with its tolerances, `cases`, `requires`, `deterministic`,
`implementation`, and the scale and the data that may decide. The defaults are the entries of the
problems, algorithms and studies that the check names, and of readings and variants where it names
these.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workflow.judge.checks import pairs_of
from workflow.judge.evidence import Evidence
from workflow.judge.outcomes import CHANGED, LATE
from workflow.measure.store import Store
from workflow.plan.expand import load
from workflow.plan.paper import Paper
from workflow.plan.reads import stated, written
from workflow.plan.resolve import ROOT, papers
from workflow.plan.statements import AppendixEntry, ClaimEntry, Summarised
from workflow.trace.atomic import atomic
from workflow.trace.curves import PUBLISHED, AnyCurve, PlanError

LEDGER = Path("papers", "history.json")
BEFORE, TOGETHER, AFTER = "before", "together", "after"  # than the first records, or with them
ALTERED = "changed"  # the YAML is not what the ledger speaks of
UNENTERED = "not entered"
DECIDES = ("check", "cases", "requires", "deterministic", "implementation", "scale", "data")
TOLD = frozenset({"because", "label", "note", "says", "title", "where"})  # for people, no setting
HOW = {TOGETHER: "in the same commit as", BEFORE: "before", AFTER: "after"}  # the first records
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """What the ledger says of a claim: the hashes of its check and defaults, since when they have
    been these, and when the first records of the claim were there ("" where none is known). A date
    is in UTC; a commit may follow after a blank.
    """

    check: str = ""
    check_since: str = ""
    check_came: str = ""
    defaults: str = ""
    defaults_since: str = ""
    defaults_came: str = ""
    first_records: str = ""


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
        said = [_told(what, came, since, self.first_records) for what, came, since in sides]
        first = day(self.first_records) if self.first_records else "none known when entered"
        return f"Last changed: {'; '.join(said)}. First records: {first}."


def _told(what: str, came: str, since: str, first: str) -> str:
    if came == ALTERED:
        return f"{what} since {day(since)}, which nobody entered"
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
    ledger = json.loads(path.read_text(encoding="utf-8"))
    return {
        paper: {claim: Line(**line) for claim, line in lines.items()}
        for paper, lines in ledger.items()
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
    if wanted := [one for one in parts.pop("requires", []) if not one.get("always")]:
        parts["requires"] = wanted
    check = _sha256({key: _sha256(value) for key, value in parts.items()})
    defaults = [
        [section, key, _sha256(_keyed(entry, section).get(key))]
        for section, key in sorted(named(entry, claim))
    ]
    return check, _sha256(defaults)


def named(entry: Entry, claim: Entry) -> set[tuple[str, str]]:
    """The entries that the runs of a claim have their defaults from, as a section and a key: what
    its check names, and what a study names in turn.
    """
    words, entries = set[str](), set[tuple[str, str]]()
    model = AppendixEntry if "kind" in claim else ClaimEntry
    for check in (one.check for one in model.model_validate(claim).asked):
        words |= set(_words(check.model_dump(exclude_unset=True)))
        if check.study:
            words |= set(_words(_keyed(entry, "studies").get(check.study, {})))
            entries.add(("studies", check.study))
        elif not check.problems:  # then it is of all of them
            entries |= {("problems", problem) for problem in _keyed(entry, "problems")}
        if isinstance(check, Summarised) and check.variants == "all":
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
        entries |= {(section, key) for section, key in parts if key in _keyed(entry, section)}
    return entries


def _keyed(entry: Entry, section: str) -> dict[str, Any]:
    """A section of a paper's YAML by names, also where it is a list."""
    content = entry.get(section, {})
    return {line["id"]: line for line in content} if isinstance(content, list) else dict(content)


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


# The program


def lines(paper: Paper, root: Path, known: Mapping[str, Line], now: str) -> dict[str, Line]:
    """The lines of a paper's claims, from those that are known."""
    evidence = Evidence(paper, Store(paper, root))
    entered = {}
    for claim, line_of in zip(stated(paper), written(paper.entry), strict=True):
        line = known.get(claim.id, Line())
        if not line.first_records and any(
            pair and all(_is_published(run, paper.name, root) for run in pair)
            for pair in pairs_of(evidence, claim)
        ):
            line = replace(line, first_records=now)
        came = AFTER if line.first_records else BEFORE
        check, defaults = hashes(paper.entry, line_of)
        if check != line.check:
            line = replace(line, check=check, check_since=now, check_came=came)
        if defaults != line.defaults:
            line = replace(line, defaults=defaults, defaults_since=now, defaults_came=came)
        entered[claim.id] = line
    return entered


def _is_published(curve: AnyCurve, paper: str, root: Path) -> bool:
    return any((root / PUBLISHED).glob(f"*/{paper}/{'/'.join(curve.place)}.parquet"))


def text_of(ledger: Mapping[str, Mapping[str, Line]]) -> str:
    """The ledger as it is written: a line a claim."""
    parts = []
    for paper, claims in sorted(ledger.items()):
        rows = [f"{json.dumps(key)}: {json.dumps(asdict(claims[key]))}" for key in sorted(claims)]
        parts.append(f"{json.dumps(paper)}: {{\n" + ",\n".join(rows) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def wrong(root: Path) -> list[str]:
    """What the ledger does not say of the claims as they stand, in sentences. Raises PlanError."""
    known, sentences = read(root), []
    for name in papers(root):
        entry, said = load(name, "paper", root=root).entry, known.pop(name, {})
        there = {str(claim["id"]): claim for claim in written(entry)}
        for key, claim in there.items():
            judged = of(entry, claim, said)
            if judged.check == UNENTERED:
                sentences.append(f"{LEDGER}: expected a line of {name}'s claim {key}, found none")
            sentences += [
                f"{LEDGER}: the {part} of {name}'s claim {key} changed since {day(since)}"
                for part, came, since in (
                    ("check", judged.check, judged.check_since),
                    ("defaults", judged.defaults, judged.defaults_since),
                )
                if came == ALTERED
            ]
        sentences += [f"{LEDGER}: {name} has no claim {key}" for key in said if key not in there]
    return sentences + [f"{LEDGER}: there is no paper {name}" for name in known]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.history", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail where the ledger is stale"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="of the checkout")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            errors = wrong(options.root)
            errors += ["run `make history`, and commit what it writes"] if errors else []
            print("".join(f"error: {sentence}\n" for sentence in errors), end="", file=sys.stderr)
            return int(bool(errors))
        now, known = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", read(options.root)
        ledger = {
            name: lines(
                load(name, "paper", root=options.root), options.root, known.get(name, {}), now
            )
            for name in papers(options.root)
        }
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    with atomic(options.root / LEDGER) as temporary:
        temporary.write_text(text_of(ledger), encoding="utf-8")
    print(f"wrote {LEDGER}: {sum(map(len, ledger.values()))} claims", file=sys.stderr)
    return 0
