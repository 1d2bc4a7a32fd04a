"""Downloads from a local server: transfers that break off or have no end, and what they leave."""

import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.workflow.webserver import Answer, Rude
from workflow.data import download as module
from workflow.data.download import download
from workflow.data.manifest import File
from workflow.data.places import DataUnavailable
from workflow.data.raw_file import Rejected
from workflow.plan.resolve import ROOT

BODY = random.Random(0).randbytes(1_000_000)
OTHER = random.Random(1).randbytes(1_000_000)


def a_file(body):
    return File(path="file.bin", sha256=hashlib.sha256(body).hexdigest(), bytes=len(body))


WANTED = a_file(BODY)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "raw" / "file.bin"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "*")


def broken_off(server, target, body, size):
    """Let a download of /file break off for good after `size` bytes; its URL."""
    url = server.serve("/file", Answer(body, sends=size), Answer(status=404))
    with pytest.raises(Rejected, match="404"):
        download(url, target, WANTED)
    assert part(target).stat().st_size == size and not target.exists()
    return url


def part(target):
    return target.with_name(f"{target.name}.part")


def left(target):
    return {path.name for path in target.parent.iterdir()}


# whole files


def test_a_file_is_verified_and_alone_in_its_folder(server, target, capsys):
    url = server.serve("/file", BODY)
    download(url, target, WANTED)
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert "Range" not in server.asked[0]
    assert capsys.readouterr().err == f"fetch: downloading 1000000 bytes from {url}\n"


def test_what_is_there_and_right_is_not_asked_for(server, target):
    url = server.serve("/file", BODY)
    target.parent.mkdir()
    target.write_bytes(OTHER)
    download(url, target, WANTED)
    download(url, target, WANTED)
    assert target.read_bytes() == BODY and server.hits["/file"] == 1


def test_a_wrong_file_is_asked_for_once_and_leaves_nothing(server, target):
    with pytest.raises(Rejected) as caught:
        download(server.serve("/file", OTHER), target, WANTED)
    got = a_file(OTHER).sha256
    wrong = f"expected sha256 {WANTED.sha256} (1000000 bytes), got sha256 {got} (1000000 bytes)"
    assert wrong in str(caught.value)
    assert server.hits["/file"] == 1 and left(target) == set()


def test_a_file_of_unknown_size_is_accepted(server, target):
    download(server.serve("/file", BODY), target, WANTED.model_copy(update={"bytes": 0}))
    assert target.read_bytes() == BODY


def test_a_place_that_cannot_be_written_is_named_and_not_asked_for_again(server, target):
    target.parent.write_text("a file where a folder must be")
    url = server.serve("/file", BODY)
    with pytest.raises(DataUnavailable, match=r"raw/file\.bin: cannot be written"):
        download(url, target, WANTED)
    assert server.hits["/file"] == 0


def test_a_full_disk_is_not_taken_for_a_broken_connection(server, target):
    url = server.serve("/file", Answer(BODY, pause=0.001))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(DataUnavailable, match="cannot be written"):
            download(url, target, WANTED)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert server.hits["/file"] == 1 and part(target).stat().st_size == 1_000


# connections that break off


def test_a_dropped_connection_is_resumed(server, target):
    download(server.serve("/file", Answer(BODY, ranges=True, sends=150_000)), target, WANTED)
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.hits["/file"] == 7 and server.sent == len(BODY)
    ranges = [asked["Range"] for asked in server.asked[:3]]
    assert ranges == [None, "bytes=150000-", "bytes=300000-"]


def test_a_server_that_ignores_ranges_starts_over(server, target):
    download(server.serve("/file", Answer(BODY, sends=400_000), BODY), target, WANTED)
    assert target.read_bytes() == BODY
    assert [asked["Range"] for asked in server.asked] == [None, "bytes=400000-", None]


@pytest.mark.parametrize("status", [503, 429])
def test_a_server_that_is_busy_is_asked_again(server, target, status):
    busy = Answer(status=status)
    download(server.serve("/file", busy, busy, BODY), target, WANTED)
    assert target.read_bytes() == BODY
    target.unlink()
    with pytest.raises(Rejected, match=f"error: {status}"):
        download(server.serve("/file", busy), target, WANTED)
    assert server.hits["/file"] == module.ATTEMPTS


def test_attempts_end_and_what_came_is_kept(server, target):
    url = server.serve("/file", Answer(BODY, sends=400_000, ranges=True), Answer(BODY, sends=0))
    with pytest.raises(Rejected, match=r"Empty reply|transfer closed"):
        download(url, target, WANTED)
    assert server.hits["/file"] == module.ATTEMPTS and left(target) == {"file.bin.part"}


@pytest.mark.parametrize("sha256", [WANTED.sha256, ""])
def test_a_later_call_goes_on_where_a_checksum_shows_that_this_is_right(server, target, sha256):
    broken_off(server, target, BODY, 600_000)
    url = server.serve("/file", Answer(BODY, ranges=True))
    download(url, target, WANTED.model_copy(update={"sha256": sha256}))
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.asked[-1]["Range"] == ("bytes=600000-" if sha256 else None)


@pytest.mark.parametrize("whole", [True, False], ids=["its curl, too", "itself alone"])
def test_a_later_call_goes_on_after_a_kill(server, target, whole):
    """A curl that outlives its process is waited for."""
    url = server.serve("/file", Answer(BODY, ranges=True, pause=0.0001))
    call = (
        "import sys; from pathlib import Path; from workflow.data.manifest import File; from"
        " workflow.data.download import download; download(sys.argv[1], Path(sys.argv[2]),"
        " File.model_validate_json(sys.argv[3]))"
    )
    command = [sys.executable, "-c", call, url, str(target), WANTED.model_dump_json()]
    how = {"cwd": ROOT, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, **how) as process:
        end = time.monotonic() + 600
        while time.monotonic() < end and not (
            part(target).exists() and part(target).stat().st_size > 5000
        ):
            time.sleep(0.01)
        if whole:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    held = part(target).stat().st_size
    assert 5000 < held < len(BODY)
    download(server.serve("/file", Answer(BODY, ranges=True)), target, WANTED)
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.hits["/file"] == whole
    assert not whole or server.asked[-1]["Range"] == f"bytes={held}-"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(BODY, refuses=416),
        Answer(BODY, says="bytes 0-999999/1000000"),
        Answer(BODY[600_001:], says="bytes 600001-999999/1000000"),
        Answer(OTHER, ranges=True),
    ],
    ids=["416", "from 0", "off by one", "another version"],
)
def test_a_server_that_does_not_go_on_where_we_are_is_asked_from_zero(server, target, answer):
    broken_off(server, target, BODY, 600_000)
    download(server.serve("/file", answer, BODY), target, WANTED)
    assert target.read_bytes() == BODY and server.hits["/file"] == 2
    assert server.asked[-2]["Range"] == "bytes=600000-" and server.asked[-1]["Range"] is None


def test_a_server_that_never_goes_on_is_given_up(server, target):
    url = server.serve("/file", Answer(BODY, refuses=416, sends=600_000))
    with pytest.raises(Rejected):
        download(url, target, WANTED)
    assert server.hits["/file"] == module.ATTEMPTS


def test_a_resumed_file_that_stays_wrong_is_reported_and_removed(server, target):
    broken_off(server, target, OTHER, 400_000)
    url = server.serve("/file", Answer(OTHER, ranges=True))
    with pytest.raises(Rejected, match=f"got sha256 {a_file(OTHER).sha256}"):
        download(url, target, WANTED)
    assert server.hits["/file"] == 2 and left(target) == set()


def test_a_complete_part_needs_no_server(server, target):
    target.parent.mkdir()
    part(target).write_bytes(BODY)
    download(server.serve("/file", BODY), target, WANTED)
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.hits["/file"] == 0


# two at once


def test_two_at_once_download_once(server, target, capsys):
    body = BODY[:2000]
    url = server.serve("/file", Answer(body, pause=0.01))
    call = {"target": download, "args": (url, target, a_file(body))}
    threads = [threading.Thread(**call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_bytes() == body and left(target) == {"file.bin"}
    assert server.hits["/file"] == 1
    assert capsys.readouterr().err.count("another process is downloading this file; waiting") >= 1


def test_who_waited_for_a_wrong_file_begins_anew(server, target):
    body = BODY[:1000]
    url = server.serve("/file", Answer(OTHER[:1000], pause=0.02), body)

    def refused():
        with pytest.raises(Rejected):
            download(url, target, a_file(body))

    first = threading.Thread(target=refused)
    first.start()
    while not server.sent:
        time.sleep(0.01)
    download(url, target, a_file(body))
    first.join()
    assert target.read_bytes() == body and left(target) == {"file.bin"}
    assert server.hits["/file"] == 2


# servers without an end

OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"Content-Length: %d\r\n\r\n" % len(BODY)
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
MOVED = b"HTTP/1.1 302 Found\r\nLocation: /on\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
SLOW = "Operation too slow"
MANNERS = {  # what it sends at first, then for ever, with what pauses, and what is said of it
    "says nothing": (b"", b"", 0.01, SLOW),
    "falls silent within the file": (SIZED + b"x", b"", 0.01, SLOW),
    "its header trickles": (OK + b"a: ", b"b", 0.01, SLOW),
    "continues now and then": (b"", CONTINUE, 0.05, SLOW),
    "sends on without an end": (MOVED, None, 0.0, "Maximum .* redirects"),
    "sends on to another kind of server": (
        OK.replace(b"200", b"302") + b"Location: ftp://127.0.0.1/x\r\n\r\n",
        None,
        0.0,
        "ftp.* (not supported|disabled)",
    ),
    "the file trickles": (SIZED, b"x", 0.01, SLOW),
    "a chunk's size trickles": (CHUNKED, b"0", 0.01, "chunked-encoding"),
    "lines behind the last chunk": (CHUNKED + b"1\r\nx\r\n0\r\n", b"a: b\r\n", 0.001, SLOW),
}


@pytest.mark.parametrize("manner", MANNERS)
def test_a_server_without_an_end_is_given_up_in_time_with_a_sentence(target, monkeypatch, manner):
    monkeypatch.setattr(module, "WINDOW", 1)
    first, then, pause, said = MANNERS[manner]
    running = Rude(first, then, pause)
    with pytest.raises(Rejected, match=said):
        download(f"{running.url}/file", target, WANTED)
    assert running.lasts  # else it has ended by itself
    running.close()
    assert 1 <= running.asked <= 11 and left(target) <= {"file.bin.part"}


def test_a_file_that_says_to_be_much_larger_is_not_begun(server, target):
    with pytest.raises(Rejected, match="expected 1000 bytes, got more than"):
        download(server.serve("/file", bytes(8 << 20)), target, a_file(BODY[:1000]))
    assert server.sent < 8 << 20 and server.hits["/file"] == 1 and left(target) == set()


def test_an_endless_file_of_unknown_size_is_cut_off(target, monkeypatch):
    monkeypatch.setattr(module, "LOOK", 0.01)
    running = Rude(CHUNKED, b"2000\r\n" + b"x" * 0x2000 + b"\r\n", 0.0)
    with pytest.raises(Rejected, match="got more than"):
        download(f"{running.url}/file", target, WANTED)
    running.close()
    assert left(target) <= {"file.bin.part"}


def test_without_curl_the_sentence_says_so(server, target, monkeypatch):
    monkeypatch.setenv("PATH", str(target.parent))
    with pytest.raises(Rejected, match="expected the program curl in PATH, found none: install it"):
        download(server.serve("/file", BODY), target, WANTED)
    assert left(target) == set()
