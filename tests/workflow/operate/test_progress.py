"""What `make figures` prints while it runs, and in which order it runs."""

import io
import json
import logging
import re
import shutil
import types

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_noregret as plugin
from tests.workflow import checkout
from workflow.operate import progress
from workflow.plan.expand import load
from workflow.plan.resolve import papers

ROOT = checkout.ROOT


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def nothing_expected():
    plugin.expect({})
    yield
    plugin.expect({})


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    made = checkout.make(tmp_path_factory.mktemp("progress"))
    shutil.copytree(ROOT / plugin.__name__, made / plugin.__name__)
    return made


OPEN = ("direction only", "inconclusive", "not decided")  # these decide nothing
MARKER = "results/quick/bkb/studies/sketch/seeds-0-4.json"


def test_the_work_is_what_jobs_cost_and_its_time_follows_their_speed():
    plugin.expect({MARKER: 80.0, "results/quick/bkb/abalone/BKB/seeds-0-4.json": 14.0})
    board = plugin.Board(began=0.0, cores=2)
    board.plan({"study": 1, "run": 1, "figure": 1, "all": 1, "total": 4})
    assert (board.total, board.planned) == (100.0, 3)
    assert board.left(0.0) == 50.0  # on two cores
    board.start(7, "study", (MARKER,), "a.log", 0.0)
    assert board.share(10.0) == pytest.approx(0.1)
    assert board.share(500.0) == pytest.approx(0.72)  # nine tenths of it, however long it takes
    assert board.finish(7, 160.0) == []
    assert board.share(160.0) == 0.8 and board.left(160.0) == pytest.approx(40.0)
    assert board.line(160.0) == " 80 % of 100 core-seconds · about 40 s left · 0 claims decided"


def test_the_first_picture_and_the_first_decided_claims_are_told_once(tmp_path):
    verdicts = tmp_path / "verdicts.json"
    claims = [{"verdict": word} for word in ("reproduced", "contradicted", *OPEN)]
    verdicts.write_text(json.dumps({"claims": claims}))
    values = tmp_path / "seed-values.json"  # claims, but no verdicts
    values.write_text(json.dumps({"claims": [{"verdict": "reproduced"}]}))
    board = plugin.Board(began=0.0)
    told = []
    for number in range(2):
        board.start(number, "figure", (f"figures/quick/bkb/f{number}.png",), "", 0.0)
        board.start(9, "verdicts", (str(verdicts), str(values)), "", 0.0)
        told += [*board.finish(number, 65.0), *board.finish(9, 70.0)]
    assert told == [
        "first picture after 1 min 05 s: figures/quick/bkb/f0.png",
        f"first decided claims after 1 min 10 s: 2, {tmp_path / 'verdicts.md'}",
    ]
    assert board.decided == 4


def test_a_job_has_a_name_for_people():
    board = plugin.Board(began=0.0)
    board.start(1, "study", (MARKER,), "", 0.0)
    board.start(2, "figure", ("figures/quick/bkb/fig1.pdf",), "", 0.0)
    board.start(3, "verdicts", ("figures/quick/bkb/verdicts.json",), "logs/v.log", 0.0)
    assert board.line(0.0).endswith("now bkb sketch 0-4, figure bkb fig1 and 1 more")
    assert board.fail(3) == ["failed: verdicts bkb (logs/v.log)"]


def test_a_terminal_has_one_line_and_everything_else_few():
    terminal, plain = plugin.Lines(Terminal()), plugin.Lines(io.StringIO())
    for lines in (terminal, plain):
        for number in range(1000):
            lines.progress(f"line {number}", number / 1000)
        lines.say("first picture")
        lines.end()
    assert terminal.stream.getvalue().count("\n") == 1
    assert terminal.stream.getvalue().endswith("\r")
    written = plain.stream.getvalue().splitlines()
    assert len(written) == 21 and written[-1] == "first picture"
    for _ in range(1000):
        plain.say("failed")
    plain.say("the end", last=True)
    written = plain.stream.getvalue().splitlines()
    assert len(written) == plugin.MOST + 1 and written[-1] == "the end"


def handler(monkeypatch, stream):
    monkeypatch.setattr(plugin.sys, "stderr", stream)
    return plugin.LogHandler(types.SimpleNamespace(stdout=False, dryrun=False), None)


def event(level=logging.INFO, message="", **said):
    record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    record.__dict__.update(said)
    return record


def test_errors_are_told_and_the_rest_is_left_to_the_log(monkeypatch):
    stream = io.StringIO()
    one = handler(monkeypatch, stream)
    one.emit(event(message="Building DAG of jobs..."))
    one.emit(event(event=LogEvent.RUN_INFO, stats={"figure": 1, "total": 1}))
    job = {"rule_name": "figure", "output": ["figures/quick/bkb/f.png"], "log": ["f.log"]}
    one.emit(event(event=LogEvent.JOB_INFO, jobid=3, **job))
    one.emit(event(logging.ERROR, event=LogEvent.JOB_ERROR, jobid=3))
    one.emit(event(logging.ERROR, "no space left"))
    one.close()
    one.close()
    said = stream.getvalue()
    assert "Building" not in said
    assert "failed: figure bkb f (f.log)\n" in said and "no space left\n" in said
    assert said.splitlines()[-1].startswith("0 of 1 jobs done after 0 s")


def test_a_workflow_without_a_terminal_prints_few_lines(copy):
    done = checkout.snakemake(copy, "--logger", "noregret", "--quiet", "host")
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    assert len(lines) <= 60, done.stderr
    assert re.search(r"first picture after \d+ s: figures/smoke/mini/regret.png", done.stderr)
    assert re.search(r"\d+ % of \d+ core-seconds · about .* left · 0 claims decided", done.stderr)
    assert re.search(r"^(\d+) of \1 jobs done after ", done.stderr, re.MULTILINE)
    log = "\n".join(path.read_text() for path in (copy / ".snakemake" / "log").iterdir())
    assert "rule verdicts:" in log and "results/smoke/mini/abalone/" in log


def test_costs_are_those_of_the_plan_as_far_as_lists_are_not_there(tmp_path):
    plan = load("bkb", "quick")
    first, *others = plan.jobs
    (tmp_path / first).parent.mkdir(parents=True)
    (tmp_path / first).touch()
    found = progress.expected([plan], tmp_path)
    assert list(found) == others
    nothing = tmp_path / "nothing"  # a checkout in which nothing was run
    assert sum(progress.expected([plan], nothing).values()) == pytest.approx(
        sum(part.seconds for part in plan.parts)
    )


def test_the_cheapest_paper_begins():
    plans = [load(name, "quick") for name in papers(ROOT)]
    found = progress.priorities(plans)
    costs = {plan.name: sum(part.seconds for part in plan.parts) for plan in plans}
    assert sorted(found, key=found.get, reverse=True) == sorted(costs, key=costs.get)
