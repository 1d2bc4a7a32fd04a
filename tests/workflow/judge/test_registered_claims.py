"""What the claims of the papers say of themselves, as papers/*.yaml has them."""

import re

import pytest

from workflow.judge.claims import readings_of, runs
from workflow.plan.expand import load
from workflow.plan.reads import settings_of, stated
from workflow.plan.resolve import papers

STATEMENTS = re.compile(r"\b(theorem|thm|lemma|corollar|cor|proposition|prop)s?\b", re.IGNORECASE)


def stated_of_all():
    return [
        (f"{paper}: {claim['id']}", claim)
        for paper in sorted(papers())
        for claim in stated(load(paper, "paper").entry)
    ]


def test_a_claim_that_cites_a_theorem_states_its_hypotheses():
    assert not [
        name
        for name, claim in stated_of_all()
        if STATEMENTS.search(claim["where"])
        and claim.get("kind") != "control"
        and not all("requires" in one for one in settings_of(claim))
    ]


def test_what_the_paper_does_not_say_is_a_control_in_the_appendix():
    assert not [
        name
        for name, claim in stated_of_all()
        if (claim.get("kind") == "control")
        != (
            claim["where"].startswith("not in the paper")
            or "our own question" in claim.get("note", "")
        )
    ]


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
