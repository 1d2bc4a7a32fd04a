"""Ranks over problems: the statistics against published numbers, what is ranked, what is left out,
and the diagram.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tests.workflow.draw.overprint import faults
from tests.workflow.draw.pictures import hashes
from tests.workflow.synthetic import Toy, noisy
from workflow.draw import ranks
from workflow.draw.plots import RC
from workflow.measure.statistics import critical_difference, friedman, indistinct, ranks_in_rows
from workflow.measure.store import BadRecords, Store
from workflow.plan import exhibits, reader, selection
from workflow.plan.lines import RanksLine
from workflow.plan.resolve import papers
from workflow.trace.curves import PlanError

INF = np.inf

# the statistics


def test_demsars_example():
    """Demsar (2006), Sec. 3.2.2: four variants of C4.5 on 14 data sets, which Nemenyi's test does
    not tell apart.
    """
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    means = np.array([1.964, 2.000, 2.893, 3.143])
    assert indistinct(means, critical_difference(4, 14)) == [(0, 3)]


def test_critical_differences_are_the_tabulated_ones():
    for k, q in [(2, 1.960), (3, 2.343), (5, 2.728), (8, 3.031), (10, 3.164)]:
        assert critical_difference(k, 6) == pytest.approx(q * np.sqrt(k * (k + 1) / 36), abs=1e-3)


def test_ties_and_infinities_share_their_ranks():
    rows = [[3, 1, 2], [2, 2, 1], [INF, 5, INF], [INF] * 3, [0, 0, 0], [0.1 + 0.2, 0.3, 0.3 + 1e-9]]
    expected = [[3, 1, 2], [2.5, 2.5, 1], [2.5, 1, 2.5], [2] * 3, [2] * 3, [1.5, 1.5, 3]]
    assert ranks_in_rows(rows).tolist() == expected


def test_friedmans_p_is_exact_where_chi_square_is_not():
    """The permutations of three rows of three agree in one of 36 draws, chi-square says 0.050."""
    agreeing = np.tile([1.0, 2.0, 3.0], (3, 1))
    assert friedman(agreeing) == pytest.approx(1 / 36, abs=4 * np.sqrt(0.027 / (1 << 14)))
    many = np.random.default_rng(1).random((40, 4)).argsort(axis=1) + 1.0
    many[:12] = np.sort(many[:12])
    assert friedman(many) == pytest.approx(stats.friedmanchisquare(*many.T).pvalue, abs=0.006)


def test_one_problem_or_nothing_but_ties_show_nothing():
    for rows in [[[1, 2, 3]], [[2, 2, 2]] * 9]:
        assert friedman(np.array(rows, dtype=float)) == 1


def test_groups_are_the_longest_that_cannot_be_told_apart():
    for ascending, groups in [
        ([1, 1.5, 2, 2.4, 5], [(0, 1), (1, 3)]),
        ([1, 2, 3], []),  # exactly the critical difference apart: they differ
        ([1, 1.2, 1.9], [(0, 2)]),
        ([1, 1, 3, 3], [(0, 1), (2, 3)]),
    ]:
        assert indistinct(np.array(ascending, dtype=float), 1.0) == groups


# what is ranked


ENTRY = {"id": "r", "title": "Ranks", "metric": "simple_regret"}
ENTRY |= {"problems": ["p", "q", "s"], "curves": ["A", "B", "C"]}


def filled(root, without=(), **options):
    """A toy in which A is best and C worst on three problems, without some of the runs; the optimum
    is 1.
    """
    toy = Toy(root, seeds=options.pop("seeds", 5), **options)
    toy.entry["ranks"] = [ENTRY]
    for problem in ENTRY["problems"]:
        for name, level in (("A", 0.9), ("B", 0.8), ("C", 0.7)):
            if (problem, name) not in without:
                toy.add(name, noisy(level, 0.01, ord(name)), problem=problem)
    return toy


def ranked(toy, **options):
    return ranks.ranking(toy.paper, toy.store(**options), "r")


def printed(toy, **options):
    line = selection.line_of(toy.paper, "ranks", "r", RanksLine)
    return ranks._small_print(toy.paper, line, ranked(toy, **options))


def test_records_of_other_code_are_told_below_a_diagram(tmp_path, monkeypatch):
    toy, noted = filled(tmp_path), []
    monkeypatch.setattr(ranks, "wrapped", lambda text, width: noted.append(text) or [text])
    ranks.draw(toy.paper, toy.store(), "r", tmp_path / "out")
    monkeypatch.setattr(Store, "made_by_other_code", lambda store, run: (0,) * (run.label == "B"))
    ranks.draw(toy.paper, toy.store(), "r", tmp_path / "out")
    assert ["MADE BY OTHER CODE: 1 of " in note for note in noted] == [False, True]
    assert "records of p/B" in noted[1] and "p/A" not in noted[1]


def test_means_over_seeds_are_ranked_on_each_problem(tmp_path):
    toy = filled(tmp_path)
    toy.add("C", noisy(0.99), problem="s")
    found = ranked(toy)
    assert (found.problems, found.labels) == (["p", "q", "s"], ["A", "B", "C"])
    assert found.ranks.tolist() == [[1, 2, 3], [1, 2, 3], [2, 3, 1]]
    assert_allclose(found.means, [4 / 3, 7 / 3, 7 / 3])
    assert_allclose(found.values[:2].mean(axis=0), [0.1, 0.2, 0.3], atol=0.01)


def test_only_common_seeds_are_compared(tmp_path):
    toy = filled(tmp_path)
    toy.add("A", lambda seed: {"true": [0.9, 0.9, 0.0, 0.0, 0.0][seed]}, problem="p")
    toy.add("B", noisy(0.5), problem="p", seeds=2)
    found = ranked(toy)
    assert list(found.seeds) == [2, 5, 5]
    assert found.values[0, 0] == pytest.approx(0.1)
    assert "2-5 seeds" in printed(toy)


def test_a_run_that_finds_nothing_feasible_is_last_and_tied(tmp_path):
    toy = filled(tmp_path)
    toy.entry["ranks"] = [{**ENTRY, "metric": "best_feasible"}]
    for name, failing in (("A", [2]), ("B", range(5))):
        g = [np.full((toy.budget, 1), 1.0 if seed in failing else -1.0) for seed in range(5)]
        toy.add(name, lambda seed, g=g: {"true": 0.99, "true_g": g[seed]})
    assert ranked(toy).ranks[0].tolist() == [2.5, 2.5, 1]
    assert "infinite: tied for the last ranks" in printed(toy)


def test_what_is_read_is_the_end_of_the_shortest_run(tmp_path):
    toy = filled(tmp_path)
    rising = np.linspace(0.0, 1.0, 60)
    toy.add("A", lambda seed: {"true": rising}, problem="p")
    assert ranked(toy).ranks[0].tolist() == [1, 2, 3]
    toy.add("C", noisy(0.7), problem="p", budget=20)
    assert ranked(toy).ranks[0].tolist() == [3, 1, 2]


def test_a_metric_without_a_number_is_a_mistake(tmp_path):
    toy = filled(tmp_path)
    toy.entry["ranks"] = [{**ENTRY, "metric": "report.alpha"}]
    wrong = "got NaN for report.alpha of toy/p/A after 60 evaluations: rank another"
    with pytest.raises(PlanError, match=f"expected numbers, {wrong}"):
        ranked(toy)


# what is left out


def test_problems_go_first_then_curves():
    for run, problems, curves in [
        ({"p": "ABC", "q": "ABC"}, "pq", "ABC"),
        ({"p": "ABC", "q": "A", "s": "AB"}, "ps", "AB"),  # q has fewer than half, C lacks s
        ({"p": "", "q": "A"}, "", "ABC"),
        ({"p": "AB", "q": "BC", "s": "AC"}, "pqs", ""),
    ]:
        assert selection.complete(run, list("ABC")) == (list(problems), list(curves))


def test_a_partial_report_ranks_what_is_complete_and_names_the_rest(tmp_path):
    toy = filled(tmp_path)
    for problem, name in (("p", "C"), ("q", "A"), ("q", "B")):
        made = toy.curves[problem, name]
        toy.drop(made)
    with pytest.raises(BadRecords, match="15 records are refused"):
        toy.store().check(selection.rank_runs(toy.paper, "r"))
    found = ranked(toy, partial=True)
    assert (found.problems, found.labels) == (["p", "s"], ["A", "B"])
    assert found.left_out == ["q: 1 of 3 curves run there", "C: not run on p"]
    shown = " ".join(" ".join(texts(ranks.diagram(found, "Ranks", "print"))).split())
    assert "NOT RANKED · q: 1 of 3 curves run there · C: not run on p" in shown


def test_nothing_run_is_drawn_as_such(tmp_path):
    toy = filled(tmp_path)
    for made in toy.curves.values():
        toy.drop(made)
    paths = ranks.draw(toy.paper, toy.store(partial=True), "r", tmp_path / "drawn")
    assert pd.read_csv(paths[1]).empty
    assert "not run" in texts(ranks.diagram(ranked(toy, partial=True), "Ranks", "print"))


def test_a_scale_leaves_out_what_it_does_not_run(tmp_path):
    left = {("q", "C"), ("s", "A"), ("s", "B"), ("s", "C")}
    toy = filled(tmp_path, without=left, scale="short")
    planned = selection.rank_curves(toy.paper, "r")
    assert [(problem, *row) for problem, row in planned.items()] == [tuple("pAB"), tuple("qAB")]
    runs = [run.name for run in selection.rank_runs(toy.paper, "r")]
    assert runs == ["toy/p/A", "toy/p/B", "toy/q/A", "toy/q/B"]
    # the picture says that nobody was to run C on q
    found = ranked(toy)
    assert found.left_out == ["s: 0 of 3 curves run there", "C: not planned on q"]
    for name in "AB":
        del toy.curves["q", name]
    assert exhibits.offered(toy.paper)["ranks"] == []


def test_mistakes_are_named(tmp_path):
    toy = filled(tmp_path)
    with pytest.raises(PlanError, match="unknown rank 'other'; known: r"):
        selection.rank_runs(toy.paper, "other")
    toy.entry["ranks"] = [{**ENTRY, "curves": ["A", "slower"]}]
    assert exhibits.offered(toy.paper)["ranks"] == toy.entry["ranks"]
    with pytest.raises(PlanError, match="no run makes the curve 'slower' on 'p'"):
        selection.rank_runs(toy.paper, "r")


def test_an_optimum_that_is_the_best_seen_waits_for_all_runs_on_the_problem(tmp_path):
    toy = filled(tmp_path)
    toy.entry["ranks"] = [{**ENTRY, "problems": ["p", "open"], "curves": ["A", "B"]}]
    for name in ("A", "B", "C"):
        toy.add(name, noisy(0.5), problem="open")
    assert "toy/open/C" in {run.name for run in selection.rank_runs(toy.paper, "r")}


# the diagram


def texts(figure):
    return [item.get_text() for item in figure.axes[0].texts + figure.texts]


def made_up(curves, means, n=12, **options):
    """A ranking whose ranks are those of given mean values, the same on each of n problems."""
    values = np.tile(np.array(means, dtype=float), (n, 1))
    problems = [f"problem-{i}" for i in range(n)]
    of_all = ([5] * n, ["real"] * n, [], ranks._looks(curves))
    return ranks.Ranking(problems, curves, values, *of_all, **options)


def test_files_are_the_same_bytes_and_the_table_has_every_rank(tmp_path):
    toy = filled(tmp_path)
    folders = (tmp_path / "one", tmp_path / "two")
    first, second = (
        ranks.draw(toy.paper, toy.store(), "r", folder, printed=True) for folder in folders
    )
    assert hashes(first) == hashes(second)
    table = pd.read_csv(first[2])
    assert [path.suffix for path in first] == [".png", ".pdf", ".csv"]
    assert table["problem"].value_counts().to_dict() == {"p": 3, "q": 3, "s": 3, "all": 3}
    means = table[table["problem"] == "all"].set_index("curve")["rank"]
    assert means.to_dict() == {"A": 1, "B": 2, "C": 3}
    assert set(table["data"]) == {"real"} and set(table["seeds"]) == {5}


def test_a_substitute_is_in_print_table_and_diagram(tmp_path):
    toy = filled(tmp_path, scale="short", data="substitute: a synthetic table")
    found = ranked(toy)
    assert "SUBSTITUTE on p, q, s: a synthetic table" in printed(toy)
    assert "real data" not in printed(toy)
    assert set(ranks.table(found)["data"]) == {"substitute: a synthetic table"}
    assert "SUBSTITUTE DATA" in texts(ranks.diagram(found, "Ranks", "print"))
    real = ranks.diagram(made_up(["A", "B"], [1, 2]), "Ranks", "print")
    assert "SUBSTITUTE DATA" not in texts(real)


def test_bars_join_what_is_not_told_apart():
    """Over 12 problems with six curves the critical difference is 2.18."""
    found = made_up(list("ABCDEF"), [1, 2, 3, 4, 5, 6])
    assert ranks._bars(found) == [(0, 2), (1, 3), (2, 4), (3, 5)]
    said = ranks._told_apart(found)
    assert said.endswith("mean ranks less than 2.18 apart") and ranks.TOO_FEW not in said


def test_one_bar_joins_all_where_friedmans_test_finds_nothing():
    found = made_up(list("ABCDEF"), [1, 2, 3, 4, 5, 6], n=1)
    assert ranks._bars(found) == [(0, 5)]
    assert ranks._told_apart(found).endswith("too few problems to tell any methods apart")


def test_the_best_is_on_top_beside_its_mean():
    figure = ranks.diagram(made_up(["A", "B", "C"], [3, 1, 2]), "Ranks", "print")
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["B (1.00)", "C (2.00)", "A (3.00)"] and figure.axes[0].yaxis_inverted()


def test_readings_of_an_algorithm_are_told_apart():
    looks = ranks._looks(["A", "A@code", "B"])
    assert looks["A"] != looks["A@code"] and looks["A"].colour != looks["B"].colour


def test_no_words_of_the_papers_diagrams_are_clipped_or_overlap():
    for name in papers():
        for entry in reader.read(name).get("ranks", []):
            k = len(entry["curves"])
            most, least = [0, *[1] * (k - 1)], [*[0] * (k - 1), 1]
            for n, means in ((12, list(range(k))), (12, most), (1, least)):
                found = made_up(entry["curves"], means, n=n)
                with plt.rc_context({**plt.rcParamsDefault, **RC}):
                    note = "what is said below, " * 40
                    figure = ranks.diagram(found, entry["title"], note)
                    assert faults(figure) == []
                    plt.close(figure)
