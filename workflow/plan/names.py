"""Every name that a line of a paper's YAML mentions is one that the paper has: a slip is told
before anything runs.

Whether a run of that name is planned at a scale is asked by whoever draws or judges it
(workflow/selection.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workflow.data.manifest import names_in
from workflow.plan import resolve
from workflow.plan.exhibits import LEDGER, REGISTRY, lines_of
from workflow.plan.model import Paper, mentions
from workflow.plan.nearest import nearest
from workflow.plan.parameters import dotted, flat, parameters_of
from workflow.plan.reader import Document
from workflow.plan.reads import stated
from workflow.trace.cells import RESERVED, PlanError

Entry = Mapping[str, Any]
SAME = ("default", "all")  # of readings and variants: they need no line of their own


def check(document: Document, root: Path) -> None:
    """Raises PlanError: where, expected, got, what is known."""
    entry = document.entry
    known = _known(entry)
    for kind, said, path in mentions(Paper, entry):
        for what, name in _parts(said, kind):
            _check_name(name, what, known, document.where(*path[:2]))
    _check_ids(document)
    _check_pages(document)
    _check_overrides(document, root)
    for name, problem in entry["problems"].items():
        if "data" in problem and problem["data"] not in (tables := names_in(resolve.ROOT)):
            raise PlanError(
                f"{document.where('problems', name)}: unknown data {problem['data']!r}; known:"
                f" {', '.join(tables)}{nearest(problem['data'], tables)}"
            )


def _known(entry: Entry) -> dict[str, list[str]]:
    """The names of each kind that a paper has, those in the curves among them that it borrows."""
    curves = [curve for line in entry.get("borrows", {}).values() for curve in line["curves"]]
    lent = [part for curve in curves for part in _parts(curve, "algorithm")]

    def borrowed(kind: str) -> list[str]:
        return list(dict.fromkeys(name for what, name in lent if what == kind))

    return {
        "scale": list(entry["scales"]),
        "problem": list(entry["problems"]),
        "algorithm": [*entry["algorithms"], *borrowed("algorithm")],
        "reading": [*SAME[:1], *entry.get("readings", {}), *borrowed("reading")],
        "variant": [*SAME[1:], *entry.get("variants", {}), *borrowed("variant")],
        "study": [line["id"] for line in entry.get("studies", [])],
        "erratum": [line["id"] for line in entry.get("errata", [])],
        "claim": [line["id"] for line in stated(entry)],
        "exhibit": [line["id"] for _, line in lines_of(entry)],
    }


def _check_name(name: str, kind: str, known: Mapping[str, list[str]], where: str) -> None:
    if name not in known[kind]:
        others = [one for one in known[kind] if one not in SAME]
        raise PlanError(
            f"{where}: unknown {kind} {name!r}; known: {', '.join(others) or 'none'}"
            f"{nearest(name, others)}"
        )


def _parts(name: str, kind: str) -> Iterator[tuple[str, str]]:
    """What `algorithm[@reading][+variant]`, `problem[@reading]` or a plain name names."""
    if kind not in ("algorithm", "problem"):
        yield kind, name
        return
    head, plus, variant = name.partition("+")
    plain, at, reading = head.partition("@")
    yield kind, plain
    yield from [("reading", reading)] * bool(at) + [("variant", variant)] * bool(plus)


def _check_ids(document: Document) -> None:
    """Every id once in its section, and those that become files once among them."""
    entry = document.entry
    words = ["claims", "appendix", "withdrawn", "assumptions", "deviations", "errata"]
    sections = [*REGISTRY, "studies", *words]
    ids = {section: [line["id"] for line in entry.get(section, [])] for section in sections}
    files = [name for section in REGISTRY for name in ids[section]]
    ledger = list(dict.fromkeys(name.partition(".")[0] for name in LEDGER))
    for section, names in [*ids.items(), (", ".join(REGISTRY), [*files, *ledger])]:
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            taken = " or the name of a report" if twice[0] in ledger else ""
            places = [
                document.where(one, number)
                for one in ([section] if section in ids else list(REGISTRY))
                for number, name in enumerate(ids[one])
                if name == twice[0]
            ]
            raise PlanError(
                f"{places[-1]}: expected every id once in {section}, got {twice[0]!r} twice{taken}:"
                " rename one"
            )


def _check_pages(document: Document) -> None:
    """Claims, the appendix and what was withdrawn share no name: each has a page under its name."""
    known = {line["id"] for line in document.entry.get("claims", [])}
    for number, line in enumerate(document.entry.get("appendix", [])):
        if line["id"] in known:
            raise PlanError(
                f"{document.where('appendix', number)}: expected a name that no claim has, got"
                f" {line['id']}: rename it, or leave it out"
            )
    known |= {line["id"] for line in document.entry.get("appendix", [])}
    for number, line in enumerate(document.entry.get("withdrawn", [])):
        if line["id"] in known:
            raise PlanError(
                f"{document.where('withdrawn', number)}: expected a name that no claim has: its"
                " page would be that of the claim"
            )


def _check_overrides(document: Document, root: Path) -> None:
    """What readings and variants change must be there: named entries have the parameter, "*" and
    variants reach somebody.
    """
    entry = document.entry
    has = {
        kind: {
            key: _parameters(line, kind, document.where(kind, key), root)
            for key, line in entry[kind].items()
        }
        for kind in ("problems", "algorithms")
    }
    for name, reading in entry.get("readings", {}).items():
        where = document.where("readings", name)
        for kind, has_of in has.items():
            for key, changes in reading.get(kind, {}).items():
                if key == "*":
                    anyone = set().union(*has_of.values())
                    named = set(dotted(changes, entry["problems"]))
                else:
                    _check_name(key, kind[:-1], _known(entry), where)
                    anyone, named = has_of[key], set(flat(changes, has_of[key])) - RESERVED
                _check_parameters(named, anyone, f"{where}, {key}")
    for name, changes in entry.get("variants", {}).items():
        anyone = set().union(*has["algorithms"].values())
        named = set(dotted(changes, entry["problems"]))
        _check_parameters(named, anyone, document.where("variants", name))


def _check_parameters(named: set[str], known: set[str], where: str) -> None:
    if unknown := sorted(named - known):
        raise PlanError(
            f"{where}: unknown parameter {', '.join(unknown)}; known:"
            f" {', '.join(sorted(known)) or 'none'}{nearest(unknown[0], sorted(known))}"
        )


def _parameters(line: Entry, kind: str, where: str, root: Path) -> set[str]:
    try:
        return parameters_of(line["is"], kind, root=root)[1]
    except LookupError as error:
        raise PlanError(f"{where}: `is: {line['is']}`: {error.args[0]}") from None
