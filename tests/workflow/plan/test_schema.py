"""What the papers name is there: planned runs, readings, entries of the bibliography, exhibits and
commands of findings. What their claims say of themselves holds.
"""

import json
import re

import pytest

from workflow.judge import claims
from workflow.plan import exhibits, expand, reader
from workflow.plan.reads import stated, written
from workflow.plan.resolve import ROOT

PAPERS = {name: expand.load(name, "paper") for name in expand.papers()}


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_follow_the_schema_and_name_only_runs_that_are_planned(name):
    for paper in (expand.load(name, "smoke"), PAPERS[name]):
        claims.runs(paper)
        for kind, line in exhibits.lines_of(paper.entry):
            kind.runs(paper, line.id)


@pytest.mark.parametrize("name", PAPERS)
def test_assumptions_and_deviations_name_readings(name):
    entry = reader.read(name)
    for item in [*entry.get("assumptions", []), *entry.get("deviations", [])]:
        for reading in filter(None, item.get("reading", "").split(", ")):
            assert reading in entry["readings"]


FINDINGS = [(name, one) for name in PAPERS for one in PAPERS[name].entry.get("findings", [])]


def test_what_a_finding_shows_was_drawn_and_judged_and_its_commands_name_planned_runs():
    assert FINDINGS
    for paper, finding in FINDINGS:
        reference = ROOT / "figures" / "reference" / paper
        assert any((reference / f"{finding['figure']}.{end}").exists() for end in ("png", "md"))
        verdicts = json.loads((reference / "verdicts.json").read_text())
        assert set(finding["claims"]) <= {claim["id"] for claim in written(verdicts)}
        for command in finding.get("runs", []):
            _, _, module, named, problem, curve, seeds = command.split()
            assert (module, named) == ("workflow.run", paper)
            assert set(expand.parse_seeds(seeds)) <= set(PAPERS[paper].curve(problem, curve).seeds)


STATEMENTS = re.compile(r"\b(theorem|thm|lemma|corollar|cor|proposition|prop)s?\b", re.IGNORECASE)
CLAIMS = [
    (f"{name}: {claim.id}", paper, claim)
    for name, paper in PAPERS.items()
    for claim in stated(paper)
]


def kind_of(claim):
    """Why a claim stands in the appendix; "" of those that do not."""
    return getattr(claim, "kind", "")


def test_a_claim_that_cites_a_theorem_states_its_hypotheses():
    assert not [
        name
        for name, _, claim in CLAIMS
        if STATEMENTS.search(claim.where)
        and kind_of(claim) != "control"
        and not all(one.requires for one in claim.asked)
    ]


def test_what_the_paper_does_not_say_is_a_control_in_the_appendix():
    for name, _, claim in CLAIMS:
        is_ours = "our own question" in claim.note
        is_ours |= claim.where.startswith("not in the paper")
        assert (kind_of(claim) == "control") == is_ours, name


def test_every_reading_that_a_claim_names_is_planned_at_published_size():
    for name, paper, claim in CLAIMS:
        for reading, wanted in claims.readings_of(paper, claim).items():
            assert wanted, f"{name}: {reading}"


def test_a_claim_in_cases_on_tasks_without_a_known_optimum_is_judged_under_each_reading():
    """There the runs of a claim are all runs of the task, under the default reading, too."""
    (claim,) = [one for one in stated(PAPERS["go_ucb"]) if one.id == "lowest-on-australian"]
    assert claim.cases
    assert list(claims.readings_of(PAPERS["go_ucb"], claim)) == claim.readings


def test_null_models_are_among_the_runs_that_a_ledger_reads():
    read = {paper.name: {run.name for run in claims.runs(paper)} for paper in PAPERS.values()}
    for _, paper, claim in CLAIMS:
        for one in claim.asked:
            for null in one.null_model:
                for problem in one.check.problems if null.curve else ():
                    assert paper.curve(problem, null.curve).name in read[paper.name]
