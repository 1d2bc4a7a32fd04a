"""The site of a small report: what a page shows of verdicts, runs and algorithms, and what it
refuses.
"""

import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from tests.workflow.site import scripts
from workflow.judge import outcomes, sensitivity
from workflow.judge.certificate import WAYS
from workflow.judge.votes import KINDS
from workflow.plan.reader import read
from workflow.plan.statements import MOST_HEADLINES
from workflow.site import build
from workflow.site.__main__ import main
from workflow.site.folder import Claim, Report, reports
from workflow.site.methods import algorithms
from workflow.trace.cells import PlanError


def png(width: int, height: int) -> bytes:
    """A white picture."""
    file = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(file, "PNG")
    return file.getvalue()


PNG = png(900, 700)
RERUN = "python -m workflow.run bkb abalone BKB 0-9 --scale paper"
COMPARISON = {
    "what": "A < B on p",
    "kind": "difference",
    "effect": -0.25,
    "low": -0.5,
    "high": None,
    "holds": True,
    "p": 0.01,
    "p_flip": 0.03,
    "p_holm": 0.02,
    "n": 5,
    "undecided": "",
}


def claim(name, verdict, **changes):
    told = {
        "id": name,
        "where": "Fig. 1",
        "says": f"{name} <says>",
        "verdict": verdict,
        "reasons": [],
        "observed": verdict,
        "comparisons": [COMPARISON],
        "seeds": 5,
        "data": "real",
        "note": "",
        "readings": {},
        "rerun": [RERUN],
    }
    return {**told, **changes}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports") / "bkb"
    folder.mkdir(parents=True)
    claims = [
        claim(
            "thm2-bound",
            "reproduced",
            comparisons=[
                COMPARISON,
                {**COMPARISON, "what": "A < C on p", "holds": False, "p": 0.9, "p_holm": 1},
            ],
        ),
        claim("regressors-starve", "not reproduced"),
        claim(
            "thm2-regret-ratio",
            "undecided",
            reasons=["2 seeds, 5 are needed"],
            observed="direction only",
        ),
    ]
    verdicts = {
        "paper": "bkb",
        "scale": "paper",
        "partial": True,
        "claims": claims,
        "readings": {},
        "errata": [],
        "assumptions": [],
    }
    (folder / "verdicts.json").write_text(json.dumps(verdicts))
    (folder / "regret.png").write_bytes(PNG)
    (folder / "regret.json").write_text('{"title": "t", "panels": []}')
    run = {
        "problem": "abalone",
        "curve": "BKB",
        "names": ["BKB"],
        "algorithm": "bkb.BKB",
        "function": "tables.abalone",
        "budget": 100,
        "measure": "simple_regret",
        "ends": {"0": 0.125, "1": None},
        "digest": "d1",
        "data": "real",
        "trace_sha256": {"0": "t0", "1": "t1"},
        "cpu_seconds": 240.0,
        "peak_mib": 300,
        "planned_seeds": 10,
        "commits": ["c0"],
        "machines": ["M"],
        "libraries": {"numpy": "2"},
        "rerun": RERUN,
    }
    runs = {"paper": "bkb", "scale": "paper", "runs": [run], "studies": [], "missing": ["bkb/x/y"]}
    (folder / "runs.json").write_text(json.dumps(runs))
    return folder.parent


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    made = tmp_path_factory.mktemp("made") / "site"
    build.build(source, made)
    return made


def test_a_claim_shows_its_weakest_comparison_beside_its_figure(site):
    page = (site / "bkb/index.html").read_text()
    shown = page[page.index('id="regret"') : page.index("</section>", page.index('id="regret"'))]
    assert 'id="claim-thm2-bound"' in shown
    assert "A &lt; C on p: <strong>difference -0.25 [-0.5, -]</strong>" in shown
    assert "the weakest of 2 comparisons" in shown
    assert "thm2-bound &lt;says&gt;" in shown
    assert 'alt="' in shown
    assert (
        "Not decided: 2 seeds, 5 are needed. The numbers alone would say: direction only." in page
    )
    assert "all comparisons, its seeds and how to run it again" in shown
    again = (site / "bkb/claims/thm2-bound.html").read_text()
    assert "python -m workflow.report bkb verdicts --scale paper --partial" in again


def test_the_overview_counts_verdicts_and_cost(site):
    page = (site / "index.html").read_text()
    first, outcome = (part.partition("</tbody>")[0] for part in page.split("<tbody>")[1:])
    assert "<strong>1</strong> of 2" in first and "+ 1 open" in first and ">4 min<" in first
    # an older report: no certificates, none of the claims that the YAML marks
    assert first.count(">-</td>") == 5
    counts = re.findall(r'data-label="([^"]*)">(?:<a href="([^"]*)">)?(\d+)<', outcome)
    link = "find.html?paper=bkb&amp;outcome="
    assert counts[:6] == [
        ("reproduced", f"{link}reproduced", "1"),
        ("direction only", "", "0"),
        ("inconclusive", "", "0"),
        ("contradicted", "", "0"),
        ("not decided", f"{link}not%20decided", "1"),
        ("not reproduced (first edition)", f"{link}not%20reproduced%20%28first%20edition%29", "1"),
    ]
    assert ("records", "", "2") in counts
    assert "data: real" in (site / "bkb" / "index.html").read_text()


def test_the_appendix_is_a_table_of_its_own_and_each_line_keeps_its_page(source, tmp_path):
    shutil.copytree(source, tmp_path / "reports")
    path = tmp_path / "reports/bkb/verdicts.json"
    verdicts = json.loads(path.read_text())
    line = claim("sublinear-regret", "reproduced", observed="reproduced", kind="outside")
    verdicts["appendix"] = [{**line, "qualifiers": ["outside the theorem: observed reproduced"]}]
    path.write_text(json.dumps(verdicts))
    build.build(tmp_path / "reports", tmp_path / "site")
    index = (tmp_path / "site/bkb/index.html").read_text()
    (row,) = re.findall(r'<tr id="appendix-sublinear-regret">.*?</tr>', index)
    assert 'href="claims/sublinear-regret.html"' in row and ">outside the theorem</td>" in row
    assert 'id="claim-sublinear-regret"' not in index
    page = (tmp_path / "site/bkb/claims/sublinear-regret.html").read_text()
    assert "no claim of the paper's" in page
    assert "sublinear-regret" not in (tmp_path / "site/find.html").read_text()


def test_headline_claims_stand_on_the_first_page_on_that_of_the_paper_and_on_the_summary(
    source, tmp_path
):
    shutil.copytree(source, tmp_path / "reports")
    path = tmp_path / "reports/bkb/verdicts.json"
    verdicts = json.loads(path.read_text())
    verdicts["claims"].append(claim("near-constant-step", "not reproduced"))
    path.write_text(json.dumps(verdicts))
    build.build(tmp_path / "reports", tmp_path / "site")
    first = (tmp_path / "site/index.html").read_text()
    (cell,) = re.findall(r'<td class="main".*?</td>', first)
    assert cell.count('class="verdict') == 1 and "not reproduced" in cell
    assert 'href="bkb/claims/near-constant-step.html"' in cell
    summary = (tmp_path / "site/bkb/summary.html").read_text()
    (said,) = re.findall(r'<p class="note headlines">.*?</p>', summary)
    assert said.count('class="verdict') == 1 and 'href="claims/near-constant-step.html"' in said
    assert "Headline claims" in said
    page = (tmp_path / "site/bkb/index.html").read_text()
    (said,) = re.findall(r'<p class="headlines">.*?</p>', page)
    assert said.count('class="verdict') == 1 and 'href="claims/near-constant-step.html"' in said


def test_a_paper_that_marks_no_headline_shows_its_first_claim(source):
    (report,) = reports(source)
    assert report.is_marked and report.headlines == []  # the report has none of those marked
    bare = [
        {key: value for key, value in one.items() if key != "headline"}
        for one in report.entry["claims"]
    ]
    unmarked = replace(report, entry={**report.entry, "claims": bare})
    assert not unmarked.is_marked
    assert [one.id for one in unmarked.headlines] == ["thm2-bound"]


def test_every_paper_marks_its_headline_claims():
    for name in ["bbkb", "bkb", "dumbo", "go_ucb", "lcbo"]:
        marked = [one for one in read(name)["claims"] if one.get("headline")]
        assert 1 <= len(marked) <= MOST_HEADLINES


def test_curves_become_a_script_that_a_page_may_load_from_a_file(site):
    found = scripts.read(site / "bkb" / "regret.js")
    assert found == ("bkb/regret", {"title": "t", "panels": []})


def test_mixed_code_paths_are_named_on_the_page_of_their_paper(source, site, tmp_path):
    """And in a report of before nothing is."""
    assert "mixed here" not in (site / "bkb/index.html").read_text()
    copy = shutil.copytree(source, tmp_path / "copy")
    path = copy / "bkb" / "runs.json"
    runs = json.loads(path.read_text())
    runs["mixed"] = ["Records of 2 code paths of the CPU are <mixed> here."]
    runs["runs"][0]["code_paths"] = ["Haswell + AVX2", "SkylakeX + AVX512"]
    path.write_text(json.dumps(runs))
    build.build(copy, tmp_path / "site")
    page = (tmp_path / "site/bkb/index.html").read_text()
    assert page.count("Records of 2 code paths of the CPU are &lt;mixed&gt; here.") == 1
    page = (tmp_path / "site/bkb/runs-abalone.html").read_text()
    assert "Haswell + AVX2; SkylakeX + AVX512" in page


def test_runs_have_their_provenance(site):
    page = (site / "bkb/runs-abalone.html").read_text()
    assert "0.125, -" in page
    assert "<code>t1</code>" in page
    assert RERUN in page


def test_the_page_of_an_algorithm_has_source_citations_and_uses(source):
    found = {algorithm.name: algorithm for algorithm in algorithms(reports(source))}
    bbkb, bkb = found["bbkb"], found["bkb"]
    assert list(bbkb.classes) == ["BBKB"]
    assert any("Lemma 1" in what for _, what in bbkb.cited)
    assert 'id="line-1"' in bbkb.source or 'name="line-1"' in bbkb.source
    assert next(use.name for use in bkb.uses) == "BKB"
    assert "qbar" in bkb.parameters
    assert "api" not in found


def test_fields_of_groups_are_shown_by_their_dotted_names(source):
    (report, *_) = reports(source)
    line = {"is": "cei.CEI", "climb": {"steps": 5}, "surrogate": {"noise": {"p": 1, "q": 2}}}
    gone = {"is": "cei.Gone", "climb": {"steps": 5}}
    changed = replace(report, entry={**report.entry, "algorithms": {"CEI": line, "old": gone}})
    (cei,) = (found for found in algorithms([changed]) if found.name == "cei")
    assert [use.values for use in cei.uses] == [
        {"climb.steps": "5", "surrogate.noise": "p: 1, q: 2"},
        {"climb": "steps: 5"},
    ]


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
    with pytest.raises(PlanError, match="run make figures first"):
        reports(tmp_path)
    with pytest.raises(PlanError, match="of lcbo, found none"):
        reports(source, ["bkb", "lcbo"])


def test_a_reading_that_changes_nothing_is_shown_as_the_same_run():
    told = {"verdict": "reproduced", "observed": "reproduced", "reasons": [], "seeds": 5}
    readings = {
        "code": {**told, "runs": 2, "same_runs": 2},
        "part": {**told, "runs": 2, "same_runs": 1},
        "other": {**told, "runs": 2, "same_runs": 0},
        "older": told,
    }
    entry = claim("c", "reproduced", readings=readings)
    found = [Claim(entry).under(name) for name in (*readings, "unknown")]
    assert found == [
        "same run, which the reading does not change",
        "reproduced (same run in 1 of 2)",
        "reproduced",
        "reproduced",
        "",
    ]
    head = {"paper": "toy", "scale": "paper", "partial": False}
    says = dict.fromkeys(readings, "it says something")
    matrix = sensitivity.matrix({**head, "claims": [entry], "readings": says})
    page = build._environment().get_template("sensitivity.html")
    text = page.render(matrix=matrix, summary=sensitivity.summary(matrix))
    assert text.count('<td><span aria-hidden="true">=</span>') == 1
    assert 'title="part, 5 seeds; same run in 1 of 2">✓ =<' in text
    assert 'title="other, 5 seeds">✓<' in text
    assert "same under all readings run (3 of 3)" in text
    assert "=: same run, the reading changes nothing on these problems" in text


def test_the_page_shows_the_certificate_and_the_map_of_settings(source, tmp_path):
    """Of a claim that no reading changes there is no line."""
    copied = tmp_path / "reports"
    shutil.copytree(source, copied)
    as_printed = {"names": ["default"], "axis": [], "vote": 1.0, "counts_as": "reproduced"}
    told = {
        "sentence": "Holds as printed; not under <code>.",
        "turn": "It is contradicted under code.",
        "group": "",
        "shares": {**dict.fromkeys(KINDS, 0.0), "reproduced": 0.5, "contradicted": 0.5},
        "specifications": [
            as_printed,
            {**as_printed, "names": ["code"], "counts_as": "contradicted"},
        ],
    }
    claims = [
        {**told, "id": "regressors-starve"},
        {**told, "id": "thm2-regret-ratio"},
        {**told, "id": "thm2-bound", "specifications": [as_printed]},
    ]
    counts = {
        way: {"reproduced": n, "direction only": 1, "not run": 2} for n, way in enumerate(WAYS[:2])
    }
    whole = {"plain": 3, "partial": True, "counts": counts, "claims": claims}
    (copied / "bkb" / "certificate.json").write_text(json.dumps(whole))
    (copied / "bkb" / "claims-by-settings.png").write_bytes(PNG)
    build.build(copied, tmp_path / "site")
    page = (tmp_path / "site" / "bkb" / "index.html").read_text()
    table = page.partition('id="certificate"')[2].partition("</table>")[0]
    assert "Of 3 claims that are not counted apart hold: 1 as printed, 2 nearest." in table
    assert "not under &lt;code&gt;. It is contradicted under code." in table
    assert table.count("50 %") == 4 and "#claim-thm2-bound" not in table
    assert page.count('src="claims-by-settings.webp"') == 1
    assert (tmp_path / "site" / "bkb" / "claims-by-settings.webp").exists()
    first = (tmp_path / "site" / "index.html").read_text().partition("</tbody>")[0]
    held = re.findall(r"<strong>(\d)</strong> of (\d) <span[^>]*>\+ 2 open", first)
    assert held == [("1", "1"), ("2", "2")] and "<strong>0</strong> of 2" in first
    assert "1 not tried" in first
    assert 'id="certificate"' not in older_page(source, tmp_path)


def older_page(source, folder):
    """The page of a report without a certificate."""
    build.build(source, folder / "older")
    return (folder / "older" / "bkb" / "index.html").read_text()


def test_runs_of_a_reading_are_the_same_if_all_common_seeds_have_the_same_trace(tmp_path):
    for problem, curve, traces, same in [
        ("p", "A", {"0": "a", "1": "b"}, False),  # the default run itself
        ("p", "A@code", {"0": "a", "1": "b"}, True),
        ("p", "A@code", {"1": "b", "2": "c"}, True),  # the seed that both have
        ("p", "A@code", {"0": "a", "1": "c"}, False),
        ("p", "A@code", {"2": "a"}, False),
        ("p@raw", "A", {"0": "a"}, True),
        ("p", "A@code+wide", {"0": "w"}, True),
        ("p", "B@code", {"0": "a"}, False),  # without a default run
        ("q@raw", "A", {"0": "a"}, False),
    ]:
        usual = [
            {"problem": "p", "curve": "A", "trace_sha256": {"0": "a", "1": "b"}},
            {"problem": "p", "curve": "A+wide", "trace_sha256": {"0": "w"}},
        ]
        run = {"problem": problem, "curve": curve, "trace_sha256": traces}
        report = Report("toy", tmp_path, {}, {}, {"runs": [*usual, run]})
        assert report.is_same_run(run) is same


def test_every_outcome_has_a_style_and_a_symbol():
    style = (Path(build.STATIC) / "site.css").read_text(encoding="utf-8")
    for name in (*outcomes.ORDER, outcomes.FIRST_EDITION):
        assert re.search(rf"\.verdict\.{build.slug(name)}\b", style), name
    assert outcomes.SYMBOLS.keys() >= {*outcomes.ORDER, outcomes.FIRST_EDITION} - {
        outcomes.UNDECIDED
    }
