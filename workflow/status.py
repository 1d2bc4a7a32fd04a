"""How far a scale is: `python -m workflow.status [--scale quick] [--papers a,b] [--seeds 0-4] [--watch SECONDS] [--json]`.

A run is one seed of a cell or a study. It is counted from the plan and from what lies in results/ alone, and of a record
from its header: rows are verified by the reports. Costs are CPU seconds of one thread: of records that are current, as
measured; of all others their cell's mean so far, else the plan's.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from workflow import lease, record
from workflow.digest import with_data
from workflow.lease import Failure, Owner
from workflow.metrics import Store
from workflow.plan import Cell, Paper, PlanError, Study, chosen_papers, load
from workflow.prepared import DataUnavailable

STATES = ("done", "timeout", "running", "failed", "cut", "stale", "missing")
ENDED = ("done", "timeout", "failed")
SHOWN = 5  # errors, where not all are asked for
CLEAR = "\033[H\033[2J"
NOBODY = Owner()
Header = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """One seed of a cell or a study, or of an initial design, which is not counted: what became of it and what it has cost."""

    part: Cell | Study
    seed: int
    state: str
    spent: float = 0.0  # CPU seconds
    owner: Owner = NOBODY
    told: Failure | None = None
    initial: bool = False

    @property
    def place(self) -> tuple[str, str, str]:
        """Paper, problem and curve as the command line has them."""
        if isinstance(self.part, Study):
            return self.part.paper, "studies", self.part.id
        return self.part.paper, self.part.problem_name, "initial" if self.initial else self.part.curve

    @property
    def name(self) -> str:
        return f"{'/'.join(self.place)} seed {self.seed}"

    @property
    def command(self) -> str:
        return shlex.join(["python", "-m", "workflow.run", *self.place, str(self.seed), "--scale", self.part.scale])


@dataclass(frozen=True)
class Tally:
    """How many of some runs are in which state, what they have cost and what is still to be spent, in CPU seconds."""

    states: Mapping[str, int]
    spent: float
    remaining: float
    longest: float  # of the runs still to be made

    @property
    def runs(self) -> int:
        return sum(self.states.values())

    def wait(self, cores: int) -> float:
        """Seconds until all is made on so many cores: a run uses one."""
        return max(self.remaining / cores, self.longest)


class Results:
    """What lies in results/ of some papers; a header is read again only where its file has changed."""

    def __init__(self, plans: Sequence[Paper], root: Path = Path()) -> None:
        self.plans, self.root = plans, root
        self.notes: dict[str, None] = {}
        self._stores = {plan.name: Store(plan, root) for plan in plans}
        self._data: dict[tuple[object, object], str] = {}
        self._read = cache(lambda path, inode, changed: record.read_header(path))

    def runs(self) -> list[Run]:
        """Every run of the plans, as it is now."""
        self.notes = {}
        return [self._run(part, seed, names) for plan in self.plans for part in plan.parts
                for names in [self._names(part.folder)] for seed in part.seeds]  # fmt: skip

    def initial_failures(self) -> list[Run]:
        """The initial designs that failed: no run on their problem begins."""
        places = {(cell.initial_folder, seed): cell for plan in self.plans for cell in plan.cells for seed in cell.seeds}
        notes = {place: lease.failure(self.root / place[0] / f"{place[1]}.failed") for place in places}
        return [Run(cell, place[1], "failed", told=notes[place], initial=True) for place, cell in places.items() if notes[place]]

    def _names(self, folder: Path) -> set[str]:
        place = self.root / folder
        return set(os.listdir(place)) if place.exists() else set()  # noqa: PTH208, names are all that is asked

    def _run(self, part: Cell | Study, seed: int, names: set[str]) -> Run:
        path = self.root / part.record(seed)
        header = self._header(path) if path.name in names else {}
        current = bool(header) and self._is_current(header, part, seed)
        spent = float(header.get("cpu_seconds", 0.0)) if current else 0.0
        status = header.get("status", "complete") if current else ""
        if status in record.FINAL:
            return Run(part, seed, "done" if status == "complete" else "timeout", spent)
        holder = lease.owner(lease.running(path)) if f"{seed}.running" in names else None
        if holder is not None and holder[0].is_alive(time.time() - holder[1]):
            return Run(part, seed, "running", spent, holder[0])
        told = lease.failure(lease.failed(path)) if f"{seed}.failed" in names else None
        if told is not None or holder is not None:
            return Run(part, seed, "failed", spent, told=told or lease.lost(holder[0] if holder else NOBODY))
        return Run(part, seed, "cut" if current else "stale" if path.name in names else "missing", spent)

    def _header(self, path: Path) -> Header:
        try:
            found = path.stat()
        except FileNotFoundError:  # set aside just now
            return {}
        return self._read(path, found.st_ino, found.st_mtime_ns)

    def _is_current(self, header: Header, part: Cell | Study, seed: int) -> bool:
        """Whether a record is the plan's, by code, parameters and data; a cut one is, too."""
        data = self.data_sha256(part)
        expected = with_data(part.digest, str(header.get("data_sha256", "")) if data is None else data)
        return bool(header.get("digest") == expected and (header.get("paper"), header.get("seed")) == (part.paper, seed))

    def data_sha256(self, part: Cell | Study) -> str | None:
        """The data that a report would demand; None, and a note, where they are not on this machine."""
        key = (part.problem_entry.get("simulator"), part.problem_entry.get("data"))
        if key not in self._data:
            try:
                self._data[key] = self._stores[part.paper].data_sha256(part)
            except DataUnavailable as error:
                self.notes[f"records are compared by code and parameters alone: {error}"] = None
                return None
        return self._data[key]


def tally(runs: Iterable[Run]) -> Tally:
    """Count and cost of some runs; of a cell's, all must be among them: those that are done tell what the others cost."""
    by_part: dict[str, list[Run]] = {}
    for run in runs:
        by_part.setdefault(run.part.name, []).append(run)
    states = dict.fromkeys(STATES, 0)
    spent, waits = 0.0, [0.0]
    for group in by_part.values():
        measured = [run.spent for run in group if run.state == "done"]
        cost = sum(measured) / len(measured) if measured else group[0].part.cost.seconds
        for run in group:
            states[run.state] += 1
            spent += run.spent
            if run.state not in ("done", "timeout"):
                waits.append(max(0.0, cost - max(run.spent, run.owner.elapsed)))
    return Tally(states, spent, sum(waits), max(waits))


def by_problem(runs: Iterable[Run]) -> dict[tuple[str, str], Tally]:
    """A tally for every paper and problem, its studies as one."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.place[:2], []).append(run)
    return {place: tally(group) for place, group in groups.items()}


def table(runs: Sequence[Run], cores: int) -> list[str]:
    """Lines of text: a row for every paper and problem, their sum, and how long the rest takes."""
    total = tally(runs)
    unit, size = ("core-h", 3600) if total.spent + total.remaining >= 3600 else ("core-min", 60)
    states = [state for state in STATES if state != "timeout" or total.states[state]]  # a column of zeros, nearly always
    rows = [["paper", "problem", "runs", *states, f"{unit} spent", "to go"]]
    for place, found in {**by_problem(runs), ("total", ""): total}.items():
        counts = [str(found.states[state] or "-") for state in states]
        rows.append([*place, str(found.runs), *counts, f"{found.spent / size:.2f}", f"{found.remaining / size:.2f}"])
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = ["  ".join(map(str.ljust, row[:2], wide)) for row in rows]
    numbers = ["  ".join(map(str.rjust, row[2:], wide[2:])) for row in rows]
    return [*map("  ".join, zip(names, numbers, strict=True)), "", line(total, cores)]


def line(total: Tally, cores: int) -> str:
    """A tally as a sentence."""
    counts = ", ".join(f"{count} {state}" for state, count in total.states.items() if count)
    rest = f"; about {_duration(total.wait(cores))} to go on {cores} cores" if total.remaining else ""
    return f"{total.runs} runs: {counts}{rest}"


def under_way(runs: Iterable[Run]) -> list[str]:
    """Lines that say who makes what."""
    lines = [f"  {run.name}: {_duration(run.owner.elapsed)}, {run.owner}" for run in runs if run.state == "running"]
    return ["", "running:", *lines] if lines else []


def failures(runs: Iterable[Run], *, everything: bool) -> list[str]:
    """Lines that say why runs failed and how to make them; without `everything` equal errors are told once."""
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.told is not None:
            alike.setdefault((run.told.type, run.name if everything else run.told.error), []).append(run)
    groups = list(alike.values())
    shown = groups if everything else groups[:SHOWN]
    lines = [text for group in shown for text in _failure(group[0], len(group) - 1)]
    more = [f"  ... and {len(groups) - len(shown)} more errors: --failures lists all"] if len(groups) > len(shown) else []
    return ["", "failed:", *lines, *more] if groups else []


def _failure(run: Run, others: int) -> list[str]:
    """Lines on a run that failed as others did."""
    told = run.told or Failure("", "", "")
    reached = f", after {told.evaluations} evaluations" if told.evaluations else ""
    more = f" (and {others} more)" if others else ""
    sentence = told.error.replace("\n", "\n    ")
    return [f"  {run.name}{more}{reached}: {told.type}: {sentence}", f"    {run.command}"]


def as_json(runs: Sequence[Run], failed: Iterable[Run], notes: Iterable[str], scale: str, cores: int) -> dict[str, object]:
    """The same for programs; seconds are CPU seconds but for `wait_seconds`."""

    def entry(found: Tally) -> dict[str, object]:
        return {"runs": found.runs, **found.states, "spent_seconds": found.spent, "remaining_seconds": found.remaining}

    total = tally(runs)
    problems = [{"paper": paper, "problem": problem, **entry(found)} for (paper, problem), found in by_problem(runs).items()]
    owners = {run.name: run.owner for run in runs if run.state == "running"}
    busy = [{"run": name, "elapsed_seconds": owner.elapsed, **asdict(owner)} for name, owner in owners.items()]
    told = [{"run": run.name, "command": run.command, **asdict(run.told)} for run in failed if run.told is not None]
    return {"scale": scale, "cores": cores, "total": {**entry(total), "wait_seconds": total.wait(cores)}, "problems": problems,
            "running": busy, "failures": told, "notes": list(notes)}  # fmt: skip


def report(results: Results, options: argparse.Namespace) -> tuple[str, Tally]:
    """What is to be printed now, and its sum."""
    runs = results.runs()
    failed = [*results.initial_failures(), *runs]
    if options.json:
        found = as_json(runs, failed, results.notes, options.scale, options.cores)
        return json.dumps(found, indent=None if options.watch else 1), tally(runs)
    lines = [*table(runs, options.cores), *under_way(runs), *failures(failed, everything=options.failures)]
    return "\n".join(lines + [text for note in results.notes for text in ("", note)]), tally(runs)


def watch(results: Results, options: argparse.Namespace) -> None:
    """Print until everything is done or failed: a live table on a terminal, elsewhere a line for every change."""
    live = sys.stdout.isatty() and not options.json
    last: Mapping[str, int] = {}
    while True:
        text, total = report(results, options)
        short = text if options.json else f"{datetime.now():%H:%M:%S} {line(total, options.cores)}"
        if live or total.states != last:
            print(CLEAR + text if live else short, flush=True)
        if sum(total.states[state] for state in ENDED) == total.runs:
            return
        last = total.states
        time.sleep(options.watch)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.status", description="How far a scale is, and what it still costs.")
    parser.add_argument("--scale", default="quick")
    parser.add_argument("--papers", default="", help="such as bbkb,bkb; default: all")
    parser.add_argument("--seeds", default="", help="one seed or a range such as 0-4")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="on which the rest is made (default: all)")
    parser.add_argument("--failures", action="store_true", help="list every run that failed")
    parser.add_argument("--watch", type=float, metavar="SECONDS", help="again and again, until everything is done or failed")
    parser.add_argument("--json", action="store_true", help="for programs; with --watch a line for every change")
    options = parser.parse_args(arguments)
    if options.cores < 1 or (options.watch is not None and not options.watch > 0):
        parser.error("--cores and --watch: expected a positive number")
    try:
        results = Results([load(name, options.scale, seeds=options.seeds) for name in chosen_papers(options.papers)])
        if options.watch:
            watch(results, options)
        else:
            print(report(results, options)[0])
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
    return 0


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
