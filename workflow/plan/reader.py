"""A paper's YAML, read and checked against its typed model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from workflow import ROOT
from workflow.plan import mistakes, strict_yaml
from workflow.plan.model import Paper
from workflow.plan.nearest import or_nearest
from workflow.plan.resolve import papers, planned
from workflow.plan.strict_yaml import Source
from workflow.trace.cells import PlanError


@dataclass(frozen=True)
class Document:
    """What a paper's YAML says, as it stands there, and on which lines; of a comparison also what
    the papers say that it borrows from, each read once.
    """

    name: str
    entry: dict[str, Any]
    source: Source = field(default_factory=Source)
    lenders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def where(self, *path: str | int) -> str:
        """File, line and place of something, as errors begin."""
        file = f"papers/{self.name}.yaml"
        return (
            f"{file}, line {self.source.line(path)}, {mistakes.place(self.entry, path)}"
            if path
            else file
        )


def read(name: str, root: Path = ROOT) -> dict[str, Any]:
    """One paper's YAML, checked. Raises PlanError."""
    return document(name, root).entry


def document(name: str, root: Path = ROOT) -> Document:
    """One paper's YAML with its lines, checked. Raises PlanError."""
    path = root / "papers" / f"{name}.yaml"
    if name not in (known := planned(root)):
        raise PlanError(f"unknown paper {name!r}{or_nearest(name, known)}")
    file = f"papers/{name}.yaml"
    try:
        entry, source = strict_yaml.load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise PlanError(f"{file} is no valid YAML: {error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        wrong = (
            f"line {line}: expected text in UTF-8, got the byte {error.object[error.start]:#04x}"
        )
        raise PlanError(f"{file} is no valid YAML: {wrong}: save the file as UTF-8") from None
    check(file, entry, source)
    found = Document(name, entry, source)
    return _with_borrowed(found, root) if "borrows" in entry else found


def _with_borrowed(document: Document, root: Path) -> Document:
    """A comparison with the problems that it borrows, as they stand in their papers. Raises
    PlanError.
    """
    entry, problems = document.entry, dict(document.entry.get("problems", {}))
    lenders: dict[str, dict[str, Any]] = {}
    for lender, line in entry["borrows"].items():
        where = document.where("borrows", lender)
        if lender not in (known := papers(root)):
            raise PlanError(f"{where}: unknown paper {lender!r}{or_nearest(lender, known)}")
        lenders[lender] = read(lender, root)
        there = lenders[lender]["problems"]
        for name in line["problems"]:
            if name not in there:
                raise PlanError(f"{where}: unknown problem {name!r}{or_nearest(name, there)}")
            if name in problems:
                raise PlanError(f"{where}: expected every problem once, got {name!r} twice")
            problems[name] = there[name]
    return replace(document, entry={**entry, "problems": problems}, lenders=lenders)


def check(file: str, entry: object, source: Source) -> None:
    """Refuse what the model does not know. Raises PlanError."""
    if not isinstance(entry, Mapping):
        said = "nothing" if entry is None else f"a {type(entry).__name__}"
        raise PlanError(f"{file}, line 1: expected keys such as paper, scales and runs, got {said}")
    try:
        Paper.model_validate(entry)
    except ValidationError as error:
        raise PlanError("\n".join(mistakes.sentences(file, entry, source, error))) from None
