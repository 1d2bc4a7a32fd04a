"""Commit what a scale has drawn: `python -m workflow.reference SCALE [PAPERS]`, called by `make reference` only.

Copies pictures, tables and verdicts to figures/reference/<paper>/ and writes the table of verdicts in README.md.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

from workflow.plan import PlanError, chosen_papers

KINDS = (".png", ".gif", ".md", ".json")
ORDER = ("reproduced", "direction only", "not reproduced", "undecided")
BEGIN, END = "<!-- verdicts -->", "<!-- /verdicts -->"


def copy(scale: str, paper: str) -> Path:
    """Copy one paper's report. Raises PlanError where none was drawn."""
    drawn, kept = Path("figures", scale, paper), Path("figures", "reference", paper)
    if not (drawn / "verdicts.json").exists():
        raise PlanError(f"expected {drawn}/verdicts.json, found none: run make figures SCALE={scale} PAPERS={paper} first")
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for path in sorted(drawn.iterdir()):
        if path.suffix in KINDS:
            shutil.copy(path, kept)
    return kept


def counts() -> list[str]:
    """The verdicts of every committed report, counted."""
    lines = [f"| paper | scale | {' | '.join(ORDER)} |", f"| --- | --- |{' ---: |' * len(ORDER)}"]
    for path in sorted(Path("figures", "reference").glob("*/verdicts.json")):
        report = json.loads(path.read_text())
        count = Counter(claim["verdict"] for claim in report["claims"])
        name = f"[{report['paper']}]({path.with_suffix('.md')})"
        lines.append(f"| {name} | {report['scale']} | {' | '.join(str(count[verdict]) for verdict in ORDER)} |")
    return lines


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for paper in chosen_papers(",".join(arguments[1:])):
            print(f"wrote {copy(arguments[0], paper)}", file=sys.stderr)
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    readme = Path("README.md")
    head, _, rest = readme.read_text().partition(BEGIN)
    tail = rest.partition(END)[2]
    readme.write_text("\n".join([head + BEGIN, *counts(), END + tail]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
