"""What a paper's YAML says in several places fits together: ids, pages, and the parameters that
readings and variants change. A slip is told before anything runs.

Whether a run of some name is planned at a scale is asked by whoever draws or judges it
(workflow/plan/selection.py).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from workflow.data.manifest import names_in
from workflow.plan import resolve
from workflow.plan.exhibits import LEDGER, REGISTRY
from workflow.plan.nearest import nearest
from workflow.plan.parameters import dotted, flat
from workflow.plan.reader import Document
from workflow.plan.vocabulary import unknown
from workflow.trace.curves import RESERVED, PlanError

# sections in which each id stands once; exhibits become files, claims become pages
TOGETHER = (
    ("claims", "appendix", "withdrawn"),
    tuple(REGISTRY),
    *((section,) for section in ("studies", "assumptions", "deviations", "errata", "findings")),
)


def check(document: Document, root: Path) -> None:
    """Raises PlanError: where, expected, got, what is known."""
    _check_ids(document)
    _check_overrides(document, root)
    for name, problem in document.entry["problems"].items():
        if "data" in problem and problem["data"] not in (tables := names_in(resolve.ROOT)):
            raise PlanError(
                f"{document.where('problems', name)}: {unknown('data', problem['data'], tables)}"
            )


def _check_ids(document: Document) -> None:
    """What becomes a file or a page of its own shares its id with nothing."""
    reports = {name.partition(".")[0] for name in LEDGER}
    for sections in TOGETHER:
        lines = [
            (name, section, number)
            for section in sections
            for number, line in enumerate(document.entry.get(section, []))
            for name in line.get("ids", [line.get("id")])
        ]
        count = Counter(name for name, _, _ in lines)
        for name, section, number in reversed(lines):
            taken = " or the name of a report" if section in REGISTRY and name in reports else ""
            if count[name] > 1 or taken:
                raise PlanError(
                    f"{document.where(section, number)}: expected every id once in"
                    f" {', '.join(sections)}, got {name!r} twice{taken}: rename one"
                )


def _check_overrides(document: Document, root: Path) -> None:
    """What readings and variants change must be there: named entries have the parameter, "*" and
    variants reach somebody.
    """
    entry = document.entry
    has = {
        kind: {
            key: set(resolve.accepted(line["is"], kind, document.where(kind, key), root))
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
                    if key not in entry[kind]:
                        raise PlanError(f"{where}: {unknown(kind[:-1], key, list(entry[kind]))}")
                    anyone, named = has_of[key], set(flat(changes, has_of[key])) - RESERVED
                _check_parameters(named, anyone, f"{where}, {key}")
    for name, changes in entry.get("variants", {}).items():
        anyone = set().union(*has["algorithms"].values())
        named = set(dotted(changes, entry["problems"]))
        _check_parameters(named, anyone, document.where("variants", name))


def _check_parameters(named: set[str], known: set[str], where: str) -> None:
    if wrong := sorted(named - known):
        raise PlanError(
            f"{where}: unknown parameter {', '.join(wrong)}; known:"
            f" {', '.join(sorted(known)) or 'none'}{nearest(wrong[0], sorted(known))}"
        )
