"""When checks and defaults were fixed: what verdicts say of it, and how it is entered."""

import json
from dataclasses import asdict

import pytest

from tests.workflow import checkout
from tests.workflow.judge.claimed import LESS, claim
from tests.workflow.synthetic import Toy, noisy
from workflow.judge import history, ledger
from workflow.judge.history import Line
from workflow.plan.expand import load
from workflow.site.claim_pages import Claim
from workflow.trace.curves import PUBLISHED

CHECK = "left: [BKB], right: [uniform]"
LENIENT = "left: [BKB], right: [uniform], factor: 1.2"


@pytest.fixture
def toy(tmp_path):
    made = Toy(tmp_path)
    made.add("A", noisy(0.9, 0.01, 1))
    made.add("B", noisy(0.5, 0.01, 2))
    made.entry["claims"] = [claim()]
    return made


def written(toy, monkeypatch, line=None):
    """verdicts.md and the claim in verdicts.json, with a ledger of one line or none."""
    path = toy.root / history.LEDGER
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"toy": {"c": asdict(line)}} if line else {}))
    monkeypatch.setattr(ledger, "ROOT", toy.root)
    ledger.write(toy.store(), toy.root / "report")
    (told,) = json.loads((toy.root / "report" / "verdicts.json").read_text())["claims"]
    return (toy.root / "report" / "verdicts.md").read_text(), told


def line(toy, check="before", defaults="before", first="2026-01-02T00:00:00Z b", of=LESS):
    hashes = history.hashes(toy.entry, claim(of))
    since = "2026-01-01T00:00:00Z a"
    return Line(hashes[0], since, check, hashes[1], since, defaults, first)


def test_what_was_fixed_before_is_said_and_qualifies_nothing(toy, monkeypatch):
    page, told = written(toy, monkeypatch, line(toy))
    assert "the checks of 1 and the defaults of 1 of 1 claims" in page
    said = "Last changed: check 2026-01-01 00:00 (a), before the first records; default"
    assert said in page
    assert told["qualifiers"] == [] and told["fixed"]["check"] == "before"
    assert told["fixed"]["first_records"] == "2026-01-02T00:00:00Z b"
    assert Claim(told, {}).fixed in page
    page, told = written(toy, monkeypatch, line(toy, first=""))
    assert told["fixed"]["check"] == "before"
    assert "the checks of 0 and the defaults of 0 of 0 claims; 1 more have no records yet" in page


def test_what_was_fixed_after_stands_beside_the_outcome_and_in_no_group(toy, monkeypatch):
    page, told = written(toy, monkeypatch, line(toy, check="after", defaults="together"))
    assert "the checks of 0 and the defaults of 0 of 1 claims" in page
    assert told["verdict"] == "reproduced" and page.count("\n1 reproduced\n") == 1
    assert told["qualifiers"] == ["check fixed after its first records"]
    assert told["verdict_in_full"] == "reproduced; check fixed after its first records"
    said = "default settings of its runs 2026-01-01 00:00 (a), in the same commit as the first"
    assert f"{said} records" in page


def test_another_tolerance_than_the_ledger_speaks_of_is_flagged(toy, monkeypatch):
    page, told = written(toy, monkeypatch, line(toy, of={**LESS, "factor": 0.5}))
    flag = "check changed since 2026-01-01 00:00 (a), after its first records"
    assert told["qualifiers"] == [flag] and f"reproduced; {flag}" in page
    assert told["fixed"]["check"] == "changed" and "which nobody entered" in page


def test_other_defaults_than_the_ledger_speaks_of_are_told(toy, monkeypatch):
    known = line(toy)
    toy.entry["algorithms"]["B"] = {"is": "random_search.RandomSearch", "beta": "code"}
    page, told = written(toy, monkeypatch, known)
    assert (told["fixed"]["check"], told["fixed"]["defaults"]) == ("before", "changed")
    assert "default settings of its runs since 2026-01-01 00:00 (a), which nobody" in page


def test_a_claim_without_a_line_says_so(toy, monkeypatch):
    page, told = written(toy, monkeypatch)
    assert told["fixed"]["check"] == "not entered" and told["qualifiers"] == []
    assert "Nobody entered when the check was fixed." in page


def test_a_check_of_a_study_has_the_defaults_of_what_the_study_names():
    entry = {
        "problems": {"p": {"d": 1}, "q": {}},
        "algorithms": {"A": {}, "B": {}},
        "studies": [{"id": "s", "parameters": {"problem": "p", "algorithms": ["A"]}}],
        "readings": {"r": {"algorithms": {"A": {"b": 1}}}},
        "variants": {"v": {}, "w": {}},
    }
    of_study = {"test": "band", "study": "s", "column": "t", "at_most": 1}
    its_own = {("studies", "s"), ("problems", "p"), ("algorithms", "A")}
    assert history.named(entry, claim(of_study)) == its_own
    everywhere = {("problems", "p"), ("problems", "q"), ("algorithms", "A")}
    of_runs = {"metric": "simple_regret"}
    of_curves = {**of_runs, "test": "less", "left": ["A@r+v"], "right": 1.0}
    one = {("readings", "r"), ("variants", "v")}
    assert history.named(entry, claim(of_curves)) == everywhere | one
    of_all = {**of_curves, "left": ["A"], "variants": "all", "across": "max"}
    every = {("variants", "v"), ("variants", "w")}
    assert history.named(entry, claim(of_all)) == everywhere | every


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
        (self.root / history.LEDGER).write_text(history.text_of({"mini": self.known}))
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
        return history.of(paper.entry, claim, history.read(self.root)["mini"])


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
    assert (judged.check, judged.defaults) == (history.ALTERED, "before")
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
    assert (required := entered.enter()).check_since > line.check_since
    entered.edit("check: {", "implementation: true, check: {")
    assert entered.enter().check_since > required.check_since


def test_a_claim_or_a_paper_that_is_gone_is_told(entered):
    entered.enter()
    entered.edit("id: better", "id: best")
    there = json.loads((entered.root / history.LEDGER).read_text())
    (entered.root / history.LEDGER).write_text(json.dumps({**there, "other": {}}))
    assert history.wrong(entered.root) == [
        "papers/history.json: expected a line of mini's claim best, found none",
        "papers/history.json: mini has no claim better",
        "papers/history.json: there is no paper other",
    ]
    assert "Nobody entered" in str(entered.judged())


def test_the_ledger_has_a_line_a_claim_and_a_second_call_changes_none(entered):
    for _ in range(2):
        assert history.main(["--root", str(entered.root)]) == 0
        text = (entered.root / history.LEDGER).read_text()
        assert text.splitlines()[:2] == ["{", '"mini": {'] and text.count("\n") == 5
        entered.known = entered.known or text
        assert text == entered.known


def test_a_claim_has_one_hash_at_all_scales():
    smoke, paper = (load("bbkb", name).entry for name in ("smoke", "paper"))
    for one in paper["claims"]:
        assert history.hashes(smoke, one) == history.hashes(paper, one)
