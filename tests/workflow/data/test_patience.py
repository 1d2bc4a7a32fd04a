"""Servers that never come to an end, each a real one, in plain text and encrypted: a download ends
with a sentence, what came is kept, and the next source is asked.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import sys
import time
from types import SimpleNamespace

import pytest

from tests.workflow import webserver
from tests.workflow.webserver import Answer, Rude
from workflow.data import download as module
from workflow.data import fetch, manifest, patience
from workflow.data.download import download
from workflow.data.partial import Rejected
from workflow.data.patience import Clock, Limits, chosen_limits
from workflow.data.places import DataUnavailable, Prepared

BODY = random.Random(0).randbytes(200_000)
ACCEPTED = {hashlib.sha256(BODY).hexdigest(): len(BODY)}
SHORT = Limits(silence=0.3, head=1.5, head_bytes=20_000, rate=5000.0, window=0.45, whole=2.5)
SOON = 8.0  # seconds in which every test of a limit has to end; a Rude server lasts twice as long

OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"Content-Length: %d\r\n\r\n" % len(BODY)
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
MOVED = b"HTTP/1.1 302 Found\r\nLocation: /on\r\n"
ANSWER, RATE = "too slow: expected an answer within 1.5 s", "too slow: expected at least 5000 bytes"
SILENT = "silent: expected something within 0.3 s, got nothing"
HEADERS = "expected an answer with at most 20000 bytes of headers, got more"
MANNERS = {  # what it sends at first, then for ever, with what pauses, and what is said of it
    "says nothing": (b"", b"", 0.01, SILENT),
    "falls silent within the headers": (OK, b"", 0.01, SILENT),
    "falls silent within the file": (SIZED + b"x", b"", 0.01, SILENT),
    "its status line trickles": (b"", b"H", 0.01, ANSWER),
    "its header trickles": (OK + b"a: ", b"b", 0.01, ANSWER),
    "its header lines trickle": (OK, b"a: b\r\n", 0.02, ANSWER),
    "continues now and then": (b"", CONTINUE, 0.05, ANSWER),
    "continues at once": (b"", CONTINUE * 99, 0.0, HEADERS),
    "one long status line": (b"", b"H" * 999, 0.0, HEADERS),
    "many header lines": (OK, b"a: b\r\n" * 9, 0.0, "got more than 100 headers"),
    "sends on without an end": (
        MOVED + b"Content-Length: 0\r\nConnection: close\r\n\r\n",
        None,
        0.0,
        "HTTP 302 The HTTP server returned a redirect error that would lead to an infinite loop",
    ),
    "sends on with an endless text": (MOVED + b"\r\n", b"x" * 999, 0.0, HEADERS),
    "sends on with a text that trickles": (MOVED + b"\r\n", b"x", 0.01, ANSWER),
    "sends on to another kind of server": (
        OK.replace(b"200", b"302") + b"Location: ftp://127.0.0.1/x\r\n\r\n",
        None,
        0.0,
        "expected to be sent on to http or https, got ftp://127.0.0.1/x",
    ),
    "the file trickles": (SIZED, b"x", 0.01, RATE),
    "a file of any size trickles": (OK + b"\r\n", b"x", 0.01, RATE),
    "a chunk's size trickles": (CHUNKED, b"0", 0.01, RATE),
    "chunks of extensions": (CHUNKED, b"1;" + b"a" * 9999 + b"\r\nx\r\n", 0.01, RATE),
    "lines behind the last chunk": (CHUNKED + b"1\r\nx\r\n0\r\n", b"a: b\r\n", 0.001, RATE),
    "more than the least rate": (
        SIZED,
        b"x" * 300,
        0.01,
        "too slow: expected all of it within 2.5 s",
    ),
}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(module, "WAITS", (0.01, 0.01))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("no openssl in PATH: no server can be encrypted")
    return webserver.certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def rude(request, monkeypatch):
    """Start a server with one of MANNERS, encrypted or not."""
    started = []

    def start(manner: str, *, encrypted: bool = False) -> Rude:
        first, then, pause, _ = MANNERS[manner]
        papers = request.getfixturevalue("certificate") if encrypted else None
        if papers:
            monkeypatch.setenv("SSL_CERT_FILE", str(papers))
        started.append(Rude(first, then, pause, papers))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("manner", MANNERS)
def test_a_server_without_an_end_is_given_up_in_time_with_a_sentence(
    rude, tmp_path, manner, encrypted
):
    running = rude(manner, encrypted=encrypted)
    start = time.monotonic()
    with pytest.raises(Rejected) as refused:
        download(f"{running.url}/file", tmp_path / "raw" / "x", ACCEPTED, SHORT)
    assert time.monotonic() - start < SOON
    assert MANNERS[manner][-1] in str(refused.value)
    assert 1 <= running.asked <= 11
    assert {path.name for path in (tmp_path / "raw").iterdir()} <= {"x.part", "x.part.json"}


def test_an_encrypted_file_comes_whole(tmp_path, certificate, monkeypatch):
    """The tests above fail to get one for the reasons that they state alone."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    running = Rude(SIZED + BODY, None, certificate=certificate)
    download(f"{running.url}/file", tmp_path / "x", ACCEPTED, SHORT)
    running.close()
    assert (tmp_path / "x").read_bytes() == BODY


def test_a_server_that_says_nothing_behind_a_connection_is_no_encrypted_one(tmp_path, monkeypatch):
    """It takes the connection and answers no greeting."""
    monkeypatch.setattr(module, "_unreachable", lambda *_: "")
    running = Rude(b"", b"")
    start = time.monotonic()
    with pytest.raises(Rejected, match="silent: expected something within"):
        download(running.url.replace("http:", "https:"), tmp_path / "x", ACCEPTED, SHORT)
    running.close()
    assert time.monotonic() - start < SOON


@pytest.mark.parametrize(
    "manner", ["says nothing", "its status line trickles", "its header lines trickle"]
)
@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
def test_a_proxy_without_an_end_is_given_up_too(rude, tmp_path, monkeypatch, manner, encrypted):
    """Which for an encrypted page answers before there is any encryption."""
    scheme = "https" if encrypted else "http"
    running = rude(manner)
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv(f"{scheme}_proxy", running.url)
    start = time.monotonic()
    with pytest.raises(Rejected) as refused:
        download(f"{scheme}://example.invalid/file", tmp_path / "x", ACCEPTED, SHORT)
    assert time.monotonic() - start < SOON and running.asked >= 1
    assert "silent: " in str(refused.value) or "expected an answer w" in str(refused.value)


def test_a_byte_for_each_connection_is_not_progress_enough(server, tmp_path):
    """Each attempt brings something new, and so none of them is counted."""
    url = server.serve("/file", Answer(BODY, ranges=True, sends=1))
    start = time.monotonic()
    with pytest.raises(Rejected, match="too slow: expected all of it within 1 s"):
        download(url, tmp_path / "x", ACCEPTED, Limits(whole=1.0))
    assert 1 <= time.monotonic() - start < SOON and server.hits["/file"] > 3


def test_what_came_before_the_limit_is_gone_on_with(server, tmp_path):
    target, slow = tmp_path / "x", Answer(BODY, ranges=True, etag='"a"', pause=0.001)
    with pytest.raises(Rejected, match="too slow: expected all of it"):
        download(server.serve("/file", slow), target, ACCEPTED, Limits(whole=0.5))
    held = (tmp_path / "x.part").stat().st_size
    assert 0 < held < len(BODY) and BODY.startswith((tmp_path / "x.part").read_bytes())
    url = server.serve("/file", Answer(BODY, ranges=True, etag='"a"'))
    download(url, target, ACCEPTED, SHORT)
    assert target.read_bytes() == BODY and server.asked[-1]["Range"] == f"bytes={held}-"


@pytest.mark.parametrize("manner", ["continues now and then", "the file trickles", "says nothing"])
def test_the_next_source_is_asked_when_one_has_no_end(
    rude, server, tmp_path, monkeypatch, capsys, manner
):
    """Of the mirror and the URLs of a data set."""
    monkeypatch.setattr(module, "chosen_limits", lambda: SHORT)
    digest = next(iter(ACCEPTED))
    wanted = manifest.File("toy/x", digest, len(BODY))
    sources = [manifest.Source(url) for url in (f"{rude(manner).url}/x", server.serve("/x", BODY))]
    monkeypatch.setenv("NOREGRET_DATA", rude(manner).url)
    monkeypatch.setitem(
        sys.modules, "tiny", SimpleNamespace(parse=lambda *_: Prepared(None, "", ""))
    )
    monkeypatch.setitem(fetch.FORMATS, "tiny", "tiny")
    none = manifest.Substitute("", "")
    dataset = manifest.Dataset("toy", "", "", "", (wanted,), tuple(sources), none, format="tiny")
    tried: list[str] = []
    start = time.monotonic()
    found = fetch._table(dataset, tmp_path, tried, unverified=False)
    assert time.monotonic() - start < 2 * SOON
    assert found.source == sources[1].url
    assert (tmp_path / "data" / "raw" / "toy" / "x").read_bytes() == BODY
    said = MANNERS[manner][-1]
    # what was here, what ships, the mirror and the first URL
    assert [said in line for line in tried] == [False, False, True, True]
    assert capsys.readouterr().err.count(f"toy: {sources[0].url}: {said}") == 1


def test_words_of_a_server_move_no_cursor(tmp_path):
    running = Rude(b"HTTP/1.1 404 \x1b[2J\x9b\r\nContent-Length: 0\r\n\r\n", None)
    with pytest.raises(Rejected) as refused:
        download(f"{running.url}/file", tmp_path / "x", ACCEPTED, SHORT)
    running.close()
    assert str(refused.value) == r"HTTP 404 \x1b[2J\x9b"


# the limits themselves


def test_a_large_file_may_take_long_and_one_of_unknown_size_some_hours():
    limits = Limits()
    assert limits.seconds(10) == pytest.approx(600, abs=1)
    assert limits.seconds(522_767_376) == pytest.approx(600 + 522_767_376 / 20e3)
    assert limits.seconds(0) == 6 * 3600
    assert limits.rate < limits.pace  # who is never refused by one is not by the other at once


@pytest.mark.parametrize(("said", "seconds"), [("", 600.0), ("24", 86400.0), ("0.5", 1800.0)])
def test_the_environment_says_how_long_a_file_may_take(monkeypatch, said, seconds):
    monkeypatch.setenv(patience.HOURS, said)
    assert chosen_limits().seconds(1) == pytest.approx(seconds, abs=1e-3)


@pytest.mark.parametrize("said", ["soon", "0", "-1", "nan", "inf", "1h"])
def test_hours_that_are_none_are_told(server, tmp_path, monkeypatch, said):
    monkeypatch.setenv(patience.HOURS, said)
    with pytest.raises(DataUnavailable) as refused:
        download(server.serve("/file", BODY), tmp_path / "x", ACCEPTED)
    assert server.hits["/file"] == 0
    assert f"NOREGRET_DOWNLOAD_HOURS: expected a positive number of hours, got {said!r}" in str(
        refused.value
    )


def test_a_window_that_was_fast_enough_is_followed_by_a_new_one(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    clock = Clock(Limits(silence=20, rate=10, window=30, whole=1000), 1)
    clock.answered()
    clock.brought(10_000)
    now[0] = 30.0
    assert clock.left() == 20
    now[0] = 59.0
    clock.brought(1)
    now[0] = 60.0
    with pytest.raises(Rejected, match=r"expected at least 10 bytes a second, got 1 in 30\.0 s"):
        clock.left()
    clock.asked()  # as every attempt does
    now[0] = 119.0
    assert clock.left() == pytest.approx(1)
    now[0] = 1000.0
    with pytest.raises(Rejected, match="expected all of it within 1000 s, got 10001 bytes"):
        clock.left()
