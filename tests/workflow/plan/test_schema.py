"""What the papers name is there: planned runs, readings, entries of the bibliography."""

from pathlib import Path

import pytest

from workflow.judge import claims
from workflow.plan import expand, reader, selection

ROOT = Path(__file__).resolve().parents[3]
SCALES = ("smoke", "paper")


@pytest.mark.parametrize("name", expand.papers())
def test_the_papers_follow_the_schema_and_name_only_runs_that_are_planned(name):
    for scale in SCALES:
        paper = expand.load(name, scale)
        claims.runs(paper)
        for figure in paper.entry.get("figures", []):
            selection.figure_runs(paper, figure["id"])
        for table in paper.entry.get("tables", []):
            selection.table_runs(paper, table["id"])
        for line in paper.entry.get("ranks", []):
            selection.rank_runs(paper, line["id"])


@pytest.mark.parametrize("name", expand.papers())
def test_assumptions_and_deviations_name_readings(name):
    entry = reader.read(name)
    for item in [*entry.get("assumptions", []), *entry.get("deviations", [])]:
        for reading in filter(None, item.get("reading", "").split(", ")):
            assert reading in entry["readings"]


def test_every_paper_and_key_is_in_the_bibliography():
    text = (ROOT / "papers" / "references.bib").read_text()
    for name in expand.papers():
        assert f"{{{reader.read(name)['paper']['key']}," in text
