"""An evaluation that hangs ends its run, which is then its result; a suspended process has not
spent its time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from algorithms.api import Box, Observation
from problems.api import Evaluation, Problem
from tests.workflow import checkout
from workflow.run import lease, watchdog
from workflow.run.watchdog import Watchdog
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


def problem(evaluate):
    def both(query, rng):
        evaluate()
        seen = Observation(query.sum(axis=1), np.empty((len(query), 0)), np.empty((len(query), 0)))
        return Evaluation(seen, seen, np.zeros(len(query)))

    return Problem(Box(2), both)


def evaluate(guarded, times=1):
    for _ in range(times):
        guarded.evaluate(np.full((1, 2), 0.5), np.random.default_rng(0))


def test_many_short_evaluations_are_no_long_one():
    expired = []
    with Watchdog(0.2, expired.append, anew=lambda: None) as dog:
        evaluate(dog.guarded(problem(lambda: time.sleep(0.02))), times=30)
        time.sleep(0.4)  # of the optimizer
    assert not expired


def test_the_query_that_takes_too_long_is_told_while_it_still_hangs():
    told, expired = [], []
    with Watchdog(0.2, expired.append, anew=lambda: told.append(len(done))) as dog:
        done = []
        evaluate(dog.guarded(problem(lambda: (time.sleep(1), done.append(1)))))
    assert told == [0]
    np.testing.assert_array_equal(expired[0], [[0.5, 0.5]])


def test_time_in_which_the_watchdog_itself_stood_still_is_not_counted(monkeypatch):
    """So is a process that its cluster or its user suspends."""
    expired, clock = [], iter(np.arange(1000) * 3600.0)
    monkeypatch.setattr(watchdog.time, "monotonic", lambda: next(clock))
    with Watchdog(2.5, expired.append, anew=lambda: None) as dog:
        evaluate(dog.guarded(problem(lambda: dog._ended.wait(1.2))))
    assert not expired


def test_watching_costs_next_to_nothing():
    with Watchdog(60, lambda query: None) as dog:
        plain = problem(lambda: None)
        guarded = dog.guarded(plain)
        took = []
        for each in (plain, guarded):
            began = time.process_time()
            evaluate(each, times=2000)
            took.append(time.process_time() - began)
    assert took[1] - took[0] < 2000 * 1e-4  # 1 us each


@pytest.fixture
def copy(tmp_path):
    def make(how, at):
        copy = checkout.make(tmp_path)
        (copy / "problems" / "hanging.py").write_text(HANGING)
        (copy / "papers" / "mini.yaml").write_text(PAPER.replace("HOW", how).replace("AT", str(at)))
        return copy

    return make


@pytest.mark.parametrize("how", ["python", "compiled", "program"])
def test_a_simulator_that_hangs_is_a_result_and_the_other_seeds_are_made(copy, how):
    checked_out = copy(how, 5)
    marker = checked_out / "made.json"
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
    assert verdict["verdict"] == "undecided"
    assert any("took too long" in reason for reason in verdict["reasons"])


def test_a_run_that_is_suspended_has_not_timed_out(copy, tmp_path):
    checked_out = copy("program", 99)
    slow = (
        (checked_out / "problems" / "hanging.py")
        .read_text()
        .replace("y = query.sum", "time.sleep(0.2)\n        y = query.sum")
    )
    (checked_out / "problems" / "hanging.py").write_text(slow)
    command = [
        sys.executable,
        "-m",
        "workflow.run",
        "mini",
        "p",
        "uniform",
        "0",
        "--scale",
        "smoke",
    ]
    running = subprocess.Popen(
        command, cwd=checked_out, env=checkout.offline(checked_out), stderr=subprocess.PIPE
    )
    path = checked_out / "results" / "smoke" / "mini" / "p" / "uniform" / "0.parquet"
    end = time.monotonic() + 30
    while lease.owner(lease.running(path)) is None and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.3)
    os.kill(running.pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(running.pid, signal.SIGCONT)
    assert running.wait() == 0, running.stderr.read()
    running.stderr.close()
    assert record.read(path).header["status"] == "complete"
