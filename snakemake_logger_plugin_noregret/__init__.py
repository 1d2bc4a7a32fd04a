"""What `make figures` prints while it runs: a plugin of Snakemake, `--logger noregret`.

On a terminal there is one line, written anew with each event; elsewhere a plain line at each STEP.
Everything that Snakemake says is in its own log below .snakemake/log.

Snakemake imports this package whenever it is installed, in any folder. So it imports nothing of
this repository, whose modules the Snakefile takes from its own folder.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

STEP = 0.05  # share of the jobs between two plain lines of progress
WIDTH = 110  # letters of a line on a terminal
TARGETS = ("all", "drawn", "report", "total")  # rules that make nothing, and the sum of counts


def duration(seconds: float) -> str:
    """For people."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 90:
        return f"{minutes / 60:.1f} h"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def label(rule: str, outputs: Sequence[str]) -> str:
    """What a job makes: `bkb abalone BKB 3`, `figure bkb fig1`."""
    parts = Path(outputs[0]).parts if outputs else ()
    if len(parts) < 4 or parts[0] not in ("results", "figures"):
        return f"{rule} {Path(outputs[0]).stem}" if outputs else rule
    names = [*parts[2:-1], Path(parts[-1]).stem]
    if parts[0] == "results":
        return " ".join(names if len(outputs) == 1 else names[:-1])
    return " ".join([rule, *names])


class LogHandler(LogHandlerBase):
    """Snakemake's events as lines for people."""

    def __post_init__(self) -> None:
        """Snakemake's own initialisation ends here."""
        self.stream = sys.stdout if self.common_settings.stdout else sys.stderr
        self.planned = self.finished = 0
        self.running: dict[int, str] = {}  # what jobs make, with their logs
        self._began, self._next, self._shown = time.monotonic(), 0.0, ""

    # In the place of Snakemake's own lines, with lines of its own, of every event, also of those
    # that `quiet` of a profile hides.
    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one event."""
        said: dict[str, Any] = record.__dict__
        event = said.get("event")
        if event == LogEvent.RUN_INFO:
            counts = said["stats"].items()
            self.planned = sum(int(count) for rule, count in counts if rule not in TARGETS)
        elif event == LogEvent.JOB_INFO:
            if said["rule_name"] not in TARGETS:
                outputs = [str(path).split(" (")[0] for path in said["output"]]
                made = label(said["rule_name"], outputs)
                self.running[said["jobid"]] = f"{made} ({', '.join(map(str, said['log']))})"
        elif event == LogEvent.JOB_FINISHED:
            self.finished += self.running.pop(said["job_id"], None) is not None
        elif event == LogEvent.JOB_ERROR:
            if failed := self.running.pop(said["jobid"], None):
                self.say(f"failed: {failed}")
        elif record.levelno >= logging.WARNING and event != LogEvent.GROUP_ERROR:
            for line in record.getMessage().splitlines()[:8]:
                self.say(line)
        if self.planned:
            self.progress()

    def close(self) -> None:
        """The workflow is over."""
        if self.planned:
            self._show("")
            took = duration(time.monotonic() - self._began)
            self.say(f"{self.finished} of {self.planned} jobs done after {took}")
            self.planned = 0  # Snakemake may close a handler twice
        super().close()

    def say(self, sentence: str) -> None:
        """A line that stays."""
        shown = self._shown
        self._show("")
        self._write(f"{sentence}\n")
        self._show(shown)

    def progress(self) -> None:
        """How far the work is: the line of the terminal, or a plain one every STEP."""
        names = [made.partition(" (")[0] for made in self.running.values()]
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        now = f" · now {', '.join(names[:2])}{more}" if names else ""
        line = f"{self.finished} of {self.planned} jobs{now}"
        share = self.finished / self.planned
        if self.stream.isatty():
            self._show(line[:WIDTH])
        elif share >= self._next:
            self._next = (int(share / STEP) + 1) * STEP
            self.say(line)

    def _show(self, line: str) -> None:
        """Write the line of the terminal anew."""
        self._write(f"\r{' ' * len(self._shown)}\r{line}" if self._shown else line)
        self._shown = line

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads any more
            self.stream.write(text)
            self.stream.flush()
