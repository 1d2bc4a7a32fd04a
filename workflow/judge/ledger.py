"""What judging a paper writes: the verdicts on all claims, as Markdown and JSON; as tables all
comparisons under all settings, the numbers of the seeds, and the records that were read; and
claims by settings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow import ROOT
from workflow.judge import closeness, history, record_table, render, seed_table, settings
from workflow.judge.checks import Comparison
from workflow.judge.claims import Verdict, judge, with_history, with_q
from workflow.judge.claims import runs as runs_of_claims
from workflow.judge.closeness import Experiment
from workflow.measure.store import Store
from workflow.plan.paper import Paper
from workflow.plan.reads import appendix_of, claims_of, known_readings
from workflow.trace.atomic import atomic

SHOWN = {math.inf: "∞", -math.inf: "-∞"}  # in JSON
READ: Mapping[Any, float] = {None: math.nan, "∞": math.inf, "-∞": -math.inf}


def write(store: Store, folder: Path) -> pd.DataFrame:
    """Write verdicts.md, .json, .parquet and .csv, seeds.parquet, runs.parquet and
    claims-by-settings.md; returns the table of comparisons. Raises PlanError, BadRecord.
    """
    paper = store.paper
    store.check(runs_of_claims(paper))
    lines = history.read(ROOT).get(paper.name, {})
    claims = claims_of(paper)
    verdicts, appendix = (
        [judge(paper, store, claim) for claim in part] for part in (claims, appendix_of(paper))
    )
    verdicts = with_history(paper, with_q(verdicts), lines)
    appendix = with_history(paper, appendix, lines)
    beside = closeness.experiments(paper, store)
    verdicts = closeness.with_nearest(paper, verdicts, beside)
    mixed, is_partial = store.mixed(), store.partial and store.is_short(paper.every_curve)
    ways = {
        one.id: settings.ways(paper, claim, one)
        for claim, one in zip(claims, verdicts, strict=True)
    }
    table = settings.frame([*verdicts, *appendix])
    texts = {
        "verdicts.md": render.as_markdown(
            paper, verdicts, mixed, closeness.as_markdown(beside), appendix
        ),
        "verdicts.json": as_json(
            paper, verdicts, beside, appendix, ways=ways, partial=is_partial, mixed=mixed
        ),
        "verdicts.csv": table[settings.CSV].to_csv(
            index=False, float_format="%.6g", lineterminator="\n"
        ),
        "claims-by-settings.md": settings.as_markdown(paper, verdicts, table, ways),
    }
    tables = {
        "verdicts": table,
        "seeds": seed_table.frame(paper, store, [*verdicts, *appendix]),
        "runs": record_table.frame(store),
    }
    for name, text in texts.items():
        with atomic(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    for name, one in tables.items():
        with atomic(folder / f"{name}.parquet") as temporary:
            one.to_parquet(temporary, index=False, compression="zstd")
    return table


def as_json(
    paper: Paper,
    verdicts: Sequence[Verdict],
    beside: Sequence[Experiment] = (),
    appendix: Sequence[Verdict] = (),
    *,
    ways: Mapping[str, Mapping[str, str]] | None = None,
    partial: bool = False,
    mixed: Sequence[str] = (),
) -> str:
    """All verdicts and comparisons, those of the appendix apart, and published numbers beside ours;
    whether records may be missing, and sentences on kernels and versions that are mixed in them.
    `ways` has those of each claim.
    """
    whole = {
        "paper": paper.name,
        "scale": paper.scale,
        "partial": partial,
        "mixed": mixed,
        "claims": [{**entry(one), "ways": (ways or {}).get(one.id, {})} for one in verdicts],
        "published": closeness.as_data(beside),
        "appendix": [entry(verdict) for verdict in appendix],
        "readings": {name: str(reading) for name, reading in known_readings(paper).items()},
    }
    return json.dumps(plain(whole), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def entry(verdict: Verdict) -> dict[str, Any]:
    """A claim as verdicts.json has it, but for NaN and infinity (`plain`)."""
    return {
        **asdict(replace(verdict, readings={})),
        "verdict_in_full": render.in_full(verdict, verdict.qualifiers),
        "comparisons": [
            {**asdict(one), "decides": one.decides}
            for one in sorted(verdict.comparisons, key=lambda one: one.weakness)
        ],
    }


def comparison(line: Mapping[str, Any]) -> Comparison:
    """A comparison as a verdicts.json has it."""
    known = {field.name: line[field.name] for field in fields(Comparison) if field.name in line}
    return Comparison(**{name: _read(value) for name, value in known.items()})


def _read(value: Any) -> Any:
    """A value of verdicts.json, with the numbers that JSON lacks."""
    return tuple(map(_read, value)) if isinstance(value, list) else READ.get(value, value)


def plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null and "∞"; numbers keep nine digits, so that
    files are stable.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.9g}") if math.isfinite(value) else SHOWN.get(float(value))
    return value.item() if isinstance(value, np.generic) else value
