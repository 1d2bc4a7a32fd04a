"""The guide in the site: the pages of docs/, and those at the top that README links to, with links
among each other and to the site's own pages.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from markupsafe import Markup, escape
from PIL import Image

from workflow.site import markdown, shrink
from workflow.site.claim_pages import FOLDER as CLAIMS
from workflow.site.folder import Report

FOLDER, DOCS, INDEX = "guide", "docs", "docs/README.md"
RESULTS = "docs/results.md"  # has a section for each paper, below its label
PAGES = {"figures/reference": "index.html", "papers/findings.yaml": "findings.html"}
LINK = re.compile(r"\]\(([^()\s]+\.md)(?:#[^()\s]*)?\)")
PICTURES = (".svg", ".png", ".gif")


@dataclass(frozen=True)
class Guide:
    """A page of the guide: its place in the repository and in the site, and what it shows."""

    source: str
    path: str
    title: str
    body: Markup
    sections: Sequence[tuple[str, str]]


def pages(root: Path, reports: Sequence[Report], algorithms: Collection[str] = ()) -> list[Guide]:
    """The pages of the guide in the order of docs/README.md, which is the first; [] where `root`
    has no docs. `algorithms` are the names of those with a page.
    """
    found = []
    places = _places(root)
    for source, path in places.items():
        text = (root / source).read_text(encoding="utf-8")
        where = _Where(root, source, places, reports, algorithms)
        page = markdown.render(text, where.address, where.picture)
        found.append(Guide(source, path, page.title, page.body, page.sections))
    return found


def told(
    root: Path, reports: Sequence[Report], algorithms: Collection[str] = ()
) -> dict[str, Markup]:
    """What the page of results says of each report in words, by the name of the report, for a page
    of its own folder; pictures are left out, which that page has.
    """
    page = root / RESULTS
    if not page.exists():
        return {}
    where = _Where(root, RESULTS, _places(root), reports, algorithms)
    parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {
        report.name: markdown.render(said[report.label], where.address, lambda *_: "").body
        for report in reports
        if report.label in said
    }


def pictures(root: Path) -> list[Path]:
    """The pictures of docs/, which stand beside the pages."""
    return [path for path in sorted((root / DOCS).glob("*")) if path.suffix in PICTURES]


def _places(root: Path) -> dict[str, str]:
    """Where each page of the guide stands in the site."""
    return {source: _place(source) for source in _sources(root)} if (root / INDEX).exists() else {}


def _sources(root: Path) -> Iterator[str]:
    """docs/README.md, what it lists, the rest of docs/, and pages at the top."""
    there = {f"{DOCS}/{path.name}": None for path in sorted((root / DOCS).glob("*.md"))}
    listed = [_normal(INDEX, link) for link in LINK.findall((root / INDEX).read_text("utf-8"))]
    top = root / "README.md"
    named = LINK.findall(top.read_text("utf-8")) if top.exists() else []
    above = [name for name in named if "/" not in name and (root / name).exists()]
    order = [INDEX, *(name for name in listed if name in there), *there, *above]
    yield from dict.fromkeys(order)


def _place(source: str) -> str:
    """Where a page of the repository stands in the site."""
    if source == INDEX:
        return f"{FOLDER}/index.html"
    return f"{FOLDER}/{PurePosixPath(source).stem.lower()}.html"


def _normal(source: str, link: str) -> str:
    """The path from the top of the repository that a link in one of its files names."""
    return os.path.normpath(f"{PurePosixPath(source).parent}/{link}").lstrip("/")


@dataclass(frozen=True)
class _Where:
    """Where what a page names stands in the site."""

    root: Path
    source: str
    places: Mapping[str, str]
    reports: Sequence[Report]
    algorithms: Collection[str]

    def address(self, link: str) -> str:
        """The address in the site of what a link names; "" where the site has no such page."""
        parts = urlsplit(link)
        if parts.scheme in ("http", "https"):
            return link
        if parts.scheme or parts.netloc:
            return ""
        if not parts.path:
            return link
        place = self._place(_normal(self.source, parts.path), parts.fragment)
        return f"../{place}" if place else ""

    def picture(self, link: str, alt: str) -> str:
        """A picture that the site has, or its words."""
        name = _normal(self.source, link)
        file, place = ("", "") if urlsplit(link).scheme else self._file(name)
        if not file:
            return f'<span class="where">{escape(f"[picture: {alt} ({name})]")}</span>'
        size = ""
        if PurePosixPath(name).suffix != ".svg":
            with Image.open(file) as shown:
                size = ' width="{}" height="{}"'.format(*shown.size)
        return f'<img src="../{escape(place)}"{size} decoding="async" alt="{escape(alt)}">'

    def _place(self, name: str, fragment: str) -> str:
        path = PurePosixPath(name)
        if name in self.places:
            return f"{self.places[name]}#{fragment}" if fragment else self.places[name]
        if name in PAGES:
            return PAGES[name]
        if path.parent.name == "algorithms" and path.stem in self.algorithms:
            return f"algorithms/{path.stem}.html"
        if place := self._file(name)[1]:
            return place
        report = self._report(path.parent if path.suffix == ".md" else path)
        if report is None:
            return ""
        is_claim = fragment in {claim.id for claim in report.judged}
        return f"{report.name}/{f'{CLAIMS}/{fragment}' if is_claim else 'index'}.html"

    def _report(self, folder: PurePosixPath) -> Report | None:
        """The report of a folder of the repository, if the site is made of this folder: another
        one may have other figures than the text speaks of.
        """
        whole = (self.root / folder).resolve()
        return next((one for one in self.reports if one.folder.resolve() == whole), None)

    def _file(self, name: str) -> tuple[Path | str, str]:
        """A picture, and its place in the site; two empty ones where the site has none."""
        path, file = PurePosixPath(name), self.root / name
        if path.suffix not in PICTURES or not file.exists():
            return "", ""
        if path.parent == PurePosixPath(DOCS):
            return file, f"{FOLDER}/{path.name}"
        report = self._report(path.parent)
        return (
            (file, f"{report.name}/{shrink.named(path.name)}")
            if report and path.suffix != ".svg"
            else ("", "")
        )
