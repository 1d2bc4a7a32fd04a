"""Make the runs of a guest: what is missing, so many processes at once, each `python -m
workflow.compare ... --only PROBLEM CURVE SEEDS`.

What has finished stays whatever becomes of the rest, since records, leases and checkpoints are
those of every other run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from workflow.compare.workers import Command, Workers, consecutive, sources
from workflow.operate.tally import MADE, Results
from workflow.plan.guest import Visit
from workflow.trace.cells import Cell, Seed, seed_range

LOGS = Path("logs", "compare")
ERROR = "error: "  # how a sentence about a run begins
INDENTED = re.compile(r"\n +")  # where it goes on, as the rows of an array do
# An array without an end was cut, mostly within its last number.
CUT = re.compile(r"(array\([^()]*), ?[^,()]*(: correct it)")


def logs(visit: Visit) -> Path:
    """Where the processes write their messages."""
    return LOGS / visit.folder.name


def missing(visit: Visit) -> dict[Cell, list[int]]:
    """The seeds of the guest's runs that have no current record, neither here nor published."""
    found: dict[Cell, list[int]] = {}
    for run in Results([visit.alone]).runs():
        if run.state not in MADE and isinstance(run.part, Cell):
            found.setdefault(run.part, []).append(run.seed)
    return found


def make(visit: Visit, needs: Mapping[Cell, list[int]], cores: int, again: list[str]) -> list[str]:
    """Make some seeds; `again` are the arguments that name the visit. Returns why some were not
    made: of each run the first reason, and how many more seeds have one.
    """
    workers, known = Workers(cores), {cell.name: cell for cell in needs}
    wanted = frozenset[Seed]((cell.name, seed) for cell, seeds in needs.items() for seed in seeds)
    without = workers.run(sources(known, wanted))  # what lacks its data or its simulator
    barred = frozenset[Seed]().union(*(command.seeds for command in without))
    left = {
        cell: [seed for seed in seeds if (cell.name, seed) not in barred]
        for cell, seeds in needs.items()
    }
    failed = {**without, **workers.run(_commands(visit, left, cores, again))}
    return _told([line for one, words in failed.items() for line in _errors(one.log) or [words]])


def _errors(log: Path) -> list[str]:
    """What went wrong by a log: a sentence a seed, on one line."""
    lines = INDENTED.sub(" ", log.read_text("utf-8", "replace")).splitlines()
    errors = [line.removeprefix(ERROR) for line in lines if line.startswith(ERROR)]
    return [CUT.sub(r"\1, ...\2", sentence) for sentence in errors]


def _told(said: list[str]) -> list[str]:
    """The sentences of all seeds, one for each run."""
    found: dict[str, list[str]] = {}
    for sentence in dict.fromkeys(said):
        found.setdefault(sentence.partition(" seed ")[0], []).append(sentence)
    return [
        min(same) + f" (and {len(same) - 1} more of its seeds)" * (len(same) > 1)
        for same in found.values()
    ]


def _commands(
    visit: Visit, needs: Mapping[Cell, list[int]], cores: int, again: list[str]
) -> list[Command]:
    """A command for consecutive seeds of a run, so that every core has some of each run."""
    found = []
    for cell, seeds in needs.items():
        for stretch in consecutive(sorted(seeds), -(-len(seeds) // cores)):
            only = seed_range(stretch)
            arguments = ("workflow.compare", *again, "--only", cell.problem_name, cell.curve, only)
            log = logs(visit) / f"{cell.problem_name}-{cell.curve}-{only}.log"
            found.append(Command(arguments, log))
    return found
