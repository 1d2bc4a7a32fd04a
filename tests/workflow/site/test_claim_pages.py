"""The page of a claim: an address that stays, the numbers of its seeds, its records and what they
cost, and pictures of its comparisons.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.workflow.site import made_up
from workflow.judge.checks import AGAINST, FOR, TESTS, Comparison
from workflow.judge.fixed import LEDGER
from workflow.plan import reader
from workflow.plan.reads import stated
from workflow.plan.resolve import ROOT
from workflow.site import claim_pages
from workflow.site.finder import CHECKS
from workflow.site.folder import reports
from workflow.site.glossary import GLOSSARY

READ = "add-dumbo-below-dumbo"
ONE = Comparison("A < B", "difference", -2.0, -3.0, -1.0, True, 0.01, 0.03, 5, borders=(0.0,))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    (found,) = reports(made_up.report(tmp_path_factory.mktemp("report")))
    return found


def test_every_claim_of_a_report_has_its_page(reference_site):
    """Under the name that history.json knows it by; comparisons make no claims of a paper's."""
    known = json.loads((ROOT / LEDGER).read_text(encoding="utf-8"))
    found = sorted((ROOT / "figures" / "reference").glob("*/verdicts.json"))
    assert {path.parent.name for path in found} >= known.keys()
    for path in found:
        paper = path.parent.name
        judged = {one["id"] for one in stated(json.loads(path.read_text(encoding="utf-8")))}
        pages = {page.stem for page in (reference_site / paper / "claims").glob("*.html")}
        withdrawn = {one["id"] for one in reader.read(paper).get("withdrawn", [])}
        assert pages == judged | withdrawn and not judged & withdrawn
        if paper in known:
            assert len(pages & known[paper].keys()) > 10


def test_the_numbers_of_the_weakest_comparison_stand_in_the_page(report, made_up_site):
    claim = next(claim for claim in report.claims if claim.id == READ)
    told = claim_pages.sample(report, claim)
    assert list(told.columns) == ["comparison", "seed", "left", "right"] and len(told) == 5
    left, _, right = told["comparison"].iloc[0].partition(" and ")
    assert claim.effects[0].what.startswith(left) and claim.effects[0].what.endswith(right)
    page = (made_up_site / "dumbo" / "claims" / f"{READ}.html").read_text(encoding="utf-8")
    for value in (*told["left"], *told["right"]):
        assert f">{value:.6g}<" in page
    assert 'href="../seeds.parquet"' in page
    table = pd.read_parquet(made_up_site / "dumbo" / "seeds.parquet")
    assert set(table[table["claim"] == READ]["setting"]) == {"as printed", "public-code"}


def test_the_address_of_a_withdrawn_claim_says_why_and_leads_on(reference_site):
    page = (reference_site / "bbkb/claims/nas-faster-than-parallel-evolution.html").read_text()
    assert "4,910 trainings at once" in page
    assert 'href="nas-faster-than-evolution.html"' in page
    assert (reference_site / "bbkb/claims/nas-faster-than-evolution.html").exists()
    assert "Judged in its place" not in (
        reference_site / "go_ucb/claims/growth-condition.html"
    ).read_text(encoding="utf-8")


def test_a_command_has_its_cost_and_its_published_records(report, tmp_path):
    claim = next(claim for claim in report.claims if claim.id == READ)
    commands = claim_pages.commands(report, claim, tmp_path)
    assert {each.line.split()[5] for each in commands} == {"DuMBO", "random-search"}
    assert [each.published for each in commands] == ["", ""]
    assert [each.seconds for each in commands] == [35.0, 35.0]  # five seeds of 7 s each
    place = tmp_path / "figures/reference/records/paper/dumbo/powell/DuMBO.parquet"
    place.parent.mkdir(parents=True)
    place.touch()
    (there,) = [each for each in commands_of(report, claim, tmp_path) if each.published]
    assert (tmp_path / there.published) == place and "powell DuMBO" in there.line


def commands_of(report, claim, root):
    named = replace(report, name="dumbo")
    entry = {
        **claim.entry,
        "rerun": [line.replace(" toy ", " dumbo ") for line in claim.entry["rerun"]],
    }
    return claim_pages.commands(named, replace(claim, entry=entry), root)


def test_the_seeds_of_a_command_are_counted():
    for seeds, many in [("0-4", 5), ("3", 1), ("0-2,5", 4), ("10-19", 10), ("1,3,5-6", 4)]:
        assert claim_pages._many(seeds) == many


def test_published_records_of_real_claims_are_found():
    """As the workflow names their files."""
    (report,) = reports(ROOT / "figures" / "reference", ["go_ucb"])
    claim = next(claim for claim in report.claims if claim.id == "lowest-regret")
    found = [each.published for each in claim_pages.commands(report, claim) if each.published]
    assert len(found) > 5 and all((ROOT / path).is_file() for path in found)


def test_a_small_picture_has_the_border_the_interval_and_the_effect():
    for side, ink in ((FOR, claim_pages.BLUE), (AGAINST, claim_pages.VERMILLION), ("", "#57606a")):
        drawn = picture(replace(ONE, side=side))
        border, line = drawn.findall("line")
        (dot,) = drawn.findall("circle")
        assert line.get("stroke") == dot.get("fill") == ink
        low, centre, high, edge = (
            float(part.get(name))
            for part, name in zip((line, dot, line, border), ("x1", "cx", "x2", "x1"), strict=True)
        )
        assert 0 < low < centre < high < edge < claim_pages.SIZE
        assert centre - low == pytest.approx(high - centre, abs=0.2)


def test_a_small_picture_without_numbers_is_empty():
    nan = float("nan")
    assert claim_pages.marks(replace(ONE, effect=nan, low=nan, high=nan)) == ""
    assert claim_pages.marks(replace(ONE, borders=())) == ""
    rows = picture(replace(ONE, kind="share of rows, value", effect=1.0, borders=(0.0, 4.0)))
    assert len(rows.findall("circle")) == 0 and len(rows.findall("line")) == 3
    open_ = picture(replace(ONE, high=float("inf")))
    assert float(open_.findall("line")[1].get("x2")) > claim_pages.SIZE - 10


def picture(one):
    return ElementTree.fromstring(f"<svg>{claim_pages.marks(one)}</svg>")


def test_every_test_of_checks_has_words():
    assert CHECKS.keys() == TESTS.keys()


def test_a_printed_number_stands_beside_ours(report):
    claim = next(claim for claim in report.claims if claim.id == READ)
    check = {"test": "less", "problems": ["hartmann"], "left": ["DuMBO"], "right": ["TuRBO"]}
    entry = {**report.entry, "claims": [{"id": READ, "check": check}]}
    fit = {
        "panel": "Hartmann (6-6)",
        "problem": "hartmann",
        "metric": "simple_regret",
        "at": [50, 110],
        "ours": [1.5, 0.5],
        "published": [0.9, 0.54],
        "seeds": 1,
    }
    fits = [{**fit, "method": method} for method in ("DuMBO", "LineBO")]
    verdicts = {**report.verdicts, "published": {"synthetic": {"fits": {"": fits}}}}
    told = replace(report, entry=entry, verdicts=verdicts)
    (found,) = claim_pages.printed(told, claim)
    assert found.what == "DuMBO on hartmann (Hartmann (6-6), after 110 evaluations)"
    assert (found.printed, found.ours) == ("0.54", "0.5")
    check["metric"] = "seconds"  # the table prints regrets
    assert claim_pages.printed(told, claim) == []


def test_printed_numbers_in_short_say_whose_they_are():
    one = claim_pages.Printed("DuMBO", "Powell", "table2, after 110 evaluations", "496", "4780", 5)
    later = replace(one, place="table2, after 250 evaluations")
    other = replace(one, curve="TuRBO", printed="667")
    assert claim_pages.in_short([]) == ""
    assert claim_pages.in_short([one, other, later]) == "DuMBO 496, TuRBO 667"
    elsewhere = replace(one, problem="Rastrigin", printed="986")
    assert claim_pages.in_short([one, elsewhere]) == "Powell: DuMBO 496; Rastrigin: DuMBO 986"


def test_words_of_the_glossary_stand_once_in_order_and_are_linked_to():
    names = [name for name, *_ in GLOSSARY]
    words = [word.lower().replace("-", " ") for _, word, _ in GLOSSARY]
    assert len(set(names)) == len(names) and words == sorted(words)
    templates = Path(claim_pages.__file__).parent / "templates"
    linked = {
        name
        for path in templates.glob("*.html")
        for name in re.findall(r"glossary\.html#([\w-]+)", path.read_text(encoding="utf-8"))
    }
    assert len(linked) > 5 and linked <= set(names)
