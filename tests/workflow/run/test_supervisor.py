"""A run that hangs, dies or is suspended: its parent lives, says what happened and goes on."""

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

from algorithms.api import Box
from problems.api import Problem
from tests.workflow import checkout
from workflow.run import lease, supervisor
from workflow.run.guard import Guard
from workflow.run.pulse import Pulse
from workflow.run.supervisor import _Patience
from workflow.trace import record

HANGING = '''
"""A problem that hangs: `how` at the evaluations `at` of the seeds in `of`."""
import ctypes, subprocess, time
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
            elif how == "compiled":
                ctypes.CDLL(None).sleep(600)
            elif how == "locked":  # no other thread of this interpreter does anything
                ctypes.PyDLL(None).sleep(600)
            else:
                subprocess.run(["sleep", "600.125"], check=True)
        y = query.sum(axis=1)
        seen = Observation(y, np.empty((len(y), 0)), np.empty((len(y), 0)))
        return Evaluation(seen, seen, np.zeros(len(y)))

    return Problem(Box(2), evaluate, best=2.0)
'''
PAPER = """
paper: {key: hanging, title: A paper with a simulator that hangs, venue: nowhere}
scales: {smoke: {}, quick: {}, paper: {}}
seeds: 3
problems:
  p: {is: hanging.hang, how: HOW, at: AT, seed: seed, of: [1], budget: 9, room: 1, timeout: 1,
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


def spent(pulse, times, seconds=2.0, pid=0):
    """What is said of an evaluation that is looked at at these times."""
    clock = iter([0.0, *times])
    supervisor.time.monotonic, real = lambda: next(clock), time.monotonic
    try:
        patience = _Patience(seconds, pulse)
        return [patience.expired(pid) for _ in times]
    finally:
        supervisor.time.monotonic = real


def test_an_evaluation_that_takes_longer_than_its_limit_is_named_by_its_number():
    pulse = Pulse()
    pulse.begin(7)
    assert _Patience(2.0, pulse).poll == 0.25
    found = spent(pulse, np.arange(1, 14) * 0.25)
    assert found == [None] * 9 + [7] * 4  # 9 quarters of a second after it was first seen


def test_many_short_evaluations_are_no_long_one():
    pulse, patience = Pulse(), None
    patience = _Patience(0.05, pulse)
    for number in range(30):
        pulse.begin(number)
        assert patience.expired(0) is None
        time.sleep(0.01)
        pulse.end()
    assert patience.expired(0) is None
    time.sleep(0.2)  # of the optimizer
    assert patience.expired(0) is None and patience.expired(0) is None


def test_time_in_which_the_supervisor_itself_stood_still_is_not_counted():
    """So is a process that its cluster or its user suspends, or a machine that sleeps."""
    pulse = Pulse()
    pulse.begin(0)
    assert spent(pulse, np.arange(1, 6) * 3600.0) == [None] * 5


def test_time_in_which_the_child_stood_still_is_not_counted():
    pulse = Pulse()
    pulse.begin(0)
    stopped = subprocess.Popen(["sleep", "60"])
    try:
        os.kill(stopped.pid, signal.SIGSTOP)
        end = time.monotonic() + 10
        while not supervisor._stands_still(stopped.pid) and time.monotonic() < end:
            time.sleep(0.01)
        times = np.arange(1, 20) * 0.25
        assert spent(pulse, times, pid=stopped.pid) == [None] * 19
        assert spent(pulse, times, pid=os.getpid())[-1] == 0
    finally:
        stopped.kill()
        stopped.wait()


def test_watching_costs_next_to_nothing():
    """Announcing an evaluation, and putting its surroundings back: microseconds."""

    def evaluate(query, rng):
        return None

    plain = Problem(Box(2), evaluate)
    guarded = Guard(0).guarded(plain)
    took = []
    for each in (plain, guarded):
        began = time.process_time()
        for _ in range(2000):
            each.evaluate(np.full((1, 2), 0.5), None)
        took.append(time.process_time() - began)
    assert took[1] - took[0] < 2000 * 2e-4  # 0.02 ms each


@pytest.fixture
def copy(tmp_path):
    def make(how, at):
        copy = checkout.make(tmp_path)
        (copy / "problems" / "hanging.py").write_text(HANGING)
        (copy / "papers" / "mini.yaml").write_text(PAPER.replace("HOW", how).replace("AT", str(at)))
        return copy

    return make


@pytest.mark.parametrize("how", ["python", "compiled", "locked", "program"])
def test_a_simulator_that_hangs_is_a_result_and_the_other_seeds_are_made(copy, how):
    checked_out = copy(how, 5)
    marker = checked_out / "made.json"
    began = time.monotonic()
    found = checkout.run(
        checked_out,
        "workflow.run",
        "mini",
        "p",
        "uniform",
        "0-2",
        "--scale",
        "smoke",
        "--marker",
        str(marker),
    )
    assert found.returncode == 0, found.stderr
    assert time.monotonic() - began < 30  # three starts of Python and 1 s
    assert (
        "an evaluation took more than 1 s, which ended this run and is its result" in found.stderr
    )
    folder = checked_out / "results" / "smoke" / "mini" / "p" / "uniform"
    assert sorted(path.name for path in folder.iterdir()) == ["0.parquet", "1.parquet", "2.parquet"]
    headers = [record.read(path).header for path in sorted(folder.iterdir())]
    assert [header["status"] for header in headers] == ["complete", "timeout", "complete"]
    assert [header["rows"] for header in headers] == [9, 4, 9]
    assert (headers[1]["timeout"]["seconds"], headers[1]["timeout"]["after"]) == (1, 4)
    assert json.loads(marker.read_text())["timeouts"] == 1
    before = (folder / "1.parquet").stat()
    again = checkout.run(
        checked_out, "workflow.run", "mini", "p", "uniform", "0-2", "--scale", "smoke"
    )
    # it is not tried again by itself
    assert again.returncode == 0 and (folder / "1.parquet").stat().st_ino == before.st_ino
    if how == "program":
        assert (
            "600.125"
            not in subprocess.run(["ps", "ax"], capture_output=True, text=True, check=True).stdout
        )


def test_a_limit_is_no_part_of_what_a_record_is_of(copy):
    checked_out = copy("python", 5)
    run = ("workflow.run", "mini", "p", "uniform", "0", "--scale", "smoke")
    assert checkout.run(checked_out, *run).returncode == 0
    path = checked_out / "results" / "smoke" / "mini" / "p" / "uniform" / "0.parquet"
    before = path.stat().st_ino
    paper = checked_out / "papers" / "mini.yaml"
    paper.write_text(paper.read_text().replace("timeout: 1", "timeout: 7.5"))
    assert checkout.run(checked_out, *run).returncode == 0
    assert path.stat().st_ino == before


def test_where_the_initial_design_hangs_no_run_on_it_begins_and_the_report_says_so(copy):
    checked_out = copy("python", 2)
    made = checkout.snakemake(checked_out)
    assert made.returncode == 0, made.stderr + made.stdout
    folder = checked_out / "results" / "smoke" / "mini" / "p"
    for part in ("initial", "uniform"):
        header = record.read(folder / part / "1.parquet").header
        assert (header["status"], header["rows"], header["timeout"]["after"]) == ("timeout", 0, 0)
    (verdict,) = json.loads(
        (checked_out / "figures" / "smoke" / "mini" / "verdicts.json").read_text()
    )["claims"]
    assert verdict["verdict"] == "not decided"
    assert any("took too long" in reason for reason in verdict["reasons"])


@pytest.mark.parametrize("who", ["parent", "child", "both", "Ctrl-Z"])
def test_a_run_that_is_suspended_has_not_timed_out(copy, who):
    checked_out = copy("program", 99)
    slow = (
        (checked_out / "problems" / "hanging.py")
        .read_text()
        .replace("y = query.sum", "time.sleep(0.2)\n        y = query.sum")
    )
    (checked_out / "problems" / "hanging.py").write_text(slow)
    path = checked_out / "results" / "smoke" / "mini" / "p" / "uniform" / "0.parquet"
    with started(checked_out) as running:
        (child,) = until(lambda: children(running.pid))
        until(lambda: lease.owner(lease.running(path)))
        time.sleep(0.3)
        chosen = {"parent": [running.pid], "child": [child], "both": [running.pid, child]}
        stop = signal.SIGTSTP if who == "Ctrl-Z" else signal.SIGSTOP
        for pid in chosen.get(who, [running.pid]):
            os.kill(pid, stop)
        until(lambda: supervisor._stands_still(child if who != "parent" else running.pid))
        time.sleep(3)
        for pid in reversed(chosen.get(who, [running.pid])):
            os.kill(pid, signal.SIGCONT)
        assert running.wait(60) == 0, running.stderr.read()
    assert record.read(path).header["status"] == "complete"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_parent_that_is_ended_takes_its_child_with_it(copy, number):
    checked_out = copy("locked", 5)
    (checked_out / "papers" / "mini.yaml").write_text(
        PAPER.replace("HOW, at: AT", "locked, at: 5")
        .replace("of: [1]", "of: [0]")
        .replace("timeout: 1", "timeout: 600")
    )
    with started(checked_out) as running:
        (child,) = until(lambda: children(running.pid))
        time.sleep(1)
        os.kill(running.pid, number)
        assert running.wait(30) == (-9 if number == signal.SIGKILL else 143)
        until(lambda: not Path(f"/proc/{child}").exists() or state(child) == "Z")
    left = sorted(path.name for path in checked_out.glob("results/smoke/mini/p/uniform/*"))
    assert left == (["0.running"] if number == signal.SIGKILL else [])


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
    end = time.monotonic() + 30
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found
