"""Claims by readings: what the matrix concludes from verdicts, and what it writes."""

import json
import re

import pytest

from tests.workflow.synthetic import Toy, noisy
from workflow.judge import claims, ledger, outcomes, sensitivity
from workflow.judge.outcomes import CONTRADICTED, DIRECTION, NOT_RUN, REPRODUCED, UNDECIDED
from workflow.trace.cells import PlanError

NO_NUMBER = "no number"


def outcome(observed, seeds=10, reasons=(), runs=2, same=0):
    verdict = UNDECIDED if reasons else observed
    return {
        "runs": runs,
        "same_runs": same,
        "verdict": verdict,
        "observed": observed,
        "reasons": list(reasons),
        "seeds": 0 if observed == NOT_RUN else seeds,
        "control": False,
    }


def claimed(name, default, **readings):
    """A claim of a verdicts.json; outcomes are given by what is observed or in full."""
    full = {
        key: value if isinstance(value, dict) else outcome(value) for key, value in readings.items()
    }
    return {
        "id": name,
        "where": "Fig. 1",
        "says": "A is better",
        **outcome(default),
        "readings": full,
    }


def report(*rows, partial=False, scale="paper"):
    says = {
        "code": "as the code",
        "zeros": "starts | at zero",
        "idle": "changes what nobody claims",
    }
    return {
        "paper": "toy",
        "scale": scale,
        "partial": partial,
        "claims": list(rows),
        "readings": says,
    }


def row(default, **readings):
    return sensitivity.matrix(report(claimed("c", default, **readings))).rows[0]


def test_a_control_is_shown_and_turns_nothing():
    control = {**outcome(CONTRADICTED), "control": True}
    found = row(REPRODUCED, code=REPRODUCED, zeros=control)
    assert (found.fate, found.turned, found.compared) == ("kept", [], ["code"])
    assert found.conclusion == "same under all readings run (1 of 1)"
    assert "✗" in sensitivity._symbol(found, "zeros")


@pytest.mark.parametrize(
    ("default", "readings", "fate", "conclusion"),
    [
        (
            REPRODUCED,
            {"code": REPRODUCED, "zeros": REPRODUCED},
            "kept",
            "same under all readings run (2 of 2)",
        ),
        (
            CONTRADICTED,
            {"code": CONTRADICTED, "zeros": NOT_RUN},
            "kept",
            "same under all readings run (1 of 2)",
        ),
        (REPRODUCED, {"code": CONTRADICTED, "zeros": REPRODUCED}, "other side", "depends on: code"),
        (
            CONTRADICTED,
            {"code": DIRECTION, "zeros": REPRODUCED},
            "other side",
            "depends on: code, zeros",
        ),
        (
            REPRODUCED,
            {"code": DIRECTION},
            "significance alone",
            "depends only in significance, on: code",
        ),
        (
            DIRECTION,
            {"code": REPRODUCED, "zeros": CONTRADICTED},
            "other side",
            "depends on: zeros; only in significance, on: code",
        ),
        (REPRODUCED, {"code": NOT_RUN}, "open", "no other reading run"),
        (
            REPRODUCED,
            {"code": NO_NUMBER, "zeros": NOT_RUN},
            "open",
            "no other reading has a number",
        ),
        (NOT_RUN, {"code": CONTRADICTED, "zeros": NOT_RUN}, "open", "by default not run"),
        (NO_NUMBER, {"code": CONTRADICTED}, "open", "by default no number"),
    ],
)
def test_whether_a_conclusion_survives(default, readings, fate, conclusion):
    found = row(default, **readings)
    assert (found.fate, found.conclusion) == (fate, conclusion)


def test_what_may_not_decide_is_compared_by_what_is_observed():
    assert row(REPRODUCED, code=outcome(CONTRADICTED, 3, ["3 seeds, 5 are needed"])).turned == [
        "code"
    ]


FOUND = sensitivity.matrix(
    report(
        claimed(
            "turns",
            REPRODUCED,
            code=outcome(CONTRADICTED, 3, ["3 seeds, 5 are needed"]),
            zeros=DIRECTION,
        ),
        claimed("Stays", CONTRADICTED, zeros=CONTRADICTED),
        claimed("waits", DIRECTION, code=NOT_RUN),
        claimed("theorem", REPRODUCED),
        partial=True,
    )
)


def test_claims_that_no_reading_affects_are_counted_and_have_no_row():
    assert [row.id for row in FOUND.rows] == ["turns", "Stays", "waits"]
    assert FOUND.columns == ["code", "zeros"]
    assert FOUND.fates == {"kept": 1, "other side": 1, "significance alone": 0, "open": 1}
    assert FOUND.counts("code") == {
        "affected": 2,
        "same run": 0,
        "compared": 1,
        "changed": 1,
        "turned": 1,
    }
    assert list(FOUND.counts("zeros").values()) == [2, 0, 2, 1, 0]


def test_the_table_shows_outcomes_changes_and_seeds():
    lines = sensitivity.as_markdown(FOUND).splitlines()
    assert "| claim | default | 1 | 2 | conclusion |" in lines
    assert (
        "| [turns](verdicts.md#turns) | ✓ 10 | **✗?** 3 | **≈** | depends on: code; only in"
        " significance, on: zeros |" in lines
    )
    assert (
        "| [Stays](verdicts.md#stays) | ✗ 10 |  | ✗ | same under all readings run (1 of 1) |"
        in lines
    )
    assert "| [waits](verdicts.md#waits) | ≈ 10 | · |  | no other reading run |" in lines
    assert "| 2 | zeros | starts \\| at zero | 2 | 0 | 2 | 1 | 0 |" in lines
    assert "Readings that change no run of a claim, or have no planned runs: idle." in lines
    assert "A partial report, from the records that existed." in lines


def test_a_claim_that_is_counted_apart_says_so():
    apart = {**claimed("c", REPRODUCED, code=REPRODUCED), "qualifiers": ["holds trivially"]}
    text = sensitivity.as_markdown(sensitivity.matrix(report(apart)))
    assert "| [c](verdicts.md#c) (holds trivially) | ✓ 10 |" in text


def test_reports_of_the_first_edition_are_read_in_the_words_of_this_one():
    rows = claimed("c", "not reproduced", code=outcome("not reproduced"), zeros=REPRODUCED)
    rows["readings"]["code"]["verdict"] = "undecided"
    earlier = sensitivity.matrix(report(rows)).rows[0]
    assert earlier.default.verdict == outcomes.FIRST_EDITION
    assert (earlier.readings["code"].verdict, earlier.readings["code"].observed) == (
        outcomes.UNDECIDED,
        outcomes.FIRST_EDITION,
    )
    assert (earlier.turned, earlier.fate) == (["zeros"], "other side")
    now = {**report(claimed("c", "not reproduced")), "edition": 2}
    assert outcomes.translated(now) is now


@pytest.mark.parametrize(
    ("one", "other", "turned"),
    [
        (REPRODUCED, outcomes.INCONCLUSIVE, []),
        (outcomes.INCONCLUSIVE, CONTRADICTED, []),
        (DIRECTION, CONTRADICTED, ["code"]),
    ],
)
def test_only_what_is_contradicted_is_on_the_other_side(one, other, turned):
    assert row(one, code=other).turned == turned
    assert row(other, code=one).turned == turned
    assert row(one, code=other).changed == ["code"]


def test_the_summary_counts_claims_and_names_the_readings_that_change_most():
    words = sensitivity.summary(FOUND)
    assert "Of 4 claims 3 are affected" in words
    assert "for 1 of them and changes for 1 (only in significance for 0)" in words
    assert "Most changes come from code (1 of 1 claims), zeros (1 of 2 claims)." in words
    quiet = sensitivity.matrix(report(claimed("theorem", REPRODUCED)))
    assert sensitivity.summary(quiet) == "No reading affects any of the 1 claims."
    assert "| claim |" not in sensitivity.as_markdown(quiet)


def test_json_has_every_cell_and_what_follows():
    found = json.loads(sensitivity.as_json(FOUND))
    assert found["rows"][0]["readings"]["code"] == outcome(
        CONTRADICTED, 3, ["3 seeds, 5 are needed"]
    )
    assert (found["rows"][0]["changed"], found["rows"][0]["turned"]) == (
        ["code", "zeros"],
        ["code"],
    )
    assert found["fates"]["open"] == 1
    assert [reading["id"] for reading in found["readings"]] == ["code", "zeros", "idle"]


def test_the_verdicts_of_a_paper_make_a_matrix(tmp_path, monkeypatch, capsys):
    """From records to the files, as the command line does it."""
    monkeypatch.chdir(tmp_path)
    toy = Toy(tmp_path)
    for name, level, reading in (
        ("A", 0.9, ""),
        ("B", 0.5, ""),
        ("A", 0.4, "code"),
        ("B", 0.8, "code"),
    ):
        toy.add(name, noisy(level), reading=reading)
    check = {
        "test": "less",
        "metric": "cumulative_regret",
        "problems": ["p"],
        "left": ["A"],
        "right": ["B"],
    }
    verdict = claims.judge(
        toy.paper,
        toy.store(),
        {"id": "c", "where": "Fig. 1", "says": "A is better", "check": check},
    )
    folder = tmp_path / "figures" / "paper" / "toy"
    folder.mkdir(parents=True)
    (folder / "verdicts.json").write_text(ledger.as_json(toy.paper, [verdict]))
    read = sensitivity.read(folder / "verdicts.json", toy.paper)
    sensitivity.write(sensitivity.matrix(read), folder)
    assert (
        "| [c](verdicts.md#c) | ✓ 10 | **✗** | depends on: code |"
        in (folder / "sensitivity.md").read_text()
    )
    assert json.loads((folder / "sensitivity.json").read_text())["paper"] == "toy"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "found none: run `python -m workflow.report toy verdicts --scale paper`"),
        (report(scale="smoke"), "expected toy at scale paper, found toy at scale smoke"),
        (report(partial=True), "add --partial"),
    ],
)
def test_verdicts_that_are_not_the_right_ones_are_refused(tmp_path, content, message):
    path = tmp_path / "verdicts.json"
    if content is not None:
        path.write_text(json.dumps(content))
    with pytest.raises(PlanError, match=re.escape(message)):
        sensitivity.read(path, Toy(tmp_path).paper)


def test_a_partial_report_is_taken_where_it_is_asked_for(tmp_path):
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps(report(claimed("c", CONTRADICTED, code=CONTRADICTED), partial=True)))
    assert sensitivity.read(path, Toy(tmp_path).paper, partial=True)["partial"] is True


def test_older_verdicts_make_no_matrix():
    with pytest.raises(PlanError, match="expected claims judged under all readings"):
        sensitivity.matrix({"paper": "toy", "scale": "paper", "claims": []})


AGAIN = outcome(REPRODUCED, same=2)


@pytest.mark.parametrize(
    ("readings", "fate", "conclusion"),
    [
        ({"code": AGAIN}, "open", "same run under all readings"),
        ({"code": AGAIN, "zeros": REPRODUCED}, "kept", "same under all readings run (1 of 1)"),
        ({"code": AGAIN, "zeros": NOT_RUN}, "open", "no other reading run"),
        # fewer seeds alone have turned it
        ({"code": outcome(DIRECTION, 3, same=2)}, "open", "same run under all readings"),
        ({"code": outcome(CONTRADICTED, same=1)}, "other side", "depends on: code"),
    ],
)
def test_the_same_run_is_no_evidence(readings, fate, conclusion):
    found = row(REPRODUCED, **readings)
    assert (found.fate, found.conclusion) == (fate, conclusion)


def test_the_table_shows_the_same_run_and_says_for_how_many_runs():
    found = sensitivity.matrix(
        report(
            claimed("again", REPRODUCED, code=AGAIN, zeros=outcome(CONTRADICTED, same=1)),
            claimed("part", REPRODUCED, code=outcome(REPRODUCED, 4, runs=3, same=1)),
        )
    )
    text = sensitivity.as_markdown(found)
    assert "| [again](verdicts.md#again) | ✓ 10 | = | **✗** = 1 of 2 | depends on: zeros |" in text
    assert "| [part](verdicts.md#part) | ✓ 10 | ✓ 4 = 1 of 3 |  | same under" in text
    assert "| 1 | code | as the code | 2 | 1 | 1 | 0 | 0 |" in text
    assert "= same run: the reading changes nothing on these problems" in text
    assert "1 outcome is of the same run: the reading changes nothing" in sensitivity.summary(found)
    assert json.loads(sensitivity.as_json(found))["rows"][0]["same"] == ["code"]


def test_verdicts_of_before_runs_were_compared_make_a_matrix():
    older = {"verdict": CONTRADICTED, "observed": CONTRADICTED, "reasons": [], "seeds": 10}
    assert row(CONTRADICTED, code=older).conclusion == "same under all readings run (1 of 1)"
