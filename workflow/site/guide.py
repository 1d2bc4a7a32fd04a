"""The guide in the site: the pages of docs/, and those at the top that README links to, with links
among each other and to the site's own pages.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from markupsafe import Markup, escape
from PIL import Image

from workflow.draw import shrink
from workflow.judge.closeness import TITLE
from workflow.site import api_page, markdown
from workflow.site.folder import CLAIMS, Report
from workflow.site.markdown import Rendered

FOLDER, DOCS, INDEX = "guide", "docs", "docs/README.md"
KEYS, ERRORS = "papers/README.md", "benchmarks/report/verdict_errors.md"
RESULTS = "docs/results.md"  # has a section for each paper, below its label
HOME = "figures/reference"  # whose reports the first page has
PAGES = {  # whose places are not called as they are
    INDEX: f"{FOLDER}/index.html",
    KEYS: f"{FOLDER}/papers.html",
    api_page.SOURCE: f"{FOLDER}/reference.html",
    "docs/which-method.md": "methods/index.html",
    "docs/data.md": "runs/index.html",
    ERRORS: f"{FOLDER}/verdict-errors.html",
}
ITEM = re.compile(r"^- \*\*(Claims|Result|Certainty|Ask)\.\*\* (.+(?:\n  .+)*)\n?", re.MULTILINE)
PICTURE = re.compile(r"^!\[[^\]]*\]\(([^()]+)\)\n", re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+\.md)(?:#[^()\s]*)?\)")
ANY_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^()\s]+)\)")
PICTURES = (".svg", ".png", ".gif")


@dataclass(frozen=True)
class Box:
    """A paper in a few sentences: what it claims, the result, how certain that is, and what a
    reviewer should ask; the rest of what is said of it, and the name of its first picture.
    """

    items: Mapping[str, Markup]
    rest: Markup
    picture: str


@dataclass(frozen=True)
class Guide:
    """The pages of docs/ and of the top of a repository, for a site of some reports."""

    root: Path
    reports: Sequence[Report]

    def pages(self) -> dict[str, Rendered]:
        """Every page of the guide by its place in the site, in the order of docs/README.md, which
        is the first.
        """
        return {place: self.page(source) for source, place in self._places.items()}

    def page(self, source: str) -> Rendered:
        """A file of the repository as a page of a folder of the site."""
        is_text = source != api_page.SOURCE
        text = (self.root / source).read_text("utf-8") if is_text else api_page.text(self.root)
        return self._render(source, text)

    def boxes(self) -> dict[str, Box]:
        """What the page of results says of each report, by the name of the report."""
        page = (self.root / RESULTS).read_text(encoding="utf-8")
        parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
        said = dict(zip(parts[1::2], parts[2::2], strict=True))
        boxes = {}
        for report in self.reports:
            text = said.get(report.label, "")
            first = PICTURE.search(text)
            words = PICTURE.sub("", text)
            rest = ITEM.sub("", words).strip()
            boxes[report.name] = Box(
                {what: self._render(RESULTS, how).body for what, how in ITEM.findall(words)},
                self._render(RESULTS, rest).body,
                PurePosixPath(first[1]).stem if first else "",
            )
        return boxes

    def pictures(self) -> list[Path]:
        """The pictures of docs/, which stand beside the pages."""
        return [path for path in sorted((self.root / DOCS).glob("*")) if path.suffix in PICTURES]

    @cached_property
    def _places(self) -> Mapping[str, str]:
        """Where each page stands in the site: docs/README.md, what it lists, the rest of docs/,
        pages at the top, and the library.
        """
        there = [f"{DOCS}/{path.name}" for path in sorted((self.root / DOCS).glob("*.md"))]
        index, readme = ((self.root / name).read_text("utf-8") for name in (INDEX, "README.md"))
        listed = [_normal(INDEX, link) for link in LINK.findall(index)]
        listed = [name for name in listed if name in (*there, KEYS, ERRORS)]
        above = [name for name in LINK.findall(readme) if "/" not in name]
        return {
            source: PAGES.get(source, f"{FOLDER}/{PurePosixPath(source).stem.lower()}.html")
            for source in (INDEX, *listed, *there, *above, api_page.SOURCE)
            if (self.root / source).exists()
        }

    def _render(self, source: str, text: str) -> Rendered:
        def named(link: re.Match[str]) -> str:
            """A link to a file that the site lacks: its words, and the path."""
            path = _normal(source, link[2].partition("#")[0])
            if self._address(source, link[2]) or not (self.root / path).exists():
                return link[0]
            return link[1] if path in link[1] else f"{link[1]} (`{path}`)"

        return markdown.render(
            ANY_LINK.sub(named, text),
            lambda link: self._address(source, link),
            lambda link, alt: self._picture(source, link, alt),
        )

    def _address(self, source: str, link: str) -> str:
        """The address in the site of what a link names; "" where the site has no such page."""
        parts = urlsplit(link)
        if parts.scheme in ("http", "https"):
            return link
        if parts.scheme or parts.netloc:
            return ""
        if not parts.path:
            return link
        place = self._place(_normal(source, parts.path), parts.fragment)
        return f"../{place}" if place else ""

    def _picture(self, source: str, link: str, alt: str) -> str:
        """A picture that the site has, or its words."""
        name = _normal(source, link)
        place = self._file(name)
        if not place:
            return f"<em>{escape(alt)}</em>"
        size = ""
        if PurePosixPath(name).suffix != ".svg":
            with Image.open(self.root / name) as shown:
                size = ' width="{}" height="{}"'.format(*shown.size)
        return f'<img src="../{escape(place)}"{size} decoding="async" alt="{escape(alt)}">'

    def _place(self, name: str, fragment: str) -> str:
        path, places = PurePosixPath(name), self._places
        if name in places:
            return f"{places[name]}#{fragment}" if fragment else places[name]
        if name == HOME:
            return "index.html"
        if place := self._file(name):
            return place
        report = self._report(path.parent if path.suffix == ".md" else path)
        if report is None:
            return ""
        if fragment in {claim.id for claim in report.judged}:
            return f"{report.name}/{CLAIMS}/{fragment}.html"
        parts = {one.id: f"#{one.id}" for one in report.shown}
        parts["claims-by-settings"] = "#under-all-settings"
        parts["verdicts"] = f"#{fragment}" if fragment == markdown.slug(TITLE) else ""
        return f"{report.name}/index.html{parts.get(path.stem, '')}"

    def _report(self, folder: PurePosixPath) -> Report | None:
        """The report of a folder of the repository, if the site is made of this folder: another
        one may have other figures than the text speaks of.
        """
        whole = (self.root / folder).resolve()
        return next((one for one in self.reports if one.folder.resolve() == whole), None)

    def _file(self, name: str) -> str:
        """Where a picture of the repository stands in the site; "" where the site has it not."""
        path = PurePosixPath(name)
        if path.suffix not in PICTURES or not (self.root / name).exists():
            return ""
        if path.parent == PurePosixPath(DOCS):
            return f"{FOLDER}/{path.name}"
        report = self._report(path.parent)
        return f"{report.name}/{shrink.named(path.name)}" if report else ""


def _normal(source: str, link: str) -> str:
    """The path from the top of the repository that a link in one of its files names."""
    return os.path.normpath(f"{PurePosixPath(source).parent}/{link}").lstrip("/")
