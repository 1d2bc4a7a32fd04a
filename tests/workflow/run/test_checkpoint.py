"""A checkpoint is read only where it is ours, of this very run and unchanged: a pickle may do
anything when it is read.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import pickle
import platform
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from algorithms.api import Box
from algorithms.random_search import RandomSearch
from workflow.plan import expand
from workflow.run import checkpoint, key, lease, loop, make
from workflow.run.target import Limits, Target
from workflow.trace import code_path, record
from workflow.trace.seeds import rng

ROOT = Path(checkpoint.__file__).parents[2]
MADE = Path("results", "smoke", "paper", "problem", "curve", "3.parquet")
DIGEST = "d" * 64
MKL = os.environ.get("MKL_CBWR", "nothing")
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")


class Trap:
    """A pickle that leaves a file behind when it is read."""

    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


def progress(**attributes):
    """A run with seven rows, whose optimizer has these attributes."""
    optimizer = RandomSearch(Box(2), rng(0, "a name"))
    vars(optimizer).update(attributes)
    return loop.Progress(optimizer, rows=7)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A user without a key and without results, who is in a folder of their own."""
    home = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return home


@pytest.fixture
def saved():
    """The checkpoint of a run with seven rows."""
    checkpoint.save(MADE, DIGEST, progress())
    return lease.checkpoint(MADE)


def parts(path):
    """The hash, the header and the pickle in a checkpoint."""
    signature, header, content = path.read_bytes().split(b"\n", 2)
    return signature, json.loads(header), content


def rewritten(path, secret=None, *, content=None, **changes):
    """Change what follows the hash, and the hash if there is a key to do so."""
    signature, header, old = parts(path)
    content = pickle.dumps(Trap()) if content is None else content
    signed = json.dumps({**header, **changes}, sort_keys=True).encode() + b"\n" + content
    if secret is not None:
        signature = hmac.new(secret, signed, "sha256").hexdigest().encode()
    path.write_bytes(signature + b"\n" + signed)
    return old


def refused(caplog, why, *, aside=True):
    """Nothing is read; the reason is told, once."""
    path = lease.checkpoint(MADE)
    caplog.clear()
    assert checkpoint.resume(MADE, DIGEST) is None
    assert not Path("sprung").exists()
    (told,) = caplog.messages
    assert "the run starts again from its beginning: " in told and why in told
    assert os.path.lexists(path) is not aside
    assert os.path.lexists(path.with_suffix(".checkpoint.stale")) is aside
    assert f"is kept as {path.name}.stale" in told or not aside


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_run_goes_on_from_its_own(saved):
    found = checkpoint.resume(MADE, DIGEST)
    assert found.rows == 7
    np.testing.assert_array_equal(
        found.optimizer.ask(1, np.empty((0, 2))), progress().optimizer.ask(1, np.empty((0, 2)))
    )
    assert saved.exists()  # until the record is there
    assert checkpoint.resume(MADE.with_name("4.parquet"), DIGEST) is None


def test_it_lies_in_a_folder_of_this_user_alone_and_says_what_it_is(saved, state):
    assert saved == MADE.parent / f".checkpoints-{os.geteuid()}" / "3.checkpoint"
    assert mode(saved.parent) == 0o700
    assert list(saved.parent.iterdir()) == [saved]
    signature, header, content = parts(saved)
    assert len(signature) == 64 and header["digest"] == DIGEST
    assert pickle.loads(content).rows == 7
    assert [path for path in state.rglob("*") if path.is_file()] == [key.place()]


def test_the_trap_of_these_tests_works(saved, caplog):
    pickle.loads(pickle.dumps(Trap()))
    Path("sprung").unlink()
    rewritten(saved, key.mine())  # with the key it springs: without it, the hash is what helps
    assert checkpoint.resume(MADE, DIGEST) is None  # too late
    assert Path("sprung").exists()


def test_a_trap_behind_a_correct_header_is_set_aside_unread(saved, caplog):
    """Everybody who can read the results can write such a header."""
    rewritten(saved)
    refused(caplog, "expected the hash with this user's key: it was changed after it was written")


@pytest.mark.parametrize("secret", [b"", b"0" * 32, DIGEST.encode()])
def test_what_is_signed_with_another_key_is_set_aside_unread(saved, caplog, secret):
    rewritten(saved, secret)
    refused(caplog, "or somebody else wrote it")


def test_after_the_key_was_lost_nothing_is_read(saved, caplog):
    key.place().unlink()
    refused(caplog, "expected the hash with this user's key")
    checkpoint.save(MADE, DIGEST, progress())  # with a new one
    assert checkpoint.resume(MADE, DIGEST).rows == 7


@pytest.mark.parametrize(
    "change",
    [
        lambda content: b"",
        lambda content: b"\n",
        lambda content: b"\n\n",
        lambda content: b"[]\n",
        lambda content: b"{}\n",
        lambda content: pickle.dumps(Trap()),
        lambda content: content[:-1],
        lambda content: content + b".",
        lambda content: content[:64],
        lambda content: content[64:],
        lambda content: b"\xff" + content,
        lambda content: content.replace(b'"digest": "d', b'"digest": "e', 1),
    ],
    ids=range(12),
)
def test_what_was_changed_cut_or_is_none_is_set_aside_unread(saved, caplog, change):
    saved.write_bytes(change(saved.read_bytes()))
    refused(caplog, "expected the hash with this user's key")


def test_no_flipped_bit_is_read(saved, caplog, monkeypatch):
    read = []
    monkeypatch.setattr(checkpoint.pickle, "loads", read.append)
    whole = saved.read_bytes()
    for place in range(0, len(whole), 29):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert checkpoint.resume(MADE, DIGEST) is None
        saved.with_suffix(".checkpoint.stale").unlink()
    assert not read


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"digest": "e" * 64}, "expected digest dddddddddddd, found eeeeeeeeeeee"),
        ({"digest": None}, "expected digest dddddddddddd, found None"),
        ({"python": "2.7.18"}, "found 2.7.18"),
        ({"libraries": {"numpy": "0.1"}}, f"expected libraries numpy {np.__version__}, found 0.1"),
        ({"code path": {"NumPy": "X87"}}, ", found X87"),
        ({"environment": {"XLA_FLAGS": "--x"}}, ", found --x"),
        ({"environment": {"MKL_CBWR": "AVX2"}}, f"MKL_CBWR {MKL}, found AVX2"),
    ],
)
def test_what_another_run_or_other_libraries_wrote_is_set_aside_unread(saved, caplog, changes, why):
    rewritten(saved, key.mine(), **changes)
    refused(caplog, why)


def test_features_are_told_whole_and_hashes_in_short(saved, caplog):
    """Two lists of features may begin alike."""
    features = code_path.parts(code_path.now())["NumPy"]
    rewritten(saved, key.mine(), **{"code path": {"NumPy": f"{features} X9"}})
    refused(caplog, f"expected code path NumPy {features}, found {features} X9")


def test_what_only_one_of_the_two_has_loaded_says_nothing(saved):
    (_, header, content), secret = parts(saved), key.mine()
    more = {name: {**header[name], "more": "1"} for name in ("libraries", "code path")}
    rewritten(saved, secret, content=content, **more)
    assert checkpoint.resume(MADE, DIGEST).rows == 7
    rewritten(saved, secret, content=content, libraries={}, **{"code path": {}})
    assert checkpoint.resume(MADE, DIGEST).rows == 7


class Late(RandomSearch):
    """An optimizer with which a library is loaded."""

    def __setstate__(self, state):
        vars(self).update(state)
        Path("loaded").touch()


def test_what_is_loaded_with_the_optimizer_counts_too(monkeypatch, caplog):
    real, kernels = code_path.parts, ["AVX512"]

    def named(path):
        found = {name: kind for name, kind in real(path).items() if name != "PyTorch"}
        return found | ({"PyTorch": kernels[0]} if Path("loaded").exists() else {})

    monkeypatch.setattr(code_path, "parts", named)
    Path("loaded").touch()
    checkpoint.save(MADE, DIGEST, loop.Progress(Late(Box(2), rng(0, "a name")), rows=7))
    Path("loaded").unlink()
    assert checkpoint.resume(MADE, DIGEST).rows == 7
    kernels[0] = "AVX2"
    Path("loaded").unlink()
    refused(caplog, "expected code path PyTorch AVX2, found AVX512")


SCRIPT = """
import logging, sys
from pathlib import Path
import workflow
import scipy.linalg
from algorithms.api import Box
from algorithms.random_search import RandomSearch
from workflow.run import checkpoint, loop
from workflow.trace.seeds import rng
logging.basicConfig(level=logging.INFO, format="%(message)s")
if sys.argv[2] == "save":
    optimizer = RandomSearch(Box(2), rng(0, "a name"))
    checkpoint.save(Path(sys.argv[1]), sys.argv[3], loop.Progress(optimizer, rows=5))
else:
    found = checkpoint.resume(Path(sys.argv[1]), sys.argv[3])
    print(0 if found is None else found.rows)
print("sklearn" in sys.modules, file=sys.stderr)
"""


def elsewhere(what, **environment):
    """Save or resume in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(MADE), what, DIGEST],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 kernels")
def test_other_kernels_start_anew_and_say_which_they_are(monkeypatch):
    elsewhere("save", OPENBLAS_CORETYPE="Prescott")
    other = elsewhere("resume", OPENBLAS_CORETYPE="Haswell")
    assert other.stdout == "0\n"
    assert "the run starts again from its beginning" in other.stderr
    assert "expected code path openblas of numpy Haswell, found " in other.stderr
    elsewhere("save", OPENBLAS_CORETYPE="Prescott")
    assert elsewhere("resume", OPENBLAS_CORETYPE="Prescott").stdout == "5\n"


def test_features_that_were_forbidden_in_between_start_anew():
    named = code_path.now()["numpy"]["found"]
    if not named:
        pytest.skip("this processor has no features beyond the baseline")
    elsewhere("save")
    other = elsewhere("resume", NPY_DISABLE_CPU_FEATURES=named[-1])
    assert other.stdout == "0\n"
    assert "expected code path NumPy " in other.stderr


def test_a_process_with_fewer_libraries_and_one_with_more_go_on_from_each_other(saved):
    assert "sklearn" in sys.modules and "scikit-learn" in parts(saved)[1]["libraries"]
    other = elsewhere("resume")
    assert other.stdout == "7\n" and other.stderr.endswith("False\n")
    elsewhere("save")
    assert "scikit-learn" not in parts(saved)[1]["libraries"]
    assert checkpoint.resume(MADE, DIGEST).rows == 5


@root
def test_a_file_of_another_user_is_set_aside_unread(saved, caplog):
    os.chown(saved, 12345, -1)
    refused(caplog, f"expected {saved} to belong to user 0 and nobody else to write it, got user")


@root
def test_a_folder_of_another_user_is_left_alone(saved, caplog):
    os.chown(saved.parent, 12345, -1)
    refused(caplog, f"expected {saved.parent} to belong to user 0", aside=False)
    checkpoint.clear(MADE)
    assert saved.exists()
    not_written(caplog, "got user 12345")


@pytest.mark.parametrize("others", [0o020, 0o002])
def test_a_file_that_others_can_write_is_set_aside_unread(saved, caplog, others):
    saved.chmod(0o600 | others)
    refused(caplog, f"nobody else to write it, got user {os.geteuid()} and mode {0o600 | others:o}")


@pytest.mark.parametrize("others", [0o020, 0o002])
def test_a_folder_that_others_can_write_is_left_alone(saved, caplog, others):
    saved.parent.chmod(0o700 | others)
    refused(caplog, f"expected {saved.parent} to belong", aside=False)
    checkpoint.clear(MADE)
    assert saved.exists()
    not_written(caplog, "nobody else to write it")


def not_written(caplog, why):
    """A run is told once why it saves nothing, and goes on."""
    before = {path: path.lstat().st_mtime_ns for path in Path().rglob("*")}
    caplog.clear()
    checkpoint.save(MADE, DIGEST, progress())
    assert {path: path.lstat().st_mtime_ns for path in Path().rglob("*")} == before
    (told,) = caplog.messages
    assert told.startswith(f"{MADE}: no checkpoint is written: expected ") and why in told


@pytest.mark.parametrize("inside", [True, False])
def test_a_folder_that_is_a_link_is_left_alone(saved, caplog, inside):
    elsewhere = MADE.parent / "elsewhere" if inside else Path("elsewhere")
    saved.parent.rename(elsewhere)
    saved.parent.symlink_to(elsewhere.resolve())
    refused(caplog, "", aside=False)
    checkpoint.clear(MADE)
    assert saved.exists() and saved.parent.is_symlink()
    if inside:
        not_written(caplog, f"expected a folder {saved.parent}, got a link")


@pytest.mark.parametrize("what", ["file", "link to nowhere"])
def test_something_else_in_the_place_of_the_folder_ends_no_run(caplog, what):
    folder = lease.checkpoint(MADE).parent
    folder.parent.mkdir(parents=True)
    folder.write_text("") if what == "file" else folder.symlink_to("nowhere")
    assert checkpoint.resume(MADE, DIGEST) is None
    not_written(caplog, f"expected a folder {folder}, got a link or something else")
    checkpoint.clear(MADE)
    assert os.path.lexists(folder)


@pytest.mark.parametrize("inside", [True, False])
def test_a_link_is_not_followed(saved, caplog, inside):
    elsewhere = (saved.parent if inside else Path()) / "elsewhere"
    saved.rename(elsewhere)
    saved.symlink_to(elsewhere.resolve())
    refused(caplog, "expected a plain file, got a link or something else")
    assert elsewhere.exists()


@pytest.mark.parametrize("create", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_not_waited_for(saved, caplog, create):
    saved.unlink()
    create(saved)
    refused(caplog, "expected a plain file, got something else")


def test_outside_the_results_none_is_read_or_written(saved, caplog):
    made = Path("mine", "3.parquet")
    made.parent.mkdir()
    saved.parent.rename(lease.checkpoint(made).parent)
    assert checkpoint.resume(made, DIGEST) is None
    assert f"expected a file below {Path('results').resolve()}" in caplog.text
    assert lease.checkpoint(made).exists()
    checkpoint.clear(made)
    assert lease.checkpoint(made).exists()
    checkpoint.save(made.with_name("4.parquet"), DIGEST, progress())
    assert not lease.checkpoint(made.with_name("4.parquet")).exists()


def test_results_may_lie_on_another_disk(saved):
    Path("scratch").mkdir()
    Path("results").rename(Path("scratch", "results"))
    Path("results").symlink_to(Path("scratch", "results").resolve())
    assert checkpoint.resume(MADE, DIGEST).rows == 7
    checkpoint.save(MADE, DIGEST, progress())
    checkpoint.clear(MADE)
    assert list(MADE.parent.iterdir()) == []


@pytest.mark.parametrize("umask", [0o002, 0o000, 0o077])
def test_a_umask_that_lets_others_write_changes_nothing(umask):
    before = os.umask(umask)
    try:
        checkpoint.save(MADE, DIGEST, progress())
    finally:
        os.umask(before)
    path = lease.checkpoint(MADE)
    assert mode(MADE.parent) == 0o777 & ~umask  # the test would say nothing without it
    assert mode(path.parent) == 0o700 and not mode(path) & 0o022
    assert checkpoint.resume(MADE, DIGEST).rows == 7


@pytest.mark.parametrize(
    ("held", "named"),
    [
        (lambda x: x, "lambda"),
        ((i for i in range(3)), "generator"),
        (threading.Lock(), "lock"),
        (sys.__stderr__, "TextIO"),
    ],
    ids=["lambda", "generator", "lock", "file"],
)
def test_an_optimizer_that_cannot_be_saved_is_named_wherever_it_runs(held, named):
    with pytest.raises(
        TypeError,
        match=(
            rf"(?s)RandomSearch: expected an optimizer that can be pickled.*{named}.*keep no"
            r" lambdas, generators, open files or locks in it"
        ),
    ):
        checkpoint.check(progress(held=held))
    assert list(Path().iterdir()) == []


def test_an_optimizer_that_can_be_saved_is_one_and_nothing_is_written(state):
    checkpoint.check(progress(held=np.zeros(1_000_000)))
    assert list(Path().iterdir()) == [] and not state.exists()


def test_what_nobody_needs_once_the_record_is_there_is_removed(saved, caplog):
    rewritten(saved)
    refused(caplog, "expected the hash")
    checkpoint.save(MADE, DIGEST, progress())
    saved.with_name(".3.checkpoint.killed.part").write_text("half")
    assert len(list(saved.parent.iterdir())) == 3
    checkpoint.save(MADE.with_name("4.parquet"), DIGEST, progress())
    checkpoint.clear(MADE)
    assert [path.name for path in saved.parent.iterdir()] == ["4.checkpoint"]
    checkpoint.clear(MADE.with_name("4.parquet"))
    assert list(MADE.parent.iterdir()) == []
    checkpoint.clear(MADE)  # there is nothing


def test_a_folder_that_another_run_removed_just_now_is_made_again(monkeypatch):
    """Of two seeds the one is complete while the other saves itself."""
    from workflow.trace import atomic

    real, folder = atomic.tempfile.mkstemp, lease.checkpoint(MADE).parent

    def late(**options):
        if not removed:
            removed.append(folder)
            checkpoint.clear(MADE.with_name("4.parquet"))
            assert not folder.exists()
        return real(**options)

    removed = []
    monkeypatch.setattr(atomic.tempfile, "mkstemp", late)
    checkpoint.save(MADE, DIGEST, progress())
    assert removed and mode(folder) == 0o700
    assert checkpoint.resume(MADE, DIGEST).rows == 7


def test_a_folder_that_another_run_fills_just_now_is_kept(saved, monkeypatch):
    """It was empty when we looked."""
    real = Path.rmdir

    def late(path):
        checkpoint.save(MADE.with_name("4.parquet"), DIGEST, progress())
        real(path)

    monkeypatch.setattr(Path, "rmdir", late)
    checkpoint.clear(MADE)
    assert [path.name for path in saved.parent.iterdir()] == ["4.checkpoint"]


@pytest.fixture(params=["a file", "read-only", "nobody's"])
def keyless(request, state, monkeypatch, tmp_path):
    """A user who can have no key."""
    if request.param == "a file":
        state.write_text("")
        return
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/proc")  # where root, too, can write nothing
    if request.param == "nobody's":
        monkeypatch.delenv("HOME")
        monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])


def test_without_a_key_runs_are_made_without_checkpoints_and_say_so(keyless, caplog, monkeypatch):
    """Once for each time that one would have been written."""
    saves, real = [], checkpoint.save

    def save(*arguments):
        saves.append(arguments)
        real(*arguments)
        return 0.0  # seconds, so that the next step is saved, too

    monkeypatch.setattr(checkpoint, "save", save)
    cell = expand.load("dumbo", "smoke").cell("six-hump-camel", "random-search")
    cell = replace(cell, seeds=(0,), problem_entry={**cell.problem_entry, "room": 1})
    target = Target("run", cell, 0, cell.record(0))
    with caplog.at_level(logging.WARNING):
        assert make.make(target, Limits(checkpoint_every=0)).status == "complete"
    assert record.read(target.path).rows == cell.budget
    assert len(caplog.messages) == len(saves) == cell.budget - cell.problem_entry["init"]["n"]
    assert set(caplog.messages) == {caplog.messages[0]}
    assert caplog.messages[0].startswith(f"{target.path}: no checkpoint is written: expected ")
    assert caplog.messages[0].endswith("let XDG_STATE_HOME name one")
    assert [path.name for path in target.path.parent.iterdir()] == ["0.parquet"]


def test_a_checkpoint_is_left_where_it_is_until_there_is_a_key_again(
    saved, state, monkeypatch, caplog
):
    monkeypatch.setenv("XDG_STATE_HOME", str(saved.resolve()))
    refused(caplog, "let XDG_STATE_HOME name one", aside=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    assert checkpoint.resume(MADE, DIGEST).rows == 7
