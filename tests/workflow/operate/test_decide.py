"""`make decide`: the verdicts of everything run, for less, whoever stops it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.workflow import checkout
from tests.workflow.synthetic import Toy, noisy
from workflow.judge.claims import by_default
from workflow.measure.store import Store
from workflow.operate import decide, workers
from workflow.operate.undecided import Board
from workflow.operate.workers import Command, Workers
from workflow.plan import machine, show

SECONDS = 10.0  # that a record says it took
CHECK = {"test": "less", "metric": "simple_regret"}


@pytest.fixture(autouse=True)
def reference_machine(monkeypatch):
    monkeypatch.setattr(machine, "slowness", lambda: 1.0)


class Copying:
    """Makes records by copying those of another place."""

    cores = 1

    def __init__(self, source, target):
        self.source, self.target = source, target
        self.spent, self.is_stopped, self.made = 0.0, False, []

    def make(self, board, needs, most):
        limit = self.spent + most
        for name, seed in sorted(needs):
            if self.spent + SECONDS > limit:
                self.is_stopped = True
                break
            path = board.runs[name].record(seed)
            (self.target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.source / path, self.target / path)
            self.spent += SECONDS
            self.made.append((name, seed))
        return {}


@pytest.fixture
def world(tmp_path):
    """Ten seeds of five methods: two claims are plain at five seeds, one is doubtful, one wrong in
    one of two comparisons, and one is about every run.
    """
    made = Toy(tmp_path / "whole")
    for number, (name, level, spread) in enumerate(
        [("A", 0.9, 0.02), ("B", 0.5, 0.02), ("C", 0.49, 0.1), ("uniform", 0.2, 0.02)]
    ):
        made.add(name, noisy(level, spread, key=number))
    made.add("D", noisy(0.6, 0.01, key=9))
    sides = {
        "better": (["A"], ["B"]),
        "worse": (["uniform"], ["A"]),
        "doubtful": (["B"], ["C"]),
        "both": (["A", "uniform"], ["B"]),
    }
    made.entry["claims"] = [
        {"id": name, "where": "", "says": "", "check": {**CHECK, "left": left, "right": right}}
        for name, (left, right) in sides.items()
    ]
    band = {"test": "band", "metric": "simple_regret", "curves": ["D"], "at_most": 0.6}
    made.entry["claims"].append({"id": "never", "where": "", "says": "", "check": band})
    (tmp_path / "part").mkdir()
    shutil.copytree(made.root / "data", tmp_path / "part" / "data")
    return made, tmp_path / "part"


def verdicts(made, root):
    store = Store(made.paper, root, partial=True)
    return {
        claim["id"]: by_default(made.paper, store, claim).verdict for claim in made.entry["claims"]
    }


def test_it_comes_to_the_verdicts_of_everything_in_fewer_hours(world):
    made, root = world
    maker, told = Copying(made.root, root), []
    survey = decide.decide(Board([made.paper], root), maker, 1e6, told.append)
    whole = verdicts(made, made.root)
    assert verdicts(made, root) == whole
    assert set(whole.values()) >= {"reproduced", "contradicted"} and not survey.questions
    # what five seeds of A and uniform have decided needs no others; a later seed of D may refute
    # what is said of every run
    few = {(f"toy/p/{name}", seed) for name in ("A", "uniform") for seed in range(5, 10)}
    everything = {(cell.name, seed) for cell in made.paper.cells for seed in cell.seeds}
    assert sorted(maker.made) == sorted(everything - few)
    assert len(told) == len({line.split(":")[0] for line in told})  # one line a round
    assert "0 of 277.778 core-hours (0%), 0 claims decided, 5 open; runs toy/p/{A" in told[0]
    assert "4 claims decided, 1 open; runs toy/p/{B, C, D} seeds 5-9 for toy/doubtful" in told[-1]


def test_hours_are_kept_and_the_rest_is_done_by_another_call(world):
    made, root = world
    first = Copying(made.root, root)
    decide.decide(Board([made.paper], root), first, 75.0, lambda line: None)
    assert 0 < first.spent <= 75
    second = Copying(made.root, root)
    survey = decide.decide(Board([made.paper], root), second, 1e6, lambda line: None)
    assert not set(first.made) & set(second.made) and not survey.questions
    assert verdicts(made, root) == verdicts(made, made.root)


def test_what_cannot_be_made_is_told_once_and_the_rest_goes_on(world):
    made, root = world

    class Failing(Copying):
        def make(self, board, needs, most):
            broken = {seed: "A crashes" for seed in needs if seed[0] == "toy/p/A"}
            super().make(board, needs - broken.keys(), most)
            return broken

    maker, board = Failing(made.root, root), Board([made.paper], root)
    survey = decide.decide(board, maker, 1e6, lambda line: None)
    assert survey.apart["toy/better"] == "A crashes" and not survey.questions
    assert "doubtful" in str(survey.apart) and ("toy/p/C", 9) in maker.made


def test_a_job_that_leaves_no_record_is_not_asked_again(world):
    made, root = world

    class Idle(Copying):
        def make(self, board, needs, most):
            return {}

    survey = decide.decide(Board([made.paper], root), Idle(made.root, root), 1e6, lambda line: None)
    assert not survey.questions
    assert "its job left no record" in survey.apart["toy/better"]


def test_the_plan_says_what_would_decide_and_what_nothing_decides(world):
    made, root = world
    made.entry["claims"][1]["requires"] = [{"never": True, "because": "no such norm"}]
    board = Board([made.paper], root)
    lines = decide.plan(board, board.survey())
    (row,) = [line for line in lines if line.startswith("toy/better ")]
    assert "not decided" in row and "67%*" in row
    assert "    toy/p/{A, B} seeds 0-4" in lines
    assert "  toy/worse: hypotheses not met: no such norm" in lines
    assert any(line.startswith("4 claims are open;") for line in lines)


def test_runs_are_listed_by_problem_and_seeds():
    needs = [("p/x/A", 0), ("p/x/A", 1), ("p/x/B", 0), ("p/x/B", 1), ("p/x/C", 0), ("p/x/D", 0)]
    needs += [("p/x/D", 2)]
    assert decide.listed(needs) == [
        "p/x/{A, B} seeds 0-1",
        "p/x/C seed 0",
        "p/x/D seeds 0,2",
    ]


@pytest.mark.parametrize("hours", [None, "0", "-1", "x", "inf", "nan"])
def test_hours_are_a_positive_number(hours, capsys):
    with pytest.raises(SystemExit):
        decide.main(["bkb", *(["--hours", hours] if hours else [])])
    assert "--hours: expected a positive number of core-hours, got" in capsys.readouterr().err


def test_the_plan_of_open_claims_is_a_program_of_its_own(monkeypatch, capsys):
    started = []

    def run(command, check):
        started.append(command)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(subprocess, "run", run)
    assert show.main(["bkb", "lcbo", "--undecided"]) == 3
    assert started[0][1:] == ["-m", "workflow.decide", "--plan", "bkb,lcbo"]
    with pytest.raises(SystemExit):
        show.main(["--undecided", "--scale", "smoke"])
    assert "claims are decided at scale paper" in capsys.readouterr().err


def spinning(tmp_path, name, seconds, *, status=0):
    """A command that computes, then ends with a status."""
    module = tmp_path / f"{name}.py"
    module.write_text(
        "import sys, time\n"
        f"while time.process_time() < {seconds}: pass\n"
        "print('error: it is broken', file=sys.stderr)\n"
        f"sys.exit({status})\n"
    )
    return Command((name,), tmp_path / "logs" / f"{name}.log", frozenset({(name, 0)}))


def test_workers_count_cpu_seconds_and_stop_at_a_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pool = Workers(2)
    failed = pool.run([spinning(tmp_path, "brief", 0.5), spinning(tmp_path, "bad", 0.1, status=1)])
    assert [command.arguments for command in failed] == [("bad",)]
    assert list(failed.values()) == ["it is broken"]
    assert 0.6 <= pool.spent < 3 and not pool.is_stopped
    forever = [spinning(tmp_path, f"long{number}", 1e6) for number in range(3)]
    before = pool.spent
    assert pool.run(forever, before + 1.0) == {}
    assert pool.is_stopped and 1.0 <= pool.spent - before < 4
    assert not (tmp_path / "logs" / "long2.log").exists()


def test_short_runs_on_a_problem_share_a_process_and_long_ones_do_not(world):
    made, root = world
    board = Board([made.paper], root)
    board.survey()
    needs = frozenset((f"toy/p/{name}", seed) for name in "ABC" for seed in (0, 1, 2, 4))
    board.seconds = {"toy/p/A": 1.0, "toy/p/B": 1.0, "toy/p/C": 100.0}
    found = {command.arguments[2:5] for command in workers.batches(board, needs, 2)}
    assert found == {
        ("p", "A,B", "0-2"),
        ("p", "A,B", "4"),
        ("p", "C", "0-1"),
        ("p", "C", "2"),
        ("p", "C", "4"),
    }
    assert frozenset().union(*(one.seeds for one in workers.batches(board, needs, 2))) == needs


def test_data_and_designs_come_first_and_a_run_without_data_is_not_started(world, monkeypatch):
    made, root = world
    monkeypatch.chdir(root)
    board, stages = Board([made.paper], root), []
    board.survey()
    pool, answers = Workers(1), {}

    def run(commands, limit):
        stages.append([command.arguments[:5] for command in commands])
        return {one: answers[one.arguments[0]] for one in commands if one.arguments[0] in answers}

    monkeypatch.setattr(pool, "run", run)
    needs = frozenset(("toy/p/A", seed) for seed in (0, 1, 2))
    assert pool.make(board, needs, 60.0) == {}
    start = ("workflow.run", "toy", "p")
    assert stages == [[], [(*start, "initial", "0-2")], [(*start, "A", "0-2")]]
    shutil.rmtree(root / "data")
    stages.clear()
    answers["workflow.fetch"] = "no copy of abalone"
    assert pool.make(board, needs, 60.0) == dict.fromkeys(needs, "no copy of abalone")
    assert stages == [[("workflow.fetch", "abalone")], [], []]


MINI = (
    checkout.MINI.replace("seeds: 2\n", "seeds: 5\n", 1)
    .replace("paper: {}", "paper: {budget: 40}")
    .replace("says: BKB beats", "data: any, says: BKB beats")
)


@pytest.fixture
def mini(tmp_path):
    copy = checkout.make(tmp_path)
    (copy / "papers" / "mini.yaml").write_text(MINI)
    return copy


def deciding(copy, hours):
    return subprocess.Popen(
        [sys.executable, "-m", "workflow.decide", "mini", "--hours", hours, "--cores", "1"],
        cwd=copy,
        env={**checkout.offline(copy), "NOREGRET_SUBSTITUTES": "preferred", "NOREGRET_PROBE": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_campaign_that_is_killed_goes_on_where_it_was(mini):
    """On real runs: nothing that was finished is made again, and the report is drawn."""
    records = mini / "results" / "paper" / "mini" / "abalone"
    killed = deciding(mini, "1")
    deadline = time.monotonic() + 300
    while not list(records.glob("[BGu]*/*.parquet")):
        assert killed.poll() is None and time.monotonic() < deadline, killed.communicate()[0]
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    before = {path: path.stat().st_mtime_ns for path in records.glob("[BGu]*/*.parquet")}
    again = deciding(mini, "1")
    said, _ = again.communicate()
    assert again.returncode == 0, said
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert "nothing is left that runs of the plan may decide" in said
    assert not (records / "GP-UCB").exists()  # no claim reads it
    drawn = mini / "figures" / "paper" / "mini"
    (judged,) = json.loads((drawn / "verdicts.json").read_text())["claims"]
    assert judged["seeds"] == 5 and f"claims: 1 {judged['verdict']};" in said
    names = {path.name for path in drawn.iterdir()}
    assert names >= {"regret.png", "runs.json", "sensitivity.md", "certificate.md"}
    assert (drawn / "specifications").is_dir()
