"""The findings name what exists, say it without typed measurements, and every mistake in their file
is told.
"""

import json
import re
from pathlib import Path

import pytest
import yaml

from workflow.plan import expand
from workflow.plan.exhibits import lines_of
from workflow.plan.reads import stated
from workflow.site import findings
from workflow.trace.cells import PlanError

ROOT = Path(__file__).resolve().parents[3]
TOY = """
paper: {key: toy, title: A toy, venue: nowhere}
scales: {smoke: {}, short: {}, paper: {}}
seeds: 5
problems: {p: {is: tables.abalone, budget: 10, room: 1, init: {design: uniform, n: 1}}}
algorithms: {A: {is: random_search.RandomSearch}, B: {is: random_search.RandomSearch}}
readings: {code: {says: as the code, algorithms: {A: {k: 1}}}}
runs: [{}]
figures:
  - {id: fig1, title: Regret, metric: cumulative_regret, curves: [A], panels: [{problem: p,
       title: P}]}
claims:
  - {id: better, where: nowhere, says: A ends with less regret than B,
     check: {test: less, metric: cumulative_regret, left: [A], right: [B]}}
errata:
  - {id: slip, where: eq. (1), says: plus, instead: minus}
"""
GOOD = {
    "id": "one",
    "paper": "toy",
    "title": "A title.",
    "says": "What was seen.",
    "figure": "fig1",
    "claims": ["better"],
}


@pytest.fixture
def written(tmp_path):
    """A function that writes a toy paper and findings, and gives their root."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "toy.yaml").write_text(TOY)

    def write(content):
        (tmp_path / "papers" / "findings.yaml").write_text(
            content if isinstance(content, str) else yaml.safe_dump(content)
        )
        return tmp_path

    return write


@pytest.fixture(scope="module")
def papers():
    return {name: expand.load(name, "paper") for name in expand.papers()}


COMMITTED = findings.load(ROOT)


def test_what_a_finding_shows_is_offered_and_was_judged(papers):
    for finding in COMMITTED:
        entry = papers[finding.paper].entry
        assert finding.figure in {line["id"] for _, line in lines_of(entry)}
        reference = ROOT / "figures" / "reference" / finding.paper
        assert any(
            (reference / f"{finding.figure}{ending}").exists() for ending in (".png", ".gif", ".md")
        )
        judged = {
            claim["id"] for claim in stated(json.loads((reference / "verdicts.json").read_text()))
        }
        assert set(finding.claims) <= judged


def test_the_commands_of_a_finding_name_planned_runs(papers):
    for finding in COMMITTED:
        for command in finding.runs:
            _, _, module, paper, problem, curve, seeds = command.split()
            assert (module, paper) == ("workflow.run", finding.paper)
            assert set(expand.parse_seeds(seeds)) <= set(papers[paper].cell(problem, curve).seeds)


def test_a_finding_is_read_as_it_is_written(written):
    (found,) = findings.load(written([{**GOOD, "errata": ["slip"], "reading": "code"}]))
    assert found.model_dump() == {**GOOD, "errata": ["slip"], "reading": "code", "runs": []}


def test_a_mistake_is_told(written):
    for changes, message in [
        ({"paper": "toi"}, "one: unknown paper toi; known: toy"),
        ({"figure": "fig2"}, "one: unknown figure, table or picture fig2; known: fig1"),
        ({"claims": ["better", "worse"]}, "one: unknown claim worse; known: better"),
        ({"errata": ["slips"]}, "one: unknown erratum slips; known: slip"),
        ({"reading": "cod"}, "one: unknown reading cod; known: code"),
        ({"numbers": [1]}, "entry 0, numbers: Extra inputs are not permitted"),
        ({"claims": []}, "entry 0, claims: List should have at least 1 item"),
        ({"claims": "better"}, "entry 0, claims: Input should be a valid list, got 'better'"),
        ({"claims": [3]}, "entry 0, claims, 0: Input should be a valid string, got 3"),
        ({"says": " "}, "entry 0, says: String should have at least 1 character"),
    ]:
        with pytest.raises(PlanError, match=re.escape(message)):
            findings.load(written([{**GOOD, **changes}]))


def test_a_file_that_is_no_list_of_findings_is_refused(written):
    bare = {name: value for name, value in GOOD.items() if name != "title"}
    for content, message in [
        ([GOOD, GOOD], "id given twice: one"),
        ([bare], "entry 0, title: Field required"),
        (["one"], "entry 0: Input should be"),
        ({"one": GOOD}, "Input should be a valid list"),
        ("- {id: one", "no valid YAML"),
    ]:
        with pytest.raises(PlanError, match=re.escape(message)):
            findings.load(written(content))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(PlanError, match="no such file"):
        findings.load(tmp_path)
