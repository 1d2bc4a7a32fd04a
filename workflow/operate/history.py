"""Enter in papers/history.json since when the check of each claim, and the defaults of its runs,
are what they are: `python -m workflow.history [--check]`, called by `make history`.

A line stays as long as its hashes are those of the claim. A new check, or new defaults, are entered
as of now: before the first records of the claim, if no comparison of the claim has all its runs
published, and after them otherwise. The history of the file in git shows every entry.

`--check`, called by `make check`, fails where a claim is not what its line speaks of, has none, or
is gone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from workflow.judge import fixed
from workflow.judge.checks import pairs_of
from workflow.judge.evidence import Evidence
from workflow.judge.fixed import AFTER, BEFORE, LEDGER, Line
from workflow.measure.store import Run, Store
from workflow.plan.expand import load
from workflow.plan.paper import Paper
from workflow.plan.reads import stated
from workflow.plan.resolve import ROOT, papers
from workflow.trace.atomic import atomic
from workflow.trace.cells import PUBLISHED, Cell, PlanError

NEW = Line("", "", "", "", "", "", "")


def lines(paper: Paper, root: Path, known: Mapping[str, Line], now: str) -> dict[str, Line]:
    """The lines of a paper's claims, from those that are known."""
    evidence = Evidence(paper, Store(paper, root))
    found = {}
    for claim in stated(paper.entry):
        line = known.get(str(claim["id"]), NEW)
        if not line.first_records and any(
            pair and all(_is_published(run, paper.name, root) for run in pair)
            for pair in pairs_of(evidence, claim)
        ):
            line = replace(line, first_records=now)
        came = AFTER if line.first_records else BEFORE
        check, defaults = fixed.hashes(paper.entry, claim)
        if check != line.check:
            line = replace(line, check=check, check_since=now, check_came=came)
        if defaults != line.defaults:
            line = replace(line, defaults=defaults, defaults_since=now, defaults_came=came)
        found[str(claim["id"])] = line
    return found


def _is_published(run: Run, paper: str, root: Path) -> bool:
    place = (run.problem_name, run.curve) if isinstance(run, Cell) else ("studies", run.id)
    return any((root / PUBLISHED).glob(f"*/{paper}/{'/'.join(place)}.parquet"))


def text_of(found: Mapping[str, Mapping[str, Line]]) -> str:
    """The ledger as it is written: a line a claim."""
    parts = []
    for paper, claims in sorted(found.items()):
        rows = [f"{json.dumps(key)}: {json.dumps(asdict(claims[key]))}" for key in sorted(claims)]
        parts.append(f"{json.dumps(paper)}: {{\n" + ",\n".join(rows) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def wrong(root: Path) -> list[str]:
    """What the ledger does not say of the claims as they stand, in sentences. Raises PlanError."""
    known, found = fixed.read(root), []
    for name in papers(root):
        entry, said = load(name, "paper", root=root).entry, known.pop(name, {})
        there = {str(claim["id"]): claim for claim in stated(entry)}
        for key, claim in there.items():
            judged = fixed.of(entry, claim, said)
            if judged.check == fixed.UNENTERED:
                found.append(f"{LEDGER}: expected a line of {name}'s claim {key}, found none")
            found += [
                f"{LEDGER}: the {part} of {name}'s claim {key} changed since {fixed.day(since)}"
                for part, came, since in (
                    ("check", judged.check, judged.check_since),
                    ("defaults", judged.defaults, judged.defaults_since),
                )
                if came == fixed.ALTERED
            ]
        found += [f"{LEDGER}: {name} has no claim {key}" for key in said if key not in there]
    return found + [f"{LEDGER}: there is no paper {name}" for name in known]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.history", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail where the ledger is stale"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="of the checkout")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            errors = wrong(options.root)
            errors += ["run `make history`, and commit what it writes"] if errors else []
            print("".join(f"error: {sentence}\n" for sentence in errors), end="", file=sys.stderr)
            return int(bool(errors))
        now, known = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", fixed.read(options.root)
        found = {
            name: lines(
                load(name, "paper", root=options.root), options.root, known.get(name, {}), now
            )
            for name in papers(options.root)
        }
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    with atomic(options.root / LEDGER) as temporary:
        temporary.write_text(text_of(found), encoding="utf-8")
    print(f"wrote {LEDGER}: {sum(map(len, found.values()))} claims", file=sys.stderr)
    return 0
