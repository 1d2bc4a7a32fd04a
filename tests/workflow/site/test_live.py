"""Claims judged in the page: at the settings of the report every verdict and every p-value is that
of Python, for every test that a check may have, and moved settings do what Python would do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.workflow.site import chromium
from tests.workflow.site.chromium import Chromium
from tests.workflow.synthetic import Toy
from workflow.judge import claims, ledger, seed_values
from workflow.judge.checks import TESTS
from workflow.plan.reads import stated
from workflow.plan.resolve import ROOT
from workflow.site.build import STATIC

pytestmark = pytest.mark.skipif(
    not chromium.find(), reason="no Chromium in PATH: the pages are not opened"
)
NUMBERS = {  # of a comparison: as verdicts.json and as the page names them
    "effect": "effect",
    "low": "low",
    "high": "high",
    "p": "p",
    "p_flip": "flip",
    "p_against": "against",
    "n": "n",
}
SIDES = {"metric": "simple_regret", "problems": ["p"]}
REGRET = {"metric": "cumulative_regret", "problems": ["p"], "curves": ["A", "D"]}
CHECKS: list[dict[str, Any]] = [
    {**SIDES, "test": "less", "left": ["A"], "right": ["B", "C"]},
    {**SIDES, "test": "less", "left": ["A"], "right": ["B", "D"]},
    {**SIDES, "test": "less", "left": ["A"], "right": ["C"]},
    {**SIDES, "test": "less", "left": ["B"], "right": ["A", "C"]},
    {**SIDES, "test": "less", "left": ["A"], "right": ["B"], "factor": 0.8},
    {**SIDES, "test": "less", "left": ["A"], "right": ["B"], "compare": "ratio", "factor": 0.9},
    {**SIDES, "test": "less", "left": ["A"], "right": ["E"]},
    {**SIDES, "test": "less", "left": ["A"], "right": ["absent"]},
    {**SIDES, "test": "less", "left": ["A"], "right": ["B"], "relative_to": "C"},
    {**SIDES, "test": "more", "left": ["B", "C"], "right": ["A"]},
    {**SIDES, "test": "more", "left": ["A"], "right": 0.05},
    {"test": "less", "study": "s", "left": "gap", "right": "one"},
    {"test": "more", "study": "s", "left": "one", "right": "gap", "at": "max"},
    {**SIDES, "test": "equivalent", "left": ["A"], "right": ["C"], "absolute": 0.2},
    {**SIDES, "test": "equivalent", "left": ["A"], "right": ["C"], "tolerance": 0.1},
    {**SIDES, "test": "equivalent", "left": ["A"], "right": ["B"], "absolute": 0.05},
    {**SIDES, "test": "spread", "left": ["A"], "right": ["B"]},
    {**SIDES, "test": "spread", "left": ["A"], "right": ["D"], "factor": 1.01},
    {**SIDES, "test": "passes", "left": ["A"], "right": ["B"], "at_most": 40},
    {**SIDES, "test": "passes", "left": ["B"], "right": ["A"], "at_most": 40},
    {**REGRET, "test": "exponent", "from": 5, "at_most": 0.9},
    {**REGRET, "test": "exponent", "from": 5, "at_least": 0.45, "at_most": 0.55},
    {**REGRET, "test": "exponent", "from": 5, "at_least": 0.6},
    {**REGRET, "test": "monotone", "direction": "increasing"},
    {**REGRET, "test": "monotone", "direction": "decreasing"},
    {**SIDES, "test": "share", "curves": ["A", "D"], "event": {"at_most": 0.3}, "at_least": 0.5},
    {**SIDES, "test": "share", "curves": ["B"], "event": {"at_least": 0.3}, "at_most": 0.4},
    {**SIDES, "test": "share", "curves": ["A"], "event": {"at_most": 9}, "at_least": 1.0},
    {**SIDES, "test": "published", "curves": ["A"], "value": 0.21, "tolerance": 0.3},
    {**SIDES, "test": "published", "curves": ["B"], "value": 0.2, "tolerance": 0.1},
    {"test": "band", "study": "s", "column": "one", "at_least": 0.1, "at_most": 1.9},
    {"test": "band", "study": "s", "column": "gap", "at_most": 3.0},
    {"test": "band", "study": "s", "column": "one", "at_most": 1.0, "share": 0.4},
    {"test": "band", "study": "few", "column": "one", "at_least": 0.0},
    {"test": "bound", "study": "s", "left": "one", "right": "three", "factor": 1.0},
    {"test": "bound", "study": "s", "left": "one", "right": "three", "factor": 0.2},
    {"test": "bound", "study": "s", "left": "one", "right": "three", "factor": 0.2, "plus": 2.0},
    {**SIDES, "test": "less", "left": ["C"], "right": ["A"]},
]


@dataclass(frozen=True)
class Judged:
    """The claims of a report, as Python judged them, and the numbers behind them."""

    name: str
    verdicts: dict[str, Any]
    values: dict[str, Any]


def _toy(root: Path) -> Toy:
    """Ten seeds of A, B and C, eight of D, four of E; columns of studies, some of them infinite."""
    toy = Toy(root)
    steps = np.sqrt(np.arange(1.0, 61.0))
    levels = {"A": (0.2, 10), "B": (0.3, 10), "C": (0.21, 10), "D": (0.25, 8), "E": (0.4, 4)}
    for key, (name, (level, seeds)) in enumerate(levels.items()):
        draws = np.random.default_rng(key).standard_normal(10)
        toy.entry["algorithms"][name] = {"is": "random_search.RandomSearch"}

        def true(seed: int, level: float = level, draws: Any = draws) -> dict[str, Any]:
            return {"true": 1 - level * np.exp(0.25 * draws[seed]) * steps[-1] / steps}

        toy.add(name, true, seeds=seeds)
    code = np.random.default_rng(9).standard_normal(10)
    settings = {"beta": "code"}
    toy.entry["readings"]["code"]["algorithms"] = {"A": settings}
    toy.add("A", lambda seed: {"true": 0.5 + 0.1 * code[seed]}, reading="code", settings=settings)
    random = np.random.default_rng(8)
    one = random.uniform(0.2, 1.8, (10, 6))
    gap = one + random.uniform(0.0, 1.0, (10, 6))
    gap[:3, -1] = math.inf

    def columns(seed: int) -> dict[str, Any]:
        return {"one": one[seed], "gap": gap[seed], "three": np.full(6, 3.0)}

    toy.study("s", columns)
    toy.study("few", columns, seeds=3)
    for number, check in enumerate(CHECKS):
        told = {"id": f"c{number}", "where": "Fig. 1", "says": "it holds", "check": check}
        toy.entry["claims"].append({**told, "deterministic": True} if number == 33 else told)
    toy.entry["algorithms"]["absent"] = {"is": "random_search.RandomSearch"}
    absent = toy.cells["p", "A"]
    toy.cells["p", "absent"] = replace(absent, algorithm="absent")
    return toy


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> Toy:
    return _toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def made(toy) -> Judged:
    store = toy.store(partial=True)
    verdicts = [claims.judge(toy.paper, store, claim) for claim in toy.entry["claims"]]
    told = json.loads(ledger.as_json(toy.paper, verdicts))
    values = json.loads(seed_values.as_json(toy.paper, store, verdicts))
    return Judged("toy", {one["id"]: one for one in told["claims"]}, values["claims"])


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser in a page with nothing but what judges."""
    page = tmp_path_factory.mktemp("judge") / "page.html"
    page.write_text(f'<!doctype html><script src="{(STATIC / "judge.js").as_uri()}"></script>')
    with Chromium() as started:
        started.open(page.as_uri())
        yield started


def live(browser: Chromium, values: Any, **settings: Any) -> dict[str, Any]:
    """All claims of a report, judged in the browser; JSON has neither NaN nor infinity."""
    told = (
        "(values, settings) => JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(values)"
        ".map(([name, claim]) => [name, judging.judge(claim, settings)]))))"
    )
    return browser.evaluate(f"({told})({json.dumps(values)}, {json.dumps(settings)})")


def numbers(told: dict[str, Any], keys: Iterable[str]) -> list[float]:
    """Some numbers of a comparison; null is none."""
    return [math.nan if told[key] is None else float(told[key]) for key in keys]


def reports(made: Judged) -> list[Judged]:
    """The made-up report, and the committed ones that have the numbers of their seeds; but for
    claims in several settings, which the page judges not.
    """
    found = [made]
    for path in sorted((ROOT / "figures" / "reference").glob("*/seed-values.json")):
        told = json.loads((path.parent / "verdicts.json").read_text(encoding="utf-8"))
        values = json.loads(path.read_text(encoding="utf-8"))["claims"]
        alone = {name: one for name, one in values.items() if one.get("is_one", True)}
        found.append(Judged(path.parent.name, {one["id"]: one for one in stated(told)}, alone))
    return found


def test_the_made_up_claims_have_every_test_and_outcome(made):
    assert {check["test"] for check in CHECKS} == TESTS.keys()
    outcomes = {one["observed"] for one in made.verdicts.values()}
    words = {"reproduced", "direction only", "inconclusive", "contradicted", "not run"}
    assert outcomes >= words, outcomes
    parts = [part for claim in made.values.values() for part in claim["default"]["parts"]]
    assert any("narrow" in part for part in parts) and any("missing" in part for part in parts)
    assert any(len(part["looks"]) == looks for part in parts for looks in (0, 1, 2))
    assert any(claim["readings"] for claim in made.values.values())


def test_every_verdict_is_that_of_python(browser, made):
    for report in reports(made):
        found = live(browser, report.values)
        mine, theirs = {}, {}
        for name, judged in found.items():
            for reading, one in {"": judged["default"], **judged["readings"]}.items():
                known = report.verdicts[name]
                known = known["readings"][reading] if reading else known
                was_run = not reading or one["observed"] != "not run"
                mine[name, reading] = one["verdict"] if was_run else "not run", one["observed"]
                theirs[name, reading] = known["verdict"], known["observed"]
        assert mine == theirs, report.name
        reasons = {name: set(judged["default"]["reasons"]) for name, judged in found.items()}
        known = {name: set(report.verdicts[name]["reasons"]) for name in found}
        assert reasons == known, report.name


def test_every_number_is_that_of_python(browser, made):
    for report in reports(made):
        for name, judged in live(browser, report.values).items():
            known = {one["what"]: one for one in report.verdicts[name]["comparisons"]}
            for one in judged["default"]["comparisons"]:
                if not one.get("missing"):
                    what = next(key for key in known if key.startswith(one["words"]))
                    mine = numbers(one, NUMBERS.values())
                    theirs = numbers(known[what], NUMBERS)
                    told = pytest.approx(theirs, rel=1e-7, abs=1e-12, nan_ok=True)
                    assert mine == told, (name, what)
                    for key in ("side", "few", "undecided", "decides", "looks"):
                        assert one[key] == known[what][key], (name, what, key)


@pytest.mark.parametrize(
    ("key", "value", "test"),
    [
        ("factor", 0.62, "less"),
        ("factor", 1.3, "more"),
        ("absolute", 0.02, "equivalent"),
        ("tolerance", 0.9, "equivalent"),
        ("tolerance", 0.9, "published"),
        ("factor", 1.4, "spread"),
        ("at_most", 15, "passes"),
        ("at_most", 0.4, "exponent"),
        ("at_least", 0.9, "share"),
        ("at_most", 1.7, "band"),
        ("factor", 0.5, "bound"),
    ],
)
def test_a_moved_number_is_judged_as_python_would(browser, toy, made, key, value, test):
    moved = {
        claim["id"]: {**claim, "check": {**claim["check"], key: value}}
        for claim in toy.entry["claims"]
        if claim["check"]["test"] == test and (key in claim["check"] or key == "factor")
        if "share" not in claim["check"] and not claim["check"].get("plus")
    }
    found = live(browser, {name: made.values[name] for name in moved}, numbers={key: value})
    store = toy.store(partial=True)
    theirs = {
        name: claims.by_default(toy.paper, store, claim).observed for name, claim in moved.items()
    }
    assert {name: one["default"]["observed"] for name, one in found.items()} == theirs
    assert moved and theirs != {name: made.verdicts[name]["observed"] for name in moved}


def test_a_level_decides_at_both_looks(browser, made):
    """A claim of ten seeds is reproduced as soon as the level of the last look reaches its p."""
    one = made.verdicts["c2"]
    (comparison,) = one["comparisons"]
    assert (one["verdict"], comparison["n"], comparison["level"]) == ("direction only", 10, 0.026)
    reaches = 0.05 * comparison["p"] / 0.026
    for factor, outcome in ((0.99, "direction only"), (1.01, "reproduced")):
        found = live(browser, {"c2": made.values["c2"]}, level=factor * reaches)
        assert found["c2"]["default"]["verdict"] == outcome


def test_with_seeds_left_out_there_is_one_look_at_the_others(browser, made):
    (part,) = made.values["c2"]["default"]["parts"]
    found = live(browser, {"c2": made.values["c2"]}, without=[0, 4])["c2"]["default"]
    kept = [i for i, seed in enumerate(part["seeds"]) if seed not in (0, 4)]
    left, right = (np.array(part[side])[kept] for side in ("left", "right"))
    (one,) = found["comparisons"]
    assert (one["n"], one["level"]) == (8, 0.05)
    assert one["p"] == pytest.approx(stats.ttest_rel(left, right, alternative="less").pvalue)
    few = live(browser, {"c2": made.values["c2"]}, without=list(range(6)))["c2"]["default"]
    assert (few["verdict"], few["reasons"]) == ("not decided", ["4 seeds, 5 are needed"])
    none = live(browser, {"c2": made.values["c2"]}, without=list(range(10)))["c2"]["default"]
    assert none["verdict"] == "not decided"
