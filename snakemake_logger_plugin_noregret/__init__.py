"""What `make figures` prints while it runs: a plugin of Snakemake, `--logger noregret`.

On a terminal there is one line, written anew once a second at most; elsewhere plain lines, MOST of
them at most. Everything that Snakemake says is in its own log below .snakemake/log.

Snakemake imports this package whenever it is installed, in any folder. So it imports nothing of
this repository, whose modules the Snakefile takes from its own folder.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

MOST = 45  # plain lines; the Snakefile adds some at the end
STEP = 0.05  # share of the jobs between two plain lines of progress
REFRESH = 1.0  # seconds between two lines on a terminal
WIDTH = 110  # letters of a line on a terminal
DECIDED = ("reproduced", "contradicted")  # verdicts
TARGETS = ("all", "readings", "report", "total")  # rules that make nothing, and the sum of counts


@dataclass
class Board:
    """What is known of the work, from Snakemake's events."""

    planned: int = 0  # jobs
    finished: int = 0
    decided: int = 0  # claims
    running: dict[int, tuple[str, tuple[str, ...], str]] = field(default_factory=dict)

    def plan(self, counts: Mapping[str, int]) -> None:
        """The jobs of each rule that will run."""
        self.planned = sum(count for rule, count in counts.items() if rule not in TARGETS)

    def start(self, number: int, rule: str, outputs: tuple[str, ...], log: str) -> None:
        """A job begins."""
        if rule not in TARGETS:
            self.running[number] = (_label(rule, outputs), outputs, log)

    def finish(self, number: int) -> None:
        """A job has ended well."""
        if number in self.running:
            _, outputs, _ = self.running.pop(number)
            self.finished += 1
            folders = {path.parent for path in map(Path, outputs) if path.stem == "verdicts"}
            self.decided += sum(_decided(folder / "verdicts.json") for folder in folders)

    def fail(self, number: int) -> list[str]:
        """A job has failed; what is to be told of it."""
        label, _, log = self.running.pop(number, ("", (), ""))
        return [f"failed: {label} ({log})"] if label else []

    @property
    def share(self) -> float:
        """How many of the jobs are done."""
        return self.finished / self.planned if self.planned else 0.0

    def __str__(self) -> str:
        names = [label for label, _, _ in self.running.values()]
        shown = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
        parts = [
            f"{self.finished} of {self.planned} jobs",
            f"{self.decided} claims decided",
            *([f"now {shown}"] if shown else []),
        ]
        return " · ".join(parts)


def duration(seconds: float) -> str:
    """For people."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 90:
        return f"{minutes / 60:.1f} h"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _label(rule: str, outputs: tuple[str, ...]) -> str:
    """What a job makes: `bkb abalone BKB 3`, `figure bkb fig1`."""
    parts = Path(outputs[0]).parts if outputs else ()
    if len(parts) < 4 or parts[0] not in ("results", "figures"):
        return f"{rule} {Path(outputs[0]).stem}" if outputs else rule
    names = [*parts[2:-1], Path(parts[-1]).stem]
    if parts[0] == "results":
        return " ".join(names if len(outputs) == 1 else names[:-1])
    return " ".join([rule, *names])


def _decided(path: Path) -> int:
    """How many claims a verdicts.json decides; none where it cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        claims = json.loads(path.read_text(encoding="utf-8"))["claims"]
        return sum(claim["verdict"] in DECIDED for claim in claims)
    return 0


class Lines:
    """Where lines go: a terminal has one that changes, everything else gets MOST plain ones."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.is_terminal = stream.isatty()
        self.written = 0
        self._shown = ""
        self._step = 0.0

    def say(self, sentence: str, *, last: bool = False) -> None:
        """A line that stays."""
        if not self.is_terminal and self.written >= MOST and not last:
            return
        self.written += 1
        self._write(f"{self._clear()}{sentence}\n{self._shown}")

    def progress(self, line: str, share: float) -> None:
        """How far the work is: the line of the terminal, or a plain one every STEP."""
        if self.is_terminal:
            clear, self._shown = self._clear(), line[:WIDTH]
            self._write(clear + self._shown)
        elif share >= self._step:
            self._step = (int(share / STEP) + 1) * STEP
            self.say(line)

    def end(self) -> None:
        """Leave the terminal's line behind."""
        clear, self._shown = self._clear(), ""
        self._write(clear)

    def _clear(self) -> str:
        return f"\r{' ' * len(self._shown)}\r" if self._shown else ""

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads any more
            self.stream.write(text)
            self.stream.flush()


class LogHandler(LogHandlerBase):
    """Snakemake's events as lines for people."""

    def __post_init__(self) -> None:
        """Snakemake's own initialisation ends here."""
        self.board, self._began = Board(), time.monotonic()
        self.lines = Lines(sys.stdout if self.common_settings.stdout else sys.stderr)
        self._guard = threading.Lock()
        self._ended = threading.Event()
        if self.lines.is_terminal:
            threading.Thread(target=self._tick, daemon=True).start()

    @property
    def writes_to_stream(self) -> bool:
        """In the place of Snakemake's own lines."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Snakemake's log has all."""
        return False

    @property
    def has_filter(self) -> bool:
        """It sees every event, also those that `quiet` of a profile hides."""
        return True

    @property
    def has_formatter(self) -> bool:
        """It makes its own lines."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """It draws none."""
        return False

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one event."""
        with self._guard:
            for sentence in self._take(record):
                self.lines.say(sentence)
            if not self.lines.is_terminal and self.board.planned:
                self.lines.progress(str(self.board), self.board.share)

    def close(self) -> None:
        """The workflow is over."""
        self._ended.set()
        with self._guard:
            self.lines.end()
            board = self.board
            if board.planned:
                self.lines.say(
                    f"{board.finished} of {board.planned} jobs done after"
                    f" {duration(time.monotonic() - self._began)}, {board.decided} claims decided",
                    last=True,
                )
                board.planned = 0  # Snakemake may close a handler twice
        super().close()

    def _take(self, record: logging.LogRecord) -> list[str]:
        said: dict[str, Any] = record.__dict__
        event, board = said.get("event"), self.board
        if event == LogEvent.RUN_INFO:
            board.plan({str(rule): int(count) for rule, count in said["stats"].items()})
        elif event == LogEvent.JOB_INFO:
            outputs = tuple(str(path).split(" (")[0] for path in said["output"])
            log = ", ".join(map(str, said["log"]))
            board.start(said["jobid"], said["rule_name"], outputs, log)
        elif event == LogEvent.JOB_FINISHED:
            board.finish(said["job_id"])
        elif event == LogEvent.JOB_ERROR:
            return board.fail(said["jobid"])
        elif record.levelno >= logging.WARNING and event != LogEvent.GROUP_ERROR:
            return record.getMessage().splitlines()[:8]
        return []

    def _tick(self) -> None:
        while not self._ended.wait(REFRESH):
            with self._guard:
                if self.board.planned:
                    self.lines.progress(str(self.board), self.board.share)
