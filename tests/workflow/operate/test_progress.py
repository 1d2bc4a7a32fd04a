"""What `make figures` prints while it runs."""

import io
import json
import logging
import types

from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_noregret as plugin

OPEN = ("direction only", "inconclusive", "not decided")  # these decide nothing


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_jobs_are_counted_and_have_names_for_people(tmp_path):
    verdicts = tmp_path / "verdicts.json"
    claims = [{"verdict": word} for word in ("reproduced", "contradicted", *OPEN)]
    verdicts.write_text(json.dumps({"claims": claims}))
    board = plugin.Board()
    board.plan({"run": 2, "figure": 1, "verdicts": 1, "all": 1, "total": 5})
    several = tuple(f"results/paper/bkb/abalone/BKB/{seed}.parquet" for seed in range(3))
    board.start(1, "run_seeds_0_2", several, "")
    board.start(2, "run", ("results/paper/bkb/studies/sketch/4.parquet",), "")
    board.start(3, "figure", ("figures/paper/bkb/fig1.pdf",), "a.log")
    assert str(board) == (
        "0 of 4 jobs · 0 claims decided · now bkb abalone BKB, bkb studies sketch 4 and 1 more"
    )
    board.start(4, "verdicts", (str(verdicts), str(tmp_path / "verdicts.parquet")), "")
    board.finish(4)
    board.finish(1)
    assert (board.finished, board.decided, board.share) == (2, 2, 0.5)
    assert board.fail(3) == ["failed: figure bkb fig1 (a.log)"]
    assert board.fail(3) == []


def test_a_terminal_has_one_line_and_everything_else_few():
    terminal, plain = plugin.Lines(Terminal()), plugin.Lines(io.StringIO())
    for lines in (terminal, plain):
        for number in range(1000):
            lines.progress(f"line {number}", number / 1000)
        lines.say("no space left")
        lines.end()
    assert terminal.stream.getvalue().count("\n") == 1
    assert terminal.stream.getvalue().endswith("\r")
    written = plain.stream.getvalue().splitlines()
    assert len(written) == 21 and written[-1] == "no space left"
    for _ in range(1000):
        plain.say("failed")
    plain.say("the end", last=True)
    written = plain.stream.getvalue().splitlines()
    assert len(written) == plugin.MOST + 1 and written[-1] == "the end"


def event(level=logging.INFO, message="", **said):
    record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    record.__dict__.update(said)
    return record


def test_errors_are_told_and_the_rest_is_left_to_the_log(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(plugin.sys, "stderr", stream)
    one = plugin.LogHandler(types.SimpleNamespace(stdout=False, dryrun=False), None)
    one.emit(event(message="Building DAG of jobs..."))
    one.emit(event(event=LogEvent.RUN_INFO, stats={"figure": 1, "total": 1}))
    job = {"rule_name": "figure", "output": ["figures/paper/bkb/f.png"], "log": ["f.log"]}
    one.emit(event(event=LogEvent.JOB_INFO, jobid=3, **job))
    one.emit(event(logging.ERROR, event=LogEvent.JOB_ERROR, jobid=3))
    one.emit(event(logging.ERROR, "no space left"))
    one.close()
    one.close()
    said = stream.getvalue()
    assert "Building" not in said
    assert "failed: figure bkb f (f.log)\n" in said and "no space left\n" in said
    assert said.splitlines()[-1].startswith("0 of 1 jobs done after 0 s")
