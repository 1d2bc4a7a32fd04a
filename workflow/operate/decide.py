"""Run where it decides: `python -m workflow.decide [PAPERS] --hours H [--cores N]`, called by
`make decide`.

Takes the runs with the most decided claims per core-hour, to be expected, makes them, judges again,
and so on until H core-hours are spent or no claim is left that runs of the plan may decide; then
judges and draws what is there, at scale paper. What is finished counts the next time. `--plan`,
called by `python -m workflow.plan --undecided`, only says which claims are open, which runs would
decide them, what these cost, and how likely they are to.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from workflow.operate.undecided import (
    Board,
    Question,
    Seeds,
    Survey,
    ordered,
    to_begin_with,
)
from workflow.operate.workers import Command, Workers
from workflow.plan.cells import PUBLISHED, Paper, Seed
from workflow.plan.exhibits import lines_of
from workflow.plan.expand import chosen_papers, load
from workflow.plan.resolve import PlanError, seed_range
from workflow.plan.wishes import check_folders

SCALE = "paper"  # at which claims are decided
ROUND = 60.0  # CPU seconds on each core, about, between two looks at the claims
HOUR = 3600.0
SHOWN = 3  # names in a line
PROGRAMS = {  # that draw, by their modules
    "draw.plots": "plots",
    "draw.ranks": "ranks",
    "draw.profiles": "profiles",
    "draw.picture": "picture",
    "draw.tabulate": "tables",
}
Tell = Callable[[str], None]


class Maker(Protocol):
    """Who makes records: real ones, or those of a replay."""

    cores: int
    is_stopped: bool

    @property
    def spent(self) -> float:
        """CPU seconds so far."""

    def make(self, board: Board, needs: Seeds, most: float) -> dict[Seed, str]:
        """Make some seeds in at most so many CPU seconds; why some were not made."""


def decide(board: Board, maker: Maker, seconds: float, tell: Tell) -> Survey:
    """Make runs until so many CPU seconds are spent or nothing is open; the claims as they are
    then.
    """
    survey, number = board.survey(), 0
    while survey.questions:
        left = seconds - maker.spent
        needs, served = to_begin_with(
            survey.questions.values(), board.cost, left, ROUND * maker.cores
        )
        if not needs:
            break
        number += 1
        tell(_round(number, maker.spent, seconds, survey, needs, served))
        board.barred |= maker.make(board, needs, left)
        if maker.is_stopped:
            survey = board.survey(survey, {name for name, _ in needs})
            break
        for seed in board.still_missing(needs):
            board.barred.setdefault(seed, f"{seed[0]} seed {seed[1]}: its job left no record")
        survey = board.survey(survey, {name for name, _ in needs})
    return survey


def _round(
    number: int,
    spent: float,
    seconds: float,
    survey: Survey,
    needs: Seeds,
    served: Sequence[Question],
) -> str:
    """What is known when a round begins, and what it runs."""
    names = [f"{question.name} ({_percent(question.chance)})" for question in served]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    parts = listed(needs)
    beyond = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return (
        f"round {number}: {spent / HOUR:.3g} of {seconds / HOUR:g} core-hours"
        f" ({spent / seconds:.0%}), {len(survey.decided)} claims decided,"
        f" {len(survey.open)} open; runs {', '.join(parts[:SHOWN])}{beyond}"
        f" for {', '.join(names[:SHOWN])}{more}"
    )


def listed(needs: Iterable[Seed]) -> list[str]:
    """Runs in words, those with the same seeds on a problem together: `bkb/abalone/BKB, GP-UCB
    seeds 0-4`.
    """
    seeds: dict[str, list[int]] = {}
    for name, seed in sorted(needs):
        seeds.setdefault(name, []).append(seed)
    alike: dict[tuple[str, str], list[str]] = {}
    for name, numbers in seeds.items():
        place, _, curve = name.rpartition("/")
        is_range = numbers[-1] - numbers[0] == len(numbers) - 1
        said = seed_range(numbers) if is_range else ",".join(map(str, numbers))
        alike.setdefault((place, said), []).append(curve)
    return [
        f"{place}/{curves[0] if len(curves) == 1 else '{' + ', '.join(curves) + '}'}"
        f" seed{'s' * (not said.isdigit())} {said}"
        for (place, said), curves in alike.items()
    ]


def _percent(chance: float) -> str:
    return "-" if chance == 0 else "<1%" if chance < 0.005 else f"{chance:.0%}"


def plan(board: Board, survey: Survey) -> list[str]:
    """Lines of text: open claims in the order of what they are worth, and what no run decides."""
    rows = [
        ["claim", "now", "look", "core-hours", "four of five within", "more", "chance", "per h"]
    ]
    below: list[list[str]] = [[]]
    for question, more in ordered(survey.questions, board.cost):
        low, high = board.interval(question.needs)
        looks = sorted({part.look for part in question.parts})
        rows.append(
            [
                question.name,
                question.now,
                "+".join(map(str, looks)),
                f"{board.cost(question.needs) / HOUR:.3f}",
                f"{low / HOUR:.3f} - {high / HOUR:.3f}",
                f"{more / HOUR:.3f}",
                f"{_percent(question.chance)}{'' if question.is_seen else '*'}",
                f"{question.chance * HOUR / max(more, 1e-9):.3g}" if more > 0 else "free",
            ]
        )
        below.append(listed(question.needs))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, parts in zip(rows, below, strict=True):
        texts = [row[0].ljust(wide[0]), row[1].ljust(wide[1])]
        texts += map(str.rjust, row[2:], wide[2:])
        lines += ["  ".join(texts), *(f"    {part}" for part in parts)]
    return [*lines, "", *_notes(board, survey)]


def _notes(board: Board, survey: Survey) -> list[str]:
    """What stands below the table of open claims."""
    everything = frozenset[Seed]().union(*(question.needs for question in survey.open))
    expected = sum(question.chance for question in survey.open)
    lines = [
        f"{len(survey.open)} claims are open; their next looks take"
        f" {board.cost(everything) / HOUR:.2f} core-hours and decide {expected:.1f} of them, to be"
        f" expected; {len(survey.decided)} are decided.",
        "more: core-hours beyond those of the runs of the claims above it; per h: chance over"
        " these.",
        "chance: that the claim is reproduced or contradicted at that look; *: no seeds yet, a"
        " prior (docs/how-it-works.md).",
    ]
    if len(survey.questions) > len(survey.open):
        lines.append(
            "-: reproduced, but it says something of every run: a later seed may refute it."
        )
    if survey.apart:
        lines += ["", "no run of the plan decides:"]
    return lines + [f"  {name}: {why}" for name, why in sorted(survey.apart.items())]


def draw(papers: Sequence[Paper], cores: int) -> tuple[list[str], int]:
    """Judge and draw what is there of papers that have records. Returns the folders of the reports,
    and how many figures and tables were not drawn, most of them since they have no runs yet.

    Raises PlanError where a ledger cannot be written.
    """
    shared = ("--scale", SCALE, "--partial")
    shown, ledgers, readings, curves, folders = [], [], [], [], []
    for paper in papers:
        places = (Path("results", SCALE, paper.name), PUBLISHED / SCALE / paper.name)
        if not any(path for place in places for path in place.rglob("*.parquet")):
            continue
        folders.append(f"figures/{SCALE}/{paper.name}/")
        for kind, line in lines_of(paper.entry):
            program = PROGRAMS[kind.program]
            shown.append(_drawing(program, paper.name, line["id"], *shared))
        ledgers += [_drawing(name, paper.name, *shared) for name in ("claims", "inventory")]
        readings += [_drawing(name, paper.name, *shared) for name in ("sensitivity", "certificate")]
        curves.append(_drawing("specification", paper.name, *shared[:2]))
    workers = Workers(cores)
    failed = workers.run(shown)
    for stage in (ledgers, readings, curves):
        if broken := workers.run(stage):
            raise PlanError("; ".join(f"{words} ({one.log})" for one, words in broken.items()))
    return folders, len(failed)


def _drawing(program: str, *arguments: str) -> Command:
    log = Path(
        "logs", "decide", f"{program}-{'-'.join(arguments[: arguments.index('--scale')])}.log"
    )
    return Command((f"workflow.{program}", *arguments), log)


def _outcome(before: Mapping[str, str], survey: Survey, maker: Maker, seconds: float) -> list[str]:
    """Lines that say what was decided, and why it has ended."""
    lines = [
        f"decided: {name}: {one.verdict}"
        for name, one in survey.verdicts.items()
        if name in survey.decided and before.get(name) != one.verdict
    ]
    counts = Counter(one.verdict for one in survey.verdicts.values())
    said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    ends = f"{maker.spent / HOUR:.3g} core-hours spent; claims: {said}"
    if not survey.questions:
        return [*lines, f"{ends}; nothing is left that runs of the plan may decide"]
    rest = (
        "the hours are spent"
        if maker.is_stopped or maker.spent >= seconds
        else ("no look that is left fits into the hours")
    )
    return [*lines, f"{ends}; {len(survey.open)} are open: {rest}; the same command goes on"]


def _positive(text: str) -> float:
    """Core-hours as they are typed. Raises ValueError."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.decide",
        description="Make the runs that decide the most claims per core-hour, then judge and draw.",
    )
    parser.add_argument("papers", nargs="?", default="", help="with commas; default: all")
    parser.add_argument("--hours", help="core-hours that this call may spend, such as 2 or 0.5")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--plan", action="store_true", help="only say what is open and what would decide it"
    )
    options = parser.parse_args(arguments)
    if options.cores < 1:
        parser.error(f"--cores: expected a positive number, got {options.cores}")
    hours = 0.0
    if not options.plan:
        try:
            hours = _positive(options.hours or "")
        except ValueError:
            parser.error(
                f'--hours: expected a positive number of core-hours, got "{options.hours}"'
            )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        check_folders()
        papers = [load(name, SCALE) for name in chosen_papers(options.papers)]
        board = Board(papers)
        if options.plan:
            print("\n".join(plan(board, board.survey())))
            return 0
        return _decided(board, papers, hours * HOUR, options.cores)
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped: what is finished counts; the same command goes on", file=sys.stderr)
        return 130


def _decided(board: Board, papers: Sequence[Paper], seconds: float, cores: int) -> int:
    """Make runs, say what became of claims, and draw."""
    maker = Workers(cores)
    before = {name: one.verdict for name, one in board.survey().verdicts.items()}
    survey = decide(board, maker, seconds, lambda line: print(line, flush=True))
    print("\n".join(_outcome(before, survey, maker, seconds)), flush=True)
    for sentence in sorted(set(board.barred.values())):
        print(f"error: {sentence}", file=sys.stderr)
    folders, without = draw(papers, cores)
    lacking = f"; not drawn: {without} figures and tables (logs/decide says why)" if without else ""
    print(f"verdicts and figures: {', '.join(folders) or 'none, there are no records'}{lacking}")
    return int(bool(board.barred))
