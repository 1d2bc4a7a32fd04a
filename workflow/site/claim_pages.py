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

import pyarrow
from pyarrow import parquet

from workflow.judge import ledger, render
from workflow.judge.certificate import quantity_of
from workflow.judge.checks import AGAINST, FOR, OF_ROWS, Comparison
from workflow.plan import costs
from workflow.plan.reads import stated
from workflow.plan.resolve import ROOT
from workflow.site import questions
from workflow.site.folder import Claim, Report
from workflow.site.methods import in_a_line
from workflow.trace.cells import PUBLISHED

Entry = Mapping[str, Any]
FOLDER = "claims"  # of a paper's pages; a claim's address is PAPER/claims/ID.html for good
SIZE, HALF, EDGE = 240, 11, 8  # of a small picture: width, half its height, margin; in pixels
BLUE, VERMILLION, GREY, LINE = "#0b4f7d", "#8f3200", "#57606a", "#767f89"
INKS = {FOR: BLUE, AGAINST: VERMILLION}
SAMPLES = ("left", "right", "value", "kept", "rows", "least", "most")


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


@dataclass(frozen=True)
class Sample:
    """The numbers of one comparison: a row a seed."""

    what: str
    columns: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]


def asked(claim: Claim, entry: Entry) -> tuple[str, list[tuple[str, str]]]:
    """The check of a claim: a question, and its settings as the paper's YAML has them. Nothing
    where the YAML does not know the claim any more.
    """
    line = line_of(claim, entry)
    check = line.get("check", {})
    if not check:
        return "", []
    settings = [(key, in_a_line(value)) for key, value in check.items() if key != "test"]
    settings += [
        (one["name"], in_a_line({key: value for key, value in one.items() if key != "name"}))
        for one in line.get("settings", [])
    ]
    quantity, unit = quantity_of(check)
    if quantity:
        settings.append(("what is read", f"{quantity} ({unit})" if unit else quantity))
    many = len(line.get("settings", []))
    more = f" So in {many} settings, each with what it changes (below)." if many else ""
    return questions.question(check) + more, settings


def line_of(claim: Claim, entry: Entry) -> Entry:
    """What the paper's YAML says of a claim; {} where a report is older and it is gone."""
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
    key = "study" if problem == "studies" else "curve"
    for run in report.runs.get("studies" if key == "study" else "runs", []):
        names = run.get("names", [run[key]])
        if run.get("problem", "studies") == problem and curve in names and run["trace_sha256"]:
            return float(run["cpu_seconds"] or 0) / len(run["trace_sha256"])
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


def samples(report: Report, claim: Claim) -> list[Sample]:
    """The numbers of a claim's seeds by comparison, the weakest first; [] in reports that are older
    than these.
    """
    told = report.seed_values.get(claim.id, {}).get("default", {"parts": []})
    parts = [part for part in told["parts"] if "missing" not in part]
    parts.sort(key=lambda part: part.get("rank", 0))  # older ones have none
    found = []
    for part in parts:
        columns = [name for name in SAMPLES if name in part]
        rows = [
            (seed, [_digits(part[name][position]) for name in columns])
            for position, seed in enumerate(part["seeds"])
        ]
        found.append(Sample(part["what"], columns, rows))
    return found


def write_table(report: Report, claim: Claim, path: Path) -> bool:
    """Write all numbers of a claim's seeds as Parquet, a row each: reading, comparison, seed (-1:
    of no seed), and a column for each of SAMPLES that the check reads. Returns whether there are
    any: reports that are older than these have none.
    """
    told = report.seed_values.get(claim.id)
    runs = {"default": told["default"], **told["readings"]} if told else {}
    rows = [
        {"reading": reading, "comparison": part["what"], "seed": seed}
        | {name: _real(part[name][position]) for name in SAMPLES if name in part}
        for reading, run in runs.items()
        for part in run["parts"]
        for position, seed in enumerate(part.get("seeds", []))
    ]
    if rows:
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        # without what Parquet can keep beside: there are hundreds of these small files
        parquet.write_table(
            pyarrow.table(columns), path, compression="zstd", write_statistics=False,
            store_schema=False,
        )  # fmt: skip
    return bool(rows)


def _real(value: Any) -> float:
    """A number of the JSON, where null is NaN and what is infinite a text."""
    return math.nan if value is None else float(value)


def _digits(value: Any) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


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
