"""verdicts.md: the ledger of a paper for people, and Markdown tables.

What it takes from a paper's YAML, and from names and reasons made of it, is quoted: shown as it
stands, so that none of it becomes markup.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workflow.judge import outcomes
from workflow.judge.checks import EVALUATION, OF_ROWS, Comparison
from workflow.judge.claims import Nearest, Verdict, deciding
from workflow.judge.history import BEFORE, UNENTERED
from workflow.judge.outcomes import CONTRADICTED, GROUPS, REPRODUCED, group, listed
from workflow.measure.statistics import LEVEL
from workflow.plan.paper import Paper
from workflow.plan.reads import known_readings

OF_NEAREST = """\
Where *nearest* is empty the claim counts as printed: no published number decides it, or the nearest
setting leaves its runs as they are."""
LEGEND = """\
A measure of runs is a cost, the smaller the better: of a capacity or a likelihood, its negative.
Brackets are 95 % intervals of one effect: by t, of spreads by F, of shares exact; by rank they are
quartiles. Verdicts use one-sided tests, whose 5 % the comparisons that could refute a claim share.
*Observed* is what the numbers would say if they could decide. *Could see* is the smallest effect,
or tolerance, that so many seeds of this spread show in four of five times. q is p adjusted over all
claims of this page that are counted together; that against the claim where its numbers are not on
its side. *By rank*: some value is infinite, that of a run without a feasible point or one that is
never reached; then the exact signed-rank test decides, and the effect is a median. What the
verdicts mean, how they are reached and how often they are wrong: docs/verdicts.md. Other readings:
claims-by-settings.md."""

APPENDIX = (
    "Judged as claims are, and in no count: what is not in the paper, what we said beforehand could"
    " not fail here, and what was run outside the hypotheses of a theorem."
)
REGISTERED = {
    "errata": ("Errata found in the paper", ("where", "says", "instead", "evidence")),
    "assumptions": ("Assumptions", ("what", "alternatives", "why", "reading")),
    "deviations": (
        "Where text, proof and public code differ",
        ("paper", "code", "default", "reading", "why"),
    ),
}
# code, emphasis, links and tags, but no _ within a word
MARKUP = re.compile(r"[\\`*]|\](?=\()|<(?=[A-Za-z/!?])|(?<!\w)_|_(?!\w)")


def as_markdown(
    paper: Paper,
    verdicts: Sequence[Verdict],
    mixed: Sequence[str] = (),
    beside: str = "",
    appendix: Sequence[Verdict] = (),
) -> str:
    """The whole ledger: verdicts, published numbers `beside` ours, comparisons, appendix, errata,
    assumptions, deviations, readings; `mixed` are sentences on what the records were made with.
    """
    head = paper.entry["paper"]
    readings = [
        {"id": name, "says": str(reading)} for name, reading in known_readings(paper).items()
    ]
    venue = f" ({head['venue']})" if head.get("venue") else ""
    parts = [
        f"# Verdicts on {quoted(head.get('label', head['key']))}, scale {quoted(paper.scale)}",
        quoted(f"{head.get('title', '')}{venue}"),
        *_counts(verdicts),
        *mixed,
        _summary(verdicts),
        OF_NEAREST if any(one.nearest for one in verdicts) else "",
        LEGEND,
        _history(verdicts),
        beside,
        *(_details(paper, verdict) for verdict in verdicts),
        _appendix(appendix),
        *(
            _registered(title, paper.entry.get(section, []), keys)
            for section, (title, keys) in REGISTERED.items()
        ),
        _registered("Readings", readings, ("says",)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counts(verdicts: Sequence[Verdict]) -> list[str]:
    """The claims counted, those with a qualifier apart, and what is left under a false-discovery
    rate.
    """
    if not verdicts:
        return ["no claims"]
    groups = {
        name: [one for one in verdicts if group(one.qualifiers) == name] for name in ("", *GROUPS)
    }
    plain = groups.pop("")
    ways = [listed(one.verdict for one in plain) or "no plain claims"]
    if any(one.nearest for one in verdicts):
        nearest = listed((one.nearest or one).verdict for one in plain)
        ways = [f"As printed: {ways[0]}", f"Nearest: {nearest}"]
    lines = [
        f"* {name} ({len(some)}): {listed(one.verdict for one in some)}"
        for name, some in groups.items()
        if some
    ]
    apart = ["Counted apart:\n\n" + "\n".join(lines)] if lines else []
    decided = [one for one in plain if one.verdict in (REPRODUCED, CONTRADICTED)]
    q = [one.q for one in decided if not math.isnan(one.q)]
    said = (
        f"{sum(value <= LEVEL for value in q)} of {len(q)} claims that a test decided remain at a"
        " false-discovery rate of 5 % over all that are counted together."
    )
    return [*ways, *apart, *[said] * bool(q)]


def _history(verdicts: Sequence[Verdict]) -> str:
    """Of how many claims check and defaults were fixed before the first records, of those that have
    some: what has none was fixed before nothing.
    """
    fixed = [one.fixed for one in verdicts if one.fixed is not None]
    if not fixed:
        return ""
    judged = [one for one in fixed if one.first_records or one.check == UNENTERED]
    checks = sum(one.check == BEFORE for one in judged)
    defaults = sum(one.defaults == BEFORE for one in judged)
    none = f"; {len(fixed) - len(judged)} more have no records yet" * (len(fixed) > len(judged))
    return (
        f"Fixed before the first records: the checks of {checks} and the defaults of {defaults} of"
        f" {len(judged)} claims{none}; each claim says below when. What this cannot see:"
        " docs/how-it-works.md."
    )


def outcome_of(verdict: str, reasons: Sequence[str], observed: str) -> str:
    """The outcome of a line of the appendix: what was observed, where that may not decide it."""
    return f"observed: {observed}" if reasons else verdict


def in_full(one: Verdict | Nearest, qualifiers: Sequence[str] = ()) -> str:
    """A verdict with its reasons, what was observed, and qualifiers."""
    why = f": {'; '.join(one.reasons)} (observed: {one.observed})" if one.reasons else ""
    return "; ".join([one.verdict + why, *qualifiers])


def quoted(text: object) -> str:
    """A text for one line of Markdown, or one cell of a table, that is shown as it is."""
    return MARKUP.sub(lambda mark: f"\\{mark[0]}", " ".join(str(text).split()))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of cells that are quoted, or markup of ours; their pipes are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )


def number(value: float, digits: int = 3) -> str:
    """So many significant digits; whole numbers below a million in full, more digits where these
    would make it 1.
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == round(value) and abs(value) < 1e6:
        return str(round(value))
    short = f"{value:.{digits}g}"
    return f"{value:.6g}" if short in ("1", "-1") else short


def printed(value: float) -> str:
    """A number that a paper prints, with all its digits."""
    return f"{value:.10g}" if math.isfinite(value) else number(value)


def _summary(verdicts: Sequence[Verdict]) -> str:
    """A line for each claim; its section has the reasons, the place and all comparisons."""
    columns = {
        "claim": [f"[{one.id}](#{one.id.lower()})" for one in verdicts],
        "statement": [quoted(one.says) for one in verdicts],
        "as printed": [
            "; ".join(filter(None, [_in_short(one), group(one.qualifiers)])) for one in verdicts
        ],
        "nearest": [_in_short(one.nearest) if one.nearest else "" for one in verdicts],
        "weakest comparison: effect [95 %]": [_weakest(one) for one in verdicts],
        "q": [number(one.q) for one in verdicts],
        "seeds": [str(one.seeds) for one in verdicts],
    }
    if not any(columns["nearest"]):
        del columns["nearest"]
    return table(list(columns), zip(*columns.values(), strict=True)) if verdicts else ""


def _in_short(one: Verdict | Nearest) -> str:
    """The verdict, and what was observed where it decides nothing."""
    observed = f" (observed: {one.observed})" if one.reasons else ""
    return f"**{quoted(one.verdict + observed)}**"


def _nearest(verdict: Verdict) -> str:
    """The verdict in the nearest setting with its reasons."""
    nearest = verdict.nearest
    if nearest is None:
        return ""
    return f"In the nearest setting: **{quoted(in_full(nearest))}**"


def _weakest(verdict: Verdict) -> str:
    if not verdict.comparisons:
        return "-"
    one = min(deciding(verdict.comparisons), key=lambda each: each.weakness)
    return quoted(f"{one.what}: {'not run' if one.missing else effect(one)}")


def seen(comparison: Comparison) -> str:
    """The smallest effect that a comparison's seeds could have seen, in words."""
    if math.isnan(comparison.seen):
        return "-"
    least = number(comparison.seen)
    return f"a factor of {least}" if comparison.kind == "ratio" else least


def effect(one: Comparison) -> str:
    """An effect with its interval; of a statement about every row, in how many of them it holds and
    between which numbers; "no number" where there is none.
    """
    if math.isnan(one.effect):
        return "no number"
    digits = 4 if one.kind.startswith(EVALUATION) else 3  # else 300.5 would meet a bound of 300
    middle, low, high = (number(value, digits) for value in (one.effect, one.low, one.high))
    if one.kind.startswith(OF_ROWS):
        what = one.kind.rpartition(", ")[2]
        counted = f"{what} between" if what in ("ratio", "value") else "between"
        return f"true in {number(100 * one.effect)} % of rows; {counted} {low} and {high}"
    return f"{one.kind} {middle} [{low}, {high}]"


def _details(paper: Paper, verdict: Verdict) -> str:
    rows = [
        {
            "comparison": quoted(one.what),
            "effect [95 %]": "not run" if one.missing else quoted(effect(one)),
            "claimed side": "yes" if one.holds else "no" if one.has_number else "-",
            "could see": seen(one),
            "p": number(one.p),
            "p (sign flip)": number(one.p_flip),
            "seeds": str(one.n),
            "decided": f"{one.decides} the claim, at {one.at or one.n} seed{'s' * (one.n > 1)}"
            + f", no longer at {one.n}" * one.has_faded
            if one.decides
            else one.apart or "-",
        }
        for one in sorted(verdict.comparisons, key=lambda each: each.weakness)
    ]
    commands = "\n".join(
        [*verdict.rerun, f"python -m workflow.report {paper.name} verdicts --scale {paper.scale}"]
    )
    parts = [
        f"## {verdict.id}",
        f"{quoted(f'{verdict.where}: {verdict.says}')}\n\n"
        f"**{quoted(in_full(verdict, verdict.qualifiers))}**"
        + (f" · data: {quoted(verdict.data)}" if verdict.data else ""),
        _nearest(verdict),
        quoted(verdict.fixed) if verdict.fixed else "",
        quoted(verdict.note),
        table(list(rows[0]), [list(row.values()) for row in rows]) if rows else "",
        f"<details><summary>run it again</summary>\n\n```\n{commands}\n```\n\n</details>",
    ]
    return "\n\n".join(part for part in parts if part)


def _appendix(verdicts: Sequence[Verdict]) -> str:
    """What is judged and is no claim of the paper, in one table."""
    rows = [
        [
            f'<a id="{one.id.lower()}"></a>{quoted(one.id)}',
            quoted(one.where),
            quoted(one.says),
            f"**{quoted(outcome_of(one.verdict, one.reasons, one.observed))}**",
            quoted(outcomes.why_apart(one.kind, one.qualifiers, one.observed)),
        ]
        for one in verdicts
    ]
    columns = ["id", "where", "what is checked", "outcome", "why it is here"]
    return f"## Appendix\n\n{APPENDIX}\n\n{table(columns, rows)}" if rows else ""


def _registered(title: str, entries: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    rows = [[entry["id"], *(_words(entry.get(key, "-")) for key in keys)] for entry in entries]
    rows = [[quoted(cell) for cell in row] for row in rows]
    return f"## {title}\n\n{table(['id', *keys], rows)}" if rows else ""


def _words(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value).strip()
