"""What a specification counts: axes, alternatives, refinements, and readings that are the same."""

import pytest

from tests.workflow.synthetic import Toy, noisy
from workflow.judge import claims, ledger, votes
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    INCONCLUSIVE,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
)
from workflow.trace.cells import PlanError

LESS = {
    "test": "less",
    "metric": "cumulative_regret",
    "problems": ["p"],
    "left": ["A"],
    "right": ["B"],
}


def judged(observed, settings=(), *, same=False, again="", refines=(), reasons=()):
    """What a claim comes to, as verdicts.json has it."""
    return {
        "verdict": UNDECIDED if reasons else observed,
        "observed": observed,
        "reasons": list(reasons),
        "seeds": 0 if observed == NOT_RUN else 10,
        "runs": 1,
        "same_runs": int(same),
        "settings": list(settings),
        "refines": list(refines),
        "again": again,
        "weakest": None,
    }


def claim(default=REPRODUCED, **readings):
    return {"id": "c", "where": "Fig. 1", "says": "A", **judged(default), "readings": readings}


def share(told):
    """The shares of a claim that are not zero."""
    found = votes.shares(votes.specifications(told))
    assert sum(found.values()) == pytest.approx(1)
    return {kind: pytest.approx(value) for kind, value in found.items() if value}


READINGS = {
    "wide": judged(CONTRADICTED, ["A.width"]),
    "narrow": judged(REPRODUCED, ["A.width"]),
    "raw": judged(INCONCLUSIVE, ["A.scale", "A.unit"]),
    "cold": judged(NOT_RUN, ["p.noise"]),
}


def test_the_default_and_each_axis_have_a_vote_that_alternatives_share():
    assert share(claim(DIRECTION, **READINGS)) == {
        DIRECTION: 1 / 4,
        CONTRADICTED: 1 / 8,
        REPRODUCED: 1 / 8,
        INCONCLUSIVE: 1 / 4,
        NOT_RUN: 1 / 4,
    }


@pytest.mark.parametrize(
    "twin",
    [
        judged(CONTRADICTED, ["A.width"], again="wide"),
        judged(CONTRADICTED, ["A.other"], again="wide"),  # the same runs by another way
        judged(DIRECTION, ["A.new"], same=True),  # the default runs again
        judged(REPRODUCED, ["A.width"], same=True, again="wide"),
    ],
)
def test_a_reading_that_is_said_twice_changes_no_share(twin):
    before = votes.specifications(claim(DIRECTION, **READINGS))
    told = claim(DIRECTION, **READINGS, twin=twin)
    assert votes.shares(votes.specifications(told)) == votes.shares(before)
    (owner,) = [spec.name for spec in votes.specifications(told) if "twin" in spec.names]
    assert owner == (votes.AS_PRINTED if twin["same_runs"] else "wide")


def test_what_is_the_same_as_a_twin_is_one_with_its_owner():
    told = claim(
        twin=judged(CONTRADICTED, ["A.x"], same=True),
        third=judged(REPRODUCED, ["A.y"], again="twin"),
    )
    (only,) = votes.specifications(told)
    assert only.names == ("default", "twin", "third")


def test_another_value_or_a_refinement_gives_its_question_no_more_weight():
    one = claim(trained=judged(CONTRADICTED, ["A.fit"]), start=judged(REPRODUCED, ["A.start"]))
    assert share(one) == {REPRODUCED: 2 / 3, CONTRADICTED: 1 / 3}
    more = {
        "longer": judged(CONTRADICTED, ["A.fit", "A.steps"], refines=["trained"]),
        "longest": judged(CONTRADICTED, ["A.fit", "A.more"], refines=["trained", "longer"]),
    }
    one["readings"] |= more
    assert share(one) == {REPRODUCED: 2 / 3, CONTRADICTED: 1 / 3}


def test_what_combines_two_questions_has_an_axis_of_its_own():
    both = judged(CONTRADICTED, ["A.fit", "A.start"], refines=["trained", "start"])
    told = claim(
        trained=judged(REPRODUCED, ["A.fit"]), start=judged(REPRODUCED, ["A.start"]), both=both
    )
    assert share(told) == {REPRODUCED: 3 / 4, CONTRADICTED: 1 / 4}
    # what changes nothing is no question
    told["readings"]["start"] = judged(REPRODUCED, ["A.start"], same=True)
    assert share(told) == {REPRODUCED: 3 / 4, CONTRADICTED: 1 / 4}
    assert len(votes.axes(votes.specifications(told))) == 1


def test_what_may_not_decide_and_what_is_not_planned_are_shown_apart():
    told = claim(
        few=judged(REPRODUCED, ["A.x"], reasons=["3 seeds, 5 are needed"]), never=judged(NOT_RUN)
    )
    assert share(told) == {REPRODUCED: 1 / 3, UNDECIDED: 1 / 3, NOT_RUN: 1 / 3}


def test_a_control_has_no_vote_and_is_on_no_axis():
    told = claim(DIRECTION, **READINGS)
    before = votes.specifications(told)
    control = {**judged(CONTRADICTED, ["A.width"]), "control": True}
    told["readings"] = {"control": control, **told["readings"]}
    found = votes.specifications(told)
    assert votes.shares(found) == votes.shares(before)
    assert votes.axes(found) == votes.axes(before)
    assert [(spec.name, spec.vote) for spec in found if spec.is_control] == [("control", 0)]


def test_verdicts_without_settings_are_refused():
    older = claim(wide={key: value for key, value in READINGS["wide"].items() if key != "settings"})
    with pytest.raises(PlanError, match="found older verdicts"):
        votes.specifications(older)


def universe(root, **readings):
    """A beats B by default; `readings`: name, settings of A and its level."""
    toy = Toy(root)
    toy.add("A", noisy(0.9))
    toy.add("B", noisy(0.5, key=1))
    for name, (settings, level) in readings.items():
        toy.entry["readings"][name] = {"says": name, "algorithms": {"A": settings}}
        toy.add("A", noisy(level), reading=name, settings=settings)
    return toy


def from_records(toy):
    """The specifications of the claim, by way of verdicts.json."""
    verdict = claims.judge(
        toy.paper, toy.store(), {"id": "c", "where": "", "says": "", "check": LESS}
    )
    told = ledger.plain(ledger.entry(verdict))
    return votes.specifications(told)


def test_axes_are_computed_from_the_parameters_of_runs(tmp_path):
    found = from_records(
        universe(
            tmp_path,
            small=({"qbar": 1}, 0.3),
            large=({"qbar": 9}, 0.8),
            deep=({"fit": {"steps": 50}}, 0.75),
            deeper=({"fit": {"steps": 50}, "qbar": 7}, 0.7),
            both=({"fit": {"steps": 50}, "qbar": 9}, 0.6),
        )
    )
    assert {spec.name: spec.axis for spec in found} == {
        "default": (),
        "small": ("A.qbar",),
        "large": ("A.qbar",),
        "deep": ("A.fit.steps",),
        "deeper": ("A.fit.steps",),  # repeats `deep` alone: its qbar is that of no other reading
        "both": ("A.fit.steps", "A.qbar"),  # repeats `deep` and `large`
    }
    assert [float(spec.vote) for spec in found] == [1, 0.5, 0.5, 0.5, 0.5, 1]


def test_a_twin_of_a_reading_and_one_of_the_default_change_nothing_from_records_on(tmp_path):
    plain = {"small": ({"qbar": 1}, 0.3), "large": ({"qbar": 9}, 0.8)}
    before = from_records(universe(tmp_path / "before", **plain))
    for name, twin in {
        "named": ({"qbar": 1}, 0.3),
        "traced": ({"unread": 3}, 0.3),
        "idle": ({"unread": 4}, 0.9),
    }.items():
        after = from_records(universe(tmp_path / name, **plain, twin=twin))
        assert votes.shares(after) == votes.shares(before)
        assert len(after) == len(before)
    other = from_records(universe(tmp_path / "other", **plain, twin=({"unread": 3}, 0.31)))
    assert votes.shares(other) != votes.shares(before)
