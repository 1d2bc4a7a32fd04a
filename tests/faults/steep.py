"""A checkout whose one problem does what the file `fault` in it says: evaluations wait or hang.

The file is no part of the code or the parameters: once it is gone, the same command makes what it
would have made.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.workflow import checkout
from workflow.trace import record

SEEDS, BUDGET = 3, 12
PAPER = f"""
paper: {{key: steep, title: A hill, venue: nowhere}}
scales: {{smoke: {{}}, short: {{}}, paper: {{}}}}
seeds: {SEEDS}
problems:
  hill: {{is: hill.hill, d: 2, noise: 0.1, seed: seed, budget: {BUDGET}, room: 1,
    init: {{design: uniform, n: 2}}}}
algorithms:
  uniform: {{is: random_search.RandomSearch}}
runs: [{{}}]
figures:
  - {{id: best, title: Best, metric: simple_regret, curves: [uniform], panels: [{{problem: hill,
       title: A}}]}}
claims:
  - {{id: small, where: nowhere, says: Regret is small,
     check: {{test: less, metric: simple_regret, left: [uniform], right: 3}}}}
"""
PROBLEM = '''
"""A hill in the unit cube, and the faults that the file `fault` asks for, one a line:
KIND [SEED [EVALUATION]].
"""

import ctypes
import time
from pathlib import Path

import numpy as np

from algorithms.api import Box, Observation
from problems.api import Evaluation, Problem


def hill(instance, *, d, noise, seed):
    top = instance.random(d)
    done = [0]

    def evaluate(query, rng):
        y = -np.sum((query - top) ** 2, axis=1)
        seen = y + noise * rng.standard_normal(len(query))
        done[0] += 1
        if Path("fault").exists():
            for line in Path("fault").read_text().splitlines():
                stopped(done[0], seed, line.split())
        return Evaluation(Observation.of(seen), Observation.of(y), np.zeros(len(query)))

    return Problem(domain=Box(d), evaluate=evaluate, best=0.0, best_at=top[None])


def stopped(number, seed, fault):
    kind, which, when = [*fault, *["0", "5"][len(fault) - 1 :]]
    if int(which) != seed or number != int(when):
        return
    while kind == "wait" and Path("fault").exists():
        time.sleep(0.05)
    while kind == "hang":
        pass
    if kind == "lock":
        ctypes.PyDLL(None).sleep(600)  # no other thread of this interpreter does anything
'''
FOLDER = Path("results", "smoke", "steep", "hill", "uniform")
RECORDS = tuple(str(FOLDER / f"{seed}.parquet") for seed in range(SEEDS))
RUN = ("workflow.run", "steep", "hill", "uniform", f"0-{SEEDS - 1}", "--scale", "smoke")


def make(folder):
    """A copy of the repository with this paper alone."""
    copy = checkout.make(folder)
    (copy / "papers" / "mini.yaml").unlink()
    (copy / "papers" / "steep.yaml").write_text(PAPER)
    (copy / "problems" / "hill.py").write_text(PROBLEM)
    return copy


def traces(copy, folder=FOLDER):
    """The trace of every record of the runs, verified; what lies beside them is not read."""
    return {
        path.name: record.read(path).header["trace_sha256"]
        for path in sorted((copy / folder).glob("*.parquet"))
    }


def inodes(copy):
    """Which file each record is; the store may hand out the same one again."""
    return {path.name: path.stat().st_ino for path in sorted((copy / FOLDER).glob("*.parquet"))}


def forget(copy, seed):
    """Remove the record of a seed, from the store, too."""
    for path in (copy / FOLDER, *(copy / "results" / "store").iterdir()):
        (path / f"{seed}.parquet").unlink(missing_ok=True)


def beside(copy):
    """The names of all that is left beside records, hidden files among them."""
    return {
        path.name for path in (copy / FOLDER).iterdir() if path.suffix not in (".parquet", ".json")
    }


def run(copy, *more):
    """All seeds, by `workflow.run`."""
    return checkout.run(copy, *RUN, *more)


def is_undisturbed(copy, expected, kept):
    """The same records as ever, those of `kept` untouched, and nothing beside them."""
    assert traces(copy) == expected
    assert {name: inodes(copy)[name] for name in kept} == kept
    assert beside(copy) == set()


def finish(copy, expected, kept):
    """The same command once more makes what is missing, and nothing else."""
    checkout.succeed(copy, *RUN)
    is_undisturbed(copy, expected, kept)


def made(copy):
    """All seeds, by the workflow, which has to end well."""
    return checkout.made(copy, *RECORDS)


def command(*arguments):
    """The arguments of `python -m` that make all seeds by the workflow."""
    return ("snakemake", "--cores", "2", *RECORDS, *arguments, "--config", "scale=smoke")


@contextlib.contextmanager
def started(copy, *arguments):
    """`python -m ARGUMENTS` in a process group that hears Ctrl-C; what is left of it is ended."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    how |= {"start_new_session": True, "preexec_fn": hear_interrupts}
    command = [sys.executable, "-m", *arguments]
    process = subprocess.Popen(command, cwd=copy, env=checkout.offline(copy), **how)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def hear_interrupts():
    """What a script starts in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def runners(copy):
    """The processes that answer for records here now; children have the same command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if (
                (entry / "cwd").readlink() == copy.resolve()
                and b"workflow.run" in words
                and b"steep" in words
            ):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                found[int(entry.name)] = int(fields[1])
    return [pid for pid, parent in found.items() if parent not in found]


def until(what, seconds=600.0):
    """What something is once it is true."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found
