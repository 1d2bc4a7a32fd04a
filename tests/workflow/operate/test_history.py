"""The ledger of when checks and defaults were fixed, made for a small paper."""

import json

import pytest

from tests.workflow import checkout
from workflow.judge import fixed
from workflow.operate import history
from workflow.plan.expand import load
from workflow.trace.cells import PUBLISHED

CHECK = "left: [BKB], right: [uniform]"
LENIENT = "left: [BKB], right: [uniform], factor: 1.2"


class Entered:
    """A checkout with the tiny paper, which has one claim."""

    def __init__(self, folder):
        self.root = checkout.make(folder)
        self.known, self.day = {}, 0

    def enter(self):
        """The line of the claim, entered a day after the one before."""
        self.day += 1
        now = f"2026-01-{self.day:02}T00:00:00Z"
        paper = load("mini", "paper", root=self.root)
        self.known = history.lines(paper, self.root, self.known, now)
        ledger = history.text_of({"mini": self.known})
        (self.root / fixed.LEDGER).write_text(ledger)
        return self.known["better"]

    def publish(self, *curves):
        for curve in curves:
            path = self.root / PUBLISHED / "paper" / "mini" / "abalone" / f"{curve}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def edit(self, old, new):
        checkout.edit(self.root / "papers" / "mini.yaml", old, new)

    def judged(self):
        paper = load("mini", "smoke", root=self.root)
        (claim,) = paper.entry["claims"]
        return fixed.of(paper.entry, claim, fixed.read(self.root)["mini"])


@pytest.fixture
def entered(tmp_path):
    return Entered(tmp_path)


def test_what_is_entered_before_records_are_published_was_fixed_before_them(entered):
    line = entered.enter()
    assert (line.check_came, line.defaults_came, line.first_records) == ("before", "before", "")
    entered.publish("BKB")  # nothing to compare it with
    assert entered.enter() == line
    entered.publish("uniform")
    there = entered.enter()
    assert (there.check_came, there.check_since) == ("before", line.check_since)
    assert there.first_records.startswith("2026-01-03")
    entered.edit("title: Regret", "title: Another")
    assert entered.enter() == there


def test_a_check_that_comes_with_its_records_is_not_before_them(entered):
    entered.publish("BKB", "uniform")
    line = entered.enter()
    assert line.check_came == line.defaults_came == "after" and line.first_records


def test_an_edited_tolerance_is_flagged_at_once_and_after_renewal(entered, capsys):
    entered.enter()
    entered.publish("BKB", "uniform")
    entered.enter()
    check = ["--root", str(entered.root), "--check"]
    assert history.main(check) == 0 and entered.judged().qualifiers == ()
    assert "check 2026-01-01 00:00, before" in str(entered.judged())

    entered.edit(CHECK, LENIENT)
    assert history.main(check) == 1
    told = "the check of mini's claim better changed since 2026-01-01 00:00"
    assert told in capsys.readouterr().err
    judged = entered.judged()
    assert (judged.check, judged.defaults) == (fixed.ALTERED, "before")
    flag = "check changed since 2026-01-01 00:00, after its first records"
    assert judged.qualifiers == (flag,)

    entered.enter()
    assert history.main(check) == 0
    assert entered.judged().qualifiers == ("check fixed after its first records",)
    entered.edit(LENIENT, CHECK)  # what comes back has not stood all the time
    line = entered.enter()
    assert line.check_since.startswith("2026-01-04") and line.check_came == "after"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("qbar: 2,", "qbar: 2.0,"),
        ("says: BKB beats", "note: new, headline: true, says: BKB is better than"),
        ("posterior: distinct-arms", "posterior: textbook"),  # of GP-UCB, which is not in the claim
        ("check: {", "requires: [{always: true, because: so}],\n     check: {"),
    ],
)
def test_what_decides_nothing_changes_no_line(entered, old, new):
    line = entered.enter()
    entered.edit(old, new)
    assert entered.enter() == line


def test_defaults_and_requirements_that_may_fail_do(entered):
    line = entered.enter()
    entered.edit("qbar: 2,", "qbar: 9,")  # of BKB
    changed = entered.enter()
    assert changed.check == line.check and changed.defaults_since > line.defaults_since
    entered.edit("check: {", "requires: [{never: true, because: so}],\n     check: {")
    assert entered.enter().check_since > line.check_since


def test_a_claim_or_a_paper_that_is_gone_is_told(entered):
    entered.enter()
    entered.edit("id: better", "id: best")
    there = json.loads((entered.root / fixed.LEDGER).read_text())
    (entered.root / fixed.LEDGER).write_text(json.dumps({**there, "other": {}}))
    assert history.wrong(entered.root) == [
        "papers/history.json: expected a line of mini's claim best, found none",
        "papers/history.json: mini has no claim better",
        "papers/history.json: there is no paper other",
    ]
    assert "Nobody entered" in str(entered.judged())


def test_the_ledger_has_a_line_a_claim_and_a_second_call_changes_none(entered):
    for _ in range(2):
        assert history.main(["--root", str(entered.root)]) == 0
        text = (entered.root / fixed.LEDGER).read_text()
        assert text.splitlines()[:2] == ["{", '"mini": {'] and text.count("\n") == 5
        entered.known = entered.known or text
        assert text == entered.known


def test_a_claim_has_one_hash_at_all_scales():
    entries = [load("bbkb", name).entry for name in ("smoke", "paper")]
    claims = entries[1]["claims"]
    assert [fixed.hashes(entries[0], claim) for claim in claims] == [
        fixed.hashes(entries[1], claim) for claim in claims
    ]
