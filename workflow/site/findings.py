"""What the replication found that the papers do not say: papers/findings.yaml, read and checked
against the papers' YAML.

An entry holds words alone. Its numbers are the verdicts and effect sizes of the claims that it
names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from workflow.plan import reader, resolve
from workflow.plan.exhibits import lines_of
from workflow.plan.reads import stated
from workflow.trace.cells import PlanError

SCALE = "paper"  # the scale of the committed report, whose figures and verdicts an entry shows
REQUIRED = ("id", "paper", "title", "says", "figure")
LISTS = ("claims", "errata", "runs")
KEYS = (*REQUIRED, *LISTS, "reading")


@dataclass(frozen=True)
class Finding:
    """One finding: what shows it (a figure, table or picture), and the claims and errata of the
    same paper that bear it out.
    """

    id: str
    paper: str
    title: str
    says: str
    figure: str
    claims: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    reading: str = ""
    runs: tuple[str, ...] = ()  # commands beside those that the claims' own verdicts name


def load(root: Path = resolve.ROOT) -> tuple[Finding, ...]:
    """All findings in the order of the file.

    Raises PlanError naming the entry, what was expected and what is known.
    """
    path = root / "papers" / "findings.yaml"
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PlanError(f"expected the findings in {path}, got no such file") from None
    except yaml.YAMLError as error:
        raise PlanError(f"papers/findings.yaml is no valid YAML: {error}") from None
    if not isinstance(entries, list):
        raise PlanError(
            f"papers/findings.yaml: expected a list of findings, got {type(entries).__name__}"
        )
    findings = tuple(
        _finding(entry, f"papers/findings.yaml, entry {number}")
        for number, entry in enumerate(entries, 1)
    )
    names = [finding.id for finding in findings]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PlanError(f"papers/findings.yaml: id given twice: {', '.join(twice)}")
    papers, read = resolve.papers(root), cache(lambda paper: reader.read(paper, root))
    for finding in findings:
        _known("paper", [finding.paper], papers, f"papers/findings.yaml, {finding.id}")
        _check(finding, read(finding.paper))
    return findings


def _finding(entry: object, where: str) -> Finding:
    """An entry of the file, its keys and types checked."""
    if not isinstance(entry, Mapping):
        raise PlanError(f"{where}: expected a mapping, got {type(entry).__name__}")
    where = f"{where} ({entry['id']})" if "id" in entry else where
    if missing := [key for key in REQUIRED if key not in entry]:
        raise PlanError(f"{where}: missing {', '.join(missing)}")
    if unknown := sorted(str(key) for key in set(entry) - set(KEYS)):
        raise PlanError(f"{where}: unknown {', '.join(unknown)}; known: {', '.join(KEYS)}")
    words = {
        key: _text(value, f"{where}: {key}") for key, value in entry.items() if key not in LISTS
    }
    lists = {key: _texts(value, f"{where}: {key}") for key, value in entry.items() if key in LISTS}
    if not lists.get("claims") and not lists.get("errata"):
        raise PlanError(
            f"{where}: expected at least one of claims and errata, got neither: name what"
            " supports the finding"
        )
    return Finding(
        id=words["id"],
        paper=words["paper"],
        title=words["title"],
        says=words["says"],
        figure=words["figure"],
        claims=lists.get("claims", ()),
        errata=lists.get("errata", ()),
        reading=words.get("reading", ""),
        runs=lists.get("runs", ()),
    )


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise PlanError(f"{where}: expected words, got {value!r}")
    return value.strip()


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise PlanError(f"{where}: expected a list, got {value!r}")
    return tuple(_text(one, where) for one in value)


def _check(finding: Finding, paper: Mapping[str, Any]) -> None:
    """Every name of a finding against the YAML of its paper."""
    where = f"papers/findings.yaml, {finding.id}"
    figures = [line["id"] for _, line in lines_of(paper) if SCALE in line.get("scales", [SCALE])]
    _known("figure, table or picture", [finding.figure], figures, where)
    for kind, named, lines in (
        ("claim", finding.claims, stated(paper)),
        ("erratum", finding.errata, paper.get("errata", [])),
    ):
        _known(kind, named, [line["id"] for line in lines], where)
    _known(
        "reading", [finding.reading] if finding.reading else [], paper.get("readings", {}), where
    )


def _known(kind: str, named: Iterable[str], known: Iterable[str], where: str) -> None:
    names = list(known)
    if unknown := [name for name in named if name not in names]:
        raise PlanError(
            f"{where}: unknown {kind} {', '.join(unknown)}; known: {', '.join(names) or 'none'}"
        )
