"""The tables of docs/which-method.md, from the committed report of the comparison with today's
optimizers: which share of its targets each method reached, problem group by problem group, and what
a query costs it (the ends of the curves of the data profile; the tables of where runs end); and
what becomes of claims that a paper's method is the best one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workflow.judge import outcomes

PROFILE, ENDS, SECONDS = "reached.json", "ends-*.md", "seconds per 1000 evaluations"


def table(report: Path) -> list[str]:
    """The table in Markdown, methods of most columns first, then by the mean of their shares; none
    without a profile.
    """
    if not (report / PROFILE).exists():
        return []
    panels = json.loads((report / PROFILE).read_text(encoding="utf-8"))["panels"]
    reached = [{line["label"]: _ends(line) for line in panel["lines"]} for panel in panels]
    costs: dict[str, list[float]] = {}
    for path in sorted(report.glob(ENDS)):
        for row in _rows(path.read_text(encoding="utf-8")):
            reading = row["reading"]
            label = row["algorithm"] + f"@{reading}" * (reading != "default")
            costs.setdefault(label, []).append(float(row[SECONDS]) / 1000)

    def standing(label: str) -> tuple[int, float, str]:
        shares = [group[label][0] for group in reached if label in group]
        return len(shares), sum(shares) / len(shares), label

    lines = [
        f"| method | {' | '.join(panel['title'] for panel in panels)} | CPU seconds a query |",
        f"| --- |{' ---: |' * len(panels)} --- |",
    ]
    for label in sorted({label for group in reached for label in group}, key=standing)[::-1]:
        cells = [_share(group.get(label), group) for group in reached]
        lines.append(f"| {label} | {' | '.join(cells)} | {_span(costs.get(label, []))} |")
    return lines


def judged_again(report: Path) -> list[str]:
    """Claims of papers beside the same with today's optimizers among the others, and a sentence
    that counts them, for a page of docs/. None without a report.
    """
    if not (again := _verdicts(report)):
        return []
    lines = [
        "| claim | among the paper's methods | with today's optimizers |",
        "| --- | --- | --- |",
    ]
    pairs = []
    for name, claim in again.items():
        place, first, *other = claim["where"].split(", ")
        if other:  # judged at another time than the paper's, and so no pair
            continue
        paper = Path(place).stem
        before = _verdicts(report.parent / paper)[first]
        pairs.append((_holds(before), _holds(claim)))
        cells = [
            f"[{'; '.join(filter(None, (one['verdict'], outcomes.group(one['qualifiers']))))}]"
            f"(../{folder / 'verdicts.md'}#{anchor})"
            for one, folder, anchor in (
                (before, report.parent / paper, first),
                (claim, report, name),
            )
        ]
        lines.append(f"| {claim['says']} | {' | '.join(cells)} |")
    alone, beside, both = (
        sum(before for before, _ in pairs),
        sum(after for _, after in pairs),
        sum(before and after for before, after in pairs),
    )
    return [
        *lines,
        "",
        f"Claims of {len(pairs)} that hold, and not trivially: {alone} among the methods of their"
        f" paper, {beside} with today's optimizers among the others, {both} both ways.",
    ]


def _holds(claim: Mapping[str, Any]) -> bool:
    """Whether a claim holds and is not counted apart, as one that could not fail."""
    return claim["verdict"] in outcomes.HOLDS and not outcomes.group(claim["qualifiers"])


def _verdicts(report: Path) -> dict[str, Mapping[str, Any]]:
    """The judged claims of a report by their names."""
    path = report / "verdicts.json"
    if not path.exists():
        return {}
    verdicts = json.loads(path.read_text(encoding="utf-8"))
    return {claim["id"]: claim for claim in verdicts["claims"]}


def _ends(line: dict) -> tuple[float, float, float]:
    """Where a curve ends: centre and edges of its band."""
    centre, low, high = (
        [value for value in line[part] if value is not None][-1]
        for part in ("centre", "low", "high")
    )
    return centre, low, high


def _share(ends: tuple[float, float, float] | None, group: dict) -> str:
    """A share of targets with its interval; the largest one of a group is bold."""
    if ends is None:
        return "-"
    centre, low, high = ends
    share = f"{centre:.2f}"
    if centre == max(other[0] for other in group.values()):
        share = f"**{share}**"
    return f"{share} [{max(low, 0):.2f}, {min(high, 1):.2f}]"


def _span(seconds: list[float]) -> str:
    """The smallest and the largest of the costs on the problems."""
    if not seconds:
        return "-"
    low, high = (f"{value:.2g}" for value in (min(seconds), max(seconds)))
    return low if low == high else f"{low} to {high}"


def _rows(text: str) -> Iterator[dict[str, str]]:
    """The rows of the first table of a page, by the names of its columns."""
    lines = (line for line in text.splitlines() if line.startswith("| "))
    cells = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines)
    head = next(cells)
    next(cells)  # the rule below it
    for row in cells:
        yield dict(zip(head, row, strict=True))
