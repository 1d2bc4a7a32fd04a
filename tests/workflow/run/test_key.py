"""The key of this user's checkpoints: made once, whole, and for nobody else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from workflow.run import key

ROOT = Path(key.__file__).parents[2]
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A user without a key, in a home of their own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def made():
    """The file of a key."""
    key.mine()
    return key.place()


def refused(*expected):
    with pytest.raises(key.NoKey) as caught:
        key.mine()
    for text in expected:
        assert text in str(caught.value)


def test_a_key_is_made_once_for_this_user_alone(state):
    first = key.mine()
    path = state / "noregret" / "checkpoint.key"
    found = path.stat()
    assert path.read_bytes() == first and len(first) == key.BYTES == 32
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert key.mine() == first
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (found.st_ino, found.st_mtime_ns)


def test_every_key_is_another(made):
    first = key.mine()
    made.unlink()
    assert key.mine() != first


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_a_umask_changes_nothing(umask):
    before = os.umask(umask)
    try:
        assert key.mine() == key.mine()
    finally:
        os.umask(before)
    assert stat.S_IMODE(key.place().stat().st_mode) == 0o600
    assert stat.S_IMODE(key.place().parent.stat().st_mode) == 0o700


SCRIPT = """
import sys
from workflow.run import key
print(flush=True)
sys.stdin.readline()
print(key.mine().hex())
"""


def test_processes_that_want_it_at_once_get_the_same_one(state):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    found = {process.communicate()[0].strip() for process in processes}
    assert found == {key.mine().hex()}
    assert len(list((state / "noregret").iterdir())) == 1


def test_who_is_second_takes_the_first_ones(state, monkeypatch):
    """Another process makes it after this one has looked."""
    real = key._make

    def late(path):
        real(path)
        first.append(path.read_bytes())
        real(path)

    first = []
    monkeypatch.setattr(key, "_make", late)
    assert key.mine() == first[0]
    assert len(list((state / "noregret").iterdir())) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o777])
def test_a_key_that_others_may_know_or_write_is_refused(made, mode):
    made.chmod(mode)
    refused(
        f"{made}: expected 32 bytes that user {os.geteuid()} alone can read",
        f"32 bytes of user {os.geteuid()} with mode {mode:o}: remove that file, a new one is made",
    )
    made.unlink()
    assert len(key.mine()) == 32


@pytest.mark.parametrize(("length", "told"), [(0, 0), (31, 31), (33, 33), (10_000, 33)])
def test_a_key_of_another_length_is_refused(made, length, told):
    made.write_bytes(b"k" * length)
    refused(f"got {told} bytes", "remove that file")


@root
def test_a_key_of_another_user_is_refused(made):
    os.chown(made, 12345, -1)
    refused("got 32 bytes of user 12345 with mode 600: remove that file")


@pytest.mark.parametrize("to", ["other.key", "nowhere"])
def test_a_link_is_refused_and_nothing_is_made_behind_it(made, to):
    made.rename(made.with_name("other.key"))
    made.symlink_to(to)
    refused(f"{made}: expected a plain file, got a link: remove it")
    assert sorted(path.name for path in made.parent.iterdir()) == ["checkpoint.key", "other.key"]
    made.unlink()
    assert len(key.mine()) == 32


@pytest.mark.parametrize("create", [os.mkfifo, lambda path: path.mkdir(0o700)])
def test_what_is_no_file_is_not_waited_for(made, create):
    made.unlink()
    create(made)
    before = len([*Path("/proc/self/fd").iterdir()])
    refused("remove that file")
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_state_home_that_is_relative_is_ignored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("state", "./state", ""):
        monkeypatch.setenv("XDG_STATE_HOME", name)
        assert key.place() == tmp_path / "home" / ".local" / "state" / "noregret" / "checkpoint.key"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert key.mine() == key.place().read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_where_no_folder_can_be_made_it_says_what_to_do(state, tmp_path, monkeypatch):
    state.write_text("")
    refused("expected a folder for a key of this user, got ", ": let XDG_STATE_HOME name one")
    monkeypatch.delenv("XDG_STATE_HOME")
    (tmp_path / "home").write_text("")
    refused("expected a folder", "let XDG_STATE_HOME name one")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    refused("expected a folder", "let XDG_STATE_HOME name one")


def test_a_disk_that_is_full_leaves_no_half_of_a_key(state, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(key.os, "fsync", full)
        refused("No space left on device")
    assert list((state / "noregret").iterdir()) == []
    assert len(key.mine()) == 32


def test_the_tests_keep_their_key_outside_the_home(monkeypatch):
    """By what tests/conftest.py has set for all of them and for what they start."""
    monkeypatch.undo()
    assert os.environ["HOME"] != os.environ["XDG_STATE_HOME"]
    assert not key.place().is_relative_to(Path("~/.local").expanduser())
