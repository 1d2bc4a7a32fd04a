"""Ten thousand runs: plans and Snakemake take seconds, memory does not grow with the runs."""

import re
import subprocess
import sys
import tracemalloc
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
import yaml

from tests.workflow import checkout, synthetic
from workflow.measure import recent
from workflow.operate.publish import write_measured
from workflow.plan import costs
from workflow.plan.costs import Measured
from workflow.plan.exhibits import LEDGER, lines_of
from workflow.plan.expand import load

RUNS, SEEDS = 10_000, 10
ROWS = 5000
MIB = 2**20
# one row of 45 curves, and of five that no reading or variant reaches, on each problem
METHODS = [f"method-{number}" for number in range(1, 10)]
CONTROLS = [f"control-{number}" for number in range(1, 6)]
TASKS = [f"task-{number}" for number in range(1, RUNS // (50 * SEEDS) + 1)]


def paper():
    """The YAML of the paper; of half of its problems the optimum is the best value of all runs."""
    task = {"is": "synthetic.styblinski_tang", "d": 2, "low": -5, "high": 5, "noise": 0.1}
    task |= {"budget": 1000, "room": 1, "init": {"design": "uniform", "n": 1}}
    averages = {"is": "average_of_k.AverageOfK"}
    panels = [{"problem": task, "title": task} for task in TASKS]
    best = {"metric": "simple_regret", "curves": METHODS}
    ends = {"problems": TASKS, "curves": METHODS, "readings": ["default", "many", "more"]}
    said = {"where": "nowhere", "says": "the first method is the best"}
    first = {"test": "less", "metric": "simple_regret", "left": METHODS[:1], "right": METHODS[1:]}
    seen = ({}, {"optimum": "best-seen"})
    return {
        "paper": {"key": "large", "title": "A large paper", "venue": "nowhere"},
        "scales": {"smoke": {"budget": 30}, "paper": {}},
        "seeds": SEEDS,
        "problems": {name: task | seen[odd % 2] for odd, name in enumerate(TASKS)},
        "algorithms": {
            name: {**averages, "k": k} for k, name in enumerate([*METHODS, *CONTROLS], 2)
        },
        "readings": {
            name: {"says": f"it takes {k} points", "algorithms": {one: {"k": k} for one in METHODS}}
            for name, k in (("many", 40), ("more", 50))
        },
        "variants": {f"k-{k}": {"k": k} for k in (60, 70)},
        "runs": [
            {},
            {"algorithms": METHODS, "readings": ["many", "more"]},
            {"algorithms": METHODS, "variants": ["k-60", "k-70"]},
        ],
        "figures": [
            {"id": "best", **best, "controls": CONTROLS[:1], "panels": panels[:6]},
            *(
                {"id": f"sum-{number}", **best, "panels": [panel], "reading": "many"}
                for number, panel in enumerate(panels)
            ),
        ],
        "tables": [{"id": "ends", "kind": "feasible", **ends}],
        "ranks": [{"id": "ranks", "title": "Ranks", "problems": TASKS, **best}],
        "claims": [
            {**said, "id": f"first-{number}", "check": {**first, "problems": [task]}}
            for number, task in enumerate(TASKS)
        ],
    }


def make(folder, seconds):
    """A checkout with this paper alone, each run of which costs so many CPU seconds."""
    copy = checkout.make(folder)
    (copy / "papers" / "mini.yaml").unlink()
    entry = paper()
    (copy / "papers" / "large.yaml").write_text(yaml.safe_dump(entry, sort_keys=False))
    lines = [
        Measured("large", problem, curve, 1000, seconds, seconds, 300)
        for problem in entry["problems"]
        for curve in entry["algorithms"]
    ]
    write_measured(lines, copy / costs.TABLE)
    return copy


@pytest.fixture
def own_costs():
    """Other tests of this process meet the costs of the project again."""
    yield
    costs.table.cache_clear()
    costs.estimate.cache_clear()


def planned(copy):
    """The plan by this process's code; from then on runs cost what the table of the copy says."""
    costs.table.cache_clear()
    costs.estimate.cache_clear()
    with patch("workflow.plan.costs.ROOT", copy):
        plan = load("large", "paper", root=copy)
        _ = costs.table()
    return plan


def spent(copy, *arguments):
    """What `python -m ARGUMENTS` prints, the MiB of its peak, and its CPU seconds: as a small
    process sees them, since the peak of a child begins at what its parent has.
    """
    probe = (
        "import resource, subprocess, sys;"
        " code = subprocess.run([sys.executable, '-m', *sys.argv[1:]]).returncode;"
        " used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        " print('', used.ru_maxrss, used.ru_utime, sep='\\n');"
        " sys.exit(code)"
    )
    command = [sys.executable, "-c", probe, *arguments]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "check": False}
    done = subprocess.run(command, cwd=copy, env=checkout.offline(copy), **how)
    assert done.returncode == 0, done.stdout
    printed, peak, seconds = done.stdout.rstrip().rsplit("\n", 2)
    return printed, int(peak) / 1024, float(seconds)


def finish(copy):
    """Leave an empty file in the place of each output of the workflow, records first."""
    plan = planned(copy)
    drawn = [file for kind, line in lines_of(plan.entry) for file in kind.files(line)]
    figures = [f"figures/paper/large/{name}" for name in [*LEDGER, *drawn]]
    for name in [*plan.records(plan.every_curve), *figures]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).touch()


@pytest.mark.slow
@pytest.mark.usefixtures("own_costs")
def test_ten_thousand_runs_are_as_many_jobs_or_few_and_keep_their_limits(tmp_path):
    (tmp_path / "apart").mkdir()
    one = planned(make(tmp_path / "apart", seconds=400.0))
    assert sum(len(curve.seeds) for curve in one.curves) == RUNS and not one.together()
    copy = make(tmp_path, seconds=0.2)
    other = planned(copy)
    assert sum(map(len, other.together().values())) == len(other.curves) == RUNS / SEEDS

    printed, most, _ = spent(copy, "workflow.status", "--scale", "paper")
    assert re.search(rf"^total +{RUNS} ", printed, re.MULTILINE) and most < 1024
    finish(copy)
    for arguments, said, few in [
        ((), "Nothing to be done", 16),
        (("-n", "--forceall"), r"\ntotal +\d+", 20),
    ]:
        command = ("snakemake", "--cores", "2", *arguments, "--config", "scale=paper")
        printed, most, seconds = spent(copy, *command)
        assert re.search(said, printed) and "Traceback" not in printed and most < 1024
        assert seconds < few, arguments  # 8 s were measured


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
    """reading(curves) -> a toy store that keeps 1 MiB, three records of 5000 rows a curve."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    monkeypatch.setattr(recent, "KEPT", MIB)

    def made(curves, problem="p"):
        toy = synthetic.Toy(tmp_path / str(curves), budget=ROWS, seeds=3)
        for number in range(curves):
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
    for curves in (8, 32):
        paper, store = reading(curves, problem)

        def report(paper=paper, store=store):
            store.check(paper.curves)
            for curve in paper.curves:
                ends = store.remembered(
                    (curve.name, "end"),
                    lambda curve=curve: store.values(curve, "cumulative_regret")[:, -1],
                )
                assert ends.shape == (3,)
                assert store.data(curve) == "real"

        peaks.append(peak(report))
    grown = np.subtract(peaks[1], peaks[0]) / (24 * 3)
    assert max(grown) < 8000  # bytes a run, of 400 000 in its record
    assert max(peaks[1]) < 3 * MIB  # what is kept, and one record under way


def test_a_metric_that_was_forgotten_is_computed_again(reading):
    paper, store = reading(40)
    first = [store.values(curve, "simple_regret")[:, -1].copy() for curve in paper.curves]
    again = [store.values(curve, "simple_regret")[:, -1] for curve in paper.curves]
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(np.array(first)[:, 0], 0.1 + np.arange(40))
