"""verdicts.md: the ledger of a paper for people, and Markdown tables.

What it takes from a paper's YAML, and from names and reasons made of it, is quoted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workflow.judge.checks import OF_ROWS, Comparison
from workflow.judge.claims import SAME_RUN, Outcome, Verdict
from workflow.judge.quoting import quoted
from workflow.plan.cells import Paper

RULES = """\
Seeds are compared in pairs. One-sided paired t tests at 5 % decide, with Holm's correction over the
comparisons of a claim, from five seeds on. The p of the exact sign-flip test stands beside them.
*reproduced*: every comparison is significant. *direction only*: every mean is on the claimed side.
*not reproduced*: some mean is on the other side. *undecided*: the reasons are stated, and
`observed` is what the numbers would say if they could decide. Brackets are 95 % t intervals of the
effect. *By rank*: a run that has found nothing feasible has an infinite value; then the exact
signed-rank test decides, and the numbers are the median and quartiles of the differences.
*Same run*: the reading changes nothing on these problems, it is no independent evidence. Where that
is so of some runs alone, their number is stated."""

DEVIATION = ("paper", "code", "default", "reading", "why")
SUMMARY = (
    "claim",
    "where",
    "statement",
    "verdict",
    "weakest comparison: effect [95 %]",
    "p (Holm)",
    "p (sign flip)",
    "seeds",
    "comparisons",
    "other readings",
)
FEW = 3  # readings that were not run and are still named


def as_markdown(paper: Paper, verdicts: Sequence[Verdict], mixed: Sequence[str] = ()) -> str:
    """The whole ledger: verdicts, comparisons, errata, assumptions, deviations, readings; `mixed`
    are sentences on what the records were made with.
    """
    head = paper.entry["paper"]
    readings = [
        {"id": name, **reading} for name, reading in paper.entry.get("readings", {}).items()
    ]
    counts = Counter(verdict.verdict for verdict in verdicts)
    parts = [
        f"# Verdicts on {quoted(head['key'])}, scale {quoted(paper.scale)}",
        quoted(f"{head.get('title', '')} ({head.get('venue', '')})"),
        ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) or "no claims",
        *mixed,
        RULES,
        _summary(verdicts),
        *(_details(paper, verdict) for verdict in verdicts),
        _registered(
            "Errata found in the paper",
            paper.entry.get("errata", []),
            ("where", "says", "instead", "evidence"),
        ),
        _registered(
            "Assumptions",
            paper.entry.get("assumptions", []),
            ("what", "alternatives", "why", "reading"),
        ),
        _registered(
            "Where text, proof and public code differ", paper.entry.get("deviations", []), DEVIATION
        ),
        _registered("Readings", readings, ("says",)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def in_full(verdict: Verdict) -> str:
    """The verdict with its reasons and what was observed."""
    if not verdict.reasons:
        return verdict.verdict
    return f"{verdict.verdict}: {'; '.join(verdict.reasons)} (observed: {verdict.observed})"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of cells that are quoted, or markup of ours; their pipes are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )


def number(value: float) -> str:
    """Three significant digits; whole numbers below a million in full, more digits where three
    would make it 1.
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == round(value) and abs(value) < 1e6:
        return str(round(value))
    short = f"{value:.3g}"
    return f"{value:.6g}" if short in ("1", "-1") else short


def _summary(verdicts: Sequence[Verdict]) -> str:
    rows = []
    for verdict in verdicts:
        weakest, p, p_flip = _weakest(verdict)
        link, many = f"[{verdict.id}](#{verdict.id.lower()})", str(len(verdict.comparisons))
        judged = f"**{quoted(in_full(verdict))}**"
        rows.append(
            [
                link,
                quoted(verdict.where),
                quoted(verdict.says),
                judged,
                weakest,
                p,
                p_flip,
                str(verdict.seeds),
                many,
                _other_readings(verdict),
            ]
        )
    return table(SUMMARY, rows) if rows else ""


def _other_readings(verdict: Verdict) -> str:
    """The readings by what is observed under them: first what differs from the default, then what
    agrees, then those that are the same run, last those not run.
    """
    groups: dict[str, list[str]] = {}
    missing = [name for name, outcome in verdict.readings.items() if not outcome.was_run]
    judged = [(name, outcome) for name, outcome in verdict.readings.items() if outcome.was_run]

    def rank(pair: tuple[str, Outcome]) -> tuple[bool, bool]:
        return pair[1].is_same_run, pair[1].observed == verdict.observed

    for name, outcome in sorted(judged, key=rank):
        other = f"**{outcome.observed}**{' (undecided)' if outcome.reasons else ''}"
        what = "same" if outcome.observed == verdict.observed else other
        what = SAME_RUN if outcome.is_same_run else what
        notes = [f"{outcome.seeds} seeds"] * (outcome.seeds != verdict.seeds)
        notes += [f"same run in {outcome.in_part}"] * bool(outcome.in_part)
        said = f" ({', '.join(notes)})" if notes else ""
        groups.setdefault(f"{what} under", []).append(quoted(name) + said)
    if missing:
        few = [quoted(name) for name in missing]
        groups["not run"] = few if len(missing) <= FEW else [f"{len(missing)} readings"]
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in groups.items()) or "-"


def _weakest(verdict: Verdict) -> tuple[str, str, str]:
    """The comparison with the largest p, those on the wrong side first."""
    if not verdict.comparisons:
        return "-", "-", "-"
    pairs = zip(verdict.comparisons, verdict.p_holm, strict=True)
    comparison, p = max(
        pairs,
        key=lambda pair: (not pair[0].holds, pair[1] if math.isfinite(pair[1]) else 2, pair[0].p),
    )
    return quoted(f"{comparison.what}: {_effect(comparison)}"), number(p), number(comparison.p_flip)


def _effect(comparison: Comparison) -> str:
    return effect(comparison.kind, comparison.effect, comparison.low, comparison.high)


def effect(kind: str, mean: float, low: float, high: float) -> str:
    """An effect with its interval; of a statement about every row, in how many of them it holds and
    between which numbers.
    """
    if kind.startswith(OF_ROWS):
        what = kind.rpartition(", ")[2]
        counted = f"{what} between" if what in ("ratio", "value") else "between"
        return (
            f"holds in {number(100 * mean)} % of rows; {counted} {number(low)} and {number(high)}"
        )
    return f"{kind} {number(mean)} [{number(low)}, {number(high)}]"


def _details(paper: Paper, verdict: Verdict) -> str:
    rows = [
        [
            quoted(comparison.what),
            quoted(_effect(comparison)),
            "yes" if comparison.holds else "no",
            number(p),
            number(comparison.p_flip),
            str(comparison.n),
        ]
        for comparison, p in zip(verdict.comparisons, verdict.p_holm, strict=True)
    ]
    commands = "\n".join(
        [*verdict.rerun, f"python -m workflow.claims {paper.name} --scale {paper.scale}"]
    )
    parts = [
        f"## {verdict.id}",
        f"{quoted(f'{verdict.where}: {verdict.says}')}\n\n**{quoted(in_full(verdict))}**"
        + (f" · data: {quoted(verdict.data)}" if verdict.data else ""),
        quoted(verdict.note),
        (
            table(
                [
                    "comparison",
                    "effect [95 %]",
                    "claimed side",
                    "p (Holm)",
                    "p (sign flip)",
                    "seeds",
                ],
                rows,
            )
            if rows
            else ""
        ),
        f"<details><summary>run it again</summary>\n\n```\n{commands}\n```\n\n</details>",
    ]
    return "\n\n".join(part for part in parts if part)


def _registered(title: str, entries: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    rows = [[entry["id"], *(_words(entry.get(key, "-")) for key in keys)] for entry in entries]
    rows = [[quoted(cell) for cell in row] for row in rows]
    return f"## {title}\n\n{table(['id', *keys], rows)}" if rows else ""


def _words(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value).strip()
