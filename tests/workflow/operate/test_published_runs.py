"""Real runs of every kind, published: every metric, the tables and the pictures read from published
records what they read from full ones.
"""

import shutil
import sys
from collections.abc import Iterator
from subprocess import run as process

import numpy as np
import pytest

from tests.workflow import checkout
from workflow.draw import picture, tabulate
from workflow.measure import metrics
from workflow.measure.store import Store
from workflow.operate import publish
from workflow.plan.expand import load

pytestmark = pytest.mark.slow  # records of every kind that were made up: measure/test_condense.py
RUNS = [  # by what is special about each
    ("bbkb", "abalone", "Global-BBKB"),  # arms, in batches
    ("bbkb", "nas", "Reg-evolution-async"),  # workers that do not wait, seconds of evaluations
    ("bbkb", "abalone", "uniform"),
    ("lcbo", "truss", "SCBO"),  # constraints, in batches
    ("lcbo", "truss", "LCBO"),  # iterations and roles
    ("dumbo", "six-hump-camel", "LineBO"),  # a box
    ("go_ucb", "f1", "GO-UCB"),
    ("go_ucb", "studies", "growth-condition"),
]
MEASURED = {"seconds", "total_seconds"}  # in single precision
ROUNDED = {*MEASURED, "centre_distance"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a seed of each run was made at scale smoke."""
    made = tmp_path_factory.mktemp("runs")
    (made / "data").mkdir()
    shutil.copy(checkout.ROOT / "data" / "manifest.yaml", made / "data")
    (made / "papers").symlink_to(checkout.ROOT / "papers")
    commands = [["fetch", name, "--substitutes", "allowed"] for name in ("abalone", "nasbench101")]
    commands += [["run", *names, "0", "--scale", "smoke"] for names in RUNS]
    for command in commands:
        done = process(
            [sys.executable, "-m", f"workflow.{command[0]}", *command[1:]],
            cwd=made,
            env={**checkout.offline(checkout.ROOT), "NOREGRET_SUBSTITUTES": "preferred"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    for paper in papers():
        outcome = publish.publish(paper, made / "results", made)
        assert outcome.errors == [] and outcome.counts[publish.ADDED] >= 1
    return made


def papers() -> list:
    return [load(name, "smoke", seeds="0") for name in dict.fromkeys(each[0] for each in RUNS)]


def runs() -> Iterator:
    for paper in papers():
        for name, problem, curve in RUNS:
            if name == paper.name:
                found = paper.study(curve) if problem == "studies" else paper.cell(problem, curve)
                yield paper, found


@pytest.fixture(scope="module")
def bare(folder, tmp_path_factory):
    """The same place with published records alone, without data."""
    copy = tmp_path_factory.mktemp("bare") / "clone"
    shutil.copytree(folder / "figures", copy / "figures")
    return copy


@pytest.mark.parametrize("number", range(len(RUNS)), ids=[" ".join(names) for names in RUNS])
def test_every_metric_of_a_published_run_is_that_of_the_full_records(folder, bare, number):
    paper, run = list(runs())[number]
    full, short = Store(paper, folder, fresh=True), Store(paper, bare)
    assert short.seeds(run) == full.seeds(run) == (0,)
    assert short.data(run) == full.data(run)
    one = full.record(run, 0)
    if "study" in one.header:
        for name in one.columns:
            np.testing.assert_array_equal(short.values(run, name), full.values(run, name))
        return
    assert short.versions(run) == full.versions(run)
    names = [*metrics.METRICS, *(name for name in one.columns if name.startswith("report."))]
    for name in names:
        if name == "centre_distance" and metrics.is_on_arms(one):
            continue
        expected, found = full.values(run, name), short.values(run, name)
        if name in ROUNDED:
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=name)
    for name in ("", "report", "recommendation"):
        assert short._trace(run, 0, name) == full._trace(run, 0, name)


def test_tables_and_pictures_are_the_same(folder, bare, tmp_path):
    drawn = 0
    for paper in papers():
        stores = [Store(paper, folder, partial=True, fresh=True), Store(paper, bare, partial=True)]
        for entry in paper.entry.get("tables", []):
            if entry["kind"] in ("parameters", "settings", "growth"):
                continue
            try:
                tables = [tabulate.build(paper, store, entry["id"]) for store in stores]
            except LookupError:
                continue
            for column in tables[0]:
                is_time = "seconds" in column
                left, right = (table[column].to_list() for table in tables)
                drawn += len(left)
                assert left == (pytest.approx(right, rel=1e-6) if is_time else right) or (
                    np.array_equal(left, right, equal_nan=True)
                ), (entry["id"], column)
        for entry in paper.entry.get("pictures", []):
            cells = picture.picture_cells(paper, entry["id"])
            if any(store.has(cell) for store in stores for cell in cells):
                one, other = (vars(picture.best_of(store, cells)) for store in stores)
                assert one.keys() == other.keys()
                for name, value in one.items():
                    np.testing.assert_array_equal(value, other[name])
                drawn += 1
    assert drawn > 20
