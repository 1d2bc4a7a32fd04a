"""What the page of a claim shows beside its verdict: its check in words, the commands that run it
again with their cost and their published records, the numbers of its seeds, small pictures of its
comparisons, and the numbers that the paper prints for its runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from workflow.judge import ledger, render
from workflow.judge.checks import AGAINST, FOR, OF_ROWS, Comparison
from workflow.judge.claims import AS_PRINTED
from workflow.judge.seed_table import SAMPLES
from workflow.measure.metrics import metric
from workflow.plan import costs
from workflow.plan.reads import stated
from workflow.plan.resolve import ROOT
from workflow.site.folder import Claim, Report
from workflow.site.methods import in_a_line
from workflow.trace.cells import PUBLISHED

Entry = Mapping[str, Any]
FOLDER = "claims"  # of a paper's pages; a claim's address is PAPER/claims/ID.html for good
SIZE, HALF, EDGE = 240, 11, 8  # of a small picture: width, half its height, margin; in pixels
BLUE, VERMILLION, GREY, LINE = "#0b4f7d", "#8f3200", "#57606a", "#767f89"
INKS = {FOR: BLUE, AGAINST: VERMILLION}


@dataclass(frozen=True)
class Command:
    """What makes some records of a claim again: the line, its estimated CPU seconds (0 where
    nothing is known), and the file of the published records below the root ("" where none is).
    """

    line: str
    seconds: float
    published: str

    @property
    def folder(self) -> str:
        """Where the published records of its paper lie."""
        return PurePosixPath(self.published).parent.parent.as_posix()

    @property
    def file(self) -> str:
        """Its published records below that folder."""
        return self.published.removeprefix(f"{self.folder}/")


@dataclass(frozen=True)
class Printed:
    """A number that the paper prints for a run of the claim, beside ours."""

    curve: str
    problem: str
    place: str  # the table, and after how many evaluations
    printed: str
    ours: str
    seeds: int

    @property
    def what(self) -> str:
        return f"{self.curve} on {self.problem} ({self.place})"


def check_of(claim: Claim, entry: Entry) -> list[tuple[str, str]]:
    """The check of a claim with its settings, as the paper's YAML has them; [] where the YAML does
    not know the claim any more.
    """
    line = line_of(claim, entry)
    check = line.get("check", {})
    found = [(key, in_a_line(value)) for key, value in check.items()]
    found += [
        (one["name"], in_a_line({key: value for key, value in one.items() if key != "name"}))
        for one in line.get("settings", [])
    ]
    if "metric" in check:
        found.append(("what is read", metric(check["metric"]).axis))
    return found


def line_of(claim: Claim, entry: Entry) -> Entry:
    """What the paper's YAML says of a claim; {} where the claim is gone from the YAML."""
    return next((line for line in stated(entry) if line["id"] == claim.id), {})


def commands(report: Report, claim: Claim, root: Path = ROOT) -> list[Command]:
    """The commands of a claim's verdict, each with what it is expected to take."""
    return [_command(report, line, root) for line in claim.entry["rerun"]]


def _command(report: Report, line: str, root: Path) -> Command:
    _, problem, curve, seeds, *_ = line.partition("workflow.run ")[2].split()
    place = Path(PUBLISHED, report.scale, report.name, problem, f"{curve}.parquet")
    each = _seconds(report, problem, curve)
    there = place.as_posix() if (root / place).exists() else ""
    return Command(line, each * _many(seeds), there)


def _many(seeds: str) -> int:
    """How many seeds a command names: `0-4` or `3`, with commas."""
    ends = [part.partition("-") for part in seeds.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


def _seconds(report: Report, problem: str, curve: str) -> float:
    """CPU seconds of one seed: what the runs of this report took, else what is measured of the
    curve; 0 where neither is known.
    """
    for run in report.on(problem):
        if curve in (run["curve"], *run["names"]) and run["trace_sha256"]:
            return float(run["cpu_seconds"]) / len(run["trace_sha256"])
    place = (report.name, problem, curve)
    return next((line.seconds for line in costs.table() if line[:3] == place), 0.0)


def printed(report: Report, claim: Claim) -> list[Printed]:
    """The published numbers of the runs that a claim reads, of a curve the last one."""
    check = line_of(claim, report.entry).get("check", {})
    curves = {name for side in ("left", "right", "curves") for name in _names(check.get(side))}
    problems = set(check.get("problems", report.entry["problems"]))
    return [
        Printed(
            curve=fit["method"],
            problem=fit["problem"],
            place=f"{fit['panel']}, after {fit['at'][-1]} evaluations",
            printed=f"{fit['published'][-1]:.10g}",
            ours=render.number(fit["ours"][-1]),
            seeds=fit["seeds"],
        )
        for fit in report.fits
        if fit["metric"] == check.get("metric", fit["metric"])
        and fit["method"] in curves
        and fit["problem"] in problems
    ]


def in_short(numbers: Sequence[Printed]) -> str:
    """Printed numbers in a few words, each once: who has which, by problem if there are several."""
    by_problem: dict[str, dict[str, str]] = {}
    for number in numbers:
        by_problem.setdefault(number.problem, {})[number.curve] = number.printed
    said = {
        problem: ", ".join(f"{curve} {value}" for curve, value in values.items())
        for problem, values in by_problem.items()
    }
    if len(said) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{problem}: {values}" for problem, values in said.items())


def _names(side: Any) -> list[str]:
    return [name for name in side if isinstance(name, str)] if isinstance(side, list) else []


def sample(report: Report, claim: Claim) -> pd.DataFrame:
    """The numbers of the seeds of a claim's weakest comparison as printed: columns comparison, seed
    and those of SAMPLES that the check reads.
    """
    table = report.seeds_of_claims
    found = table[(table["claim"] == claim.id) & (table["setting"] == AS_PRINTED)]
    found = found[found["comparison"] == found["comparison"].iloc[0]] if len(found) else found
    return found[["comparison", "seed", *SAMPLES]].dropna(axis=1, how="all")


def pictured(claim: Claim) -> list[tuple[Comparison, str]]:
    """All comparisons, the weakest first, each with the marks of its small picture."""
    found = [ledger.comparison(entry) for entry in claim.entry["comparisons"]]
    return [(one, marks(one)) for one in sorted(found, key=lambda each: each.weakness)]


def marks(one: Comparison) -> str:
    """An effect with its interval beside the borders of the claimed side, as the content of an SVG
    picture on a scale of its own; "" where there is nothing to draw.
    """
    borders = [edge for edge in one.borders if math.isfinite(edge)]
    ends = [one.low, one.high] if OF_ROWS in one.kind else [one.low, one.effect, one.high]
    seen = [value for value in ends if math.isfinite(value)]
    if not borders or not seen:
        return ""
    least, most = min(*borders, *seen), max(*borders, *seen)
    room = 0.08 * (most - least) or max(abs(most), 1.0)
    scale = (SIZE - 2 * EDGE) / (most - least + 2 * room)

    def at(value: float) -> str:
        return f"{EDGE + (value - least + room) * scale:.1f}"

    ink = INKS.get(one.side, GREY)
    parts = [_rule(at(edge), 1, at(edge), 2 * HALF - 1, LINE, 2) for edge in borders]
    if not (math.isnan(one.low) or math.isnan(one.high)):  # of one seed there is no interval
        left, right = (at(end) if math.isfinite(end) else None for end in (one.low, one.high))
        parts.append(_rule(left or EDGE, HALF, right or SIZE - EDGE, HALF, ink, 2.5))
    if OF_ROWS not in one.kind and math.isfinite(one.effect):
        parts.append(f'<circle cx="{at(one.effect)}" cy="{HALF}" r="4.5" fill="{ink}"/>')
    return "".join(parts)


def _rule(x1: Any, y1: float, x2: Any, y2: float, ink: str, width: float) -> str:
    place = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
    return f'<line {place} stroke="{ink}" stroke-width="{width}"/>'


def shown_in(report: Report, claim: Claim) -> Iterable[Any]:
    """The figures, pictures and tables that a claim stands beside."""
    return [each for each in report.shown if any(one.id == claim.id for one in each.claims)]
