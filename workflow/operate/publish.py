"""Publish what was run: `python -m workflow.publish [--scale paper] [PAPERS] [--from RESULTS]`,
called by `make publish`.

Every finished record that the present code, parameters and data would make is condensed and added
to figures/reference/records/, one file for a curve on a problem, or for a study. Records that are
published stay: one of the same seed with another digest or trace is an error unless `--replace`
says otherwise. What published runs took is written to papers/measured.csv, by which runs are
planned.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from workflow.measure.condense import condensed
from workflow.measure.store import AGAIN, Store, admit
from workflow.plan import costs
from workflow.plan.expand import chosen_papers, load
from workflow.plan.paper import Paper
from workflow.plan.resolve import lasting
from workflow.trace import curve_file, record
from workflow.trace.atomic import atomic
from workflow.trace.curve_file import Kept, TooLarge
from workflow.trace.curves import PUBLISHED, AnyCurve, PlanError
from workflow.trace.record import BadRecord

MOST = 50_000_000  # bytes of all files
ADDED, THERE, REPLACED, OTHER = "published", "published before", "replaced", "of other code"
UNFINISHED, DAMAGED = "not finished", "damaged"


@dataclass
class Outcome:
    """How many records came to what, and what is wrong, in sentences."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return ", ".join(f"{count} {what}" for what, count in self.counts.items()) or "no records"


def publish(paper: Paper, source: Path, root: Path = Path(), *, replace: bool = False) -> Outcome:
    """Publish the records of a paper below `source`, a folder such as results/, into the published
    records of `root`.
    """
    store, outcome = Store(paper, root), Outcome()
    for curve in paper.every_curve:
        records = _finished(curve, source, store, outcome)
        if not records:
            continue
        path = root / curve.published
        try:
            merged = curve_file.merge(path, curve.columns, records, replace=replace)
        except (BadRecord, TooLarge) as error:
            outcome.errors.append(str(error))
            continue
        except (TypeError, ValueError, pa.ArrowException) as error:  # columns that are no table
            outcome.errors.append(
                f"{path}: expected columns of one kind in all seeds, got: {error}"
            )
            continue
        count = {ADDED: merged.added, THERE: merged.there, REPLACED: merged.other * replace}
        outcome.counts.update({what: len(seeds) for what, seeds in count.items() if seeds})
        if merged.other and not replace:
            seeds = ", ".join(map(str, merged.other))
            outcome.errors.append(
                f"{path}: expected seeds {seeds} with the digest and trace that are"
                " published, found others (by other code, or on another code path of the CPU):"
                " nothing was replaced; say --replace to publish these"
            )
    return outcome


def _finished(curve: AnyCurve, source: Path, store: Store, outcome: Outcome) -> dict[int, Kept]:
    """The finished records of a curve by seed, condensed."""
    finished = {}
    for seed in curve.seeds:
        path = source.joinpath(*curve.record(seed).parts[1:])
        if not path.exists():
            continue
        try:
            one = record.read(path)
            if one.header.get("status", "complete") not in record.FINAL:
                outcome.counts[UNFINISHED] += 1
            elif not store.is_current(curve, one.header):
                outcome.counts[OTHER] += 1
            else:  # a digest is the same for all seeds, so that a copy of another record has it too
                admit(one, path, curve, seed, str(one.header["digest"]), AGAIN)
                finished[seed] = condensed(one)
        except BadRecord as error:
            outcome.counts[DAMAGED] += 1
            outcome.errors.append(str(error))
    return finished


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.publish",
        description="Add what was run to the published records in figures/reference/records/.",
    )
    parser.add_argument("papers", nargs="?", default="", help="with commas; default: all")
    parser.add_argument("--scale", default="paper")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        default=Path("results"),
        metavar="RESULTS",
        help="the folder that holds SCALE/PAPER/...; default: results",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="put records in the place of published ones of the same seed with another digest",
    )
    options = parser.parse_args(arguments)
    errors: list[str] = []
    try:
        if not (options.source / options.scale).is_dir():
            raise PlanError(
                f"{options.source}: expected a folder of records, {options.scale}/PAPER/..., found"
                " none: run the workflow, or say --from where they are"
            )
        for name in chosen_papers(options.papers or ",".join(lasting())):
            outcome = publish(load(name, options.scale), options.source, replace=options.replace)
            print(f"{name}: {outcome}")
            errors += outcome.errors
    except PlanError as error:
        errors.append(str(error))
    try:
        write_measured(measured())
    except BadRecord as error:
        errors.append(str(error))
    files, total, largest = size()
    print(f"{PUBLISHED}: {files} files, {total / 1e6:.2f} MB, the largest {largest / 1e6:.2f} MB")
    for sentence in errors:
        print(f"error: {sentence}", file=sys.stderr)
    if total > MOST:
        print(f"error: expected at most {MOST} bytes in {PUBLISHED}, got {total}", file=sys.stderr)
    return int(bool(errors) or total > MOST)


def size(root: Path = Path()) -> tuple[int, int, int]:
    """Files that are published, their bytes, and the bytes of the largest."""
    sizes = [path.stat().st_size for path in (root / PUBLISHED).rglob("*.parquet")]
    return len(sizes), sum(sizes), max(sizes, default=0)


def measured(root: Path = Path()) -> list[costs.Measured]:
    """What the published runs of each curve, and of each study, took. Raises BadRecord."""
    lines = []
    for path in sorted((root / PUBLISHED / "paper").rglob("*.parquet")):
        headers = curve_file.headers(path).values()
        paper, problem, name = path.relative_to(root / PUBLISHED / "paper").with_suffix("").parts
        seconds = [header.get("cpu_seconds", 0.0) for header in headers]
        lines.append(
            costs.Measured(
                paper,
                problem,
                name,
                max(header.get("budget", 1) for header in headers),
                round(sum(seconds) / len(seconds), 2),
                round(max(seconds), 2),
                round(max(header.get("peak_mib", 0) for header in headers)),
            )
        )
    return lines


def write_measured(lines: Iterable[costs.Measured], path: Path = Path(costs.TABLE)) -> None:
    """The table by which runs are planned."""
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(costs.Measured._fields)
        writer.writerows(lines)
