"""Downloads: curl brings a http(s) URL to NAME.part and goes on where it broke off; the file is
verified, and only then moved into place.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import time
import urllib.parse
from contextlib import suppress
from pathlib import Path
from typing import IO

from workflow.data.manifest import File
from workflow.data.places import DataUnavailable, without_credentials, writing
from workflow.data.raw_file import Rejected, bound, say, verify

CONNECT = 5  # seconds, for without a network the substitute must come soon
# fewer bytes a second for so many seconds, of headers or of the file: given up
RATE, WINDOW = 20_000, 60
ATTEMPTS = 8  # at one file; what has come is kept for the next call
PAUSE = 0.25  # seconds before another attempt, doubled with each
LOOK, TELL = 1.0, 30.0  # seconds between looks at what has come, and between lines on it
OPTIONS = (
    *("--disable", "--silent", "--show-error", "--fail", "--globoff", "--location"),
    *("--proto", "=http,https", "--proto-redir", "=http,https", "--max-redirs", "10"),
    *("--user-agent", "noregret (replication of published experiments)"),
    *("--continue-at", "-", "--write-out", "%{http_code}", "--config", "-"),
)
# what curl returns, and HTTP statuses
NOT_WRITTEN, NOT_FROM_THERE, TOO_MUCH = 23, 33, 63
BROKEN_OFF = (16, 18, 52, 55, 56, 92)
BUSY, NOTHING_BEYOND = ("429", "500", "502", "503", "504"), "416"


class _Again(Rejected):
    """What another attempt may mend."""


def download(url: str, target: Path, wanted: File) -> None:
    """Bring the file behind a http(s) URL to `target`.

    The URL may hold a name and a password, which go to its host alone. What has come of a file
    whose checksum is known is kept for the next call. Another process that brings the same file is
    waited for.

    Raises Rejected, or DataUnavailable if it cannot be written.
    """
    _check_address(url)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = _locked(target.with_name(f"{target.name}.part"))
    part = Path(lock.name)
    with lock:
        try:
            if not _is_there(target, wanted):  # unless by the process that was waited for
                _fill(part, url, wanted, lock.fileno())
                with writing(target):
                    os.fsync(lock.fileno())
                    part.replace(target)
        finally:
            if _is_at(part, lock) and not (wanted.sha256 and part.stat().st_size):
                part.unlink()


def _check_address(url: str) -> None:
    """Refuse a name or a password that is not escaped. Raises Rejected."""
    try:
        parts = urllib.parse.urlsplit(url)
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        _ = parts.port  # raises where it is none
        if not parts.hostname or plain != without_credentials(url):
            raise ValueError
    except ValueError:
        raise Rejected(
            "expected a URL such as https://user:password@host:443/folder; in a name or a password"
            " write @ as %40, : as %3A, / as %2F, ? as %3F and # as %23"
        ) from None


def _locked(path: Path) -> IO[bytes]:
    """The file at `path`, made where there is none, for this process alone."""
    while True:
        file = path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{path}: another process is downloading this file; waiting until it is done")
            fcntl.flock(file, fcntl.LOCK_EX)
        if _is_at(path, file):
            return file
        file.close()  # moved into place or removed while we waited for its lock


def _is_at(path: Path, file: IO[bytes]) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    return False


def _is_there(target: Path, wanted: File) -> bool:
    with suppress(Rejected):
        verify(target, wanted)
        return True
    return False


def _fill(part: Path, url: str, wanted: File, lock: int) -> None:
    """Ask until the part is the file. Raises Rejected, or DataUnavailable."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _attempt(part, url, wanted, lock)
            break
        except _Again as reason:
            if attempt == ATTEMPTS:
                raise
            say(f"{without_credentials(url)}: {reason}; trying again")
            time.sleep(PAUSE * 2**attempt)


def _attempt(part: Path, url: str, wanted: File, lock: int) -> None:
    """Ask once, unless everything has come, and verify. Raises Rejected, or DataUnavailable."""
    # a checksum alone shows that two halves are of one file
    held = part.stat().st_size if wanted.sha256 else 0
    os.truncate(part, held)
    if not 0 < wanted.bytes <= held:
        _ask(part, url, wanted, lock)
    try:
        verify(part, wanted)
    except Rejected as reason:
        os.truncate(part, 0)  # these bytes would never become right
        raise (_Again if held else Rejected)(str(reason)) from None


def _ask(part: Path, url: str, wanted: File, lock: int) -> None:
    """Ask once for what is missing, and append what comes. Raises Rejected, or DataUnavailable.

    A curl that outlives this process holds the file `lock`, so that nobody else writes there.
    """
    held, shown = part.stat().st_size, without_credentials(url)
    size = f"{wanted.bytes} bytes" if wanted.bytes else "a file of unknown size"
    say(f"downloading {size} from {shown}" + (f", from byte {held} on" if held else ""))
    limits = {
        "--connect-timeout": CONNECT,
        "--speed-limit": RATE,
        "--speed-time": WINDOW,
        "--max-filesize": bound(wanted),
    }
    asked = [str(word) for option in limits.items() for word in option]
    try:
        curl = subprocess.Popen(
            ["curl", *OPTIONS, *asked, "--output", str(part)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=[lock],
        )
    except FileNotFoundError:
        raise Rejected("expected the program curl in PATH, found none: install it") from None
    last_line, come = time.monotonic(), held
    # a process list shows arguments, not what a pipe holds
    written = f"url = {json.dumps(url, ensure_ascii=False)}"
    with curl:
        while True:
            try:
                status, said = curl.communicate(written, timeout=LOOK)
                break
            except subprocess.TimeoutExpired:
                written, come = "", part.stat().st_size
            if come > bound(wanted):  # before curl 8.4, of a size that the server does not say
                curl.kill()
            if time.monotonic() - last_line >= TELL:
                last_line = time.monotonic()
                say(f"{shown}: {come / 1e6:.1f} MB")
    code = TOO_MUCH if come > bound(wanted) else curl.returncode
    _check_end(code, status, said.strip(), part, wanted)


def _check_end(code: int, status: str, said: str, part: Path, wanted: File) -> None:
    """What the end of curl means. Raises Rejected, or DataUnavailable."""
    if code == NOT_WRITTEN or code < 0:
        raise DataUnavailable(
            f"{part}: cannot be written ({said or f'signal {-code} ended curl'}): expected a folder"
            " with room that we may write to"
        )
    if code == NOT_FROM_THERE or status == NOTHING_BEYOND:
        os.truncate(part, 0)
        raise _Again(said)
    if code in BROKEN_OFF or (code and status in BUSY):
        raise _Again(said)
    if code == TOO_MUCH:
        raise Rejected(f"expected {wanted.bytes or 'fewer'} bytes, got more than {bound(wanted)}")
    if code:
        raise Rejected(said)
