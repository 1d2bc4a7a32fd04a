"""The site of a small report: what a page shows of verdicts and runs, and what it refuses."""

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from workflow.judge import outcomes, settings
from workflow.judge.checks import AGAINST, FOR, Comparison
from workflow.plan import reader
from workflow.plan.costs import duration
from workflow.plan.expand import load
from workflow.plan.reads import written
from workflow.plan.resolve import ROOT
from workflow.plan.selection import figure_runs
from workflow.site import build, claim_pages
from workflow.site.__main__ import main
from workflow.site.folder import reports
from workflow.trace.curves import PlanError

REAL = ROOT / "figures" / "reference" / "bkb"
WRITTEN = json.loads((REAL / "verdicts.json").read_text(encoding="utf-8"))
RERUN = "python -m workflow.run bkb abalone BKB 0-9 --scale paper"
COMPARISON = {"what": "A < B on p", "kind": "difference", "effect": -0.25, "low": -0.5}
COMPARISON |= {"high": None, "holds": True, "p": 0.01, "p_flip": 0.03, "n": 5, "undecided": ""}


def claim(name, verdict, **changes):
    told = {"id": name, "says": f"{name} <says>", "verdict": verdict, "observed": verdict}
    told |= {"qualifiers": [], "comparisons": [COMPARISON], "fixed": None, "rerun": [RERUN]}
    return {**WRITTEN["claims"][0], **told, **changes}


def write(folder, claims, appendix=(), others=()):
    """The committed report on BKB with other claims and three exhibits; `others` are (claim,
    setting, outcome, same_runs).
    """
    folder.mkdir(parents=True)
    shown = ("regret.png", "regret.json", "known-norm-end.md", "small-lambda-end.md")
    for name in (*shown, "seeds.parquet", "runs.parquet", "verdicts.md"):
        shutil.copy(REAL / name, folder)
    said = {"claims": claims, "appendix": [*appendix], "published": {}, "partial": True}
    said["readings"] = {setting: "it says <something>" for _, setting, *_ in others}
    (folder / "verdicts.json").write_text(json.dumps({**WRITTEN, **said}))
    rows = [(one["id"], "as printed", one["verdict"], 0) for one in [*claims, *appendix]]
    names = ["claim", "setting", "outcome", "same_runs"]
    table = pd.DataFrame([*rows, *others], columns=names)
    more = {"runs": 1, "control": False, "reasons": "", "comparison": "A < B on p"}
    table = table.assign(observed=table["outcome"], **more).reindex(columns=settings.COLUMNS)
    table.to_parquet(folder / "verdicts.parquet")
    return folder.parent


WEAK = {**COMPARISON, "what": "A < C on p", "holds": False, "p": 0.9}
FEW = {"reasons": ["2 seeds, 5 are needed"], "observed": "direction only"}
CLAIMS = [
    claim("thm2-bound", "reproduced", comparisons=[COMPARISON, WEAK]),
    claim("regressors-starve", "contradicted"),
    claim("thm2-regret-ratio", "not decided", **FEW),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write(tmp_path_factory.mktemp("reports") / "bkb", CLAIMS)


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    made = tmp_path_factory.mktemp("made") / "site"
    build.build(source, made)
    return made


def page(site, name):
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_a_paper_has_one_line_for_each_claim(site):
    index = page(site, "bkb/index")
    rows = re.findall(r'<tr><th scope="row"><a href="claims/([^"]*)\.html">(.*?)</tr>', index)
    assert [name for name, _ in rows] == [one["id"] for one in CLAIMS]
    first = dict(rows)["thm2-bound"]
    assert "thm2-bound &lt;says&gt;" in first and "guide/glossary.html#reproduced" in first
    assert "difference -0.25 [-0.5, -]" in first
    plan = load("bkb", "paper")
    table = pd.read_parquet(REAL / "runs.parquet").set_index(["problem", "curve"])["cpu_seconds"]
    reads = {"known-norm-end": [plan.study("known-norm")], "regret": figure_runs(plan, "regret")}
    for name, runs in reads.items():
        shown = index.partition(f'id="{name}"')[2].partition("</details>")[0]
        took = duration(table[table.index.isin({run.place for run in runs})].sum())
        assert f"in seconds: <code>make figure FIGURE=bkb/{name}</code>, into" in shown
        assert f"From nothing its runs take {took} of CPU time: <code>snakemake" in shown
    assert 'href="claims/thm2-bound.html"' in index.partition('id="small-lambda-end"')[2]


def test_a_claim_begins_with_what_was_found(site):
    said = page(site, "bkb/claims/thm2-bound").partition('class="lead"')[2].partition("</p>")[0]
    assert "On the claimed side in 1 of 2 comparisons, decided for the claim in 0; " in said
    assert "the weakest is A &lt; C on p." in said
    assert "No other setting that changes its runs was run." in said
    undecided = page(site, "bkb/claims/thm2-regret-ratio")
    assert "Not decided: 2 seeds, 5 are needed." in undecided
    assert "The numbers alone would say" in undecided
    again = page(site, "bkb/claims/thm2-bound").partition('id="again"')[2]
    runs = pd.read_parquet(REAL / "runs.parquet").query("problem == 'abalone' and curve == 'BKB'")
    assert RERUN in again and f"records took {duration(runs['cpu_seconds'].sum())} of CPU" in again
    assert "python -m workflow.report bkb verdicts --scale paper --partial" in again
    first = runs.sort_values("cpu_seconds").iloc[0]
    alone = f"<code>python -m workflow.run bkb abalone BKB {first['seed']} --scale paper</code>"
    assert f"took {duration(first['cpu_seconds'])}: {alone}" in again


def test_the_first_page_counts_nothing_and_no_page_asks_for_a_maintainer(reference_site):
    home = page(reference_site, "index").partition("<main")[2]
    for name in outcomes.ORDER:
        assert not re.search(rf"\d+ {name}", home)
    reports = ROOT.glob("figures/reference/*/verdicts.md")
    for path in [*reports, *reference_site.glob("*/claims/*.html")]:
        assert "make history" not in path.read_text(encoding="utf-8")


def test_what_the_first_look_alone_decided_is_not_called_decided(tmp_path):
    early = {**COMPARISON, "holds": True, "side": "for", "at": 5, "n": 10, "p": 0.3}
    faded = claim("thm2-bound", "direction only", comparisons=[early])
    build.build(write(tmp_path / "reports/bkb", [faded]), tmp_path / "site")
    lead = page(tmp_path / "site", "bkb/claims/thm2-bound").partition('class="lead"')[2]
    said = "decided for the claim in 0, decided at the first look alone in 1; "
    assert said in lead.partition("</p>")[0]


def test_effects_without_end_and_costs_of_other_papers(reference_site):
    said = page(reference_site, "lcbo/claims/early-lead")
    assert "median evaluation by rank ∞ [810, ∞]" in said and "no number" not in said
    assert "our records took" in said
    assert "our records took" not in page(reference_site, "today/claims/dumbo-best-on-wlan")


def test_what_is_no_claim_of_the_paper_keeps_its_page(tmp_path):
    line = claim("sublinear-regret", "reproduced", kind="outside")
    line["qualifiers"] = ["outside the theorem: observed reproduced"]
    apart = claim("near-constant-step", "reproduced", qualifiers=["holds trivially: so does A"])
    build.build(write(tmp_path / "reports/bkb", [*CLAIMS, apart], [line]), tmp_path / "site")
    index = page(tmp_path / "site", "bkb/index")
    listed = index.partition('id="appendix"')[2].partition("</details>")[0]
    assert 'href="claims/sublinear-regret.html"' in listed
    said = page(tmp_path / "site", "bkb/claims/sublinear-regret")
    assert "This is in no count: outside the theorem." in said
    lead = page(tmp_path / "site", "bkb/claims/near-constant-step").partition('class="lead"')[2]
    assert "holds-trivially" in lead.partition("</p>")[0] and "✓" not in lead.partition("</p>")[0]
    (row,) = re.findall(r"<tr>.*near-constant-step\.html.*?</tr>", index)
    assert "glossary.html#holds-trivially" in row and "reproduced" not in row  # no tick


def test_scores_stand_where_links_to_them_lead(reference_site):
    anchor = "published-numbers-beside-ours"
    told = page(reference_site, "dumbo/index").partition(f'id="{anchor}"')[2]
    assert "neighbours-interfere" in told.partition("</details>")[0]
    assert f'href="../dumbo/index.html#{anchor}"' in page(reference_site, "guide/results")
    assert anchor not in page(reference_site, "bkb/index")  # which has no published numbers


def test_runs_are_counted(reference_site):
    whole = page(reference_site, "runs/index")
    for name in ("bkb", "dumbo"):
        table = pd.read_parquet(reference_site / name / "runs.parquet")
        took = duration(table["cpu_seconds"].sum())
        said = f"<p>{len(table)} records, {took} of CPU time"
        assert said in whole.partition(f'id="{name}"')[2]


def test_every_method_of_a_paper_is_listed(reference_site):
    said = page(reference_site, "methods/index")
    for module in ("bkb", "bbkb", "dumbo", "lcbo", "go_ucb"):
        assert f"algorithms/{module}.py</code>" in said
    assert 'data-script="../today/reached.js"' in said  # the data profiles


def test_another_folder_is_never_cleared(source, tmp_path, capsys):
    precious = tmp_path / "site"
    precious.mkdir()
    (precious / "thesis.tex").write_text("ten years")
    assert main(["--from", str(source), "-o", str(precious)]) == 1
    assert "not a site of this project" in capsys.readouterr().err
    assert (precious / "thesis.tex").read_text() == "ten years"


def test_its_own_pages_are_replaced(source, site):
    (site / "old.html").touch()
    assert main(["--from", str(source), "-o", str(site)]) == 0
    assert not (site / "old.html").exists()


def test_a_folder_without_reports_is_told(tmp_path, source):
    with pytest.raises(PlanError, match="run make reference first"):
        reports(tmp_path)
    with pytest.raises(PlanError, match="of lcbo, found none"):
        reports(source, ["bkb", "lcbo"])


def test_the_page_shows_claims_under_all_readings(tmp_path):
    """Of a claim that no reading changes there is no line."""
    others = [("regressors-starve", "code", "reproduced", 0)]
    others += [("thm2-regret-ratio", "code", "contradicted", 1)]
    source = write(tmp_path / "reports/bkb", CLAIMS, others=others)
    build.build(source, tmp_path / "site")
    index = page(tmp_path / "site", "bkb/index")
    part = index.partition('id="under-all-settings"')[2].partition("</table>")[0]
    assert ">✓<" in part and ">=<" in part and "thm2-bound" not in part
    assert "Contradicted as printed; holds under code (reproduced)" in part
    assert "it says &lt;something&gt;" in index
    (row,) = re.findall(r"<tr>.*regressors-starve\.html.*?contradicted.*?</tr>", index)
    assert row.endswith('data-label="same under other readings">no</td></tr>')
    robust = page(tmp_path / "site", "bkb/claims/thm2-regret-ratio").partition('id="robust"')[2]
    assert "the same run" in robust


def test_every_claim_of_a_report_has_its_page(reference_site):
    """Withdrawn ones, too: their address says why and leads on."""
    for path in sorted((ROOT / "figures" / "reference").glob("*/verdicts.json")):
        paper = path.parent.name
        judged = {one["id"] for one in written(json.loads(path.read_text(encoding="utf-8")))}
        pages = {one.stem for one in (reference_site / paper / "claims").glob("*.html")}
        former = reader.read(paper).get("withdrawn", [])
        withdrawn = {name for one in former for name in one["ids"]}
        assert pages == judged | withdrawn and not judged & withdrawn
    gone = page(reference_site, "bbkb/claims/nas-faster-than-parallel-evolution")
    assert "4,910 trainings at once" in gone and 'href="nas-faster-than-evolution.html"' in gone


def test_the_numbers_of_the_weakest_comparison_stand_in_the_page(made_up_site):
    said = page(made_up_site, "dumbo/claims/add-dumbo-below-dumbo")
    table = pd.read_parquet(made_up_site / "dumbo/seeds.parquet")
    rows = table[(table["claim"] == "add-dumbo-below-dumbo") & (table["setting"] == "as printed")]
    assert len(rows) == 5
    for value in (*rows["left"], *rows["right"]):
        assert f">{value:.6g}<" in said


def test_a_printed_number_stands_beside_ours(source, tmp_path):
    (report,) = reports(source)
    check = {"test": "less", "problems": ["hartmann"], "left": ["DuMBO"], "right": ["TuRBO"]}
    entry = {**report.entry, "claims": [{"id": "thm2-bound", "check": check}]}
    fit = {"panel": "Table 2", "problem": "hartmann", "metric": "simple_regret", "at": [50, 110],
           "ours": [1.5, 0.5], "published": [0.9, 0.54], "seeds": 1}  # fmt: skip
    fits = [{**fit, "method": method} for method in ("DuMBO", "LineBO")]
    verdicts = {**report.verdicts, "published": {"x": {"fits": {"": fits}}}}
    told = replace(report, entry=entry, verdicts=verdicts)
    one = next(claim for claim in told.claims if claim.id == "thm2-bound")
    assert told.printed(one) == fits[:1]
    made = build.Site(tmp_path, [told], {}, {})
    made.page("x/claims/thm2-bound.html", "claim.html", report=told, claim=one)
    said = "<li>DuMBO on hartmann (Table 2, after 110 evaluations): <strong>0.54</strong>; ours 0.5"
    assert f"{said} (1 seeds)</li>" in page(tmp_path, "x/claims/thm2-bound")
    check["metric"] = "seconds"  # the table prints regrets
    assert told.printed(one) == []


ONE = Comparison("A < B", "difference", -2.0, -3.0, -1.0, True, 0.01, 0.03, 5, borders=(0.0,))


def picture(one):
    text = "{% import 'macros.html' as show %}{{ show.picture(one) }}"
    drawn = build.templates().from_string(text).render(one=one)
    return ElementTree.fromstring(drawn) if drawn else None


def test_a_small_picture_has_the_border_the_interval_and_the_effect():
    for side, ink in ((FOR, "#0b4f7d"), (AGAINST, "#8f3200"), ("", "#57606a")):
        drawn = picture(replace(ONE, side=side))
        border, line = drawn.findall("line")
        (dot,) = drawn.findall("circle")
        assert line.get("stroke") == dot.get("fill") == ink
        places = [(line, "x1"), (dot, "cx"), (line, "x2"), (border, "x1")]
        low, centre, high, edge = (float(part.get(name)) for part, name in places)
        assert 0 < low < centre < high < edge < claim_pages.WIDTH
        assert centre - low == pytest.approx(high - centre, abs=0.2)


def test_a_small_picture_without_numbers_is_empty():
    nan = float("nan")
    assert picture(replace(ONE, effect=nan, low=nan, high=nan)) is None
    assert picture(replace(ONE, borders=())) is None
    rows = picture(replace(ONE, kind="share of rows, value", effect=1.0, borders=(0.0, 4.0)))
    assert len(rows.findall("circle")) == 0 and len(rows.findall("line")) == 3
    open_ = picture(replace(ONE, high=float("inf")))
    assert float(open_.findall("line")[1].get("x2")) > claim_pages.WIDTH - 10


def test_every_pill_has_a_style_a_symbol_and_a_term(reference_site):
    style = (Path(build.STATIC) / "site.css").read_text(encoding="utf-8")
    terms = page(reference_site, "guide/glossary")
    for name in (*outcomes.ORDER, *outcomes.GROUPS):
        assert f'id="{build.slug(name)}"' in terms, name
    for name in outcomes.ORDER:
        assert re.search(rf"\.verdict\.{build.slug(name)}\b", style), name
    assert outcomes.SYMBOLS.keys() >= {*outcomes.ORDER} - {outcomes.UNDECIDED}
