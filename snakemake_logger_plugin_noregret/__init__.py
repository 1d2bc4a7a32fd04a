"""What `make figures` prints while it runs: a plugin of Snakemake, `--logger noregret`.

On a terminal there is one line, written anew once a second at most; elsewhere plain lines, MOST of
them at most. Everything that Snakemake says is in its own log below .snakemake/log.

Snakemake imports this package whenever it is installed, in any folder. So it imports nothing of
this repository, whose modules the Snakefile takes from its own folder; the Snakefile says what to
expect (`expect`).
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
STEP = 0.05  # share of the work between two plain lines of progress
REFRESH = 1.0  # seconds between two lines on a terminal
WIDTH = 110  # letters of a line on a terminal
TRUSTED = 0.1  # share of the work after which its speed so far tells how long the rest will take
SECONDS = {"verdicts": 5.0, "figure": 6.0, "fetch": 3.0, "fetch_or_substitute": 3.0}
OTHERS = 4.0  # core-seconds of a job of any other rule
DECIDED = ("reproduced", "contradicted")  # verdicts
TARGETS = ("all", "readings", "total")  # rules that make nothing, and the sum of all counts
EXPECTED: dict[str, float] = {}  # list of records that is still to be made: core-seconds


def expect(seconds: Mapping[str, float]) -> None:
    """Take down what jobs cost that make records, by the list that they leave."""
    EXPECTED.clear()
    EXPECTED.update(seconds)


@dataclass
class Running:
    """A job under way: what it is called, what it costs in core-seconds, and since when."""

    label: str
    cost: float
    since: float
    rule: str
    outputs: tuple[str, ...]
    log: str


@dataclass
class Board:
    """What is known of the work, from Snakemake's events. Times are seconds of one clock."""

    began: float
    cores: int = 1
    total: float = 0.0  # core-seconds
    done: float = 0.0
    decided: int = 0
    planned: int = 0  # jobs
    finished: int = 0
    running: dict[int, Running] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)

    def plan(self, counts: Mapping[str, int]) -> None:
        """The jobs of each rule that will run."""
        others = {rule: count for rule, count in counts.items() if rule not in TARGETS}
        records = sum(others.pop(rule, 0) for rule in ("run", "study"))
        self.planned = sum(others.values()) + records
        known = sum(EXPECTED.values()) if records else 0.0
        rest = sum(count * SECONDS.get(rule, OTHERS) for rule, count in others.items())
        self.total = known + rest

    def start(self, number: int, rule: str, outputs: tuple[str, ...], log: str, now: float) -> None:
        """A job begins."""
        if rule in TARGETS:
            return
        cost = next((EXPECTED[path] for path in outputs if path in EXPECTED), None)
        cost = SECONDS.get(rule, OTHERS) if cost is None else cost
        self.running[number] = Running(_label(rule, outputs), cost, now, rule, outputs, log)

    def finish(self, number: int, now: float) -> list[str]:
        """A job has ended well; what is to be told of it."""
        job = self.running.pop(number, None)
        if job is None:
            return []
        self.done += job.cost
        self.finished += 1
        after = duration(now - self.began)
        sentences = []
        if job.rule in ("figure", "ranks", "picture", "moving_picture"):
            drawn = next((path for path in job.outputs if path.endswith(".png")), job.label)
            sentences += self._once("picture", f"first picture after {after}: {drawn}")
        if job.rule == "verdicts":
            count = sum(
                _decided(Path(path)) for path in job.outputs if path.endswith("verdicts.json")
            )
            self.decided += count
            if count:
                place = Path(job.outputs[0]).with_name("verdicts.md")
                said = f"first decided claims after {after}: {count}, {place}"
                sentences += self._once("claims", said)
        return sentences

    def fail(self, number: int) -> list[str]:
        """A job has failed."""
        job = self.running.pop(number, None)
        return [f"failed: {job.label} ({job.log})"] if job else []

    def share(self, now: float) -> float:
        """How much of the work is done, jobs under way as far as their time tells."""
        under_way = sum(min(0.9 * job.cost, now - job.since) for job in self.running.values())
        return min(1.0, (self.done + under_way) / self.total) if self.total else 0.0

    def left(self, now: float) -> float:
        """Seconds to go, by the speed so far once there is some."""
        share = self.share(now)
        rest = self.total * (1 - share)
        if share < TRUSTED:
            return rest / self.cores
        return (now - self.began) * (1 - share) / share

    def line(self, now: float) -> str:
        """All of it in one line."""
        names = [job.label for job in self.running.values()]
        shown = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
        parts = [
            f"{100 * self.share(now):3.0f} % of {self.total:.0f} core-seconds",
            f"about {duration(self.left(now))} left",
            f"{self.decided} claims decided",
            *([f"now {shown}"] if shown else []),
        ]
        return " · ".join(parts)

    def _once(self, what: str, sentence: str) -> list[str]:
        if what in self.told:
            return []
        self.told.add(what)
        return [sentence]


def duration(seconds: float) -> str:
    """For people."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 90:
        return f"{minutes / 60:.1f} h"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _label(rule: str, outputs: tuple[str, ...]) -> str:
    """What a job makes: `bkb sketch-abalone 0-4`, `figure bkb fig1`."""
    parts = Path(outputs[0]).parts if outputs else ()
    if len(parts) < 4 or parts[0] not in ("results", "figures"):
        return f"{rule} {Path(outputs[0]).stem}" if outputs else rule
    names = [part for part in parts[2:-1] if part != "studies"]
    if parts[0] == "results":
        return " ".join([*names, Path(parts[-1]).stem.removeprefix("seeds-")])
    return " ".join([rule, *names, *([] if rule == "verdicts" else [Path(parts[-1]).stem])])


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
        self.board = Board(time.monotonic())
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
            for sentence in self._take(record, time.monotonic()):
                self.lines.say(sentence)
            if not self.lines.is_terminal and self.board.total:
                now = time.monotonic()
                self.lines.progress(self.board.line(now), self.board.share(now))

    def close(self) -> None:
        """The workflow is over."""
        self._ended.set()
        with self._guard:
            self.lines.end()
            board = self.board
            if board.planned:
                self.lines.say(
                    f"{board.finished} of {board.planned} jobs done after"
                    f" {duration(time.monotonic() - board.began)}, {board.decided} claims decided",
                    last=True,
                )
                board.planned = 0  # Snakemake may close a handler twice
        super().close()

    def _take(self, record: logging.LogRecord, now: float) -> list[str]:
        said: dict[str, Any] = record.__dict__
        event, board = said.get("event"), self.board
        if event == LogEvent.RESOURCES_INFO and said.get("cores"):
            board.cores = int(said["cores"])
        elif event == LogEvent.RUN_INFO:
            board.plan({str(rule): int(count) for rule, count in said["stats"].items()})
        elif event == LogEvent.JOB_INFO:
            outputs = tuple(str(path).split(" (")[0] for path in said["output"])
            log = ", ".join(map(str, said["log"]))
            board.start(said["jobid"], said["rule_name"], outputs, log, now)
        elif event == LogEvent.JOB_FINISHED:
            return board.finish(said["job_id"], now)
        elif event == LogEvent.JOB_ERROR:
            return board.fail(said["jobid"])
        elif record.levelno >= logging.WARNING and event != LogEvent.GROUP_ERROR:
            return record.getMessage().splitlines()[:8]
        return []

    def _tick(self) -> None:
        while not self._ended.wait(REFRESH):
            with self._guard:
                if self.board.total:
                    now = time.monotonic()
                    self.lines.progress(self.board.line(now), self.board.share(now))
