"""What runs end at, beside the first edition: `python -m benchmarks.ends FILE.csv`, and the table
of docs/fair-readings.md: `python -m benchmarks.ends --page`.

One row for each record, published or local, that was made by today's code: paper, problem, curve,
measure, seed, the value at the end, whether the run ended in the basin of a global optimum (closed
forms alone), whether its data were real or a substitute, the trace hash, and `before`, the end of
the same seed in the first edition's report, which only the file itself knows any more. Rows that
the file has of other runs stay. The table that is printed has a line for each problem and curve:
seeds, mean and median of both.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import yaml

from workflow.measure.store import Store
from workflow.plan.expand import load
from workflow.plan.resolve import ROOT

MEASURES = {
    "bbkb": ("cumulative_regret",),
    "bkb": ("cumulative_regret",),
    "dumbo": ("simple_regret",),
    "go_ucb": ("simple_regret", "cumulative_regret"),
    "lcbo": ("best_feasible",),
}
PAGE, ENDS = Path("docs/fair-readings.md"), Path("benchmarks/ends.csv")
MARKS = ("<!-- ends -->\n", "<!-- /ends -->")
# what the page shows: problem, curve, and the reading of it that is the authors' code
SHOWN = (
    ("truss", "LCBO", "official-code"),
    ("truss", "SCBO", ""),
    ("truss", "HDsafeBO", ""),
    ("beam", "LCBO", "official-code"),
    ("beam", "SCBO", ""),
    ("beam", "HDsafeBO", ""),
    ("six-hump-camel", "DuMBO", "public-code"),
    ("six-hump-camel", "ADD-DuMBO", ""),
    ("six-hump-camel", "DEC-HBO", ""),
    ("six-hump-camel", "ADD-GPUCB", ""),
    ("six-hump-camel", "MS-UCB", ""),
    ("six-hump-camel", "LineBO", ""),
    ("hartmann", "DuMBO", "public-code"),
    ("hartmann", "LineBO", ""),
    ("powell", "DuMBO", "public-code"),
    ("powell", "LineBO", ""),
    ("f2", "GO-UCB", ""),
    ("f2", "GP-EI", ""),
    ("f2", "GP-EI@scaled", ""),
    ("f2", "GP-PI", ""),
    ("f2", "GP-PI@scaled", ""),
    ("f2", "GP-UCB", ""),
    ("f2", "GP-UCB@scaled", ""),
    ("f3", "GO-UCB", ""),
    ("f3", "GP-EI", ""),
    ("f3", "GP-EI@scaled", ""),
    ("f3", "GP-PI", ""),
    ("f3", "GP-PI@scaled", ""),
    ("f3", "GP-UCB", ""),
    ("f3", "GP-UCB@scaled", ""),
)
Row = dict[str, str | int | float | None]
ON_PAGE = {"lcbo": "best_feasible", "dumbo": "simple_regret", "go_ucb": "cumulative_regret"}
FIELDS = (
    "paper",
    "problem",
    "curve",
    "measure",
    "seed",
    "end",
    "basin",
    "data",
    "trace_sha256",
    "before",
)


def rows(name: str) -> Iterator[Row]:
    """Rows of one paper, in the order of its plan. Raises BadRecords."""
    paper = load(name, "paper")
    store = Store(paper, partial=True)
    for measure in MEASURES[name]:
        for cell in paper.cells:
            if not store.has(cell):
                continue
            ends = store.values(cell, measure)[:, -1]
            basins = store.values(cell, "basin")[:, -1]
            for seed, end, basin in zip(store.seeds(cell), ends, basins, strict=True):
                header = store.record(cell, seed).header
                yield {
                    "paper": name,
                    "problem": cell.problem_name,
                    "curve": cell.curve,
                    "measure": measure,
                    "seed": seed,
                    "end": float(f"{end:.6g}"),
                    "basin": None if np.isnan(basin) else int(basin),
                    "data": header["data"].partition(":")[0],
                    "trace_sha256": header["trace_sha256"],
                    "before": None,
                }


def merged(file: Path, found: Iterable[Row]) -> list[Row]:
    """The rows that a file has, and those found, which replace the ones of the same run and measure
    there but for what was before; by paper, problem, curve, measure and seed.
    """
    had: list[Row] = []
    if file.exists():
        with file.open(encoding="utf-8", newline="") as lines:
            had = [dict(row) for row in csv.DictReader(lines)]
    rows: dict[tuple[str, ...], Row] = {}
    for row in (*had, *found):
        key = tuple(str(row[name]) for name in FIELDS[:5])
        rows[key] = {**row, "before": row["before"] or rows.get(key, row)["before"]}
    return [rows[key] for key in sorted(rows, key=lambda key: (*key[:4], int(key[4])))]


def renewed(page: str) -> str:
    """The page with the table of what `benchmarks/ends.csv` has between its marks."""
    before, rest = page.split(MARKS[0])
    return before + MARKS[0] + shown() + MARKS[1] + rest.split(MARKS[1])[1]


def shown() -> str:
    """The table of the page, in Markdown."""
    ends: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    with ENDS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["measure"] == ON_PAGE.get(row["paper"]):
                ends.setdefault((row["problem"], row["curve"]), []).append(row)
    published = _published()
    lines = ["| problem | curve | before | now | code | published |", "| --- " * 6 + "|"]
    for problem, curve, code in SHOWN:
        cells = ends[problem, curve]
        coded = ends.get((problem, f"{curve}@{code}"), [])
        was = _said([cell["before"] for cell in cells if cell["before"]])
        now, theirs = (_said([cell["end"] for cell in some]) for some in (cells, coded))
        lines.append(
            f"| {problem} | {curve} | {was} | {now} | {theirs}"
            f" | {published.get((problem, curve), '')} |"
        )
    return "\n".join(lines) + "\n"


def _published() -> dict[tuple[str, str], float]:
    """The mean regrets of DuMBO's Table 2 by problem and method."""
    text = (ROOT / "papers" / "dumbo.yaml").read_text(encoding="utf-8")
    (table,) = (each for each in yaml.safe_load(text)["tables"] if each["id"] == "table2")
    return {
        (block["problem"], method): value
        for block in table["blocks"]
        for method, value in block["published"].items()
    }


def _said(ends: list[str]) -> str:
    """Mean, median, and how many seeds where they are not five; runs without an end are counted."""
    if not ends:
        return ""
    values = np.array(ends, dtype=float)
    none, seeds = int(np.isinf(values).sum()), "seed" if len(values) == 1 else "seeds"
    few = "" if len(values) == 5 else f", {len(values)} {seeds}"
    mean = f"none in {none}" if none else _digits(values.mean())
    return f"{mean} ({_digits(float(np.median(values)))}{few})"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def main() -> None:
    """Write the rows, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=ENDS)
    parser.add_argument("--papers", default=",".join(MEASURES))
    parser.add_argument("--page", action="store_true", help="only renew the table of the page")
    arguments = parser.parse_args()
    if arguments.page:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    found = [row for name in arguments.papers.split(",") for row in rows(name)]
    everything = merged(arguments.file, found)
    with arguments.file.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(everything)
    print("| problem | curve | measure | before: n, mean, median | now: n, mean, median | basin |")
    print("| --- | --- | --- | --- | --- | ---: |")
    known = {tuple(str(row[name]) for name in FIELDS[:5]): row["before"] for row in everything}
    for key, group in groupby(found, key=lambda row: [row[name] for name in FIELDS[:4]]):
        seeds = list(group)
        both = (known[tuple(str(row[name]) for name in FIELDS[:5])] for row in seeds)
        was = [float(end) for end in both if end]
        basins = [row["basin"] for row in seeds if row["basin"] is not None]
        share = f"{sum(map(float, basins)):g} of {len(basins)}" if basins else ""
        print(
            f"| {key[1]} | {key[2]} | {key[3]} | {_of(was)} | "
            f"{_of([row['end'] for row in seeds])} | {share} |"
        )


def _of(ends: Sequence[str | int | float | None]) -> str:
    if not ends:
        return ""
    values = np.array(ends, dtype=float)
    return f"{len(values)}, {values.mean():.4g}, {np.median(values):.4g}"


if __name__ == "__main__":
    main()
