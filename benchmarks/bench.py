"""Our steps beside those of other libraries: `make bench`, or `python -m benchmarks.bench [--only
arms,boxes] [--scale tiny|usual|full] [--into FOLDER]`.

Each work is timed by a process of its own on one thread, both sides in turns. Written are
bench.csv, bench.md and a figure for each family: all of them at their usual or full sizes into
benchmarks/report, which is committed; some of them, or less, into build/bench. A peer that is not
installed leaves its column empty, and is named with how to install it. The limits of the machine
are measured once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "benchmarks" / "report"
PARTS = ROOT / "build" / "bench"
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NPROC",  # what XLA sizes its pool by
)
# seconds that a work may take at one size beyond three turns, and how many of its sizes are run
SCALES = {"tiny": (0.0, 1), "usual": (2.0, None), "full": (6.0, None)}
SMALL = {"side": 512, "length": 2**20}  # what rates are measured on for a tiny run
INSTALL = "not installed, its column is empty: make env"


def main(arguments: Sequence[str] | None = None) -> int:
    """The parent: measures the machine, starts a process a work, writes the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--only", default="", help="families, with commas between them")
    parser.add_argument("--scale", choices=SCALES, default="usual")
    parser.add_argument("--into", type=Path, help="the folder of the report")
    parser.add_argument("--note", default="", help="a sentence above the report")
    parser.add_argument("--work", help=argparse.SUPPRESS)  # FAMILY:NUMBER, in the child
    parser.add_argument("--machine", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if any(os.environ.get(name) != "1" for name in THREADS):
        # libraries read these when they are loaded: begin anew
        os.environ.update(dict.fromkeys(THREADS, "1"))
        command = [sys.executable, "-m", "benchmarks.bench", *(arguments or sys.argv[1:])]
        return subprocess.run(command, cwd=ROOT, check=False).returncode
    if options.work:
        family, number = options.work.split(":")
        return _time(family, int(number), options.scale, options.machine, options.into)
    return _report(options)


def _report(options: argparse.Namespace) -> int:
    from benchmarks import curves, ledger, machine
    from benchmarks.steps import FAMILIES, works

    chosen = options.only.replace(",", " ").split() or list(FAMILIES)
    if unknown := [name for name in chosen if name not in FAMILIES]:
        print(
            f"--only: expected some of {', '.join(FAMILIES)}, got {', '.join(unknown)}",
            file=sys.stderr,
        )
        return 2
    families = [family for family in FAMILIES if family in chosen]
    every = [work for family in families for work in works(family)]
    names = [f"{family}:{i}" for family in families for i in range(len(works(family)))]
    began, failed, rows = time.monotonic(), [], []
    here = machine.measured(**(SMALL if options.scale == "tiny" else {}))
    print(f"machine: {here.name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder, "machine.json")
        known.write_text(json.dumps(asdict(here)), encoding="utf-8")
        for name in names:
            found = Path(folder, f"{name}.csv")
            command = [sys.executable, "-m", "benchmarks.bench", "--work", name]
            command += ["--scale", options.scale, "--machine", str(known), "--into", str(found)]
            done = subprocess.run(command, cwd=ROOT, check=False)
            if done.returncode != 0:
                failed.append(name)
            rows += ledger.read_csv(found) if found.exists() else []
    into = options.into or (PARTS if options.only or options.scale == "tiny" else REPORT)
    into.mkdir(parents=True, exist_ok=True)
    ledger.write_csv(into / "bench.csv", rows)
    page = ledger.markdown(rows, every, here, missing(every), options.note)
    (into / "bench.md").write_text(page, encoding="utf-8")
    for family in dict.fromkeys(row.family for row in rows):
        own = [work for work in every if work.family == family]
        curves.draw(rows, own, into / f"{family}.png")
    for peer, words in missing(every).items():
        print(f"{peer}: {words}")
    print(f"wrote {into} after {time.monotonic() - began:.0f} s")
    if failed:
        print(f"these works ended early, see above: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def missing(works: Iterable) -> dict[str, str]:
    """Peers that are not installed, and how to install them."""
    return {
        work.peer: INSTALL for work in works if work.theirs is not None and not work.peer_is_here
    }


def _time(family: str, number: int, scale: str, machine: Path, into: Path) -> int:
    """The child: rows of one work, written after each of them."""
    warnings.simplefilter("ignore")
    import torch

    from benchmarks import ledger
    from benchmarks.machine import Machine
    from benchmarks.race import race
    from benchmarks.steps import works

    torch.set_num_threads(1)
    here = Machine(**json.loads(machine.read_text(encoding="utf-8")))
    seconds, count = SCALES[scale]
    rows: list[ledger.Row] = []
    work = works(family)[number]
    for size in [*work.sizes, *(work.full if scale == "full" else [])][:count]:
        task = work.ours(size)
        turns = [task.turn]
        if work.theirs is not None and work.peer_is_here:
            turns.append(work.theirs(size))
        rows.append(ledger.row(work, size, task, race(turns, seconds=seconds), here))
        ledger.write_csv(into, rows)
        print(ledger.told(rows[-1]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
