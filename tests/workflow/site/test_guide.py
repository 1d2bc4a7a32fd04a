"""The guide stands in the site: every page of docs/, in order, and links among them."""

from __future__ import annotations

import re
from html import unescape
from types import SimpleNamespace

import pytest
from PIL import Image

from tests.workflow.site import made_up
from workflow.plan.reader import read
from workflow.plan.resolve import ROOT, papers
from workflow.site import finder, guide
from workflow.site.build import build

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
    return SimpleNamespace(name="toy", folder=folder, judged=[SimpleNamespace(id="c1")])


def test_pages_come_in_the_order_of_the_index(root):
    found = guide.pages(root, [])
    assert [page.path for page in found] == [
        "guide/index.html",
        "guide/c.html",
        "guide/b.html",
        "guide/a.html",
        "guide/architecture.html",
    ]
    assert [page.title for page in found][:2] == ["The guide", "C"]
    assert [path.name for path in guide.pictures(root)] == ["c.svg"]


def links(page):
    return [unescape(link) for link in re.findall(r'(?:href|src)="([^"]*)"', page.body)]


def test_links_lead_to_pages_of_the_site(root):
    found = {
        page.source: page
        for page in guide.pages(root, [report(root / "figures/reference/toy")], ["bkb"])
    }
    assert links(found["docs/b.md"]) == ["../guide/c.html", "#two", "../guide/architecture.html"]
    assert links(found["ARCHITECTURE.md"]) == ["../guide/b.html#two"]
    page = found["docs/c.md"]
    assert links(page) == [
        "../guide/c.svg",
        "../toy/fig.webp",
        "../toy/index.html",
        "../toy/claims/c1.html",
        "../algorithms/bkb.html",
        "https://example.org/x",
    ]
    assert 'width="30" height="20"' in page.body
    assert 'other <span class="where">(figures/reference/gone/verdicts.md)</span>' in page.body
    assert 'more <span class="where">(workflow/x.py)</span>' in page.body


def test_another_report_than_the_text_speaks_of_is_not_shown(root, tmp_path):
    """Its figures may be others."""
    page = guide.pages(root, [report(tmp_path / "figures/short/toy")])[1]
    assert links(page) == ["../guide/c.svg", "https://example.org/x"]
    assert "[picture: shown (figures/reference/toy/fig.png)]" in page.body


def test_every_page_of_docs_is_in_the_site_and_nothing_of_its_marks_is_left(reference_site):
    there = {path.stem for path in (reference_site / "guide").glob("*.html")}
    named = {path.stem.lower() for path in (ROOT / "docs").glob("*.md")} - {"readme"}
    assert there >= {*named, "index", "architecture", "contributing", "security"}
    assert (reference_site / "guide/how-it-works.svg").exists()
    for path in sorted((reference_site / "guide").glob("*.html")):
        body = path.read_text().partition('<article class="guide">')[2].partition("</article>")[0]
        words = re.sub(r"<code>.*?</code>", "", body, flags=re.DOTALL)
        words = unescape(re.sub(r"<[^>]+>", "", words))
        assert len(words) > 200, path
        for mark in ("](", "```", "<!--", "| ---", "\x00", "[picture:"):
            assert mark not in words, (path.name, mark)
        assert not re.search(r"^(#+|[-+>]) |\*\*\w[^*\n]*\*\*", words, re.MULTILINE), path


def test_results_show_the_figures_of_the_reports(reference_site):
    page = (reference_site / "guide/results.html").read_text()
    assert '<img src="../go_ucb/fig2.webp" width="' in page
    assert 'href="../go_ucb/claims/lowest-regret.html"' in page


def test_all_pages_lead_to_the_guide_and_find_lists_it(made_up_site):
    assert 'href="guide/index.html"' in (made_up_site / "index.html").read_text()
    assert (
        'href="../../guide/index.html"'
        in next((made_up_site / "dumbo/claims").glob("*.html")).read_text()
    )
    page = (made_up_site / "find.html").read_text()
    lines = re.findall(r'<li data-what="guide".*?<a href="([^"]*)">', page)
    assert "guide/verdicts.html" in lines and len(lines) == len(
        list((made_up_site / "guide").glob("*.html"))
    )


def test_a_line_of_find_has_the_headings_of_its_page(root):
    pages = guide.pages(root, [])
    line = next(one for one in finder.lines([], [], [], pages) if one.link == "guide/b.html")
    assert (line.what, line.says, line.where) == ("guide", "B", "Two")


def test_without_docs_there_is_no_guide(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root/papers").symlink_to(ROOT / "papers")
    (tmp_path / "root/algorithms").mkdir()
    build(made_up.report(tmp_path / "report"), tmp_path / "site", tmp_path / "root")
    assert not (tmp_path / "site/guide").exists()
    assert "guide/" not in (tmp_path / "site/index.html").read_text()


def test_what_came_of_a_paper_stands_on_its_page_without_pictures(root):
    (root / guide.RESULTS).write_text(
        "# Results\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Toy\n\n"
        "![shown](../figures/reference/toy/fig.png)\n\n"
        "It [holds](../figures/reference/toy/verdicts.md#c1), see [C](c.md).\n\n## Other\n\nNo.\n"
    )
    mine = report(root / "figures/reference/toy")
    mine.label = "Toy"
    (said,) = guide.told(root, [mine]).values()
    assert '<a href="../toy/claims/c1.html">holds</a>' in said
    assert '<a href="../guide/c.html">C</a>' in said
    assert "<img" not in said and "No." not in said and "<table" not in said


def test_a_repository_without_a_page_of_results_tells_nothing(root):
    assert guide.told(root, [report(root / "figures/reference/toy")]) == {}


def test_every_paper_says_what_it_proposes_and_what_came_of_it(reference_site):
    for name in PAPERS:
        page = (reference_site / name / "index.html").read_text(encoding="utf-8")
        head = read(name)["paper"]
        assert head["link"].startswith("https://") and f'<a href="{head["link"]}">' in page
        assert '<h2 id="told">What came of it</h2>' in page
        assert "claims" in head["proposes"]
