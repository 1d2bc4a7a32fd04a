"""Downloads against a local server: every way a transfer can break off, and what is left for the
next one.
"""

import hashlib
import json
import random
import resource
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from tests.workflow import webserver
from workflow.data import download as module
from workflow.data.download import download
from workflow.data.partial import Rejected
from workflow.data.patience import Limits
from workflow.data.places import DataUnavailable

Answer = webserver.Answer

REPOSITORY = Path(__file__).resolve().parents[3]
BODY = random.Random(0).randbytes(1_000_000)
OTHER = random.Random(1).randbytes(1_000_000)


def accept(*bodies: bytes) -> dict[str, int]:
    return {hashlib.sha256(body).hexdigest(): len(body) for body in bodies}


@pytest.fixture
def target(tmp_path):
    return tmp_path / "raw" / "file.bin"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(module, "WAITS", (0.01, 0.01))
    monkeypatch.setenv("no_proxy", "*")


def broken_off(server, target, answer: Answer, size: int) -> str:
    """Let a download of /file break off for good after `size` bytes; its URL."""
    url = server.serve("/file", answer, Answer(status=404))
    with pytest.raises(Rejected, match="404"):
        download(url, target, accept(BODY))
    assert part(target).stat().st_size == size and not target.exists()
    return url


def part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def left(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir()}


# whole files


def test_a_file_is_verified_and_alone_in_its_folder(server, target):
    download(server.serve("/file", BODY), target, accept(OTHER, BODY))
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert "Range" not in server.asked[0]


def test_what_is_there_and_right_is_not_asked_for(server, target):
    url = server.serve("/file", BODY)
    target.parent.mkdir()
    target.write_bytes(OTHER)
    download(url, target, accept(BODY))
    download(url, target, accept(BODY))
    assert target.read_bytes() == BODY and server.hits["/file"] == 1


def test_a_wrong_file_is_asked_for_once_and_leaves_nothing(server, target):
    with pytest.raises(Rejected) as caught:
        download(server.serve("/file", OTHER), target, accept(BODY))
    expected, got = next(iter(accept(BODY))), next(iter(accept(OTHER)))
    assert f"expected sha256 {expected} (1000000 bytes), got sha256 {got} (1000000 bytes)" in str(
        caught.value
    )
    assert server.hits["/file"] == 1 and left(target) == set()


def test_a_file_of_unknown_size_is_accepted(server, target):
    download(server.serve("/file", BODY), target, dict.fromkeys(accept(BODY), 0))
    assert target.read_bytes() == BODY


def test_the_memory_does_not_grow_with_the_file(server, target):
    big = bytes(64 << 20)
    url, accepted = server.serve("/file", big), accept(big)
    tracemalloc.start()
    try:
        download(url, target, accepted)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert target.stat().st_size == len(big)
    assert peak < 4 << 20


def test_a_place_that_cannot_be_written_is_named_and_not_asked_for_again(server, target):
    target.parent.write_text("a file where a folder must be")
    url = server.serve("/file", BODY)
    with pytest.raises(DataUnavailable, match=r"raw/file\.bin: cannot be written"):
        download(url, target, accept(BODY))
    assert server.hits["/file"] == 0


def test_a_full_disk_is_not_taken_for_a_broken_connection(server, target):
    url, (soft, hard) = (
        server.serve("/file", Answer(BODY, pause=0.001)),
        resource.getrlimit(resource.RLIMIT_FSIZE),
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(
            DataUnavailable, match=r"file\.bin: cannot be written \(File too large\)"
        ):
            download(url, target, accept(BODY))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert server.hits["/file"] == 1 and part(target).stat().st_size == 1_000


# connections that break off


def test_a_dropped_connection_is_resumed_as_often_as_it_brings_something(server, target):
    dropping = Answer(BODY, ranges=True, etag='"a"', sends=150_000)
    download(server.serve("/file", dropping), target, accept(BODY))
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.hits["/file"] == 7 > len(module.WAITS) + 1
    assert server.sent == len(BODY)
    assert [asked["Range"] for asked in server.asked[:3]] == [
        None,
        "bytes=150000-",
        "bytes=300000-",
    ]
    assert server.asked[1]["If-Range"] == '"a"'


def test_a_server_that_ignores_ranges_starts_over(server, target):
    url = server.serve("/file", Answer(BODY, sends=400_000), BODY)
    download(url, target, accept(BODY))
    assert target.read_bytes() == BODY and server.sent == 1_400_000


def test_attempts_that_bring_nothing_new_end(server, target):
    # the first brings something, three do not
    url = server.serve("/file", Answer(BODY, sends=400_000))
    with pytest.raises(Rejected, match="truncated: expected 1000000 bytes, got 400000"):
        download(url, target, accept(BODY))
    assert server.hits["/file"] == 4
    assert left(target) == {"file.bin.part", "file.bin.part.json"}


def test_a_transfer_that_trickles_ends_and_is_kept(server, target, monkeypatch):
    monkeypatch.setattr(module, "chosen_limits", lambda: Limits(window=0.1, rate=1e6))
    url = server.serve("/file", Answer(BODY, ranges=True, pause=0.01))
    start = time.monotonic()
    with pytest.raises(Rejected, match=r"too slow: expected at least 1e\+06 bytes a second"):
        download(url, target, accept(BODY))
    assert time.monotonic() - start < 2 and server.hits["/file"] == 1
    held = part(target).stat().st_size
    assert 0 < held < 100_000
    download(server.serve("/file", Answer(BODY, ranges=True)), target, accept(BODY))
    assert target.read_bytes() == BODY and server.asked[-1]["Range"] == f"bytes={held}-"


def test_a_slow_transfer_above_the_least_rate_goes_on(server, target):
    body = BODY[:2000]  # forty pieces of 50 bytes, at most 5000 bytes a second
    url = server.serve("/file", Answer(body, pause=0.01))
    download(url, target, accept(body), Limits(window=0.05, rate=50.0))
    assert target.read_bytes() == body


# what a later call finds


def test_a_later_call_goes_on_where_the_first_gave_up(server, target):
    broken_off(server, target, Answer(BODY, etag='"a"', sends=600_000), 600_000)
    server.sent = 0
    download(server.serve("/file", Answer(BODY, etag='"a"', ranges=True)), target, accept(BODY))
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.sent == 400_000 and server.hits["/file"] == 1


def test_a_later_call_goes_on_after_a_kill(server, target):
    url = server.serve("/file", Answer(BODY, ranges=True, etag='"a"', pause=0.001))
    lines = (
        "import json, sys; from pathlib import Path; from workflow.data.download import download"
    )
    call = f"{lines}; download(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))"
    command = [sys.executable, "-c", call, url, str(target), json.dumps(accept(BODY))]
    with subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 10
        while (
            not (part(target).exists() and part(target).stat().st_size > 5000)
            and time.monotonic() < end
        ):
            time.sleep(0.01)
        process.kill()
    held = part(target).stat().st_size
    assert 5000 < held < len(BODY)
    download(server.serve("/file", Answer(BODY, ranges=True, etag='"a"')), target, accept(BODY))
    assert target.read_bytes() == BODY and server.asked[-1]["Range"] == f"bytes={held}-"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(BODY, refuses=416),
        Answer(BODY, says="bytes 0-999999/1000000"),
        Answer(BODY[600_001:], says="bytes 600001-999999/1000000"),
        Answer(BODY[600_000:], says="bytes 600000-1000000/1000001"),
        Answer(BODY[600_000:], says="nonsense"),
        Answer(OTHER, ranges=True, etag='"b"', heeds_if_range=False),
    ],
    ids=["416", "from 0", "off by one", "another size", "nonsense", "another version"],
)
def test_a_server_that_does_not_go_on_where_we_are_is_asked_from_zero(
    server, target, answer, capsys
):
    broken_off(server, target, Answer(BODY, etag='"a"', sends=600_000), 600_000)
    download(server.serve("/file", answer, BODY), target, accept(BODY))
    assert target.read_bytes() == BODY and server.hits["/file"] == 2
    assert server.asked[-2]["Range"] == "bytes=600000-" and server.asked[-1]["Range"] is None
    # it was found out before the bytes were mixed
    assert "got sha256" not in capsys.readouterr().err


def test_a_server_that_never_goes_on_is_given_up(server, target):
    url = server.serve("/file", Answer(BODY, refuses=416, sends=600_000))
    with pytest.raises(Rejected):
        download(url, target, accept(BODY))
    assert server.hits["/file"] < 8


def test_a_file_that_changed_between_attempts_starts_over(server, target):
    old = Answer(OTHER, etag='"old"', ranges=True, sends=400_000)
    download(
        server.serve("/file", old, Answer(BODY, etag='"new"', ranges=True)), target, accept(BODY)
    )
    assert target.read_bytes() == BODY
    assert server.hits["/file"] == 2 and server.asked[1]["If-Range"] == '"old"'


def test_a_weak_etag_is_no_condition(server, target):
    download(
        server.serve("/file", Answer(BODY, etag='W/"a"', ranges=True, sends=600_000)),
        target,
        accept(BODY),
    )
    assert server.asked[1]["Range"] and server.asked[1]["If-Range"] is None


def test_a_file_that_changed_unnoticed_is_asked_for_once_more_from_zero(server, target, capsys):
    broken_off(server, target, Answer(OTHER, sends=400_000), 400_000)
    download(server.serve("/file", Answer(BODY, ranges=True)), target, accept(BODY))
    assert target.read_bytes() == BODY and server.hits["/file"] == 2
    assert "starting over" in capsys.readouterr().err


def test_a_resumed_file_that_stays_wrong_is_reported_and_removed(server, target):
    broken_off(server, target, Answer(OTHER, sends=400_000), 400_000)
    url = server.serve("/file", Answer(OTHER, ranges=True))
    with pytest.raises(Rejected, match=f"got sha256 {next(iter(accept(OTHER)))}"):
        download(url, target, accept(BODY))
    assert server.hits["/file"] == 2 and left(target) == set()


def test_the_part_of_another_url_is_not_continued(server, target):
    broken_off(server, target, Answer(OTHER, sends=400_000), 400_000)
    download(server.serve("/elsewhere", Answer(BODY, ranges=True)), target, accept(BODY))
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.asked[-1]["Range"] is None and server.hits["/elsewhere"] == 1


@pytest.mark.parametrize("note", [None, "", "[]", "3", '{"url": 1}'])
def test_a_part_without_a_readable_note_is_not_continued(server, target, note):
    url = broken_off(server, target, Answer(OTHER, sends=400_000), 400_000)
    about = part(target).with_name("file.bin.part.json")
    about.unlink() if note is None else about.write_text(note)
    server.serve("/file", Answer(BODY, ranges=True))
    download(url, target, accept(BODY))
    assert target.read_bytes() == BODY and server.asked[-1]["Range"] is None


def test_a_complete_part_needs_no_server(server, target):
    target.parent.mkdir()
    part(target).write_bytes(BODY)
    download(server.serve("/file", BODY), target, accept(BODY))
    assert (
        target.read_bytes() == BODY and server.hits["/file"] == 0 and left(target) == {"file.bin"}
    )


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_around_the_move_loses_neither_the_file_nor_what_is_known_of_its_part(
    server, target, monkeypatch, when
):
    replace = Path.replace

    def killed(path, place):
        if when == "after":
            replace(path, place)
        raise Killed

    url = server.serve("/file", Answer(BODY, ranges=True, etag='"a"'))
    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(Killed):
        download(url, target, accept(BODY))
    monkeypatch.undo()
    note = json.loads(part(target).with_name("file.bin.part.json").read_text())
    assert note == {"url": url, "validator": '"a"', "size": len(BODY)}
    assert left(target) == {
        "file.bin.part.json",
        "file.bin.part" if when == "before" else "file.bin",
    }
    download(url, target, accept(BODY))
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.hits["/file"] == 1


def test_a_note_that_a_kill_left_behind_does_no_harm_to_another_file(server, target):
    target.parent.mkdir()
    note = {"url": server.serve("/file", Answer(BODY, ranges=True)), "validator": '"a"', "size": 3}
    part(target).with_name("file.bin.part.json").write_text(json.dumps(note))
    download(note["url"], target, accept(BODY))
    assert target.read_bytes() == BODY and left(target) == {"file.bin"}
    assert server.asked[-1]["Range"] is None and server.asked[-1]["If-Range"] is None


# two at once, and what people read


def test_two_at_once_download_once(server, target, capsys):
    body = BODY[:2000]
    url = server.serve("/file", Answer(body, pause=0.01))
    threads = [
        threading.Thread(target=download, args=(url, target, accept(body))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert target.read_bytes() == body and left(target) == {"file.bin"}
    assert server.hits["/file"] == 1
    assert capsys.readouterr().err.count("another process is downloading this file; waiting") >= 1


def test_who_waited_goes_on_with_what_another_gave_up(server, target, monkeypatch):
    gone = Answer(BODY, ranges=True, sends=20_000, pause=0.0005)
    url = server.serve("/file", gone, Answer(status=404), Answer(BODY, ranges=True))
    failures = []

    def call() -> None:
        try:
            download(url, target, accept(BODY))
        except Rejected as reason:
            failures.append(str(reason))

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert target.read_bytes() == BODY and len(failures) == 1
    assert server.asked[-1]["Range"] == "bytes=20000-"


def test_who_waited_for_a_wrong_file_begins_anew(server, target):
    body = BODY[:1000]
    url = server.serve("/file", Answer(OTHER[:1000], pause=0.02), body)

    def refused() -> None:
        with pytest.raises(Rejected):
            download(url, target, accept(body))

    first = threading.Thread(target=refused)
    first.start()
    while not server.sent:
        time.sleep(0.01)
    download(url, target, accept(body))
    first.join(10)
    assert target.read_bytes() == body and left(target) == {"file.bin"}
    assert server.hits["/file"] == 2


def test_a_small_file_is_one_line(server, target, capsys):
    url = server.serve("/file", BODY)
    download(url, target, accept(BODY))
    assert capsys.readouterr().err == f"fetch: downloading 1.0 MB from {url}\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (522_767_376, "522.8 MB"),
        (1_000_000, "1.0 MB"),
        (191_873, "191873 bytes"),
        (0, "a file of unknown size"),
    ],
)
def test_the_size_is_said_before_anything_is_asked(server, target, capsys, count, text):
    url = f"{server.url}/gone"
    with pytest.raises(Rejected, match="404"):
        download(url, target, {"0" * 64: count})
    assert capsys.readouterr().err == f"fetch: downloading {text} from {url}\n"


def test_what_is_gone_on_with_is_said(server, target, capsys):
    url = broken_off(server, target, Answer(BODY, sends=600_000), 600_000)
    capsys.readouterr()
    download(server.serve("/file", Answer(BODY, ranges=True)), target, accept(BODY))
    assert capsys.readouterr().err == f"fetch: downloading 1.0 MB from {url}, from byte 600000 on\n"


def test_a_long_transfer_says_how_far_it_is(server, target, capsys, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    body = BODY[:20_000]
    download(server.serve("/file", Answer(body, pause=0.0005)), target, accept(body))
    lines = capsys.readouterr().err.splitlines()[1:]
    assert 2 < len(lines) <= 1 / module.STEP + 1
    assert all(
        " of 0.0 MB, " in line and "MB/s" in line and line.endswith(" s left") for line in lines
    )
    percent = [int(line.partition("%")[0].split()[-1]) for line in lines]
    assert percent == sorted(percent) and percent[-1] == 100
