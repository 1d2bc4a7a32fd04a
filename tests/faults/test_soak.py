"""What `benchmarks.soak` does to runs, and that it finds what is left: its word is worth no more
than these.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import yaml

from benchmarks import soak
from tests.faults import steep
from workflow.run import lease
from workflow.trace import record

pytestmark = pytest.mark.slow  # whole workflows, one after another

SECOND = steep.FOLDER / "1.parquet"


@pytest.fixture
def flow(empty, monkeypatch):
    """A workflow of one job in which evaluations can hang for two seconds; it waits in the second
    seed until the file `fault` is removed.
    """
    monkeypatch.setattr(soak, "TIMEOUT", 2.0)
    paper = empty / "papers" / "steep.yaml"
    paper.write_text(soak.hurry(paper.read_text()))
    (empty / "hang").mkdir()
    (empty / "hang" / "sitecustomize.py").write_text(soak.HANG)
    (empty / "fault").write_text("wait 1")
    made = soak.Workflow(empty, [sys.executable, "-m", *steep.RUN])
    yield made
    if made.process is not None and made.process.poll() is None:
        os.killpg(made.process.pid, signal.SIGKILL)
        made.process.wait()


def until_the_second_seed(flow):
    flow.start()
    steep.until(lambda: (flow.copy / SECOND).with_suffix(".running").exists())
    time.sleep(0.3)


def go_on(flow):
    """Nothing waits any more; the exit status of the workflow."""
    (flow.copy / "fault").unlink()
    assert flow.process is not None
    return flow.process.wait(timeout=600)


def is_as_if_nothing_had_happened(flow, expected):
    assert {name.rpartition("/")[2]: trace for name, trace in flow.traces().items()} == expected
    steep.until(lambda: flow.litter() == [])


def test_who_answers_for_a_run_is_told_apart_from_who_computes(flow):
    until_the_second_seed(flow)
    ((parent, children),) = flow.runs().items()
    assert parent == flow.process.pid and len(children) == 1
    assert os.getsid(children[0]) == children[0]  # there is no terminal that could stop it
    assert flow.busy("child stopped") == children and flow.busy("run stopped") == [parent]
    assert lease.owner((flow.copy / SECOND).with_suffix(".running")).pid == parent


def test_where_who_computes_crashes_one_seed_fails_and_the_next_is_made(flow, expected):
    until_the_second_seed(flow)
    assert soak.disturb(flow, random.Random(0), ["child abort"]) == "child abort"
    assert go_on(flow) == 1
    assert flow.litter() == []
    assert sorted(steep.traces(flow.copy)) == ["0.parquet", "2.parquet"]
    assert flow.start().wait(timeout=600) == 0
    is_as_if_nothing_had_happened(flow, expected)


def test_where_a_run_stands_still_for_a_while_nothing_differs(flow, expected):
    """The time counts as the evaluation's, which may take that long."""
    paper = flow.copy / "papers" / "steep.yaml"
    paper.write_text(paper.read_text().replace("timeout: 2.0", "timeout: 30.0"))
    until_the_second_seed(flow)
    for what in ("child stopped", "run stopped", "run Ctrl-Z"):
        assert soak.disturb(flow, random.Random(5), [what]) == what  # for 4.1 seconds
    assert go_on(flow) == 0
    is_as_if_nothing_had_happened(flow, expected)


def test_a_hang_that_keeps_the_lock_is_a_timeout_whose_record_is_made_again(flow, expected):
    until_the_second_seed(flow)
    assert soak.disturb(flow, random.Random(0), ["child hangs"]) == "child hangs"
    assert go_on(flow) == 0
    found = record.read(flow.copy / SECOND)
    assert found.header["status"] == "timeout" and 0 < found.rows < steep.BUDGET
    assert flow.remove_timeouts() == 1 and not (flow.copy / SECOND).exists()
    assert flow.start().wait(timeout=600) == 0
    assert flow.remove_timeouts() == 0
    is_as_if_nothing_had_happened(flow, expected)


def test_what_is_left_is_found(tmp_path):
    flow = soak.Workflow(tmp_path.resolve(), [])
    folder = tmp_path / "results" / "smoke" / "steep" / "hill" / "uniform"
    folder.mkdir(parents=True)
    for name in ("0.parquet", "0.running", ".2.parquet.x.part"):
        (folder / name).touch()
    sleeping = subprocess.Popen(["sleep", "60"], cwd=tmp_path)
    try:
        steep.until(lambda: "sleep" in flow.litter()[-1])
        assert flow.litter() == [
            *sorted(
                str((folder / name).relative_to(tmp_path))
                for name in (".2.parquet.x.part", "0.running")
            ),
            f"process {sleeping.pid}: sleep 60",
        ]
    finally:
        sleeping.kill()
        sleeping.wait()


def test_a_paper_in_a_hurry_is_the_same_paper():
    for path in soak.ROOT.glob("papers/*.yaml"):
        text = path.read_text(encoding="utf-8")
        before, after = yaml.safe_load(text), yaml.safe_load(soak.hurry(text))
        if "problems" in before:
            for problem in after["problems"].values():
                assert problem.pop("timeout") <= soak.TIMEOUT
            for problem in before["problems"].values():
                problem.pop("timeout", None)
        assert after == before, path
