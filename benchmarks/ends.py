"""What runs end at, beside the committed report: `python -m benchmarks.ends FILE.csv`.

One row for each record below `results/paper` that was made by today's code: paper, problem, curve,
measure, seed, the value at the end, whether the run ended in the basin of a global optimum (closed
forms alone), the trace hash, and `before`, the end of the same seed in `figures/reference`, where
that has it. The table that is printed has a line for each problem and curve: seeds, mean and median
of both. `benchmarks/ends.csv` has what was run since the committed report.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

import numpy as np

from workflow.measure.store import Store
from workflow.plan.expand import load

REFERENCE = Path("figures/reference")
MEASURES = {
    "bbkb": ("cumulative_regret",),
    "bkb": ("cumulative_regret",),
    "dumbo": ("simple_regret",),
    "go_ucb": ("simple_regret", "cumulative_regret"),
    "lcbo": ("best_feasible",),
}
FIELDS = ("paper", "problem", "curve", "measure", "seed", "end", "basin", "trace_sha256", "before")


def before(paper: str, measure: str) -> Mapping[tuple[str, str, int], float]:
    """Ends of the committed report by problem, curve and seed; none where it has no such list or
    another measure.
    """
    path = REFERENCE / paper / "runs.json"
    if not path.exists():
        return {}
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    return {
        (run["problem"], name, int(seed)): end
        for run in runs
        if run["measure"] == measure
        for name in {run["curve"], *run["names"]}
        for seed, end in run["ends"].items()
        if end is not None
    }


def rows(name: str) -> Iterator[dict[str, str | int | float | None]]:
    """Rows of one paper, in the order of its plan. Raises BadRecords."""
    paper = load(name, "paper")
    store = Store(paper, partial=True)
    for measure in MEASURES[name]:
        old = before(name, measure)
        for cell in paper.cells:
            if not store.has(cell):
                continue
            ends = store.values(cell, measure)[:, -1]
            basins = store.values(cell, "basin")[:, -1]
            for seed, end, basin in zip(store.seeds(cell), ends, basins, strict=True):
                yield {
                    "paper": name,
                    "problem": cell.problem,
                    "curve": cell.curve,
                    "measure": measure,
                    "seed": seed,
                    "end": float(f"{end:.6g}"),
                    "basin": None if np.isnan(basin) else int(basin),
                    "trace_sha256": store.record(cell, seed).header["trace_sha256"],
                    "before": old.get((cell.problem, cell.curve, seed)),
                }


def main() -> None:
    """Write the rows, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--papers", default=",".join(MEASURES))
    arguments = parser.parse_args()
    found = [row for name in arguments.papers.split(",") for row in rows(name)]
    with arguments.file.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    print("| problem | curve | measure | before: n, mean, median | now: n, mean, median | basin |")
    print("| --- | --- | --- | --- | --- | ---: |")
    for key, group in groupby(found, key=lambda row: [row[name] for name in FIELDS[:4]]):
        seeds = list(group)
        was = [row["before"] for row in seeds if row["before"] is not None]
        basins = [row["basin"] for row in seeds if row["basin"] is not None]
        share = f"{sum(map(float, basins)):g} of {len(basins)}" if basins else ""
        print(
            f"| {key[1]} | {key[2]} | {key[3]} | {_of(was)} | "
            f"{_of([row['end'] for row in seeds])} | {share} |"
        )


def _of(ends: list[str | int | float | None]) -> str:
    if not ends:
        return ""
    values = np.array(ends, dtype=float)
    return f"{len(values)}, {values.mean():.4g}, {np.median(values):.4g}"


if __name__ == "__main__":
    main()
