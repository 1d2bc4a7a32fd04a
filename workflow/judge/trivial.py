"""Whether a check could have failed at all: what a null model, which knows nothing of the claim's
method, would have come to in it.

A claim names its null models in the YAML (`null_model`); whether one of them passes is computed
from records, unless a proof makes it unnecessary (`always`). A claim holds trivially if one does in
at least PASSES of the cases.
"""

from __future__ import annotations

import math

import numpy as np

from workflow.judge.checks import TESTS, holds, parts_of
from workflow.judge.evidence import SUMMARIES, Evidence
from workflow.measure.metrics import Array
from workflow.measure.statistics import LEVEL
from workflow.measure.store import NotRun
from workflow.plan import selection
from workflow.plan.statements import AnyCheck, Asked, NullModel, Sides, Summarised
from workflow.trace.curves import Curve, PlanError

PASSES = 0.9  # a null model that passes so often shows that the check decides nothing
REPEATS = 1000  # resampled claims: a share of 0.9 has a standard error of 0.01


def why(evidence: Evidence, asked: Asked) -> str:
    """What makes the check of a claim hold by itself, in words; "" if nothing that it names."""
    reasons = (_why(evidence, asked.check, null) for null in asked.null_model)
    return next(filter(None, reasons), "")


def _why(evidence: Evidence, check: AnyCheck, null: NullModel) -> str:
    try:
        share = _share(evidence, check, null)
    except NotRun:  # of a partial report
        return ""
    if share < PASSES:
        return ""
    if null.curve:
        return f"{null.curve} passes it in {100 * share:.3g} % of {REPEATS} draws"
    return null.because


def _share(evidence: Evidence, check: AnyCheck, null: NullModel) -> float:
    """How often a null model passes the check of a claim."""
    if null.curve:
        return _by_luck(evidence, check, null.curve)
    if null.where:
        flags = [column(null.where) for column in evidence.rows(check.study, check.rows)]
        return float(np.mean([bool(len(flag)) and bool((flag > 0).all()) for flag in flags]))
    if null.always:
        return 1.0
    has_sides = isinstance(check, Sides)
    if null.instead:
        changes: dict[str, object] = {"left" if has_sides else "curves": [null.instead]}
    else:
        changes = {"left" if has_sides else "column": null.column}
    if math.isfinite(null.at_least):  # in place of the check's own bounds
        changes |= {"at_least": null.at_least, "at_most": math.inf}
    return float(holds(evidence, check.model_copy(update=changes)))


def _by_luck(evidence: Evidence, check: AnyCheck, label: str) -> float:
    """How often the best of uniform draws, from all evaluations of a curve that searches at random,
    passes a check of simple regret in place of the claim's own curves. So much luck is in it.
    """
    at = check.at if isinstance(check, Summarised) else "end"
    is_plain = check.metric == "simple_regret" and not check.relative_to
    if not is_plain or check.listed("minus") or at in SUMMARIES:
        raise PlanError(f"null model {label}: expected a check of simple_regret alone")
    random = np.random.Generator(np.random.Philox(key=REPEATS))
    test = TESTS[check.test][1]
    parts = [(part, part.read(evidence)) for part in parts_of(evidence, check)]
    curves = [run for part, _ in parts for run in part.runs[:1] if isinstance(run, Curve)]
    pools = {curve.name: _pool(evidence, curve, label) for curve in curves}

    def passes() -> bool:
        drawn: dict[str, Array] = {}  # a curve has the same runs in all of its comparisons
        for own, (part, data) in zip(curves, parts, strict=True):
            seeds = len(data[0] if isinstance(data, tuple) else data)
            pool = pools[own.name]
            many = min(at, own.budget) if isinstance(at, int) else own.budget
            if own.name not in drawn:  # the rank of the best of so many draws
                best = len(pool) * random.random(seeds) ** (1 / many)
                drawn[own.name] = pool[best.astype(np.int64)]
            left = drawn[own.name]
            mine = (left, data[1]) if isinstance(data, tuple) else left
            if not test(check, part.what, mine, LEVEL).holds:
                return False
        return True

    passed = list[bool]()
    may_fail = round((1 - PASSES) * REPEATS)  # beyond it the other draws change nothing
    while len(passed) < REPEATS and passed.count(False) <= may_fail:
        passed.append(passes())
    return float(np.mean(passed))


def _pool(evidence: Evidence, own: Curve, label: str) -> Array:
    """The simple regrets of all evaluations of a curve on the problem of a run, the best last."""
    store, null = evidence.store, selection.curve_of(evidence.paper, own.problem, label)
    records = [store.record(null, seed) for seed in store.seeds(null)]
    every = np.concatenate([one.header["best"] - one.columns["true"] for one in records])
    return np.sort(every)[::-1]
