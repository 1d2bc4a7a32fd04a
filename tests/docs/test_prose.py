"""Pages that people read have short sentences and short paragraphs."""

import re

import pytest

from workflow.plan.reader import read
from workflow.plan.resolve import ROOT, papers

LONGEST, MEAN, PARAGRAPH = 25, 16, 80  # words
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ROOT / "SECURITY.md",
    *(ROOT / room / "README.md" for room in ("benchmarks", "config", "data", "envs", "profiles")),
    ROOT / "tests" / "faults" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def paragraphs(text):
    """Paragraphs and items of lists, without code, tables, headings and the addresses of links."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        lines = [line.strip() for line in block.strip().splitlines()]
        if lines and not lines[0].startswith(("|", "#", "!", "<")):
            words = re.sub(r"^([-*]|\d+\.) ", "", " ".join(lines))
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
            yield re.sub(r"`[^`]*`", "Code", words)


def sentences(paragraph):
    return re.split(r"(?<=[.!?])[)*]*\s+(?=[A-Z0-9*\"(])", paragraph)


def test_a_sentence_ends_where_a_reader_ends_it():
    (said,) = paragraphs("- A [link](x.md). `code` is one word.\n  Yes.\n\n| no | table |\n")
    assert sentences(said) == ["A link.", "Code is one word.", "Yes."]


@pytest.mark.parametrize("kind", ["sentences", "means", "paragraphs"])
def test_pages_are_written_in_short_pieces(kind):
    complaints = []
    for page in PAGES:
        blocks = list(paragraphs(page.read_text(encoding="utf-8")))
        said = [sentence.split() for block in blocks for sentence in sentences(block)]
        name = page.relative_to(ROOT)
        if kind == "sentences":
            complaints += [(str(name), " ".join(s)) for s in said if len(s) > LONGEST]
        elif kind == "means":
            mean = sum(map(len, said)) / len(said)
            complaints += [(str(name), mean)] * (mean > MEAN)
        else:
            complaints += [(str(name), b) for b in blocks if len(b.split()) > PARAGRAPH]
    assert complaints == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_line_begins_a_list_by_accident(page):
    assert re.findall(r"^ +\d+\. .*", page.read_text(encoding="utf-8"), re.MULTILINE) == []


FINDINGS = {
    f"{name}-{one['id']}": one["says"] for name in papers() for one in read(name)["findings"]
}


@pytest.mark.parametrize("finding", FINDINGS)
def test_what_lies_behind_a_claim_is_read_as_fast(finding):
    said = re.sub(r"`[^`]*`", "Code", FINDINGS[finding])
    assert len(said.split()) <= PARAGRAPH
    assert [one for one in sentences(said) if len(one.split()) > LONGEST] == []


def words(*pages):
    return sum(len((ROOT / page).read_text(encoding="utf-8").split()) for page in pages)


def test_what_is_read_stays_short():
    """A README of a page, and docs of an evening."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60
    docs = sorted((ROOT / "docs").glob("*.md"))
    assert len(docs) <= 14
    assert words("README.md") <= 450 and words("ARCHITECTURE.md") <= 1_500
    assert words(*docs, "ARCHITECTURE.md", "CHANGELOG.md") <= 18_000
