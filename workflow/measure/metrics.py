"""Metrics: what a report shows of a record, as arrays over its evaluations (lower is better)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workflow.plan.nearest import or_nearest
from workflow.trace.curves import PlanError
from workflow.trace.record import Record

Array = NDArray[np.float64]
GRID = 400  # points of a drawn curve
OPTIMAL = 1e-12  # a value this close to the optimum is the optimum


# What stays of queries and constraints in a published record: columns, and fields of its header
FEASIBLE, CENTRE, BEST, FARTHEST = "feasible", "centre_distance", "best_design", "farthest_query"
# What a metric reads of a record beside its evaluations
REPORTS, RECOMMENDATION, TIME = "report", "recommendation", "timing"


@dataclass(frozen=True)
class Metric:
    """One number per evaluation of a record;
    a single number where only the end of a run has one.

    `reads` is what of the record it needs beside the evaluations and the optimum: "" for nothing.
    """

    label: str
    unit: str
    of: Callable[[Record], Array]
    over: str = "evaluations"
    index: str = "t"
    reads: str = ""

    @property
    def axis(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


def cumulative_regret(record: Record) -> Array:
    """Sum over the evaluations so far of the optimum minus the true value."""
    return np.cumsum(record.header["best"] - record.columns["true"])


def simple_regret(record: Record) -> Array:
    """The optimum minus the best true value evaluated so far."""
    return record.header["best"] - np.maximum.accumulate(record.columns["true"])


def mean_regret(record: Record) -> Array:
    """Mean regret of the evaluations so far after the initial design: what one of them drawn
    uniformly is expected to cost.
    """
    regret, later = record.header["best"] - record.columns["true"], record.columns["batch"] > 0
    with np.errstate(invalid="ignore"):
        return np.cumsum(regret * later) / np.cumsum(later)  # NaN within the design


def final_regret(record: Record) -> Array:
    """Mean regret of the last tenth of the evaluations: what the arm that a run has settled on
    costs a step.
    """
    last = max(1, record.rows // 10)
    return np.array([record.header["best"] - record.columns["true"][-last:].mean()])


def recommendation_regret(record: Record) -> Array:
    """The optimum minus the true value of what the optimizer would return at its end."""
    return np.array([record.header["best"] - record.header["recommendation"]["true"]])


def stuck(record: Record) -> Array:
    """1 where the recommendation at the end is not optimal; its mean over the seeds is a share."""
    return (recommendation_regret(record) > OPTIMAL).astype(np.float64)


def feasible(record: Record) -> NDArray[np.bool_]:
    """Whether each evaluation is feasible by its true values; without constraints all are."""
    if FEASIBLE in record.columns:
        return record.columns[FEASIBLE]
    return np.all(record.columns.get("true_g", np.empty((record.rows, 0))) <= 0, axis=1)


def best_feasible(record: Record) -> Array:
    """The least true objective, as a paper minimises it, of the feasible evaluations so far;
    infinite before the first one.
    """
    return np.minimum.accumulate(np.where(feasible(record), -record.columns["true"], np.inf))


def mean_objective(record: Record) -> Array:
    """Mean true objective, as a paper minimises it, of the evaluations so far."""
    return np.cumsum(-record.columns["true"]) / np.arange(1, record.rows + 1)


def centre_distance(record: Record) -> Array:
    """How far a variable lies from the centre of its range, the mean over the variables: 1/4 at
    uniform points, at most 1/2.
    """
    if CENTRE in record.columns:
        return record.columns[CENTRE].astype(np.float64)
    return np.abs(record.columns["query"] - 0.5).mean(axis=1)


def best_feasible_iterate(record: Record) -> Array:
    """As `best_feasible`, of the evaluations at iterates alone: the optimizer reports the role 1 of
    a query.
    """
    iterates = feasible(record) & (reported("role")(record) == 1)
    return np.minimum.accumulate(np.where(iterates, -record.columns["true"], np.inf))


def best_feasible_by_iteration(record: Record) -> Array:
    """`best_feasible` at the end of each iteration that the optimizer reports, one entry each; NaN
    where it reports none.
    """
    iteration = reported("iteration")(record)
    last = np.flatnonzero(np.diff(iteration, append=np.inf) > 0)
    return best_feasible(record)[last] if len(last) else np.array([np.nan])


def feasible_evaluations(record: Record) -> Array:
    """How many evaluations after the initial design are feasible so far."""
    return np.cumsum(feasible(record) & (record.columns["batch"] > 0)).astype(np.float64)


def search_for_feasible(record: Record) -> Array:
    """Evaluations after the initial design up to the first feasible one; NaN where the design has
    one, infinite where none is.
    """
    own = record.columns["batch"] > 0
    hits = feasible(record)
    if hits[~own].any():
        return np.array([np.nan])
    return np.array([float(np.argmax(hits[own]) + 1) if hits[own].any() else np.inf])


def late_descent(record: Record) -> Array:
    """By how much the last 30 % of the evaluations lower `best_feasible`; 0 where it stays
    infinite.
    """
    best = best_feasible(record)
    before, after = best[max(7 * record.rows // 10, 1) - 1], best[-1]
    return np.array([0.0 if before == after else before - after])


def seconds(record: Record) -> Array:
    """CPU seconds of the algorithm so far (its construction, ask and tell); evaluations cost
    nothing here.
    """
    return record.header.get("setup_seconds", 0.0) + np.cumsum(
        record.columns["timing.ask"] + record.columns["timing.tell"]
    )


def experiment_seconds(record: Record) -> Array:
    """Simulated seconds until an evaluation is known: a batch costs its slowest member, batches
    follow one another.
    """
    if "finished" in record.columns:  # workers that do not wait for one another
        return record.columns["finished"].astype(np.float64)
    batch = record.columns["batch"].astype(np.int64)
    slowest = np.zeros(batch[-1] + 1)
    np.maximum.at(slowest, batch, record.columns["seconds"])
    return np.cumsum(slowest)[batch]


def total_seconds(record: Record) -> Array:
    """Time of the experiments and of the algorithm, which never overlap here."""
    return experiment_seconds(record) + seconds(record)


def given_seconds(record: Record) -> Array:
    """CPU seconds of learning from the evaluations that existed before the run."""
    return np.array([record.header.get("given_seconds", 0.0)])


def batch_size(record: Record) -> Array:
    """Size of the batch of each evaluation; NaN in the initial design and in the last batch, which
    the budget cuts.
    """
    batch = record.columns["batch"].astype(np.int64)
    size = np.bincount(batch).astype(np.float64)[batch]
    return np.where((batch == 0) | (batch == batch[-1]), np.nan, size)


def batch_sizes(record: Record) -> Array:
    """Sizes of the complete batches, one entry each."""
    sizes = np.bincount(record.columns["batch"].astype(np.int64))
    return sizes[1:-1].astype(np.float64)


def batches(record: Record) -> Array:
    """Batches begun so far, the initial design left out."""
    return record.columns["batch"].astype(np.float64)


def reported(name: str) -> Callable[[Record], Array]:
    """A diagnostic of the optimizer;
    NaN before its first batch and where it reports no such thing.
    """

    def of(record: Record) -> Array:
        column = record.columns.get(f"report.{name}")
        return np.full(record.rows, np.nan) if column is None else column.astype(np.float64)

    return of


@dataclass(frozen=True)
class Design:
    """An evaluation of a run: its row, its query (d,) in the unit cube, its true value and its true
    constraints (m,).
    """

    row: int
    query: Array
    true: float
    g: Array

    @property
    def violation(self) -> float:
        """By how much the constraints are violated, all together."""
        return float(np.maximum(self.g, 0).sum())


def best_design(record: Record) -> Design:
    """The evaluation with the least violation, among those the greatest true value, among those the
    first.
    """
    true = record.columns["true"]
    if BEST in record.header:
        said = record.header[BEST]
        query, g = (np.asarray(said[name], dtype=np.float64) for name in ("query", "g"))
        return Design(said["row"], query, float(true[said["row"]]), g)
    g = record.columns.get("true_g", np.empty((record.rows, 0))).reshape(record.rows, -1)
    violation = np.maximum(g, 0).sum(axis=1)  # (n,)
    row = int(np.lexsort((-true, violation))[0])
    return Design(row, record.columns["query"][row], float(true[row]), g[row])


def farthest_query(record: Record) -> float:
    """The largest distance, by its largest coordinate, of a query after the initial design to the
    nearest earlier one, side length 1; NaN without such queries.
    """
    if FARTHEST in record.header:
        said = record.header[FARTHEST]
        return np.nan if said is None else float(said)
    query, own = record.columns["query"], np.flatnonzero(record.columns["batch"] > 0)
    return max(
        (float(np.abs(query[:i] - query[i]).max(axis=1).min()) for i in own if i), default=np.nan
    )


def is_constrained(record: Record) -> bool:
    """Whether the problem of a record has constraints."""
    return "true_g" in record.columns or FEASIBLE in record.columns


def is_on_arms(record: Record) -> bool:
    """Whether a record's queries are arms, not points of a box."""
    if "query" in record.columns:
        return record.columns["query"].ndim == 1
    return BEST not in record.header


METRICS: Mapping[str, Metric] = {
    "cumulative_regret": Metric("cumulative regret", "unit of y", cumulative_regret),
    "simple_regret": Metric("simple regret", "unit of y", simple_regret),
    "mean_regret": Metric("mean regret after the initial design", "unit of y", mean_regret),
    "final_regret": Metric("mean regret of the last tenth", "unit of y", final_regret),
    "recommendation_regret": Metric(
        "regret of the recommended arm", "unit of y", recommendation_regret, reads=RECOMMENDATION
    ),
    "best_feasible": Metric("best feasible objective", "unit of f", best_feasible),
    "mean_objective": Metric("mean objective so far", "unit of f", mean_objective),
    "best_feasible_iterate": Metric(
        "best feasible objective at iterates", "unit of f", best_feasible_iterate, reads=REPORTS
    ),
    "best_feasible_by_iteration": Metric(
        "best feasible objective",
        "unit of f",
        best_feasible_by_iteration,
        "iterations",
        "k",
        reads=REPORTS,
    ),
    "feasible_evaluations": Metric(
        "feasible evaluations after the initial design", "", feasible_evaluations
    ),
    "search_for_feasible": Metric("evaluations to the first feasible one", "", search_for_feasible),
    "centre_distance": Metric(
        "mean distance of a variable from the centre", "range", centre_distance
    ),
    "late_descent": Metric(
        "descent over the last 30 % of the evaluations", "unit of f", late_descent
    ),
    "stuck": Metric("recommendation not optimal", "share of seeds", stuck, reads=RECOMMENDATION),
    "seconds": Metric("time of the algorithm", "s", seconds, reads=TIME),
    "total_seconds": Metric("time of algorithm and experiments", "s", total_seconds, reads=TIME),
    "given_seconds": Metric("time to learn from existing data", "s", given_seconds, reads=TIME),
    "batch_size": Metric("batch size", "evaluations", batch_size),
    "batches": Metric("batches so far", "", batches),
}
REPORTED = {
    "dictionary": ("dictionary size", "arms"),
    "distinct_arms": ("distinct arms pulled", "arms"),
    "resparsifications": ("resparsifications so far", ""),
    "alpha": ("width of the confidence bound", "alpha"),
    "beta": ("width of the confidence bound", "beta"),
}


def metric(name: str) -> Metric:
    """The metric of a name in the YAML; `report.x` is a diagnostic of the optimizer.

    Raises PlanError.
    """
    if name.startswith("report."):
        short = name.removeprefix("report.")
        words = REPORTED.get(short, (short.replace("_", " "), ""))
        return Metric(*words, reported(short), reads=REPORTS)
    if name not in METRICS:
        raise PlanError(f"unknown metric {name!r}{or_nearest(name, [*METRICS, 'report.NAME'])}")
    return METRICS[name]


def ratio_to(above: Array, below: Array) -> Array:
    """Rows (n, T) over one row (U,) at the same evaluation, as far as both go; NaN where that is
    zero.
    """
    length = min(above.shape[1], len(below))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = above[:, :length] / below[:length]
    ratio[:, below[:length] == 0] = np.nan
    return ratio


def thin(length: int, *, log: bool = False) -> NDArray[np.int64]:
    """At most GRID of the indices 0 ..

    length-1, the first and the last among them, evenly or log-spaced.
    """
    if length <= GRID:
        return np.arange(length)
    points = np.geomspace(1, length, GRID) - 1 if log else np.linspace(0, length - 1, GRID)
    return np.unique(np.rint(points).astype(np.int64))
