"""The bits of short runs on this processor beside those of others: `python -m benchmarks.bits`.

RUNS are made at scale smoke, with seed 0 and on shipped or made-up data, each in an empty folder.
They are made once for each entry of AMBIENT, with what a user may have set: other kernels of
OpenBLAS, PyTorch, MKL, NumPy and XLA. The hash of a trace must be that of benchmarks/bits.csv each
time. The exit status is 1 if a hash differs, 2 if none does and a run could not be made. All takes
some three CPU minutes.

`--add` adds this processor to the lines that agree, and a line for each run that has none. After a
change of what a run computes, remove its lines first.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workflow.plan.expand import load
from workflow.plan.resolve import ROOT
from workflow.trace import one_path, record

TABLE = Path(__file__).with_name("bits.csv")
SCALE, SEED = "smoke", 0
RUNS = (  # paper, problem, curves
    ("bkb", "abalone", ("BKB", "GP-UCB")),
    ("bbkb", "abalone", ("Global-BBKB", "GlobalLocal-BBKB", "GP-BUCB")),
    ("bbkb", "cadata", ("Async-TS",)),
    ("lcbo", "syn-25", ("LCBO", "CEI", "EPBO", "SCBO", "HDsafeBO")),
    ("lcbo", "halfcheetah", ("random-search",)),
    (
        "dumbo",
        "six-hump-camel",
        ("TuRBO", "LineBO", "DuMBO", "ADD-GPUCB", "DEC-HBO", "SAASBO"),
    ),
    ("dumbo", "cosmo", ("random-search",)),
    ("go_ucb", "f1", ("GP-EI", "GO-UCB")),
    ("go_ucb", "breast-cancer-forest", ("random-search",)),
)
AMBIENT: Mapping[str, Mapping[str, str]] = {
    "nothing set": {},
    "newest kernels set": {
        "OPENBLAS_CORETYPE": "SkylakeX",
        "ATEN_CPU_CAPABILITY": "avx512",
        "MKL_CBWR": "AVX512",
        "ONEDNN_MAX_CPU_ISA": "ALL",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX512",
    },
    "oldest kernels set": {
        "OPENBLAS_CORETYPE": "Prescott",
        "OPENBLAS_L2_SIZE": "256",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "NPY_DISABLE_CPU_FEATURES": ",".join(one_path.features()),
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
    },
}
LIBRARIES = ("numpy", "scipy", "torch", "jax")  # of the versions that a line names


@dataclass(frozen=True)
class Line:
    """A run of the table: digest of its code, versions, hash of its trace, and the processors on
    which that came out.
    """

    run: str
    digest: str
    versions: str
    trace_sha256: str
    processors: tuple[str, ...] = ()


def table(path: Path = TABLE) -> dict[str, Line]:
    """The lines by run; {} without a file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    places = [tuple(filter(None, row["processors"].split("; "))) for row in rows]
    lines = [Line(**{**row, "processors": at}) for row, at in zip(rows, places, strict=True)]
    return {line.run: line for line in lines}


def write(lines: Iterable[Line], path: Path = TABLE) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Line.__dataclass_fields__)
        for one in lines:
            writer.writerow([*list(vars(one).values())[:-1], "; ".join(one.processors)])


def made(set_: Mapping[str, str]) -> list[Line]:
    """All runs, where a user has set variables; one that could not be made has no hash, and its
    last words for versions.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in (*one_path.NAMES, "NOREGRET_DATA")
    }
    here = {**kept, "NOREGRET_SUBSTITUTES": "preferred", "PYTHONPATH": str(ROOT), **set_}
    lines = []
    with tempfile.TemporaryDirectory(prefix="noregret-bits-") as folder:
        Path(folder, "data").mkdir()
        for name in ("manifest.yaml", "shipped"):
            Path(folder, "data", name).symlink_to(ROOT / "data" / name)
        for paper, problem, curves in RUNS:
            plan = load(paper, SCALE, seeds=str(SEED))
            for curve in curves:
                words = f"-m workflow.run {paper} {problem} {curve} {SEED} --scale {SCALE}"
                done = subprocess.run(
                    [sys.executable, *words.split()],
                    cwd=folder,
                    env=here,
                    capture_output=True,
                    text=True,
                    encoding="utf-8",
                    check=False,
                )
                said = (done.stderr.strip().splitlines() or ["no word"])[-1]
                path = Path(folder, plan.curve(problem, curve).record(SEED))
                line = Line(f"{paper}/{problem}/{curve}", "", said, "")
                lines.append(_filled(line, path) if path.exists() else line)
    return lines


def _filled(line: Line, path: Path) -> Line:
    header = record.read(path).header
    versions = header["provenance"]["libraries"]
    named = " ".join(f"{name} {versions[name]}" for name in LIBRARIES if name in versions)
    return replace(
        line, digest=header["digest"][:12], versions=named, trace_sha256=header["trace_sha256"]
    )


def difference(expected: Line, line: Line) -> str:
    """What a hash that differs may come from."""
    said = f"{line.run}: expected {expected.trace_sha256[:12]}, got {line.trace_sha256[:12]}"
    if expected.versions != line.versions:
        return f"{said}; versions are {line.versions}, not {expected.versions}"
    if expected.digest != line.digest:
        return f"{said}; code or parameters are others: remove its line, then --add"
    return f"{said}; code and versions are the same: the processor's kernels differ"


def compared(known: Mapping[str, Line], lines: Sequence[Line]) -> tuple[int, list[str]]:
    """The exit status, and a sentence for each run that differs or could not be made."""
    missing = [f"{one.run}: not made: {one.versions}" for one in lines if not one.trace_sha256]
    wrong = [
        difference(known[one.run], one)
        for one in lines
        if one.trace_sha256 and one.trace_sha256 != known.get(one.run, one).trace_sha256
    ]
    return 1 if wrong else 2 if missing else 0, [*wrong, *missing]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make, compare, print, add."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bits", description=__doc__)
    parser.add_argument("--add", action="store_true", help="add this processor to the table")
    options = parser.parse_args(arguments)
    known, statuses = table(), []
    print(f"{record.processor()}: seed {SEED} at scale {SCALE}", flush=True)
    for name, set_ in AMBIENT.items():
        lines = made(set_)
        for one in lines:  # the first pass stands for runs that the table has not
            if one.trace_sha256:
                known.setdefault(one.run, one)
        status, sentences = compared(known, lines)
        print(f"{name}: {'; '.join(sentences) or f'{len(lines)} runs are the same'}", flush=True)
        statuses.append(status)
    if options.add and 1 not in statuses:
        for one in lines:
            if one.trace_sha256:
                places = dict.fromkeys((*known[one.run].processors, record.processor()))
                known[one.run] = replace(one, processors=tuple(places))
        write(known.values())
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
