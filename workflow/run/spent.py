"""CPU seconds beside the work, as they are written down: of the Snakemakes that a cluster starts
for one job, and of a workflow's own process, which leaves a line below logs/ when it ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path


def workflow_log(scale: str, root: Path = Path()) -> Path:
    """Where the workflows of a scale say what they cost themselves."""
    return root / "logs" / scale / "workflows.jsonl"


def note(scale: str, succeeded: bool) -> None:
    """Write down what this process, Snakemake's, has cost, without its jobs."""
    used = os.times()
    ended = datetime.now(UTC).isoformat(timespec="seconds")
    line = {"ended": ended, "succeeded": succeeded, "cpu_seconds": used.user + used.system}
    path = workflow_log(scale)
    with suppress(
        OSError
    ):  # a full disk or a folder that is read only: the workflow has its own message for that
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def of_this_job() -> float:
    """CPU seconds of the Snakemakes that a cluster has started here for the job of this process
    alone; 0 without one.
    """
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
        return (place / "cmdline").read_text(errors="replace", encoding="utf-8").split("\0")
    except OSError:  # it has ended
        return []


def _stat(pid: int) -> list[str]:
    """The fields of a process from its state on; none where the machine does not tell, or it has
    ended.
    """
    try:
        # the name before it may contain anything
        return (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return []


def _seconds(pid: int) -> float:
    """CPU seconds of a process without its children."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
