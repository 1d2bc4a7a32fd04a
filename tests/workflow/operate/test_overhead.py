"""What starting costs beside the runs: from the lists of records and from what Snakemake itself has
written down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow import checkout
from workflow.operate import overhead
from workflow.operate.overhead import Overhead
from workflow.run import spent
from workflow.trace import listing

ROOT = Path(__file__).resolve().parents[3]


def write(path, **values):
    path.write_text(json.dumps(values))
    return path


def test_what_is_no_work_is_overhead_jobs_and_snakemake_together(tmp_path):
    markers = [
        write(tmp_path / "a", cpu_seconds=10.0, work_seconds=8.0),
        write(tmp_path / "b", cpu_seconds=5.0, work_seconds=4.0),
    ]
    log = tmp_path / "log"
    log.write_text('{"cpu_seconds": 1.5}\n{"cpu_seconds": 3.5}\n{"cpu_sec')  # the last one was cut
    found = overhead.measured(map(listing.text, markers), [log, tmp_path / "another"])
    assert found == Overhead(2, 15.0, 12.0, 5.0)
    assert found.share == pytest.approx(8 / 20)
    assert str(found).startswith("overhead 40.0 % of 20 CPU seconds: 3 s in 2 jobs")


def test_lists_that_are_not_there_or_do_not_say_are_left_out(tmp_path):
    (tmp_path / "cut").write_text('{"cpu_seconds": 1')
    markers = [tmp_path / "none", tmp_path / "cut", write(tmp_path / "old", seeds="0-1")]
    found = overhead.measured(map(listing.text, markers), [])
    assert (found.jobs, found.share) == (0, 0.0)


def test_a_workflow_writes_down_what_it_cost_and_status_prints_the_share(tmp_path):
    copy = checkout.make(tmp_path)
    assert checkout.snakemake(copy).returncode == 0
    (line,) = spent.workflow_log("smoke", copy).read_text().splitlines()
    assert json.loads(line)["succeeded"] is True
    assert 0.5 < json.loads(line)["cpu_seconds"] < 60
    told = checkout.run(copy, "workflow.status", "--scale", "smoke")
    assert "overhead " in told.stdout and " CPU seconds: " in told.stdout
    found = json.loads(checkout.run(copy, "workflow.status", "--scale", "smoke", "--json").stdout)[
        "overhead"
    ]
    markers = [json.loads(path.read_text()) for path in (copy / "results").rglob("seeds-*.json")]
    assert found["jobs"] == len(markers) == 4  # of the initial designs, and one for each cell
    assert found["work"] == pytest.approx(sum(marker["work_seconds"] for marker in markers))
    assert found["snakemake"] == pytest.approx(json.loads(line)["cpu_seconds"])
    (copy / "papers" / "mini.yaml").write_text(
        checkout.MINI.replace("inclusion: per-pull", "inclusion: whatever")
    )
    assert checkout.snakemake(copy).returncode == 1
    assert (
        json.loads(spent.workflow_log("smoke", copy).read_text().splitlines()[-1])["succeeded"]
        is False
    )


BUSY = '''
"""A problem whose evaluations wait, or keep a program busy, for a while."""
import subprocess, sys, time
import numpy as np
from algorithms.api import Box, Observation
from problems.api import Evaluation, Problem

BURN = "import time\\nwhile time.process_time() < 0.3: pass"


def busy(instance, *, how):
    def evaluate(query, rng):
        if how == "waits":
            time.sleep(0.3)
        else:
            subprocess.run([sys.executable, "-c", BURN], check=True)
        shown = Observation.of(query.sum(axis=1))
        return Evaluation(shown, shown, np.zeros(len(query)))

    return Problem(Box(2), evaluate, best=2.0)
'''
PAPER = """
paper: {key: busy, title: A busy paper, venue: nowhere}
scales: {smoke: {}, quick: {}, paper: {}}
seeds: 1
problems:
  p: {is: busy.busy, how: HOW, budget: 6, room: 1, init: {design: uniform, n: 1}}
algorithms:
  uniform: {is: random_search.RandomSearch}
runs: [{}]
"""


@pytest.mark.parametrize("how", ["waits", "computes"])
def test_work_is_cpu_time_of_the_process_and_of_its_programs(tmp_path, how):
    """Wall time of an evaluation that waits is none; overhead was negative where it counted."""
    copy = checkout.make(tmp_path)
    (copy / "problems" / "busy.py").write_text(BUSY)
    (copy / "papers" / "busy.yaml").write_text(PAPER.replace("HOW", how))
    run = ("busy", "p", "uniform", "0", "--scale", "smoke", "--marker", "made.json")
    made = checkout.run(copy, "workflow.run", *run)
    assert made.returncode == 0, made.stderr
    found = overhead.measured([listing.text(copy / "made.json")], [])
    assert 0 < found.work < found.processes and 0 < found.share < 1
    if how == "waits":
        assert found.work < 0.3  # of 1.8 s that passed
    else:
        assert found.work > 6 * 0.3  # in programs that it started


def test_the_snakemakes_of_a_job_on_a_node_are_known_by_what_they_were_told_to_make(tmp_path):
    """One is our parent, another one is not, and a third makes something else; they work a little
    and wait.
    """
    work = "import time; sum(range(10**7)); print(flush=True); time.sleep(60)"
    asks = "from workflow.run import spent; print(spent.of_this_job())"
    ours = (
        "import subprocess, sys; sum(range(10**7)); subprocess.run([sys.executable, '-c',"
        f" {asks!r}])"
    )
    (tmp_path / "snakemake.py").write_text(
        f"import sys; exec({{'work': {work!r}, 'ours': {ours!r}}}[sys.argv[1]])"
    )

    def start(what, job):
        command = [sys.executable, "-m", "snakemake", what, "--target-jobs", job]
        return subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
            stdout=-1,
            text=True,
        )

    job, another = f"run:seeds={os.getpid()}", f"run:seeds={os.getpid()}-x"
    with start("work", job) as outer, start("work", another) as other:
        for process in (outer, other):
            process.stdout.readline()
        used = {process.pid: spent._seconds(process.pid) for process in (outer, other)}
        with start("ours", job) as inner:
            found = float(inner.stdout.read())
        for process in (outer, other):
            process.kill()
    assert used[outer.pid] > 0.05 and used[other.pid] > 0.05
    assert used[outer.pid] < found < 20 * used[outer.pid]
    assert spent.of_this_job() == 0
