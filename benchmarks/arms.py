"""Seconds, peak memory and ratios of the arms algorithms: `python -m benchmarks.arms [--evaluations
10000]`.

Every row is a run of its own process. The reading `reference-code` does what the authors' public
code does. Seconds are CPU seconds of construction, ask and tell on one thread; problem, noise and
records are not counted. The column `other` holds what the authors' code took for the same work on a
2-core machine (one run each; BKB on cadata was timed for a few hundred steps), and for GP-UCB what
an unstable sketch of the same posterior took. Machines differ, so only the order of magnitude of
that ratio means anything. The ratio against the textbook posterior is of one run here.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from workflow.trace import record

AUTHORS = {  # seconds for 10^4 evaluations
    ("abalone", "BKB"): 23.0,
    ("abalone", "Global-BBKB"): 1.0,
    ("abalone", "GlobalLocal-BBKB"): 4.4,
    ("cadata", "BKB"): 10_000 * 0.0675,  # 55 to 80 ms a step
    ("cadata", "Global-BBKB"): 22.0,
    ("cadata", "GlobalLocal-BBKB"): 44.0,
}
# seconds of an unstable inverse-updating sketch of the same exact GP-UCB; the target is within
# twice these
SKETCHED = {
    ("abalone", "GP-UCB+bandwidth-17.5"): 0.5,
    ("abalone", "GP-UCB"): 2.2,
    ("cadata", "GP-UCB"): 6.0,
}
CURVES = (
    *(f"{name}@reference-code" for name in ("BKB", "Global-BBKB", "GlobalLocal-BBKB")),
    "GP-UCB",
    "GP-UCB+bandwidth-17.5",
)
TEXTBOOK = ("GP-UCB", "GP-UCB-textbook")


def measure(problem: str, curve: str, evaluations: int) -> tuple[np.ndarray, float]:
    """CPU seconds of the algorithm for each evaluation (n,), and the peak memory of the process in
    MiB.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.parquet")
        command = [
            sys.executable,
            "-m",
            "workflow.run",
            "bbkb",
            problem,
            curve,
            "0",
            "-o",
            str(path),
        ]
        subprocess.run(
            [*command, "--evaluations", str(evaluations)], check=True, stderr=subprocess.DEVNULL
        )
        found = record.read(path)
    batch = found.columns["batch"]
    spent = np.bincount(batch, weights=found.columns["timing.ask"] + found.columns["timing.tell"])
    # the seconds of a batch evenly over its evaluations
    spread = (spent / np.bincount(batch))[batch]
    spread[0] += found.header["setup_seconds"]
    return spread, found.header["peak_mib"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arms", description=__doc__)
    parser.add_argument("--evaluations", type=int, default=10_000)
    parser.add_argument("--problems", default="abalone,cadata")
    options = parser.parse_args()
    print(
        f"machine: {record.provenance()['machine']}, one thread, {options.evaluations} evaluations"
    )
    print(
        f"{'problem':<9}{'curve':<34}{'seconds':>9}{'MiB':>6}"
        f"{'ms/step, first and last fifth':>31}{'other':>9}{'ratio':>7}"
    )
    for problem in options.problems.split(","):
        for curve in CURVES:
            seconds, peak = measure(problem, curve, options.evaluations)
            fifth = max(1, len(seconds) // 5)
            steps = f"{1e3 * seconds[:fifth].mean():.3f} {1e3 * seconds[-fifth:].mean():.3f}"
            known = AUTHORS if "@" in curve else SKETCHED
            authors = (
                known.get((problem, curve.partition("@")[0]), np.nan) * options.evaluations / 10_000
            )
            ratio = authors / seconds.sum()
            print(
                f"{problem:<9}{curve:<34}{seconds.sum():>9.2f}{peak:>6.0f}{steps:>31}{authors:>9.1f}{ratio:>7.1f}",
                flush=True,
            )
        fast, slow = (measure(problem, curve, 500)[0].sum() for curve in TEXTBOOK)
        print(
            f"{problem:<9}GP-UCB on distinct arms, 500 evaluations: {fast:.2f} s; textbook:"
            f" {slow:.1f} s; {slow / fast:.0f} times"
        )


if __name__ == "__main__":
    main()
