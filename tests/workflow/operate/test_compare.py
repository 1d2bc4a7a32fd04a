"""A method of a user in a paper's figure: as a command, on records that were published before."""

import json
import re
import shutil
from itertools import product

import pytest
import yaml

from tests.workflow import checkout
from tests.workflow.checkout import contents
from workflow.draw.panels import looks_of
from workflow.operate import compare
from workflow.plan.expand import load
from workflow.plan.resolve import PlanError, lasting, planned
from workflow.plan.selection import panel_options

PAPER = """
paper: {key: mini, title: A tiny paper, venue: nowhere}
scales: {smoke: {seeds: 1, budget: 6}, short: {}, paper: {}}
seeds: 6
problems:
  hills: &hills {is: synthetic.styblinski_tang, d: 2, low: -5, high: 5, noise: 0.1, budget: 12,
    room: 1, init: {design: uniform, n: 3}, given: {low: low}}
  seen: {<<: *hills, optimum: best-seen}
  ring: {is: rkhs.sphere, arms: 30, d: 2, bandwidth: 1, centres: 3, norm: 1, noise: 0.1,
    budget: 8, room: 1, init: {design: uniform, n: 1}}
algorithms:
  random-search: &random {is: random_search.RandomSearch}
  unrun: *random
  Short: *random
readings: {louder: {says: the noise is larger, problems: {hills: {noise: 0.2}}}}
runs:
  - {algorithms: [random-search, unrun]}
  - {algorithms: [Short], budget: 9}
  - {problems: [hills], algorithms: [random-search], readings: [louder]}
studies:
  - {id: growth, is: growth_condition.run, where: nowhere, says: nothing of interest,
     problem: hills, seeds: 1, parameters: {centre: 0.5, mu: 40, tau: 2, gamma: 0.5,
     waves: 16, height: 0.6, points: 11}}
figures:
  - id: regret
    title: Regret
    metric: simple_regret
    curves: [random-search, Short, unrun]
    panels: [{problem: hills, title: A}, {problem: seen, title: B}]
  - {id: feasible, metric: feasible_evaluations, curves: [random-search],
     panels: [{problem: hills}]}
  - {id: mixed, metric: simple_regret, curves: [random-search],
     panels: [{problem: ring}, {problem: hills, reading: louder}, {study: growth, x: w, y: [loss]},
              {problem: hills, metric: batch_size}, {problem: hills, to: 5}]}
  - {id: ring, metric: simple_regret, curves: [random-search], panels: [{problem: ring}]}
"""
HEAD = """
import numpy as np

from algorithms.api import Box, Optimizer


class Mine(Optimizer):
    domains = (Box,)
"""
KNOWS = f"""{HEAD}
    def __init__(self, domain: Box, rng, *, at: float, low: float) -> None:
        super().__init__(domain, rng)
        self.at = at

    def ask(self, room, pending):
        return np.full((1, self.domain.d), self.at)
"""
AT = 0.2096466  # (-2.903534 + 5) / 10: where styblinski_tang is least
FAILS = f"""{HEAD}
    def ask(self, room, pending):
        return self.rng.random((1, self.domain.d)) / (self.rng.random() < OFTEN)
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A checkout of the tiny paper, whose random search is published and was made elsewhere."""
    copy = checkout.make(tmp_path_factory.mktemp("compare"))
    plugin = "snakemake_logger_plugin_noregret"
    shutil.copytree(checkout.ROOT / plugin, copy / plugin)
    (copy / "papers" / "mini.yaml").write_text(PAPER)
    for problem, curve in product(("hills", "seen"), ("random-search", "Short")):
        checkout.succeed(copy, "workflow.run", "mini", problem, curve, "0-5")
    checkout.succeed(copy, "workflow.publish", "mini")
    shutil.rmtree(copy / "results")
    return copy


def compared(copy, *arguments):
    """What `python -m workflow.compare` comes to on one core."""
    return checkout.run(copy, "workflow.compare", *arguments, "--cores", "1")


@pytest.fixture(scope="module")
def knowing(published):
    """What the first comparison printed, of a method that knows where the optimum is."""
    (published / "algorithms" / "knows.py").write_text(KNOWS)
    (published / "algorithms" / "knows.yaml").write_text(f"at: {AT}\n")
    done = compared(published, "knows", "mini/regret")
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_the_method_alone_is_run_drawn_and_judged_beside_what_is_published(published, knowing):
    store = {path.name for path in (published / "results" / "store").iterdir()}
    made = {path.split("/")[-2] for path in contents(published / "results") if "parquet" in path}
    assert "knows" in made and made <= {"knows", *store}
    assert len(list((published / "results").rglob("knows/*.parquet"))) == 10  # of six seeds five
    assert "mini/regret, A: ahead of 2 of 3 curves, behind 0" in knowing.stdout
    assert "  knows is lower than random-search: reproduced, difference -" in knowing.stdout
    assert re.search(r"than unrun: not decided, .*not run", knowing.stdout)
    report = published / "figures" / "paper" / "knows_at_mini_regret"
    drawn = (report / "regret.csv").read_text()
    assert "knows" in drawn and "random-search" in drawn and "unrun" not in drawn
    ledger = json.loads((report / "verdicts.json").read_text())
    assert [claim["seeds"] for claim in ledger["claims"]] == [5, 5, 0] * 2


@pytest.mark.slow
def test_the_second_call_runs_nothing_and_says_the_same(published, knowing):
    before = contents(published / "results")
    again = compared(published, "knows", "mini/regret")
    assert again.stdout in knowing.stdout and contents(published / "results") == before


@pytest.mark.slow
def test_what_is_finished_is_kept_if_some_seeds_fail(published):
    store = published / "results" / "store"
    before = len(list(store.rglob("*.parquet")))
    (published / "algorithms" / "frail.py").write_text(FAILS.replace("OFTEN", "0.97"))
    done = compared(published, "frail", "mini/regret")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert before < len(list(store.rglob("*.parquet"))) < before + 10
    assert "did not finish (logs/paper/frail_at_mini_regret/" in done.stderr
    assert (published / "figures/paper/frail_at_mini_regret/regret.png").exists()


@pytest.mark.slow
def test_a_method_that_fails_is_told_in_a_sentence(published):
    (published / "algorithms" / "fails.py").write_text(FAILS.replace("OFTEN", "0"))
    done = compared(published, "fails", "mini/feasible")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "error: mini" not in done.stdout and "inf" in done.stderr


@pytest.fixture
def root(tmp_path):
    """The tiny paper with the methods that there are, and one of a user."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(checkout.ROOT / "algorithms", tmp_path / "algorithms", ignore=ignored)
    for name in ("problems", "workflow"):
        (tmp_path / name).symlink_to(checkout.ROOT / name)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "mini.yaml").write_text(PAPER)
    (tmp_path / "algorithms" / "mine.py").write_text(KNOWS)
    (tmp_path / "algorithms" / "mine.yaml").write_text("at: 0.1\n")
    return tmp_path


def written(root, *arguments):
    return yaml.safe_load((root / "papers" / f"{compare.write(*arguments, root=root)}.yaml").open())


def test_every_curve_is_compared_at_the_end_that_both_have(root):
    said = written(root, "random_search", "mini/regret")
    assert said["algorithms"] == {"random_search": {"is": "random_search.RandomSearch"}}
    checks = [claim["check"] for claim in said["claims"]]
    assert [check.get("at", 12) for check in checks] == [12, 9, 12] * 2
    assert {check["test"] for check in checks} == {"less"}


def test_if_more_is_better_it_says_higher(root):
    (claim,) = written(root, "random_search", "mini/feasible")["claims"]
    assert claim["says"] == "random_search is higher than random-search"
    assert claim["check"]["test"] == "more"


def test_panels_that_compare_nothing_are_left_out_and_told(root, capsys):
    (root / "algorithms" / "pycma.yaml").write_text("{sigma: 0.3, growth: 2.0}")
    said = written(root, "algorithms/pycma.py", "mini/mixed")
    assert [panel["problem"] for panel in said["figures"][0]["panels"]] == ["hills"]
    assert said["claims"][0]["check"]["at"] == 5
    assert capsys.readouterr().out.splitlines() == [
        "not compared: ring, on Arms, not on Box",
        "not compared: hills@louder, a problem under a reading",
        "not compared: columns of a study, which are no runs",
        "not compared: batch_size, which says of no method how good it is",
    ]


def test_a_file_of_the_user_is_not_overwritten(root):
    compare.write("random_search", "mini/regret", root=root)
    compare.write("random_search", "mini/regret", root=root)  # its own is
    path = root / "papers" / "random_search_at_mini_regret.yaml"
    path.write_text("mine\n")
    with pytest.raises(PlanError, match="got a file of yours: rename it"):
        compare.write("random_search", "mini/regret", root=root)
    assert path.read_text() == "mine\n"


def test_what_is_written_is_no_lasting_comparison(root):
    compare.write("random_search", "mini/regret", root=root)
    assert "random_search_at_mini_regret" in set(planned(root)) - set(lasting(root))


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("class Mine:\n    pass\n", "algorithms/mine.py: expected one class that inherits from"),
        (KNOWS + KNOWS.replace("Mine", "More"), "classes: Mine, More"),
        ("def ask(:\n", "algorithms/mine.py is no valid Python: "),
        ("x = '\0'\n", "algorithms/mine.py is no valid Python: "),
    ],
)
def test_a_file_that_is_no_method_is_refused(root, code, sentence):
    (root / "algorithms" / "mine.py").write_text(code)
    with pytest.raises(PlanError, match=re.escape(sentence)):
        compare.write("mine", "mini/regret", root=root)
    assert [path.stem for path in (root / "papers").iterdir()] == ["mini"]


@pytest.mark.parametrize(
    ("method", "figure", "sentence"),
    [
        ("mien", "mini/regret", "a file of algorithms/, got 'mien'; did you mean 'mine'?"),
        ("_template", "mini/regret", "got '_template' (copy it under a name of yours)"),
        ("api", "mini/regret", "METHOD: expected a file of algorithms/, got 'api'"),
        ("mine.Min", "mini/regret", "METHOD=mine.CLASS, got 'mine.Min'; classes: Mine"),
        ("mine", "regret", "FIGURE: expected PAPER/FIGURE such as go_ucb/fig2, got 'regret'"),
        ("mine", "mino/regret", "FIGURE: unknown paper 'mino'; did you mean 'mini'?"),
        ("mine", "mini/regrets", "unknown figure 'regrets'; known: regret, feasible, mixed, ring"),
        ("mine", "mini/ring", "in which mine.Mine can be compared, got ring, on Arms, not on Box"),
    ],
)
def test_a_misspelt_method_or_figure_is_refused(root, method, figure, sentence):
    with pytest.raises(PlanError, match=re.escape(sentence)):
        compare.write(method, figure, root=root)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (None, "algorithms/mine.yaml on hills: missing parameter at of mine.Mine"),
        ("", "algorithms/mine.yaml on hills: missing parameter at of mine.Mine"),
        ("at: high", "algorithms/mine.yaml on hills: at of mine.Mine: expected float, got 'high'"),
        ("- 1", "algorithms/mine.yaml: expected lines such as `step: 0.2`, got [1]"),
        ("at: [", "algorithms/mine.yaml is no valid YAML"),
        ("{at: 1, room: no}", "expected a whole number"),
    ],
)
def test_parameters_are_checked_as_those_of_papers(root, values, sentence):
    path = root / "algorithms" / "mine.yaml"
    path.unlink() if values is None else path.write_text(values)
    with pytest.raises(PlanError, match=re.escape(sentence)):
        compare.write("mine", "mini/regret", root=root)
    assert [path.stem for path in (root / "papers").iterdir()] == ["mini"]


def test_a_file_of_parameters_that_is_named_has_to_be_there(root):
    with pytest.raises(PlanError, match=r"PARAMETERS: expected a file, got .*nowhere\.yaml: No"):
        compare.write("mine", "mini/regret", root / "nowhere.yaml", root=root)


FIGURES = (  # best-seen values, two budgets, ratios, dots, variants, levels, readings
    *("go_ucb/fig2-scaled", "go_ucb/fig3", "lcbo/fig1", "lcbo/fig4"),
    *("bbkb/stuck", "bbkb/fig5", "dumbo/shifted"),
)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_method_runs_as_long_as_every_curve_that_is_borrowed(root, figure):
    paper = figure.partition("/")[0]
    shutil.copytree(checkout.ROOT / "papers", root / "papers", dirs_exist_ok=True)
    (root / "data").symlink_to(checkout.ROOT / "data")
    name = compare.write("random_search", figure, root=root)
    usual, found = load(paper, "paper", root=root), load(name, "paper", root=root)
    assert all(len(curve.seeds) == 5 for curve in found.curves)
    own = {curve.problem: curve for curve in found.curves}
    assert own.keys() == {curve.problem for curve in found.borrowed}
    for curve in found.borrowed:
        assert own[curve.problem].budget >= curve.budget
        assert own[curve.problem].problem_entry == curve.problem_entry
        assert curve.digest == usual.curve(curve.problem_name, curve.label).digest
    options = panel_options(found, figure.partition("/")[2])
    assert "random_search" in looks_of(found, options)
