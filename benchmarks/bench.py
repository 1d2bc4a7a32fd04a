"""Our steps beside those of other libraries: `make bench`, or `python -m benchmarks.bench [--only
arms,boxes] [--quick]`.

Each work is timed by a process of its own on one thread, both sides in turns. All works are
written to benchmarks/report/bench.md, which is committed; some families alone, or the smallest
size of each work, are written to build/bench/bench.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from benchmarks.race import Spread, Work, race
from workflow.trace import record

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "benchmarks" / "report"
PARTS = ROOT / "build" / "bench"
FAMILIES = {  # in the order of the report; what a family is about, for its heading
    "arms": "Posteriors over arms",
    "evidence": "Evidence with its gradient",
    "posterior": "Posterior moments and their gradients",
    "boxes": "A whole step on a box",
    "thompson": "Thompson sampling among candidates",
    "constrained": "Steps under constraints",
    "saas": "Parameters drawn under the SAAS prior",
}
ONE_THREAD = {"NUMEXPR_NUM_THREADS": "1", "NPROC": "1"}  # NPROC is what XLA sizes its pool by
PACKAGES = ("numpy", "scipy", "torch", "jax", "numpyro", "botorch", "gpytorch", "optuna")
VERSIONS = (*PACKAGES, "scikit-learn", "scikit-optimize")
SECONDS = 2.0  # that a work may take at one size beyond its fewest turns
Row = tuple[str, list[Spread]]  # a size in words; ours and theirs


def works(family: str) -> Sequence[Work]:
    """All works of a family."""
    works: Sequence[Work] = import_module(f"benchmarks.steps.on_{family}").WORKS
    return works


def timed(family: str, number: int, *, quick: bool = False) -> list[Row]:
    """A work at its sizes, or in the fewest turns at its first."""
    warnings.simplefilter("ignore")
    work = works(family)[number]
    rows: list[Row] = []
    for size in work.sizes[:1] if quick else work.sizes:
        turns = [side(size) for side in (work.ours, work.theirs)]
        words = ", ".join(f"{letter} = {value}" for letter, value in size.items())
        rows.append((words, race(turns, seconds=0 if quick else SECONDS)))
        print(
            f"{family}: {work.name}, {words}: {' beside '.join(map(str, rows[-1][1]))} s",
            flush=True,
        )
    return rows


def section(work: Work, rows: Iterable[Row]) -> str:
    """The heading, the table and the words of one work."""
    lines = [
        f"| {size} | {ours} | {theirs} | {theirs.median / ours.median:.2f} |"
        for size, (ours, theirs) in rows
    ]
    heading = f"### {work.name} beside {work.peer}"
    same = f"The same work? {work.same[0].upper()}{work.same[1:]}."
    head = ["| size | ours s | theirs s | ratio |", "|---|---|---|---|"]
    return "\n".join([heading, "", *head, *lines, "", same])


def preamble() -> str:
    """What the page is, the machine, and versions."""
    made = record.provenance()
    versions = ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    return f"""\
# Our steps beside those of other libraries

Written by `make bench`. Seconds are CPU seconds of one thread, the median of turns in which the two
sides alternate in one process, with the least and the largest. The ratio is theirs over ours: more
than 1 means that ours is faster.

Machine: {made["machine"]}, commit {made["commit"]}. Versions: {versions}."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Time works, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--only", default="", help="families, with commas between them")
    parser.add_argument("--quick", action="store_true", help="the smallest size, fewest turns")
    options = parser.parse_args(arguments)
    chosen = options.only.replace(",", " ").split() or list(FAMILIES)
    if unknown := [name for name in chosen if name not in FAMILIES]:
        parser.error(f"--only: expected some of {', '.join(FAMILIES)}, got {', '.join(unknown)}")
    os.environ.update(ONE_THREAD)  # `workflow` has set the others
    began, parts = time.monotonic(), [preamble()]
    for family in (name for name in FAMILIES if name in chosen):
        parts.append(f"## {FAMILIES[family]}")
        for number, work in enumerate(works(family)):
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                rows = alone.submit(timed, family, number, quick=options.quick).result()
            parts.append(section(work, rows))
    into = PARTS if options.only or options.quick else REPORT
    into.mkdir(parents=True, exist_ok=True)
    (into / "bench.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"wrote {into / 'bench.md'} after {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
