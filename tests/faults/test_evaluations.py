"""Evaluations and parameters that go wrong end one seed, in a sentence, and never the others of its
job.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults import steep
from workflow.run import lease
from workflow.trace import record

ROOM = 1 << 32  # bytes of addresses; the libraries alone take a third of it


def sentences(done):
    """The lines that tell what went wrong."""
    return [line for line in done.stderr.splitlines() if line.startswith("error: ")]


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("nan", "expected a finite objective at query"),
        ("raise", "RuntimeError: the simulator has lost its licence"),
        (
            "shape",
            "seen.y: expected an array of numbers of shape (1,), got float64 of shape (1, 3)",
        ),
        ("text", "got str 'a number'"),
        ("memory", "out of memory at"),
        ("abort", "ended by SIGABRT (Aborted) during evaluation 4"),
        ("segfault", "ended by SIGSEGV (Segmentation fault) during evaluation 4"),
        ("kill", "ended by SIGKILL (Killed) during evaluation 4: was it out of memory?"),
        ("terminate", "ended by SIGUSR1"),
        ("exit", "SystemExit: 0"),
        ("os-exit", "ended by itself with exit status 0 during evaluation 4"),
        ("called", "CalledProcessError"),
        ("syntax", "SyntaxError"),
        ("warning", "Warning: it is not what it was"),
        ("stop", "StopIteration"),
        ("interrupt", "KeyboardInterrupt"),
        ("timed-out", "TimeoutError: its server is away"),
        ("permission", "Permission denied: '/its/licence'"),
    ],
)
def test_an_evaluation_that_goes_wrong_is_told_and_the_other_seeds_are_made(
    empty, expected, fault, message
):
    (empty / "fault").write_text(fault)
    failed = steep.run(empty)
    assert failed.returncode == 1
    (sentence,) = sentences(failed)
    assert message in sentence and sentence.startswith("error: steep/hill/uniform seed 0: ")
    remedies = ("look at", "correct its", "correct the", "give it more", "change its mode")
    assert any(remedy in sentence for remedy in remedies)
    assert steep.traces(empty) == {
        name: trace for name, trace in expected.items() if name != "0.parquet"
    }
    assert steep.beside(empty) == set()
    kept = steep.inodes(empty)
    (empty / "fault").unlink()
    again = steep.run(empty)
    assert again.returncode == 0, again.stderr
    assert steep.traces(empty) == expected and steep.beside(empty) == set()
    assert {name: steep.inodes(empty)[name] for name in kept} == kept


@pytest.mark.parametrize("how", ["hang", "locked"])
def test_an_evaluation_that_hangs_is_a_result_until_its_record_is_removed(empty, expected, how):
    edit(empty / "papers" / "steep.yaml", "room: 1,", "room: 1, timeout: 2,")
    (empty / "fault").write_text(how)
    began = time.monotonic()
    made = steep.run(empty)
    assert made.returncode == 0, made.stderr
    assert time.monotonic() - began < 30  # of 60 that it would take
    assert (
        "an evaluation took more than 2 s" in made.stderr
        and "to try again, remove that file" in made.stderr
    )
    path = empty / steep.FOLDER / "0.parquet"
    cut = record.read(path)
    assert (cut.header["status"], cut.rows) == ("timeout", 4)
    others = {name: trace for name, trace in steep.traces(empty).items() if name != "0.parquet"}
    assert others == {name: trace for name, trace in expected.items() if name != "0.parquet"}
    (empty / "fault").unlink()
    kept = steep.inodes(empty)
    assert steep.run(empty).returncode == 0 and steep.inodes(empty) == kept  # a result is kept
    path.unlink()
    assert steep.run(empty).returncode == 0
    assert steep.traces(empty) == expected and steep.beside(empty) == set()


def test_a_run_without_enough_memory_says_what_to_do(empty, expected):
    """Addresses are what can be limited from outside; the evaluation asks for an eighth more than
    there are.
    """
    edit(empty / "problems" / "hill.py", "np.ones(1 << 44)", f"np.ones({ROOM // 8 + 1})")
    (empty / "fault").write_text("memory")
    limited = subprocess.run(
        [sys.executable, "-m", *steep.RUN],
        cwd=empty,
        env={**steep.checkout.offline(empty), "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert limited.returncode == 1
    assert (
        "uniform seed 0: out of memory at" in limited.stderr
        and "--set-resources run:mem_mb=8000" in limited.stderr
    )
    assert "0.parquet" not in steep.traces(empty)
    (empty / "fault").unlink()
    assert steep.run(empty).returncode == 0
    assert steep.traces(empty) == expected


@pytest.mark.parametrize(
    "fault",
    [
        "thread",
        "program",
        "cwd",
        "umask",
        "stdout",
        "close",
        "signals",
        "alarm",
        "group",
        "globals",
        "environment",
    ],
)
def test_what_a_simulator_does_to_its_process_changes_no_record(empty, expected, fault):
    (empty / "fault").write_text(fault)
    before = set(Path("/").iterdir())
    began = time.monotonic()
    made = steep.run(empty, "--checkpoint-every", "0")
    assert made.returncode == 0, made.stderr
    assert time.monotonic() - began < 60  # also with a thread that never ends
    assert steep.traces(empty) == expected and steep.beside(empty) == set()
    assert set(Path("/").iterdir()) == before  # a record among them
    assert not (empty / "elsewhere").exists()  # a key of checkpoints
    modes = {path.stat().st_mode & 0o777 for path in (empty / steep.FOLDER).glob("*.parquet")}
    assert modes == {0o644}
    assert (
        "600.375"
        not in subprocess.run(["ps", "ax"], capture_output=True, text=True, check=True).stdout
    )  # it was ended with its simulator


def test_what_is_drawn_from_global_generators_is_the_same_in_any_order(empty, expected):
    (empty / "fault").write_text("drawn 1 7")
    assert steep.run(empty).returncode == 0
    whole = steep.traces(empty)
    assert [name for name in whole if whole[name] != expected[name]] == ["1.parquet"]
    steep.forget(empty, 1)
    alone = [word if word != "0-2" else "1" for word in steep.RUN]
    assert steep.checkout.run(empty, *alone).returncode == 0
    assert steep.traces(empty) == whole


def test_a_run_that_is_killed_leaves_the_others_of_its_cell_untouched(finished, expected):
    """Parent and child at once say nothing: their lease says who it was, and keeps nobody away."""
    steep.forget(finished, 1)
    kept = steep.inodes(finished)
    (finished / "fault").write_text("kill-all 1")
    killed = steep.run(finished)
    assert killed.returncode == -9
    left = finished / steep.FOLDER / "1.running"
    owner = lease.owner(left)
    steep.until(lambda: not lease.is_held(left))  # its child hears of it
    assert owner.pid > 0
    (finished / "fault").unlink()
    assert steep.run(finished).returncode == 0
    assert steep.traces(finished) == expected and steep.beside(finished) == set()
    assert {name: steep.inodes(finished)[name] for name in kept} == kept


@pytest.mark.parametrize(("old", "new"), [("noise: 0.1", "noise: loud"), ("d: 2", "d: -2")])
def test_a_parameter_of_the_wrong_kind_is_told_with_the_run_that_it_belongs_to(empty, old, new):
    """What a constructor takes is known when it is called: nothing is made before, and nothing is
    lost.
    """
    edit(empty / "papers" / "steep.yaml", old, new)
    failed = steep.run(empty)
    assert failed.returncode == 1
    assert all(
        line.startswith(f"error: steep/hill/uniform seed {seed}: ")
        for seed, line in enumerate(sentences(failed))
    )
    assert len(sentences(failed)) == steep.SEEDS and all(
        "correct its parameters" in line for line in sentences(failed)
    )
    assert steep.traces(empty) == {}
