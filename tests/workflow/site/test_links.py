"""Every link of the site leads to a file and an anchor that exist, and nothing is loaded from
elsewhere.
"""

import re
from collections import Counter
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

from tests.workflow.site.scripts import tags

LOADS = {(tag, "src") for tag in ("img", "script", "source", "iframe")}
LOADS |= {("link", "href"), ("button", "data-script")}
FROM_CSS = re.compile(r"""@import\s+["']?([^"';]+)|url\(\s*["']?([^"')]+)""")


def complaints(site):
    """A sentence for every link, load or id of a site that is wrong."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    of_pages = [(path, said) for path in pages for said in _of_page(path, pages)]
    found = [f"{path.relative_to(site)}: {said}" for path, said in of_pages]
    for sheet in sorted(site.rglob("*.css")):
        loads = [a or b for a, b in FROM_CSS.findall(sheet.read_text())]
        found += [
            f"{sheet.relative_to(site)}: {said}" for load in loads for said in _of_load(load, sheet)
        ]
    return found


def read(path):
    """The ids of a page, what it loads, and where it leads."""
    found = [(tag, *one) for tag, said in tags(path.read_text()) for one in said.items()]
    return SimpleNamespace(
        ids=[value for _, name, value in found if name == "id"],
        loads=[value for tag, name, value in found if (tag, name) in LOADS],
        links=[value for tag, name, value in found if (tag, name) == ("a", "href")],
    )


def _of_page(path, pages):
    page = pages[path]
    found = [
        f"the id {name!r} stands {n} times"
        for name, n in Counter(page.ids).items()
        if n > 1 or not name
    ]
    found += [said for load in page.loads for said in _of_load(load, path)]
    return found + [said for link in page.links for said in _of_link(link, path, pages)]


def _of_load(load, path):
    """A page may be read from a disk without a network: what it loads lies beside it, or in it."""
    parts = urlsplit(load)
    if parts.scheme == "data":
        return []
    if parts.scheme or parts.netloc:
        return [f"loads {load} from elsewhere"]
    return [] if target(load, path).is_file() else [f"loads {load}, which is missing"]


def _of_link(link, path, pages):
    parts = urlsplit(link)
    if parts.scheme in ("http", "https", "mailto"):
        return []
    place = target(link, path)
    if parts.scheme or not place.is_file():
        return [f"links to {link}, which is missing"]
    lost = parts.fragment and place in pages and unquote(parts.fragment) not in pages[place].ids
    return [f"links to {link}, where nothing has this id"] if lost else []


def target(link, path):
    """The file that a relative address names; the page itself where it names none."""
    place = unquote(urlsplit(link).path)
    return (path.parent / place).resolve() if place else path


@pytest.mark.parametrize("site", ["made_up_site", "reference_site"])
def test_links_lead_somewhere(site, request):
    folder = request.getfixturevalue(site).resolve()
    assert complaints(folder) == []
    assert sum(len(read(path).links) for path in folder.rglob("*.html")) > 100


def test_every_page_is_reached_from_the_first(made_up_site):
    start = made_up_site.resolve() / "index.html"
    reached, open_ = {start}, [start]
    while open_:
        path = open_.pop()
        there = {target(link, path) for link in read(path).links if urlsplit(link).scheme == ""}
        new = {place for place in there if place.suffix == ".html"} - reached
        reached |= new
        open_ += new
    assert sorted(set(made_up_site.resolve().rglob("*.html")) - reached) == []


WRONG = """
<a href="absent.html">x</a> => links to absent.html, which is missing
<a href="other.html#absent">x</a> => links to other.html#absent, where nothing has this id
<a href="#absent">x</a> => links to #absent, where nothing has this id
<p id="one"><p id="one"> => the id 'one' stands 2 times
<img src="absent.png"> => loads absent.png, which is missing
<script src="https://example.org/a.js"></script> => loads https://example.org/a.js from elsewhere
<link rel="stylesheet" href="//example.org/a.css"> => loads //example.org/a.css from elsewhere
<button data-script="absent.js">x</button> => loads absent.js, which is missing
"""
RIGHT = ('<a href="">x</a>', '<a href="other.html#there%40">x</a>')
RIGHT += ('<a href="https://example.org/">x</a>', '<img src="data:image/png;base64,AAAA">')


def test_what_is_wrong_is_said(tmp_path):
    (tmp_path / "other.html").write_text('<p id="there@">')
    for line in [*WRONG.strip().splitlines(), *RIGHT]:
        body, _, said = line.partition(" => ")
        (tmp_path / "page.html").write_text(f"<!doctype html><body>{body}</body>")
        assert complaints(tmp_path.resolve()) == ([f"page.html: {said}"] if said else [])


def test_style_sheets_load_nothing_from_elsewhere(tmp_path):
    style = '@import "https://example.org/b.css"; p { background: url(there.png) }'
    (tmp_path / "a.css").write_text(style)
    (tmp_path / "there.png").write_bytes(b"")
    (said,) = complaints(tmp_path.resolve())
    assert said == "a.css: loads https://example.org/b.css from elsewhere"
