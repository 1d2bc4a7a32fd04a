"""papers/references.bib, read: who is cited, and as what."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from workflow.plan import reader

BIBLIOGRAPHY = Path("papers", "references.bib")
ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?\s*$", re.MULTILINE | re.DOTALL)
ACCENT = re.compile(r"\{?\\(['`\"^~v])\s*\{?(\w)\}?\}?")
COMBINING = dict(zip("'`\"^~v", "\u0301\u0300\u0308\u0302\u0303\u030c", strict=True))


@dataclass(frozen=True)
class Cited:
    """A publication: its authors as (family name, given names), and where it appeared."""

    key: str
    kind: str  # as BibTeX calls it
    title: str
    authors: tuple[tuple[str, str], ...]
    year: str
    venue: str

    def __str__(self) -> str:
        authors = "; ".join(f"{family}, {given}" for family, given in self.authors)
        return f"{authors.removesuffix('.')}. {self.title}. {self.venue}, {self.year}."


def bibliography(text: str) -> dict[str, Cited]:
    """All entries of a BibTeX file by their keys."""
    return {key: _cited(kind, key, body) for kind, key, body in ENTRY.findall(text)}


def cited(root: Path, papers: list[str]) -> dict[str, Cited]:
    """What some papers are as publications. Raises PlanError for a mistake in a paper's YAML."""
    known = bibliography((root / BIBLIOGRAPHY).read_text(encoding="utf-8"))
    return {name: known[reader.read(name, root)["paper"]["key"]] for name in papers}


def _cited(kind: str, key: str, body: str) -> Cited:
    fields = {name.lower(): _plain(value) for name, value in FIELD.findall(body)}
    names = [name.partition(", ") for name in fields["author"].split(" and ")]
    places = (fields.get(name, "") for name in ("booktitle", "journal", "howpublished"))
    return Cited(
        key,
        kind.lower(),
        fields["title"],
        tuple((family, given) for family, _, given in names),
        fields["year"],
        next(filter(None, places), ""),
    )


def _plain(text: str) -> str:
    """A value without LaTeX."""
    accented = ACCENT.sub(lambda mark: mark[2] + COMBINING[mark[1]], text)
    words = " ".join(re.sub(r"[{}]", "", accented).split())
    return unicodedata.normalize("NFC", words)
