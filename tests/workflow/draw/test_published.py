"""Our numbers beside a paper's: by hand, rank by rank, and whatever is missing."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.workflow.synthetic import Toy
from workflow.draw import published as published_rows
from workflow.draw import tabulate
from workflow.measure import report
from workflow.measure.store import BadRecords
from workflow.plan import exhibits, expand, reader
from workflow.plan.resolve import PlanError

NAN = np.nan
SPREAD = np.array([-0.3, -0.1, 0.1, 0.3])  # over four seeds; its standard error is
ERROR = 0.1290994449
COLUMNS = [
    "problem",
    "evaluations",
    "metric",
    "algorithm",
    "reading",
    "published",
    "mean",
    "ratio",
    "standard error",
    "seeds",
    "beside the published",
    "our rank",
    "published rank",
    "rank correlation",
    "data",
]
BLOCK = {
    "problem": "p",
    "metric": "simple_regret",
    "at": 110,
    "label": "Powell (24-4)",
    "published": {"A": 2, "B": 4, "C": 3.5},
}
TABLE = {
    "id": "t",
    "kind": "published",
    "where": "Table 2",
    "title": "Minimal regrets",
    "curves": ["A", "B", "C", "uniform"],
    "blocks": [BLOCK],
}


def regrets(first, last):
    """Runs whose simple regret is `first` for 20 evaluations and `last` from then on, with a spread
    over the seeds.
    """
    return lambda seed: {"true": 1 - SPREAD[seed] - np.where(np.arange(60) < 20, first, last)}


@pytest.fixture
def toy(tmp_path):
    """At the end C is better than A, and A than B and uniform search; after 20 evaluations A is
    worst.
    """
    toy = Toy(tmp_path, seeds=4)
    for name, first, last in (("A", 9, 1), ("B", 5, 4), ("C", 3, 0.5), ("uniform", 6, 6)):
        toy.add(name, regrets(first, last))
    toy.entry["tables"] = [copy.deepcopy(TABLE)]
    return toy


def built(toy, **options):
    return tabulate.build(toy.paper, toy.store(**options), "t")


def change(toy, **changes):
    toy.entry["tables"][0]["blocks"][0].update(changes)


def test_a_row_stands_for_a_curve_of_a_block(toy):
    table = built(toy)
    assert list(table.columns) == COLUMNS
    a, b, c, uniform = table.to_dict("records")
    assert (a["problem"], a["metric"], a["algorithm"], a["reading"]) == (
        "Powell (24-4)",
        "simple_regret",
        "A",
        "default",
    )
    assert (a["seeds"], a["data"]) == (4, "real")
    assert [row["mean"] for row in (a, b, c, uniform)] == pytest.approx([1, 4, 0.5, 6])
    assert table["standard error"].tolist() == pytest.approx([ERROR] * 4)
    assert [row["published"] for row in (a, b, c)] == [2, 4, 3.5]
    assert [row["ratio"] for row in (a, b, c)] == pytest.approx([0.5, 1, 1 / 7])
    assert [row["our rank"] for row in (a, b, c)] == [2, 3, 1]
    assert [row["published rank"] for row in (a, b, c)] == [1, 3, 2]
    assert table["rank correlation"].tolist() == pytest.approx([0.5] * 4)  # 1 - 6 * 2 / (3 * 8)
    assert np.isnan(
        [uniform[name] for name in ("published", "ratio", "our rank", "published rank")]
    ).all()


@pytest.mark.parametrize(
    ("at", "read", "mean"),
    [(1, 1, 9), (20, 20, 9), (21, 21, 1), (60, 60, 1), (61, 60, 1), (110, 60, 1), ("end", 60, 1)],
)
def test_a_block_is_read_at_an_evaluation_and_at_the_end_where_a_scale_has_less(
    toy, at, read, mean
):
    change(toy, at=at)
    row = built(toy).iloc[0]
    assert (row["evaluations"], row["mean"]) == (read, pytest.approx(mean))


def test_a_run_that_is_planned_shorter_than_where_a_block_reads_has_no_row(toy):
    toy.add("A", lambda seed: {"true": np.zeros(40)}, budget=40)
    change(toy, at=40)
    assert built(toy)["algorithm"].tolist() == ["A", "B", "C", "uniform"]
    change(toy, at=41)
    assert built(toy)["algorithm"].tolist() == ["B", "C", "uniform"]


def test_a_block_is_read_at_the_end_by_default_and_called_by_its_problem(toy):
    toy.entry["tables"][0]["blocks"] = [
        {"problem": "p", "metric": "cumulative_regret", "published": {"A": 220}}
    ]
    row = built(toy).iloc[0]
    assert (row["problem"], row["evaluations"], row["ratio"]) == ("p", 60, pytest.approx(1))


def test_a_metric_that_only_the_end_has_is_read_after_all_evaluations(toy):
    change(toy, metric="final_regret", at=10)
    row = built(toy).iloc[0]
    assert (row["evaluations"], row["mean"]) == (60, pytest.approx(1))


def test_ranks_and_their_correlation_agree_with_another_library(toy):
    change(toy, at=20, published={"uniform": -1, "A": 4, "B": 4, "C": 7})
    table = built(toy)
    assert table["our rank"].tolist() == stats.rankdata([9, 5, 3, 6]).tolist()
    assert table["published rank"].tolist() == [2.5, 2.5, 4, 1]
    assert table["rank correlation"].tolist() == pytest.approx(
        [stats.spearmanr([9, 5, 3, 6], [4, 4, 7, -1]).statistic] * 4
    )


@pytest.mark.parametrize(
    ("published", "ranks", "correlation"),
    [
        ({"A": 1, "B": 2}, [1, 2, NAN, NAN], NAN),
        ({"B": 2}, [NAN, 1, NAN, NAN], NAN),
        ({"A": 2, "B": 2, "C": 2}, [2, 3, 1, NAN], NAN),
        ({"A": 2, "B": 3, "uniform": 4}, [1, 2, NAN, 3], 1),
    ],
)
def test_only_who_has_both_numbers_has_a_rank(toy, published, ranks, correlation):
    change(toy, published=published)
    table = built(toy)
    assert table["our rank"].tolist() == pytest.approx(ranks, nan_ok=True)
    assert table["rank correlation"].tolist() == pytest.approx([correlation] * 4, nan_ok=True)


def test_a_run_that_has_found_nothing_is_last_and_a_published_zero_has_no_ratio(toy):
    toy.add("A", lambda seed: {"true": 0.5, "true_g": np.ones((60, 1))})
    change(toy, metric="best_feasible", published={"A": 0, "B": -1, "C": -2})
    a = built(toy).iloc[0]
    assert (a["mean"], a["our rank"], a["published rank"]) == (np.inf, 3, 3)
    assert np.isnan([a["standard error"], a["ratio"]]).all()


def test_blocks_follow_one_another(toy):
    toy.entry["problems"]["q"] = toy.entry["problems"]["p"]
    toy.add("A", regrets(2, 2), problem="q")
    toy.add("B", regrets(3, 3), problem="q")
    toy.elsewhere = {("q", "C"), ("q", "uniform")}
    other = {"problem": "q", "metric": "last_objective", "at": 1, "published": {"A": 1, "C": 2}}
    toy.entry["tables"][0]["blocks"].append(other)
    table = built(toy)
    assert table[["problem", "algorithm"]].to_numpy().tolist() == [
        *(["Powell (24-4)", name] for name in ("A", "B", "C", "uniform")),
        ["q", "A"],
        ["q", "B"],
    ]
    a = table.iloc[4]
    assert (a["mean"], a["evaluations"], a["our rank"], a["published rank"]) == (
        pytest.approx(1),
        1,
        1,
        1,
    )
    assert {run.name for run in tabulate.runs_of(toy.paper, "t")} == {
        "toy/p/A",
        "toy/p/B",
        "toy/p/C",
        "toy/p/uniform",
        "toy/q/A",
        "toy/q/B",
    }


def test_what_a_scale_leaves_out_as_a_whole_is_not_offered(toy):
    toy.cells.clear()
    toy.elsewhere = {("p", name) for name in TABLE["curves"]}
    assert exhibits.offered(toy.paper)["tables"] == []
    assert built(toy).empty


def test_a_published_number_stands_beside_every_reading(toy):
    """The reading reaches everybody by its star, but is planned for A alone; the other one reaches
    A alone.
    """
    toy.entry["readings"]["mine"] = {"says": "another A", "algorithms": {"A": {"beta": "mine"}}}
    toy.add("A", regrets(9, 7), reading="code")
    toy.add("A", regrets(9, 4.5), reading="mine")
    toy.entry["tables"][0]["readings"] = ["default", "code", "mine"]
    table = built(toy)
    assert table[["algorithm", "reading"]].to_numpy().tolist() == [
        ["A", "default"],
        ["B", "default"],
        ["C", "default"],
        ["uniform", "default"],
        ["A", "code"],
        ["A", "mine"],
    ]
    code, mine = table.iloc[4], table.iloc[5]
    assert (code["published"], code["ratio"], mine["ratio"]) == (
        2,
        pytest.approx(3.5),
        pytest.approx(2.25),
    )
    assert (code["our rank"], code["published rank"]) == (1, 1)  # nobody else has that reading
    # beside the default runs of the others
    assert (mine["our rank"], mine["published rank"]) == (3, 1)
    assert np.isnan(code["rank correlation"]) and mine["rank correlation"] == pytest.approx(-0.5)
    assert table["rank correlation"].tolist()[:4] == pytest.approx([0.5] * 4)


def test_a_reading_of_the_problem_is_named(toy):
    toy.entry["readings"]["raw"] = {"says": "as they are", "problems": {"p": {"features": "raw"}}}
    toy.entry["tables"][0]["readings"] = ["default", "raw"]
    made = replace(toy.cells["p", "B"], problem_reading="raw")
    toy.cells["p@raw", "B"] = made
    for seed in made.seeds:
        toy.write(made, seed, regrets(1, 1)(seed))
    last = built(toy).iloc[-1]
    assert (last["problem"], last["algorithm"], last["reading"], last["ratio"]) == (
        "Powell (24-4)",
        "B",
        "raw",
        0.25,
    )


def test_variants_and_readings_may_be_curves_of_their_own(toy):
    toy.add("A", regrets(1, 1), variant="b-1")
    toy.add("A", regrets(2, 2), reading="code")
    toy.entry["tables"][0].update(curves=["A+b-1", "A@code", "B"])
    change(toy, published={"A+b-1": 1, "A@code": 1})
    assert built(toy)[["algorithm", "reading", "ratio"]].to_numpy().tolist()[:2] == [
        ["A+b-1", "default", pytest.approx(1)],
        ["A", "code", pytest.approx(2)],
    ]


@pytest.mark.parametrize(
    ("published", "verdict"),
    [
        (1, "level"),
        (1.3, "level"),
        (0.7, "level"),
        (1.35, "ours is lower"),
        (0.6, "ours is higher"),
    ],
)
def test_a_cell_is_judged_by_the_interval_of_our_mean(tmp_path, published, verdict):
    """Five seeds within 0.3 of 1: the 95 % t interval ends 2.776 * 0.2236/sqrt(5) = 0.278...

    away, by hand below.
    """
    toy = Toy(tmp_path, seeds=5)
    spread = np.array([-0.3, -0.2, 0.0, 0.2, 0.3])
    toy.add("A", lambda seed: {"true": 1 - spread[seed] - np.ones(60)})
    toy.entry["tables"] = [
        {**TABLE, "curves": ["A"], "blocks": [{**BLOCK, "published": {"A": published}}]}
    ]
    half = 2.7764451 * np.std(spread, ddof=1) / np.sqrt(5)
    assert 0.3 < half < 0.35
    assert built(toy).iloc[0]["beside the published"] == verdict
    quick = replace(toy.paper, scale="quick")
    (row,) = published_rows.rows(
        quick, toy.store(), toy.entry["tables"][0], toy.entry["tables"][0]["blocks"][0]
    )
    assert row["beside the published"] == "not decided"


@pytest.mark.parametrize(
    ("published", "verdict"), [(0.68, "level"), (0.65, "not decided"), (2.1, "not decided")]
)
def test_a_wide_interval_reproduces_nothing(tmp_path, published, verdict):
    """Five seeds with mean 1 and a 95 % t interval that reaches from below zero beyond two."""
    toy = Toy(tmp_path, seeds=5)
    spread = np.array([-0.9, -0.9, 0.0, 0.8, 1.0])
    toy.add("A", lambda seed: {"true": 1 - spread[seed] - np.ones(60)})
    toy.entry["tables"] = [
        {**TABLE, "curves": ["A"], "blocks": [{**BLOCK, "published": {"A": published}}]}
    ]
    assert 2.7764451 * np.std(spread, ddof=1) / np.sqrt(5) > 1.1
    assert built(toy).iloc[0]["beside the published"] == verdict


def test_four_seeds_decide_no_cell_and_nothing_published_is_no_verdict(toy):
    assert built(toy)["beside the published"].tolist() == ["not decided"] * 3 + [""]


def test_exponents_stand_beside_printed_complexities(toy):
    """Seconds c t^2 from t = 10 on, and something else before."""
    t = np.array([1.0, 10, 20, 40] * 2)
    toy.study(
        "grown",
        lambda seed: {
            "t": t,
            "method": np.repeat([0.0, 1], 4),
            "s": np.where(t > 1, (1 + seed) * t**2, 7),
        },
    )
    lines = [
        {"solution": "A", "says": {"complexity": "O(t^3)"}, "rows": {"method": 1}},
        {"solution": "Q", "says": {"complexity": "O(t)"}},
    ]
    toy.entry["tables"] = [
        {
            "id": "t",
            "kind": "growth",
            "study": "grown",
            "x": "t",
            "columns": ["s"],
            "from": 10,
            "lines": lines,
        }
    ]
    a, q = built(toy).to_dict("records")
    assert (a["solution"], a["complexity"], a["source"], a["seeds"]) == (
        "A",
        "O(t^3)",
        "measured",
        4,
    )
    assert a["measured exponent of t from 10 on"] == pytest.approx(2)
    assert (q["source"], q["seeds"]) == ("quoted, not measured", 0) and np.isnan(
        q["measured exponent of t from 10 on"]
    )


def test_a_page_shows_what_a_paper_prints_with_all_its_digits(toy):
    change(toy, published={"A": -120.67, "B": 22271.5, "C": 3.5})
    text = tabulate.as_markdown(toy.paper, "t", built(toy))
    assert "| -120.67 |" in text and "| 22271.5 |" in text


def test_errata_are_listed_below_a_table_and_must_be_known(toy, monkeypatch):
    toy.entry["errata"] = [
        {"id": "e", "where": "eq. (1)", "says": "1 = 2", "instead": "1 = 1"},
        {"id": "f", "where": "", "says": "", "instead": ""},
    ]
    toy.entry["tables"][0].update(errata=["e"], note="as published")
    text = tabulate.as_markdown(toy.paper, "t", built(toy))
    assert text.endswith(
        "as published\n\nWhat the paper itself gets wrong or contradicts:\n\n* eq. (1): 1 = 2."
        " Instead: 1 = 1\n"
    )
    bkb = reader.read("bkb")
    entry = {
        **bkb,
        "scales": {**bkb["scales"], "quick": {}},
        "tables": [
            {
                **toy.entry["tables"][0],
                "curves": ["BKB"],
                "blocks": [],
                "errata": ["no-such"],
                "scales": ["paper"],
            }
        ],
    }
    monkeypatch.setattr(reader, "document", lambda *which: reader.Document("bkb", entry))
    with pytest.raises(PlanError, match="unknown erratum 'no-such'; known: "):
        expand.load("bkb", "smoke")


def test_a_partial_table_leaves_out_what_was_not_run(toy):
    for seed in range(4):
        (toy.root / toy.cells["p", "B"].record(seed)).unlink()
    (toy.root / toy.cells["p", "C"].record(3)).unlink()
    with pytest.raises(BadRecords, match="records are refused"):
        built(toy)
    table = built(toy, partial=True)
    assert table["algorithm"].tolist() == ["A", "C", "uniform"]
    assert table["seeds"].tolist() == [4, 3, 4]
    assert table["our rank"].tolist()[:2] == [2, 1]
    assert table["rank correlation"].isna().all()


def test_published_numbers_of_no_curve_are_a_mistake(toy, monkeypatch):
    change(toy, published={"A": 1, "TurBO": 2})
    message = (
        r"table t, p: published numbers of TurBO, expected some of its curves: A, B, C, uniform"
    )
    for read in (tabulate.runs_of, lambda paper, name: tabulate.build(paper, toy.store(), name)):
        with pytest.raises(PlanError, match=message):
            read(toy.paper, "t")
    block = {"problem": "abalone", "metric": "simple_regret", "published": {"TurBO": 2}}
    table = {**toy.entry["tables"][0], "curves": ["BKB", "uniform"], "blocks": [block]}
    entry = {**reader.read("bkb"), "tables": [{**table, "scales": ["paper"]}]}
    entry["scales"] = {name: entry["scales"][name] for name in ("smoke", "paper")}
    monkeypatch.setattr(reader, "document", lambda *which: reader.Document("bkb", entry))
    message = "table t, abalone: published numbers of TurBO, expected some of its curves: BKB, uni"
    with pytest.raises(PlanError, match=message):
        expand.load("bkb", "smoke")  # at every scale, before anything is run


def test_the_files_are_stable(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "load", lambda *which, **options: toy.paper)
    monkeypatch.setattr(report, "Store", lambda paper, **options: toy.store(**options))
    first, second = tmp_path / "one", tmp_path / "two"
    for folder in (first, second):
        assert tabulate.main(["toy", "t", "--scale", "paper", "-o", str(folder)]) == 0
    for kind in ("csv", "md"):
        assert (first / f"t.{kind}").read_bytes() == (second / f"t.{kind}").read_bytes()
    assert list(pd.read_csv(first / "t.csv").columns) == COLUMNS
    text = (first / "t.md").read_text()
    assert "# Minimal regrets (Table 2)" in text
    assert (
        "| Powell (24-4) | 60 | simple_regret | B | default | 4 | 4 | 1 | 0.129 | 4 | not decided"
        " | 3 | 3 | 0.5 | real |" in text
    )
    assert "| uniform | default | - | 6 | - | 0.129 | 4 |  | - | - | 0.5 | real |" in text


def test_a_reading_that_changes_nothing_is_the_same_run_and_no_second_verdict(tmp_path):
    toy = Toy(tmp_path, seeds=5)
    block = {**BLOCK, "published": {"A": 2, "B": 4}}
    table = {**TABLE, "curves": ["A", "B"], "blocks": [block], "readings": ["default", "code"]}
    toy.entry["tables"] = [table]
    for name, last in (("A", 1), ("B", 4)):
        for reading, add in (("", 0), ("code", 1e-9 if name == "B" else 0)):
            toy.add(
                name,
                lambda seed, end=last + add: {"true": 1 - end - 0.1 * (seed - 2)},
                reading=reading,
            )
    table = built(toy)
    rows = table[["algorithm", "reading", "beside the published"]].to_numpy().tolist()
    assert rows == [
        ["A", "default", "ours is lower"],
        ["B", "default", "level"],
        ["A", "code (same run)", "same run"],
        ["B", "code", "level"],
    ]
    text = tabulate.as_markdown(toy.paper, "t", table)
    assert "Same run: the reading changes nothing in these runs" in text
    toy.entry["tables"][0]["readings"] = ["code"]  # there is no default run beside it
    assert built(toy)["reading"].tolist() == ["code", "code"]
    assert "Same run:" not in tabulate.as_markdown(toy.paper, "t", built(toy))
    toy.entry["tables"] = [
        {
            "id": "t",
            "kind": "feasible",
            "problems": ["p"],
            "curves": ["A", "B"],
            "readings": ["default", "code"],
        }
    ]
    assert built(toy)["reading"].tolist() == ["default", "code (same run)", "default", "code"]


def test_the_median_and_the_share_in_the_basin_stand_beside_the_mean_where_asked(toy):
    def ends(seed):
        return {"true": 1 - np.array([0.0, 0.1, 0.2, 3.7])[seed]}

    made = toy.add("A", ends)
    for seed, reached in enumerate((1, 1, 0)):  # the last record does not say
        end = 1.0 if reached else 0.2
        toy.write(made, seed, dict(ends(seed)), descent={"evaluation": 0, "true": end})
    assert "median" not in built(toy)
    change(toy, basins=True)
    row = built(toy).iloc[0]
    assert (row["mean"], row["median"]) == (pytest.approx(1.0), pytest.approx(0.15))
    assert row["share in the basin"] == pytest.approx(2 / 3)
    columns = list(built(toy).columns)
    assert columns[6:10] == ["mean", "ratio", "median", "share in the basin"]
    other = built(toy).iloc[1]  # none of its records says
    assert np.isnan(other["share in the basin"]) and other["median"] == pytest.approx(4)
    toy.entry["tables"] = [
        {"id": "t", "kind": "diagnostics", "problems": ["p"], "curves": ["A"], "basins": True}
    ]
    row = built(toy).iloc[0]
    assert (row["share in the basin"], row["median"]) == (pytest.approx(2 / 3), pytest.approx(9.0))
