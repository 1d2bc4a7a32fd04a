"""Processes that make records as the workflow's jobs do, so many at once, until some CPU seconds
are spent.

Each is `python -m workflow.run`, with its data, simulators and initial designs made before. What it
has finished is kept whatever becomes of it; a run that is ended early goes on from its checkpoint
when it is started again. No list of finished records is written: that belongs to a whole job of the
plan, and the next workflow writes it when it finds the records.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow.data.places import prepared_path, substitutes_allowed
from workflow.data.simulators import binary
from workflow.measure.store import Run
from workflow.operate.undecided import Board, Seeds
from workflow.plan import costs
from workflow.plan.cells import Cell, Seed
from workflow.plan.resolve import seed_range

POLL = 0.2  # seconds between two looks at the processes
FAREWELL = 20.0  # seconds for a process to end after it was told to


@dataclass(frozen=True)
class Command:
    """What a process is told, where it writes its messages, and which seeds it makes, if any."""

    arguments: tuple[str, ...]
    log: Path
    seeds: Seeds = frozenset()


class Workers:
    """So many processes at once; `spent` are the CPU seconds of all that have ended, and
    `is_stopped` says that the rest was left since a limit was reached.
    """

    def __init__(self, cores: int) -> None:
        self.cores, self.is_stopped = cores, False
        self._before = _of_children()
        self._running: dict[subprocess.Popen[bytes], Command] = {}

    @property
    def spent(self) -> float:
        return _of_children() - self._before

    def make(self, board: Board, needs: Seeds, most: float) -> dict[Seed, str]:
        """Make some seeds in at most so many CPU seconds more. Returns why some were not made."""
        limit, told = self.spent + most, dict[Seed, str]()
        for stage in (_sources, _designs, batches):
            left = frozenset(seed for seed in needs if seed not in told)
            for command, words in self.run(stage(board, left, self.cores), limit).items():
                told |= dict.fromkeys(command.seeds, words)
        return told

    def run(self, commands: Sequence[Command], limit: float = math.inf) -> dict[Command, str]:
        """Run commands until `spent` reaches a limit; those that failed, with their last words."""
        waiting, told = list(commands), dict[Command, str]()
        try:
            while (waiting and not self.is_stopped) or self._running:
                while waiting and not self.is_stopped and len(self._running) < self.cores:
                    self._start(waiting.pop(0))
                time.sleep(POLL)
                for process in [one for one in self._running if one.poll() is not None]:
                    command = self._running.pop(process)
                    if process.returncode:
                        told[command] = _last_words(command.log)
                if self.spent + sum(_of_tree(one.pid) for one in self._running) >= limit:
                    self.is_stopped = True
                    self.end()
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


def batches(board: Board, needs: Seeds, cores: int) -> list[Command]:
    """Commands that make some seeds, the longest first: consecutive seeds of a run together as long
    as every core has something to do, and short runs on one problem.
    """
    share = board.cost(needs) / cores
    most = min(max(share, costs.SHORT_SECONDS), costs.JOB_SECONDS)
    alike: dict[tuple[str, tuple[int, ...]], list[Run]] = {}
    for name in dict.fromkeys(name for name, _ in sorted(needs)):
        run = board.runs[name]
        many = max(1, int(most / max(board.seconds[name], 0.1)))
        wanted = sorted(seed for other, seed in needs if other == name)
        for stretch in consecutive(wanted, many):
            alike.setdefault((name.rpartition("/")[0], stretch), []).append(run)
    found: list[tuple[float, Command]] = []
    for (_, seeds), runs in alike.items():
        seconds = [len(seeds) * board.seconds[run.name] for run in runs]
        for bundle in costs.packed(runs, seconds):
            total = sum(len(seeds) * board.seconds[run.name] for run in bundle)
            found.append((total, _command(bundle, seeds)))
    return [command for _, command in sorted(found, key=lambda pair: -pair[0])]


def _command(runs: Sequence[Run], seeds: tuple[int, ...]) -> Command:
    first = runs[0]
    problem = first.problem_name if isinstance(first, Cell) else "studies"
    curves = [run.curve if isinstance(run, Cell) else run.id for run in runs]
    return Command(
        _run(first, problem, ",".join(curves), seeds),
        _log(first, problem, curves[0], seeds),
        frozenset((run.name, seed) for run in runs for seed in seeds),
    )


def _designs(board: Board, needs: Seeds, _cores: int) -> list[Command]:
    """What makes the initial designs that are missing, which all runs on a problem share."""
    wanted: dict[Path, tuple[Cell, set[int], set[Seed]]] = {}
    for name, seed in sorted(needs):
        run = board.runs[name]
        if isinstance(run, Cell) and not (run.initial_folder / f"{seed}.parquet").exists():
            _, seeds, failing = wanted.setdefault(run.initial_folder, (run, set(), set()))
            seeds.add(seed)
            failing.add((name, seed))
    found = []
    for cell, seeds, failing in wanted.values():
        for stretch in consecutive(sorted(seeds), len(seeds)):
            found.append(
                Command(
                    _run(cell, cell.problem_name, "initial", stretch),
                    _log(cell, cell.problem_name, "initial", stretch),
                    frozenset(one for one in failing if one[1] in stretch),
                )
            )
    return found


def _sources(board: Board, needs: Seeds, _cores: int) -> list[Command]:
    return sources(board.runs, needs)


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
        Command(arguments, Path("logs", "decide", f"{arguments[1]}.log"), frozenset(seeds))
        for arguments, seeds in sorted(wanted.items())
    ]


def _run(run: Run, problem: str, curves: str, seeds: Sequence[int]) -> tuple[str, ...]:
    place = (run.paper, problem, curves, seed_range(seeds))
    return ("workflow.run", *place, "--scale", run.scale)


def _log(run: Run, problem: str, curve: str, seeds: Sequence[int]) -> Path:
    """Where the rule of the same job writes, too."""
    return Path("logs", run.scale, run.paper, problem, curve, f"{seed_range(seeds)}.log")


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


def _of_children() -> float:
    """CPU seconds of all processes that were started here and have ended, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of_tree(pid: int) -> float:
    """CPU seconds of a process that runs, and of those that it has started; 0 where the machine
    does not tell, so that only what has ended counts.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return 0.0
    ticks = sum(int(field) for field in text.rpartition(")")[2].split()[11:15])
    return ticks / os.sysconf("SC_CLK_TCK") + sum(_of_tree(int(child)) for child in below)
