"""Whether a check could have failed at all: what a null model, which knows nothing of the claim's
method, would have come to in it.

A claim names its null models in the YAML (`null_model`); whether one of them passes is computed
from records, unless a proof makes it unnecessary (`always`). A claim holds trivially if one does in
at least PASSES of the cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workflow.judge.checks import holds
from workflow.judge.evidence import Evidence
from workflow.measure.metrics import FEASIBLE, Array, metric
from workflow.measure.store import NotRun, Run
from workflow.plan import selection
from workflow.trace.cells import Cell
from workflow.trace.record import Columns, Record

Claim = Mapping[str, Any]
PASSES = 0.9  # a null model that passes so often shows that the check decides nothing
REPEATS = 1000  # resampled claims: a share of 0.9 has a standard error of 0.01
SIDES = ("left", "column")  # what a check says of which
CURVES = ("left", "curves")  # whose runs a check is about
BOUNDS = ("at_least", "at_most")  # of a null model's own column, in place of the check's


def why(evidence: Evidence, claim: Claim) -> str:
    """What makes the check of a claim hold by itself, in words; "" if nothing that it names."""
    return next((said for line in claim["null_model"] if (said := _why(evidence, claim, line))), "")


def _why(evidence: Evidence, claim: Claim, line: Mapping[str, Any]) -> str:
    try:
        share = _share(evidence, claim, line)
    except NotRun:  # of a partial report
        return ""
    if share < PASSES:
        return ""
    if "curve" in line:
        return f"{line['curve']} passes it in {100 * share:.3g} % of {REPEATS} draws"
    return str(line["because"])


def _share(evidence: Evidence, claim: Claim, line: Mapping[str, Any]) -> float:
    """How often a null model passes the check of a claim."""
    check = claim["check"]
    if "curve" in line:
        drawn, passes = _Drawn(evidence, claim, line["curve"]), list[bool]()
        may_fail = round((1 - PASSES) * REPEATS)  # beyond it the other draws change nothing
        while len(passes) < REPEATS and passes.count(False) <= may_fail:
            passes.append(drawn.passes())
        return float(np.mean(passes))
    if "instead" in line:
        side = next(side for side in CURVES if side in check)
        return float(holds(evidence, {**check, side: [line["instead"]]}))
    if "where" in line:
        flags = [column(line["where"]) for _, column in evidence.rows(check)]
        return float(np.mean([bool(len(flag)) and bool((flag > 0).all()) for flag in flags]))
    if "always" in line:
        return 1.0
    side = next(side for side in SIDES if side in check)
    bounds = {name: line[name] for name in BOUNDS if name in line}
    kept = {name: said for name, said in check.items() if not bounds or name not in BOUNDS}
    return float(holds(evidence, {**kept, side: line["column"], **bounds}))


@dataclass
class _Drawn:
    """A claim about methods that are replaced by uniform draws from all evaluations of a curve that
    searches at random: so much luck is in its check.
    """

    evidence: Evidence
    claim: Claim
    curve: str

    def __post_init__(self) -> None:
        self.random = np.random.Generator(np.random.Philox(key=len(self.claim["id"])))
        self.pools: dict[str, tuple[Mapping[str, Any], Columns]] = {}
        check = self.claim["check"]
        self.named = [*check.get("curves", []), *check.get("left", [])]

    def passes(self) -> bool:
        """Whether one such draw keeps the check in all its comparisons."""
        store: Any = _Resampled(self)
        return holds(replace(self.evidence, store=store), self.claim["check"])

    def values(self, run: Cell, name: str) -> Array:
        """A metric of draws in the place of a run, (n, T)."""
        header, pool = self._pool(run.problem)
        rows = []
        for _ in self.evidence.store.seeds(run):  # `Evidence.values` takes of these what it reads
            chosen = self.random.integers(len(pool["true"]), size=run.budget)
            columns: Columns = {key: column[chosen] for key, column in pool.items()}
            columns["batch"] = np.arange(run.budget)
            rows.append(metric(name).of(Record(header, columns)))
        return np.stack(rows)

    def _pool(self, problem: str) -> tuple[Mapping[str, Any], Columns]:
        """All evaluations of the null model on a problem, and the header of one of its runs."""
        if problem not in self.pools:
            store, null = (
                self.evidence.store,
                selection.place(self.evidence.paper, problem, self.curve),
            )
            records = [store.record(null, seed) for seed in store.seeds(null)]
            pool: Columns = {
                key: np.concatenate([one.columns[key] for one in records])
                for key in ("true", "true_g", FEASIBLE)  # a published record has the last one alone
                if key in records[0].columns
            }
            self.pools[problem] = records[0].header, pool
        return self.pools[problem]


class _Resampled:
    """The store with the runs of a claim's own curves replaced by draws."""

    def __init__(self, drawn: _Drawn) -> None:
        self._drawn, self._store = drawn, drawn.evidence.store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def values(self, run: Run, name: str) -> Array:
        if isinstance(run, Cell) and run.curve in self._drawn.named:
            return self._drawn.values(run, name)
        return self._store.values(run, name)

    def remembered(self, key: tuple[Any, ...], make: Any) -> Array:
        """`Evidence.summary` names the run and what its metric is divided by, among others."""
        if {key[0].rpartition("/")[2], *key[1:]} & {*self._drawn.named}:
            return np.asarray(make())
        return self._store.remembered(key, make)
