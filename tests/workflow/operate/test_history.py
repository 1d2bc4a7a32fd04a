"""The ledger of when checks and defaults were fixed, made from small histories."""

import json
import shutil
import subprocess

import pytest

from tests.workflow import checkout
from tests.workflow.repository import Repository
from workflow.judge import fixed
from workflow.operate import history
from workflow.operate.history import History, NoHistory
from workflow.plan.expand import load
from workflow.plan.resolve import ROOT

CHECK = "left: [BKB], right: [uniform]"
LENIENT = "left: [BKB], right: [uniform], factor: 1.2"


class Entered(Repository):
    """With the ledger of its one claim."""

    def line(self):
        return history.lines(History(self.root), "mini")["better"]

    def enter(self):
        assert history.main(["--root", str(self.root)]) == 0

    def judged(self):
        paper = load("mini", "smoke", root=self.root)
        (claim,) = paper.entry["claims"]
        return fixed.of(paper.entry, claim, fixed.read(self.root)["mini"])


@pytest.fixture
def repository(tmp_path):
    return Entered(tmp_path)


def numbers(claim="better", effect=-1.0):
    return {"claims": [{"id": claim, "comparisons": [{"effect": effect}]}]}


def run_of(curve, commit):
    return {"problem": "abalone", "curve": curve, "names": [curve], "commits": [commit]}


def test_what_stands_before_the_numbers_was_fixed_before_them(repository):
    first = repository.commit(yaml=checkout.MINI)
    repository.commit(verdicts=numbers(effect=None))  # a report without numbers
    there = repository.commit(verdicts=numbers())
    line = repository.line()
    assert (line.check_came, line.check_since, line.check_what) == ("before", first, "")
    assert (line.defaults_came, line.defaults_since) == ("before", first)
    assert line.first_records == there


def test_a_check_that_comes_with_its_numbers_is_not_before_them(repository):
    repository.commit(yaml=checkout.MINI, verdicts=numbers())
    assert repository.line().check_came == "together"


def test_without_records_all_is_before(repository):
    repository.commit(yaml=checkout.MINI, verdicts=numbers(claim="another"))
    line = repository.line()
    assert (line.check_came, line.defaults_came, line.first_records) == ("before", "before", "")


def test_an_edited_tolerance_is_flagged_at_once_and_after_renewal(repository, capsys):
    first = repository.commit(yaml=checkout.MINI)
    repository.commit(verdicts=numbers())
    repository.enter()
    assert history.main(["--root", str(repository.root), "--check"]) == 0
    assert repository.judged().qualifiers == ()
    assert "check 2026-01-01 00:01" in str(repository.judged())

    repository.edit(CHECK, LENIENT)
    assert history.main(["--root", str(repository.root), "--check"]) == 1
    assert "the check of mini's claim better changed since 2026-01-01 00:01" in (
        capsys.readouterr().err
    )
    judged = repository.judged()
    assert judged.check == fixed.ALTERED and judged.defaults == "before"
    assert judged.qualifiers == (
        f"check changed since {fixed.day(first)}, after its first records",
    )

    repository.enter()  # of what is not committed
    assert history.main(["--root", str(repository.root), "--check"]) == 0
    assert repository.judged().check == "after" and repository.judged().check_what == "check"
    assert repository.judged().qualifiers == ("check fixed after its first records",)
    since = repository.commit()
    repository.enter()
    assert repository.judged().check_since == since

    repository.edit(LENIENT, CHECK)  # what comes back has not stood all the time
    back = repository.commit()
    assert (repository.line().check_since, repository.line().check_came) == (back, "after")


def test_words_for_people_and_the_way_to_write_a_number_are_no_change(repository):
    repository.commit(yaml=checkout.MINI)
    before = repository.line()
    repository.edit("qbar: 2,", "qbar: 2.0,")
    repository.edit("says: BKB beats", "note: new, says: BKB is better than")
    repository.commit()
    assert repository.line() == before


def test_a_headline_is_no_change_of_a_check(repository):
    repository.commit(yaml=checkout.MINI)
    repository.commit(verdicts=numbers())
    before = repository.line()
    repository.edit("says: BKB beats", "headline: true, says: BKB beats")
    repository.commit()
    (claim,) = load("mini", "smoke", root=repository.root).entry["claims"]
    assert claim["headline"] and repository.line() == before
    repository.edit(CHECK, LENIENT)  # what decides is still compared
    repository.commit()
    assert repository.line().check_came == "after"


def test_defaults_are_those_of_what_the_check_names(repository):
    first = repository.commit(yaml=checkout.MINI)
    repository.commit(verdicts=numbers())
    repository.edit("posterior: distinct-arms", "posterior: textbook")  # of GP-UCB
    repository.commit()
    assert repository.line().defaults_since == first
    repository.edit("qbar: 2,", "qbar: 9,")  # of BKB
    changed = repository.commit()
    line = repository.line()
    assert (line.defaults_since, line.defaults_came, line.check_since) == (changed, "after", first)


def test_requirements_decide_but_for_those_that_are_always_met(repository):
    first = repository.commit(yaml=checkout.MINI)
    repository.commit(verdicts=numbers())
    repository.edit("check: {", "requires: [{always: true, because: so}],\n     check: {")
    repository.commit()
    assert repository.line().check_since == first
    repository.edit("{always: true, because: so}", "{never: true, because: so}")
    repository.commit()
    assert (repository.line().check_what, repository.line().check_came) == ("requires", "after")


def test_records_are_there_from_the_commit_on_that_made_them(repository):
    first = repository.commit(yaml=checkout.MINI)
    made = repository.git("rev-parse", "HEAD")
    repository.edit(CHECK, LENIENT)
    repository.commit()
    one = {"runs": [run_of("BKB", made)], "studies": []}
    repository.commit(runs=one)
    assert repository.line().first_records == ""  # nothing to compare it with
    both = {"runs": [run_of("BKB", made), run_of("uniform", f"{made}-dirty")], "studies": []}
    repository.commit(runs=both)
    line = repository.line()
    assert (line.first_records, line.check_came, line.defaults_came) == (first, "after", "before")


def test_a_record_of_an_unknown_commit_is_there_when_it_is_published(repository):
    repository.commit(yaml=checkout.MINI)
    runs = [run_of("BKB", "f" * 40), run_of("uniform", "f" * 40)]
    there = repository.commit(runs={"runs": runs, "studies": []})
    assert repository.line().first_records == there


def test_yaml_that_nobody_can_read_breaks_no_line(repository):
    first = repository.commit(yaml=checkout.MINI)
    repository.commit(yaml="a: [")
    repository.commit(yaml="- 1")
    repository.commit(yaml=checkout.MINI)
    assert repository.line().check_since == first


def test_a_merge_changes_nothing(repository):
    first = repository.commit(yaml=checkout.MINI)
    repository.git("checkout", "-q", "-b", "side")
    repository.commit(verdicts=numbers())
    repository.git("checkout", "-q", "main")
    repository.edit("title: Regret", "title: Another")
    repository.commit()
    repository.git("merge", "-q", "-m", "both", "side")
    line = repository.line()
    assert (line.check_since, line.check_came) == (first, "before")


def test_a_history_that_is_not_whole_is_refused(repository, tmp_path, capsys):
    repository.commit(yaml=checkout.MINI)
    repository.commit()
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", repository.root.as_uri(), tmp_path / "shallow"],
        check=True,
    )
    with pytest.raises(NoHistory, match="shallow"):
        History(tmp_path / "shallow")
    shutil.rmtree(repository.root / ".git")
    assert history.main(["--root", str(repository.root)]) == 1
    assert "expected a checkout with its history" in capsys.readouterr().err


def test_a_claim_or_a_paper_that_is_gone_is_told(repository):
    repository.commit(yaml=checkout.MINI)
    repository.enter()
    repository.edit("id: better", "id: best")
    there = json.loads((repository.root / fixed.LEDGER).read_text())
    (repository.root / fixed.LEDGER).write_text(json.dumps({**there, "other": {}}))
    assert history.wrong(repository.root) == [
        "papers/history.json: expected a line of mini's claim best, found none",
        "papers/history.json: mini has no claim better",
        "papers/history.json: there is no paper other",
    ]
    assert "not yet entered" in str(repository.judged())


def test_the_ledger_has_a_line_a_claim_sorted(repository):
    repository.commit(yaml=checkout.MINI)
    repository.enter()
    text = (repository.root / fixed.LEDGER).read_text()
    assert text.splitlines()[:2] == ["{", '"mini": {'] and text.count("\n") == 5
    repository.enter()
    assert (repository.root / fixed.LEDGER).read_text() == text


def test_the_committed_ledger_speaks_of_the_claims_as_they_stand():
    assert history.wrong(ROOT) == []


@pytest.mark.parametrize("scale", ["smoke", "short"])
def test_a_claim_has_one_hash_at_all_scales(scale):
    entries = [load("bbkb", name).entry for name in (scale, "paper")]
    claims = entries[1]["claims"]
    assert [fixed.hashes(entries[0], claim) for claim in claims] == [
        fixed.hashes(entries[1], claim) for claim in claims
    ]
