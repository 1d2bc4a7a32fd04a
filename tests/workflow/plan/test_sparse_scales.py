"""Scales at which some algorithms run on some problems: what is left out, what is a mistake."""

import numpy as np
import pytest
import yaml

from tests.workflow.checkout import linked, write
from tests.workflow.judge import claimed
from tests.workflow.synthetic import Toy, noisy
from workflow.draw import panels, plots, tabulate
from workflow.judge import claims
from workflow.judge.outcomes import CONTRADICTED, REPRODUCED, UNDECIDED
from workflow.measure.store import BadRecords
from workflow.plan import exhibits, reads, selection
from workflow.plan.expand import load
from workflow.plan.lines import FigureLine
from workflow.trace.curves import PlanError

MINI = yaml.safe_load("""
paper: {key: mini2026}
scales: {smoke: {budget: 10, variants: [narrow]}, short: {budget: 20}, paper: {}}
seeds: 3
problems:
  small: &small {is: tables.abalone, data: abalone, noise: 0.01, features: raw, target: raw,
    budget: 50, room: unlimited, init: {design: uniform, n: 1}}
  large: *small
algorithms:
  greedy: {is: eps_greedy.EpsGreedy, epsilon: 0.1, model: empirical-mean, bandwidth: 5, lam: 0.5}
  slow: {is: eps_greedy.EpsGreedy, epsilon: 0.1, model: empirical-mean, bandwidth: 5, lam: 0.1}
  uniform: {is: random_search.RandomSearch}
readings:
  wide: {says: a bandwidth of 99, algorithms: {'*': {bandwidth: 99}}}
  noisy: {says: a noise of 1, problems: {'*': {noise: 1}}}
  both: {says: two changes, problems: {large: {noise: 2}}, algorithms: {slow: {lam: 0.2}}}
variants: {narrow: {lam: 0.25}, usual: {lam: 0.5}}
runs:
  - {algorithms: [uniform], problems: [small]}
  - {algorithms: [greedy]}
  - {algorithms: [slow, uniform], scales: [paper]}
  - {algorithms: [slow], problems: [small], scales: [smoke]}
  - {readings: [wide, noisy, both], scales: [paper]}
  - {readings: [wide], algorithms: [greedy], problems: [small]}
  - {variants: all, algorithms: [greedy], scales: [smoke, paper]}
  - {variants: [narrow], algorithms: [greedy], problems: [small]}
""")


@pytest.fixture
def mini(tmp_path):
    """mini(scale, **sections) -> the plan of a paper that runs everything at `paper` alone."""
    linked(tmp_path)

    def planned(scale, **sections):
        write(tmp_path, "mini", {**MINI, **sections})
        return load("mini", scale, root=tmp_path)

    return planned


# figures, tables and pictures


def figure(name, *shown, **options):
    panels = [{"problem": problem} for problem in shown]
    return {"id": name, "metric": "simple_regret", "panels": panels, **options}


WIDE = ["default", "wide"]
FIGURES = [
    figure("some", "small", "large", curves=["greedy", "slow", "uniform"]),
    figure("controls", "small", "large", curves=["greedy"], controls=["uniform"]),
    figure("one-panel", "small", "large", curves=["slow", "uniform"]),
    figure("none", "small", "large", curves=["slow"]),
    figure("none-to-divide-by", "large", curves=["greedy"], relative_to="uniform"),
    figure("none-under-a-reading", "large", curves=["greedy"], reading="wide"),
    figure("no-dots", "large", kind="dots", curves=["slow"], readings=WIDE),
    figure("dots", "small", kind="dots", curves=["greedy", "slow"], readings=[*WIDE, "both"]),
]
SECTIONS = {"figures": FIGURES} | yaml.safe_load("""
tables:
  - {id: t-some, kind: feasible, problems: [small, large], curves: [greedy, slow],
    readings: [default, wide]}
  - {id: t-none, kind: feasible, problems: [small, large], curves: [slow]}
  - {id: t-none-to-divide-by, kind: diagnostics, problems: [large], curves: [greedy],
    relative_to: uniform}
  - {id: t-settings, kind: settings, problems: [large], settings: {slow: [lam]}}
pictures:
  - {id: p-some, is: structures.truss, problem: small, curves: [slow, greedy]}
  - {id: p-none, is: structures.truss, problem: large, curves: [slow, uniform], moves: true}
""")


def test_what_a_scale_leaves_out_as_a_whole_is_not_offered_there(mini):
    short, paper = (mini(scale, **SECTIONS) for scale in ("short", "paper"))
    ids = {part: sorted(line["id"] for line in short.entry[part]) for part in SECTIONS}
    assert ids["figures"] == ["controls", "dots", "one-panel", "some"]
    assert (ids["tables"], ids["pictures"]) == (["t-settings", "t-some"], ["p-some"])
    assert {part: paper.entry[part] for part in SECTIONS} == SECTIONS
    known = ", ".join(line["id"] for line in short.entry["figures"])
    with pytest.raises(PlanError, match=f"unknown figure 'none'; known: {known}$"):
        selection.figure_runs(short, "none")


def test_curves_that_a_scale_leaves_out_are_left_out_where_they_are(mini):
    short, smoke = mini("short", **SECTIONS), mini("smoke", **SECTIONS)
    runs = {
        name: [run.name.removeprefix("mini/") for run in selection.figure_runs(short, name)]
        for name in ("some", "controls", "one-panel", "dots")
    }
    assert runs == {
        "some": ["small/greedy", "small/uniform", "large/greedy"],
        "controls": ["small/greedy", "small/uniform", "large/greedy"],
        "one-panel": ["small/uniform"],
        "dots": ["small/greedy", "small/greedy@wide"],
    }
    assert [panel.problem for panel in selection.panel_options(short, "one-panel")] == ["small"]
    assert [run.name for run in selection.figure_runs(smoke, "none")] == ["mini/small/slow"]
    of_small = ["mini/small/greedy", "mini/small/greedy@wide"]
    tabled = [run.name for run in selection.table_runs(short, "t-some")]
    assert tabled == [*of_small, "mini/large/greedy"]
    assert [run.name for run in selection.picture_curves(short, "p-some")] == of_small


def test_what_no_run_makes_at_the_published_size_is_a_mistake_there(mini):
    lines = [
        figure("f", "large", curves=["uniform@wide"]),
        figure("f", "large", curves=["greedy"], relative_to="uniform@wide"),
        figure("f", "large", curves=["greedy"], controls=["uniform@wide"]),
    ]
    for line in lines:
        with pytest.raises(PlanError, match="no run makes the curve 'uniform@wide' on 'large' at"):
            selection.figure_runs(mini("paper", figures=[line]), "f")


# a toy at scale short: A, B and C run on p, A and B on q


def toy_of(root, levels=(("A", 0.9), ("B", 0.5), ("C", 0.3)), **options):
    toy = Toy(root, scale="short", seeds=5, **options)
    toy.entry["problems"]["q"] = toy.entry["problems"]["p"]
    for number, (name, level) in enumerate(levels):
        toy.add(name, noisy(level, 0.01, number))
        if name != "C":
            toy.add(name, noisy(1 - level, 0.01, number), problem="q")
    return toy


LESS = {**claimed.LESS, "problems": ["p", "q"], "right": ["B", "C"]}


def judged(toy, check=LESS, **more):
    return claims.judge(toy.paper, toy.store(), claimed.typed(check, scale="any", **more))


def whats(found):
    return [comparison.what for comparison in found.comparisons]


def names(toy, check, reading=""):
    runs = reads.runs_of(toy.paper, claimed.typed(check).check, reading)
    return [run.name.removeprefix("toy/") for run in runs]


def test_panels_show_the_curves_that_there_are(tmp_path):
    toy = toy_of(tmp_path, data="none")
    line = figure("f", "p", "q", curves=["A", "B", "C", "D"])
    line["panels"].append({"problem": "q", "curves": ["C"]})
    toy.entry["figures"] = [line]
    found = panels.panels_of(toy.paper, toy.store(), "f")
    labels = [[line.label for line in panel.lines] for panel in found]
    assert labels == [["A", "B", "C"], ["A", "B"]]
    assert [panel.missing for panel in found] == [[], []]
    assert [panel.elsewhere for panel in found] == [["D"], ["C", "D"]]
    shown = selection.line_of(toy.paper, "figures", "f", FigureLine)
    note = plots.small_print(toy.paper, shown, found)
    assert "not run" not in note
    assert "not at scale short: D" in note.split(" · ")
    assert found[0].lines[0].look == found[1].lines[0].look
    del line["panels"][:2]
    assert exhibits.offered(toy.paper)["figures"] == []


def test_a_figure_relative_to_what_is_left_out_has_no_curve_there(tmp_path):
    toy = toy_of(tmp_path)
    toy.entry["figures"] = [figure("f", "p", "q", curves=["A", "B"], relative_to="C")]
    runs = [run.name for run in selection.figure_runs(toy.paper, "f")]
    assert runs == [f"toy/p/{name}" for name in "ABCC"]
    assert len(panels.panels_of(toy.paper, toy.store(), "f")) == 1
    line = {"kind": "diagnostics", "problems": ["p", "q"], "curves": ["A", "C"]}
    toy.entry["tables"] = [{"id": "t", **line, "relative_to": "C"}]
    table = tabulate.build(toy.paper, toy.store(), "t")
    rows = table[["problem", "algorithm"]].to_numpy().tolist()
    assert rows == [["p", "A"], ["p", "C"]]


def test_a_claim_compares_what_there_is(tmp_path):
    toy = toy_of(tmp_path)
    found = judged(toy)
    assert whats(found) == ["A < B on p", "A < C on p", "A < B on q"]
    assert found.verdict == CONTRADICTED  # on q
    assert names(toy, LESS) == ["p/A", "p/B", "p/C", "q/A", "q/B"]
    assert judged(toy, {**LESS, "right": ["C"]}).verdict == REPRODUCED


# of a claim that A has less regret than B and C on p and q; then other checks, on q
LEFT_OUT = """
{left: [D]}
{right: [D]}
{problems: [q], right: [C]}
{problems: [p], against: q, right: [C]}
{relative_to: D}
{minus: [D]}
{problems: [p], against: q, minus: [C], right: [B]}
{across: max, variants: [b-1], left: [D]}
"""
ON_Q = """
{test: passes, metric: best_feasible, left: [A], right: [C], at_most: 3}
{test: bound, metric: cumulative_regret, left: [C], right: [A]}
{test: spread, metric: cumulative_regret, left: [C], right: [A]}
{test: share, metric: stuck, curves: [C], event: {at_least: 1}, at_least: 1}
{test: band, metric: simple_regret, curves: [C], at_most: 1}
{test: exponent, metric: simple_regret, curves: [C], from: 1, at_most: 1}
{test: monotone, metric: seconds, curves: [C], direction: increasing}
"""
CHECKS = [{**LESS, **yaml.safe_load(line)} for line in LEFT_OUT.split("\n")[1:-1]]
CHECKS += [{"problems": ["q"], **yaml.safe_load(line)} for line in ON_Q.split("\n")[1:-1]]


def test_a_claim_of_which_nothing_is_left_is_undecided(tmp_path):
    toy = toy_of(tmp_path)
    for problem in "pq":
        for name in ("A", "B"):
            toy.add(name, noisy(0.5), problem=problem, variant="b-1")
    for check in CHECKS:
        toy.scale = "short"
        found = judged(toy, check)
        assert (found.verdict, found.observed) == (UNDECIDED, "nothing to compare"), check
        assert found.comparisons == ()
        assert found.reasons == ("nothing to compare at this scale",)
        toy.scale = "paper"  # where a curve that no run makes is a mistake
        with pytest.raises(PlanError, match=r"no run makes the curve '[CD]"):
            reads.runs_of(toy.paper, claimed.typed(check).check)


def test_only_rivals_on_both_problems_are_taken_off(tmp_path):
    toy = toy_of(tmp_path)
    for problem, level in (("p", 0.4), ("q", 0.45)):
        toy.add("uniform", noisy(level), problem=problem)
    check = {**LESS, "problems": ["p"], "against": "q", "right": ["A"], "minus": ["C", "uniform"]}
    assert whats(judged(toy, check)) == ["A on p < A on q, less the best of uniform"]
    assert names(toy, check) == ["p/A", "q/A", "p/uniform", "q/uniform"]
    alone = judged(toy, {**check, "minus": ["uniform"]})
    assert judged(toy, check).comparisons == alone.comparisons


def test_a_variant_may_be_left_out_on_one_problem(tmp_path):
    toy = Toy(tmp_path, scale="short", seeds=5)
    toy.entry["problems"]["q"] = toy.entry["problems"]["p"]
    for name, level in (("A", 0.9), ("B", 0.5)):
        for problem in "pq":
            toy.add(name, noisy(level), problem=problem, variant="b-1")
        toy.add(name, noisy(level + 0.05), variant="b-2")
    check = {**LESS, "right": ["B"], "variants": "all", "across": "max"}
    assert names(toy, check) == ["p/A+b-1", "p/A+b-2", "p/B+b-1", "p/B+b-2", "q/A+b-1", "q/B+b-1"]
    found = judged(toy, check)
    assert (found.verdict, len(found.comparisons)) == (REPRODUCED, 2)


def test_the_verdict_on_a_reading_is_none_on_default_runs(tmp_path):
    """Of the reading only other scales have runs; it changes A alone."""
    toy = toy_of(tmp_path)
    toy.reading("mine", A={"beta": "mine"})
    check = {**LESS, "problems": ["p"], "left": ["A", "B"], "right": ["C"]}
    found = judged(toy, check, readings=["mine"])
    assert (found.verdict, found.readings["mine"].observed) == (REPRODUCED, "not run")
    toy.entry["claims"] = [claimed.claim(check, readings=["mine"])]
    assert {run.name for run in claims.runs(toy.paper)} == {"toy/p/A", "toy/p/B", "toy/p/C"}
    # but a curve that a check names is one that is left out
    named = judged(toy, {**check, "left": ["A@mine", "B"]})
    assert whats(named) == ["B < C on p"]


def test_the_verdict_on_a_reading_leaves_out_what_that_on_the_default_one_does(tmp_path):
    toy = toy_of(tmp_path)
    for name, level in (("A", 0.4), ("B", 0.8), ("C", 0.9)):
        toy.add(name, noisy(level), reading="code")
    for name in "AB":
        toy.add(name, noisy(0.5), problem="q", reading="code")
    check = {**LESS, "right": ["C"]}
    (outcome,) = judged(toy, check, readings=["code"]).readings.values()
    assert outcome.observed == CONTRADICTED
    assert names(toy, check, "code") == ["p/A@code", "p/C@code", "q/A@code"]


def test_a_hypothesis_about_what_is_left_out_is_not_met(tmp_path):
    toy, check = toy_of(tmp_path), {**LESS, "problems": ["p"]}
    least = {"problem": "q", "parameter": "qbar", "at_least": 2}
    assert judged(toy, check, requires=[{"curve": "A", **least}]).verdict == REPRODUCED
    for curve in ("C", "A+b-2"):
        found = judged(toy, check, requires=[{"curve": curve, **least}])
        words = f"hypotheses not met: qbar of {curve} on q belongs to no run of scale short"
        assert (found.verdict, found.reasons) == (UNDECIDED, (words,))


def test_the_best_value_seen_is_that_of_the_runs_of_this_scale(tmp_path):
    toy = Toy(tmp_path, scale="short", seeds=2, budget=3)
    for name, level in (("A", 0.2), ("B", 0.6)):
        toy.add(name, lambda seed, level=level: {"true": level}, problem="open")
    toy.entry["figures"] = [figure("f", "open", curves=["A", "C"])]
    runs = {run.name for run in selection.figure_runs(toy.paper, "f")}
    assert runs == {"toy/open/A", "toy/open/B"}
    (panel,) = panels.panels_of(toy.paper, toy.store(), "f")
    assert panel.lines[0].centre == pytest.approx(np.full(3, 0.4))


def test_a_missing_record_is_no_run_that_a_scale_leaves_out(tmp_path):
    toy = toy_of(tmp_path)
    for seed in range(5):
        (toy.root / toy.curves["q", "B"].record(seed)).unlink()
    with pytest.raises(BadRecords, match="5 records are refused"):
        judged(toy)
