"""Downloads: a http(s) URL is streamed to a file, resumed where it broke off, verified, and only
then moved into place. Whatever a server does, each ends within the limits of `patience`.
"""

from __future__ import annotations

import http.client
import io
import queue
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from workflow.data.partial import Part, Rejected, bound, part_of, say, verify
from workflow.data.patience import Clock, Limits, chosen_limits
from workflow.data.places import without_credentials

WAITS = (0.3, 0.6)  # seconds before the second and third attempt in a row that brought nothing new
CONNECT = (
    2.5  # seconds for name look-up and connection: without a network the substitute must come soon
)
# progress: not within 5 s of the last line; then after 5 % or a minute
PAUSE, STEP, LONGEST = 5.0, 0.05, 60.0
CHUNK = 1 << 16


class Discontinued(Rejected):
    """A server that does not go on from where the part ends."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, transient=True)


@dataclass(frozen=True)
class Address:
    """A http(s) URL whose text, and all that is printed or kept of it, is without a name and a
    password; those are for its server alone.
    """

    url: str
    user: str = ""
    password: str = ""

    def __str__(self) -> str:
        return self.url

    @classmethod
    def of(cls, text: str) -> Address:
        """Take a URL apart. Raises Rejected."""
        try:
            found = urllib.parse.urlsplit(text)
            host = found.netloc.rpartition("@")[2]
            _ = found.port  # raises where it is none
            plain = found._replace(netloc=host).geturl()
            if not found.hostname or plain != without_credentials(text):
                raise ValueError
        except ValueError:
            raise Rejected(
                "expected a URL such as https://user:password@host:443/folder; in a name or a"
                " password write @ as %40, : as %3A, / as %2F, ? as %3F and # as %23"
            ) from None
        secrets = (urllib.parse.unquote(part or "") for part in (found.username, found.password))
        return cls(plain, *secrets)

    def opener(self, clock: Clock) -> urllib.request.OpenerDirector:
        """What asks for it and reads under a clock. The credentials go to this host alone, wherever
        it sends us on to.
        """
        known = urllib.request.HTTPPasswordMgrWithPriorAuth()
        if self.user:
            known.add_password(
                None, urllib.parse.urljoin(self.url, "/"), self.user, self.password, True
            )
        return urllib.request.build_opener(
            urllib.request.HTTPBasicAuthHandler(known), _Plain(clock), _Secure(clock), _Redirect()
        )


class _Reader(io.RawIOBase):
    """What a socket receives, every piece of it under a clock: http.client reads a line, and the
    headers of all answers before the last one, for as long as bytes come.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, clock: Clock) -> None:
        self._raw, self._sock, self._clock = raw, sock, clock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._clock.left())
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError:
            self._clock.left()  # raises Rejected unless it was mere silence
            raise
        self._clock.received(count or 0)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """An answer, of the server or of a proxy, that is read under a clock; encrypted or not."""

    def __init__(self, clock: Clock, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_Reader(self.fp.detach(), sock, clock))


def _connection(clock: Clock, kind: Any, host: str, **options: Any) -> http.client.HTTPConnection:
    made: http.client.HTTPConnection = kind(host, **options)
    made.response_class = partial(_Response, clock)  # type: ignore[assignment]
    return made


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        return super().do_open(partial(_connection, self._clock, http_class), req, **options)


class _Secure(urllib.request.HTTPSHandler):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        return super().do_open(partial(_connection, self._clock, http_class), req, **options)


class _Redirect(urllib.request.HTTPRedirectHandler):
    """Follows to http and https alone: what urllib reads by FTP knows no clock."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme not in ("http", "https"):
            fp.close()
            raise Rejected(f"expected to be sent on to http or https, got {newurl[:200]}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(
    text: str, target: Path, accepted: Mapping[str, int], limits: Limits | None = None
) -> None:
    """Bring the file behind a http(s) URL to `target`; raises Rejected, or DataUnavailable where it
    cannot be written.

    `accepted` maps the sha256 of each version that will do to its size (0: not known). A URL may
    hold a name and a password. `limits` are those of the environment unless given; a download that
    exceeds them ends, and what has come is kept for the next one.
    """
    limits = limits or chosen_limits()
    url = Address.of(text)
    if reason := _closed(url.url):
        raise Rejected(reason)
    with part_of(target) as part:
        if not _brought(target, accepted):
            _complete(url, part, accepted, Clock(limits, max(accepted.values())))
            part.move(target)


def _brought(target: Path, accepted: Mapping[str, int]) -> bool:
    """Whether the file is there already:
    another process may have brought it while this one waited.
    """
    try:
        verify(target, accepted)
    except Rejected:
        return False
    return True


def _complete(url: Address, part: Part, accepted: Mapping[str, int], clock: Clock) -> None:
    """Fill the part until it is the file; one that was put together and is wrong is asked for once
    more, from zero.
    """
    _receive(url, part, accepted, clock)
    mixed = part.mixed
    try:
        return part.verify(accepted)
    except Rejected as reason:
        if not mixed:
            raise
        say(f"{url}: {reason}; starting over")
    _receive(url, part, accepted, clock)
    return part.verify(accepted)


def _receive(url: Address, part: Part, accepted: Mapping[str, int], clock: Clock) -> None:
    """Ask for what is missing until all has arrived; only attempts in a row that bring nothing new
    are counted, and the clock of the whole file goes on.
    """
    best, idle = part.held(url.url), 0
    while not 0 < max(accepted.values()) <= part.size:
        try:
            return _append(url, part, accepted, clock)
        except Rejected as rejected:
            if isinstance(rejected, Discontinued):
                part.restart()
            held = part.held(url.url)
            best, idle = max(best, held), 0 if held > best else idle + 1
            if not rejected.transient or idle > len(WAITS):
                raise
            say(f"{url}: {rejected}; trying again")
            time.sleep(WAITS[max(idle - 1, 0)])
    return None


def _append(url: Address, part: Part, accepted: Mapping[str, int], clock: Clock) -> None:
    """Ask once for what is missing and append what comes.

    Raises Rejected if that is not all of it.
    """
    held = part.held(url.url)
    say(
        f"downloading {_size(max(accepted.values()))} from {url}"
        + (f", from byte {held} on" if held else "")
    )
    with _answer(url, held, str(part.note.get("validator", "")), clock) as response:
        announced = _agree(response, url, part, held)
        progress = _Progress(part.size, announced or max(accepted.values()))
        while chunk := response.read1(CHUNK):
            part.append(chunk)
            clock.brought(len(chunk))
            if part.size > bound(accepted):
                part.restart()
                raise Rejected(
                    f"expected {max(accepted.values()) or 'fewer'} bytes, got more than"
                    f" {bound(accepted)}"
                )
            progress.tell(part.size)
    if part.size < (expected := announced or min(accepted.values())):
        raise Rejected(f"truncated: expected {expected} bytes, got {part.size}", transient=True)
    if part.size < min(accepted.values()):  # all that this server has: nothing to go on from
        part.verify(accepted)


@contextmanager
def _answer(
    url: Address, held: int, validator: str, clock: Clock
) -> Iterator[http.client.HTTPResponse]:
    """The answer to a request for the bytes from `held` on; every failure of the network becomes
    Rejected.
    """
    headers = {"User-Agent": "noregret (replication of published experiments)"}
    if held:
        headers |= {"Range": f"bytes={held}-"} | ({"If-Range": validator} if validator else {})
    clock.asked()
    try:
        request = urllib.request.Request(url.url, headers=headers)
        with url.opener(clock).open(request, timeout=clock.left()) as response:
            clock.answered()
            yield response
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and held:
            raise Discontinued(f"HTTP 416 {error.reason}") from None
        transient = error.code >= 500 or error.code == 429
        said = " ".join(str(error.reason).split())  # urllib's own words take several lines
        raise Rejected(f"HTTP {error.code} {said}", transient=transient) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise Rejected(clock.silent, transient=True) from None
        raise Rejected(f"{type(error).__name__}: {error}", transient=True) from None


def _agree(response: http.client.HTTPResponse, url: Address, part: Part, held: int) -> int:
    """Make the part fit an answer, continued or from zero; returns the size of the whole file, 0 if
    not announced.
    """
    validator = _validator(response)
    if response.status == 206:
        total = _continued(response, held)
        if (
            not total
            or part.note.get("size") not in (0, total)
            or validator not in ("", part.note.get("validator"))
        ):
            got = response.headers.get("Content-Range", "no Content-Range")
            raise Discontinued(
                f"expected the same file from byte {held} on, got {got}; starting over"
            )
        part.mixed = True
        return total
    if response.status != 200:
        raise Rejected(f"expected HTTP 200, got {response.status} {response.reason}")
    total = response.length or 0
    part.restart(url=url.url, validator=validator, size=total)
    return total


def _continued(response: http.client.HTTPResponse, held: int) -> int:
    """The size of the whole file if an answer begins at byte `held` of it, else 0."""
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers.get("Content-Range", ""))
    if not held or not found or int(found[1]) != held:
        return 0
    return int(found[2]) + 1 if found[3] == "*" else int(found[3])


def _validator(response: http.client.HTTPResponse) -> str:
    """What If-Range may name: a strong ETag or else the date of the last change."""
    tag = response.headers.get("ETag", "")
    return str(tag if tag.startswith('"') else response.headers.get("Last-Modified", ""))


def _size(count: int) -> str:
    """A number of bytes for people."""
    if not count:
        return "a file of unknown size"
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count} bytes"


class _Progress:
    """Says now and then how far a long transfer is."""

    def __init__(self, arrived: int, total: int) -> None:
        self.begun = self.spoke = time.monotonic()
        self.first = self.said = arrived
        self.total = total

    def tell(self, arrived: int) -> None:
        now = time.monotonic()
        soon, little = now - self.spoke < PAUSE, arrived - self.said < STEP * self.total
        if soon or (little and now - self.spoke < LONGEST and arrived != self.total):
            return
        rate = (arrived - self.first) / max(now - self.begun, 1e-3)
        line = f"{arrived / 1e6:.1f} MB at {rate / 1e6:.1f} MB/s"
        if self.total:
            left = (self.total - arrived) / rate
            line = (
                f"{arrived / self.total:4.0%} of {self.total / 1e6:.1f} MB, {line}, {left:.0f} s"
                " left"
            )
        say(line)
        self.spoke, self.said = now, arrived


def _closed(url: str) -> str:
    """Why asking for a URL is pointless, "" if it is not."""
    try:
        address = urllib.parse.urlsplit(url)
        port = address.port or (443 if address.scheme == "https" else 80)
    except ValueError as error:
        return f"not a URL: {error}"
    return (
        ""
        if address.scheme in urllib.request.getproxies()
        else _unreachable(address.hostname or "", port)
    )


@cache
def _unreachable(host: str, port: int) -> str:
    """Why no connection to a host can be had, "" if one can; found out once per process and within
    CONNECT seconds.
    """
    answer: queue.SimpleQueue[str] = queue.SimpleQueue()

    def knock() -> None:
        reason = ""
        for wait in (*WAITS, 0.0):
            try:
                socket.create_connection((host, port), timeout=CONNECT).close()
                return answer.put("")
            except OSError as error:
                reason = f"no connection to {host}: {error.strerror or error}"
                if error.errno == socket.EAI_NONAME:  # no such host, or no network to ask for one
                    break
            time.sleep(wait)
        return answer.put(reason)

    threading.Thread(
        target=knock, daemon=True
    ).start()  # a name look-up knows no time limit of its own
    try:
        return answer.get(timeout=CONNECT)
    except queue.Empty:
        return f"no connection to {host} within {CONNECT:g} s"
