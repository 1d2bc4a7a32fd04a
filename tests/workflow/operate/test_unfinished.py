"""What is told of jobs that did not finish: their last words, and of no other job."""

from __future__ import annotations

import re

import pytest

from tests.workflow import checkout
from workflow.operate.unfinished import LAST, Places, complaints, logs
from workflow.plan.exhibits import REGISTRY

RULES = [
    Places("logs/{scale}/{problem}/{curve}.log", ["results/{scale}/{problem}/{curve}.json"]),
    Places("logs/fetch/{name}.log", ["data/{name}.parquet"]),
    Places("logs/fetch/{name}-or-substitute.log", ["data/or-substitute/{name}.parquet"]),
    Places("logs/{scale}/{figure}.log", ["figures/{figure}.pdf", "figures/{figure}.png"]),
]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """write(path, text) in an empty folder, where the test is."""
    monkeypatch.chdir(tmp_path)

    def written(path, text="something\n"):
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    return written


def test_a_job_without_its_output_is_told_with_its_last_lines(write):
    lines = [f"line {number}" for number in range(LAST + 5)]
    write("logs/smoke/hill/BKB.log", "\n".join([*lines, ""]))
    (found,) = complaints(RULES, {})
    assert found.splitlines() == [
        "did not finish (logs/smoke/hill/BKB.log):",
        *(f"  {line}" for line in lines[-LAST:]),
    ]


def test_a_job_that_has_its_output_or_said_nothing_is_not_told(write):
    write("logs/smoke/hill/BKB.log")
    write("results/smoke/hill/BKB.json")
    write("logs/smoke/hill/silent.log", " \n")
    write("logs/notes.log")
    assert list(complaints(RULES, {})) == []


def test_of_several_outputs_all_must_be_there(write):
    write("logs/smoke/fig1.log")
    write("figures/fig1.pdf")
    assert len(list(complaints(RULES, {}))) == 1
    write("figures/fig1.png")
    assert list(complaints(RULES, {})) == []


def test_a_log_that_two_rules_could_have_written_is_told_if_neither_has_its_output(write):
    write("logs/fetch/abalone-or-substitute.log")
    assert len(list(complaints(RULES, {}))) == 1
    write("data/or-substitute/abalone.parquet")
    assert list(complaints(RULES, {})) == []


def test_what_was_there_before_and_has_not_changed_is_not_told_again(write):
    write("logs/smoke/hill/old.log", "an old error\n")
    write("logs/smoke/hill/again.log", "an old error\n")
    before = logs()
    write("logs/smoke/hill/again.log", "another error\n")
    (found,) = complaints(RULES, before)
    assert "again.log" in found and "another error" in found


def test_bytes_that_are_no_text_are_shown_all_the_same(write, tmp_path):
    write("logs/smoke/hill/BKB.log")
    (tmp_path / "logs/smoke/hill/BKB.log").write_bytes(b"wrong: \xff\n")
    (found,) = complaints(RULES, {})
    assert found.endswith("wrong: \ufffd")


def test_the_snakefile_names_every_rule_that_has_a_log():
    rules = "".join(
        path.read_text(encoding="utf-8")
        for path in sorted((checkout.ROOT / "workflow" / "rules").glob("*.smk"))
    )
    parts = re.split(r"^(?:use )?rule .*?(\w+)(?: with)?:$", rules, flags=re.MULTILINE)[1:]
    logged = {name for name, body in zip(parts[::2], parts[1::2], strict=True) if "log:" in body}
    text = (checkout.ROOT / "Snakefile").read_text(encoding="utf-8")
    named = set(re.findall(r"^ +rules\.(\w+),$", text, re.MULTILINE))
    assert "run" in named and len(logged) > 10
    assert "getattr(rules, kind.one) for kind in exhibits.REGISTRY.values()" in text
    named |= {kind.one for kind in REGISTRY.values()}
    assert named == logged | {"moving_picture"}


def test_the_workflow_tells_why_jobs_failed_and_nothing_of_those_that_did_not(tmp_path):
    """A wrong parameter fails the runs of one algorithm; the next start, without it, is silent."""
    copy = checkout.make(tmp_path)
    path = copy / "papers" / "mini.yaml"
    path.write_text(checkout.MINI.replace("inclusion: per-pull", "inclusion: whatever"))
    made = checkout.snakemake(copy)
    assert made.returncode == 1
    told = re.findall(r"^did not finish \((.*)\):$", made.stderr, re.MULTILINE)
    assert told == ["logs/smoke/mini/abalone/BKB/0-1.log"]
    assert "correct its parameters, code or simulator, then run again" in made.stderr
    path.write_text(checkout.MINI)
    again = checkout.snakemake(copy)
    assert again.returncode == 0 and "did not finish" not in again.stderr
