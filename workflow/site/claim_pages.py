"""What the page of a claim shows beside its verdict: its check, the numbers of its seeds, small
pictures of its comparisons, and the numbers that the paper prints for its runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd
import yaml

from workflow.judge import render
from workflow.judge.checks import AGAINST, FOR, OF_ROWS, Comparison
from workflow.judge.claims import AS_PRINTED
from workflow.judge.seed_table import SAMPLES
from workflow.plan.reads import stated
from workflow.site.folder import Claim, Entry, Report

SIZE, HALF, EDGE = 240, 11, 8  # of a small picture: width, half its height, margin; in pixels
BLUE, VERMILLION, GREY, LINE = "#0b4f7d", "#8f3200", "#57606a", "#767f89"
INKS = {FOR: BLUE, AGAINST: VERMILLION}


@dataclass(frozen=True)
class Printed:
    """A number that the paper prints for a run of the claim, beside ours."""

    what: str
    printed: str
    ours: str
    seeds: int


def line_of(claim: Claim, entry: Entry) -> Entry:
    """What the paper's YAML says of a claim; {} where the claim is gone from the YAML."""
    return next((line for line in stated(entry) if line["id"] == claim.id), {})


def check_of(claim: Claim, entry: Entry) -> str:
    """The check of a claim with its settings, as YAML; "" where the claim is gone."""
    line = line_of(claim, entry)
    kept = {key: line[key] for key in ("check", "settings") if key in line}
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True) if kept else ""


def printed(report: Report, claim: Claim) -> list[Printed]:
    """The published numbers of the runs that a claim reads, of a curve the last one."""
    check = line_of(claim, report.entry).get("check", {})
    curves = {name for side in ("left", "right", "curves") for name in _names(check.get(side))}
    problems = set(check.get("problems", report.entry["problems"]))
    fits = [fit for one in report.verdicts["published"].values() for fit in one["fits"][""]]
    return [
        Printed(
            what=f"{fit['method']} on {fit['problem']}"
            f" ({fit['panel']}, after {fit['at'][-1]} evaluations)",
            printed=f"{fit['published'][-1]:.10g}",
            ours=render.number(fit["ours"][-1]),
            seeds=fit["seeds"],
        )
        for fit in fits
        if fit["at"]
        and fit["metric"] == check.get("metric", fit["metric"])
        and fit["method"] in curves
        and fit["problem"] in problems
    ]


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
