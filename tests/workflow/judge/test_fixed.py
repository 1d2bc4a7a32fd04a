"""What verdicts say of when a check was fixed."""

import json
from dataclasses import asdict

import pytest

from tests.workflow.judge.claimed import LESS, claim
from tests.workflow.synthetic import Toy, noisy
from workflow.judge import fixed, ledger
from workflow.judge.fixed import Line
from workflow.site.folder import Claim


@pytest.fixture
def toy(tmp_path):
    made = Toy(tmp_path)
    made.add("A", noisy(0.9, 0.01, 1))
    made.add("B", noisy(0.5, 0.01, 2))
    made.entry["claims"] = [claim()]
    return made


def written(toy, monkeypatch, line=None):
    """verdicts.md and the claim in verdicts.json, with a ledger of one line or none."""
    path = toy.root / fixed.LEDGER
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"toy": {"c": asdict(line)}} if line else {}))
    monkeypatch.setattr(ledger, "ROOT", toy.root)
    ledger.write(toy.store(), toy.root / "report")
    (told,) = json.loads((toy.root / "report" / "verdicts.json").read_text())["claims"]
    return (toy.root / "report" / "verdicts.md").read_text(), told


def line(toy, check="before", defaults="before", first="2026-01-02T00:00:00Z b", of=LESS):
    hashes = fixed.hashes(toy.entry, claim(of))
    since = "2026-01-01T00:00:00Z a"
    return Line(hashes[0], since, check, hashes[1], since, defaults, first)


def test_what_was_fixed_before_is_said_and_qualifies_nothing(toy, monkeypatch):
    page, told = written(toy, monkeypatch, line(toy))
    assert "the checks of 1 and the defaults of 1 of 1 claims" in page
    assert (
        "Unchanged since then: check 2026-01-01 00:00 (a), before the first records; default"
        in page
    )
    assert told["qualifiers"] == [] and told["fixed"]["check"] == "before"
    assert told["fixed"]["first_records"] == "2026-01-02T00:00:00Z b"
    assert Claim(told).fixed in page
    page, told = written(toy, monkeypatch, line(toy, first=""))
    assert told["fixed"]["check"] == "before"
    assert "the checks of 0 and the defaults of 0 of 0 claims; 1 more have no records yet" in page


def test_what_was_fixed_after_stands_beside_the_outcome_and_in_no_group(toy, monkeypatch):
    page, told = written(toy, monkeypatch, line(toy, check="after", defaults="together"))
    assert "the checks of 0 and the defaults of 0 of 1 claims" in page
    assert told["verdict"] == "reproduced" and page.count("\n1 reproduced\n") == 1
    assert told["qualifiers"] == ["check fixed after its first records"]
    assert told["verdict_in_full"] == "reproduced; check fixed after its first records"
    assert (
        "default settings of its runs 2026-01-01 00:00 (a), in the same commit as the first records"
        in page
    )


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
    assert "default settings of its runs changed since 2026-01-01 00:00 (a), which nobody" in page


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
    assert fixed.named(entry, {"check": {"study": "s"}}) == {
        ("studies", "s"),
        ("problems", "p"),
        ("algorithms", "A"),
    }
    everywhere = {("problems", "p"), ("problems", "q"), ("algorithms", "A")}
    of_curves = {"check": {"left": ["A@r+v"], "right": 1.0}}
    assert fixed.named(entry, of_curves) == {*everywhere, ("readings", "r"), ("variants", "v")}
    of_all = {"check": {"curves": ["A"], "variants": "all"}}
    assert fixed.named(entry, of_all) == {*everywhere, ("variants", "v"), ("variants", "w")}
