"""Claims under all settings: the table of comparisons, its seeds and records, its consequences."""

import math

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from tests.workflow.judge.claimed import LESS, claim, typed
from tests.workflow.synthetic import Toy, noisy
from workflow.judge import claims, ledger, record_table, render, seed_table, settings
from workflow.judge.claims import Outcome, Verdict
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    INCONCLUSIVE,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
)
from workflow.plan.reads import claims_of

BEST = claim({**LESS, "right": ["B", "C"]}, id="best", says="A is the best")


def universe(root, readings, *, levels=None, claims=(BEST,), **options):
    """Records of A, B and C, and of readings: name -> {algorithm: (settings, level)}."""
    toy = Toy(root, **options)
    for key, (name, level) in enumerate((levels or {"A": 0.7, "B": 0.9, "C": 0.9}).items()):
        toy.add(name, noisy(level, key=key))
    for name, changed in readings.items():
        toy.reading(name, **{who: one for who, (one, _) in changed.items()})
        for key, (who, (one, level)) in enumerate(changed.items()):
            toy.add(who, noisy(level, key=7 + key), reading=name, settings=one)
    toy.entry["claims"] = list(claims)
    return toy


def judged(toy, **options):
    paper, store = toy.paper, toy.store(**options)
    return [claims.judge(paper, store, line) for line in claims_of(paper)]


def outcome(what, observed="", *, same=False, control=False):
    reasons = ("few",) if what == UNDECIDED else ()
    many = {"runs": 1, "same_runs": int(same)}
    return Outcome(what, observed or what, reasons, 10, **many, control=control)


def verdict(default, **readings):
    """A claim by what it comes to as printed and under readings."""
    found = outcome(default)
    told = dict.fromkeys((field for field in Verdict.__dataclass_fields__), "")
    told |= {"id": "c", "verdict": found.verdict, "observed": found.observed}
    told |= {"reasons": found.reasons, "qualifiers": (), "comparisons": (), "seeds": 10}
    told |= {"nearest": None}
    kept = {
        name: one if isinstance(one, Outcome) else outcome(one) for name, one in readings.items()
    }
    return Verdict(**told | {"readings": kept})


SAME, CONTROL = outcome(REPRODUCED, same=True), outcome(REPRODUCED, control=True)
ALONE = "no other setting that changes its runs was run"
ONE, MORE = "the one other setting that decides it", "other settings that decide it"
FOUR = "a (reproduced), b (reproduced), c (reproduced), d (reproduced), 2 more"
SENTENCES = [
    (REPRODUCED, {}, ALONE),
    (REPRODUCED, {"a": SAME}, ALONE),
    (CONTRADICTED, {"a": CONTROL}, ALONE),
    (CONTRADICTED, {"a": NOT_RUN, "b": UNDECIDED}, "none of 2 other settings decides it"),
    (REPRODUCED, {"a": DIRECTION, "b": NOT_RUN}, f"holds under {ONE}"),
    (CONTRADICTED, {"a": INCONCLUSIVE}, f"does not hold under {ONE}"),
    (
        REPRODUCED,
        {"a": DIRECTION, "b": CONTRADICTED},
        f"does not hold under b (contradicted): 1 of the 2 {MORE}",
    ),
    (INCONCLUSIVE, dict.fromkeys("ab", CONTRADICTED), f"holds under none of the 2 {MORE}"),
    (NOT_RUN, dict.fromkeys("abcdef", REPRODUCED), f"holds under {FOUR}: all 6 {MORE}"),
]


def test_a_sentence_says_where_a_claim_holds_and_how_much_decides():
    for default, readings, sentence in SENTENCES:
        table = settings.frame([verdict(default, **readings)])
        said = f"{default.capitalize()} as printed; {sentence}."
        assert settings.sentences(table) == {"c": said}


def test_the_matrix_has_a_mark_for_each_setting_that_changes_a_run():
    same, control = outcome(REPRODUCED, same=True), outcome(CONTRADICTED, control=True)
    few = outcome(UNDECIDED, CONTRADICTED)
    table = settings.frame([verdict(REPRODUCED, a=few, b=same, c=control, d=NOT_RUN)])
    marks = settings.matrix(table)
    assert list(marks.columns) == ["as printed", "a", "b", "c"]  # under d nothing was run
    assert marks.loc["c"].tolist() == ["✓", "✗?", "=", "✗"]
    assert settings.matrix(settings.frame([verdict(REPRODUCED)])).empty
    assert settings.matrix(settings.frame([])).empty


def test_a_claim_is_robust_if_no_other_setting_that_decides_turns_it():
    found = [
        verdict(REPRODUCED, a=DIRECTION),
        verdict(REPRODUCED, a=DIRECTION, b=CONTRADICTED),
        verdict(CONTRADICTED, a=UNDECIDED, b=outcome(REPRODUCED, control=True)),
        verdict(UNDECIDED, a=REPRODUCED),
    ]
    found = [Verdict(**vars(one) | {"id": name}) for one, name in zip(found, "wxyz", strict=True)]
    table = settings.frame(found)
    assert [settings.is_robust(table, name) for name in "wxyz"] == [True, False, None, None]


def test_the_table_has_the_numbers_of_every_comparison_the_weakest_first(tmp_path):
    toy = universe(tmp_path, {"low": {"A": ({"qbar": 1}, 0.3)}})
    (found,) = judged(toy)
    table = settings.frame([found])
    assert list(table) == settings.COLUMNS
    assert table["setting"].tolist() == ["as printed"] * 2 + ["low"] * 2
    for name, rows in table.groupby("setting"):
        comparisons = sorted(found.settings[name].comparisons, key=lambda one: one.weakness)
        for one, row in zip(comparisons, rows.itertuples(), strict=True):
            numbers = (one.what, one.effect, one.p, one.p_flip)
            assert (row.comparison, row.effect, row.p, row.p_flip) == numbers
            assert (row.low, row.high, row.n) == (one.low, one.high, one.n == 10 and 10)
        assert set(rows["outcome"]) == {found.settings[name].counts_as}
    (bare,) = settings.frame([verdict(NOT_RUN)]).itertuples()
    assert (bare.comparison, bare.n, bare.outcome) == ("", 0, NOT_RUN) and math.isnan(bare.effect)


def test_the_seeds_of_a_comparison_are_what_the_test_reads(tmp_path):
    toy = universe(tmp_path, {"low": {"A": ({"qbar": 1}, 0.3)}})
    (found,) = judged(toy)
    table = seed_table.frame(toy.paper, toy.store(), [found])
    assert list(table) == seed_table.COLUMNS and set(table["setting"]) == {"as printed", "low"}
    usual = table[table["setting"] == "as printed"]
    assert usual["seed"].tolist() == [*range(10)] * 2 and usual["value"].isna().all()
    for one in found.comparisons:
        rows = usual[usual["comparison"] == one.what.replace(" < ", " and ")]
        assert (rows["left"] - rows["right"]).mean() == pytest.approx(one.effect)
    weakest = min(found.comparisons, key=lambda one: one.weakness)
    assert usual["comparison"].iloc[0] == weakest.what.replace(" < ", " and ")


def test_a_row_of_runs_is_a_record_with_what_its_header_says(tmp_path):
    toy = universe(tmp_path, {})
    toy.study("S", lambda seed: {"t": [1.0, 2.0]})
    table = record_table.frame(toy.store())
    assert list(table) == record_table.COLUMNS
    rows = table.groupby(["problem", "curve"], sort=False).size().to_dict()
    assert rows == {("p", "A"): 10, ("p", "B"): 10, ("p", "C"): 10, ("studies", "S"): 10}
    curve = toy.curves["p", "A"]
    header = toy.store().record(curve, 3).header
    (row,) = table[(table["curve"] == "A") & (table["seed"] == 3)].to_dict("records")
    assert (row["trace_sha256"], row["digest"]) == (header["trace_sha256"], header["digest"])
    assert row["rerun"] == claims.command(curve) and row["names"] == "A"
    assert record_table.frame(Toy(tmp_path / "none").store()).empty


def test_what_the_public_code_and_any_reading_come_to(tmp_path):
    """The public code says nothing of such a claim; one of which a run is unplanned was not run."""
    by_b = claim({**LESS, "left": ["B"], "right": ["C"]}, id="b")
    by_u = claim({**LESS, "left": ["uniform"], "right": ["C"]}, id="u")
    levels = {"A": 0.7, "B": 0.9, "C": 0.8, "uniform": 0.3}
    readings = {"code": {"A": ({"beta": "code"}, 0.99)}}
    toy = universe(tmp_path, readings, levels=levels, claims=(BEST, by_b, by_u))
    toy.entry["readings"]["code"] |= {"follows": "public code"}
    toy.entry["readings"]["code"]["algorithms"]["uniform"] = {"beta": "code"}  # and is not run
    told = [
        settings.ways(toy.paper, line, one)
        for line, one in zip(claims_of(toy.paper), judged(toy), strict=True)
    ]
    public = "as in the public code"
    assert [one.get(public) for one in told] == [REPRODUCED, None, NOT_RUN]
    assert settings.counts(told) == {
        "as printed": {REPRODUCED: 1, CONTRADICTED: 2},
        public: {REPRODUCED: 1, NOT_RUN: 1},
        "under any reading": {REPRODUCED: 2, CONTRADICTED: 1},
    }


@pytest.mark.parametrize(
    ("readings", "best"),
    [
        ({"a": UNDECIDED, "b": NOT_RUN}, UNDECIDED),
        ({"b": NOT_RUN}, CONTRADICTED),
        ({"a": UNDECIDED, "b": DIRECTION}, DIRECTION),
        ({"a": outcome(REPRODUCED, control=True)}, CONTRADICTED),
    ],
)
def test_a_claim_that_one_reading_leaves_open_is_not_contradicted_under_any(
    tmp_path, readings, best
):
    toy = Toy(tmp_path)
    found = settings.ways(toy.paper, typed(BEST["check"]), verdict(CONTRADICTED, **readings))
    assert found == {"as printed": CONTRADICTED, "under any reading": best}


def test_a_report_has_the_page_and_the_tables(tmp_path):
    evil = {**BEST, "says": "<b>bold</b> [x](javascript:1)", "where": "*Fig*"}
    toy = universe(tmp_path, {"low": {"A": ({"qbar": 1}, 0.3)}, "<i>": {}}, claims=[evil], seeds=5)
    folder = tmp_path / "out"
    table = ledger.write(toy.store(), folder)
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "verdicts.parquet"), table)
    assert len(pd.read_csv(folder / "verdicts.csv")) == len(table) == 4
    assert len(pd.read_parquet(folder / "seeds.parquet")) == 20
    assert len(pd.read_parquet(folder / "runs.parquet")) == 20
    text = (folder / "claims-by-settings.md").read_text()
    assert "| under any reading | 0 | 0 | 0 | 0 | 1 | 0 | 0 |" in text
    assert "| [best](verdicts.md#best) | ✗ | ✗ | Contradicted as printed; does not hold" in text
    assert "| 1 | low | as low has it |" in text
    said = (folder / "verdicts.md").read_text()
    assert "\\<b>bold\\</b>" in said and "[x](" not in said and "\\*Fig\\*" in said


@pytest.mark.parametrize(
    "text", ["<script>", "[x](y)", "`code`", "*a* _b_", "a_b < c", "\\<", "<!-- -->", "1 | 2"]
)
def test_quoted_texts_say_what_they_said(text):
    (line,) = (token for token in MarkdownIt().parse(render.quoted(text)) if token.children)
    assert "".join(part.content for part in line.children) == text
    assert "a_b" in render.quoted("a_b")
