"""What starting costs: the CPU time of a workflow that no optimizer and no problem had.

The list of records that a job leaves says what its process has cost, imports and all, what of that was work (asking, telling and
evaluating), and what the Snakemakes have cost that a cluster starts for the job alone. Snakemake's own process is written down
when a workflow ends, below logs/. Drawing and judging are no part of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Overhead:
    """CPU seconds of the jobs that made records and of Snakemake itself, and what of them was work."""

    jobs: int
    processes: float
    work: float
    snakemake: float

    @property
    def share(self) -> float:
        """Of everything that is no work in all CPU time; 0 where nothing was run."""
        total = self.processes + self.snakemake
        return 1 - self.work / total if total else 0.0

    def __str__(self) -> str:
        beside = self.processes - self.work
        return (
            f"overhead {100 * self.share:.1f} % of {self.processes + self.snakemake:.0f} CPU seconds: {beside:.0f} s in "
            f"{self.jobs} jobs (imports, plans, records), {self.snakemake:.0f} s in Snakemake itself"
        )


def measured(markers: Iterable[Path], logs: Iterable[Path]) -> Overhead:
    """The sum over the lists of records that are there and say what they cost, and over the workflows in the logs."""
    found = [entry for entry in map(_entry, markers) if "work_seconds" in entry]
    on_nodes = sum(float(entry.get("snakemake_seconds", 0)) for entry in found)
    lines = [line for log in logs if log.exists() for line in log.read_text().splitlines()]
    snakemake = on_nodes + sum(float(entry.get("cpu_seconds", 0)) for entry in map(_parsed, lines))
    processes = sum(float(entry["cpu_seconds"]) for entry in found)
    return Overhead(len(found), processes, sum(float(entry["work_seconds"]) for entry in found), snakemake)


def workflow_log(scale: str, root: Path = Path()) -> Path:
    """Where the workflows of a scale say what they cost themselves."""
    return root / "logs" / scale / "workflows.jsonl"


def note(scale: str, succeeded: bool) -> None:
    """Write down what this process, Snakemake's, has cost, without its jobs."""
    used = os.times()
    ended = datetime.now(UTC).isoformat(timespec="seconds")
    line = {"ended": ended, "succeeded": succeeded, "cpu_seconds": used.user + used.system}
    path = workflow_log(scale)
    with suppress(OSError):  # a full disk or a folder that is read only: the workflow has its own message for that
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def of_this_job() -> float:
    """CPU seconds of the Snakemakes that a cluster has started here for the job of this process alone; 0 without one."""
    commands = {int(place.name): _command(place) for place in Path("/proc").glob("[0-9]*")}
    mine = next((job for pid in _ancestors() if (job := _job(commands.get(pid, [])))), "")
    return sum(_seconds(pid) for pid, command in commands.items() if mine and _job(command) == mine)


def _ancestors() -> Iterator[int]:
    """The ids of the processes that have started this one, its parent first."""
    pid = os.getpid()
    while pid > 1 and (fields := _stat(pid)):
        pid = int(fields[1])
        yield pid


def _job(command: Sequence[str]) -> str:
    """What a Snakemake was told to make on a node."""
    following = dict(pairwise(command))
    return following.get("--target-jobs", "") if "snakemake" in command else ""


def _command(place: Path) -> list[str]:
    try:
        return (place / "cmdline").read_text(errors="replace").split("\0")
    except OSError:  # it has ended
        return []


def _stat(pid: int) -> list[str]:
    """The fields of a process from its state on; none where the machine does not tell, or it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()  # the name before it may contain anything
    except OSError:
        return []


def _seconds(pid: int) -> float:
    """CPU seconds of a process without its children."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _entry(path: Path) -> dict[str, Any]:
    try:
        return _parsed(path.read_text())
    except FileNotFoundError:
        return {}


def _parsed(text: str) -> dict[str, Any]:
    """{} where it is not written to the end."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
