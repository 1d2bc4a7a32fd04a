"""The tables of docs/which-method.md say what the report of the comparison holds."""

import json
import re

import pytest

from workflow.operate import comparison

ENDS = """# Where runs end

| problem | algorithm | reading | seconds per 1000 evaluations | data |
| --- | --- | --- | --- | --- |
| f1 | GP-EI | default | 30 | none |
| f1 | GP-EI | scaled | 200 | none |
| f2 | GP-EI | scaled | 1.04e+03 | none |
"""


def line(label, centre, low, high):
    """A curve whose band has no value at its last evaluation."""
    return {"label": label, "centre": [0, centre], "low": [0, low, None], "high": [0, high, None]}


def judged(folder, *claims):
    """The verdicts of a report: name, verdict, where the claim stands, and qualifiers."""
    folder.mkdir()
    keys = ("id", "verdict", "where", "says", "qualifiers")
    found = [dict(zip(keys, claim, strict=True)) for claim in claims]
    (folder / "verdicts.json").write_text(json.dumps({"edition": 2, "claims": found}))


@pytest.fixture
def report(tmp_path):
    """A comparison of two methods on two groups of problems, the second with one method alone."""
    judged(
        tmp_path / "mine",
        ("lowest", "direction only", "Fig. 1", "ours is lowest", []),
        ("best", "inconclusive", "Fig. 2", "ours is best", []),
        ("last", "reproduced", "Fig. 3", "ours is last", ["holds trivially: a coin does, too"]),
    )
    folder = tmp_path / "today"
    judged(
        folder,
        ("mine-lowest", "contradicted", "papers/mine.yaml, lowest", "lowest of all", []),
        ("mine-best", "reproduced", "papers/mine.yaml, best", "best of all", []),
        ("mine-early", "reproduced", "papers/mine.yaml, best, earlier", "best at first", []),
        ("mine-last", "contradicted", "papers/mine.yaml, last", "last of all", []),
    )
    sums = [line("GP-EI", 0.3, -0.1, 0.4), line("GP-EI@scaled", 0.5, 0.4, 1.2)]
    rovers = [line("GP-EI@scaled", 0.25, 0.25, 0.25)]
    panels = [{"title": "sums", "lines": sums}, {"title": "rovers", "lines": rovers}]
    (folder / "reached.json").write_text(json.dumps({"panels": panels}))
    (folder / "ends-sums.md").write_text(ENDS)
    return folder


def test_each_method_has_its_share_its_interval_and_its_seconds(report):
    assert comparison.table(report)[2:] == [
        "| GP-EI@scaled | **0.50** [0.40, 1.00] | **0.25** [0.25, 0.25] | 0.2 to 1 |",
        "| GP-EI | 0.30 [0.00, 0.40] | - | 0.03 |",
    ]


def test_claims_are_paired_with_those_of_their_paper(report):
    *rows, _, count = comparison.judged_again(report)[2:]
    assert len(rows) == 3  # the claim about earlier evaluations has no pair
    assert rows[0].startswith("| lowest of all | [direction only](../")
    assert "mine/verdicts.md#lowest) | [contradicted](../" in rows[0]
    assert rows[0].endswith("today/verdicts.md#mine-lowest) |")
    assert rows[2].startswith("| last of all | [reproduced; holds trivially](../")
    # of all, that hold alone, beside today's optimizers, and both ways
    assert re.findall(r"\d+", count) == ["3", "1", "1", "0"]


def test_without_a_report_there_is_no_table(tmp_path):
    assert comparison.table(tmp_path) == comparison.judged_again(tmp_path) == []
