"""BKB, BBKB and BLESS pull for pull as in the authors' public codes, and where deliberate mistakes
part from them.

The noise and the uniform draws of those runs are given: `Draws` stands for the generator of a
method and answers as many uniforms as it asks for, those of the arms that it asks about.
"""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from algorithms.api import Arms, Array, Indices, Observation
from algorithms.bbkb import BBKB
from algorithms.bkb import BKB
from algorithms.parts.arms import GaussianTable, bless, include
from algorithms.parts.arms.bless import leverage
from problems import tables
from tests.parity.divergence import assert_same_run, first_divergence
from workflow.data.fetch import prepare
from workflow.data.manifest import read_manifest
from workflow.data.places import DataUnavailable

ROOT = Path(__file__).resolve().parents[2]
ORACLES = Path(__file__).parent / "oracles"
TABLES = {"abalone": tables.abalone, "cadata": tables.cadata}
BANDWIDTHS = {"abalone": 17.5, "cadata": 12.5, "synthetic": 0.5}
RULES = {"Global": "global", "GlobalLocal": "global-local"}
C = 2.0


class Instance(NamedTuple):
    """The arms (A, d), their values without noise (A,), and what the runs on them had."""

    points: Array
    f: Array
    noise: float  # standard deviation
    lam: float  # lambda = xi^2
    known: int  # arms 0..known-1 are told in one block before the first pull


class Trace(NamedTuple):
    """A run of the public code, or of a method here."""

    arms: Indices
    batches: list[int]
    regret: float  # of the pulls after the known ones
    dictionary: int


class Draws:
    """The uniforms of a run of the public code, in the order in which a method asks for them.

    The public code takes the known arms as its first dictionary and draws nothing for it; every
    later update takes one vector with a number for each arm.
    """

    def __init__(self, seed: int) -> None:
        self.state = np.random.RandomState(seed)
        self.started = False
        self.method: BKB | BBKB | None = None

    def random(self, size: int) -> Array:
        assert self.method is not None
        if not self.started:
            self.started = True
            return np.zeros(size)
        chosen = self.state.rand(len(self.method.domain))[self.method.pulls.arms]
        assert chosen.shape == (size,)
        return chosen


class Uniforms:
    """A generator of NumPy's older kind, as the public code of BLESS has it."""

    def __init__(self, seed: int) -> None:
        self.state = np.random.RandomState(seed)

    def random(self, size: int) -> Array:
        return self.state.rand(size)


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Instance]]:
    """instance(name): a real table, prepared from data/raw or the mirror; skips where neither has
    it.
    """
    root = tmp_path_factory.mktemp("tables")
    made: dict[str, Instance] = {}

    def build(name: str) -> Instance:
        if name not in made:
            made[name] = synthetic() if name == "synthetic" else table(name, root)
        return made[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOREGRET_SUBSTITUTES", "preferred")  # no server is asked
        if mirror := os.environ.get("NOREGRET_DATA", ""):
            patch.setenv("NOREGRET_DATA", mirror if "://" in mirror else os.path.abspath(mirror))
        (root / "data").mkdir()
        shutil.copy(ROOT / "data" / "manifest.yaml", root / "data")
        yield build


def table(name: str, root: Path) -> Instance:
    raw = Path("data", "raw", read_manifest(ROOT)[name].mirror.path)
    if (ROOT / raw).is_file() and not (root / raw).exists():
        (root / raw).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / raw, root / raw)
    try:
        data = prepare(name, root=root, substitutes=False)
    except DataUnavailable as error:
        pytest.skip(f"needs the real table: {str(error).partition(' Tried')[0]}")
    options = {"data": data, "noise": 0.01, "features": "z-scored", "target": "unit-interval"}
    problem = TABLES[name](np.random.default_rng(0), **options)
    every = np.arange(len(problem.domain.points))
    f = problem.evaluate(every, np.random.default_rng(0)).true.y
    return Instance(problem.domain.points, f, noise=0.01, lam=1e-4, known=2)


def synthetic() -> Instance:
    points = np.random.default_rng(7).random((500, 3))
    f = np.sin(6 * points[:, 0]) * np.cos(5 * points[:, 1]) + points[:, 2]
    return Instance(points, (f - f.min()) / np.ptp(f), noise=0.05, lam=0.1, known=100)


def oracle(key: str) -> Trace:
    name = "batch-bkb-block" if key.startswith("synthetic") else "batch-bkb"
    arrays = np.load(ORACLES / f"{name}.npz")
    rows = json.loads((ORACLES / f"{name}.json").read_text(encoding="utf-8"))
    (row,) = [row for row in rows if row["key"] == key]
    batches = arrays[f"{key}-batches"].tolist()
    assert len(batches) == row["batches"]
    return Trace(
        arrays[f"{key}-arms"].astype(np.int64), batches, row["regret"], row["dictionary"]
    )


def run(
    key: str,
    given: Instance,
    kind: type[BKB] | type[BBKB] | None = None,
    until: Indices | None = None,
    **changes: Any,
) -> Trace:
    """The method of an oracle's key on the same noise and draws; `kind` and `changes` make a
    mutant, which stops after the batch in which it parts from the pulls `until`.
    """
    name, method, T, seed = key.split("-")
    budget, rng = int(T), Draws(int(seed))
    parameters: dict[str, Any] = {
        "bandwidth": BANDWIDTHS[name],
        "lam": given.lam,
        "xi": math.sqrt(given.lam),
        "norm": 1.0,
        "delta": 1 / budget,
        "qbar": 2.0,
        "beta": "reference-code",
        "inclusion": "per-arm",
    }
    if method == "BKB":
        kind, own = kind or BKB, {"epsilon": 0.5}
    else:
        kind = kind or BBKB
        own = {"C": C, "rule": RULES[method], "parallelism": 0, "start": "resparsify"}
    optimizer = kind(Arms(given.points), rng, **{**parameters, **own, **changes})
    rng.method = optimizer
    noise = np.random.default_rng([int(seed), 1]).normal(0, given.noise, budget + 50)
    batches: list[int] = []
    query: Indices = np.arange(given.known)
    while True:
        t = len(optimizer.y)
        seen = given.f[query] + noise[t : t + len(query)]
        optimizer.tell(query, Observation.of(seen))
        t += len(query)
        if t >= budget or (until is not None and (optimizer.x != until[:t]).any()):
            break
        query = optimizer.ask(budget - t, query[:0])
        batches.append(len(query))
    regret = float((given.f.max() - given.f[optimizer.x[given.known :]]).sum())
    return Trace(optimizer.x, batches, regret, len(optimizer.posterior.dictionary))


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
def test_every_pull_is_that_of_the_public_code(
    key: str, instance: Callable[[str], Instance]
) -> None:
    expected, got = oracle(key), run(key, instance(key.partition("-")[0]))
    assert_same_run(expected.arms, got.arms)
    assert got.batches == expected.batches
    assert got.regret == pytest.approx(expected.regret, rel=1e-9)
    assert got.dictionary == expected.dictionary


class DoubledWidth(BBKB):
    @property
    def alpha(self) -> float:
        return 2 * super().alpha


class NegativeWidth(BBKB):
    @property
    def alpha(self) -> float:
        return -super().alpha


class CBeforeTheRoot(BBKB):
    @property
    def alpha(self) -> float:
        return self.C * self.confidence.reference_code(self.information)


class CInTheFirstWidth(BBKB):
    @property
    def alpha(self) -> float:
        return self.confidence.reference_code(self.C * self.information)


class BatchesWithoutC(BBKB):
    """Batches end as if C were 1; the width keeps C."""

    @property
    def alpha(self) -> float:
        drift = C if self.resparsifications > 1 else 1.0
        return self.confidence.reference_code(drift * self.information)

    def batch(self, room: int) -> Any:
        self.C = 1.0
        return super().batch(room)


class BatchesWithoutTheBreachingArm(BBKB):
    def batch(self, room: int) -> Any:
        arms, draft = super().batch(room)
        return arms[: max(len(arms) - 1, 1)], draft


class MoreForgetful(BBKB):
    """The dictionary is drawn with the variances after the batch."""

    def tell(self, query: Indices, obs: Observation) -> None:
        if self.resparsifications:
            after = self.posterior.variance / (1.0 + self.posterior.variance)
            changed = dict(vars(self.posterior), variance=after)
            self.posterior = type(self.posterior)(**changed)
        super().tell(query, obs)


class DoubledWidthOfBKB(BKB):
    @property
    def beta(self) -> float:
        return 2 * super().beta


GLOBAL, LOCAL, SINGLE, BLOCK = (
    "abalone-Global-10000-0",
    "abalone-GlobalLocal-10000-0",
    "abalone-BKB-1500-0",
    "synthetic-Global-1100-0",
)
MUTANTS = [  # what is wrong, and the first evaluation (0-based) that shows it
    pytest.param(GLOBAL, DoubledWidth, {}, 0, id="beta-doubled"),
    pytest.param(GLOBAL, NegativeWidth, {}, 0, id="sign-of-the-width"),
    pytest.param(GLOBAL, CBeforeTheRoot, {}, 0, id="C-before-the-root"),
    pytest.param(GLOBAL, BatchesWithoutC, {}, 0, id="no-C-in-the-batch-rule"),
    pytest.param(GLOBAL, BatchesWithoutTheBreachingArm, {}, 0, id="breaching-arm-left-out"),
    pytest.param(GLOBAL, MoreForgetful, {}, 0, id="variances-after-the-batch"),
    pytest.param(GLOBAL, BBKB, {"norm": 0.0}, 0, id="lambda-dropped-from-the-width"),
    pytest.param(GLOBAL, BBKB, {"inclusion": "per-pull"}, 0, id="a-draw-for-each-pull"),
    pytest.param(LOCAL, BBKB, {"rule": "global"}, 0, id="no-local-rule"),
    pytest.param(LOCAL, BBKB, {"rule": "global-local-appendix"}, 0, id="no-residual-in-the-rule"),
    pytest.param(SINGLE, DoubledWidthOfBKB, {}, 0, id="beta-of-BKB-doubled"),
    pytest.param(BLOCK, CInTheFirstWidth, {}, 0, id="C-in-the-first-width"),
    pytest.param(BLOCK, DoubledWidth, {}, 0, id="beta-doubled-after-a-block"),
]


@pytest.mark.parametrize(("key", "kind", "changes", "evaluation"), MUTANTS)
def test_a_mistake_is_noticed(
    key: str,
    kind: type[BKB] | type[BBKB],
    changes: Mapping[str, Any],
    evaluation: int,
    instance: Callable[[str], Instance],
) -> None:
    expected = oracle(key).arms
    got = run(key, instance(key.partition("-")[0]), kind, until=expected, **changes).arms
    parting = first_divergence(expected[: len(got)], got)
    assert parting is not None, "the mutant pulls what the public code pulls"
    assert parting.evaluation == evaluation, str(parting)
