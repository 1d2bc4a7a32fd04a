"""What the code path of the CPU changes: `python -m benchmarks.code_paths [--folder DIR]`.

Ten cells of the five papers are run, one seed each, under several kernels of OpenBLAS
(OPENBLAS_CORETYPE), PyTorch (ATEN_CPU_CAPABILITY) and the MKL in it, each in a process of its own
and with an initial design of its own. Two tables of Markdown are printed. The first one says for
every cell and path whether the trace has the bits of the first path, from which evaluation on it
has other queries (unless diagnostics alone differ), how far apart these are at most, in the unit
cube, and how far the final values, relative to the larger of them. The second one does so for the
claims that these runs are enough for: what is observed, under every path. Records stay in DIR, and
what is there is kept. It takes about ten minutes on one core, a processor with AVX-512, and data or
their substitutes (`python -m workflow.fetch abalone cadata --substitutes allowed`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow.judge.claims import judge, runs
from workflow.judge.outcomes import NO_NUMBER, NOT_RUN, NOTHING
from workflow.measure import metrics
from workflow.measure.store import Store
from workflow.plan.cells import Cell
from workflow.plan.expand import load
from workflow.plan.resolve import ROOT
from workflow.trace import code_path, record
from workflow.trace.record import Record

CELLS = (  # scale, paper, problem, curve
    ("smoke", "bkb", "abalone", "BKB"),
    ("smoke", "bkb", "abalone", "GP-UCB"),
    ("smoke", "bbkb", "abalone", "Global-BBKB"),
    ("smoke", "bbkb", "cadata", "GlobalLocal-BBKB"),
    ("smoke", "lcbo", "syn-25", "LCBO"),
    ("smoke", "lcbo", "syn-25", "CEI"),
    ("smoke", "dumbo", "six-hump-camel", "DuMBO"),
    ("smoke", "dumbo", "six-hump-camel", "SAASBO"),
    ("smoke", "go_ucb", "f1", "GO-UCB"),
    ("smoke", "go_ucb", "f1", "GP-EI"),
)
FIRST = {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512"}
PATHS: Mapping[str, Mapping[str, str]] = {  # all are compared with the first
    "SkylakeX, AVX512": {},
    "the same again": {},
    "Haswell, AVX512": {"OPENBLAS_CORETYPE": "Haswell"},
    "Prescott, AVX512": {"OPENBLAS_CORETYPE": "Prescott"},
    "SkylakeX, AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "SkylakeX, default": {"ATEN_CPU_CAPABILITY": "default"},
    "Prescott, default": {"OPENBLAS_CORETYPE": "Prescott", "ATEN_CPU_CAPABILITY": "default"},
    "MKL for AVX2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
}
SEED = 0


def made(cell: Cell, name: str, folder: Path) -> Record:
    """The record of a cell under a path, in a folder of this path."""
    place = folder / folder_of(name)
    place.mkdir(exist_ok=True)
    for shared in ("data", "simulators"):
        if Path(shared).exists() and not (place / shared).exists():
            (place / shared).symlink_to(Path(shared).resolve())
    where = [cell.paper, cell.problem_name, cell.curve, str(SEED), "--scale", cell.scale]
    subprocess.run(
        [sys.executable, "-m", "workflow.run", *where],
        cwd=place,
        env={**os.environ, **FIRST, **PATHS[name], "PYTHONPATH": str(ROOT)},
        check=True,
    )
    found = record.read(place / cell.record(SEED))
    words = code_path.words(found.header["provenance"]["code_path"])
    print(f"{cell.name} at {name}: {words}", file=sys.stderr, flush=True)
    return found


def folder_of(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


def final(found: Record) -> float:
    """Where a run ended: the best feasible value, or the simple regret."""
    name = "best_feasible" if "true_g" in found.columns else "simple_regret"
    return float(metrics.metric(name).of(found)[-1])


def difference(one: Record, other: Record) -> str:
    """What is left of a run under another path."""
    if one.header["trace_sha256"] == other.header["trace_sha256"]:
        return "same bits"
    was, now = final(one), final(other)
    relative = abs(was - now) / max(abs(was), abs(now)) if was != now else 0.0
    end = f"end {relative:.0e}" if relative else "same end"
    queries = [found.columns["query"] for found in (one, other)]
    if queries[0].tobytes() == queries[1].tobytes():
        return f"diagnostics alone; {end}"
    moved = np.abs(queries[0] - queries[1]).reshape(one.rows, -1).max(axis=1)
    first = int(np.flatnonzero(moved)[0]) + 1
    return f"queries from {first} on, by up to {moved.max():.0e}; {end}"


def observed(folder: Path, scale: str, paper: str, name: str) -> Mapping[str, str]:
    """What the claims of a paper come to under a path, those that its runs are enough for."""
    plan = load(paper, scale, seeds=str(SEED))
    root = folder / folder_of(name)
    store = Store(plan, root, partial=True)
    store.check(runs(plan))
    found = [judge(plan, store, claim) for claim in plan.entry.get("claims", [])]
    return {
        f"{paper} {verdict.id}": verdict.observed
        for verdict in found
        if verdict.observed not in (NOT_RUN, NO_NUMBER, NOTHING)
    }


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured(folder: Path) -> str:
    """Both tables."""
    first, *others = PATHS
    rows = []
    for scale, paper, problem, curve in CELLS:
        cell = load(paper, scale, seeds=str(SEED)).cell(problem, curve)
        whole = made(cell, first, folder)
        compared = [difference(whole, made(cell, name, folder)) for name in others]
        rows.append([f"{paper} {problem} {curve}", str(whole.rows), *compared])
    verdicts = []
    for scale, paper in dict.fromkeys((cell[0], cell[1]) for cell in CELLS):
        by_path = {name: observed(folder, scale, paper, name) for name in PATHS}
        for claim, said in by_path[first].items():
            told = [by_path[name].get(claim, "-") for name in others]
            verdicts.append([claim, said, *("same" if one == said else one for one in told)])
    head = ["cell", "evaluations", *others]
    return "\n\n".join(
        [table(head, rows), table(["claim", f"observed at {first}", *others], verdicts)]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run, compare and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.code_paths", description=__doc__)
    parser.add_argument("--folder", type=Path, help="default: one that is removed at the end")
    options = parser.parse_args(arguments)
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        print(measured(options.folder))
        return 0
    with tempfile.TemporaryDirectory(prefix="noregret-code-paths-") as folder:
        print(measured(Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
