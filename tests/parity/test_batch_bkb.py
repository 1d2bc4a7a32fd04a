"""BKB, BBKB and BLESS pull for pull as in the authors' public codes.

The noise and the uniform draws of those runs are given: `Draws` stands for the generator of a
method and answers as many uniforms as it asks for, those of the arms that it asks about.
"""

import json
import math
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.api import Arms, Observation
from algorithms.bbkb import BBKB
from algorithms.bkb import BKB
from algorithms.parts.arms import GaussianTable, bless
from algorithms.parts.arms.bless import leverage
from problems import tables
from tests.parity.divergence import assert_same_run
from workflow.data.fetch import prepare
from workflow.data.manifest import read_manifest
from workflow.data.places import DataUnavailable

ROOT = Path(__file__).resolve().parents[2]
ORACLES = Path(__file__).parent / "oracles"
TABLES = {"abalone": tables.abalone, "cadata": tables.cadata}
BANDWIDTHS = {"abalone": 17.5, "cadata": 12.5, "synthetic": 0.5}
RULES = {"Global": "global", "GlobalLocal": "global-local"}
C = 2.0


class Draws:
    """The uniforms of a run of the public code, in the order in which a method asks for them.

    The public code takes the known arms as its first dictionary and draws nothing for it; every
    later update takes one vector with a number for each arm.
    """

    def __init__(self, seed):
        self.state = np.random.RandomState(seed)
        self.started = False
        self.method = None

    def random(self, size):
        if not self.started:
            self.started = True
            return np.zeros(size)
        chosen = self.state.rand(len(self.method.domain))[self.method.pulls.arms]
        assert chosen.shape == (size,)
        return chosen


class Uniforms:
    """A generator of NumPy's older kind, as the public code of BLESS has it."""

    def __init__(self, seed):
        self.state = np.random.RandomState(seed)

    def random(self, size):
        return self.state.rand(size)


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    """instance(name): a real table, prepared from data/raw or the mirror; skips where neither has
    it and no mirror is named, fails where a named one lacks it.
    """
    root = tmp_path_factory.mktemp("tables")
    made = {}

    def build(name):
        if name not in made:
            made[name] = synthetic() if name == "synthetic" else table(name, root)
        found = made[name]
        if isinstance(found, DataUnavailable):
            if "NOREGRET_DATA" in os.environ:  # who names a mirror wants the comparison
                raise found
            pytest.skip(f"needs the real table: {str(found).partition(' Tried')[0]}")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOREGRET_SUBSTITUTES", "preferred")  # no server is asked
        (root / "data").mkdir()
        shutil.copy(ROOT / "data" / "manifest.yaml", root / "data")
        yield build


def table(name, root):
    """Arms and their values without noise; arms 0..known-1 are told before the first pull."""
    raw = Path("data", "raw", read_manifest(ROOT)[name].mirror[0].path)
    if (ROOT / raw).is_file() and not (root / raw).exists():
        (root / raw).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / raw, root / raw)
    try:
        data = prepare(name, root=root, substitutes=False)
    except DataUnavailable as error:
        return error
    options = {"data": data, "noise": 0.01, "features": "z-scored", "target": "unit-interval"}
    problem = TABLES[name](np.random.default_rng(0), **options)
    every = np.arange(len(problem.domain.points))
    f = problem.evaluate(every, np.random.default_rng(0)).true.y
    return SimpleNamespace(points=problem.domain.points, f=f, noise=0.01, lam=1e-4, known=2)


def synthetic():
    points = np.random.default_rng(7).random((500, 3))
    f = np.sin(6 * points[:, 0]) * np.cos(5 * points[:, 1]) + points[:, 2]
    f = (f - f.min()) / np.ptp(f)
    return SimpleNamespace(points=points, f=f, noise=0.05, lam=0.1, known=100)


def oracle(key):
    """Arms, batches, regret of the pulls after the known ones, and size of the dictionary."""
    name = "batch-bkb-block" if key.startswith("synthetic") else "batch-bkb"
    arrays = np.load(ORACLES / f"{name}.npz")
    rows = json.loads((ORACLES / f"{name}.json").read_text(encoding="utf-8"))
    (row,) = [row for row in rows if row["key"] == key]
    batches = arrays[f"{key}-batches"].tolist()
    assert len(batches) == row["batches"]
    return arrays[f"{key}-arms"].astype(np.int64), batches, row["regret"], row["dictionary"]


def run(key, given):
    """The method of an oracle's key on the same noise and draws."""
    name, method, T, seed = key.split("-")
    budget, rng = int(T), Draws(int(seed))
    parameters = {"bandwidth": BANDWIDTHS[name], "lam": given.lam, "xi": math.sqrt(given.lam)}
    parameters |= {"norm": 1.0, "delta": 1 / budget, "qbar": 2.0}
    parameters |= {"beta": "reference-code", "inclusion": "per-arm"}
    if method == "BKB":
        kind, own = BKB, {"epsilon": 0.5}
    else:
        kind = BBKB
        own = {"C": C, "rule": RULES[method], "parallelism": 0, "start": "resparsify"}
    optimizer = kind(Arms(given.points), rng, **parameters, **own)
    rng.method = optimizer
    noise = np.random.default_rng([int(seed), 1]).normal(0, given.noise, budget + 50)
    batches, query = [], np.arange(given.known)
    while True:
        t = len(optimizer.y)
        seen = given.f[query] + noise[t : t + len(query)]
        optimizer.tell(query, Observation.of(seen))
        t += len(query)
        if t >= budget:
            break
        query = optimizer.ask(budget - t, query[:0])
        batches.append(len(query))
    regret = float((given.f.max() - given.f[optimizer.x[given.known :]]).sum())
    return optimizer.x, batches, regret, len(optimizer.posterior.dictionary)


@pytest.mark.parametrize(
    "key",
    [
        "abalone-Global-10000-0",
        "abalone-Global-10000-1",
        "abalone-GlobalLocal-10000-0",
        "abalone-BKB-1500-0",
        "cadata-Global-2000-0",
        "cadata-GlobalLocal-2000-0",
        "synthetic-Global-1100-0",
        "synthetic-GlobalLocal-1100-0",
    ],
)
def test_every_pull_is_that_of_the_public_code(key, instance):
    theirs, *expected = oracle(key)
    ours, *found = run(key, instance(key.partition("-")[0]))
    assert_same_run(theirs, ours)
    assert found == [expected[0], pytest.approx(expected[1], rel=1e-9), expected[2]]


def table_of_bless(name, instance):
    """The kernel and pulls of an oracle: all arms, some repeated, or 2000 rows of a real table."""
    source = "abalone" if name == "abalone" else "synthetic"
    pulls = {
        "synthetic": np.arange(500),
        "repeats": np.random.default_rng(8).integers(500, size=800),
        "abalone": np.arange(2000),
    }
    return GaussianTable(instance(source).points, BANDWIDTHS[source]), pulls[name]


BLESS = np.load(ORACLES / "bless.npz")
BLESS_RUNS = [name.removesuffix("-dictionary") for name in BLESS if name.endswith("-dictionary")]


def blessed(key, kernel, pulls):
    """Places of the pulls that BLESS takes, with the uniforms of the public code."""
    _, lam, seed = key.split("-")
    return np.flatnonzero(bless(kernel, pulls, float(lam), 2.0, Uniforms(int(seed))))


@pytest.mark.parametrize("name", ["synthetic", "repeats", "abalone"])
def test_bless_takes_the_pulls_that_its_public_code_takes(name, instance):
    kernel, pulls = table_of_bless(name, instance)
    keys = [key for key in BLESS_RUNS if key.startswith(f"{name}-")]
    assert len(keys) >= 8
    for key in keys:
        assert_same_run(BLESS[f"{key}-dictionary"], blessed(key, kernel, pulls))


def test_bless_runs_as_many_rounds_as_its_public_code(instance, monkeypatch):
    kernel, pulls = table_of_bless("synthetic", instance)
    sizes = []

    def spy(kernel, dictionary, *others):
        sizes.append(len(dictionary))
        return leverage(kernel, dictionary, *others)

    monkeypatch.setitem(bless.__globals__, "leverage", spy)  # the function hides its module
    last = len(blessed("synthetic-0.01-0", kernel, pulls))
    assert [*sizes[1:], last] == BLESS["synthetic-0.01-0-sizes"].tolist()
