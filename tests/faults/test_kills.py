"""Whoever is killed, by whatever signal: what was finished stays, and the same command makes the
rest, bit for bit.
"""

from __future__ import annotations

import os
import re
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


def test_a_run_that_is_killed_within_a_seed_is_tried_again_with_more_memory(empty, expected):
    hold(empty)
    command = steep.command("--retries", "1", "--quiet", "host")
    with steep.started(empty, *command) as workflow:
        steep.until(lambda: in_the_second_seed(empty))
        kept = steep.inodes(empty)
        for runner in steep.runners(empty):
            os.kill(runner, signal.SIGKILL)
        (empty / "fault").unlink()
        output, _ = workflow.communicate(timeout=600)
    assert workflow.returncode == 0, output
    assert list(kept) == ["0.parquet"]
    asked = sorted({int(found) for found in re.findall(r"mem_mb=(\d+)", output)})
    assert asked[-1] == 2 * asked[-2]
    is_as_if_nothing_had_happened(empty, expected, kept)


def test_a_workflow_that_is_killed_leaves_jobs_that_go_on_and_are_waited_for(empty, expected):
    """Until then, and as long as its lock is there, a second workflow is refused."""
    hold(empty)
    with steep.started(empty, *steep.command()) as killed:
        steep.until(lambda: in_the_second_seed(empty))
        (orphan,) = steep.runners(empty)
        second = steep.snakemake(empty)
        assert second.returncode == 1
        assert "no other Snakemake process" in second.stderr and "--unlock" in second.stderr
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert steep.snakemake(empty, "--unlock").returncode == 0
        assert steep.runners(empty) == [orphan]
        with steep.started(empty, *steep.command()) as again:
            steep.until(lambda: f"waits for process {orphan} " in said(empty))
            kept = steep.inodes(empty)
            (empty / "fault").unlink()
            output, _ = again.communicate(timeout=600)
    assert again.returncode == 0, output
    is_as_if_nothing_had_happened(empty, expected, kept)


def test_a_run_that_is_suspended_for_a_while_differs_in_nothing(empty, expected):
    hold(empty)
    with steep.started(empty, *steep.command()) as workflow:
        steep.until(lambda: in_the_second_seed(empty))
        kept = steep.inodes(empty)
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
    is_as_if_nothing_had_happened(empty, expected, kept)


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_a_workflow_that_is_ended_leaves_no_lock_and_no_lease(empty, expected, sent):
    """Ctrl-C reaches its jobs, too; after SIGTERM it waits for them."""
    hold(empty)
    with steep.started(empty, *steep.command()) as workflow:
        steep.until(lambda: in_the_second_seed(empty))
        kept = steep.inodes(empty)
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
    again = steep.snakemake(empty)  # without --unlock
    assert again.returncode == 0, again.stderr
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
