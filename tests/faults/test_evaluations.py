"""Evaluations and parameters that go wrong end one seed, in a sentence, and never the others of its
job.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from tests.faults import steep

pytestmark = pytest.mark.slow  # whole workflows, one after another

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
        ("memory", "out of memory at"),
        ("segfault", "ended by SIGSEGV (Segmentation fault) during evaluation 4"),
        ("kill", "ended by SIGKILL (Killed) during evaluation 4: was it out of memory?"),
        ("os-exit", "ended by itself with exit status 0 during evaluation 4"),
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
