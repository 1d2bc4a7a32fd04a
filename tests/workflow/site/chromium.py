"""A headless Chromium with one page, driven by Playwright, which heeds what the page complains of
and asks for.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
BAD = ("error", "warning", "assert")
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
LIMIT = 45_000  # milliseconds that any one answer may take


def find() -> str:
    """The path of a Chromium, "" where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


class Chromium:
    """A browser with one page; a context manager that ends the browser."""

    def __init__(self) -> None:
        self.complaints: list[str] = []  # of the open page: console errors, warnings, exceptions
        self.requests: list[str] = []  # all URLs that it asked for

    def __enter__(self) -> Chromium:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=find(), chromium_sandbox=os.geteuid() != 0
        )
        self._page = self._browser.new_page()
        self._page.set_default_timeout(LIMIT)
        self._page.on("console", self._heard)
        self._page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._page.on("request", lambda request: self.requests.append(request.url))
        self._protocol = self._page.context.new_cdp_session(self._page)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._browser.close()
        self._playwright.stop()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in BAD:
            self.complaints.append(f"{message.text} {message.location.get('url', '')}".strip())

    def open(self, url: str, width: int = 1280, height: int = 900, *, mobile: bool = False) -> None:
        """Load a page in a window of this size and wait until it is idle; what was heard of the
        last one is forgotten.
        """
        self.resize(width, height, mobile=mobile)
        self._page.goto("about:blank")  # since a link within the same page loads nothing
        self.complaints.clear()
        self.requests.clear()
        self._page.goto(url, wait_until="networkidle")

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Make the window another one."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def evaluate(self, script: str) -> Any:
        """The value of an expression, or of the promise that it makes."""
        return self._page.evaluate(script)

    def each(self, selector: str, value: str = "each.textContent") -> list[Any]:
        """An expression of `each`, for every element that a CSS selector finds."""
        return self.evaluate(f"[...document.querySelectorAll({selector!r})].map((each) => {value})")

    def wait(self, script: str) -> None:
        """Wait until an expression is true; the pages' policy refuses Playwright's own way."""
        end = time.monotonic() + LIMIT / 1000
        while not self.evaluate(f"Boolean({script})"):
            assert time.monotonic() < end, f"{script} stayed false"
            self._page.wait_for_timeout(50)
        self.evaluate(PAINTED)

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of the first element that a CSS selector finds."""
        self._page.click(selector)
        self.evaluate(PAINTED)

    def hover(self, selector: str) -> None:
        """Move the mouse to the middle of the first element that a CSS selector finds."""
        self._page.hover(selector)

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        self._page.keyboard.press(key)
        self.evaluate(PAINTED)

    def barriers(self) -> list[str]:
        """What of the page breaks rules of WCAG or good practice, by axe-core: the rule, and the
        first element.
        """
        found = Axe().run(self._page, options={"preload": False}).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]

    def call(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        """The result of a command of the DevTools protocol."""
        return self._protocol.send(method, parameters)
