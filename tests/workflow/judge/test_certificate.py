"""The certificate of claims: universes in which one reading, or two together, are what was
published, found again from records; sentences, counts, and what it writes.
"""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from tests.workflow.synthetic import Toy, noisy
from workflow.judge import certificate, changes, claims, ledger
from workflow.judge.changes import HOLD, OVERTURN
from workflow.judge.claims import Outcome
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    INCONCLUSIVE,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
)
from workflow.judge.votes import Spec
from workflow.measure.store import Store
from workflow.trace.cells import PlanError

BEST = {  # A is better than B and than C
    "id": "best",
    "where": "Fig. 1",
    "says": "A is best",
    "check": {
        "test": "less",
        "metric": "cumulative_regret",
        "problems": ["p"],
        "left": ["A"],
        "right": ["B", "C"],
    },
}


def universe(root, readings, *, levels=None, claims=(BEST,), **options):
    """Records of A, B and C, and of readings: name -> {algorithm: (settings, level)}."""
    toy = Toy(root, **options)
    for key, (name, level) in enumerate((levels or {"A": 0.7, "B": 0.9, "C": 0.9}).items()):
        toy.add(name, noisy(level, key=key))
    for name, changed in readings.items():
        toy.entry["readings"][name] = {
            "says": name,
            "algorithms": {who: settings for who, (settings, _) in changed.items()},
        }
        for key, (who, (settings, level)) in enumerate(changed.items()):
            toy.add(who, noisy(level, key=7 + key), reading=name, settings=settings)
    toy.entry["claims"] = list(claims)
    return toy


def certified(toy, folder, **options):
    """The certificate of a toy's claims, by way of both programs; its JSON and its Markdown."""
    for program in (ledger, certificate):
        program.write(toy.store(**options), folder)
    told = json.loads((folder / "certificate.json").read_text())
    return told, (folder / "certificate.md").read_text()


def turn_of(toy, folder):
    told, _ = certified(toy, folder)
    return told["claims"][0]["changes"], told["claims"][0]["turn"]


def test_the_reading_that_was_published_is_found_again(tmp_path):
    toy = universe(
        tmp_path,
        {
            "wrong": {"A": ({"qbar": 1}, 0.3)},
            "published": {"A": ({"beta": "code"}, 0.98)},
            "weak": {"B": ({"qbar": 3}, 0.5)},
        },
    )
    found, words = turn_of(toy, tmp_path / "out")
    assert (found["goal"], found["changes"]) == (HOLD, [["published"]])
    assert words == "It holds under published."


def test_a_pair_that_was_published_is_found_from_runs_made_one_at_a_time(tmp_path):
    toy = universe(
        tmp_path,
        {
            "poor-b": {"B": ({"qbar": 3}, 0.5)},
            "poor-c": {"C": ({"qbar": 3}, 0.5)},
            "poorer-b": {"B": ({"beta": 3}, 0.89)},
            "idle": {"A": ({"qbar": 3}, 0.71)},
        },
    )
    found, words = turn_of(toy, tmp_path / "out")
    assert found["changes"] == [["poor-b", "poor-c"]]
    # poor-b and poorer-b both change B: of six pairs five could be composed
    assert (found["singles"], found["tried"], found["never_run"]) == (4, 5, 1)
    assert words == (
        "It holds under poor-b with poor-c, composed of runs that were made one at a time."
    )


def test_readings_that_cannot_be_told_apart_are_said_to_be_so(tmp_path):
    toy = universe(
        tmp_path, {"one": {"A": ({"qbar": 1}, 0.97)}, "two": {"A": ({"beta": "code"}, 0.971)}}
    )
    found, words = turn_of(toy, tmp_path / "out")
    assert found["changes"] == [["one"], ["two"]]
    assert words == "It holds under one or two; these runs cannot tell which."


def test_where_nothing_tried_reaches_it_that_is_said_with_the_pairs_that_nobody_ran(tmp_path):
    readings = {
        "one": {"A": ({"qbar": 1}, 0.71)},
        "two": {"A": ({"beta": "code"}, 0.72)},
        "three": {"B": ({"beta": "code"}, 0.89)},
    }
    found, words = turn_of(universe(tmp_path, readings), tmp_path / "out")
    assert (found["changes"], found["tried"], found["never_run"]) == ([], 2, 1)
    assert words == (
        "None of 3 readings run, nor of 2 pairs of them, lets it hold; 1 pair changing a run in"
        " common, or lacking one, never run."
    )


def test_what_overturns_a_claim_that_holds_is_found_too(tmp_path):
    levels = {"A": 0.9, "B": 0.5, "C": 0.4}
    toy = universe(
        tmp_path,
        {"same": {"A": ({"qbar": 1}, 0.8)}, "turns": {"C": ({"qbar": 1}, 0.97)}},
        levels=levels,
    )
    found, words = turn_of(toy, tmp_path / "out")
    assert (found["goal"], found["changes"]) == (OVERTURN, [["turns"]])
    assert words == "It is contradicted under turns."


def test_two_readings_of_one_problem_and_of_a_curve_on_it_are_never_composed(tmp_path):
    """One reading changes the problem for all, so that a run of the other one is not on it."""
    toy = universe(tmp_path, {"poor-b": {"B": ({"qbar": 3}, 0.5)}})
    toy.entry["readings"]["moved"] = {"says": "moved", "problems": {"p": {"noise": 1}}}
    for key, (name, level) in enumerate({"A": 0.7, "B": 0.9, "C": 0.5}.items()):
        made = toy.add(name, noisy(level, key=key))
        del toy.cells["p", name]
        moved = replace(made, problem_reading="moved", problem_entry={**made.problem_entry, "n": 1})
        toy.cells["p@moved", name] = moved
        for seed in moved.seeds:
            toy.write(moved, seed, dict(noisy(level, key=key)(seed)))
        toy.add(name, noisy({"A": 0.7, "B": 0.9, "C": 0.9}[name], key=key))
    found, _ = turn_of(toy, tmp_path / "out")
    assert (found["changes"], found["tried"], found["never_run"]) == ([], 0, 1)


def test_a_composed_verdict_is_that_of_the_composed_runs(tmp_path):
    """The same levels in one reading that changes both, and composed of two."""
    toy = universe(
        tmp_path,
        {
            "b": {"B": ({"qbar": 3}, 0.5)},
            "c": {"C": ({"qbar": 3}, 0.6)},
        },
    )
    toy.entry["readings"]["both"] = {"says": "", "algorithms": {"B": {"x": 1}, "C": {"x": 1}}}
    toy.add("B", noisy(0.5, key=7), reading="both", settings={"x": 1})
    toy.add("C", noisy(0.6, key=7), reading="both", settings={"x": 1})
    store = toy.store()
    composed = claims.composed(toy.paper, store, BEST, ["b", "c"])
    whole = claims.composed(toy.paper, store, BEST, ["both"])
    assert composed.verdict == whole.verdict == REPRODUCED
    assert [one.effect for one in composed.comparisons] == [one.effect for one in whole.comparisons]


def spec(name, counts_as, *, names=(), vote=1):
    verdict = counts_as if counts_as != "few" else UNDECIDED
    outcome = Outcome(verdict, counts_as if counts_as != "few" else REPRODUCED, (), 10)
    axis = () if name == "default" else (f"A.{name}",)
    return Spec((name, *names), axis, Fraction(vote), outcome, None)


def entry(*specs, follows=(), public="", group="", turn=None):
    turn = turn or changes.Turn(HOLD, (), 0)
    public = public or (NOT_RUN if follows else "")  # the public code has a method of the claim
    parts = ("c", "Fig. 1", "A is best", group, specs, turn, follows, public, "regret", "")
    return certificate.Entry(*parts)


def barred(name, observed, *reasons):
    """A specification that may not decide, and what it shows."""
    return replace(spec(name, "few"), outcome=Outcome(UNDECIDED, observed, reasons, 10))


DEFAULT = spec("default", REPRODUCED)
OPEN = spec("default", "few")
MANY = (CONTRADICTED, REPRODUCED, CONTRADICTED)
AGAINST = spec("default", CONTRADICTED)


@pytest.mark.parametrize(
    ("specs", "follows", "sentence"),
    [
        ([DEFAULT], (), "Holds as printed; no reading tried changes one of its runs."),
        (
            [spec("default", DIRECTION, names=("a",))],
            (),
            "Holds in direction as printed; the readings of it come to the same runs.",
        ),
        (
            [DEFAULT, spec("a", NOT_RUN)],
            (),
            "Holds as printed; the one other reading was not run.",
        ),
        (
            [AGAINST, spec("a", NOT_RUN), spec("b", NOT_RUN)],
            (),
            "Contradicted as printed; none of 2 others was run.",
        ),
        (
            [DEFAULT, spec("a", DIRECTION), spec("code", REPRODUCED), spec("b", NOT_RUN)],
            ("code",),
            "Holds as printed and in the public code, and under a, the other reading that was run"
            " (2 of 3 other readings run).",
        ),
        (
            [DEFAULT, spec("a", CONTRADICTED), spec("b", "few"), spec("d", REPRODUCED)],
            (),
            "Holds as printed; not under a (contradicted) (3 of 3 other readings run; b may not"
            " decide, observed: reproduced).",
        ),
        (
            [AGAINST, spec("a", INCONCLUSIVE), spec("b", "few"), spec("d", NOT_RUN)],
            (),
            "Contradicted as printed, and holds under no other reading that may decide (2 of 3"
            " other readings run; b may not decide, observed: reproduced).",
        ),
        (
            [AGAINST, spec("a", INCONCLUSIVE), spec("d", NOT_RUN)],
            (),
            "Contradicted as printed, and holds under no other reading tried (1 of 2 other readings"
            " run).",
        ),
        (
            [OPEN, spec("a", "few")],
            (),
            "No reading may decide it; observed: reproduced as printed and under 1 of 1 other"
            " readings run.",
        ),
        (
            [
                OPEN,
                *(barred(name, seen) for name, seen in zip("abc", MANY, strict=True)),
                spec("d", NOT_RUN),
            ],
            (),
            "No reading may decide it; observed: reproduced as printed and under 1 of 3 other"
            " readings run, contradicted under 2; 1 more not run.",
        ),
        (
            [barred("default", DIRECTION), barred("a", CONTRADICTED)],
            (),
            "No reading may decide it; observed: direction only as printed and under none of 1"
            " other readings run, contradicted under 1.",
        ),
        (
            [OPEN],
            (),
            "Not decided as printed (observed: reproduced); no reading tried changes one of its"
            " runs.",
        ),
        (
            [OPEN, spec("a", "few"), spec("b", CONTRADICTED)],
            (),
            "Not decided as printed (observed: reproduced), and holds under no other reading that"
            " may decide (2 of 2 other readings run; a may not decide, observed: reproduced).",
        ),
        (
            [DEFAULT, spec("a", "few"), spec("b", "few")],
            (),
            "Holds as printed; no other reading run may decide it (2 of 2 other readings run;"
            " observed: reproduced under 2).",
        ),
        (
            [DEFAULT, spec("a", "few"), barred("c", CONTRADICTED), spec("b", REPRODUCED)],
            (),
            "Holds as printed, and under b, the other reading that was run and may decide (3 of 3"
            " other readings run; 2 of them may not decide, observed: reproduced under 1,"
            " contradicted under 1).",
        ),
        (
            [spec("default", NOT_RUN), barred("a", INCONCLUSIVE)],
            (),
            "Not run as printed; no other reading run may decide it (1 of 1 other readings run;"
            " observed: inconclusive under 1).",
        ),
        (
            [AGAINST, spec("code", REPRODUCED), spec("b", CONTRADICTED)],
            ("code",),
            "Contradicted as printed; holds only in the public code (code) (2 of 2 other readings"
            " run).",
        ),
        (
            [spec("default", NOT_RUN), *(spec(name, REPRODUCED) for name in "abcdef")],
            (),
            "Not run as printed; holds only under a, b, c, d and 2 more (6 of 6 other readings"
            " run).",
        ),
    ],
)
def test_a_sentence_says_where_a_claim_holds_and_how_much_was_run(specs, follows, sentence):
    assert entry(*specs, follows=follows).sentence == sentence


def test_why_nothing_may_decide_is_said_where_it_is_the_same_everywhere():
    unmet = ("hypotheses not met: lam of A is 0.1", "substituted data")
    specs = [barred("default", REPRODUCED, *unmet), barred("a", REPRODUCED, *unmet[:1])]
    assert entry(*specs).sentence == (
        "No reading may decide it (hypotheses not met); observed: reproduced as printed and under 1"
        " of 1 other readings run."
    )
    agreed = replace(entry(*specs), follows=("code",), public=UNDECIDED)
    assert "reproduced as printed and in the public code, which agree here, and under 1 of 1" in (
        agreed.sentence
    )


def test_that_nothing_turns_a_claim_is_not_said_of_what_may_not_decide():
    """Neither as if it held against the claim, nor as if it held for it."""
    one, two = barred("a", REPRODUCED), barred("b", CONTRADICTED)
    alone = entry(OPEN, one, turn=changes.Turn(HOLD, (), 1))
    assert certificate.turned(alone) == "The one reading that was run may not decide it."
    both = entry(OPEN, one, two, turn=changes.Turn(HOLD, (), 2, 1, 3, 1))
    assert certificate.turned(both) == (
        "None of 2 readings run, nor of 1 pair of them, may decide it; 3 pairs changing a run in"
        " common, or lacking one, never run."
    )
    turn = changes.Turn(OVERTURN, (), 3, 2, 1, 1)
    mixed = entry(DEFAULT, one, two, spec("c", INCONCLUSIVE), turn=turn)
    assert certificate.turned(mixed) == (
        "None of 3 readings run, nor of 2 pairs of them, contradicts it; of these 2 readings and 1"
        " pair may not decide; 1 pair changing a run in common, or lacking one, never run."
    )


def test_pairs_that_may_not_decide_are_counted(tmp_path):
    """On substituted data no reading decides, and no pair of them."""
    readings = {"a": {"A": ({"qbar": 1}, 0.95)}, "b": {"B": ({"qbar": 3}, 0.5)}}
    toy = universe(tmp_path, readings, data="substitute: a table; of ours")
    told, text = certified(toy, tmp_path / "out")
    (found,) = told["claims"]
    assert found["stand_in"] == "a table; of ours"
    assert (found["changes"]["tried"], found["changes"]["undecided"]) == (1, 1)
    assert found["turn"] == "None of 2 readings run, nor of 1 pair of them, may decide it."
    assert found["sentence"].startswith("No reading may decide it (substituted data); observed: ")
    assert "holds under no other" not in text and "lets it hold" not in text


def test_a_claim_on_the_papers_own_data_has_no_stand_in(tmp_path):
    told, _ = certified(universe(tmp_path, {}), tmp_path / "out")
    assert [claim["stand_in"] for claim in told["claims"]] == [""]


def test_a_control_is_shown_and_is_in_no_count():
    control = replace(spec("moved", CONTRADICTED, vote=0), is_control=True)
    found = entry(DEFAULT, spec("a", REPRODUCED), control)
    assert certificate._sentence(found).endswith("that was run (1 of 1 other readings run).")
    assert found.best == REPRODUCED
    assert entry(AGAINST, replace(control, outcome=DEFAULT.outcome)).best == CONTRADICTED
    assert "Controls, which have no vote: moved: contradicted." in certificate._details(found)


def test_a_sentence_says_where_text_and_code_agree():
    agree = "Contradicted as printed and in the public code, which agree here; "
    found = entry(AGAINST, follows=("code",), public=CONTRADICTED)
    assert found.sentence == agree + "no reading tried changes one of its runs."
    same = entry(spec("default", CONTRADICTED, names=("code",)), spec("a", REPRODUCED))
    same = replace(same, follows=("code",), public=CONTRADICTED)
    assert same.sentence == agree + "holds only under a (1 of 1 other readings run)."
    assert not entry(AGAINST, follows=("code",), public=NOT_RUN).agrees
    assert not entry(AGAINST, public="").agrees


def test_three_counts_of_the_plain_claims(tmp_path):
    """Of a claim without a method of its own the public code says nothing; one of which the plan
    lacks a run was not run.
    """
    by_b = {**BEST, "id": "b", "check": {**BEST["check"], "left": ["B"], "right": ["C"]}}
    by_u = {**BEST, "id": "u", "check": {**BEST["check"], "left": ["uniform"], "right": ["C"]}}
    never = [{"never": True, "because": "no function has this norm"}]
    idle = {**BEST, "id": "idle", "requires": never}
    toy = universe(
        tmp_path,
        {"code": {"A": ({"beta": "code"}, 0.99)}},
        levels={"A": 0.7, "B": 0.9, "C": 0.8, "uniform": 0.3},
        claims=(BEST, by_b, by_u, idle),
    )
    toy.entry["readings"]["code"] |= {"follows": "public code"}
    toy.entry["readings"]["code"]["algorithms"]["uniform"] = {"beta": "code"}  # and is not run
    told, text = certified(toy, tmp_path / "out")
    assert [claim["public"] for claim in told["claims"][:3]] == [REPRODUCED, "", NOT_RUN]
    counts = {way: {k: v for k, v in row.items() if v} for way, row in told["counts"].items()}
    assert counts == {
        "as printed": {REPRODUCED: 1, CONTRADICTED: 2},
        "as in the public code": {REPRODUCED: 1, NOT_RUN: 1},
        "under any reading": {REPRODUCED: 2, CONTRADICTED: 1},
    }
    assert "3 claims; 1 that are counted apart are not in it." in text
    plain = universe(tmp_path / "plain", {}, claims=(BEST, idle))
    _, unmoved = certified(plain, tmp_path / "unmoved")
    assert "as printed: [idle](verdicts.md#idle) (outside the theorem)" in unmoved
    assert "where it is silent the answer that" in unmoved
    assert "The public code says nothing of it." in told["claims"][1]["sentence"]
    assert "| as in the public code | 1 | 1 | 0 | 0 | 0 | 0 | 1 |" in text
    assert "holds only in the public code (code) (1 of 1 other readings run)" in text


def test_a_claim_that_one_reading_leaves_open_is_not_contradicted_under_any():
    assert entry(AGAINST, spec("a", "few"), spec("b", NOT_RUN)).best == UNDECIDED
    assert entry(AGAINST, spec("b", NOT_RUN)).best == CONTRADICTED
    assert entry(AGAINST, spec("a", "few"), spec("b", DIRECTION)).best == DIRECTION


def test_one_reading_that_turns_nothing_is_said_in_the_singular():
    for specs, goal, words in (
        ([AGAINST, spec("a", INCONCLUSIVE)], HOLD, "let it hold"),
        ([DEFAULT, spec("a", INCONCLUSIVE)], OVERTURN, "contradict it"),
    ):
        found = entry(*specs, turn=changes.Turn(goal, (), 1))
        assert certificate.turned(found) == f"The one reading that was run does not {words}."


def test_without_a_public_code_there_is_no_such_count(tmp_path):
    told, text = certified(universe(tmp_path, {}), tmp_path / "out")
    assert set(told["counts"]) == {"as printed", "under any reading"}
    assert "No reading of this paper is its public code as a whole." in text


def test_the_page_shows_shares_and_axes(tmp_path):
    toy = universe(
        tmp_path,
        {"low": {"A": ({"qbar": 1}, 0.3)}, "high": {"A": ({"qbar": 5}, 0.99)}},
    )
    told, text = certified(toy, tmp_path / "out")
    assert told["claims"][0]["shares"][CONTRADICTED] == 0.75
    assert "| 25 % | 25 % | - | - | 75 % | - | - | 3 on 2 |" in text
    assert "| A: qbar | low: contradicted; high: reproduced |" in text


def test_records_of_other_code_are_told_beside_the_reading_that_they_are_of(tmp_path, monkeypatch):
    toy = universe(tmp_path, {"low": {"A": ({"qbar": 1}, 0.3)}})
    other = toy.cells["p", "A@low"].name
    monkeypatch.setattr(
        Store, "made_by_other_code", lambda store, run: (0, 2) if run.name == other else ()
    )
    monkeypatch.setattr(Store, "mixed", lambda store: ["2 of 20 records here are old."])
    told, text = certified(toy, tmp_path / "out")
    assert "2 of 20 records here are old." in text
    ledgered = (tmp_path / "out" / "verdicts.md").read_text()
    assert "under: low (on records of other code) |" in ledgered
    said = "| A: qbar | low: contradicted (on records of other code: 2 of 10 records of p/A@low) |"
    assert said in text
    specs = told["claims"][0]["specifications"]
    assert [spec["other_code"] for spec in specs] == ["", "2 of 10 records of p/A@low"]


def test_an_axis_of_a_reading_that_is_not_planned_says_so():
    assert certificate._setting(("@low",)) == "not planned at this scale"
    assert certificate._setting(("A.qbar", "A.beta", "p.d")) == "A: qbar, beta; p: d"


def test_no_text_of_a_paper_becomes_markup(tmp_path):
    evil = {**BEST, "says": "<b>bold</b> [x](javascript:1)", "where": "*Fig*"}
    toy = universe(tmp_path, {"low": {"A": ({"qbar": 1}, 0.3)}}, claims=[evil])
    _, text = certified(toy, tmp_path / "out")
    assert "\\<b>bold" in text and "<b>" not in text.replace("\\<b>", "")
    assert "[x](" not in text


def test_a_certificate_needs_the_verdicts_of_its_paper(tmp_path):
    toy = universe(tmp_path, {"low": {"A": ({"qbar": 1}, 0.3)}})
    with pytest.raises(PlanError, match=r"expected .*verdicts.json, found none"):
        certificate.write(toy.store(), tmp_path / "out")
    ledger.write(toy.store(), tmp_path / "out")
    toy.entry["claims"] = []
    with pytest.raises(PlanError, match=r"claim best: expected it in papers/toy\.yaml"):
        certificate.write(toy.store(), tmp_path / "out")


def test_effects_over_variants_are_of_what_these_have_together():
    """Counts and ratios of a metric have not its unit, and are not called after it alone."""
    check = {"metric": "best_feasible", "problems": ["p"], "variants": "all"}
    label, unit = certificate.quantity_of(check)
    for across, words in certificate.OVER_VARIANTS.items():
        what, of = certificate.quantity_of({**check, "across": across})
        assert what == words.format(label) != label
        assert of == ("" if across in ("ratio", "width") else unit)
