"""Run a workflow again and again, disturb at random what runs, resume, compare: `python -m
benchmarks.soak FOLDER [--times 20]`.

A round starts from nothing and is disturbed at random moments. Snakemake is killed, interrupted or
terminated, with its jobs or alone. A run is a process that computes and one that supervises it:
both are killed; the one that computes crashes by a signal, is suspended for a while, or hangs in an
evaluation while it holds the interpreter's lock. The round is resumed as a user would and ends when
the workflow says that it is done. An evaluation that hung ended its run, which is a result: such
records are removed, as the message says, and made again. Then every record has to be there, bit for
bit that of an undisturbed run, and nothing else beside it; nothing may run any more.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from workflow.trace import record

ROOT = Path(__file__).resolve().parents[1]
CODE = ("algorithms", "envs", "papers", "problems", "profiles", "simulators", "workflow")
MADE = ("results", "figures", "logs", ".snakemake")
ATTEMPTS = 30  # to finish a round
REST = 1.0  # seconds between two looks
GRACE = 600.0  # seconds for what a killed workflow has started to end by itself
HUNT = 20.0  # seconds to wait for a run that can be disturbed
TIMEOUT = 30.0  # seconds that one evaluation may take in the copy
CRASHES = {
    "child killed": signal.SIGKILL,
    "child segfault": signal.SIGSEGV,
    "child abort": signal.SIGABRT,
}
TO_RUNS = (*CRASHES, "child hangs", "child stopped", "run stopped", "run Ctrl-Z", "run killed")
TO_ALL = ("snakemake killed", "all killed", "Ctrl-C", "SIGTERM")
# Loaded by every interpreter of the copy, and no part of the project. At the signal the next
# evaluation of that process sleeps for ever in a call that keeps the interpreter's lock. It begins
# when its limit of time has been set.
HANG = """
import ctypes
import faulthandler
import signal

limit = faulthandler.dump_traceback_later


def hang(*_):
    def limit_and_hang(*arguments, **named):
        limit(*arguments, **named)
        ctypes.PyDLL(None).sleep(1 << 20)

    faulthandler.dump_traceback_later = limit_and_hang


signal.signal(signal.SIGUSR1, hang)
"""


@dataclass
class Round:
    """What was done to one workflow and what came of it.

    timeouts: records that an evaluation had ended which hung, removed and made again. wrong:
    records that differ, and what is left beside them.
    """

    disturbed: Counter[str] = field(default_factory=Counter)
    starts: int = 0
    timeouts: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = [f"{count} x {what}" for what, count in sorted(self.disturbed.items())]
        verdict = f"{len(self.wrong)} WRONG: {self.wrong[:3]}" if self.wrong else "nothing wrong"
        return (
            f"{', '.join(kinds) or 'undisturbed'}; {self.starts} starts,"
            f" {self.timeouts} timeouts: {verdict}"
        )


class Workflow:
    """A copy of the project, its command, and the processes in it."""

    def __init__(self, copy: Path, command: list[str]) -> None:
        self.copy, self.command = copy, command
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, in a process group of its own, unlocked as after a kill."""
        if (self.copy / ".snakemake").exists():
            subprocess.run(
                [*self.command, "--unlock"],
                cwd=self.copy,
                env=self._environment(),
                capture_output=True,
                check=False,
            )
        with (self.copy / "soak.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.copy,
                env=self._environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        return self.process

    def runs(self) -> dict[int, list[int]]:
        """The processes that answer for records in the copy, whoever started them, and those that
        compute for each: children with the same command line.
        """
        runs = {
            process.pid: process
            for process in self.processes()
            if "workflow.run" in process.info["cmdline"]
            and "bash" not in process.info["cmdline"][0]
        }
        found: dict[int, list[int]] = {}
        for pid, process in runs.items():
            parent = runs.get(process.info["ppid"])
            if parent is None or parent.info["cmdline"] != process.info["cmdline"]:
                found.setdefault(pid, [])
            else:
                found.setdefault(parent.pid, []).append(pid)
        return found

    def processes(self) -> list[psutil.Process]:
        """Those whose working directory is the copy."""
        known = psutil.process_iter(["cwd", "cmdline", "ppid"])
        return [one for one in known if one.info["cwd"] == str(self.copy) and one.info["cmdline"]]

    def busy(self, what: str) -> list[int]:
        """The processes to which a disturbance of a run can be done now."""
        runs = self.runs()
        computing = [child for children in runs.values() for child in children]
        return computing if what.startswith("child") else [pid for pid in runs if runs[pid]]

    def clear(self) -> None:
        """Start from nothing but the prepared data."""
        for name in MADE:
            shutil.rmtree(self.copy / name, ignore_errors=True)

    def traces(self) -> dict[str, str]:
        """The hash of every record, each of which is verified, or what is wrong with it."""
        found = {}
        for path in sorted((self.copy / "results").rglob("*.parquet")):
            try:
                trace = str(record.read(path).header["trace_sha256"])
            except record.BadRecord as error:
                trace = str(error)
            found[str(path.relative_to(self.copy))] = trace
        return found

    def remove_timeouts(self) -> int:
        """Remove the records that an evaluation has ended which took too long, as the message says;
        returns how many.
        """
        found = [
            path
            for path in (self.copy / "results").rglob("*.parquet")
            if record.read_header(path).get("status") == record.TIMEOUT
        ]
        for path in found:
            path.unlink()
        return len(found)

    def litter(self) -> list[str]:
        """What should not be there at the end: leases, halves, what was set
        aside, processes. A half of a figure or a log is no fault: whoever writes the same file an
        hour later removes the half.
        """
        results = [
            str(path.relative_to(self.copy))
            for path in sorted((self.copy / "results").rglob("*"))
            if path.name.startswith(".")
            or (path.is_file() and path.suffix not in (".parquet", ".json"))
        ]
        return results + [
            f"process {one.pid}: {' '.join(one.info['cmdline'])}" for one in self.processes()
        ]

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        return {
            "NOREGRET_SUBSTITUTES": "preferred",
            **os.environ,
            **alone,
            "PATH": path,
            "PYTHONPATH": f"{self.copy / 'hang'}{os.pathsep}{self.copy}",
        }


def disturb(flow: Workflow, draw: random.Random, kinds: Sequence[str] = TO_RUNS + TO_ALL) -> str:
    """Do something to a running workflow; says what: "" where it ended before.

    Where no run can be disturbed for HUNT seconds, something is done to all.
    """
    process = flow.process
    if process is None:
        raise RuntimeError("expected a workflow that runs")
    what = draw.choice(kinds)
    if what in TO_RUNS and _disturb_run(flow, draw, what):
        return what
    if process.poll() is not None:
        return ""
    if what in TO_RUNS:
        what = draw.choice(TO_ALL)
    with suppress(ProcessLookupError):
        if what == "snakemake killed":
            process.kill()
        elif what == "all killed":
            os.killpg(process.pid, signal.SIGKILL)
        elif what == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.terminate()
    return what


def _disturb_run(flow: Workflow, draw: random.Random, what: str) -> bool:
    """Do something to a run; says whether there was one within HUNT seconds."""
    end = time.monotonic() + HUNT
    while not (found := flow.busy(what)):
        if time.monotonic() > end or flow.process is None or flow.process.poll() is not None:
            return False
        time.sleep(0.05)
    pid = draw.choice(found)
    with suppress(ProcessLookupError):
        if what in CRASHES:
            os.kill(pid, CRASHES[what])
        elif what == "child hangs":
            os.kill(pid, signal.SIGUSR1)
        elif what == "run killed":
            os.kill(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTSTP if what == "run Ctrl-Z" else signal.SIGSTOP)
            time.sleep(draw.uniform(0.5, 5))
            os.kill(pid, signal.SIGCONT)
    return True


def disturbed_round(
    flow: Workflow, expected: dict[str, str], usual: float, kills: int, draw: random.Random
) -> Round:
    """One round of about `kills` disturbances at random moments of `usual` seconds."""
    flow.clear()
    found = Round(starts=1)
    process = flow.start()
    most = usual / kills if kills else 0.0  # between two disturbances: all come in time
    while True:
        try:
            wait = draw.uniform(0, most) if found.disturbed.total() < kills else None
            ended = process.wait(timeout=wait)
        except subprocess.TimeoutExpired:
            if what := disturb(flow, draw):
                found.disturbed[what] += 1
            continue
        removed = flow.remove_timeouts() if ended == 0 else 0
        if ended == 0 and not removed:
            break
        found.timeouts += removed
        if found.starts == ATTEMPTS:
            found.wrong.append(f"not done after {ATTEMPTS} starts: see {flow.copy / 'soak.log'}")
            break
        time.sleep(draw.random() * 2)  # or at once: what Snakemake had started may go on
        process = flow.start()
        found.starts += 1
    patience = time.monotonic() + GRACE
    # of a workflow that was killed, after a later one had made everything
    while flow.runs() and time.monotonic() < patience:
        time.sleep(REST)
    time.sleep(REST)
    made = flow.traces()
    found.wrong += [
        f"{path}: {made.get(path, 'missing')} instead of {expected.get(path, 'nothing')}"
        for path in sorted({*made, *expected})
        if made.get(path) != expected.get(path)
    ]
    found.wrong += flow.litter()
    return found


def hurry(text: str) -> str:
    """A paper's YAML in which no evaluation may take longer than TIMEOUT seconds; any other YAML
    beside it as it is.
    """
    paper: dict[str, Any] = yaml.safe_load(text)
    if "problems" not in paper:
        return text
    for problem in paper["problems"].values():
        problem["timeout"] = min(TIMEOUT, problem.get("timeout", TIMEOUT))
    return yaml.dump(paper, Dumper=_Plain, sort_keys=False, allow_unicode=True)


class _Plain(yaml.SafeDumper):
    """Writes what several lines share to each of them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def prepared(folder: Path, command: list[str]) -> Workflow:
    """A copy of the project's code as it is now, where evaluations can hang, but not for long."""
    copy = (folder / "copy").resolve()
    if not copy.exists():
        copy.mkdir(parents=True)
        for name in CODE:
            shutil.copytree(
                ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "build")
            )
        (copy / "data").mkdir()
        for name in ("Snakefile", "data/manifest.yaml"):
            shutil.copy(ROOT / name, copy / name)
        for path in (copy / "papers").glob("*.yaml"):
            path.write_text(hurry(path.read_text(encoding="utf-8")), encoding="utf-8")
        (copy / "hang").mkdir()
        (copy / "hang" / "sitecustomize.py").write_text(HANG, encoding="utf-8")
    return Workflow(copy, command)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("folder", type=Path, help="for a copy of the project, which is kept")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--kills", type=int, default=4, help="disturbances a round")
    parser.add_argument("--scale", default="smoke")
    parser.add_argument("--papers", default="", help="default: all")
    parser.add_argument("--cores", default="2")
    parser.add_argument("--seed", type=int, default=0, help="of the disturbances")
    options = parser.parse_args(arguments)
    command = [sys.executable, "-m", "snakemake", "--cores", options.cores, "--config"]
    command += [f"scale={options.scale}"]
    command += [f"papers={options.papers}"] if options.papers else []
    flow = prepared(options.folder, command)
    began = time.monotonic()
    flow.clear()
    if flow.start().wait() != 0:
        print(
            f"error: the undisturbed workflow failed: see {flow.copy / 'soak.log'}", file=sys.stderr
        )
        return 1
    usual, expected = time.monotonic() - began, flow.traces()
    print(f"undisturbed: {len(expected)} records in {usual:.0f} s", flush=True)
    failed = 0
    for number in range(options.times):
        draw = random.Random(f"{options.seed} {number}")
        found = disturbed_round(flow, expected, usual, options.kills, draw)
        failed += bool(found.wrong)
        print(f"round {number}: {found}", flush=True)
    print(f"{options.times} rounds of {len(expected)} records: {failed} with something wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
