"""The numbers behind verdicts as a table, a row a seed: what the test of each comparison reads, as
printed and under every other setting that was run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workflow.judge.checks import below_bound, crossings, parts_of, slopes, taus, within_band
from workflow.judge.claims import AS_PRINTED, Verdict
from workflow.judge.evidence import Compared, Evidence, Paired
from workflow.measure.metrics import Array
from workflow.measure.statistics import looks
from workflow.measure.store import NotRun, Store
from workflow.plan.paper import Paper
from workflow.plan.reads import stated
from workflow.plan.statements import (
    AnyCheck,
    Band,
    ClaimEntry,
    Exponent,
    Monotone,
    Passes,
    Share,
)
from workflow.trace.curves import DEFAULT

SAMPLES = ["left", "right", "value", "rows", "kept", "least", "most"]
COLUMNS = ["claim", "setting", "comparison", "seed", *SAMPLES]
NO_SEED = -1  # where a check leaves out seeds, and which ones is not known


def frame(paper: Paper, store: Store, verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """The numbers behind these verdicts, with COLUMNS: of paired tests `left` and `right`, of other
    tests of one number a seed `value`, of statements about every row how many rows there are and
    how many keep it, with the least and the greatest number. The weakest comparison comes first.
    """
    lines = {claim.id: claim for claim in stated(paper)}
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for verdict in verdicts:
        for setting, outcome in verdict.settings.items():
            if not outcome.was_run or outcome.is_same_run:
                continue
            reading = DEFAULT if setting == AS_PRINTED else setting
            weakness = [one.weakness for one in outcome.comparisons]
            evidence = Evidence(paper, store, reading)
            for what, seen, numbers in _parts(evidence, lines[verdict.id], weakness):
                many = len(seen)
                for name, one in (
                    ("claim", verdict.id),
                    ("setting", setting),
                    ("comparison", what),
                ):
                    columns[name] += [one] * many
                columns["seed"] += seen
                for name in SAMPLES:
                    columns[name] += list(numbers.get(name, [np.nan] * many))
    return pd.DataFrame(columns)


def _parts(
    evidence: Evidence, claim: ClaimEntry, weakness: Sequence[tuple[int, int, float, float]]
) -> Iterator[tuple[str, list[int], Mapping[str, Sequence[float] | Array]]]:
    """The comparisons of a claim under a setting: what is compared, seeds, and their numbers."""
    parts = [
        (f"{one.name}: " if one.name else "", one.check, part)
        for one in claim.asked
        for part in parts_of(evidence, one.check)
    ]
    for _, (head, check, part) in sorted(
        zip(weakness, parts, strict=True), key=lambda pair: pair[0]
    ):
        planned = min(len(evidence.paper.planned(run)) for run in part.runs)
        seen = Evidence(evidence.paper, evidence.store, evidence.reading, looks(planned)[-1].seeds)
        try:
            numbers = _numbers(check, part.read(seen))
        except NotRun:
            continue
        many = len(next(iter(numbers.values())))
        yield head + part.what, _seeds(seen, part, many), numbers


def _numbers(check: AnyCheck, data: Any) -> Mapping[str, Sequence[float] | Array]:
    """What the test of a check reads of each seed."""
    if isinstance(check, Paired):
        return {"left": data[0], "right": data[1]}
    if isinstance(check, Exponent):
        return {"value": slopes(check, data)}
    if isinstance(check, Monotone):
        return {"value": taus(data)}
    if isinstance(check, Passes):
        return {"value": crossings(data)}
    if isinstance(check, Share):
        return {"value": data}
    within = within_band(check, data) if isinstance(check, Band) else below_bound(check, data)
    inside, rows = within
    seen = [row[~np.isnan(row)] for row in rows]  # 0 <= 0 is kept and has no ratio
    return {
        "rows": [len(kept) for kept in inside],
        "kept": [int(kept.sum()) for kept in inside],
        "least": [row.min() if len(row) else np.nan for row in seen],
        "most": [row.max() if len(row) else np.nan for row in seen],
    }


def _seeds(evidence: Evidence, part: Compared, many: int) -> list[int]:
    """The seeds of so many numbers: those that all runs of a comparison have."""
    common = sorted(set.intersection(*(set(evidence.seeds(run)) for run in part.runs)))
    return common if len(common) == many else [NO_SEED] * many
