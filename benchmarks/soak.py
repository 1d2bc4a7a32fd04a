"""Run a workflow again and again, kill at random what runs, resume, compare: `python -m
benchmarks.soak FOLDER [--times 20]`.

A round starts from nothing, is disturbed at random moments (a run, Snakemake or both are killed,
interrupted or terminated), is resumed as a user would and ends when the workflow says that it is
done. Then every record has to be there, bit for bit that of an undisturbed run, and nothing else
beside it. Rounds are written to FOLDER/soak.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from workflow.trace import record

ROOT = Path(__file__).resolve().parents[1]
CODE = ("algorithms", "envs", "papers", "problems", "profiles", "simulators", "workflow")
MADE = ("results", "figures", "logs", ".snakemake")
ATTEMPTS = 20  # to finish a round
REST = 1.0  # seconds between two looks


@dataclass
class Round:
    """What was done to one workflow and what came of it."""

    number: int
    disturbed: dict[str, int] = field(default_factory=dict)
    starts: int = 0
    seconds: float = 0.0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        how = (
            ", ".join(f"{count} x {what}" for what, count in sorted(self.disturbed.items()))
            or "undisturbed"
        )
        verdict = (
            f"{len(self.differences)} DIFFERENCES: {self.differences[:3]}"
            if self.differences
            else "no difference"
        )
        return f"round {self.number}: {how}; {self.starts} starts, {self.seconds:.0f} s: {verdict}"


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

    def runs(self) -> list[int]:
        """The processes that make records in the copy, whoever started them."""
        return [
            pid
            for pid, line in _processes(self.copy)
            if "workflow.run" in line and "bash" not in line.split("\0")[0]
        ]

    def clear(self) -> None:
        """Start from nothing but the prepared data."""
        for name in MADE:
            shutil.rmtree(self.copy / name, ignore_errors=True)

    def traces(self) -> dict[str, str]:
        """The hash of every record, each of which is verified."""
        found = sorted((self.copy / "results").rglob("*.parquet"))
        return {
            str(path.relative_to(self.copy)): str(record.read(path).header["trace_sha256"])
            for path in found
        }

    def litter(self) -> list[str]:
        """What should not be there at the end: leases, notes of failures, halves, what was set
        aside.
        """
        files = [path for path in (self.copy / "results").rglob("*") if path.is_file()]
        return [
            str(path.relative_to(self.copy))
            for path in files
            if path.suffix not in (".parquet", ".json")
        ]

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        return {
            "NOREGRET_SUBSTITUTES": "preferred",
            **os.environ,
            **alone,
            "PATH": path,
            "PYTHONPATH": str(self.copy),
        }


def _processes(folder: Path) -> Iterator[tuple[int, str]]:
    """Ids and command lines of the processes whose working directory is `folder`."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if Path(os.readlink(place / "cwd")) == folder:  # noqa: PTH115, it may have been removed
                yield int(place.name), (place / "cmdline").read_text(encoding="utf-8")


def disturb(flow: Workflow, draw: random.Random) -> str:
    """Do something to a running workflow; says what."""
    process = flow.process
    if process is None:
        raise RuntimeError("expected a workflow that runs")
    runs = flow.runs()
    what = draw.choice(
        ["run killed"] * bool(runs) + ["snakemake killed", "all killed", "Ctrl-C", "SIGTERM"]
    )
    with suppress(ProcessLookupError):
        if what == "run killed":
            os.kill(draw.choice(runs), signal.SIGKILL)
        elif what == "snakemake killed":
            process.kill()
        elif what == "all killed":
            os.killpg(process.pid, signal.SIGKILL)
        elif what == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.terminate()
    return what


def disturbed_round(
    flow: Workflow,
    number: int,
    expected: dict[str, str],
    usual: float,
    kills: int,
    draw: random.Random,
) -> Round:
    """One round of about `kills` disturbances at random moments of `usual` seconds."""
    flow.clear()
    found, began = Round(number), time.monotonic()
    process = flow.start()
    found.starts = 1
    most = 2 * usual / (kills + 1)  # between two disturbances: the first comes before the end
    following = draw.uniform(0, most)
    while True:
        try:
            ended = process.wait(
                timeout=following if sum(found.disturbed.values()) < kills else None
            )
        except subprocess.TimeoutExpired:
            what = disturb(flow, draw)
            found.disturbed[what] = found.disturbed.get(what, 0) + 1
            following = draw.uniform(0, most)
            continue
        if ended == 0:
            break
        if found.starts == ATTEMPTS:
            found.differences.append(
                f"not done after {ATTEMPTS} starts: see {flow.copy / 'soak.log'}"
            )
            break
        time.sleep(draw.random() * 2)  # or at once: what Snakemake had started may go on
        process = flow.start()
        found.starts += 1
    while flow.runs():  # of a workflow that was killed, after a later one had made everything
        time.sleep(REST)
    made = flow.traces()
    found.differences += [
        f"{path}: {made.get(path)} instead of {trace}"
        for path, trace in expected.items()
        if made.get(path) != trace
    ]
    found.differences += [
        f"{path}: not expected" for path in [*(set(made) - set(expected)), *flow.litter()]
    ]
    found.seconds = time.monotonic() - began
    return found


def prepared(folder: Path, command: list[str]) -> Workflow:
    """A copy of the project's code as it is now."""
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
    return Workflow(copy, command)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description="Kill at random, resume, compare."
    )
    parser.add_argument(
        "folder",
        type=Path,
        help="for a copy of the project, which is kept: a second call goes on with more rounds",
    )
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--kills", type=int, default=4, help="disturbances a round")
    parser.add_argument("--scale", default="smoke")
    parser.add_argument("--papers", default="", help="default: all")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the disturbances; round k draws from SEED and k"
    )
    parser.add_argument(
        "--records", action="store_true", help="make the records alone, no figures and verdicts"
    )
    options = parser.parse_args(arguments)
    command = [sys.executable, "-m", "snakemake", "--cores", str(options.cores)]
    command += ["--until", "run", "study"] if options.records else []
    command += [
        "--config",
        f"scale={options.scale}",
        *([f"papers={options.papers}"] if options.papers else []),
    ]
    flow = prepared(options.folder, command)
    log = options.folder / "soak.jsonl"
    done = (
        [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        if log.exists()
        else []
    )
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
    for number in range(len(done), len(done) + options.times):
        draw = random.Random(f"{options.seed} {number}")
        found = disturbed_round(flow, number, expected, usual, options.kills, draw)
        failed += bool(found.differences)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**asdict(found), "records": len(expected)}) + "\n")
        print(found, flush=True)
    print(f"{options.times} rounds of {len(expected)} records: {failed} with differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
