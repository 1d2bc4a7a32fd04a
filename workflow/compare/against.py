"""A guest against each curve of a figure, by the statistics that decide the papers' claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workflow.judge import claims
from workflow.judge.claims import Verdict
from workflow.measure.metrics import feasible
from workflow.measure.store import NotRun, Store
from workflow.plan.guest import HIGHER, Visit
from workflow.plan.selection import panel_options, places
from workflow.trace.cells import Cell

SECONDS = "seconds"  # the metric of what an optimizer itself takes


@dataclass(frozen=True)
class Pair:
    """The guest beside one curve of one panel: the verdict on the statement that it is lower, and
    the CPU seconds of each in a run, NaN where there is none.
    """

    number: int  # of the panel, from 1
    panel: str
    curve: str
    metric: str
    at: int  # evaluations after which they are compared
    verdict: Verdict
    seconds: tuple[float, float]

    @property
    def is_there(self) -> bool:
        """Whether both have runs that can be compared."""
        return not any(one.missing for one in self.verdict.comparisons)

    @property
    def word(self) -> str:
        """What the guest is said to be."""
        return better(self.metric)


def better(metric: str) -> str:
    """On which side of a curve a better method lies."""
    return "higher" if metric in HIGHER else "lower"


def pairs(visit: Visit, store: Store) -> list[Pair]:
    """The guest beside every curve of every panel, with q over all of them. Raises BadRecords."""
    found = list(_pairs(visit, store))
    adjusted = claims.with_q([pair.verdict for pair in found])
    return [replace(pair, verdict=one) for pair, one in zip(found, adjusted, strict=True)]


def _pairs(visit: Visit, store: Store) -> Iterator[Pair]:
    paper = store.paper
    for number, panel in enumerate(panel_options(paper, visit.figure), 1):
        mine = {cell.problem_name: cell for cell in visit.mine(panel)}
        for label, cell in places(paper, panel):
            if visit.is_mine(cell) or cell.problem_name not in mine:
                continue
            own, what = mine[cell.problem_name], panel.get("title") or panel["problem"]
            at = min(own.budget, cell.budget, panel.get("to", own.budget))
            claim = {
                "id": f"{number}-{label}",
                "where": what,
                "says": f"{visit.guest.name} is {better(panel['metric'])} than {label}",
                "check": _check(panel, own, cell, at),
            }
            seconds = (_seconds(store, own), _seconds(store, cell))
            verdict = claims.by_default(paper, store, claim)
            yield Pair(number, what, label, panel["metric"], at, verdict, seconds)


def _check(panel: Mapping[str, Any], own: Cell, other: Cell, at: int) -> dict[str, Any]:
    """What a paper's YAML would say to compare two runs as a panel shows them: at the end of the
    shorter one, or where the panel ends.
    """
    name = panel["metric"]
    found = {
        "test": "more" if name in HIGHER else "less",
        "metric": name,
        "problems": [own.problem_name],
        "left": [own.curve],
        "right": [other.curve],
    }
    if at < max(own.budget, other.budget):
        found["at"] = at
    if "relative_to" in panel:
        found["relative_to"] = panel["relative_to"]
    return found


def _seconds(store: Store, cell: Cell) -> float:
    """CPU seconds of the optimizer in a run, the mean over its seeds."""
    try:
        return float(store.values(cell, SECONDS)[:, -1].mean())
    except NotRun:
        return float("nan")


def raised(visit: Visit, store: Store) -> list[str]:
    """Where regret is measured from the best value that any run has seen, and the guest has seen a
    better one than all others: sentences.
    """
    told = []
    cells = [cell for cell in visit.cells if cell.problem_entry.get("optimum") == "best-seen"]
    for cell in cells:
        others = [one for one in store.paper.on(cell.problem_name) if not visit.is_mine(one)]
        before, best = _best(store, others), _best(store, [cell])
        if np.isfinite(before) and best > before:
            told.append(
                f"On {cell.problem_name} {visit.guest.name} has seen {best:.6g}, where the best of"
                f" all other runs is {before:.6g}. Regret is measured from the new value, so that"
                " the other curves lie higher than in the published figure."
            )
    return told


def _best(store: Store, cells: Iterable[Cell]) -> float:
    """The greatest feasible true value in the records of some runs; -inf where there is none."""
    values = [
        store.record(cell, seed).columns["true"][feasible(store.record(cell, seed))]
        for cell in cells
        if store.has(cell)
        for seed in store.seeds(cell)
    ]
    return float(np.concatenate([np.array([-np.inf]), *values]).max())
