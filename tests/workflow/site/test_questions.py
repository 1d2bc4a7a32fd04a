"""The check of a claim as a question in words: what is compared, where, and from which bound on it
fails.
"""

from __future__ import annotations

from workflow.plan.reader import read
from workflow.plan.resolve import papers
from workflow.site.questions import question
from workflow.site.text import inline

RUNS = {"metric": "simple_regret", "problems": ["f1", "f2"]}
STUDY = {"study": "bounds", "rows": {"qbar": 10}}


def test_a_check_asks_what_it_decides():
    for check, asked in [
        (
            {"test": "less", **RUNS, "left": ["A"], "right": ["B", "C"], "factor": 1.1, "at": 20},
            "On f1 and f2: in the mean over paired seeds, is *simple regret* after 20 evaluations"
            " of A below 1.1 times that of each of B and C?",
        ),
        (
            {"test": "more", **RUNS, "left": ["A"], "right": 3, "compare": "ratio"},
            "On f1 and f2: by the mean ratio over paired seeds, is *simple regret* of A above 3?",
        ),
        (
            {"test": "equivalent", **RUNS, "left": ["A"], "right": ["B"], "tolerance": 0.2},
            "On f1 and f2: in the mean over paired seeds, is *simple regret* of A within 20 % of"
            " that of B?",
        ),
        (
            {"test": "exponent", **STUDY, "column": "y", "x": "t", "from": 50, "at_most": 0.9},
            "In the study bounds, qbar = 10: from `t` = 50 on, is the mean exponent of a power law"
            " fitted to `y` at most 0.9?",
        ),
        (
            {"test": "share", **RUNS, "curves": ["A"], "event": {"at_most": 0.1}, "at_least": 0.5},
            "On f1 and f2: is *simple regret* of A at most 0.1 in at least 50 % of the seeds?",
        ),
        (
            {"test": "bound", **STUDY, "left": "y", "right": "z", "factor": 2, "plus": 1},
            "In the study bounds, qbar = 10: is `y` at most 2 times `z` plus 1 in every row of"
            " every seed?",
        ),
        (
            {"test": "band", "study": "bounds", "column": "y", "at_least": 0, "at_most": 1},
            "In the study bounds: is `y` between 0 and 1 in every row of every seed?",
        ),
    ]:
        assert question(check) == asked


def test_every_check_asks_in_words():
    for paper in [*papers(), "today"]:
        for claim in read(paper)["claims"]:
            asked = question(claim["check"])
            assert asked[0].isupper() and asked.endswith("?")
            assert "{" not in asked and "None" not in asked
            assert "*" not in inline(asked).striptags()
