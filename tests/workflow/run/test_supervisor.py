"""A run that hangs or dies: its parent lives, says what happened and goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.faults import steep
from tests.workflow import checkout, supervised
from workflow.plan import expand
from workflow.run import make
from workflow.trace import record


@pytest.fixture
def copy(tmp_path):
    """copy(fault, timeout) -> a checkout with that fault and so many seconds an evaluation."""

    def make(fault, timeout=5):
        copy = steep.make(tmp_path)
        checkout.edit(copy / "papers" / "steep.yaml", "room: 1", f"room: 1, timeout: {timeout}")
        (copy / "fault").write_text(fault)
        return copy

    return make


def test_a_simulator_that_hangs_is_a_result_and_the_other_seeds_are_made(copy):
    """Here it keeps the interpreter's lock; other ways to hang are misdeeds of tests/faults."""
    checked_out = copy("lock 1 5")
    found = checkout.succeed(checked_out, *steep.RUN)
    said = "an evaluation took more than 5 s, which ended this run and is its result"
    assert said in found.stderr
    # with the line in which it hung
    assert "Timeout (0:00:05)!" in found.stderr and "hill.py" in found.stderr
    folder = checked_out / steep.FOLDER
    assert sorted(path.name for path in folder.iterdir()) == ["0.parquet", "1.parquet", "2.parquet"]
    headers = [record.read(path).header for path in sorted(folder.iterdir())]
    assert [header["status"] for header in headers] == ["complete", "timeout", "complete"]
    assert [header["rows"] for header in headers] == [steep.BUDGET, 4, steep.BUDGET]
    assert (headers[1]["timeout"]["seconds"], headers[1]["timeout"]["after"]) == (5, 4)
    before = (folder / "1.parquet").stat()
    checkout.succeed(checked_out, *steep.RUN)
    assert (folder / "1.parquet").stat().st_ino == before.st_ino  # not tried again by itself


def test_a_limit_is_no_part_of_what_a_record_is_of(copy):
    checked_out = copy("")
    checkout.succeed(checked_out, *steep.RUN)
    before = steep.inodes(checked_out)
    checkout.edit(checked_out / "papers" / "steep.yaml", "timeout: 5", "timeout: 7.5")
    checkout.succeed(checked_out, *steep.RUN)
    assert steep.inodes(checked_out) == before


@pytest.mark.slow
def test_where_the_initial_design_hangs_no_run_on_it_begins_and_the_report_says_so(copy):
    checked_out = copy("hang 1 2")
    checkout.made(checked_out)
    header = record.read(checked_out / steep.FOLDER / "1.parquet").header
    assert (header["status"], header["rows"], header["timeout"]["after"]) == ("timeout", 0, 0)
    verdicts = checked_out / "figures" / "smoke" / "steep" / "verdicts.json"
    (verdict,) = json.loads(verdicts.read_text())["claims"]
    assert verdict["verdict"] == "not decided"
    assert any("took too long" in reason for reason in verdict["reasons"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_parent_that_is_ended_takes_its_child_with_it(copy, number):
    checked_out = copy("lock 0 5", timeout=600)
    with steep.started(checked_out, *steep.RUN) as running:
        steep.until((checked_out / steep.FOLDER / "0.running").exists)
        (child,) = steep.until(lambda: children(running.pid))
        time.sleep(1)
        os.kill(running.pid, number)
        assert running.wait(600) == (-9 if number == signal.SIGKILL else 143)
        steep.until(lambda: not Path(f"/proc/{child}").exists() or state(child) == "Z")
    left = [path.name for path in (checked_out / steep.FOLDER).iterdir()]
    assert left == (["0.running"] if number == signal.SIGKILL else [])


ENDED = """
import os, signal, sys, time
from workflow.run import supervisor
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGTERM))
supervisor._compute = lambda *_: time.sleep(3600)
supervisor._run(None, None, None)
"""


def test_a_signal_that_comes_while_a_process_is_forked_is_not_lost():
    """Python loses what is raised there; the parent would wait for its child."""
    root = {"PYTHONPATH": str(checkout.ROOT)}
    command, environment = [sys.executable, "-c", ENDED], {**os.environ, **root}
    found = subprocess.run(command, env=environment, check=False, timeout=600)
    assert found.returncode == 143


def test_the_peak_of_a_run_is_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    curve = expand.load("dumbo", "smoke").curve("six-hump-camel", "random-search")
    real = make._step

    def step(curve, seed, *others):
        if seed == 0:
            np.ones(200 << 17)  # 200 MiB
        real(curve, seed, *others)

    monkeypatch.setattr(make, "_step", step)
    supervised.make(*(supervised.run(curve, seed) for seed in (0, 1)))
    first, second = (record.read(curve.record(seed)).header["peak_mib"] for seed in (0, 1))
    assert 0 < second < first - 100


def children(pid):
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in found.read_text().split()]


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
