"""Downloads: a http(s) URL is streamed to NAME.part, gone on with where it broke off, verified, and
only then moved into place.

The time-outs of requests are for one read each, and a server that sends a byte now and then meets
them for ever. All headers, all bytes, and their mean rate therefore have limits of their own.
"""

from __future__ import annotations

import fcntl
import math
import os
import threading
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import requests
import urllib3.exceptions

from workflow.data.manifest import File
from workflow.data.places import DataUnavailable, without_credentials, writing
from workflow.data.raw_file import CHUNK, Rejected, bound, say, verify

HOURS = "NOREGRET_DOWNLOAD_HOURS"  # of one file, in the environment
# all below in seconds, and bytes a second
# for a connection, since without a network the substitute must come soon; and for each read
TIMEOUT = 3.0, 20.0
# for the headers, with look-up, redirections and attempts: three times the silence above
HEAD = 60.0
# with less after so many seconds 100 MB would take a day
RATE, WINDOW = 1000.0, 30.0
# all attempts at one file: ten minutes, and what a poor line takes (7 hours for the largest file)
GRACE, PACE, UNKNOWN = 600.0, 20e3, 6 * 3600.0
PAUSE = 0.25  # before another attempt, doubled with each that brought nothing new
ATTEMPTS = 3  # in a row that bring nothing new
STATUSES = 429, 500, 502, 503, 504  # worth another attempt
HEADERS = {
    "User-Agent": "noregret (replication of published experiments)",
    "Accept-Encoding": "identity",
}


class _Again(Rejected):
    """What another attempt may mend."""


def download(text: str, target: Path, wanted: File) -> None:
    """Bring the file behind a http(s) URL to `target`.

    The URL may hold a name and a password, which go to its host alone. What has come of a file
    whose checksum is known is kept for the next call. Another process that brings the same file is
    waited for.

    Raises Rejected, or DataUnavailable if it cannot be written.
    """
    seconds = _seconds(wanted.bytes)
    url, credentials = _taken_apart(text)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        part = _locked(target.with_name(f"{target.name}.part"))
    with part:
        try:
            if not _is_there(target, wanted):  # unless by the process that was waited for
                end = time.monotonic() + seconds
                _Transfer(url, credentials, target, part, wanted, end).fill()
                with writing(target):
                    os.fsync(part.fileno())
                    Path(part.name).replace(target)
        finally:
            is_kept = wanted.sha256 and part.seek(0, os.SEEK_END)
            if not is_kept and _is_at(Path(part.name), part):
                Path(part.name).unlink()


def _seconds(size: int) -> float:
    """How long a file of `size` bytes (0: not known) may take. Raises DataUnavailable."""
    said = os.environ.get(HOURS, "")
    if not said:
        return GRACE + size / PACE if size else UNKNOWN
    with suppress(ValueError):
        if 0 < (hours := float(said)) < math.inf:
            return 3600 * hours
    raise DataUnavailable(
        f"{HOURS}: expected a positive number of hours, got {said!r}: correct it, or unset it for a"
        " limit by the size of each file"
    )


def _taken_apart(text: str) -> tuple[str, tuple[str, str] | None]:
    """A URL without the name and the password in it, and these. Raises Rejected."""
    try:
        found = urllib.parse.urlsplit(text)
        plain = found._replace(netloc=found.netloc.rpartition("@")[2]).geturl()
        _ = found.port  # raises where it is none
        if not found.hostname or plain != without_credentials(text):
            raise ValueError
    except ValueError:
        raise Rejected(
            "expected a URL such as https://user:password@host:443/folder; in a name or a password"
            " write @ as %40, : as %3A, / as %2F, ? as %3F and # as %23"
        ) from None
    name, password = (  # the bytes that are meant, since requests sends Latin-1
        urllib.parse.unquote(part or "", "latin-1") for part in (found.username, found.password)
    )
    return plain, (name, password) if name else None


def _locked(path: Path) -> IO[bytes]:
    """The file at `path`, open for appending, for this process alone."""
    while True:
        file = path.open("a+b", buffering=0)
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


@dataclass(frozen=True)
class _Transfer:
    """One file on its way from a URL to the open file `part`, until `end` (time.monotonic)."""

    url: str
    credentials: tuple[str, str] | None
    target: Path
    part: IO[bytes]
    wanted: File
    end: float

    @property
    def size(self) -> int:
        """Bytes that have come."""
        return self.part.seek(0, os.SEEK_END)

    def fill(self) -> None:
        """Ask until the part is the file; only attempts in a row that bring nothing new count.

        Raises Rejected.
        """
        best, idle = self.size, 0
        while True:
            try:
                return self._attempt()
            except _Again as reason:
                self._check_time()
                idle = 0 if self.size > best else idle + 1
                best = max(best, self.size)
                if idle == ATTEMPTS:
                    raise
                say(f"{self.url}: {reason}; trying again")
                time.sleep(PAUSE * 2**idle)

    def _check_time(self) -> None:
        if time.monotonic() >= self.end:
            raise Rejected(
                f"too slow: expected the whole file within its time, got {self.size} bytes; {HOURS}"
                " says how long to wait"
            )

    def _attempt(self) -> None:
        # a checksum alone shows that two halves are of one file
        held = self.size if self.wanted.sha256 else 0
        if not 0 < self.wanted.bytes <= held:
            self._append(held)
        try:
            verify(Path(self.part.name), self.wanted)
        except Rejected as reason:
            self.part.truncate(0)  # these bytes would never become right
            raise (_Again if held else Rejected)(str(reason)) from None

    def _append(self, held: int) -> None:
        """Ask once for what is missing, from byte `held` on, and append what comes."""
        size = f"{self.wanted.bytes} bytes" if self.wanted.bytes else "a file of unknown size"
        say(f"downloading {size} from {self.url}" + (f", from byte {held} on" if held else ""))
        with _answer(self.url, self.credentials, held, self.end) as response:
            self._agree(response, held)
            first, begun = self.size, time.monotonic()
            spoke = begun
            while self.size <= bound(self.wanted) and (chunk := response.raw.read1(CHUNK)):
                with writing(self.target):
                    while chunk:  # a disk that is nearly full takes less than all
                        chunk = chunk[self.part.write(chunk) :]
                if (now := time.monotonic()) - spoke >= WINDOW:
                    rate, spoke = (self.size - first) / (now - begun), now
                    if rate < RATE:
                        raise Rejected(
                            f"too slow: expected at least {RATE:g} bytes a second, got {rate:.1f}"
                        )
                    say(f"{self.url}: {self.size / 1e6:.1f} MB, {rate / 1e6:.1f} MB/s")
            self._check_time()

    def _agree(self, response: requests.Response, held: int) -> None:
        """Raises Rejected if the answer is not the file, from byte `held` or from its begin on."""
        found = response.headers.get("Content-Range", "")
        if held and response.status_code == 206 and found.startswith(f"bytes {held}-"):
            return
        said = f"HTTP {response.status_code} {response.reason} {found}".strip()
        if held and response.status_code in (206, 416):
            self.part.truncate(0)
            raise _Again(f"expected the file from byte {held} on, got {said}")
        if response.status_code != 200:
            raise (_Again if response.status_code in STATUSES else Rejected)(said)
        self.part.truncate(0)


@contextmanager
def _answer(
    url: str, credentials: tuple[str, str] | None, held: int, end: float
) -> Iterator[requests.Response]:
    """The answer to a request for the bytes from `held` on, which breaks off at `end`. Every
    failure of the network becomes Rejected.
    """
    answer: Future[requests.Response] = Future()
    headers = HEADERS | ({"Range": f"bytes={held}-"} if held else {})

    def ask() -> None:
        session = requests.Session()
        session.max_redirects = 10
        session.hooks["response"].append(_close_redirection)
        try:
            answer.set_result(
                session.get(url, headers=headers, auth=credentials, timeout=TIMEOUT, stream=True)
            )
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()  # headers may trickle for ever
    seconds = min(HEAD, end - time.monotonic())
    try:
        with answer.result(seconds) as response:
            hang_up = threading.Timer(end - time.monotonic(), response.raw.shutdown)
            hang_up.start()
            try:
                yield response
            finally:
                hang_up.cancel()
    except TimeoutError:
        raise Rejected(f"too slow: expected an answer within {seconds:.3g} s, got none") from None
    except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError) as error:
        if isinstance(cause := error.args[0], urllib3.exceptions.MaxRetryError):
            raise Rejected(f"no connection: {cause.reason}") from None
        raise _Again(f"{type(error).__name__}: {cause}") from None
    except (OSError, ValueError) as error:  # a wrong address, too many redirections
        raise Rejected(f"{type(error).__name__}: {error}") from None


def _close_redirection(response: requests.Response, **_: Any) -> None:
    """Requests would read all that a server says beside the new address, which may be endless."""
    if response.is_redirect:
        response.close()
