"""Whoever is killed: what was finished stays, and the same command makes the rest, bit for bit."""

import os
import re
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults import steep

pytestmark = pytest.mark.slow  # whole workflows, one after another

LOG = Path("logs", "smoke", "steep", "hill", "uniform", "0-2.log")


@contextmanager
def in_the_second_seed(copy, *arguments):
    """A workflow whose second seed waits until `fault` is removed, and its records so far."""
    (copy / "fault").write_text("wait 1")
    first, second = copy / steep.FOLDER / "0.parquet", copy / steep.FOLDER / "1.running"
    with steep.started(copy, *steep.command(*arguments)) as workflow:
        steep.until(lambda: first.exists() and second.exists())
        yield workflow, steep.inodes(copy)


def said(copy):
    """The log of the job; where two processes write it there may be holes."""
    return (copy / LOG).read_text(errors="replace") if (copy / LOG).exists() else ""


def test_a_run_that_is_killed_within_a_seed_is_tried_again_with_more_memory(empty, expected):
    with in_the_second_seed(empty, "--retries", "1", "--quiet", "host") as (workflow, kept):
        for runner in steep.runners(empty):
            os.kill(runner, signal.SIGKILL)
        (empty / "fault").unlink()
        output, _ = workflow.communicate(timeout=600)
    assert workflow.returncode == 0, output
    assert list(kept) == ["0.parquet"]
    asked = sorted({int(found) for found in re.findall(r"mem_mb=(\d+)", output)})
    assert asked[-1] == 2 * asked[-2]
    steep.is_undisturbed(empty, expected, kept)


def test_a_workflow_that_is_killed_leaves_jobs_that_go_on_and_are_waited_for(empty, expected):
    """Until then, and as long as its lock is there, a second workflow is refused."""
    with in_the_second_seed(empty) as (killed, kept):
        (orphan,) = steep.runners(empty)
        second = steep.checkout.snakemake(empty, *steep.RECORDS)
        assert second.returncode == 1
        assert "no other Snakemake process" in second.stderr and "--unlock" in second.stderr
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        steep.checkout.made(empty, "--unlock")
        assert steep.runners(empty) == [orphan]
        with steep.started(empty, *steep.command()) as again:
            steep.until(lambda: f"waits for process {orphan} " in said(empty))
            (empty / "fault").unlink()
            output, _ = again.communicate(timeout=600)
    assert again.returncode == 0, output
    steep.is_undisturbed(empty, expected, kept)


def test_a_run_that_is_suspended_for_a_while_differs_in_nothing(empty, expected):
    with in_the_second_seed(empty) as (workflow, kept):
        (runner,) = steep.runners(empty)
        for sent in (signal.SIGTSTP, signal.SIGSTOP):
            os.kill(runner, sent)
            time.sleep(1)
            if sent == signal.SIGSTOP:
                (empty / "fault").unlink()  # its child goes on before it does
                time.sleep(1)
            os.kill(runner, signal.SIGCONT)
        output, _ = workflow.communicate(timeout=600)
    assert workflow.returncode == 0, output
    steep.is_undisturbed(empty, expected, kept)


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_a_workflow_that_is_ended_leaves_no_lock_and_no_lease(empty, expected, sent):
    """Ctrl-C reaches its jobs, too; after SIGTERM it waits for them."""
    with in_the_second_seed(empty) as (workflow, kept):
        if sent == "SIGINT":
            os.killpg(workflow.pid, signal.SIGINT)
        else:
            os.kill(workflow.pid, signal.SIGTERM)
            (empty / "fault").unlink()
        workflow.communicate(timeout=600)
    assert workflow.returncode != 0 or sent == "SIGTERM"
    assert steep.runners(empty) == []
    assert not (empty / steep.FOLDER / "1.running").exists()
    (empty / "fault").unlink(missing_ok=True)
    steep.made(empty)  # without --unlock
    steep.is_undisturbed(empty, expected, kept)
