"""The numbers in the prose of docs/results.md are those of the committed reports and records."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from workflow.plan.resolve import papers
from workflow.trace import curve_file
from workflow.trace.curves import PUBLISHED

ROOT = Path(__file__).resolve().parents[2]
PAGE = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())


@cache
def report(paper):
    return json.loads((ROOT / "figures/reference" / paper / "verdicts.json").read_text("utf-8"))


def fit(paper, experiment, method, problem, reading=""):
    """Our last number and the published one, of a method that has both."""
    fits = report(paper)["published"][experiment]["fits"][reading]
    same = [one for one in fits if (one["method"], one["problem"]) == (method, problem)]
    return same[0]["ours"][-1], same[0]["published"][-1]


def factor(paper, experiment, reading="", scored="score"):
    """How far a reading is from the published numbers: those that chose it, or the `test`."""
    scores = report(paper)["published"][experiment]["scores"]
    (score,) = [one[scored] for one in scores if one["reading"] == reading]
    return np.exp(score)


def ends(problem, curve, evaluations=110):
    """The best value of each seed of a curve of DuMBO's, below the optimum where there is one."""
    path = ROOT / PUBLISHED / "paper" / "dumbo" / problem / f"{curve}.parquet"
    runs = curve_file.read(path).values()
    values = np.array([kept.columns["true"][:evaluations].max() for kept in runs])
    return np.array([kept.header.get("best") or 0 for kept in runs]) - values


def share_of_gp_ucb():
    """The least and the largest of the seeds of BKB's regret over GP-UCB's at qbar = 2."""
    path = ROOT / PUBLISHED / "paper" / "bkb" / "studies" / "known-norm.parquet"
    shares = []
    for kept in curve_file.read(path).values():
        at = (kept.columns["t"] == 30000) & (kept.columns["qbar"] == 2)
        shares.append((kept.columns["regret"][at] / kept.columns["gpucb_regret"][at]).item())
    return min(shares), max(shares)


def claim(paper, name):
    (found,) = [one for one in report(paper)["claims"] if one["id"] == name]
    return found


def misses():
    """In how many of 100 instances ADMM misses the maximum, at two tolerances."""
    found = sorted(
        claim("dumbo", "theorem-5-1")["comparisons"], key=lambda one: "0.001" in one["what"]
    )
    return [100 * (1 - one["effect"]) for one in found]


SAID = {  # what the page says, with a group for each number, and what these are
    r"ends at ([\d.]+) of uniform search's regret; the poster has ([\d.]+)\.": (
        lambda: fit("bbkb", "tables", "Global-BBKB", "cadata")
    ),
    r"that reading lies \[a factor of ([\d.]+)\]\S* from the poster": lambda: [
        factor("bbkb", "tables", "variance")
    ],
    r"are a factor of (\d+) away as printed, and of (\d+) in the nearest setting": lambda: [
        round(factor("bbkb", "tables", one, "test")) for one in ("", "variance")
    ],
    r"from the poster, one number for all methods a factor of ([\d.]+)\.": lambda: [
        np.exp(report("bbkb")["published"]["tables"]["alike"])
    ],
    r"\(reading `variance`\) BBKB ends at ([\d.]+)\.": (
        lambda: fit("bbkb", "tables", "Global-BBKB", "cadata", "variance")[:1]
    ),
    r"Regret is then ([\d.]+) to ([\d.]+) times that of GP-UCB": share_of_gp_ucb,
    r"reading is a factor of ([\d.]+) from them, where [^.]* a factor of ([\d.]+)\.": lambda: [
        factor("dumbo", "synthetic", "one-start"),
        np.exp(report("dumbo")["published"]["synthetic"]["alike"]),
    ],
    r"a factor of ([\d.]+) away on the rover": lambda: [factor("dumbo", "rover", "curve-ends")],
    r"of ([\d.]+) in cosmology": lambda: [factor("dumbo", "cosmology", "no-floor")],
    r"learns nothing, ends at (\d+) and (\d+)\.": (
        lambda: [ends(problem, "average-of-5").mean() for problem in ("powell", "rastrigin")]
    ),
    r"end at (\d+) on Powell, a fifth of our DuMBO's": lambda: [
        ends("powell", "DuMBO@random-decompositions").mean()
    ],
    r"The paper has (\d+) and (\d+) for DuMBO\. Ours ends at (\d+) and (\d+)\.": lambda: [
        *(fit("dumbo", "synthetic", "DuMBO", problem)[1] for problem in ("powell", "rastrigin")),
        *(fit("dumbo", "synthetic", "DuMBO", problem)[0] for problem in ("powell", "rastrigin")),
    ],
    r"maximum in (\d+) of 100 small instances, and in (\d+) at a tight tolerance": misses,
    r"the contradiction does not remain \(q = ([\d.]+)\)": lambda: [
        claim("lcbo", "early-lead")["q"]
    ],
}


@pytest.mark.parametrize("words", SAID)
def test_a_number_of_the_page_is_that_of_the_report(words):
    found = re.search(words, PAGE)
    assert found, f"docs/results.md does not say {words!r} any more: change both"
    printed, true = found.groups(), list(SAID[words]())
    assert len(printed) == len(true)
    for number, value in zip(printed, true, strict=True):
        digits = len(number.partition(".")[2])
        assert abs(float(number) - value) <= 0.5 * 10**-digits * 1.001, (number, value)


def test_the_table_has_what_pages_of_verdicts_say():
    cells = r"\| \[[\w-]+\]\(\.\./(\S+)\) " + r"\| (\d+) of (\d+) " * 3
    rows = re.findall(cells, PAGE)
    assert len(rows) == len(papers())
    for path, left, decided, checks, some, defaults, every in rows:
        page = (ROOT / path).read_text(encoding="utf-8")
        assert f"\n{left} of {decided} claims that a test decided remain" in page
        said = f"the checks of {checks} and the defaults of {defaults} of {every} claims"
        assert some == every and said in page


def test_dumbo_is_ahead_of_several_rivals_and_turbo_ahead_of_dumbo():
    assert "significantly ahead of several rivals on Powell, Hartmann and Rastrigin" in PAGE
    assert "but TuRBO's mean is ahead of DuMBO's on all three" in PAGE
    compared = claim("dumbo", "best-without-decomposition")["comparisons"]
    beaten = Counter(one["what"].split()[-1] for one in compared if one["decides"] == "for")
    assert set(beaten) == {"powell", "hartmann", "rastrigin"} and min(beaten.values()) >= 2
    turbo = [one["holds"] for one in compared if "DuMBO < TuRBO" in one["what"]]
    assert turbo == [False] * 3


def test_eleven_batches_exceed_their_bound_ten_of_two_arms():
    assert "Eleven batches of the local [rule]" in PAGE and "Ten do because we first look" in PAGE
    path = ROOT / PUBLISHED / "paper" / "bbkb" / "studies" / "batching-local.parquet"
    runs = [kept.columns for kept in curve_file.read(path).values()]
    sizes = np.concatenate([run["size"][run["fall_at_last"] > 2.000001] for run in runs])
    assert len(sizes) == 11 and (sizes == 2).sum() == 10


def test_the_leaders_of_today_are_those_of_the_table():
    said = "over LCBO's tasks LCBO, over DuMBO's functions NGOpt and LogEI, over its applications"
    assert f"{said} DuMBO and TuRBO, over GO-UCB's functions scaled GP-EI" in PAGE
    table = (ROOT / "docs" / "which-method.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w@-]+) \| (.*) \|$", table, re.MULTILINE)
    shares = {
        name: [re.match(r"\**([\d.]+)\**", cell) for cell in cells.split(" | ")]
        for name, cells in rows
        if " [" in cells
    }

    def best(column, many):
        has = {name: float(one[column][1]) for name, one in shares.items() if one[column]}
        return set(sorted(has, key=has.get)[-many:])

    assert best(0, 1) == {"GP-EI@scaled"} and best(2, 2) == {"NGOpt", "LogEI"}
    assert best(3, 2) == {"DuMBO", "TuRBO"} and best(4, 1) == {"LCBO"}


def test_the_wlan_is_within_four_percent():
    assert "On the WLAN the default is within 4 %" in PAGE
    assert factor("dumbo", "network") < 1.04


def test_two_rivals_means_are_ahead_of_lcbo_on_two_tasks():
    assert "two rivals' means are ahead in 25 dimensions, and two on [HalfCheetah]" in PAGE
    compared = claim("lcbo", "best-at-the-end")["comparisons"]
    ahead = [one["what"].split()[-1] for one in compared if one["p"] > 0.5]
    assert Counter(ahead) == {"syn-25": 2, "halfcheetah": 2}
