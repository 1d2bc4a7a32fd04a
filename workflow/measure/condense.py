"""What is kept of a record that is published, and a record as the metrics read it from that.

Whatever a metric, a table or a picture reads is kept: true values, batches, simulated seconds and
whether an evaluation is feasible exactly, at every evaluation. A diagnostic of the optimizer is
kept exactly where it is a count or changes rarely, as most do, else at some evaluations, in single
precision; CPU seconds so far likewise, since their noise does not compress. Of the queries stay the
best design, how far a new query was from all before it, and the mean distance from the centre.
Values as they were observed are left out, and of asynchronous runs how long an evaluation took,
since their metrics read when it finished: no report reads them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workflow.measure import metrics
from workflow.measure.metrics import RECOMMENDATION, REPORTS, TIME
from workflow.trace.curve_file import Kept, Some
from workflow.trace.record import Columns, Record, trace_hash

MOST = 256  # evaluations at which a column is kept that changes more often than that
SPENT = "cpu_seconds_so_far"  # CPU seconds of ask and tell up to an evaluation, from 0
ASK, TELL = f"{TIME}.ask", f"{TIME}.tell"
OBSERVED = ("query", "y", "g", "true_g")
CLOCK = ("started", "seconds")  # beside `finished`, when an asynchronous evaluation was known
TRACES = "traces"  # hashes of the parts of a trace that `Store.is_same` compares


def condensed(record: Record) -> Kept:
    """What is kept of a record; of that of a study all."""
    if "study" in record.header:
        return Kept(record.header, record.columns if record.rows else {})
    header = {**record.header, TRACES: parts_of_trace(record)}
    if not record.rows:
        return Kept(header, {})
    columns: Columns = {}
    some: dict[str, Some] = {}
    for name, values, single in _kept(record):
        rows = np.arange(record.rows)
        if (single or name.startswith(f"{REPORTS}.")) and _is_noisy(values):
            rows, single = sampled(record.rows), True
        shown = values.astype(np.float32) if single else values
        if name.startswith(f"{REPORTS}."):
            shown = shown.astype(np.float64)  # one type, whichever seeds are sampled
        if len(rows) < record.rows:
            some[name] = rows, shown[rows]
        else:
            columns[name] = shown
    return Kept({**header, **_extremes(record)}, columns, some)


def restored(kept: Kept) -> Record:
    """A record as metrics read it: between the evaluations at which a diagnostic is kept it stays
    as it was before, and CPU seconds grow evenly.
    """
    columns = dict(kept.columns)
    every = np.arange(kept.rows)
    for name, (rows, values) in kept.some.items():
        if name == SPENT:
            columns[name] = np.interp(every, rows, values)
        else:
            columns[name] = values[np.searchsorted(rows, every, side="right") - 1]
    if SPENT in columns:
        columns[ASK] = np.diff(columns.pop(SPENT).astype(np.float64), prepend=0.0)
        columns[TELL] = np.zeros(kept.rows)
    return Record(kept.header, columns or {"evaluation": every})


def sampled(rows: int) -> NDArray[np.int64]:
    """At most MOST of the rows 0 .. rows-1, the first and the last among them: half of them evenly
    spaced, half by their logarithms, since exponents are fitted to those.
    """
    even = np.linspace(0, rows - 1, MOST // 2)
    log = np.geomspace(1, rows, MOST // 2) - 1
    return np.unique(np.rint([*even, *log]).astype(np.int64))


def parts_of_trace(record: Record) -> dict[str, str]:
    """Hashes of the optimizer's diagnostics, of what it recommends at the end, and of all the rest
    of a trace, under "".
    """
    reports = {n: v for n, v in record.columns.items() if n.startswith(f"{REPORTS}.")}
    others = {n: v for n, v in record.columns.items() if n not in reports}
    recommended = json.dumps(record.header.get(RECOMMENDATION), sort_keys=True)
    return {
        "": trace_hash(others),
        REPORTS: trace_hash(reports),
        RECOMMENDATION: hashlib.sha256(recommended.encode()).hexdigest(),
    }


def _kept(record: Record) -> Iterator[tuple[str, NDArray, bool]]:
    """Name and values of each column that is kept, and whether single precision is enough."""
    left_out = (*OBSERVED, *(CLOCK if "finished" in record.columns else ()))
    for name, values in record.columns.items():
        if name not in left_out and not name.startswith(f"{TIME}."):
            yield name, values, False
    if metrics.is_constrained(record):
        yield metrics.FEASIBLE, metrics.feasible(record), False
    if not metrics.is_on_arms(record):
        yield metrics.CENTRE, metrics.centre_distance(record), True
    yield SPENT, np.cumsum(record.columns[ASK] + record.columns[TELL]), True


def _extremes(record: Record) -> dict[str, object]:
    """What stays of the queries in a box, for the header; of a recommendation its value alone."""
    if metrics.is_on_arms(record):
        return {}
    recommended = dict(record.header.get(RECOMMENDATION, {}))
    recommended.pop("query", None)
    best, farthest = metrics.best_design(record), metrics.farthest_query(record)
    return {
        **({RECOMMENDATION: recommended} if recommended else {}),
        metrics.BEST: {"row": best.row, "query": best.query.tolist(), "g": best.g.tolist()},
        metrics.FARTHEST: farthest if np.isfinite(farthest) else None,
    }


def _is_noisy(values: NDArray) -> bool:
    """Whether a column is too large to be kept at every row: it changes often and is no count. NaN
    equals itself.
    """
    one, other = values[1:], values[:-1]
    is_same = (one == other) | (np.isnan(one) & np.isnan(other))
    kept = values[~np.isnan(values)]
    return bool((~is_same).sum() > MOST and (kept != np.rint(kept)).any())
