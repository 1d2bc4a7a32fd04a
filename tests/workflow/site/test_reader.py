"""What a reviewer does in ten minutes, in a real browser: finds a claim, sends its address to
someone, prints a summary; on a desk, on a phone and with a keyboard.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from tests.workflow.site import chromium
from tests.workflow.site.chromium import Chromium
from workflow.plan.resolve import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not chromium.find(), reason="no Chromium in PATH: no page is opened"),
]
DESK, PHONE = (1280, 900), (390, 844)
CLAIM = "dumbo/claims/restricted-fail-on-rover.html"
READ = "dumbo/claims/add-dumbo-below-dumbo.html"  # under another reading, too
SHOWN = "[...document.querySelectorAll('#found > li')].filter((line) => !line.hidden).length"
# every text on an opaque ground, with its contrast (WCAG 2.2)
FAINT = """(() => {
  const light = (colour) => colour.map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const found = parts(getComputedStyle(each).backgroundColor);
      if (found.length === 3) return found;
    }
    return [255, 255, 255];
  };
  const said = [...document.querySelectorAll("body *")].filter((each) => each.checkVisibility()
    && [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  const seen = said.map((each) => {
    const [a, b] = [light(parts(getComputedStyle(each).color).slice(0, 3)), light(ground(each))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    return [contrast, each.className, each.textContent.trim().slice(0, 40)];
  });
  return { many: seen.length, faint: seen.filter(([contrast]) => contrast < 4.5) };
})()"""
# what stands beyond the right edge and cannot be scrolled to
CUT = """[...document.querySelectorAll("main *")].filter((each) => each.checkVisibility()
  && each.getBoundingClientRect().right > innerWidth + 1
  && !each.closest(".scroll, pre, .hidden, .source, [class*=hidden]"))
  .map((each) => `${each.tagName} ${each.className} ${each.textContent.slice(0, 40)}`)"""


@pytest.fixture(scope="module")
def browser():
    with Chromium() as started:
        yield started


@pytest.fixture
def page(browser, made_up_site):
    """Open a page of the made-up site."""

    def open_(name: str, size: tuple[int, int] = DESK) -> Chromium:
        browser.open(f"{made_up_site.as_uri()}/{name}", *size, mobile=size == PHONE)
        return browser

    return open_


def typed(browser: Chromium, selector: str, value: str) -> None:
    """Put a value into a field, as a person does."""
    browser.click(selector)
    browser.evaluate(f"document.querySelector({json.dumps(selector)}).select?.()")
    browser.call("Input.insertText", text=value)


def chosen(browser: Chromium, name: str, value: str) -> None:
    browser.evaluate(
        f"(() => {{ const found = document.querySelector('#find [name={name}]'); found.value ="
        f" {json.dumps(value)}; found.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
    )


# Find.


def test_words_and_filters_find_lines_and_stay_in_the_address(page):
    browser = page("find.html")
    everything = browser.evaluate(SHOWN)
    assert everything > 4
    typed(browser, "#find input", "OTHER way")
    assert browser.evaluate(SHOWN) == 1
    typed(browser, "#find input", "")
    browser.press(" ")
    chosen(browser, "outcome", "reproduced")
    chosen(browser, "what", "claim")
    found = browser.evaluate(SHOWN)
    held = browser.evaluate(
        "[...document.querySelectorAll('#found > li')].every((line) => line.hidden ||"
        " line.dataset.outcome === 'reproduced')"
    )
    assert 0 < found < everything and held
    assert browser.evaluate("document.getElementById('count').textContent").startswith(f"{found} ")
    address = browser.evaluate("location.href")
    assert "outcome=reproduced" in address and "what=claim" in address
    browser.open("about:blank")
    browser.open(address, *DESK)
    assert browser.evaluate(SHOWN) == found
    assert browser.evaluate("document.querySelector('[name=outcome]').value") == "reproduced"
    browser.click("#find button[type=reset]")
    browser.wait(f"{SHOWN} === {everything}")
    assert "?" not in browser.evaluate("location.href") and browser.complaints == []


def test_a_number_of_the_first_page_leads_to_its_claims(page):
    browser = page("index.html")
    number = browser.evaluate("Number(document.querySelector('td.reproduced a').textContent)")
    browser.click("td.reproduced a")
    browser.wait("document.getElementById('find')?.hidden === false")
    assert browser.evaluate(SHOWN) == number > 0


# How it looks.

KINDS_OF_PAGE = (
    "index.html",
    "find.html",
    "glossary.html",
    "findings.html",
    "methods.html",
    "runs.html",
    "guide/index.html",
    "guide/how-it-works.html",
    "guide/paper-yaml.html",
    "dumbo/index.html",
    "dumbo/summary.html",
    READ,
)


@pytest.mark.parametrize("name", KINDS_OF_PAGE)
def test_every_text_can_be_read(page, name):
    found = page(name).evaluate(FAINT)
    assert found["many"] > 20 and found["faint"] == []


def test_a_faint_text_would_be_found(page):
    browser = page("glossary.html")
    browser.evaluate("document.querySelector('h1').className = 'note'")
    browser.evaluate("document.querySelector('.note').parentElement.style.background = '#666'")
    assert len(browser.evaluate(FAINT)["faint"]) > 20


@pytest.mark.parametrize("name", KINDS_OF_PAGE)
def test_on_a_phone_nothing_is_cut_off(page, name):
    browser = page(name, PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.evaluate(CUT) == []


@pytest.mark.parametrize("paper", ["bbkb", "bkb", "dumbo", "go_ucb", "lcbo"])
def test_the_page_of_a_paper_fits_a_phone(browser, reference_site, paper):
    browser.open((reference_site / paper / "index.html").as_uri(), *PHONE, mobile=True)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.evaluate(CUT) == []


def test_five_papers_stand_on_one_screen(browser, reference_site):
    browser.open((reference_site / "index.html").as_uri(), *DESK)
    rows = "document.querySelectorAll('table.overview tbody tr')"
    assert browser.evaluate(f"{rows}.length") >= 5
    last = browser.evaluate(f"{rows}[4].getBoundingClientRect().bottom")
    assert last <= DESK[1]
    right = "document.querySelector('table.overview').getBoundingClientRect().right"
    assert browser.evaluate(right) <= DESK[0]
    assert browser.evaluate("document.querySelectorAll('.card img').length") == 3


@pytest.mark.parametrize("paper", ["bbkb", "bkb", "dumbo", "go_ucb", "lcbo"])
def test_a_summary_prints_on_two_sides(browser, reference_site, paper):
    browser.open((reference_site / paper / "summary.html").as_uri(), *DESK)
    sides = len(re.findall(rb"/Type\s*/Page\b", browser.pdf()))
    assert 1 <= sides <= 2
    # a short list holds the claims for which the table has no room
    linked = browser.evaluate("[...document.querySelectorAll('main a')].map((each) => each.href)")
    verdicts = (ROOT / "figures" / "reference" / paper / "verdicts.json").read_text("utf-8")
    names = [claim["id"] for claim in json.loads(verdicts)["claims"]]
    assert {Path(url).name for url in linked} >= {f"{name}.html" for name in names}


def test_the_site_is_small(browser, reference_site):
    whole = sum(path.stat().st_size for path in reference_site.rglob("*") if path.is_file())
    assert whole < 20e6  # some 60 kB a claim: a page, its seeds and its share of the pictures
    browser.open((reference_site / "index.html").as_uri(), *DESK)
    files = [Path(url.removeprefix("file://")) for url in browser.requests if url[:4] == "file"]
    assert len(files) > 4
    assert math.fsum(path.stat().st_size for path in files) < 300e3
