"""Drive a headless Chromium over the DevTools protocol through a pair of pipes, so that no package
is needed.

Messages are JSON objects that end in a NUL byte: the browser reads them from file descriptor 3 and
answers on 4.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-sync",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--mute-audio",
)
DOMAINS = ("Page", "Runtime", "Log", "Network")
# virtual key code, text that it types
KEYS = {"Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), " ": (32, " ")}
LIMIT = 45.0  # seconds that any one answer may take
QUIET = 0.1  # seconds without a message after which a loaded page counts as idle
Message = Mapping[str, Any]


class ChromiumError(RuntimeError):
    """The browser did not do what was asked, or not in time."""


def find() -> str:
    """The path of a Chromium, "" where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


class Chromium:
    """A browser with one page; a context manager that ends the browser and all that it started."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self.complaints: list[
            str
        ] = []  # of the page that is open: console errors and warnings, exceptions
        self.requests: list[str] = []  # all URLs that it asked for
        self._waiting = b""
        self._number = 0
        self._session = ""
        self._url = ""
        self._answers: dict[int, Message] = {}
        self._under_way: set[str] = set()  # requests
        self._loaded: set[str] = set()  # documents, by the number of what loads them

    def __enter__(self) -> Chromium:
        if not (program := find()):
            raise ChromiumError(
                f"expected one of {', '.join(NAMES)} in PATH, found none: install Chromium"
            )
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        there, self._out = _pipe()
        self._in, back = _pipe()
        # the sandbox refuses to start for root
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [program, *OPTIONS, *root, f"--user-data-dir={self._profile}", "about:blank"]
        actions = [
            *((os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_RDWR, 0) for end in range(3)),
            (os.POSIX_SPAWN_DUP2, there, 3),
            (os.POSIX_SPAWN_DUP2, back, 4),
        ]
        self._group = os.posix_spawn(
            program, command, os.environ, file_actions=actions, setsid=True
        )
        os.close(there)
        os.close(back)
        try:
            self._attach()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._group, signal.SIGKILL)
        os.waitpid(self._group, 0)
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, url: str, width: int = 1280, height: int = 900, *, mobile: bool = False) -> None:
        """Load a page in a window of this size and wait until it is idle; what was heard of the
        last one is forgotten.
        """
        self.resize(width, height, mobile=mobile)
        if url.partition("#")[0] == self._url.partition("#")[0]:
            # since a link within the same page loads nothing
            self.call("Page.navigate", url="about:blank")
        self._url = url
        self.complaints.clear()
        self.requests.clear()
        self._under_way.clear()
        found = self.call("Page.navigate", url=url)
        if "errorText" in found:
            raise ChromiumError(f"{url}: expected a page, got {found['errorText']}")
        self._settle(lambda: found["loaderId"] in self._loaded)

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Make the window another one."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def evaluate(self, script: str) -> Any:
        """The value of an expression, or of the promise that it makes.

        Raises ChromiumError with what it threw.
        """
        found = self.call(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        if "exceptionDetails" in found:
            raise ChromiumError(f"{script}: {_thrown(found['exceptionDetails'])}")
        return found["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + self.limit
        while not self.evaluate(f"Boolean({script})"):
            if time.monotonic() > end:
                raise ChromiumError(
                    f"expected {script} within {self.limit:g} s, but it stayed false"
                )
            self._message(QUIET / 2)

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of the first element that a CSS selector finds."""
        at = self._middle(selector)
        while at != (
            now := self._middle(selector)
        ):  # pictures that come into view are loaded and move what is below them
            at = now
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1
            )

    def press(self, key: str) -> None:
        """Press a key (one of KEYS) where the focus is."""
        code, text = KEYS[key]
        named = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def screenshot(self, path: Path, *, full: bool = True) -> None:
        """Write a PNG of the page, or of the part that the window shows."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(found["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def call(self, method: str, **parameters: Any) -> Message:
        """The result of a command of the protocol.

        Raises ChromiumError if it fails or takes too long.
        """
        self._number += 1
        number = self._number
        session = {"sessionId": self._session} if self._session else {}
        words = (
            json.dumps({"id": number, "method": method, "params": parameters, **session}).encode()
            + b"\0"
        )
        while words:
            words = words[os.write(self._out, words) :]
        self._listen(lambda: number in self._answers, f"an answer to {method}")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise ChromiumError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _middle(self, selector: str) -> list[float]:
        """Where an element is that has been brought into view."""
        found = f"document.querySelector({json.dumps(selector)})"
        if not self.evaluate(f"{found} !== null"):
            raise ChromiumError(f"expected an element {selector} to click, found none")
        self.evaluate(f"{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self._settle(lambda: True)
        return self.evaluate(
            "(({x, y, width, height}) => [x + width / 2, y + height /"
            f" 2])({found}.getBoundingClientRect())"
        )

    def _attach(self) -> None:
        pages = [
            target
            for target in self.call("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        ]
        page = (
            pages[0]["targetId"]
            if pages
            else self.call("Target.createTarget", url="about:blank")["targetId"]
        )
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in DOMAINS:
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def _settle(self, ready: Callable[[], bool]) -> None:
        """Wait until the page is ready, nothing is being loaded, and no message has come for a
        moment.
        """
        end = time.monotonic() + self.limit
        while self._message(QUIET) or self._under_way or not ready():
            if time.monotonic() > end:
                raise ChromiumError(
                    f"expected an idle page within {self.limit:g} s, got one that waits for"
                    f" {self._under_way}"
                )

    def _listen(self, done: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + self.limit
        while not done():
            left = end - time.monotonic()
            if left <= 0:
                raise ChromiumError(
                    f"expected {what} within {self.limit:g} s, got none: is the machine overloaded?"
                )
            self._message(left)

    def _message(self, patience: float) -> bool:
        """Take in one message; whether there was one within so many seconds."""
        while b"\0" not in self._waiting:
            if not select.select([self._in], [], [], patience)[0]:
                return False
            if not (part := os.read(self._in, 1 << 20)):
                raise ChromiumError(
                    "expected Chromium to go on, but it has ended: start it by hand to see why"
                )
            self._waiting += part
        first, _, self._waiting = self._waiting.partition(b"\0")
        message = json.loads(first)
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self._heard(message["method"], message["params"])
        return True

    def _heard(self, event: str, told: Message) -> None:
        """What an event of the page says: that it is loading or has loaded, asks for a file, or
        complains.
        """
        if event == "Page.lifecycleEvent" and told["name"] == "load":
            self._loaded.add(told["loaderId"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
            self._under_way.add(told["requestId"])
        elif event in ("Network.loadingFinished", "Network.loadingFailed"):
            self._under_way.discard(told["requestId"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(_thrown(told["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(
                " ".join(str(part.get("value", part.get("description"))) for part in told["args"])
            )
        elif event == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(
                f"{told['entry']['text']} {told['entry'].get('url', '')}".strip()
            )


def _pipe() -> tuple[int, int]:
    """A pipe whose ends lie above the descriptors that the browser reads."""
    low = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
    for end in low:
        os.close(end)
    return high[0], high[1]


def _thrown(details: Message) -> str:
    return str(details.get("exception", {}).get("description", details["text"]))
