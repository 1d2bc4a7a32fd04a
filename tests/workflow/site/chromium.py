"""A headless Chromium with one page, driven by Playwright, which heeds what the page complains of
and asks for.
"""

import os
import shutil
import time
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
BAD = ("error", "warning", "assert")
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
LIMIT = 45_000  # milliseconds that any one answer may take


def find():
    """The path of a Chromium, "" where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


@contextmanager
def started():
    """The one page of a browser, which ends with it."""
    how = {"executable_path": find(), "chromium_sandbox": os.geteuid() != 0}
    with sync_playwright() as playwright, playwright.chromium.launch(**how) as browser:
        yield Chromium(browser.new_page())


class Chromium:
    """The one page of a browser."""

    def __init__(self, page):
        self.complaints = []  # of what is open: console errors, warnings, exceptions
        self.requests = []  # all URLs that it asked for
        self._page = page
        page.set_default_timeout(LIMIT)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        self._protocol = page.context.new_cdp_session(page)

    def _heard(self, message):
        if message.type in BAD:
            self.complaints.append(f"{message.text} {message.location.get('url', '')}".strip())

    def open(self, url, width=1280, height=900, *, mobile=False):
        """Load a page in a window of this size and wait until it is idle; what was heard of the
        last one is forgotten.
        """
        self.resize(width, height, mobile=mobile)
        self._page.goto("about:blank")  # since a link within the same page loads nothing
        self.complaints.clear()
        self.requests.clear()
        self._page.goto(url, wait_until="networkidle")

    def resize(self, width, height, *, mobile=False):
        """Make the window another one."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def evaluate(self, script):
        """The value of an expression, or of the promise that it makes."""
        return self._page.evaluate(script)

    def each(self, selector, value="each.textContent"):
        """An expression of `each`, for every element that a CSS selector finds."""
        return self.evaluate(f"[...document.querySelectorAll({selector!r})].map((each) => {value})")

    def wait(self, script):
        """Wait until an expression is true; the pages' policy refuses Playwright's own way."""
        end = time.monotonic() + LIMIT / 1000
        while not self.evaluate(f"Boolean({script})"):
            assert time.monotonic() < end, f"{script} stayed false"
            self._page.wait_for_timeout(50)
        self.evaluate(PAINTED)

    def click(self, selector):
        """Press the mouse in the middle of the first element that a CSS selector finds."""
        self._page.click(selector)
        self.evaluate(PAINTED)

    def hover(self, selector):
        """Move the mouse to the middle of the first element that a CSS selector finds."""
        self._page.hover(selector)

    def press(self, key):
        """Press a key where the focus is."""
        self._page.keyboard.press(key)
        self.evaluate(PAINTED)

    def barriers(self):
        """What of the page breaks rules of WCAG or good practice, by axe-core: the rule, and the
        first element.
        """
        found = Axe().run(self._page, options={"preload": False}).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]

    def call(self, method, **parameters):
        """The result of a command of the DevTools protocol."""
        return self._protocol.send(method, parameters)
