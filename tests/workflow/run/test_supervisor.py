"""A run that hangs or dies: its parent lives, says what happened and goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.workflow import checkout, supervised
from workflow.plan import expand
from workflow.run import make
from workflow.trace import record

HANGING = '''
"""A problem that hangs: `how` at the evaluations `at` of the seeds in `of`."""
import ctypes
import numpy as np
from algorithms.api import Box, Observation
from problems.api import Evaluation, Problem


def hang(rng, *, how, at, seed, of):
    count = 0

    def evaluate(query, noise):
        nonlocal count
        count += 1
        if count == at and seed in of:
            if how == "python":
                while True:
                    pass
            ctypes.PyDLL(None).sleep(600)  # no other thread of this interpreter does anything
        y = query.sum(axis=1)
        seen = Observation(y, np.empty((len(y), 0)), np.empty((len(y), 0)))
        return Evaluation(seen, seen, np.zeros(len(y)))

    return Problem(Box(2), evaluate, best=2.0)
'''
PAPER = """
paper: {key: hanging, title: A paper with a simulator that hangs, venue: nowhere}
scales: {smoke: {}, short: {}, paper: {}}
seeds: 3
problems:
  p: {is: hanging.hang, how: HOW, at: AT, seed: seed, of: [1], budget: 9, room: 1, timeout: 5,
    init: {design: uniform, n: 3}}
algorithms:
  uniform: {is: random_search.RandomSearch}
runs: [{}]
figures:
  - {id: regret, title: Regret, metric: simple_regret, curves: [uniform], panels: [{problem: p,
       title: P}]}
claims:
  - {id: small, where: nowhere, says: Regret is small,
     check: {test: less, metric: simple_regret, left: [uniform], right: 3}}
"""


@pytest.fixture
def copy(tmp_path):
    def make(how, at):
        copy = checkout.make(tmp_path)
        (copy / "problems" / "hanging.py").write_text(HANGING)
        (copy / "papers" / "mini.yaml").write_text(PAPER.replace("HOW", how).replace("AT", str(at)))
        return copy

    return make


RUN = ("workflow.run", "mini", "p", "uniform")


def test_a_simulator_that_hangs_is_a_result_and_the_other_seeds_are_made(copy):
    """Here it keeps the interpreter's lock; other ways to hang are misdeeds of tests/faults."""
    checked_out = copy("locked", 5)
    found = checkout.run(checked_out, *RUN, "0-2", "--scale", "smoke")
    assert found.returncode == 0, found.stderr
    said = "an evaluation took more than 5 s, which ended this run and is its result"
    assert said in found.stderr
    folder = checked_out / "results" / "smoke" / "mini" / "p" / "uniform"
    assert sorted(path.name for path in folder.iterdir()) == ["0.parquet", "1.parquet", "2.parquet"]
    headers = [record.read(path).header for path in sorted(folder.iterdir())]
    assert [header["status"] for header in headers] == ["complete", "timeout", "complete"]
    assert [header["rows"] for header in headers] == [9, 4, 9]
    assert (headers[1]["timeout"]["seconds"], headers[1]["timeout"]["after"]) == (5, 4)
    before = (folder / "1.parquet").stat()
    again = checkout.run(checked_out, *RUN, "0-2", "--scale", "smoke")
    # it is not tried again by itself
    assert again.returncode == 0 and (folder / "1.parquet").stat().st_ino == before.st_ino


def test_a_limit_is_no_part_of_what_a_record_is_of(copy):
    checked_out = copy("python", 5)
    run = (*RUN, "0", "--scale", "smoke")
    assert checkout.run(checked_out, *run).returncode == 0
    path = checked_out / "results" / "smoke" / "mini" / "p" / "uniform" / "0.parquet"
    before = path.stat().st_ino
    paper = checked_out / "papers" / "mini.yaml"
    paper.write_text(paper.read_text().replace("timeout: 5", "timeout: 7.5"))
    assert checkout.run(checked_out, *run).returncode == 0
    assert path.stat().st_ino == before


@pytest.mark.slow
def test_where_the_initial_design_hangs_no_run_on_it_begins_and_the_report_says_so(copy):
    checked_out = copy("python", 2)
    made = checkout.snakemake(checked_out)
    assert made.returncode == 0, made.stderr + made.stdout
    folder = checked_out / "results" / "smoke" / "mini" / "p"
    header = record.read(folder / "uniform" / "1.parquet").header
    assert (header["status"], header["rows"], header["timeout"]["after"]) == ("timeout", 0, 0)
    (verdict,) = json.loads(
        (checked_out / "figures" / "smoke" / "mini" / "verdicts.json").read_text()
    )["claims"]
    assert verdict["verdict"] == "not decided"
    assert any("took too long" in reason for reason in verdict["reasons"])


@pytest.mark.slow
def test_what_ends_an_evaluation_is_told_with_the_line_in_which_it_hung(copy):
    checked_out = copy("python", 5)
    command = ("workflow.run", "mini", "p", "uniform", "1", "--scale", "smoke")
    found = checkout.run(checked_out, *command)
    assert found.returncode == 0, found.stderr
    assert "Timeout (0:00:05)!" in found.stderr and "hanging.py" in found.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_parent_that_is_ended_takes_its_child_with_it(copy, number):
    checked_out = copy("locked", 5)
    (checked_out / "papers" / "mini.yaml").write_text(
        PAPER.replace("HOW, at: AT", "locked, at: 5")
        .replace("of: [1]", "of: [0]")
        .replace("timeout: 5", "timeout: 600")
    )
    with started(checked_out) as running:
        until((checked_out / "results/smoke/mini/p/uniform/0.running").exists)
        (child,) = until(lambda: children(running.pid))
        time.sleep(1)
        os.kill(running.pid, number)
        assert running.wait(600) == (-9 if number == signal.SIGKILL else 143)
        until(lambda: not Path(f"/proc/{child}").exists() or state(child) == "Z")
    left = sorted(path.name for path in checked_out.glob("results/smoke/mini/p/uniform/*"))
    assert left == (["0.running"] if number == signal.SIGKILL else [])


ENDED = """
import os, signal, sys, time
from workflow.run import supervisor
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGTERM))
supervisor._compute = lambda *_: time.sleep(3600)
supervisor._run(None, None, None, None)
"""


def test_a_signal_that_comes_while_a_process_is_forked_is_not_lost():
    """Python loses what is raised there; the parent would wait for its child."""
    root = {"PYTHONPATH": str(checkout.ROOT)}
    found = subprocess.run(
        [sys.executable, "-c", ENDED], env={**os.environ, **root}, check=False, timeout=600
    )
    assert found.returncode == 143


def test_the_peak_of_a_run_is_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cell = expand.load("dumbo", "smoke").cell("six-hump-camel", "random-search")
    real = make._step

    def step(cell, seed, *others):
        if seed == 0:
            np.ones(200 << 17)  # 200 MiB
        real(cell, seed, *others)

    monkeypatch.setattr(make, "_step", step)
    supervised.make(*(supervised.run(cell, seed) for seed in (0, 1)))
    first, second = (record.read(cell.record(seed)).header["peak_mib"] for seed in (0, 1))
    assert 0 < second < first - 100


@contextmanager
def started(folder):
    """The run of seed 0 in a checkout; ended at the latest when the test is."""
    command = ["workflow.run", "mini", "p", "uniform", "0", "--scale", "smoke"]
    running = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=checkout.offline(folder),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield running
    finally:
        running.kill()
        running.wait()
        running.stderr.close()


def children(pid):
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in found.read_text().split()]


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def until(what):
    """What something is once it is true."""
    end = time.monotonic() + 600
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found
