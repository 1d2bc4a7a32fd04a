"""What became of every run of a scale and what it has cost: from the plan, from what lies in
results/ and from the published records.

A run is one seed of a cell or a study. Of a record only the header is read, and all of it where its
file is not as its job has listed it: rows are verified by the reports. Costs are CPU seconds of one
thread: of records that are current, as measured; of all others their cell's mean so far, else the
plan's.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workflow.data.places import DataUnavailable
from workflow.measure.mixture import Mixture
from workflow.measure.shelf import Shelf
from workflow.measure.store import Store, without_published
from workflow.operate import overhead
from workflow.operate.overhead import Overhead
from workflow.plan.cells import Cell, Paper, Seed, Study
from workflow.plan.digest import with_data
from workflow.run import lease
from workflow.run.lease import NOBODY, Failure, Owner
from workflow.run.spent import workflow_log
from workflow.trace import listing, record
from workflow.trace.listing import Listed

STATES = ("done", "published", "timeout", "running", "failed", "cut", "stale", "damaged", "missing")
MADE = ("done", "published", "timeout")
ENDED = (*MADE, "failed", "damaged")  # until somebody does something
Header = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """One seed of a cell or a study, or of an initial design, which is not counted: what became of
    it and what it has cost.
    """

    part: Cell | Study
    seed: int
    state: str
    spent: float = 0.0  # CPU seconds
    owner: Owner = NOBODY
    told: Failure | None = None
    initial: bool = False
    damage: str = ""  # what is wrong with its record, and what to do

    @property
    def place(self) -> tuple[str, str, str]:
        """Paper, problem and curve as the command line has them."""
        if isinstance(self.part, Study):
            return self.part.paper, "studies", self.part.id
        return (
            self.part.paper,
            self.part.problem_name,
            "initial" if self.initial else self.part.curve,
        )

    @property
    def name(self) -> str:
        return f"{'/'.join(self.place)} seed {self.seed}"

    @property
    def command(self) -> str:
        return shlex.join(
            [
                "python",
                "-m",
                "workflow.run",
                *self.place,
                str(self.seed),
                "--scale",
                self.part.scale,
            ]
        )


@dataclass(frozen=True)
class Tally:
    """How many of some runs are in which state, what they have cost and what is still to be spent,
    in CPU seconds.
    """

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
    """What lies in results/ of some papers;
    a header is read again only where its file has changed.
    """

    def __init__(self, plans: Sequence[Paper], root: Path = Path(), *, fresh: bool = False) -> None:
        self.plans, self.root = plans, root
        left = [] if fresh else [without_published(plan, root) for plan in plans]
        self._lent = frozenset[Seed]().union(*(plan.lent for plan in left))
        self._shelf = Shelf(root)
        self.notes: dict[str, None] = {}
        self._stores = {plan.name: Store(plan, root) for plan in plans}
        self._data: dict[tuple[object, object], str] = {}
        self._read = cache(lambda path, inode, changed: record.read_header(path))
        self._verified = cache(lambda path, inode, changed, size: _damage(path))
        self._lists: dict[Path, dict[str, Any]] = {}  # what each says
        self._listed: dict[Path, Listed] = {}
        self._mixture = Mixture()

    def runs(self) -> list[Run]:
        """Every run of the plans, as it is now."""
        self.notes, self._mixture = {}, Mixture()
        self._lists = {marker: listing.text(marker) for marker in self._markers()}
        self._listed = {
            one.path: one
            for marker, said in self._lists.items()
            for one in listing.listed(marker, said)
        }
        found = [
            self._run(part, seed, names)
            for plan in self.plans
            for part in plan.parts
            for names in [self._names(part.folder)]
            for seed in part.seeds
        ]
        self.notes |= dict.fromkeys(self._mixture.sentences())
        return found

    def overhead(self) -> Overhead:
        """What starting the jobs cost that have finished, of initial designs, too, as `runs` has
        found their lists.
        """
        scales = {plan.scale for plan in self.plans}
        return overhead.measured(
            self._lists.values(), [workflow_log(scale, self.root) for scale in scales]
        )

    def initial_damages(self) -> list[Run]:
        """The initial designs that are damaged, of those that `runs` has found in lists: a new run
        on their problem is refused.
        """
        found = []
        for plan in self.plans:
            for name in {cell.problem_name: None for cell in plan.cells}:
                cell = plan.first_cell(name)
                marker = self.root / plan.initial_marker(name)
                for one in listing.listed(marker, self._lists.get(marker, {})):
                    if damage := self._look(one.path)[1]:
                        seed = int(one.path.stem)
                        found.append(Run(cell, seed, "damaged", initial=True, damage=damage))
        return found

    def _markers(self) -> list[Path]:
        """The lists of records that jobs leave, of initial designs, too."""
        places = [marker for plan in self.plans for marker in plan.jobs]
        places += [
            plan.initial_marker(name)
            for plan in self.plans
            for name in {cell.problem_name for cell in plan.cells}
        ]
        return [self.root / place for place in places]

    def initial_failures(self) -> list[Run]:
        """The initial designs that failed: no run on their problem begins."""
        places = {
            (cell.initial_folder, seed): cell
            for plan in self.plans
            for cell in plan.cells
            for seed in cell.seeds
        }
        notes = {
            place: lease.failure(self.root / place[0] / f"{place[1]}.failed") for place in places
        }
        return [
            Run(cell, place[1], "failed", told=notes[place], initial=True)
            for place, cell in places.items()
            if notes[place]
        ]

    def _names(self, folder: Path) -> set[str]:
        place = self.root / folder
        return set(os.listdir(place)) if place.exists() else set()  # noqa: PTH208, names are all that is asked

    def _run(self, part: Cell | Study, seed: int, names: set[str]) -> Run:
        path = self.root / part.record(seed)
        header, damage = self._look(path) if path.name in names else ({}, "")
        current = bool(header) and self._is_current(header, part, seed)
        spent = float(header.get("cpu_seconds", 0.0)) if current else 0.0
        status = header.get("status", "complete") if current else ""
        if status in record.FINAL and not damage:
            self._mixture.add((part.name, seed), header)
            return Run(part, seed, "done" if status == "complete" else "timeout", spent)
        running = lease.running(path)
        holder = lease.owner(running) if running.name in names else None
        if holder is not None and lease.is_held(running):
            return Run(part, seed, "running", spent, holder)
        if damage:
            return Run(part, seed, "damaged", damage=damage)
        if (part.name, seed) in self._lent:
            header = self._shelf.headers(part)[seed]
            self._mixture.add((part.name, seed), header)
            return Run(part, seed, "published", float(header.get("cpu_seconds", 0.0)))
        told = lease.failure(lease.failed(path)) if f"{seed}.failed" in names else None
        if told is not None or holder is not None:
            return Run(
                part,
                seed,
                "failed",
                spent,
                told=told or lease.lost(holder or NOBODY),
            )
        return Run(
            part, seed, "cut" if current else "stale" if path.name in names else "missing", spent
        )

    def _look(self, path: Path) -> tuple[Header, str]:
        """The header of a record, and what is wrong with it as far as its file is not as listed."""
        try:
            found = path.stat()
        except FileNotFoundError:  # set aside just now
            return {}, ""
        header = self._read(path, found.st_ino, found.st_mtime_ns)
        one = self._listed.get(path)
        if header and (one is None or not listing.is_changed(one, found)):
            return header, ""
        return header, self._verified(path, found.st_ino, found.st_mtime_ns, found.st_size)

    def _is_current(self, header: Header, part: Cell | Study, seed: int) -> bool:
        """Whether a record is the plan's, by code, parameters and data; a cut one is, too."""
        data = self.data_sha256(part)
        expected = with_data(
            part.digest, str(header.get("data_sha256", "")) if data is None else data
        )
        return bool(
            header.get("digest") == expected
            and (header.get("paper"), header.get("seed")) == (part.paper, seed)
        )

    def data_sha256(self, part: Cell | Study) -> str | None:
        """The data that a report would demand; None, and a note, where they are not on this
        machine.
        """
        key = (part.problem_entry.get("simulator"), part.problem_entry.get("data"))
        if key not in self._data:
            try:
                self._data[key] = self._stores[part.paper].data_sha256(part)
            except DataUnavailable as error:
                self.notes[f"records are compared by code and parameters alone: {error}"] = None
                return None
        return self._data[key]


def _damage(path: Path) -> str:
    """What is wrong with a record, all of which is read, and what to do; "" where it is whole."""
    try:
        record.read(path)
    except record.BadRecord as error:
        return str(error)
    return ""


def tally(runs: Iterable[Run]) -> Tally:
    """Count and cost of some runs; of a cell's, all must be among them: those that are done tell
    what the others cost.
    """
    by_part: dict[str, list[Run]] = {}
    for run in runs:
        by_part.setdefault(run.part.name, []).append(run)
    states = dict.fromkeys(STATES, 0)
    spent, waits = 0.0, [0.0]
    for group in by_part.values():
        measured = [run.spent for run in group if run.state in ("done", "published")]
        cost = sum(measured) / len(measured) if measured else group[0].part.cost.seconds
        for run in group:
            states[run.state] += 1
            spent += run.spent
            if run.state not in MADE:
                waits.append(max(0.0, cost - max(run.spent, run.owner.elapsed)))
    return Tally(states, spent, sum(waits), max(waits))


def by_problem(runs: Iterable[Run]) -> dict[tuple[str, str], Tally]:
    """A tally for every paper and problem, its studies as one."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.place[:2], []).append(run)
    return {place: tally(group) for place, group in groups.items()}
