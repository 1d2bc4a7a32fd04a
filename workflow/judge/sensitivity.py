"""Which conclusions depend on an open setting.

Claims by readings, from verdicts.json alone: what is observed by default and under every other
reading that affects the claim. Writes sensitivity.md and sensitivity.json.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workflow.judge import render
from workflow.judge.claims import Outcome
from workflow.judge.outcomes import SAME_RUN, SIDES, SYMBOLS, group, translated
from workflow.judge.quoting import quoted
from workflow.plan.paper import Paper
from workflow.trace.atomic import atomic
from workflow.trace.cells import PlanError

NONE = "-"
SAME = "="
# what becomes of a claim
KEPT, TURNED, SIGNIFICANCE, OPEN = "kept", "other side", "significance alone", "open"
MOST = 5  # readings that the summary names
LEGEND = """\
✓ reproduced, ≈ direction only, ± inconclusive, ✗ contradicted, - no number, · not run. `?`: the
numbers show this
and may not decide (too few seeds, substituted data, ...; verdicts.json has the reasons). **Bold**:
another outcome than the default one; this is no test that the reading changes the effect. A number:
how many seeds are paired, where not as many as by default; fewer seeds alone may turn ✓ into ≈.
= same run: the reading changes nothing on these problems, it is no independent evidence and counts
for nothing; `= 1 of 3` beside an outcome: that is so of 1 of the 3 runs to which the reading gives
other parameters. Blank: the reading changes no run of the claim, or the plan lacks some of its
runs. A control is an experiment of ours and no reading of the paper: its outcomes are shown and
count for nothing. What of this decides, in which share of the readings a claim holds, and what
would have to be true for another verdict: [certificate.md](certificate.md)."""


@dataclass(frozen=True)
class Row:
    """A claim that some reading affects: what it comes to by default and under each of those
    readings.
    """

    id: str
    where: str
    says: str
    default: Outcome
    readings: Mapping[str, Outcome]
    group: str = ""

    @property
    def compared(self) -> list[str]:
        """The readings whose outcome can be set beside the default one: both say on which side the
        numbers lie, and they are not the same run.
        """
        return [
            name
            for name in self.others
            if _has_side(self.default) and _has_side(self.readings[name])
        ]

    @property
    def same(self) -> list[str]:
        """The readings under which all runs of the claim are the default ones again."""
        return [name for name, outcome in self.readings.items() if outcome.is_same_run]

    @property
    def others(self) -> list[str]:
        """The readings that may say something else; controls are none."""
        return [
            name for name, one in self.readings.items() if name not in self.same and not one.control
        ]

    @property
    def changed(self) -> list[str]:
        """The readings with another outcome."""
        return [
            name for name in self.compared if self.readings[name].observed != self.default.observed
        ]

    @property
    def turned(self) -> list[str]:
        """The readings that contradict what holds by default, or the other way round."""
        return [
            name
            for name in self.changed
            if SIDES[self.readings[name].observed] * SIDES[self.default.observed] < 0
        ]

    @property
    def fate(self) -> str:
        """Whether the default outcome survives the readings that were run."""
        if not self.compared:
            return OPEN
        if self.turned:
            return TURNED
        return SIGNIFICANCE if self.changed else KEPT

    @property
    def conclusion(self) -> str:
        """The same in words, with the names of the readings."""
        if not _has_side(self.default):
            return f"by default {self.default.observed}"
        if not self.others:
            return f"{SAME_RUN} under all readings"
        if not self.compared:
            was_run = any(self.readings[name].was_run for name in self.others)
            return "no other reading has a number" if was_run else "no other reading run"
        if not self.changed:
            return f"same under all readings run ({len(self.compared)} of {len(self.others)})"
        weaker = [name for name in self.changed if name not in self.turned]
        parts = [f"on: {', '.join(self.turned)}"] if self.turned else []
        parts += [f"only in significance, on: {', '.join(weaker)}"] if weaker else []
        return f"depends {'; '.join(parts)}"


@dataclass(frozen=True)
class Matrix:
    """The rows of a paper's claims, and what its readings say, in the order of its YAML."""

    paper: str
    scale: str
    partial: bool
    claims: int
    says: Mapping[str, str]
    rows: tuple[Row, ...]

    @property
    def columns(self) -> list[str]:
        """The readings that affect a claim."""
        return [name for name in self.says if any(name in row.readings for row in self.rows)]

    @property
    def run_columns(self) -> list[str]:
        """Those of them under which some claim was run, or is the same run."""
        return [
            name
            for name in self.columns
            if any(
                (one := row.readings.get(name)) and (one.was_run or one.is_same_run)
                for row in self.rows
            )
        ]

    @property
    def fates(self) -> Mapping[str, int]:
        """How many claims keep their outcome, change it, or cannot be said."""
        seen = Counter(row.fate for row in self.rows)
        return {fate: seen[fate] for fate in (KEPT, TURNED, SIGNIFICANCE, OPEN)}

    def counts(self, reading: str) -> dict[str, int]:
        """How many claims a reading affects, on how many it is the same run, on how many others it
        can be compared, and how many of those change.
        """
        affected = [row for row in self.rows if reading in row.readings]
        return {
            "affected": len(affected),
            "same run": sum(reading in row.same for row in affected),
            "compared": sum(reading in row.compared for row in affected),
            "changed": sum(reading in row.changed for row in affected),
            "turned": sum(reading in row.turned for row in affected),
        }


def matrix(report: Mapping[str, Any]) -> Matrix:
    """Claims by readings, from the content of a verdicts.json.

    Raises PlanError if claims were not judged under all readings.
    """
    if "partial" not in report:
        raise PlanError(
            "expected claims judged under all readings, found older verdicts:"
            f" {_again(report['paper'], report['scale'])}"
        )
    claims = translated(report)["claims"]
    rows = [_row(claim) for claim in claims if claim["readings"]]
    return Matrix(
        report["paper"],
        report["scale"],
        report["partial"],
        len(claims),
        report["readings"],
        tuple(rows),
    )


def as_markdown(found: Matrix) -> str:
    """The matrix as a table of symbols, and what the readings say."""
    columns, total = found.columns, len(found.says)
    head = [
        "claim",
        "default",
        *(str(number) for number in range(1, len(columns) + 1)),
        "conclusion",
    ]
    rows = [
        [
            f"[{row.id}](verdicts.md#{row.id.lower()})" + (f" ({row.group})" if row.group else ""),
            _default(row),
            *(_symbol(row, name) for name in columns),
            quoted(row.conclusion),
        ]
        for row in found.rows
    ]
    said = [
        [
            str(number),
            quoted(name),
            quoted(found.says[name]),
            *map(str, found.counts(name).values()),
        ]
        for number, name in enumerate(columns, start=1)
    ]
    idle = [name for name in found.says if name not in columns]
    parts = [
        f"# What the verdicts on {quoted(found.paper)} depend on, scale {quoted(found.scale)}",
        "A partial report, from the records that existed." if found.partial else "",
        quoted(summary(found)),
        render.table(head, rows) if rows else "",
        LEGEND if rows else "",
        "## Readings" if total else "",
        (
            render.table(
                [
                    "",
                    "reading",
                    "says",
                    "claims affected",
                    "same run",
                    "compared",
                    "changed",
                    "to the other side",
                ],
                said,
            )
            if said
            else ""
        ),
        (
            "Readings that change no run of a claim, or have no planned runs:"
            f" {', '.join(map(quoted, idle))}."
            if idle
            else ""
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(found: Matrix) -> str:
    """How many claims keep their outcome, how many change it, and which readings change most."""
    if not found.rows:
        return f"No reading affects any of the {found.claims} claims."
    fates = found.fates
    changes = fates[TURNED] + fates[SIGNIFICANCE]
    sentences = [
        (
            f"Of {found.claims} claims {len(found.rows)} are affected by a reading other than the"
            " default."
        ),
        (
            "What is observed by default stays the same under every other reading that was run for"
            f" {fates[KEPT]} of them"
        ),
        f"and changes for {changes}"
        + (f" (only in significance for {fates[SIGNIFICANCE]})." if changes else "."),
        f"For {fates[OPEN]} there is nothing to compare.",
    ]
    if again := sum(len(row.same) for row in found.rows):
        sentences.append(
            f"{again} outcome{'s are' if again > 1 else ' is'} of the same run: the reading changes"
            " nothing on the problems of the claim, and that is not counted as agreement."
        )
    changed = {name: counts for name in found.columns if (counts := found.counts(name))["changed"]}
    first = sorted(changed, key=lambda name: -changed[name]["changed"])[:MOST]
    if first:
        shares = [
            f"{name} ({changed[name]['changed']} of {changed[name]['compared']} claims)"
            for name in first
        ]
        sentences.append(f"Most changes come from {', '.join(shares)}.")
    return " ".join(sentences)


def as_json(found: Matrix) -> str:
    """The whole matrix with what follows from it."""
    rows = [
        {
            **asdict(row),
            "changed": row.changed,
            "turned": row.turned,
            "same": row.same,
            "fate": row.fate,
            "conclusion": row.conclusion,
        }
        for row in found.rows
    ]
    readings = [
        {"id": name, "says": says, **found.counts(name)} for name, says in found.says.items()
    ]
    head = {
        "paper": found.paper,
        "scale": found.scale,
        "partial": found.partial,
        "claims": found.claims,
    }
    whole = {
        **head,
        "summary": summary(found),
        "fates": found.fates,
        "readings": readings,
        "rows": rows,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _has_side(outcome: Outcome) -> bool:
    return outcome.observed in SIDES


def _row(claim: Mapping[str, Any]) -> Row:
    readings = {name: outcome(judged) for name, judged in claim["readings"].items()}
    apart = group(claim.get("qualifiers", ()))
    return Row(claim["id"], claim["where"], claim["says"], outcome(claim), readings, apart)


def outcome(judged: Mapping[str, Any]) -> Outcome:
    """An outcome as verdicts.json has it, of a claim by default or of one of its readings."""
    # verdicts of before runs were compared count none
    runs, same = (int(judged.get(key, 0)) for key in ("runs", "same_runs"))
    return Outcome(
        judged["verdict"],
        judged["observed"],
        tuple(judged["reasons"]),
        judged["seeds"],
        runs,
        same,
        control=bool(judged.get("control")),
    )


def _default(row: Row) -> str:
    return _mark(row.default) + (f" {row.default.seeds}" if row.default.was_run else "")


def _symbol(row: Row, reading: str) -> str:
    """The mark of a reading on a claim; blank where it does not affect it."""
    if reading not in row.readings:
        return ""
    outcome = row.readings[reading]
    if outcome.is_same_run:
        return SAME
    mark = f"**{_mark(outcome)}**" if reading in row.changed else _mark(outcome)
    if outcome.was_run and outcome.seeds != row.default.seeds:
        mark += f" {outcome.seeds}"
    return mark + (f" {SAME} {outcome.in_part}" if outcome.in_part else "")


def _mark(outcome: Outcome) -> str:
    return SYMBOLS.get(outcome.observed, NONE) + (
        "?" if outcome.was_run and outcome.reasons else ""
    )


def _again(paper: str, scale: str) -> str:
    return f"run `python -m workflow.report {paper} verdicts --scale {scale}`"


def read(path: Path, paper: Paper, *, partial: bool = False) -> Mapping[str, Any]:
    """The content of a verdicts.json.

    Raises PlanError if it is missing, another one, or partial where that is not wanted.
    """
    if not path.exists():
        raise PlanError(f"expected {path}, found none: {_again(paper.name, paper.scale)}")
    report = json.loads(path.read_text(encoding="utf-8"))
    if (report["paper"], report["scale"]) != (paper.name, paper.scale):
        raise PlanError(
            f"{path}: expected {paper.name} at scale {paper.scale}, found {report['paper']} at"
            f" scale {report['scale']}"
        )
    if report.get("partial") and not partial:
        raise PlanError(
            f"{path}: expected verdicts on all runs, found those of a partial report: add"
            f" --partial, or {_again(paper.name, paper.scale)}"
        )
    return report


def write(found: Matrix, folder: Path) -> None:
    """Write sensitivity.md and sensitivity.json."""
    for name, text in (("md", as_markdown(found)), ("json", as_json(found))):
        with atomic(folder / f"sensitivity.{name}") as temporary:
            temporary.write_text(text, encoding="utf-8")
