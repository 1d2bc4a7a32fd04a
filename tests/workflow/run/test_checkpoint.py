"""A checkpoint is read only where it is ours, of this very run and unchanged: a pickle may do
anything when it is read.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from algorithms.api import Box
from algorithms.random_search import RandomSearch
from workflow.run import checkpoint, loop
from workflow.trace.seeds import rng

MADE = Path("results", "smoke", "paper", "problem", "curve", "3.parquet")
DIGEST = "d" * 64


class Trap:
    """A pickle that leaves a file behind when it is read."""

    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


@pytest.fixture(autouse=True)
def saved(tmp_path, monkeypatch):
    """A checkpoint of a run with seven rows, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    progress = loop.Progress(RandomSearch(Box(2), rng(0, "a name")), rows=7)
    checkpoint.save(MADE, DIGEST, progress)
    return checkpoint.place(MADE)


def set_a_trap(path, **changes):
    """Replace the pickle, and what is changed of the header in front of it."""
    header = json.loads(path.read_bytes().partition(b"\n")[0])
    path.write_bytes(json.dumps({**header, **changes}).encode() + b"\n" + pickle.dumps(Trap()))


def test_a_run_goes_on_from_its_own(saved):
    progress = checkpoint.resume(MADE, DIGEST)
    assert progress.rows == 7
    assert saved.exists()  # until the record is there
    assert checkpoint.resume(MADE.with_name("4.parquet"), DIGEST) is None


def test_the_trap_of_these_tests_works(saved):
    pickle.loads(pickle.dumps(Trap()))
    assert Path("sprung").exists()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "changed after it was written"),
        ({"digest": "e" * 64}, "expected digest dddddddddddd, found eeeeeeeeeeee"),
        ({"digest": None}, "expected digest"),
        ({"libraries": {"numpy": "0.1"}}, "expected libraries"),
    ],
)
def test_what_was_not_written_by_this_run_is_set_aside_unread(saved, caplog, changes, why):
    set_a_trap(saved, **changes)
    assert checkpoint.resume(MADE, DIGEST) is None
    assert why in caplog.text
    assert not Path("sprung").exists()
    assert not saved.exists() and saved.with_suffix(".checkpoint.stale").exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"[]\n", b"{}\n", pickle.dumps(Trap())])
def test_what_has_no_header_is_set_aside_unread(saved, content):
    saved.write_bytes(content)
    assert checkpoint.resume(MADE, DIGEST) is None
    assert not Path("sprung").exists()


def test_a_checkpoint_that_was_cut_is_set_aside_unread(saved):
    saved.write_bytes(saved.read_bytes()[:-1])
    assert checkpoint.resume(MADE, DIGEST) is None


def test_a_link_is_not_followed(saved):
    saved.rename("elsewhere")
    saved.symlink_to(Path("elsewhere").resolve())
    assert checkpoint.resume(MADE, DIGEST) is None
    inside = saved.with_name("inside")
    Path("elsewhere").rename(inside)
    saved.symlink_to(inside.resolve())
    assert checkpoint.resume(MADE, DIGEST) is None


def test_outside_the_results_none_is_read_or_written(saved):
    made = Path("mine", "3.parquet")
    made.parent.mkdir()
    saved.rename(checkpoint.place(made))
    assert checkpoint.resume(made, DIGEST) is None
    assert checkpoint.save(made, DIGEST, loop.Progress(RandomSearch(Box(2), rng(0, "a name")))) < 1
    assert not checkpoint.place(made).exists()


def test_results_may_lie_on_another_disk(saved):
    Path("scratch").mkdir()
    Path("results").rename(Path("scratch", "results"))
    Path("results").symlink_to(Path("scratch", "results").resolve())
    assert checkpoint.resume(MADE, DIGEST).rows == 7
