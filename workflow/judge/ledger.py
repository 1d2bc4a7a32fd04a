"""The verdicts on all claims of a paper, as Markdown and JSON, and the numbers behind them, a line
a seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from workflow import ROOT
from workflow.judge import closeness, fixed, render, seed_values
from workflow.judge.checks import Comparison
from workflow.judge.claims import Verdict, judge, runs, weakest, with_history, with_q
from workflow.judge.closeness import Experiment
from workflow.measure.store import Store
from workflow.plan.paper import Paper
from workflow.trace.atomic import atomic

EDITION = 2  # of the words in a verdicts.json; the first one has no such key


def write(store: Store, folder: Path) -> None:
    """Write verdicts.md, verdicts.json and seed-values.json. Raises PlanError, BadRecord."""
    paper = store.paper
    store.check(runs(paper))
    lines = fixed.read(ROOT).get(paper.name, {})
    verdicts, appendix = (
        [judge(paper, store, claim) for claim in paper.entry.get(section, [])]
        for section in ("claims", "appendix")
    )
    verdicts = with_history(paper, with_q(verdicts), lines)
    appendix = with_history(paper, appendix, lines)
    beside = closeness.experiments(paper, store)
    verdicts = closeness.with_nearest(paper, verdicts, beside)
    paths = [folder / name for name in ("verdicts.md", "verdicts.json", "seed-values.json")]
    mixed, is_partial = store.mixed(), store.partial and store.is_short(paper.parts)
    texts = [
        render.as_markdown(paper, verdicts, mixed, closeness.as_markdown(beside), appendix),
        as_json(paper, verdicts, beside, appendix, partial=is_partial, mixed=mixed),
        seed_values.as_json(paper, store, [*verdicts, *appendix]),
    ]
    for path, text in zip(paths, texts, strict=True):
        with atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def as_json(
    paper: Paper,
    verdicts: Sequence[Verdict],
    beside: Sequence[Experiment] = (),
    appendix: Sequence[Verdict] = (),
    *,
    partial: bool = False,
    mixed: Sequence[str] = (),
) -> str:
    """All verdicts and comparisons, those of the appendix apart, published numbers beside ours, and
    what the YAML registers; whether records may be missing, and sentences on code paths and
    versions that are mixed in them.
    """
    rows = [entry(verdict) for verdict in verdicts]
    registered = {key: paper.entry.get(key, []) for key in ("assumptions", "deviations", "errata")}
    known = paper.entry.get("readings", {})
    says = {name: render.said_of(reading) for name, reading in known.items()}
    whole = {
        "edition": EDITION,
        "paper": paper.name,
        "scale": paper.scale,
        "partial": partial,
        "mixed": mixed,
        "claims": rows,
        "published": closeness.as_data(beside),
        "appendix": [entry(verdict) for verdict in appendix],
        "readings": says,
        **registered,
    }
    return json.dumps(plain(whole), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def entry(verdict: Verdict) -> dict[str, Any]:
    """A claim as verdicts.json has it, but for NaN and infinity (`plain`)."""
    least = weakest(verdict.comparisons)
    return {
        **asdict(verdict),
        "verdict_in_full": render.in_full(verdict),
        "weakest": None if least is None else asdict(least),
        "comparisons": [
            {**asdict(one), "decides": one.decides}
            for one in sorted(verdict.comparisons, key=lambda one: one.weakness)
        ],
    }


def comparison(told: Mapping[str, Any]) -> Comparison:
    """A comparison as a verdicts.json has it, of any edition."""
    known = {field.name: told[field.name] for field in fields(Comparison) if field.name in told}
    null = {name: math.nan for name, value in known.items() if value is None}  # NaN or infinity
    return Comparison(**{**known, **null})


def plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: both become null; numbers keep nine digits, so that files
    are stable.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
