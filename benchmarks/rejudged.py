"""What became of each verdict of the first edition: `python -m benchmarks.rejudged [FOLDER]`.

Writes docs/rejudged.md from benchmarks/first_edition.csv, which has every comparison of the first
edition's verdicts, and from FOLDER/PAPER/verdicts.json (default: figures/reference). Three things
can have changed a verdict: the rules, the numbers, or the claim. To tell them apart, the first
edition's numbers are judged by today's rules, too.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    INCONCLUSIVE,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    group,
)
from workflow.measure.statistics import ENOUGH, LEVEL

PAGE, FIRST = Path("docs/rejudged.md"), Path("benchmarks/first_edition.csv")
REFERENCE = Path("figures/reference")
WORSE = "not reproduced"  # the first edition's word for inconclusive and contradicted
NONE = "no such claim"
THE_RULES = "today's rules make this of the first edition's numbers, too"
OTHER_NUMBERS = (
    "other numbers: defaults, seeds or the claim's check changed, and its runs were made anew"
)
OF_TODAY = "a claim of this edition"
OF_BEFORE = "a claim of the first edition: split, renamed or withdrawn since"
WAITS = "its runs have not been made by today's code yet"


@dataclass(frozen=True)
class First:
    """A claim of the first edition: its verdict, and what today's rules make of its numbers."""

    verdict: str
    today: str


def first(rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], First]:
    """The claims of the first edition by paper and id, from rows of FIRST in its order."""
    found = {}
    for key, own in groupby(rows, key=lambda row: (row["paper"], row["claim"])):
        numbers = list(own)
        verdict = numbers[0]["verdict"]
        found[key] = First(verdict, UNDECIDED if verdict == "undecided" else judged(numbers))
    return found


def judged(rows: Sequence[Mapping[str, str]]) -> str:
    """What today's rules make of the comparisons of a claim, by one look at the level of 5 %.

    The first edition had no p against a claim: for a t test it is one minus that for it. A number
    without a p decides as it is.
    """
    if all(row["holds"] == "yes" for row in rows):
        is_clear = [row["p"] == "" or float(row["p"]) <= LEVEL for row in rows]
        return REPRODUCED if all(is_clear) else DIRECTION
    against = [_against(row) for row in rows if row["holds"] != "yes"]
    return CONTRADICTED if min(against) <= LEVEL / len(rows) else INCONCLUSIVE


def _against(row: Mapping[str, str]) -> float:
    if row["p"] == "":
        return 0.0
    return 1 - float(row["p"]) if int(row["n"]) >= ENOUGH else 1.0


def why(before: First | None, claim: Mapping[str, Any] | None) -> str:
    """Why a verdict is another one now."""
    if before is None:
        return OF_TODAY
    if claim is None:
        return OF_BEFORE
    if claim["observed"] == NOT_RUN:
        return WAITS
    if claim["verdict"] == UNDECIDED:
        return "; ".join(claim["reasons"])
    if before.today == claim["verdict"]:
        return THE_RULES
    return OTHER_NUMBERS


def page(folder: Path, known: Mapping[tuple[str, str], First]) -> str:
    """The whole page, from the reports below a folder."""
    parts = [
        "# What became of the first edition's verdicts",
        "Written by `python -m benchmarks.rejudged`. The first edition called everything "
        f'"{WORSE}" that had a mean on the wrong side; today\'s words and rules are in '
        "[verdicts](verdicts.md). A line for each claim whose verdict is another one, and why. "
        "For the *why*, the first edition's numbers were judged by today's rules, all seeds at one"
        " look.",
    ]
    papers = dict.fromkeys(paper for paper, _ in known)
    parts += [_paper(paper, folder, known) for paper in papers]
    return "\n\n".join(parts) + "\n"


def _paper(paper: str, folder: Path, known: Mapping[tuple[str, str], First]) -> str:
    report = json.loads((folder / paper / "verdicts.json").read_text(encoding="utf-8"))
    own = {name: before for (of, name), before in known.items() if of == paper}
    head = f"## {paper}\n\n"
    if "edition" not in report:
        return head + _by_the_rules(own)
    claims = {claim["id"]: claim for claim in report["claims"]}
    names = dict.fromkeys([*claims, *own])
    lines, kept = [], 0
    for name in names:
        before, claim = own.get(name), claims.get(name)
        old = _today(before.verdict) if before else NONE
        new = _now(claim) if claim else NONE
        if old == new:
            kept += 1
            continue
        lines.append(f"| `{name}` | {old} | {new} | {why(before, claim)} |")
    table = ["| claim | first edition | now | why |", "|---|---|---|---|", *lines]
    counted = (
        f"{kept} of the {len(names)} claims of either edition have the same verdict and qualifier"
        " in both.\n\n"
    )
    return head + counted + "\n".join(table if lines else [])


def _by_the_rules(own: Mapping[str, First]) -> str:
    """Where the runs are to be made anew: each claim that today's rules judge otherwise."""
    other = {name: one.today for name, one in own.items() if one.today != _today(one.verdict)}
    words = ", ".join(f"{number} {word}" for word, number in Counter(other.values()).most_common())
    said = (
        "The committed report is still the first edition's, whose runs are being made anew. By"
        f" today's rules its numbers give {words or 'the verdicts that they gave'}"
    )
    said += f"; the other {len(own) - len(other)} verdicts stay.\n\n" if other else "."
    lines = [f"| `{name}` | {own[name].verdict} | {today} |" for name, today in other.items()]
    table = ["| claim | first edition | the same numbers today |", "|---|---|---|", *lines]
    return said + "\n".join(table if lines else [])


def _today(verdict: str) -> str:
    """A verdict of the first edition in today's words, where these have it."""
    return UNDECIDED if verdict == "undecided" else verdict


def _now(claim: Mapping[str, Any]) -> str:
    apart = group(claim["qualifiers"])
    return claim["verdict"] + (f" ({apart})" if apart else "")


def rows_of(folder: Path) -> list[dict[str, str]]:
    """The comparisons of the first edition, as FIRST has them, from the folders of its reports."""
    rows = []
    for path in sorted(folder.glob("*/verdicts.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        for claim in report["claims"]:
            for one in claim["comparisons"] or [{}]:
                number = one.get("p")
                is_number = number is not None and math.isfinite(number)
                rows.append(
                    {
                        "paper": report["paper"],
                        "claim": claim["id"],
                        "verdict": claim["verdict"],
                        "holds": "yes" if one.get("holds") else "no",
                        "p": f"{number:.6g}" if is_number else "",
                        "n": str(one.get("n", 0)),
                    }
                )
    return rows


def read() -> list[dict[str, str]]:
    with FIRST.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.rejudged", description=__doc__)
    options.add_argument("folder", nargs="?", type=Path, default=REFERENCE)
    PAGE.write_text(page(options.parse_args(arguments).folder, first(read())), encoding="utf-8")


if __name__ == "__main__":
    main()
