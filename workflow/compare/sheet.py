"""What a comparison leaves in its folder: the figure, its numbers, and verdicts.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from workflow.compare.against import Pair, pairs, raised
from workflow.draw import plots
from workflow.draw.panels import Panel, looks_of, panels_of
from workflow.draw.style import GUEST
from workflow.judge.outcomes import CONTRADICTED, MEANINGS, ORDER, REPRODUCED, UNDECIDED
from workflow.judge.quoting import quoted
from workflow.judge.render import effect, in_full, number, seen, table
from workflow.measure.statistics import LEVEL
from workflow.measure.store import Store
from workflow.plan.guest import Visit
from workflow.plan.selection import figure, figure_runs, panel_options
from workflow.trace.atomic import atomic
from workflow.trace.cells import seed_range

YOURS = "your method, not in the paper"
OPPOSITE = {"lower": "higher", "higher": "lower"}


def write(visit: Visit) -> list[str]:
    """Draw, judge and write; returns what a terminal is told, [] where the guest has no run.

    Raises PlanError, BadRecords.
    """
    paper = visit.paper
    store = Store(paper, partial=True, other_code=True)
    runs = figure_runs(paper, visit.figure)
    store.check(runs)
    if not any(store.has(cell) for cell in visit.cells):
        return []
    visit.folder.mkdir(parents=True, exist_ok=True)
    line, panels = figure(paper, visit.figure), _panels(visit, store)
    note = plots.small_print(paper, line, panels, other=store.of_other_code(runs))
    plots.write(paper, line, panels, note, visit.folder)
    found = pairs(visit, store)
    notes = _notes(visit, store)
    with atomic(visit.folder / "verdicts.md") as temporary:
        temporary.write_text(_as_markdown(visit, found, notes), encoding="utf-8")
    lines = [f"{visit.guest.name}: {YOURS}"]
    for group in _by_panel(found):
        lines += [_sentence(visit, group), *_short(group)]
    return [*lines, *notes]


def _panels(visit: Visit, store: Store) -> list[Panel]:
    """The panels of the figure: all curves look as without the guest, which looks like no other."""
    name = visit.guest.name
    options = panel_options(store.paper, visit.figure)
    alone = [
        {**panel, "curves": [curve for curve in panel["curves"] if curve != name]}
        for panel in options
    ]
    looks = looks_of(store.paper, alone)
    label = f"{name} ({YOURS})"

    def own(shown: str) -> bool:
        return shown.partition("@")[0].partition("+")[0] == name

    def seen_as(panel: Panel) -> Panel:
        lines = [
            replace(line, look=GUEST, label=label, hollow=False)
            if own(line.label)
            else replace(line, look=looks.get(line.label, line.look))
            for line in panel.lines
        ]
        dots = [
            replace(row, look=GUEST, label=f"{name} (your method)", hollow=False)
            if own(row.label)
            else replace(row, look=looks.get(row.label, row.look))
            for row in panel.dots
        ]
        return replace(panel, lines=lines, dots=dots)

    return [seen_as(panel) for panel in panels_of(store.paper, store, visit.figure)]


def _by_panel(found: Sequence[Pair]) -> list[list[Pair]]:
    return [list(group) for _, group in groupby(found, key=lambda pair: pair.number)]


def _sentence(visit: Visit, group: Sequence[Pair]) -> str:
    """What the guest comes to in a panel."""
    there, word = [pair for pair in group if pair.is_there], group[0].word
    counts = Counter(pair.verdict.verdict for pair in there)
    others = [one for one in ORDER if one not in (REPRODUCED, CONTRADICTED)]
    parts = [f"{word} than {counts[REPRODUCED]} of {len(there)} curves"]
    parts += [f"{OPPOSITE[word]} than {counts[CONTRADICTED]}"] * bool(counts[CONTRADICTED])
    parts += [f"{counts[one]} {one}" for one in others if counts[one]]
    parts += [f"{len(group) - len(there)} not run"] * (len(there) < len(group))
    return f"{group[0].panel}: {visit.guest.name} is {', '.join(parts)}"


def _short(group: Sequence[Pair]) -> list[str]:
    """A line for each curve of a panel, for a terminal; one for all that were not run."""
    there = [pair for pair in group if pair.is_there]
    wide = max((len(pair.curve) for pair in there), default=0)
    broad = max((len(pair.verdict.verdict) for pair in there), default=0)
    lines = [
        f"  {pair.curve.ljust(wide)}  {pair.verdict.verdict.ljust(broad)}  {_effect(pair)}"
        for pair in there
    ]
    absent = [pair.curve for pair in group if not pair.is_there]
    return lines + [f"  not run: {', '.join(absent)}"] * bool(absent)


def _effect(pair: Pair) -> str:
    """The difference to a curve with its interval, in words; why there is none."""
    (one,) = pair.verdict.comparisons
    return one.missing or effect(one.kind, one.effect, one.low, one.high)


def _notes(visit: Visit, store: Store) -> list[str]:
    """What a reader has to know of these runs beside the rules."""
    short = [
        f"{cell.problem_name} (seeds {seed_range(store.seeds(cell)) if store.has(cell) else 'none'}"
        f" of {seed_range(cell.seeds)})"
        for cell in visit.cells
        if not store.has(cell) or len(store.seeds(cell)) < len(cell.seeds)
    ]
    told = [f"Not all runs of {visit.guest.name} are there: {', '.join(short)}."] if short else []
    told += raised(visit, store)
    told += [f"Not compared: {what}." for what in visit.left]
    return told + store.mixed()


def _as_markdown(visit: Visit, found: Sequence[Pair], notes: Sequence[str]) -> str:
    """The whole sheet."""
    guest, line = visit.guest, figure(visit.paper, visit.figure)
    values = ", ".join(f"{name}: {value}" for name, value in guest.parameters.items()) or "none"
    where = f", {line['where']}" if "where" in line else ""
    head = visit.paper.entry["paper"]
    parts = [
        f"# {quoted(guest.name)} in {quoted(visit.name)}",
        f"**{quoted(guest.name)} is {YOURS}.** It is algorithms.{quoted(guest.target)} with the"
        f" parameters {quoted(values)}. The other curves are those of"
        f" {quoted(head.get('title', head['key']))}{quoted(where)}.",
        f"![{quoted(visit.name)}]({visit.figure}.png)",
        "\n".join(f"* {quoted(_sentence(visit, group))}." for group in _by_panel(found)),
        table(_columns(visit, found), [_row(pair) for pair in found]),
        "## What is compared",
        "\n".join(f"* {text}" for text in [*_rules(visit, found), *map(quoted, notes)]),
    ]
    return "\n\n".join(parts) + "\n"


def _columns(visit: Visit, found: Sequence[Pair]) -> list[str]:
    name = quoted(visit.guest.name)
    return [
        *("panel", "curve", f"{name} is {_words(found)}", "effect [95 %]", "could see"),
        *("p", "p against it", "q", "seeds", "evaluations"),
        *(f"CPU s of {name}", "CPU s of the curve"),
    ]


def _words(found: Sequence[Pair]) -> str:
    """What the guest is said to be, in all panels."""
    return " or ".join(dict.fromkeys(pair.word for pair in found))


def _row(pair: Pair) -> list[str]:
    (one,) = pair.verdict.comparisons
    return [
        quoted(pair.panel),
        quoted(pair.curve),
        f"**{quoted(in_full(pair.verdict))}**",
        quoted(_effect(pair)),
        *(seen(one), number(one.p), number(one.p_against), number(pair.verdict.q)),
        *(str(one.n), str(pair.at), *map(number, pair.seconds)),
    ]


def _rules(visit: Visit, found: Sequence[Pair]) -> list[str]:
    """How the table comes about, and what it is worth."""
    name = quoted(visit.guest.name)
    metrics = ", ".join(dict.fromkeys(pair.metric.replace("_", " ") for pair in found))
    return [
        f"The statement of each row is that {name} is {_words(found)} than the curve:"
        f" {quoted(metrics)} of {name} less that of the curve, after so many evaluations."
        " *reproduced*: significantly so; *direction only*: so, but not significantly;"
        " *inconclusive*: the other way, but not significantly; *contradicted*: significantly the"
        f" other way; *{UNDECIDED}*: {MEANINGS[UNDECIDED]}.",
        "A seed of all methods has the same instance of the problem, the same initial design and"
        " the same noise at the same evaluation; seeds are pairs, and the paired t test of the"
        " papers' verdicts decides (docs/verdicts.md).",
        f"Every row is a test of its own at level {LEVEL:g}: of {len(found)} curves that are as"
        f" good as {name}, {number(LEVEL * len(found))} would be told lower by accident, and as"
        f" many higher. q is p adjusted over all {len(found)} rows.",
        "*Could see* is the smallest effect that so many seeds of this spread show in four of five"
        " times: a difference below it may be there all the same.",
        "CPU seconds are those of the optimizer in a run, on the machines that made the records.",
        "The other curves are published records (figures/reference/records), or those of results/"
        " where they were run here.",
    ]
