"""A run goes on from its own checkpoint, to the same bits, or starts anew and says why."""

import logging
import os
import pickle
import stat
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from algorithms.api import Box
from algorithms.random_search import RandomSearch
from workflow.run import checkpoint, loop
from workflow.run.checkpoint import Checkpoint
from workflow.trace import one_path, record
from workflow.trace.seeds import rng

DIGEST = "d" * 64
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")


class Trap:
    """A pickle that leaves a file behind when it is read."""

    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


class Unreadable:
    """What is written and cannot be read."""

    def __reduce__(self):
        return int, ("no number",)


def progress(**attributes):
    """A run with seven rows, whose optimizer has these attributes."""
    optimizer = RandomSearch(Box(2), rng(0, "a name"))
    vars(optimizer).update(attributes)
    return loop.Progress(optimizer, rows=7)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch, caplog):
    """A user without checkpoints, who is in a folder of their own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    caplog.set_level(logging.INFO)
    return tmp_path / "state"


def ours(seed=3, digest=DIGEST):
    return Checkpoint(checkpoint.folder(), digest, seed)


@pytest.fixture
def saved():
    """The checkpoint of a run with seven rows."""
    ours().save(progress())
    return ours().path


def refused(caplog, why):
    """It is not gone on with, nothing in it was run, and a sentence says why."""
    assert ours().resume() is None and not Path("sprung").exists()
    assert "the run starts again from its beginning" in caplog.text and why in caplog.text


def test_a_run_goes_on_from_its_own(saved, caplog):
    found = ours().resume()
    assert found.rows == 7 and "continues after evaluation 7" in caplog.text
    np.testing.assert_array_equal(found.optimizer.rng.random(3), progress().optimizer.rng.random(3))


def test_another_run_finds_nothing_and_says_nothing(saved, caplog):
    assert ours(seed=4).resume() is None and ours(digest="e" * 64).resume() is None
    assert caplog.text == ""


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_it_lies_in_a_folder_of_this_user_alone(state, umask):
    before = os.umask(umask)
    try:
        ours().save(progress())
    finally:
        os.umask(before)
    assert ours().path.parent == state / "noregret" / "checkpoints"
    assert stat.S_IMODE(ours().path.parent.stat().st_mode) == 0o700
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o740, 0o755])
def test_a_folder_that_others_can_use_is_left_alone(saved, caplog, mode):
    saved.write_bytes(pickle.dumps(Trap()))
    saved.parent.chmod(mode)
    refused(caplog, f"mode {mode:o}: remove it, or let XDG_STATE_HOME name another place")
    ours(seed=4).save(progress())
    assert "no checkpoint is written" in caplog.text
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@root
def test_a_folder_of_another_user_is_left_alone(saved, caplog):
    saved.write_bytes(pickle.dumps(Trap()))
    os.chown(saved.parent, 4711, -1)
    refused(caplog, "got user 4711")


def test_a_folder_that_is_a_link_is_left_alone(saved, caplog, tmp_path):
    saved.write_bytes(pickle.dumps(Trap()))
    saved.parent.rename(tmp_path / "elsewhere")
    saved.parent.symlink_to(tmp_path / "elsewhere")
    refused(caplog, "that nobody else can read or write")


def test_where_no_folder_can_be_made_runs_are_made_and_say_so(state, caplog):
    state.write_text("a file")
    ours().save(progress())
    assert "no checkpoint is written: " in caplog.text
    ours().clear()


@pytest.mark.parametrize(
    "content", [b"", b"not a pickle", pickle.dumps((1, 2, 3)), pickle.dumps(Unreadable())]
)
def test_what_cannot_be_read_starts_anew(saved, caplog, content):
    saved.write_bytes(content)
    refused(caplog, str(saved))


@pytest.mark.parametrize("name", ["Python", "numpy", "kernels"])
def test_other_libraries_start_anew_and_say_which_they_are(saved, caplog, name):
    identity, found = pickle.loads(saved.read_bytes())
    saved.write_bytes(pickle.dumps(({**identity, name: "of before"}, found)))
    refused(caplog, f"expected {name} {identity[name]}, found of before")


def test_what_only_one_of_the_two_has_loaded_says_nothing(saved):
    identity, found = pickle.loads(saved.read_bytes())
    saved.write_bytes(pickle.dumps(({**identity, "a library": "1.0"}, found)))
    assert ours().resume().rows == 7
    del identity["scipy"]
    saved.write_bytes(pickle.dumps((identity, found)))
    assert ours().resume().rows == 7


def test_the_processor_and_variables_count_where_kernels_are_its_own(monkeypatch, caplog):
    monkeypatch.delenv("MKL_CBWR", raising=False)
    monkeypatch.setattr(record, "processor", lambda: "another")
    monkeypatch.setattr(one_path, "words", lambda: one_path.LEVEL)
    ours().save(progress())
    monkeypatch.setattr(record, "processor", lambda: "a third")
    assert ours().resume().rows == 7
    monkeypatch.setattr(one_path, "words", lambda: one_path.OWN)
    ours().save(progress())
    monkeypatch.setattr(record, "processor", lambda: "a fourth")
    refused(caplog, "expected processor a fourth, found a third")
    ours().save(progress())
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    refused(caplog, "expected MKL_CBWR AVX2, found nothing")


@pytest.mark.parametrize(
    ("held", "named"),
    [
        (lambda y: y, "lambda"),
        ((i for i in range(3)), "generator"),
        (threading.Lock(), "lock"),
        (sys.__stderr__, "TextIO"),
    ],
    ids=["lambda", "generator", "lock", "file"],
)
def test_an_optimizer_that_cannot_be_saved_is_named(state, held, named):
    said = rf"(?s)RandomSearch: expected an optimizer that can be pickled.*{named}.*keep no lambdas"
    with pytest.raises(TypeError, match=said):
        checkpoint.check(progress(held=held))
    checkpoint.check(progress(held=np.zeros(1000)))
    assert not state.exists()  # nothing is written


def test_what_nobody_needs_is_removed(saved):
    for seed, age in ((4, 0.0), (5, 2 * checkpoint.KEPT)):
        ours(seed).save(progress())
        os.utime(ours(seed).path, (time.time() - age,) * 2)
    ours().clear()
    assert [path.name for path in saved.parent.iterdir()] == [ours(4).path.name]
    ours().clear()  # there is nothing
