"""Whoever is killed, by whatever signal: what was finished stays, and the same command makes the
rest, bit for bit.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.faults import steep

pytestmark = pytest.mark.slow  # whole workflows, one after another

LOG = Path("logs", "smoke", "steep", "hill", "uniform", "0-2.log")


def hold(copy):
    """In the second seed an evaluation waits until the file is removed."""
    (copy / "fault").write_text("wait 1")


def in_the_second_seed(copy):
    """Whether the first record is there and the second one is being made."""
    return (copy / steep.FOLDER / "0.parquet").exists() and (
        copy / steep.FOLDER / "1.running"
    ).exists()


def said(copy):
    """The log of the job; where two processes write it there may be holes."""
    return (copy / LOG).read_text(errors="replace") if (copy / LOG).exists() else ""


def is_as_if_nothing_had_happened(copy, expected, kept):
    """The same records as ever, those of `kept` untouched, and nothing beside them."""
    assert steep.traces(copy) == expected
    assert {name: steep.inodes(copy)[name] for name in kept} == kept
    assert steep.beside(copy) == set()
    assert all((copy / path).exists() for path in steep.RECORDS)


def test_a_run_that_is_killed_within_a_seed(empty, expected):
    hold(empty)
    with steep.started(empty, *steep.command()) as workflow:
        steep.until(lambda: in_the_second_seed(empty))
        kept = steep.inodes(empty)
        for runner in steep.runners(empty):
            os.kill(runner, signal.SIGKILL)
        output, _ = workflow.communicate(timeout=600)
    assert workflow.returncode == 1
    assert "job execution failed" in output
    assert list(kept) == ["0.parquet"]
    (empty / "fault").unlink()
    again = steep.snakemake(empty)
    assert again.returncode == 0, again.stderr
    is_as_if_nothing_had_happened(empty, expected, kept)


def test_a_workflow_that_is_killed_leaves_jobs_that_go_on_and_are_waited_for(empty, expected):
    hold(empty)
    with steep.started(empty, *steep.command()) as killed:
        steep.until(lambda: in_the_second_seed(empty))
        (orphan,) = steep.runners(empty)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        locked = steep.snakemake(empty)
        assert locked.returncode == 1 and "--unlock" in locked.stdout + locked.stderr
        assert steep.snakemake(empty, "--unlock").returncode == 0
        assert steep.runners(empty) == [orphan]
        with steep.started(empty, *steep.command()) as again:
            steep.until(lambda: f"waits for process {orphan} " in said(empty))
            kept = steep.inodes(empty)
            (empty / "fault").unlink()
            output, _ = again.communicate(timeout=600)
    assert again.returncode == 0, output
    is_as_if_nothing_had_happened(empty, expected, kept)


@pytest.mark.parametrize("sent", [signal.SIGSTOP, signal.SIGTSTP], ids=["stop", "ctrl-z"])
def test_a_run_that_is_suspended_for_a_while_differs_in_nothing(empty, expected, sent):
    hold(empty)
    with steep.started(empty, *steep.command()) as workflow:
        steep.until(lambda: in_the_second_seed(empty))
        kept = steep.inodes(empty)
        (runner,) = steep.runners(empty)
        os.kill(runner, sent)
        (empty / "fault").unlink()
        time.sleep(2)
        os.kill(runner, signal.SIGCONT)
        output, _ = workflow.communicate(timeout=600)
    assert workflow.returncode == 0, output
    is_as_if_nothing_had_happened(empty, expected, kept)


@pytest.mark.parametrize(
    ("sent", "to_all"),
    [(signal.SIGINT, True), (signal.SIGTERM, True), (signal.SIGTERM, False)],
    ids=["ctrl-c", "term all", "term"],
)
def test_a_workflow_that_is_ended_leaves_no_lock_and_no_lease(empty, expected, sent, to_all):
    hold(empty)
    with steep.started(empty, *steep.command()) as workflow:
        steep.until(lambda: in_the_second_seed(empty))
        kept = steep.inodes(empty)
        (os.killpg if to_all else os.kill)(workflow.pid, sent)
        if not to_all:
            (empty / "fault").unlink()  # it waits for its jobs
        workflow.communicate(timeout=600)
    assert workflow.returncode != 0 or not to_all
    assert steep.runners(empty) == []
    assert not (empty / steep.FOLDER / "1.running").exists()
    (empty / "fault").unlink(missing_ok=True)
    again = steep.snakemake(empty)  # without --unlock
    assert again.returncode == 0, again.stderr
    is_as_if_nothing_had_happened(empty, expected, kept)


def test_a_job_that_is_killed_once_is_tried_again_with_more_memory(empty, expected):
    (empty / "fault").write_text("kill-once 1")
    made = steep.snakemake(empty, "--retries", "1", "--quiet", "host")
    output = made.stdout + made.stderr
    assert made.returncode == 0, output
    asked = [
        int(line.split("mem_mb=")[1].split(",")[0])
        for line in output.splitlines()
        if "mem_mb=" in line
    ]
    assert max(asked) == 2 * sorted(set(asked))[-2]
    is_as_if_nothing_had_happened(empty, expected, {})


def test_two_workflows_in_one_directory_the_second_one_is_told_to_wait(empty, expected):
    hold(empty)
    with steep.started(empty, *steep.command()) as first:
        steep.until(lambda: in_the_second_seed(empty))
        second = steep.snakemake(empty)
        assert second.returncode == 1
        assert "no other Snakemake process" in second.stderr and "--unlock" in second.stderr
        kept = steep.inodes(empty)
        (empty / "fault").unlink()
        output, _ = first.communicate(timeout=600)
    assert first.returncode == 0, output
    is_as_if_nothing_had_happened(empty, expected, kept)


def test_two_workflows_that_heed_no_lock_never_write_one_record_twice(empty, expected):
    hold(empty)
    with steep.started(empty, *steep.command("--nolock")) as first:
        steep.until(lambda: in_the_second_seed(empty))
        with steep.started(empty, *steep.command("--nolock")) as second:
            steep.until(lambda: "waits for process" in said(empty))
            kept = steep.inodes(empty)
            (empty / "fault").unlink()
            outputs = [workflow.communicate(timeout=600)[0] for workflow in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], "\n".join(outputs)
    is_as_if_nothing_had_happened(empty, expected, kept)
