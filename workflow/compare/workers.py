"""Processes that make records as the workflow's jobs do, so many at once.

What a process has finished is kept whatever becomes of it; a run that is ended early goes on from
its checkpoint when it is started again. No list of finished records is written: that belongs to a
whole job of the plan, and the next workflow writes it when it finds the records.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow.data.places import prepared_path, substitutes_allowed
from workflow.data.simulators import binary
from workflow.measure.store import Run
from workflow.trace.cells import Seed

Seeds = frozenset[Seed]
POLL = 0.2  # seconds between two looks at the processes
FAREWELL = 20.0  # seconds for a process to end after it was told to


@dataclass(frozen=True)
class Command:
    """What a process is told, where it writes its messages, and which seeds it makes, if any."""

    arguments: tuple[str, ...]
    log: Path
    seeds: Seeds = frozenset()


class Workers:
    """So many processes at once."""

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self._running: dict[subprocess.Popen[bytes], Command] = {}

    def run(self, commands: Sequence[Command]) -> dict[Command, str]:
        """Run commands; those that failed, with their last words."""
        waiting, told = list(commands), dict[Command, str]()
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self.cores:
                    self._start(waiting.pop(0))
                time.sleep(POLL)
                for process in [one for one in self._running if one.poll() is not None]:
                    command = self._running.pop(process)
                    if process.returncode:
                        told[command] = _last_words(command.log)
        finally:
            self.end()
        return told

    def _start(self, command: Command) -> None:
        command.log.parent.mkdir(parents=True, exist_ok=True)
        with command.log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._running[process] = command

    def end(self) -> None:
        """End what runs: each keeps its last checkpoint."""
        for process in self._running:
            process.terminate()
        for process in self._running:
            try:
                process.wait(FAREWELL)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()


def sources(runs: Mapping[str, Run], needs: Seeds) -> list[Command]:
    """What prepares data and builds simulators that are missing."""
    wanted: dict[tuple[str, ...], set[Seed]] = {}
    for name, seed in needs:
        run = runs[name]
        table, simulator = (run.problem_entry.get(key) for key in ("data", "simulator"))
        if table is not None:
            allowed = substitutes_allowed(run.scale)
            if not prepared_path(table, root=Path(), substitutes=allowed).exists():
                how = ("--substitutes", "allowed") if allowed else ()
                wanted.setdefault(("workflow.fetch", table, *how), set()).add((name, seed))
        if simulator is not None and not binary(simulator, root=Path()).exists():
            wanted.setdefault(("workflow.simulators", simulator), set()).add((name, seed))
    return [
        Command(arguments, Path("logs", "compare", f"{arguments[1]}.log"), frozenset(seeds))
        for arguments, seeds in sorted(wanted.items())
    ]


def consecutive(seeds: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Seeds in stretches without a gap, of at most so many."""
    found: list[tuple[int, ...]] = []
    for seed in seeds:
        if found and seed == found[-1][-1] + 1 and len(found[-1]) < most:
            found[-1] = (*found[-1], seed)
        else:
            found.append((seed,))
    return found


def _last_words(log: Path) -> str:
    """The last error in a log, else its last line."""
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (errors or lines or [f"see {log}"])[-1]
