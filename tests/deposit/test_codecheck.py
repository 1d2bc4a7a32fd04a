"""codecheck.yml names what `make figures` makes; what a codechecker alone can say is left open."""

import re
from pathlib import Path

import yaml

from workflow.plan.exhibits import LEDGER, lines_of
from workflow.plan.expand import load
from workflow.plan.resolve import ROOT, papers

CODECHECK = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_every_file_of_the_manifest_is_made_without_a_network():
    named = [Path(line["file"]) for line in CODECHECK["manifest"]]
    assert {path.parts[2] for path in named} == set(papers())
    for path in named:
        plan = load(path.parts[2], "paper")
        made = {file for kind, line in lines_of(plan.entry) for file in kind.files(line)}
        assert path.parts[:2] == ("figures", "drawn")
        assert path.name in made | {*LEDGER}


def test_it_names_what_is_cited_and_leaves_the_check_open():
    assert CODECHECK["paper"]["title"] == CITATION["title"]
    makers = [author["name"] for author in CITATION["authors"]]
    assert [author["name"] for author in CODECHECK["paper"]["authors"]] == makers
    for key in ("summary", "repository", "check_time", "certificate", "report"):
        assert CODECHECK[key] == "OPEN"
    assert CODECHECK["codechecker"] == [{"name": "OPEN", "ORCID": "OPEN"}]


def test_the_release_checklist_names_files_that_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+\.(?:md|toml|cff|json|yml|yaml))`", text)
    assert {"codecheck.yml", "CITATION.cff"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == []
