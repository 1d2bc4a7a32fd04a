"""The guide stands in the site: every page of docs/, in order, and links among them."""

import inspect
import re
from html import unescape
from types import SimpleNamespace

import pytest
from PIL import Image

import noregret
from workflow.plan.reader import read
from workflow.plan.resolve import ROOT, papers
from workflow.site import api_page
from workflow.site.guide import RESULTS, Guide

PAPERS = papers()


@pytest.fixture
def root(tmp_path):
    """A repository with a small guide."""
    top = tmp_path / "repository"
    files = {
        "README.md": "[a](ARCHITECTURE.md) [b](docs/b.md) [c](absent.md)",
        "ARCHITECTURE.md": "# Architecture\n[b](docs/b.md#two)",
        "docs/README.md": "# The guide\n- [Second](c.md), [First](b.md#two)",
        "docs/a.md": "# Left out of the list",
        "docs/b.md": "# B\n\n## Two\n\n[c](c.md) [self](#two) [top](../ARCHITECTURE.md)\n",
        "docs/c.md": "# C\n\n![drawn](c.svg)\n\n![shown](../figures/reference/toy/fig.png)\n\n"
        "[all](../figures/reference/toy/verdicts.md) "
        "[one](../figures/reference/toy/claims-by-settings.md#c1) "
        "[table](../figures/reference/toy/ends.md) "
        "[map](../figures/reference/toy/claims-by-settings.md) "
        "[other](../figures/reference/gone/verdicts.md) [code](../algorithms/bkb.py) "
        "[more](../workflow/x.py) [out](https://example.org/x)\n",
        "docs/c.svg": "<svg/>",
    }
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    folder = top / "figures/reference/toy"
    folder.mkdir(parents=True)
    Image.new("RGB", (30, 20)).save(folder / "fig.png")
    return top


def report(folder):
    judged, shown = [SimpleNamespace(id="c1")], [SimpleNamespace(id="ends")]
    return SimpleNamespace(name="toy", folder=folder, judged=judged, shown=shown)


def test_pages_come_in_the_order_of_the_index(root):
    guide = Guide(root, [])
    found = guide.pages()
    names = ("index", "c", "b", "a", "architecture")
    assert list(found) == [f"guide/{name}.html" for name in names]
    assert [page.title for page in found.values()][:2] == ["The guide", "C"]
    assert [path.name for path in guide.pictures()] == ["c.svg"]


def links(page):
    return [unescape(link) for link in re.findall(r'(?:href|src)="([^"]*)"', page.body)]


def test_links_lead_to_pages_of_the_site(root):
    guide = Guide(root, [report(root / "figures/reference/toy")])
    there = ["../guide/c.html", "#two", "../guide/architecture.html"]
    assert links(guide.page("docs/b.md")) == there
    assert links(guide.page("ARCHITECTURE.md")) == ["../guide/b.html#two"]
    page = guide.page("docs/c.md")
    there = ["../guide/c.svg", "../toy/fig.webp", "../toy/index.html", "../toy/claims/c1.html"]
    there += ["../toy/index.html#ends", "../toy/index.html#under-all-settings"]
    assert links(page) == [*there, "https://example.org/x"]
    assert 'width="30" height="20"' in page.body
    assert "</a> other code more <a" in " ".join(page.body.split())


def test_another_report_than_the_text_speaks_of_is_not_shown(root, tmp_path):
    """Its figures may be others."""
    page = Guide(root, [report(tmp_path / "figures/short/toy")]).page("docs/c.md")
    assert links(page) == ["../guide/c.svg", "https://example.org/x"]
    assert "<em>shown</em>" in page.body


def test_every_page_of_docs_is_in_the_site_and_nothing_of_its_marks_is_left(reference_site):
    there = {path.stem for path in (reference_site / "guide").glob("*.html")}
    named = {path.stem.lower() for path in (ROOT / "docs").glob("*.md")}
    named -= {"readme", "which-method", "data"}  # these are parts of other pages
    assert there >= {*named, "index", "architecture", "contributing", "security"}
    assert (reference_site / "guide/how-it-works.svg").exists()
    parts = [reference_site / name / "index.html" for name in ("methods", "runs")]
    for path in [*parts, *sorted((reference_site / "guide").glob("*.html"))]:
        body = path.read_text().partition('<article class="guide">')[2].partition("</article>")[0]
        words = re.sub(r"<code>.*?</code>", "", body, flags=re.DOTALL)
        words = unescape(re.sub(r"<[^>]+>", "", words))
        assert len(words) > 200, path
        for mark in ("](", "```", "<!--", "| ---"):
            assert mark not in words, (path.name, mark)
        assert not re.search(r"^(#+|[-+>]) |\*\*\w[^*\n]*\*\*", words, re.MULTILINE), path


def test_the_reference_of_the_library_has_every_public_name_and_argument():
    page = Guide(ROOT, []).page(api_page.SOURCE)
    sections = {each.words: each for each in page.headings}
    assert sorted(name for name in sections if "." not in name) == sorted(noregret.__all__)
    methods = inspect.getmembers(noregret.Optimizer, inspect.isfunction)
    offered = {name for name, _ in methods if not name.startswith("_")}
    assert offered and {f"Optimizer.{name}" for name in offered} <= {*sections}
    for function in (noregret.minimize, noregret.optimizer):
        for name in inspect.signature(function).parameters:
            listed = f"<li><code>{name}</code>: "
            assert (listed in page.body) == (not name.startswith("_")), name
    assert "self" not in re.findall(r"\w+", page.body) and "_is_least" not in page.body
    assert "smallest value of f" in sections["minimize"].text


def test_the_box_of_a_paper_is_what_its_results_begin_with(root):
    (root / RESULTS).write_text(
        "# Results\n\n## Toy\n- **Claims.** It\n  leads.\n- **Result.** It "
        "[holds](../figures/reference/toy/verdicts.md#c1), see [C](c.md).\n\n"
        "![shown](../figures/reference/toy/fig.png)\n\n- **More.** Words.\n\n## Other\n\nNo.\n"
    )
    mine = report(root / "figures/reference/toy")
    mine.label = "Toy"
    other = SimpleNamespace(name="bare", label="Bare", folder=root, judged=[])
    found = Guide(root, [mine, other]).boxes()
    box = found["toy"]
    assert list(box.items) == ["Claims", "Result"] and box.picture == "fig"
    assert '<a href="../toy/claims/c1.html">holds</a>' in box.items["Result"]
    assert '<a href="../guide/c.html">C</a>' in box.items["Result"]
    assert "<strong>More.</strong> Words." in box.rest
    assert "<img" not in box.rest and "No." not in box.rest
    assert found["bare"].items == {} and not found["bare"].rest


def test_every_paper_has_a_box(reference_site):
    for name in PAPERS:
        page = (reference_site / name / "index.html").read_text(encoding="utf-8")
        link = read(name)["paper"].get("link")
        assert link is None or f'<a href="{link}">' in page
        box = page.partition('<dl class="box">')[2].partition("</dl>")[0]
        asks = [] if "borrows" in read(name) else ["Ask"]
        items = dict(re.findall(r"<dt>(\w+)</dt>\s*<dd>(.*?)</dd>", box, flags=re.DOTALL))
        assert list(items) == ["Claims", "Result", "Certainty", *asks]
        for what in ("Result", "Certainty"):
            said = re.sub(r"<[^>]+>", "", items[what]).strip()
            assert re.findall(r"[.!?](?=\s|$)", said) == ["."], (name, said)
