"""What the claims of the papers say of themselves, as papers/*.yaml has them."""

import pytest

from workflow.judge.claims import readings_of, runs
from workflow.plan.expand import load
from workflow.plan.resolve import papers
from workflow.site.matching import labels

STATEMENTS = {"theorem", "lemma", "corollary", "proposition"}
CLAIMS = [
    pytest.param(paper, claim, id=f"{paper}-{claim['id']}")
    for paper in sorted(papers())
    for claim in load(paper, "paper").entry["claims"]
]


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_a_claim_that_cites_a_theorem_states_its_hypotheses(paper, claim):
    cited = {kind for kind, *_ in labels(claim["where"])} & STATEMENTS
    assert not cited or "requires" in claim or claim.get("ours")


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_what_the_paper_does_not_say_is_ours(paper, claim):
    ours = (
        claim["where"].startswith("not in the paper"),
        "our own question" in claim.get("note", ""),
    )
    assert bool(claim.get("ours")) == any(ours)


@pytest.mark.parametrize("paper", sorted(papers()))
def test_every_reading_that_a_claim_names_is_planned_at_published_size(paper):
    plan = load(paper, "paper")
    assert not [
        f"{claim['id']}: {reading}"
        for claim in plan.entry["claims"]
        for reading, wanted in readings_of(plan, claim).items()
        if not wanted
    ]


@pytest.mark.parametrize("paper", sorted(papers()))
def test_null_models_are_among_the_runs_that_a_ledger_reads(paper):
    plan = load(paper, "paper")
    names = {run.name for run in runs(plan)}
    curves = [
        (problem, line["curve"])
        for claim in plan.entry["claims"]
        for line in claim.get("null_model", [])
        if "curve" in line
        for problem in claim["check"]["problems"]
    ]
    assert {plan.cell(*place).name for place in curves} <= names
