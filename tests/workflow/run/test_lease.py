"""One record, one writer: who holds a lease, who may take it over, and what a run leaves that
failed.
"""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from workflow.run import lease
from workflow.run.lease import Failure, Lease, Owner, Refused

ROOT = Path(lease.__file__).parents[2]
LONG_AGO = 2 * lease.PATIENCE


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Nobody waits for minutes here."""
    monkeypatch.setattr(lease, "PATIENCE", 0.3)
    monkeypatch.setattr(lease, "POLL", 0.02)


@pytest.fixture
def made(tmp_path):
    """The place of a record whose folder is not there yet."""
    return tmp_path / "curve" / "3.parquet"


@pytest.fixture
def sleeper():
    """The owner that another living process would be."""
    with subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"], stdout=-1
    ) as process:
        process.stdout.readline()
        yield replace(lease.this_process(), pid=process.pid, started=lease._started(process.pid))
        process.kill()


def leave(made, owner, *, age=0.0):
    """A lease of another process, touched `age` seconds ago."""
    path = lease.running(made)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(owner if isinstance(owner, str) else json.dumps(asdict(owner)))
    os.utime(path, (time.time() - age,) * 2)


def gone():
    """The owner that a process was which has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return replace(lease.this_process(), pid=process.pid, started=1)


def test_a_lease_names_this_process_while_it_is_held_and_leaves_nothing(made):
    with Lease(made):
        owner, age = lease.owner(lease.running(made))
        assert (owner.pid, owner.host, owner.since[-6:]) == (
            os.getpid(),
            lease.platform.node(),
            "+00:00",
        )
        assert owner.is_alive(age)
        assert list(made.parent.iterdir()) == [made.with_suffix(".running")]
    assert list(made.parent.iterdir()) == []
    assert lease.owner(lease.running(made)) is None


# it may have been suspended, but its machine knows it
@pytest.mark.parametrize("age", [0.0, LONG_AGO])
def test_a_living_process_of_this_host_is_respected(made, sleeper, age):
    leave(made, sleeper, age=age)
    before = lease.running(made).read_text()
    with (
        pytest.raises(
            Refused,
            match=(
                rf"3\.parquet: process {sleeper.pid} on .* is still making this record after 0 s of"
                r" waiting: wait for it or cancel it"
            ),
        ),
        Lease(made, wait=0),
    ):
        pytest.fail("two writers")
    assert lease.running(made).read_text() == before
    assert not lease.failed(made).exists()


def test_a_process_that_has_ended_is_followed(made):
    leave(made, gone())
    with Lease(made):
        assert lease.owner(lease.running(made))[0].pid == os.getpid()
    assert not lease.running(made).exists()


def test_a_process_that_was_not_waited_for_has_ended(made):
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    leave(made, replace(lease.this_process(), pid=process.pid, started=0))
    with Lease(made):
        pass
    process.wait()


def test_an_id_that_is_used_again_is_another_process(made, sleeper):
    leave(made, replace(sleeper, started=sleeper.started - 1))
    with Lease(made):
        assert lease.owner(lease.running(made))[0].pid == os.getpid()


def test_without_a_start_time_the_id_alone_decides(made, sleeper):
    leave(made, replace(sleeper, started=0))
    with pytest.raises(Refused), Lease(made, wait=0):
        pass


def test_a_living_process_is_waited_for_and_what_it_made_is_found(made, sleeper, caplog):
    leave(made, sleeper)

    def end():
        time.sleep(0.3)
        made.write_text("its record")
        lease.running(made).unlink()

    other = threading.Thread(target=end)
    other.start()
    with Lease(made):
        assert made.read_text() == "its record"
    other.join()
    assert caplog.text.count(f"waits for process {sleeper.pid} on ") == 1


def test_a_process_that_is_killed_while_others_wait_is_followed(made, sleeper):
    leave(made, sleeper)
    killer = threading.Timer(0.2, os.kill, (sleeper.pid, signal.SIGKILL))
    killer.start()
    with Lease(made, wait=20):
        assert lease.owner(lease.running(made))[0].pid == os.getpid()
    killer.join()


def test_who_waited_holds_it_only_since_then(made, sleeper):
    leave(made, sleeper)
    held = Lease(made)
    held.owner = replace(held.owner, since="long ago")
    other = threading.Timer(0.2, lease.running(made).unlink)
    other.start()
    with held:
        assert lease.owner(lease.running(made))[0].elapsed < 60
        assert lease.owner(lease.running(made))[0].since.endswith("+00:00")
    other.join()


ELSEWHERE = [
    {"host": "another"},
    {"namespace": "pid:[1]"},
    # a machine of the same name, whose first namespace has the same name on every machine
    {"boot": "another"},
    {"boot": ""},
    {"namespace": ""},
    {"boot": "", "namespace": ""},
]


@pytest.mark.parametrize("change", ELSEWHERE)
# its clock may be another one, and ours may have been set back
@pytest.mark.parametrize("age", [0.0, LONG_AGO, -LONG_AGO])
def test_of_another_host_or_container_the_next_touch_decides_whatever_the_clocks_say(
    made, change, age
):
    other = replace(gone(), **change)  # that nobody here has this id says nothing
    leave(made, other, age=age)
    with (
        pytest.raises(Refused, match=f"process {other.pid} on {other.host}"),
        Lease(made, wait=lease.PATIENCE / 2),
    ):
        pass
    began = time.monotonic()
    with Lease(made):
        assert lease.owner(lease.running(made))[0].pid == os.getpid()
    assert time.monotonic() - began >= lease.PATIENCE


@pytest.mark.parametrize("change", ELSEWHERE)
def test_a_process_of_another_host_boot_or_container_that_touches_its_lease_lives(made, change):
    other = replace(gone(), **change)
    leave(made, other, age=LONG_AGO)
    ended = threading.Event()

    def beat():
        count = 0
        while not ended.wait(0.05):
            count += 1
            leave(made, other, age=LONG_AGO - count)

    beating = threading.Thread(target=beat)
    beating.start()
    with pytest.raises(Refused), Lease(made, wait=4 * lease.PATIENCE):
        pass
    ended.set()
    beating.join()
    assert lease.owner(lease.running(made))[0] == other


@pytest.fixture
def fast(monkeypatch):
    """A lease is touched whenever its holder says that it goes on."""
    monkeypatch.setattr(lease, "RENEW", 0.0)


@pytest.fixture
def anonymous(monkeypatch):
    """This process where no machine tells its boot and its namespace."""
    here = replace(lease.this_process(), boot="", namespace="")
    monkeypatch.setattr(lease, "this_process", lambda: here)
    return here


@pytest.mark.parametrize("change", [{}, {"since": "then"}, {"pid": 1}])
def test_where_no_place_is_known_no_id_decides_not_even_our_own(made, anonymous, change):
    """Two containers of the same name have process 1 each."""
    other = replace(anonymous, **change)
    leave(made, other, age=LONG_AGO)
    with pytest.raises(Refused, match="still making"), Lease(made, wait=lease.PATIENCE / 2):
        pass
    assert lease.owner(lease.running(made))[0] == other
    began = time.monotonic()
    with Lease(made, wait=20):
        assert time.monotonic() - began >= lease.PATIENCE
        assert lease.owner(lease.running(made))[0].pid == anonymous.pid
    assert not lease.running(made).exists()


def test_where_no_place_is_known_a_takeover_by_the_same_id_is_noticed(made, anonymous, fast):
    other = replace(anonymous, since="later")

    def run():
        with Lease(made) as held:
            held.beat()
            leave(made, other)
            held.beat()

    with pytest.raises(Refused, match="has taken over"):
        run()
    assert lease.owner(lease.running(made))[0] == other


HOLD = """
import sys, time
from pathlib import Path
from workflow.run import lease
lease.RENEW = 0.02
with lease.Lease(Path(sys.argv[1])) as held:
    print("held", flush=True)
    while True:
        held.beat()
        time.sleep(0.02)
"""


@pytest.fixture
def contained(made):
    """contained(options) -> a process in a namespace of process ids of its own that holds the
    lease, and who it says it is.
    """
    started = []

    def start(*options):
        command = ["unshare", "--pid", "--fork", *options]
        try:
            subprocess.run([*command, "true"], check=True, capture_output=True)
        except (FileNotFoundError, subprocess.CalledProcessError):
            pytest.skip("expected a machine on which `unshare --pid` is permitted")
        process = subprocess.Popen(
            [*command, sys.executable, "-c", HOLD, str(made)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout.readline() == b"held\n"
        return process, lease.owner(lease.running(made))[0]

    yield start
    for process in started:
        end(process)


def end(process):
    """Kill a process and what it has started, unless that was done."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process.stdout.close()


def test_a_process_in_another_namespace_is_waited_for_until_it_is_gone(made, contained):
    process, owner = contained("--mount-proc")
    here = lease.this_process()
    assert (owner.host, owner.boot, owner.pid) == (here.host, here.boot, 1)
    assert owner.namespace not in (here.namespace, "")
    with (
        pytest.raises(Refused, match=r"process 1 on .* is still making this record"),
        Lease(made, wait=4 * lease.PATIENCE),
    ):
        pass
    assert lease.owner(lease.running(made))[0] == owner
    end(process)
    began = time.monotonic()
    with Lease(made, wait=20):
        assert time.monotonic() - began >= lease.PATIENCE
        assert lease.owner(lease.running(made))[0].pid == os.getpid()


def test_a_process_that_sees_the_ids_of_another_namespace_does_not_say_where_its_own_holds(
    made, contained
):
    """Its start time would be that of another process."""
    _, owner = contained()
    assert (owner.pid, owner.namespace) == (1, "")
    with pytest.raises(Refused, match="process 1 on"), Lease(made, wait=2 * lease.PATIENCE):
        pass
    assert lease.owner(lease.running(made))[0] == owner


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"pid": 1, "colour": "red"}',
        '{"pid": "1"}',
        '{"pid": 1, "since": null}',
        json.dumps({**asdict(lease.this_process()), "pid": "7"}),
        json.dumps({**asdict(lease.this_process()), "pid": 0}),
    ],
    ids=range(9),
)
def test_a_lease_that_is_not_written_to_the_end_is_respected_for_a_while(made, text):
    leave(made, text)
    with (
        pytest.raises(Refused, match="a process that it does not name is still making this record"),
        Lease(made, wait=0),
    ):
        pass
    with Lease(made):
        assert lease.owner(lease.running(made))[0].pid == os.getpid()


def test_a_full_disk_leaves_no_lease_that_others_would_wait_for(made, monkeypatch):
    def full(self):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Lease, "_text", full)
    with (
        pytest.raises(
            Refused, match="No space left on device: make room on the disk, then run again"
        ),
        Lease(made),
    ):
        pass
    assert list(made.parent.iterdir()) == []


@pytest.mark.parametrize("pid", [-1, 2**70])
def test_an_id_that_no_process_can_have_is_none(made, pid):
    leave(made, replace(lease.this_process(), pid=pid))
    with Lease(made, wait=20):
        assert lease.owner(lease.running(made))[0].pid == os.getpid()


def test_a_full_disk_at_a_takeover_leaves_no_lease_either(made, monkeypatch):
    def full(self):
        raise OSError(errno.ENOSPC, "No space left on device")

    leave(made, gone())
    monkeypatch.setattr(Lease, "_text", full)
    with pytest.raises(Refused, match="make room on the disk"), Lease(made):
        pass
    assert list(made.parent.iterdir()) == []


def test_a_link_to_nowhere_in_the_place_of_a_lease_is_told(made):
    made.parent.mkdir()
    lease.running(made).symlink_to("nowhere")
    with pytest.raises(Refused, match=r"a file 3\.running .* got a link to nowhere: remove it"):
        Lease(made).__enter__()
    assert not Path(made.parent, "nowhere").exists()


def _contend(made, rounds, ready, tried, won):
    for _ in range(rounds):
        ready.wait()
        try:
            with Lease(made, wait=0 if not lease.running(made).exists() else lease.PATIENCE * 2):
                won.put(os.getpid())
                tried.wait()
        except Refused:
            tried.wait()
        if ready.wait() == 0:  # all are out
            leave(made, Owner("another", pid=1), age=LONG_AGO)
        ready.wait()


@pytest.mark.parametrize("dead", [False, True])
def test_of_many_that_want_it_at_once_one_gets_it(made, dead):
    context, many, rounds = multiprocessing.get_context("fork"), 6, 8
    ready, tried, won = context.Barrier(many), context.Barrier(many), context.Queue()
    if dead:
        leave(made, Owner("another", pid=1), age=LONG_AGO)
    count = rounds if dead else 1  # later rounds find what `_contend` leaves
    processes = [
        context.Process(target=_contend, args=(made, count, ready, tried, won)) for _ in range(many)
    ]
    for process in processes:
        process.start()
    winners = [won.get(timeout=20) for _ in range(count)]
    for process in processes:
        process.join(20)
    assert won.empty() and len(winners) == count
    assert all(process.exitcode == 0 for process in processes)


def test_a_lease_is_touched_when_its_holder_says_that_it_goes_on(made, fast):
    path = lease.running(made)
    with Lease(made) as held:
        os.utime(path, (0, 0))
        held.beat()
        assert path.stat().st_mtime > time.time() - 60


def test_a_lease_is_not_touched_more_often_than_needed(made, monkeypatch):
    path = lease.running(made)
    with Lease(made) as held:
        os.utime(path, (0, 0))
        held.beat()
        assert path.stat().st_mtime == 0
        now = time.monotonic() + lease.RENEW + 1
        monkeypatch.setattr(lease.time, "monotonic", lambda: now)
        held.beat()
        assert path.stat().st_mtime > 0


def test_holding_a_lease_starts_no_thread(made):
    before = threading.active_count()
    with Lease(made):
        assert threading.active_count() == before


def test_a_run_stops_where_another_has_taken_over_and_leaves_that_ones_lease(made, fast):
    other = Owner("another", pid=7, since="then")

    def run():
        with Lease(made) as held:
            leave(made, other)
            held.beat()

    with pytest.raises(
        Refused, match=r"3\.parquet: process 7 on another \(since then\) has taken over, since this"
    ):
        run()
    assert lease.owner(lease.running(made))[0] == other
    assert not lease.failed(made).exists()


def test_a_lease_that_somebody_removed_is_taken_again(made, fast):
    with Lease(made) as held:
        lease.running(made).unlink()
        held.beat()
        assert lease.owner(lease.running(made))[0] == held.owner
    assert not lease.running(made).exists()


def test_a_disk_that_is_away_for_a_while_ends_no_run(made, fast, monkeypatch):
    def away(*_):
        raise OSError(errno.ESTALE, "Stale file handle")

    with Lease(made) as held:
        with monkeypatch.context() as patch:
            patch.setattr(lease.os, "utime", away)
            held.beat()
        with monkeypatch.context() as patch:
            patch.setattr(lease, "owner", away)
            held.beat()
        os.utime(lease.running(made), (0, 0))
        held.beat()
        assert lease.running(made).stat().st_mtime > 0


def test_a_failure_is_told_passed_on_and_forgotten_after_a_success(made):
    held = Lease(made)
    held.saved = 40
    with pytest.raises(ZeroDivisionError, match="by hand"), held:
        raise ZeroDivisionError("by hand")
    told = lease.failure(lease.failed(made))
    assert told == Failure("by hand", "ZeroDivisionError", told.time, 40)
    assert told.time.endswith("+00:00")
    assert lease.platform.node() not in lease.failed(made).read_text()
    assert not lease.running(made).exists()
    with Lease(made):
        assert lease.failed(made).exists()  # until it is known better
    assert list(made.parent.iterdir()) == []
    assert lease.failure(lease.failed(made)) is None


def test_halves_of_files_of_a_child_that_was_killed_go_with_the_lease(made):
    saved = lease.checkpoint(made)
    with lease.Lease(made):
        saved.parent.mkdir(mode=0o700)
        for path in (made, lease.failed(made), saved):
            path.with_name(f".{path.name}.abc.part").write_text("half of it")
        of_another = made.with_name(".1.parquet.abc.part")
        of_another.write_text("half of it")
        saved.write_text("whole")
    assert sorted(path.name for path in made.parent.rglob("*") if path.is_file()) == [
        of_another.name,
        saved.name,
    ]


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(143)])
def test_to_be_ended_is_no_failure(made, end):
    with pytest.raises(type(end)), Lease(made):
        raise end
    assert list(made.parent.iterdir()) == []


def test_an_error_without_words_is_named(made):
    with pytest.raises(MemoryError), Lease(made):
        raise MemoryError
    assert lease.failure(lease.failed(made)).error == "MemoryError"


def test_a_note_that_is_damaged_is_a_failure_all_the_same(made):
    made.parent.mkdir()
    lease.failed(made).write_text("{")
    assert "cannot be read" in lease.failure(lease.failed(made)).error


def test_the_error_of_a_run_is_seen_also_where_no_note_can_be_written(made, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Read-only file system")

    monkeypatch.setattr(lease, "atomic", refuse)
    with pytest.raises(ZeroDivisionError, match="by hand"), Lease(made):
        raise ZeroDivisionError("by hand")
    assert not lease.running(made).exists()


def test_where_nobody_can_write_a_finished_record_is_used_and_a_missing_one_is_refused_at_once(
    made, monkeypatch
):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Lease, "_take", refuse)
    with (
        pytest.raises(Refused, match="expected a file that can be written, got Permission denied"),
        Lease(made),
    ):
        pytest.fail("it would be lost at its end")
    made.write_bytes(b"a record")
    with Lease(made) as held:
        held.beat()
    assert list(made.parent.iterdir()) == [made]


def test_a_file_in_the_place_of_the_folder_is_a_sentence(made):
    made.parent.write_text("not a folder")
    with pytest.raises(Refused, match="expected a file that can be written"), Lease(made):
        pass


def test_it_costs_next_to_nothing(made):
    began = time.process_time()
    for _ in range(100):
        with Lease(made) as held:
            held.beat()
    assert time.process_time() - began < 100 * 5e-3  # 0.3 ms each where nothing else runs
