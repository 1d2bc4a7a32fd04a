"""A method of a user in a paper's figure: as a command, on records that were published before."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from algorithms.api import Box
from tests.workflow import checkout
from workflow.compare import making
from workflow.draw import style
from workflow.plan import guest, reader
from workflow.plan.expand import load
from workflow.plan.resolve import papers
from workflow.plan.selection import panel_options, places
from workflow.run import boundary
from workflow.trace.cells import PlanError

PAPER = """
paper: {key: mini, title: A tiny paper, venue: nowhere}
scales: {smoke: {seeds: 1, budget: 6}, quick: {}, paper: {}}
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
  Short: {<<: *random, budget: 9}
  Taken: *random
runs: [{}]
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
  - {id: ring, metric: simple_regret, curves: [random-search], panels: [{problem: ring}]}
  - {id: basins, metric: basin, curves: [random-search], panels: [{problem: hills}]}
  - {id: sizes, metric: batch_size, curves: [random-search], panels: [{problem: hills}]}
  - {id: loss, panels: [{study: growth, x: w, y: [loss]}]}
ranks:
  - {id: order, title: Ranks, problems: [hills, seen], metric: simple_regret,
     curves: [random-search, unrun]}
"""
CLAIM = """
claims:
  - {id: lower, where: nowhere, says: knows is lower than random search,
     check: {test: less, metric: simple_regret, problems: [hills], left: [knows],
     right: [random-search]}}
"""
HEAD = """
import numpy as np

from algorithms.api import Box, Optimizer
"""
KNOWS = (
    HEAD
    + """

class Knows(Optimizer):
    domains = (Box,)

    def __init__(self, domain: Box, rng, *, at: float, low: float) -> None:
        super().__init__(domain, rng)
        self.at = at

    def ask(self, room, pending):
        return np.full((1, self.domain.d), self.at)
"""
)
AT = 0.2096466  # (-2.903534 + 5) / 10: where styblinski_tang is least
BARE = (
    HEAD
    + """

class Bare(Optimizer):
    domains = (Box,)

    def ask(self, room, pending):
        {ask}

    def tell(self, query, obs):
        super().tell(query, obs)
        {tell}
"""
)
FINE = "return self.rng.random((1, self.domain.d))"


def bare(ask=FINE, tell="pass"):
    return BARE.format(ask=ask, tell=tell)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A checkout of the tiny paper, whose random search is published and was made elsewhere."""
    copy = checkout.make(tmp_path_factory.mktemp("compare"))
    (copy / "papers" / "mini.yaml").write_text(PAPER)
    for problem in ("hills", "seen", "ring"):
        curves = "random-search,Short" if problem != "ring" else "random-search"
        made = checkout.run(copy, "workflow.run", "mini", problem, curves, "0-5")
        assert made.returncode == 0, made.stderr
    made = checkout.run(copy, "workflow.publish", "mini")
    assert made.returncode == 0, made.stdout + made.stderr
    shutil.rmtree(copy / "results")
    return copy


def compare(copy, *arguments):
    """What `python -m workflow.compare` comes to on one core."""
    return checkout.run(copy, "workflow.compare", *arguments, "--cores", "1")


def contents(folder):
    """{path below a folder: bytes} of all files."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def knowing(published):
    """What the first comparison printed, of a method that knows where the optimum is."""
    (published / "algorithms" / "knows.py").write_text(KNOWS)
    (published / "algorithms" / "knows.yaml").write_text(f"at: {AT}\n")
    before = contents(published / "figures")
    done = compare(published, "knows", "mini/regret")
    assert done.returncode == 0, done.stderr
    assert contents(published / "figures") == before
    return done


def rows(copy, folder="mini-regret-knows"):
    """The rows of the sheet's table, as lists of cells by panel and curve."""
    text = (copy / "build" / "compare" / folder / "verdicts.md").read_text()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return {(row[0], row[1]): row for row in cells if len(row) == 12 and "**" in row[2]}


def test_a_guest_alone_is_run_and_drawn_over_what_is_published(published, knowing):
    made = contents(published / "results")
    assert len([name for name in made if name.endswith(".parquet")]) == 10  # of six seeds five
    assert {name.split("/")[-2] for name in made} == {"knows"}
    sheet = published / "build" / "compare" / "mini-regret-knows"
    assert {path.name for path in sheet.iterdir()} == {
        *("regret.png", "regret.pdf", "regret.csv", "regret.json", "verdicts.md")
    }
    drawn = (sheet / "regret.csv").read_text()
    assert "knows (your method, not in the paper)" in drawn and "random-search" in drawn
    assert "unrun" not in drawn
    assert "A: knows is lower than 2 of 2 curves, 1 not run\n" in knowing.stdout
    assert "  not run: unrun\n" in knowing.stdout
    assert "knows: your method, not in the paper" in knowing.stdout


def test_every_curve_is_judged_at_the_end_that_both_have(published, knowing):
    found = rows(published)
    assert set(found) == {
        (panel, curve) for panel in "AB" for curve in ("random-search", "Short", "unrun")
    }
    assert [found["A", curve][9] for curve in ("random-search", "Short")] == ["12", "9"]
    assert found["A", "random-search"][2] == "**reproduced**"
    assert "not decided: mini/hills/unrun: not run" in found["A", "unrun"][2]
    assert found["A", "random-search"][8] == "5"


def test_the_second_call_runs_nothing_and_says_the_same(published, knowing):
    before, sheet = contents(published / "results"), rows(published)
    again = compare(published, "knows", "mini/regret")
    assert "10 runs, 10 of which are there" in again.stdout
    assert contents(published / "results") == before and rows(published) == sheet


def test_where_more_is_better_it_says_higher(published, knowing):
    done = compare(published, "knows", "mini/basins")
    assert "10 runs" not in done.stdout and "5 runs, 5 of which are there" in done.stdout
    assert "hills: knows is higher than " in done.stdout
    effect = rows(published, "mini-basins-knows")["hills", "random-search"][3]
    assert float(effect.split()[1]) >= 0


def test_where_the_best_seen_value_is_the_guests_it_says_so(published, knowing):
    assert re.search(r"On seen knows has seen \S+, where the best of all other", knowing.stdout)
    assert "On hills" not in knowing.stdout
    sheet = (published / "build" / "compare" / "mini-regret-knows" / "verdicts.md").read_text()
    assert "Regret is measured from the new value" in sheet


def test_the_verdict_is_that_of_a_claim_of_the_yaml_on_the_same_records(published, knowing):
    """The method in the paper under the same name: its records count there, and so do their
    numbers.
    """
    own = f"  knows: {{is: knows.Knows, at: {AT}, seeds: 5}}\nruns: [{{problems: [hills, seen]}}]"
    text = PAPER.partition("  - {id: ring")[0].replace("runs: [{}]", own, 1)
    (published / "papers" / "mini.yaml").write_text(text + CLAIM)
    try:
        told = checkout.run(published, "workflow.claims", "mini", "--scale", "paper", "--partial")
    finally:
        (published / "papers" / "mini.yaml").write_text(PAPER)
    assert told.returncode == 0, told.stderr
    ledger = json.loads((published / "figures/paper/mini/verdicts.json").read_text())
    shutil.rmtree(published / "figures" / "paper")
    (claim,) = ledger["claims"]
    (one,) = claim["comparisons"]
    row = rows(published)["A", "random-search"]
    assert row[2] == f"**{claim['verdict']}**"
    assert row[3] == f"difference {one['effect']:.3g} [{one['low']:.3g}, {one['high']:.3g}]"
    assert float(row[5]) == pytest.approx(one["p"], rel=5e-3)


def test_nobody_takes_the_folders_of_a_guest_for_something_else(published, knowing):
    before = contents(published / "figures")
    told = checkout.run(published, "workflow.status", "--scale", "paper", "--papers", "mini")
    assert told.returncode == 0 and "knows" not in told.stdout
    added = checkout.run(published, "workflow.publish", "mini")
    assert added.returncode == 0 and contents(published / "figures") == before
    listed = checkout.run(
        published, "workflow.inventory", "mini", "--scale", "paper", "--partial", "-o", "listed"
    )
    assert listed.returncode == 0
    assert "knows" not in (published / "listed" / "runs.json").read_text()
    kept = checkout.run(published, "workflow.archive", "--papers", "mini")
    assert kept.returncode == 0, kept.stderr


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [
        ("asking", bare(ask="return self.nothing"), "has no attribute 'nothing'"),
        ("telling", bare(tell="raise ArithmeticError('too hard')"), "too hard"),
        ("shaped", bare(ask="return self.rng.random((1, self.domain.d + 1))"), "(1, 3)"),
        ("nans", bare(ask="return np.array([[0.5, np.nan]])"), "array([[0.5, nan]]): correct it ("),
        ("lacking", "import no_such_library\n" + bare(), "no_such_library"),
    ],
)
def test_a_method_that_fails_is_told_in_a_sentence(published, name, code, sentence):
    (published / "algorithms" / f"{name}.py").write_text(code)
    done = compare(published, name, "mini/regret")
    assert done.returncode == 1
    assert sentence in done.stderr and "Traceback" not in done.stderr
    assert "(and 4 more of its seeds)" in done.stderr
    assert f"{name} has no finished run: nothing is drawn" in done.stderr
    assert not (published / "build" / "compare" / f"mini-regret-{name}").exists()


@pytest.mark.parametrize("rows", [1, 2, 9, 30])
@pytest.mark.parametrize("d", range(1, 30))
def test_what_is_told_in_many_lines_is_one_sentence(tmp_path, rows, d):
    """And an array that is shown in part does not end within a number."""
    answer = np.full((rows, d), 0.123456789)
    answer[-1, -1] = np.nan
    with pytest.raises(boundary.BadAnswer) as refused:
        boundary.query(Box(d), answer, rows, "Mine.ask")
    log = tmp_path / "log"
    log.write_text(f"begun\nerror: {refused.value}\nended\nerror: another\n")
    said, other = making._errors(log)
    assert other == "another" and "\n" not in said
    assert said.endswith(": correct it")
    shown = said.partition("array(")[2].removesuffix(": correct it")
    numbers = re.findall(r"[0-9.]+[0-9]|nan", shown)
    assert set(numbers) <= {"0.12345679", "nan"} and len(numbers) >= min(rows * d, 4)
    assert shown.endswith("nan]])" if len(numbers) == rows * d else ", ...")


def test_a_method_on_another_kind_of_domain_is_refused_before_anything_runs(published):
    (published / "algorithms" / "boxed.py").write_text(bare())
    before = contents(published / "results")
    done = compare(published, "boxed", "mini/ring")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == (
        "error: mini/ring: expected a method that works on Arms (rows of a table), got Bare of"
        " algorithms/boxed.py, whose `domains` are Box (points of the unit cube): choose a figure"
        " in which it can be compared: mini/regret, basins\n"
    )
    assert contents(published / "results") == before


def test_what_has_finished_is_drawn_where_some_seeds_fail(published):
    ask = "return self.rng.random((1, self.domain.d)) / (self.rng.random() < 0.97)"
    (published / "algorithms" / "frail.py").write_text(bare(ask=ask))
    done = compare(published, "frail", "mini/regret")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    made = list((published / "results" / "paper" / "mini").rglob("frail/*.parquet"))
    assert 0 < len(made) < 10
    assert "Not all runs of frail are there" in done.stdout
    assert (published / "build" / "compare" / "mini-regret-frail" / "regret.png").exists()


@pytest.fixture
def root(tmp_path):
    """The tiny paper with the methods that there are, for what is refused before anything runs."""
    shutil.copytree(
        checkout.ROOT / "algorithms",
        tmp_path / "algorithms",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (tmp_path / "problems").symlink_to(checkout.ROOT / "problems")
    (tmp_path / "workflow").symlink_to(checkout.ROOT / "workflow")
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "mini.yaml").write_text(PAPER)
    return tmp_path


def test_a_method_on_tables_is_refused_on_boxes(root):
    sentence = (
        "mini/regret: expected a method that works on Box (points of the unit cube), got GPUCB of"
        " algorithms/gp_ucb.py, whose `domains` are Arms (rows of a table): choose a figure in"
        " which it can be compared: mini/ring"
    )
    with pytest.raises(PlanError, match=f"^{re.escape(sentence)}$"):
        guest.visit("gp_ucb", "mini/regret", root=root)


def test_a_panel_on_another_kind_of_domain_is_left_out(root):
    both = "panels: [{problem: hills, title: A}, {problem: ring, title: B}]}"
    text = PAPER.replace("panels: [{problem: hills}]}", both, 1)  # of the figure of basins
    text = text.replace("metric: basin,", "metric: simple_regret,")
    (root / "papers" / "mini.yaml").write_text(text)
    (root / "algorithms" / "pycma.yaml").write_text("{sigma: 0.3, growth: 2.0}")
    found = guest.visit("pycma", "mini/basins", root=root)
    assert {cell.problem for cell in found.cells} == {"hills"}
    assert found.left == ("ring, a problem on Arms",)
    everywhere = guest.visit("random_search", "mini/basins", root=root)
    assert {cell.problem for cell in everywhere.cells} == {"hills", "ring"}


@pytest.mark.parametrize(
    "domains", ["DOMAINS", "tuple([Box])", "(Box, Mine)"], ids=["named", "made", "unknown"]
)
def test_domains_that_cannot_be_read_are_left_to_the_run(root, domains):
    code = bare().replace("domains = (Box,)", f"domains = {domains}")
    (root / "algorithms" / "boxed.py").write_text(code)
    document = reader.document("mini", root)
    line = next(one for one in document.entry["figures"] if one["id"] == "ring")
    kept, others = guest._fitting(document, line, line["panels"], "boxed.Bare", root)
    assert kept == line["panels"] and others == {}


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("class Mine:\n    pass\n", "algorithms/mine.py: expected one class that inherits from"),
        (bare() + bare().replace("Bare", "More"), "got Bare, More: say METHOD=mine.Bare"),
        ("def ask(:\n", "algorithms/mine.py, line 1: it is no valid Python"),
        ("x = '\0'\n", "algorithms/mine.py"),
    ],
)
def test_a_file_that_is_no_method_is_refused(root, code, sentence):
    (root / "algorithms" / "mine.py").write_text(code)
    with pytest.raises(PlanError, match=re.escape(sentence)):
        guest.visit("mine", "mini/regret", root=root)


def test_a_part_that_is_not_there_is_told(published):
    (published / "algorithms" / "parted.py").write_text(
        "from algorithms.parts.nowhere import nothing\n" + bare()
    )
    done = compare(published, "parted", "mini/regret")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "error: algorithms/parted.py: expected a module algorithms.parts.nowhere" in done.stderr


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("mien", "METHOD: expected a file of algorithms/, got 'mien'; did you mean 'mine'?"),
        ("_template", "got '_template' (copy it under a name of yours)"),
        ("api", "METHOD: expected a file of algorithms/, got 'api'"),
        ("mine.Know", "expected a class Know that inherits"),
        ("../mine", "METHOD: expected a file of algorithms/, got '../mine'"),
    ],
)
def test_an_unknown_method_is_refused_with_the_nearest(root, method, sentence):
    (root / "algorithms" / "mine.py").write_text(KNOWS)
    with pytest.raises(PlanError, match=re.escape(sentence)):
        guest.visit(method, "mini/regret", root=root)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (None, "algorithms/mine.yaml (there is no such file) on hills: missing parameter at of"),
        ("", "algorithms/mine.yaml on hills: missing parameter at of mine.Knows"),
        ("att: 0.1", "algorithms/mine.yaml: unknown parameter 'att' of mine.Knows; did you mean"),
        ("{at: 0.1, seeds: 9}", "algorithms/mine.yaml: unknown parameter 'seeds' of mine.Knows"),
        ("at: high", "algorithms/mine.yaml on hills: at of mine.Knows: expected float, got 'high'"),
        ("at: {seen: 0.1}", "algorithms/mine.yaml on hills: expected a value for problem 'hills'"),
        ("- 1", "algorithms/mine.yaml: expected lines such as `step: 0.2`, got [1]"),
        ("at: [", "algorithms/mine.yaml is no valid YAML"),
        ("{at: 1, at: 2}", "key given twice: at"),
    ],
)
def test_parameters_are_checked_as_those_of_papers(root, values, sentence):
    (root / "algorithms" / "mine.py").write_text(KNOWS)
    if values is not None:
        (root / "algorithms" / "mine.yaml").write_text(values)
    with pytest.raises(PlanError, match=re.escape(sentence)):
        guest.visit("mine", "mini/regret", root=root)


def test_a_file_of_parameters_that_is_named_has_to_be_there(root):
    (root / "algorithms" / "mine.py").write_text(KNOWS)
    with pytest.raises(
        PlanError, match=r"PARAMETERS: expected a file, got .*nowhere\.yaml: No such"
    ):
        guest.visit("mine", "mini/regret", root / "nowhere.yaml", root=root)


@pytest.mark.parametrize(
    ("figure", "sentence"),
    [
        ("regret", "expected PAPER/FIGURE such as go_ucb/fig2, got 'regret'"),
        ("mino/regret", "unknown paper 'mino'; did you mean 'mini'?"),
        ("mini/regrets", "unknown figure 'regrets'; did you mean 'regret'?"),
        (
            "mini/order",
            "mini/order: it is ranks, no figure; known: regret, ring, basins, sizes, loss",
        ),
        ("mini/loss", "expected a figure that shows how good methods are, got one of columns of"),
        ("mini/sizes", "got one of batch_size, which says of no method how good it is"),
    ],
)
def test_a_figure_that_no_method_can_join_is_refused(root, figure, sentence):
    with pytest.raises(PlanError, match=re.escape(sentence)):
        guest.visit("random_search", figure, root=root)


def test_a_guest_never_has_the_folder_of_a_method_of_the_paper(root):
    text = PAPER.replace("Taken", "Random_Search")
    (root / "papers" / "mini.yaml").write_text(text)
    found = guest.visit("random_search", "mini/regret", root=root)
    assert {cell.folder.name for cell in found.cells} == {"random_search-guest"}


FIGURES = (  # readings, best-seen values, two budgets on one problem, dots, variants and ratios
    *("go_ucb/fig2-scaled", "go_ucb/fig3", "lcbo/fig1", "lcbo/fig4"),
    *("bbkb/stuck", "bbkb/fig5", "dumbo/shifted"),
)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_guest_stands_beside_every_curve_and_changes_none(figure):
    name, _, line = figure.partition("/")
    usual, found = load(name, "paper"), guest.visit("algorithms/random_search.py", figure)
    own = {cell.name: cell for cell in found.cells}
    assert {cell.name: cell for cell in found.paper.cells} == {
        **{cell.name: cell for cell in usual.cells},
        **own,
    }
    assert all(len(cell.seeds) == 5 for cell in own.values())
    for panel in panel_options(found.paper, line):
        mine = {cell.problem_name: cell for cell in found.mine(panel)}
        others = [cell for _, cell in places(found.paper, panel) if not found.is_mine(cell)]
        assert others
        for cell in others:
            assert mine[cell.problem_name].budget >= cell.budget
            assert mine[cell.problem_name].problem_entry == cell.problem_entry


def test_the_metrics_of_which_more_is_better_are_those_that_say_so():
    metrics = {
        {**line, **panel}.get("metric")
        for name in papers()
        for line in reader.read(name).get("figures", [])
        for panel in line["panels"]
    }
    lower = {"cumulative_regret", "simple_regret", "recommendation_regret", "best_feasible"}
    time = {"seconds", "total_seconds", None}
    known = lower | time | {*guest.NEITHER, *guest.HIGHER}
    assert {
        one for one in metrics if one not in known and not str(one).startswith("report.")
    } == set()


def test_runs_that_are_none_of_the_guests_are_refused(published, knowing):
    before = contents(published / "results")
    for only in (("hills", "random-search", "0"), ("ring", "knows", "0"), ("hills", "knows", "5")):
        done = compare(published, "knows", "mini/regret", "--only", *only)
        assert done.returncode == 1 and contents(published / "results") == before
        sentence = "--only: expected some of hills knows 0-4, seen knows 0-4, got "
        assert done.stderr == f"error: {sentence}{' '.join(only)}\n"


def test_the_process_that_waits_for_a_run_loads_no_numerical_library(published):
    loaded = "import sys; from workflow.compare import command_line; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", loaded],
        cwd=published,
        env=checkout.offline(published),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


def test_a_damaged_record_of_a_guest_is_told_and_stays(published, knowing):
    path = published / "results" / "paper" / "mini" / "hills" / "knows" / "3.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    try:
        done = compare(published, "knows", "mini/regret")
        assert path.read_bytes() == whole[:100]
    finally:
        path.write_bytes(whole)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "hills/knows/3.parquet" in done.stderr


def test_a_guest_looks_like_no_method_of_a_paper():
    drawn = {look.colour for look in style.LOOKS.values()} | {*style.COLOURS}
    assert style.GUEST.colour not in drawn
    assert style.GUEST.width > 1.5 * max(look.width for look in style.LOOKS.values())
