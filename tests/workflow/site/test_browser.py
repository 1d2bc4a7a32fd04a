"""The site in a real browser, on a desk and on a phone: what loads, what a click does, what a
reader without a mouse can do.
"""

import csv
import io
import itertools
import json
import math
import re
import shutil
import threading
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.site import chromium, scripts
from tests.workflow.site.made_up import MORE, report
from workflow.site.build import build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not chromium.find(), reason="no Chromium in PATH: no page is opened"),
]
DESK, PHONE = (1280, 900), (390, 844)
KINDS_OF_PAGE = {"index.html", "dumbo/index.html", "dumbo/claims/add-dumbo-below-dumbo.html"}
KINDS_OF_PAGE |= {"methods/index.html", "runs/index.html"}
KINDS_OF_PAGE |= {"guide/index.html", "guide/glossary.html", "guide/papers.html"}
# what stands beyond the right edge and cannot be scrolled to
CUT = """[...document.querySelectorAll("main *")].filter((each) => each.checkVisibility()
  && each.getBoundingClientRect().right > innerWidth + 1
  && !each.closest(".scroll, pre, .skip"))
  .map((each) => `${each.tagName} ${each.className} ${each.textContent.slice(0, 40)}`)"""
FACTS = """(async () => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const images = all("img").filter((image) => !image.closest("dialog"));
  const broken = await Promise.all(images.map((image) => {
    image.loading = "eager";
    return image.decode().then(() => "", () => image.src);
  }));
  return {
    width: document.documentElement.scrollWidth,
    unlabelled: images.filter((image) => image.alt.trim() === "").map((image) => image.src),
    images: images.length,
    broken: broken.filter((source) => source),
  };
})()"""
OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
WATCHED = """(() => {
  window.said = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.said.push([String(text), this.textAlign]);
    return write.call(this, text, ...place);
  };
})()"""
PIXELS = """((canvas, colour) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const wanted = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  let found = 0;
  for (let i = 0; i < data.length; i += 4) {
    const isNear = wanted.every((value, k) => Math.abs(data[i + k] - value) < 48);
    if (data[i + 3] > 200 && isNear) found += 1;
  }
  return found;
})"""  # the edges of a line are blended with what lies behind it
IMAGE = "each.toDataURL()"
PRESSED = "each.ariaPressed"


@dataclass(frozen=True)
class Visit:
    """What was seen when a page was opened at one width."""

    complaints: tuple[str, ...]
    requests: tuple[str, ...]
    facts: dict[str, Any]
    cut: list[str]
    barriers: list[str]


@pytest.fixture(scope="module")
def browser():
    with chromium.started() as page:
        yield page


@pytest.fixture(scope="module")
def visits(browser, made_up_site):
    """All pages at both widths: {(page, width): what was seen}."""
    found = {}
    for page in sorted(made_up_site.rglob("*.html")):
        name = str(page.relative_to(made_up_site))
        browser.open(page.as_uri(), *PHONE, mobile=True)
        for width, height in (PHONE, DESK):
            browser.resize(width, height, mobile=width < 600)
            facts = browser.evaluate(FACTS)
            heard = tuple(browser.complaints), tuple(browser.requests)
            browser.evaluate(OPEN)
            found[name, width] = Visit(*heard, facts, browser.evaluate(CUT), browser.barriers())
    return found


@pytest.fixture
def page(browser, made_up_site):
    """Open a page of the site, or of a changed copy, on a desk."""

    def open_(name, site=made_up_site):
        browser.open(f"{site.as_uri()}/{name}", *DESK)
        return browser

    return open_


def wrong(visit, width):
    """What is wrong with a page, by the name of what it should be."""
    facts = visit.facts
    found = {
        "without a complaint": visit.complaints,
        "from here alone": [
            url for url in visit.requests if not url.startswith(("file:", "data:"))
        ],
        "as wide as a phone": width == PHONE[0] and facts["width"] > width + 1,
        "whole": visit.cut,
        "with words for pictures": facts["unlabelled"] + facts["broken"],
        "without barriers": visit.barriers,
    }
    return {name: said for name, said in found.items() if said}


def test_every_page_is_as_it_should_be(visits):
    assert {name for name, _ in visits} >= KINDS_OF_PAGE
    assert visits["dumbo/index.html", PHONE[0]].facts["images"] == 3 + len(MORE)
    found = {place: wrong(visit, place[1]) for place, visit in visits.items()}
    assert {place: said for place, said in found.items() if said} == {}


# Curves.


def explored(page, figure, *site):
    """The page of the paper with the curves of a figure open, and everything written on a canvas
    kept in `said`.
    """
    browser = page(f"dumbo/index.html#{figure}", *site)
    browser.evaluate(WATCHED)
    browser.click(f"#{figure} button.explore")
    browser.wait(f"document.querySelector('#{figure} canvas')")
    return browser


def test_curves_are_drawn_where_they_are_asked_for(page):
    browser = explored(page, "fig4")
    assert browser.each("#fig4 button.explore", "each.ariaExpanded") == ["true"]
    assert len(browser.each("#fig4 canvas")) == 2
    assert browser.each("#fig4 .panel") == ["Powell, d = 24", "Rastrigin substitute data"]
    assert browser.each("#fig4 .toggles button") == ["DuMBO", "TuRBO", "random-search", "seeds"]
    assert browser.each("#fig1c canvas, #recovery canvas") == []
    browser.click("#fig4 button.explore")
    assert browser.each("#fig4 .plots", "each.checkVisibility()") == [False]
    assert browser.complaints == []


def test_a_curve_goes_and_comes_back_in_all_panels(page):
    browser = explored(page, "fig4")
    colour, *_ = browser.each("#fig4 .toggles line", "each.getAttribute('stroke')")
    pixels = f"{PIXELS}(each, {colour!r})"
    drawn = browser.each("#fig4 canvas", IMAGE)
    assert min(browser.each("#fig4 canvas", pixels)) > 100
    assert browser.each("#fig4 .toggles button", PRESSED)[0] == "true"
    browser.click("#fig4 .toggles button")
    assert browser.each("#fig4 canvas", pixels) == [0, 0]
    assert browser.each("#fig4 .toggles button", PRESSED)[0] == "false"
    browser.evaluate("document.querySelector('#fig4 .toggles button').focus()")
    browser.press("Enter")
    assert browser.each("#fig4 canvas", IMAGE) == drawn
    assert browser.each("#fig4 .toggles button", PRESSED)[0] == "true"


def test_the_lines_of_seeds_come_and_go(page):
    browser = explored(page, "fig4")
    panels, button = ("#fig4 section", "each.dataset.seeds"), ("#fig4 button.seeds", PRESSED)
    drawn = browser.each("#fig4 canvas", IMAGE)
    assert (browser.each(*panels), browser.each(*button)) == (["0"] * 2, ["false"])
    browser.click("#fig4 button.seeds")
    assert (browser.each(*panels), browser.each(*button)) == (["15"] * 2, ["true"])
    with_seeds = browser.each("#fig4 canvas", IMAGE)
    assert all(now != before for now, before in zip(with_seeds, drawn, strict=True))
    browser.click("#fig4 .toggles button")  # a curve that is off takes its seeds along
    assert browser.each(*panels) == ["10", "10"]
    browser.click("#fig4 .toggles button")
    browser.click("#fig4 button.seeds")
    assert browser.each("#fig4 canvas", IMAGE) == drawn
    assert browser.complaints == []


def test_the_data_of_a_figure_can_be_taken_along_as_csv(page):
    browser = explored(page, "fig4")
    assert browser.each("#fig4 a.csv", "each.download") == ["dumbo-fig4.csv"]
    rows = list(csv.DictReader(io.StringIO(taken(browser))))
    assert {row["panel"] for row in rows} == {"1 Powell, $d = 24$", "2 Rastrigin"}
    last = [row for row in rows if row["x"] == "60" and row["curve"] == "DuMBO"]
    here = [row for row in last if row["panel"].startswith("1")]
    assert [row["seed"] for row in here] == ["", "0", "1", "2", "3", "4"]
    mean = sum(float(row["value"]) for row in here[1:]) / 5
    assert float(here[0]["value"]) == pytest.approx(mean, rel=1e-3)
    assert float(here[0]["low"]) < mean < float(here[0]["high"])


def taken(browser):
    """The CSV that the link below a figure holds."""
    (address,) = browser.each("#fig4 a.csv", "decodeURIComponent(each.href)")
    return address.partition(",")[2]


def test_numbers_that_the_paper_prints_are_marked_and_taken_along(page, made_up_site, tmp_path):
    """As triangles at the right, which go with their curve, in words, and in the CSV."""
    shutil.copytree(made_up_site, tmp_path / "site")
    script = tmp_path / "site/dumbo/fig4.js"
    _, curves = scripts.read(script)
    line = curves["panels"][0]["lines"][0]
    mark = {"label": line["label"], "colour": "#ff00ff", "value": line["centre"][0]}
    curves["panels"][0]["marks"] = [mark]
    scripts.rewrite(script, curves)
    browser = explored(page, "fig4", tmp_path / "site")
    pixels = f"{PIXELS}(each, '#ff00ff')"
    assert browser.each("#fig4 canvas", pixels)[0] > 20
    (said, *_) = browser.each("#fig4 .printed")
    assert said == f"Triangles at the right: what the paper prints: DuMBO {mark['value']}."
    assert f'"DuMBO, printed in the paper",,,{mark["value"]},,' in taken(browser)
    browser.click("#fig4 .toggles button")
    assert browser.each("#fig4 canvas", pixels)[0] == 0
    assert browser.complaints == []


def test_curves_that_cannot_be_unpacked_are_said_so(page, made_up_site, tmp_path):
    shutil.copytree(made_up_site, tmp_path / "site")
    (tmp_path / "site/dumbo/fig4.js").write_text('noregret.receive("dumbo/fig4","AAAA");\n')
    browser = page("dumbo/index.html#fig4", tmp_path / "site")
    browser.click("#fig4 button.explore")
    browser.wait("document.querySelector('#fig4 .plots').textContent")
    assert browser.each("#fig4 .plots")[0].startswith("This browser cannot unpack the curves (")


def test_an_axis_changes_between_logarithmic_and_linear(page):
    browser = explored(page, "fig4")
    toggle = "#fig4 section .axes button:nth-child(2)"
    for pressed in ("true", "false", "true"):
        assert browser.each(toggle, PRESSED)[0] == pressed
        values = ticks(browser)
        steps = {round(b - a, 9) for a, b in itertools.pairwise(values)}
        decades = all(value > 0 and math.log10(value).is_integer() for value in values)
        assert len(values) > 1 and decades == (pressed == "true"), values
        assert (len(steps) == 1 and len(values) > 2) == (pressed == "false"), values
        browser.evaluate("window.said = []")
        browser.click(toggle)


def ticks(browser):
    """The labels of the y axis of the panel that was drawn first; they follow its title."""
    said = browser.evaluate("window.said.map(([text]) => text)")
    start = said.index("simple regret (unit of y)") + 1
    labels = itertools.takewhile(lambda text: text != "evaluations t", said[start:])
    return sorted(float(text) for text in labels if text)


def test_levels_and_values_under_the_cursor_are_named(page):
    browser = explored(page, "fig1c")
    assert ["staying put", "right"] in browser.evaluate("window.said")
    browser.hover("#fig1c .u-over")
    browser.wait("document.querySelector('#fig1c .readout').textContent")
    (said,) = browser.each("#fig1c .readout")
    assert re.search(r"evaluations t \d+: DuMBO [\d.]+ · TuRBO [\d.]+ · random-search [\d.]+", said)


# Tables.


def column(browser, number):
    return browser.each(f"#table2 tbody td:nth-child({number})")


def orders(browser):
    return browser.each("#table2 thead th", "each.ariaSort")


def test_a_header_sorts_by_number(page):
    browser = page("dumbo/index.html#table2")
    rising = ["9.73", "120", "3.57e+03"]
    assert column(browser, 2) == ["3.57e+03", "9.73", "120", "-"]
    assert orders(browser) == [None, None, None]
    browser.click("#table2 th:nth-child(2) button")
    assert column(browser, 2) == [*rising, "-"] and orders(browser) == [None, "ascending", None]
    browser.click("#table2 th:nth-child(2) button")
    assert column(browser, 2)[1:] == rising[::-1] and orders(browser) == [None, "descending", None]


def test_a_table_sorts_without_a_mouse(page):
    browser = page("dumbo/index.html#table2")
    browser.evaluate("document.querySelector('#table2 [tabindex]').focus()")
    browser.press("Tab")
    browser.press("Enter")
    assert orders(browser) == ["ascending", None, None]
    assert column(browser, 1) == sorted(column(browser, 1), key=str.lower)
    browser.press("Tab")
    browser.press("Tab")
    browser.press(" ")
    assert column(browser, 3) == ["1e-05", "0.006", "6.38", "496"]
    assert orders(browser) == [None, None, "ascending"]


# How it looks.


def test_a_faint_text_would_be_found(page):
    browser = page("guide/glossary.html")
    browser.evaluate("document.querySelector('article').style.background = '#666'")
    (barrier,) = browser.barriers()
    assert barrier.startswith("color-contrast")


@pytest.mark.parametrize("paper", ["bbkb", "bkb", "dumbo", "go_ucb", "lcbo", "today"])
def test_the_page_of_a_paper_is_short_and_fits_a_phone(browser, reference_site, paper):
    browser.open((reference_site / paper / "index.html").as_uri(), *PHONE, mobile=True)
    browser.wait("document.querySelector('.plots canvas')")  # its panels are stacked
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.evaluate(CUT) == []
    menu = "document.querySelector('header').getBoundingClientRect().height"
    assert browser.evaluate(menu) < 60  # one line
    words = "document.querySelector('main').innerText.split(/\\s+/).length"
    assert 300 < browser.evaluate(words) <= 2500
    browser.evaluate(OPEN)
    assert browser.barriers() == []


def test_the_site_is_small(browser, reference_site):
    whole = sum(path.stat().st_size for path in reference_site.rglob("*") if path.is_file())
    assert whole < 12e6
    browser.open((reference_site / "index.html").as_uri(), *DESK)
    assert len(browser.each(".card img")) >= 5
    files = [Path(url.removeprefix("file://")) for url in browser.requests if url[:4] == "file"]
    assert math.fsum(path.stat().st_size for path in files) < 600e3


# Search.


def test_a_term_of_the_glossary_is_found_first_and_words_stay_in_the_address(page):
    browser = page("index.html")
    assert browser.each(".found li") == []
    browser.click("input[type=search]")
    browser.call("Input.insertText", text="Reading")
    first, *more = browser.each(".found li")
    assert first.startswith("term reading") and len(more) > 2
    address = browser.evaluate("location.href")
    browser.open("about:blank")
    browser.open(address, *DESK)
    assert browser.each("input", "each.value")[0] == "Reading"
    browser.click(".found a")
    browser.wait("document.getElementById('reading')")
    assert browser.evaluate("location.pathname").endswith("/guide/glossary.html")
    browser.open(address.replace("Reading", "OTHER%20way"), *DESK)
    assert browser.each("[role=status]")[0] == "1 found"
    assert "claims/" in browser.each(".found a", "each.href")[0]
    assert browser.complaints == []


def test_a_link_into_a_folded_part_opens_it(page):
    browser = page("dumbo/index.html#table2")
    assert browser.evaluate("document.getElementById('table2').open") is True
    top = "document.getElementById('table2').getBoundingClientRect().top"
    browser.wait(f"{top} >= 0 && {top} < {DESK[1] / 2}")


# What a page may load.


@pytest.fixture(scope="module")
def served(made_up_site):
    """The same site from a web server."""
    handler = partial(Quiet, directory=str(made_up_site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_from_a_web_server_pages_and_curves_are_the_same(browser, served):
    browser.open(f"{served}/dumbo/index.html#table2", *DESK)
    browser.evaluate(OPEN)
    browser.click("#fig4 button.explore")
    browser.wait("document.querySelector('#fig4 canvas')")
    browser.click("#table2 th:nth-child(2) button")
    assert orders(browser) == [None, "ascending", None]
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "flex"
    assert browser.evaluate(FACTS)["broken"] == []
    assert browser.complaints == []
    assert {url for url in browser.requests if not url.startswith((served, "data:"))} == set()


@pytest.mark.parametrize(
    ("name", "has_figures"),
    [
        ("index.html", False),
        ("dumbo/index.html", True),
        ("bbkb/claims/batches-grow.html", True),
        ("methods/index.html", True),
        ("runs/index.html", False),
    ],
)
def test_real_pages_load_all_that_they_name(browser, reference_site, name, has_figures):
    browser.open(f"{reference_site.as_uri()}/{name}", *DESK)
    assert bool(browser.each("button.explore", "each.click()")) is has_figures
    plots = "[...document.querySelectorAll('.plots')]"
    browser.wait(f"{plots}.every((each) => each.querySelector('canvas'))")
    assert browser.evaluate(FACTS)["broken"] == [] and browser.complaints == []
    assert browser.barriers() == []


EVIL = {  # what would run, were it markup
    "a script": "<script>window.ran = 1</script>",
    "a handler": "<img src='absent.png' onerror='window.ran = 1'>",
    "a picture": "<svg onload='window.ran = 1'></svg>",
    "a link": "<a id='bait' href='javascript:window.ran = 1'>here</a>",
    "a frame": "<iframe srcdoc='<script>parent.ran = 1</script>'></iframe>",
    "a script as data": "<script src='data:text/javascript,window.ran = 1'></script>",
}
BAIT = """(async () => {
  document.querySelector("#bait")?.click();
  await new Promise((done) => setTimeout(done, 200));
  return window.ran ?? 0;
})()"""


def test_a_script_in_a_quoted_text_is_text(browser, tmp_path):
    """The whole way from the verdicts of a report."""
    source = report(tmp_path / "report")
    (path,) = source.rglob("verdicts.json")
    verdicts = json.loads(path.read_text(encoding="utf-8"))
    evil = " ".join(EVIL.values())
    verdicts["claims"][0] |= {"says": evil, "where": evil, "note": evil, "reasons": [evil]}
    path.write_text(json.dumps(verdicts), encoding="utf-8")
    build(source, tmp_path / "site")
    name = verdicts["claims"][0]["id"]
    for place in ("index", f"claims/{name}"):
        browser.open((tmp_path / "site" / "dumbo" / f"{place}.html").as_uri(), *DESK)
        (said,) = browser.each("main")
        assert said.count(evil) >= (1 if place == "index" else 3)
        assert (browser.evaluate(BAIT), browser.complaints) == (0, [])


@pytest.mark.parametrize("kind", EVIL)
def test_a_script_that_got_into_a_page_does_not_run(browser, made_up_site, kind):
    """As if a template had failed to escape it; without the policy it does run."""
    whole = (made_up_site / "dumbo" / "index.html").read_text(encoding="utf-8")
    hurt = whole.replace('<main id="content">', f'<main id="content">{EVIL[kind]}')
    bare = re.sub("<meta http-equiv=[^>]*>", "", hurt)
    assert len({whole, hurt, bare}) == 3
    path = made_up_site / "dumbo" / "hurt.html"
    try:
        for content, ran in ((bare, 1), (hurt, 0)):
            path.write_text(content, encoding="utf-8")
            browser.open(path.as_uri(), *DESK)
            assert browser.evaluate(BAIT) == ran
            heard = [said for said in browser.complaints if "Content Security Policy" in said]
            assert bool(heard) is not bool(ran), browser.complaints
    finally:
        path.unlink()
