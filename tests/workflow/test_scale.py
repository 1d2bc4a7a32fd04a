"""A paper of ten thousand runs: planning, Snakemake and reports take seconds and a memory that does
not grow with the runs.
"""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from tests.workflow import scale, synthetic
from workflow.measure import recent
from workflow.plan import costs, selection

RUNS = 10_000
ROWS = 5000
MIB = 2**20


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """A checkout in which each run is a job of its own."""
    return scale.make(tmp_path_factory.mktemp("apart"), RUNS)


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """A checkout in which short runs share jobs, all of them finished."""
    copy = scale.make(tmp_path_factory.mktemp("together"), RUNS, seconds=scale.TOGETHER)
    scale.finish(copy)
    return copy


def test_the_made_up_paper_has_ten_thousand_runs_in_as_many_jobs_or_in_few(apart, together):
    one = scale.planned(apart)
    assert sum(len(cell.seeds) for cell in one.cells) == RUNS and not one.together()
    other = scale.planned(together)
    assert sum(map(len, other.together().values())) == len(other.cells) == RUNS / scale.SEEDS


@pytest.mark.slow
def test_the_rules_find_what_they_ask_for_of_ten_thousand_jobs(apart):
    """Rules ask for the cell and the cost of every job, and figures for all their records."""
    plan = scale.planned(apart)
    for cell in plan.cells:
        for _ in cell.seeds:
            part = plan.part(*cell.place)
            assert part.digest and costs.minutes(part, 1) > 0 and costs.memory_mb(part) > 0
    for line in plan.entry["figures"]:
        runs = selection.figure_runs(plan, line["id"])
        names = {run.name for run in runs}
        assert len(plan.records(runs)) == scale.SEEDS * len(names)


@pytest.mark.slow
def test_planning_snakemake_and_a_rerun_of_ten_thousand_runs_keep_their_limits(together):
    plan = scale.spent(together, "workflow.plan", "--scale", "paper")
    assert re.search(rf"^sum +1000 +{RUNS} ", plan.printed, re.MULTILINE)
    rerun = scale.snakemake(together)
    assert "Nothing to be done" in rerun.printed
    dry = scale.snakemake(together, "-n", "--forceall")
    assert re.search(r"^total +\d+", dry.printed, re.MULTILINE) and "Traceback" not in dry.printed
    assert max(plan.mib, dry.mib, rerun.mib) < 1024


def test_only_so_much_is_kept_and_what_was_asked_for_first_goes_first(monkeypatch):
    monkeypatch.setattr(recent, "KEPT", 25)
    made = []
    kept = recent.Recent(len)

    def get(key):
        return kept.get(key, lambda: made.append(key) or key * 10)

    assert [get(key) for key in "abaca"] == [key * 10 for key in "abaca"]
    assert made == ["a", "b", "c"]  # a was asked for again before c came, so b went
    assert get("b") == "b" * 10 and made == ["a", "b", "c", "b"]
    # more than may be kept, and nothing else then is
    assert kept.get("large", lambda: "x" * 100) == "x" * 100
    get("a")
    assert made == ["a", "b", "c", "b", "a"]


@pytest.fixture
def reading(tmp_path, monkeypatch):
    """reading(cells) -> a toy paper's store with three records of 5000 rows for each of so many
    cells, which keeps 1 MiB.
    """
    monkeypatch.setattr("os.fsync", lambda handle: None)
    monkeypatch.setattr(recent, "KEPT", MIB)

    def made(cells, problem="p"):
        toy = synthetic.Toy(tmp_path / str(cells), budget=ROWS, seeds=3)
        for number in range(cells):
            values = np.linspace(0, 0.9, ROWS) - number
            toy.add(f"A{number}", lambda seed, values=values: {"true": values}, problem=problem)
        return toy.paper, toy.store()

    return made


def peak(task):
    """Bytes at the peak of a task, and those of tables that Arrow still holds after it."""
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1], pa.total_allocated_bytes() - before
    finally:
        tracemalloc.stop()


# of the second the optimum is the best value of all runs
@pytest.mark.parametrize("problem", ["p", "open"])
def test_the_memory_of_a_report_does_not_grow_with_the_runs(reading, problem):
    peaks = []
    for cells in (8, 32):
        paper, store = reading(cells, problem)

        def report(paper=paper, store=store):
            store.check(paper.cells)
            for cell in paper.cells:
                ends = store.remembered(
                    (cell.name, "end"),
                    lambda cell=cell: store.values(cell, "cumulative_regret")[:, -1],
                )
                assert ends.shape == (3,)
                assert store.data(cell) == "real"

        peaks.append(peak(report))
    grown = np.subtract(peaks[1], peaks[0]) / (24 * 3)
    assert max(grown) < 8000  # bytes a run, of 400 000 in its record
    assert max(peaks[1]) < 3 * MIB  # what is kept, and one record under way


def test_a_metric_that_was_forgotten_is_computed_again(reading):
    paper, store = reading(40)
    first = [store.values(cell, "simple_regret")[:, -1].copy() for cell in paper.cells]
    again = [store.values(cell, "simple_regret")[:, -1] for cell in paper.cells]
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(np.array(first)[:, 0], 0.1 + np.arange(40))
