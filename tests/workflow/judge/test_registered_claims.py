"""What the claims of the papers say of themselves, as papers/*.yaml has them."""

import pytest

from workflow.judge.claims import readings_of, runs
from workflow.plan.expand import load
from workflow.plan.reads import settings_of, stated
from workflow.plan.resolve import papers
from workflow.site.matching import labels

STATEMENTS = {"theorem", "lemma", "corollary", "proposition"}
CLAIMS = [
    pytest.param(paper, claim, id=f"{paper}-{claim['id']}")
    for paper in sorted(papers())
    for claim in stated(load(paper, "paper").entry)
]


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_a_claim_that_cites_a_theorem_states_its_hypotheses(paper, claim):
    cited = {kind for kind, *_ in labels(claim["where"])} & STATEMENTS
    states = all("requires" in one for one in settings_of(claim))
    assert not cited or states or claim.get("kind") == "control"


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_what_the_paper_does_not_say_is_a_control_in_the_appendix(paper, claim):
    ours = (
        claim["where"].startswith("not in the paper"),
        "our own question" in claim.get("note", ""),
    )
    assert (claim.get("kind") == "control") == any(ours)


@pytest.mark.parametrize("paper", sorted(papers()))
def test_every_reading_that_a_claim_names_is_planned_at_published_size(paper):
    plan = load(paper, "paper")
    assert not [
        f"{claim['id']}: {reading}"
        for claim in stated(plan.entry)
        for reading, wanted in readings_of(plan, claim).items()
        if not wanted
    ]


@pytest.mark.parametrize("paper", sorted(papers()))
def test_null_models_are_among_the_runs_that_a_ledger_reads(paper):
    plan = load(paper, "paper")
    names = {run.name for run in runs(plan)}
    curves = [
        (problem, line["curve"])
        for claim in stated(plan.entry)
        for one in settings_of(claim)
        for line in one.get("null_model", [])
        if "curve" in line
        for problem in one["check"]["problems"]
    ]
    assert {plan.cell(*place).name for place in curves} <= names
