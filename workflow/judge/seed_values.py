"""The numbers behind verdicts, one a seed: what the test of each comparison reads, by default and
under every reading that was run. The page of a claim shows them, and gives them as Parquet.

`python -m workflow.report PAPER verdicts` writes them as seed-values.json beside verdicts.json.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workflow.judge.checks import (
    below_bound,
    crossings,
    parts_of,
    slopes,
    taus,
    within_band,
)
from workflow.judge.claims import Claim, Verdict
from workflow.judge.evidence import Check, Compared, Evidence
from workflow.measure.metrics import Array
from workflow.measure.statistics import looks
from workflow.measure.store import NotRun, Store
from workflow.plan.paper import Paper
from workflow.plan.reads import settings_of, stated

PAIRED = ("less", "more", "equivalent", "spread")
Numbers = dict[str, Any]


def as_json(paper: Paper, store: Store, verdicts: Sequence[Verdict]) -> str:
    """The numbers behind these verdicts, with all their digits; a claim that nothing was run of is
    left out. NaN is null, what is infinite a text.
    """
    lines = {claim["id"]: claim for claim in stated(paper.entry)}
    found = {one.id: _of(paper, store, lines[one.id], one) for one in verdicts}
    claims = {name: told for name, told in found.items() if told}
    whole = {"paper": paper.name, "scale": paper.scale, "claims": claims}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _of(paper: Paper, store: Store, claim: Claim, verdict: Verdict) -> Numbers:
    """The numbers of a claim, by default and under readings that come to runs of their own. The
    comparison of rank 0 is the weakest one by default.
    """
    own = [
        name
        for name, one in verdict.readings.items()
        if one.was_run and not one.is_same_run and not one.again
    ]
    default = _under(Evidence(paper, store), claim)
    weakness = [one.weakness for one in verdict.comparisons]
    for part, one in zip(default["parts"], weakness, strict=True):
        part["rank"] = sorted(weakness).index(one)
    return {
        "default": default,
        "readings": {name: _under(Evidence(paper, store, name), claim) for name in own},
    }


def _under(evidence: Evidence, claim: Claim) -> Numbers:
    """The comparisons of a claim under a reading."""
    parts = []
    for one in settings_of(claim):
        head = f"{one['name']}: " if "settings" in claim else ""
        for part in parts_of(evidence, one["check"]):
            parts.append(_part(evidence, one["check"], replace(part, what=head + part.what)))
    return {"parts": parts}


def _part(evidence: Evidence, check: Check, part: Compared) -> Numbers:
    """One comparison with the numbers of all seeds up to the last look."""
    planned = min(len(evidence.paper.planned(run)) for run in part.runs)
    first = Evidence(evidence.paper, evidence.store, evidence.reading, looks(planned)[-1].seeds)
    try:
        return {"what": part.what, **_numbers(first, check, part)}
    except NotRun as error:
        return {"what": part.what, "missing": str(error)}


def _numbers(evidence: Evidence, check: Check, part: Compared) -> Numbers:
    """What the test of a check reads of each seed. Raises NotRun."""
    data = part.read(evidence)
    found = {name: list(map(_plain, values)) for name, values in _columns(check, data).items()}
    many = len(next(iter(found.values())))
    return {"seeds": _seeds(evidence, part, many), **found}


def _columns(check: Check, data: Any) -> Mapping[str, Sequence[float] | Array]:
    test = check["test"]
    if test in PAIRED:
        return {"left": data[0], "right": data[1]}
    if test == "exponent":
        return {"value": slopes(check, data)}
    if test == "monotone":
        return {"value": taus(data)}
    if test == "passes":
        return {"value": crossings(data)}
    if test in ("published", "share"):
        return {"value": data}
    inside, rows = (within_band if test == "band" else below_bound)(check, data)
    seen = [row[~np.isnan(row)] for row in rows]  # 0 <= 0 is kept and has no ratio
    return {
        "rows": [len(kept) for kept in inside],
        "kept": [int(kept.sum()) for kept in inside],
        "least": [row.min() if len(row) else math.nan for row in seen],
        "most": [row.max() if len(row) else math.nan for row in seen],
    }


def _seeds(evidence: Evidence, part: Compared, many: int) -> list[int]:
    """The seeds of so many numbers: those that all runs of a comparison have. Where a check leaves
    some of them out, which ones is not known here, and they are numbered from -1 down.
    """
    common = sorted(set.intersection(*(set(evidence.seeds(run)) for run in part.runs)))
    return common if len(common) == many else [-1 - position for position in range(many)]


def _plain(value: float) -> float | str | None:
    """JSON has no NaN and no infinity."""
    number = float(value)
    if math.isnan(number):
        return None
    return (
        (int(number) if number.is_integer() else number) if math.isfinite(number) else str(number)
    )
