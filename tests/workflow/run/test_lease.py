"""One record, one writer: who holds a lease, who waits, and what a failed run leaves."""

import errno
import multiprocessing
import os
import platform
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from workflow.run import lease
from workflow.run.lease import Failed


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(lease, "POLL", 0.02)


@pytest.fixture
def made(tmp_path):
    """The place of a record whose folder is not there yet."""
    return tmp_path / "curve" / "3.parquet"


def _hold(made, taken, seconds):
    with lease.held(made):
        taken.set()
        time.sleep(seconds)
        made.write_text("record")


@contextmanager
def another(made, seconds=60.0):
    """A process that holds the lease for a while; killed at the latest when the test is."""
    context = multiprocessing.get_context("fork")
    taken = context.Event()
    process = context.Process(target=_hold, args=(made, taken, seconds))
    process.start()
    try:
        assert taken.wait(30)
        yield process
    finally:
        process.kill()
        process.join()


def test_a_lease_names_its_process_while_it_is_held_and_leaves_nothing(made):
    path = lease.running(made)
    with lease.held(made):
        assert lease.owner(path) == f"process {os.getpid()} on {platform.node()}"
    assert list(made.parent.iterdir()) == []


def test_a_living_process_is_waited_for_and_what_it_made_is_found(made, caplog):
    with another(made, seconds=1.0) as process, lease.held(made):
        assert made.read_text() == "record"
    assert f"waits for process {process.pid} on " in caplog.text


def test_who_may_not_wait_is_refused_and_told_by_whom(made):
    with (
        another(made) as process,
        pytest.raises(Failed, match=rf"process {process.pid} on .* wait for it or cancel it"),
        lease.held(made, wait=0),
    ):
        pytest.fail("two make one record")


def test_a_process_that_is_killed_while_others_wait_is_followed(made, monkeypatch):
    with another(made) as process:
        monkeypatch.setattr(lease.log, "warning", lambda *_: process.kill())
        with lease.held(made):
            assert lease.owner(lease.running(made)).startswith(f"process {os.getpid()} on ")


def _contend(made, ready, won):
    ready.wait()
    with lease.held(made):
        taken = made.parent / "taken"
        taken.mkdir()  # fails where two are here
        time.sleep(0.01)
        taken.rmdir()
        won.put(os.getpid())


def test_of_many_that_want_it_at_once_each_is_alone(made):
    context, many = multiprocessing.get_context("fork"), 6
    ready, won = context.Barrier(many), context.Queue()
    processes = [context.Process(target=_contend, args=(made, ready, won)) for _ in range(many)]
    for process in processes:
        process.start()
    found = {won.get(timeout=600) for _ in processes}
    for process in processes:
        process.join()
    assert len(found) == many and list(made.parent.iterdir()) == []


@pytest.mark.parametrize("text", ["", "12", "nobody\nhere\n", "\udcff"])
def test_a_lease_that_says_nothing_names_nobody(made, text):
    made.parent.mkdir()
    lease.running(made).write_bytes(text.encode(errors="surrogateescape"))
    assert "does not name" in lease.owner(lease.running(made))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_no_lease_and_says_what_to_do(made, monkeypatch, number):
    def full(*_, **__):
        raise OSError(number, "it is full")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(Failed, match="got it is full: make room"), lease.held(made):
        pytest.fail("it would be lost at its end")
    assert list(made.parent.iterdir()) == []


@pytest.mark.parametrize("step", ["write_text", "unlink"])
def test_whoever_is_interrupted_between_two_steps_leaves_no_lease(made, monkeypatch, step):
    original = getattr(Path, step)

    def interrupted(*arguments, **named):
        os.kill(os.getpid(), signal.SIGINT)
        return original(*arguments, **named)

    monkeypatch.setattr(Path, step, interrupted)
    # a process in the background of a shell ignores Ctrl-C
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), lease.held(made):
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(made.parent.iterdir()) == []


@pytest.mark.parametrize("is_link", [True, False], ids=["a link to nowhere", "no folder"])
def test_what_stands_in_the_place_of_a_lease_or_its_folder_is_told(made, is_link):
    if is_link:
        made.parent.mkdir()
        lease.running(made).symlink_to("nowhere")
    else:
        made.parent.write_text("not a folder")
    with pytest.raises(Failed, match="expected a file that can be written"), lease.held(made):
        pytest.fail("nobody holds it")
    assert not (made.parent / "nowhere").exists()


def test_where_nobody_can_write_a_finished_record_is_used_and_a_missing_one_is_refused(
    made, monkeypatch
):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    made.parent.mkdir()
    monkeypatch.setattr(lease.FileLock, "acquire", refuse)
    with pytest.raises(Failed, match="got Permission denied: make its folder"), lease.held(made):
        pytest.fail("it would be lost at its end")
    made.write_bytes(b"a record")
    with lease.held(made):
        pass
    assert list(made.parent.iterdir()) == [made]


def test_halves_of_files_of_a_process_that_was_killed_go_with_the_lease(made):
    with lease.held(made):
        for path in (made, made.with_name("1.parquet")):
            path.with_name(f".{path.name}.abc.part").write_text("half of it")
    assert [path.name for path in made.parent.iterdir()] == [".1.parquet.abc.part"]
