"""Evaluations and parameters that go wrong end one seed, in a sentence, and never the others of its
job.
"""

from __future__ import annotations

import resource
import subprocess
import sys

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
        ("shape", "ValueError"),
        ("text", "ValueError"),
        ("memory", "out of memory at"),
    ],
)
def test_an_evaluation_that_goes_wrong_is_told_and_the_other_seeds_are_made(
    empty, expected, fault, message
):
    (empty / "fault").write_text(fault)
    failed = steep.run(empty, "--marker", str(steep.MARKER))
    assert failed.returncode == 1
    (sentence,) = sentences(failed)
    assert message in sentence
    assert any(remedy in sentence for remedy in ("look at", "correct its", "give it more"))
    assert steep.traces(empty) == {
        name: trace for name, trace in expected.items() if name != "0.parquet"
    }
    assert steep.beside(empty) == {"0.failed"} and not (empty / steep.MARKER).exists()
    assert lease.failure(empty / steep.FOLDER / "0.failed").evaluations == 0
    kept = steep.inodes(empty)
    (empty / "fault").unlink()
    again = steep.run(empty, "--marker", str(steep.MARKER))
    assert again.returncode == 0, again.stderr
    assert (
        steep.traces(empty) == expected
        and steep.beside(empty) == set()
        and (empty / steep.MARKER).exists()
    )
    assert {name: steep.inodes(empty)[name] for name in kept} == kept


def test_an_evaluation_that_hangs_is_a_result_until_its_record_is_removed(empty, expected):
    edit(empty / "papers" / "steep.yaml", "room: 1,", "room: 1, timeout: 2,")
    (empty / "fault").write_text("hang")
    made = steep.run(empty)
    assert made.returncode == 0, made.stderr
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
        "error: out of memory at" in limited.stderr
        and "--set-resources run:mem_mb=8000" in limited.stderr
    )
    assert "0.parquet" not in steep.traces(empty)
    (empty / "fault").unlink()
    assert steep.run(empty).returncode == 0
    assert steep.traces(empty) == expected


def test_a_run_that_is_killed_leaves_the_others_of_its_cell_untouched(finished, expected):
    """Killed for its memory, the process says nothing: its lease says who it was, and the next one
    takes it over.
    """
    (finished / steep.FOLDER / "1.parquet").unlink()
    kept = steep.inodes(finished)
    (finished / "fault").write_text("kill 1")
    killed = steep.run(finished)
    assert killed.returncode == -9
    owner, _ = lease.owner(finished / steep.FOLDER / "1.running")
    assert "was it killed, or out of memory?" in lease.lost(owner).error
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
        f"steep/hill/uniform seed {seed}: " in line for seed, line in enumerate(sentences(failed))
    )
    assert len(sentences(failed)) == steep.SEEDS and all(
        "correct its parameters" in line for line in sentences(failed)
    )
    assert steep.traces(empty) == {}
