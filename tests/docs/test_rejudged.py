"""docs/rejudged.md is what its program writes, and the program tells rules from numbers."""

import json
from pathlib import Path

import pytest

from benchmarks import rejudged
from workflow.judge.outcomes import CONTRADICTED, DIRECTION, INCONCLUSIVE, NOT_RUN, REPRODUCED

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_its_program_writes(monkeypatch):
    monkeypatch.chdir(ROOT)
    written = rejudged.PAGE.read_text(encoding="utf-8")
    known = rejudged.first(rejudged.read())
    assert written == rejudged.page(rejudged.REFERENCE, known), "python -m benchmarks.rejudged"


def row(verdict, holds, p, n=5, claim="c"):
    return {"paper": "p", "claim": claim, "verdict": verdict, "holds": holds, "p": p, "n": str(n)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("x", "yes", "0.01")], REPRODUCED),
        ([row("x", "yes", "0.06")], DIRECTION),
        ([row("x", "yes", "")], REPRODUCED),  # a number without a test decides as it is
        ([row("x", "no", "0.6")], INCONCLUSIVE),
        ([row("x", "no", "0.99")], CONTRADICTED),
        ([row("x", "no", "0.99", n=3)], INCONCLUSIVE),  # three seeds refute nothing
        ([row("x", "no", "")], CONTRADICTED),
        # one of two comparisons is refuted at half of the level
        ([row("x", "yes", "0.01"), row("x", "no", "0.97")], INCONCLUSIVE),
        ([row("x", "yes", "0.01"), row("x", "no", "0.98")], CONTRADICTED),
    ],
)
def test_numbers_of_the_first_edition_by_the_rules_of_today(rows, expected):
    assert rejudged.judged(rows) == expected


def claim(name, verdict, observed=None, reasons=()):
    return {
        "id": name,
        "verdict": verdict,
        "observed": observed or verdict,
        "reasons": list(reasons),
        "qualifiers": [],
    }


def test_each_changed_verdict_has_a_line_that_says_why(tmp_path):
    known = rejudged.first(
        [
            row("reproduced", "yes", "0.01", claim="kept"),
            row("not reproduced", "no", "0.6", claim="by-the-rules"),
            row("not reproduced", "no", "0.99", claim="by-numbers"),
            row("reproduced", "yes", "0.01", claim="gone"),
            row("reproduced", "yes", "0.01", claim="not-run"),
            row("reproduced", "yes", "0.01", claim="barred"),
        ]
    )
    claims = [
        claim("kept", REPRODUCED),
        claim("by-the-rules", INCONCLUSIVE),
        claim("by-numbers", INCONCLUSIVE),
        claim("not-run", "not decided", NOT_RUN, ["p/x: not run"]),
        claim("barred", "not decided", REPRODUCED, ["hypotheses not met"]),
        claim("new", REPRODUCED),
    ]
    (tmp_path / "p").mkdir()
    report = {"edition": 2, "claims": claims}
    (tmp_path / "p" / "verdicts.json").write_text(json.dumps(report), encoding="utf-8")
    page = rejudged.page(tmp_path, known)
    lines = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert "1 of the 7 claims of either edition have the same verdict" in page
    assert {name: line.rsplit("| ", 1)[1][:-2] for name, line in lines.items()} == {
        "by-the-rules": rejudged.THE_RULES,
        "by-numbers": rejudged.OTHER_NUMBERS,
        "gone": rejudged.OF_BEFORE,
        "not-run": rejudged.WAITS,
        "barred": "hypotheses not met",
        "new": rejudged.OF_TODAY,
    }


def test_a_report_of_the_first_edition_lists_what_the_rules_change(tmp_path):
    known = rejudged.first(
        [
            row("reproduced", "yes", "0.01", claim="kept"),
            row("undecided", "yes", "0.01", claim="open"),
            row("not reproduced", "no", "0.6", claim="by-the-rules"),
        ]
    )
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "verdicts.json").write_text(json.dumps({"claims": []}), encoding="utf-8")
    page = rejudged.page(tmp_path, known)
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert lines == ["| `by-the-rules` | not reproduced | inconclusive |"]
    assert "1 inconclusive; the other 2 verdicts stay" in page
