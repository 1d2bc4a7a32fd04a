"""What the replication found that the papers do not say: papers/findings.yaml, read and checked
against the papers' YAML.

An entry holds words alone. Its numbers are those of the claims that it names, on whose pages it
stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from workflow.plan import reader, resolve
from workflow.plan.exhibits import lines_of
from workflow.plan.reads import stated
from workflow.trace.cells import PlanError

PAGE = "papers/findings.yaml"
Text = Annotated[str, Field(min_length=1)]


class Finding(BaseModel):
    """One finding: what shows it (a figure, table or picture), and the claims and errata of the
    same paper that bear it out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, str_strip_whitespace=True)

    id: Text
    paper: Text
    title: Text
    says: Text
    figure: Text
    claims: Annotated[list[Text], Field(min_length=1)]
    errata: list[Text] = []
    reading: str = ""
    runs: list[Text] = []  # commands beside those that the claims' own verdicts name


def load(root: Path = resolve.ROOT) -> list[Finding]:
    """All findings in the order of the file.

    Raises PlanError naming the entry, what was expected and what is known.
    """
    try:
        entries = yaml.safe_load((root / PAGE).read_text(encoding="utf-8"))
        findings = TypeAdapter(list[Finding]).validate_python(entries)
    except FileNotFoundError:
        raise PlanError(f"expected the findings in {root / PAGE}, got no such file") from None
    except yaml.YAMLError as error:
        raise PlanError(f"{PAGE} is no valid YAML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ", ".join(str(part) for part in first["loc"])
        raise PlanError(
            f"{PAGE}, entry {where}: {first['msg']}, got {first['input']!r}; known keys:"
            f" {', '.join(Finding.model_fields)}"
        ) from None
    names = [finding.id for finding in findings]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PlanError(f"{PAGE}: id given twice: {', '.join(twice)}")
    papers, read = resolve.papers(root), cache(lambda paper: reader.read(paper, root))
    for one in findings:
        where = f"{PAGE}, {one.id}"
        _known("paper", [one.paper], papers, where)
        paper = read(one.paper)
        lines = [line["id"] for _, line in lines_of(paper)]
        _known("figure, table or picture", [one.figure], lines, where)
        _known("claim", one.claims, [line["id"] for line in stated(paper)], where)
        _known("erratum", one.errata, [line["id"] for line in paper.get("errata", [])], where)
        _known("reading", filter(None, [one.reading]), paper.get("readings", {}), where)
    return findings


def _known(kind: str, named: Iterable[str], known: Iterable[str], where: str) -> None:
    names = list(known)
    if unknown := [name for name in named if name not in names]:
        raise PlanError(
            f"{where}: unknown {kind} {', '.join(unknown)}; known: {', '.join(names) or 'none'}"
        )
