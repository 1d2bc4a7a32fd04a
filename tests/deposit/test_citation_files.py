"""CITATION.cff, codemeta.json, .zenodo.json: only what project, LICENSE, bibliography say."""

import json
import re
import tomllib

import pytest
import yaml

from workflow.plan.citations import cited
from workflow.plan.resolve import ROOT, papers

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CODEMETA = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
CITED = {paper.title: paper for paper in cited(ROOT, papers(ROOT)).values()}
MAKERS = [author["name"] for author in PROJECT["authors"]]


def test_all_name_one_version_and_one_date():
    assert {CITATION["version"], CODEMETA["version"], ZENODO["version"]} == {PROJECT["version"]}
    dates = {CODEMETA["datePublished"], ZENODO["publication_date"]}
    assert dates == {str(CITATION["date-released"])}
    (newest, *_) = re.findall(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest.startswith(f"{PROJECT['version']} ({CITATION['date-released']})")


def test_all_name_the_same_makers():
    assert [author["name"] for author in CITATION["authors"]] == MAKERS
    assert [author["name"] for author in CODEMETA["author"]] == MAKERS
    assert [creator["name"] for creator in ZENODO["creators"]] == MAKERS


def test_all_name_the_licence():
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert {CITATION["license"], ZENODO["license"], PROJECT["license"]} == {"MIT"}
    assert CODEMETA["license"] == "https://spdx.org/licenses/MIT"


def test_all_say_what_it_is():
    assert CODEMETA["description"] == PROJECT["description"]
    assert ZENODO["description"].startswith(PROJECT["description"])
    # the distribution has a suffix, since another project has the name on the package index
    name = PROJECT["name"].removesuffix("-bo")
    assert (CODEMETA["name"], ZENODO["title"]) == (name, CITATION["title"])
    assert CODEMETA["runtimePlatform"] == f"Python {PROJECT['requires-python']}"


def test_the_replicated_papers_are_referenced_as_the_bibliography_has_them():
    assert len(CITED) == 5
    assert {each["title"] for each in CITATION["references"]} == set(CITED)
    for each in CITATION["references"]:
        paper = CITED[each["title"]]
        authors = [(one["family-names"], one["given-names"]) for one in each["authors"]]
        place = each.get("collection-title", each.get("notes"))
        assert (tuple(authors), str(each["year"])) == (paper.authors, paper.year)
        assert place == paper.venue
    assert {each["name"] for each in CODEMETA["referencePublication"]} == set(CITED)
    for each in CODEMETA["referencePublication"]:
        paper = CITED[each["name"]]
        authors = [(one["familyName"], one["givenName"]) for one in each["author"]]
        assert (tuple(authors), each["datePublished"]) == (paper.authors, paper.year)
        assert each["isPartOf"]["name"] == paper.venue
    assert sorted(ZENODO["references"]) == sorted(map(str, CITED.values()))


@pytest.mark.parametrize("file", ["CITATION.cff", "codemeta.json", ".zenodo.json"])
def test_no_identifier_is_named_that_the_bibliography_does_not_have(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    bibliography = (ROOT / "papers" / "references.bib").read_text(encoding="utf-8")
    named = re.findall(r"\b10\.\d{4,}/\S+|arXiv:\d+\.\d+|orcid\.org/\S+", text)
    assert all(name in bibliography for name in named)
