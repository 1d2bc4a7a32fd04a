"""What `make figures` prints while it runs."""

import io
import logging
import types

from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_noregret as plugin


class Terminal(io.StringIO):
    def isatty(self):
        return True


def event(level=logging.INFO, message="", **said):
    record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    record.__dict__.update(said)
    return record


def handler(monkeypatch, stream):
    monkeypatch.setattr(plugin.sys, "stderr", stream)
    return plugin.LogHandler(types.SimpleNamespace(stdout=False, dryrun=False), None)


def begun(number, rule, outputs, log=""):
    said = {"jobid": number, "rule_name": rule, "output": outputs, "log": [log] * bool(log)}
    return event(event=LogEvent.JOB_INFO, **said)


def test_jobs_are_counted_and_have_names_for_people(monkeypatch):
    one = handler(monkeypatch, Terminal())
    one.emit(event(message="Building DAG of jobs..."))  # which is for the log
    stats = {"run": 2, "figure": 1, "verdicts": 1, **dict.fromkeys(plugin.TARGETS, 1)}
    one.emit(event(event=LogEvent.RUN_INFO, stats=stats))
    several = [f"results/paper/bkb/abalone/BKB/{seed}.parquet" for seed in range(3)]
    one.emit(begun(1, "run_seeds_0_2", several))
    one.emit(begun(2, "run", ["results/paper/bkb/studies/sketch/4.parquet"]))
    one.emit(begun(3, "figure", ["figures/paper/bkb/fig1.pdf"], "a.log"))
    one.emit(begun(5, "all", []))
    now = "bkb abalone BKB, bkb studies sketch 4 and 1 more"
    assert one.stream.getvalue().endswith(f"\r0 of 4 jobs · now {now}")
    one.emit(event(event=LogEvent.JOB_FINISHED, job_id=1))
    for _ in range(2):
        one.emit(event(logging.ERROR, event=LogEvent.JOB_ERROR, jobid=3))
    one.emit(event(logging.ERROR, "no space left"))
    said = one.stream.getvalue()
    assert said.count("failed: figure bkb fig1 (a.log)\n") == said.count("no space left\n") == 1
    assert said.endswith("\r1 of 4 jobs · now bkb studies sketch 4") and "Building" not in said


def test_a_terminal_has_one_line_and_everything_else_few(monkeypatch):
    for stream, lines in ((Terminal(), 1), (io.StringIO(), 21)):
        one = handler(monkeypatch, stream)
        one.emit(event(event=LogEvent.RUN_INFO, stats={"run": 1000}))
        for number in range(999):
            one.emit(begun(number, "run", [f"results/paper/bkb/abalone/BKB/{number}.parquet"]))
            one.emit(event(event=LogEvent.JOB_FINISHED, job_id=number))
        one.emit(event(logging.ERROR, "no space left"))
        assert stream.getvalue().count("\n") == lines
        one.close()
        one.close()
        written = stream.getvalue().splitlines()
        assert written[-1].startswith("999 of 1000 jobs done after 0 s")
