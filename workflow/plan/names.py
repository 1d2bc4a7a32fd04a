"""Every name that a line of a paper's YAML mentions is one that the paper has: a slip is told
before anything runs.

Whether a run of that name is planned at a scale is asked by whoever draws or judges it
(workflow/selection.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from workflow.data.manifest import names_in
from workflow.plan import resolve
from workflow.plan.parameters import flat, parameters_of
from workflow.plan.resolve import RESERVED, PlanError

Entry = Mapping[str, Any]
SECTIONS = {
    "figures": "figure",
    "ranks": "ranks",
    "tables": "table",
    "pictures": "picture",
    "claims": "claim",
    "studies": "study",
    "assumptions": "assumption",
    "deviations": "deviation",
    "errata": "erratum",
}
DRAWN = ("figures", "ranks", "tables", "pictures")  # their files share a folder
TAKEN = ("verdicts", "sensitivity", "runs")  # other files of that folder
CURVES = ("curves", "controls", "left", "right", "minus", "relative_to", "curve")
KINDS = {  # a key of a line: what it names
    "problem": "problem",
    "problems": "problem",
    "against": "problem",
    "algorithms": "algorithm",
    "study": "study",
    "reading": "reading",
    "readings": "reading",
    "variant": "variant",
    "variants": "variant",
}
# their keys and values are no names of this paper
FREE = "rows", "published", "names", "settings", "says"


def check(paper: str, entry: Entry, root: Path) -> None:
    """Raises PlanError: where, expected, got, what is known."""
    where = f"papers/{paper}.yaml"
    _check_ids(entry, where)
    _check_overrides(entry, where, root)
    known = _known(entry)
    for name, cut in entry["scales"].items():
        _check_names(cut.get("variants", []), "variant", known, f"{where}, scale {name}")
    for section in ("figures", "ranks", "tables", "pictures", "claims"):
        for line in entry.get(section, []):
            for kind, name in _mentioned(line, by_study=False):
                _check_names([name], kind, known, f"{where}, {SECTIONS[section]} {line['id']}")
    for name, problem in entry["problems"].items():
        if "data" in problem and problem["data"] not in (tables := names_in(resolve.ROOT)):
            raise PlanError(
                f"{where}, problem {name}: unknown data {problem['data']!r}; known:"
                f" {', '.join(tables)}"
            )


def _known(entry: Entry) -> dict[str, Iterable[str]]:
    """The names of each kind that a paper has."""
    return {
        "problem": entry["problems"],
        "algorithm": entry["algorithms"],
        "reading": ["default", *entry.get("readings", {})],
        "variant": ["all", *entry.get("variants", {})],
        "study": [line["id"] for line in entry.get("studies", [])],
    }


def _check_names(
    names: Iterable[str], kind: str, known: Mapping[str, Iterable[str]], where: str
) -> None:
    for name in names:
        if name not in known[kind]:
            others = (
                ", ".join(one for one in known[kind] if one not in ("default", "all")) or "none"
            )
            raise PlanError(f"{where}: unknown {kind} {name!r}; known: {others}")


def _mentioned(line: Entry, *, by_study: bool) -> Iterator[tuple[str, str]]:
    """(kind, name) of all that a line names, however deep; the sides of a check of a study are
    columns.
    """
    by_study = by_study or "study" in line
    for key, value in line.items():
        if key in FREE:
            continue
        if key in CURVES and not by_study:
            yield from (part for name in _texts(value) for part in _parts(name, "algorithm"))
        elif KINDS.get(key) == "problem":
            yield from (part for name in _texts(value) for part in _parts(name, "problem"))
        elif key in KINDS:
            yield from ((KINDS[key], name) for name in _texts(value))
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Mapping):
                yield from _mentioned(inner, by_study=by_study)


def _texts(value: object) -> list[str]:
    """The names under a key: one, several or none."""
    return [
        name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)
    ]


def _parts(name: str, kind: str) -> Iterator[tuple[str, str]]:
    """What `algorithm[@reading][+variant]` or `problem[@reading]` names."""
    head, plus, variant = name.partition("+")
    plain, at, reading = head.partition("@")
    yield kind, plain
    yield from [("reading", reading)] * bool(at) + [("variant", variant)] * bool(plus)


def _check_ids(entry: Entry, where: str) -> None:
    """Every id once in its section, and those that become files once among them."""
    ids = {section: [line["id"] for line in entry.get(section, [])] for section in SECTIONS}
    drawn = [name for section in DRAWN for name in ids[section]]
    for section, names in [*ids.items(), ("figures, ranks, tables and pictures", [*drawn, *TAKEN])]:
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            taken = " or the name of a report" if twice[0] in TAKEN else ""
            raise PlanError(
                f"{where}: expected every id once in {section}, got {twice[0]!r} twice{taken}:"
                " rename one"
            )


def _check_overrides(entry: Entry, where: str, root: Path) -> None:
    """What readings and variants change must be there: named entries have the parameter, "*" and
    variants reach somebody.
    """
    has = {
        kind: {key: _parameters(line, kind, where, root) for key, line in entry[kind].items()}
        for kind in ("problems", "algorithms")
    }
    for name, reading in entry.get("readings", {}).items():
        for kind, has_of in has.items():
            for key, changes in reading.get(kind, {}).items():
                if key != "*":
                    _check_names([key], kind[:-1], _known(entry), f"{where}, reading {name}")
                anyone = set().union(*has_of.values()) if key == "*" else has_of[key]
                _check_parameters(changes, anyone, f"{where}, reading {name}, {key}")
    for name, changes in entry.get("variants", {}).items():
        _check_parameters(
            changes, set().union(*has["algorithms"].values()), f"{where}, variant {name}"
        )


def _check_parameters(changes: Entry, known: set[str], where: str) -> None:
    if unknown := sorted(set(flat(changes, known)) - known - RESERVED):
        raise PlanError(
            f"{where}: unknown parameter {', '.join(unknown)}; known:"
            f" {', '.join(sorted(known)) or 'none'}"
        )


def _parameters(line: Entry, kind: str, where: str, root: Path) -> set[str]:
    try:
        return parameters_of(line["is"], kind, root=root)[1]
    except LookupError as error:
        raise PlanError(f"{where}: `is: {line['is']}`: {error.args[0]}") from None
