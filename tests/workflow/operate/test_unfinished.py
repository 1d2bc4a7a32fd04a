"""What is told of jobs that did not finish: their last words, and of no other job."""

import pytest

from workflow.operate.unfinished import LAST, complaints, logs


@pytest.fixture
def write(tmp_path, monkeypatch):
    """write(path, text) in an empty folder, where the test is."""
    monkeypatch.chdir(tmp_path)

    def written(path, text):
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    return written


def test_a_job_that_ended_with_an_error_is_told_with_its_last_lines(write):
    lines = [*(f"line {number}" for number in range(LAST + 5)), "error: no data: fetch it"]
    write("logs/smoke/hill/BKB.log", "\n".join([*lines, ""]))
    (found,) = complaints({})
    assert found.splitlines() == [
        "did not finish (logs/smoke/hill/BKB.log):",
        *(f"  {line}" for line in lines[-LAST:]),
    ]


def test_a_traceback_is_an_error_too(write):
    write("logs/smoke/hill/BKB.log", "Traceback (most recent call last):\n  x\nKeyError: 'a'\n")
    assert "KeyError" in next(complaints({}))


def test_a_job_that_finished_or_said_nothing_is_not_told(write):
    write("logs/smoke/hill/BKB.log", "BKB seed 0: 40 evaluations, complete\n")
    write("logs/smoke/hill/silent.log", " \n")
    write("logs/smoke/hill/warned.log", "an error: of rounding is possible\n")
    assert list(complaints({})) == []


def test_what_was_said_before_the_workflow_began_is_not_told_again(write):
    write("logs/smoke/hill/BKB.log", "error: it was in vain\n")
    before = logs()
    assert list(complaints(before)) == []
    write("logs/smoke/hill/BKB.log", "error: it was in vain again\n")
    assert len(list(complaints(before))) == 1
