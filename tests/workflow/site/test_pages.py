"""The site of a small report: what a page shows of verdicts, runs and algorithms, and what it
refuses.
"""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from tests.workflow.site import scripts
from workflow.judge import outcomes, record_table, seed_table, settings
from workflow.plan.reader import read
from workflow.plan.statements import MOST_HEADLINES
from workflow.site import build
from workflow.site.__main__ import main
from workflow.site.folder import Report, reports
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
    "n": 5,
    "undecided": "",
}


def claim(name, verdict, **changes):
    told = {
        "id": name,
        "where": "Fig. 1",
        "says": f"{name} <says>",
        "verdict": verdict,
        "qualifiers": [],
        "reasons": [],
        "observed": verdict,
        "comparisons": [COMPARISON],
        "q": None,
        "seeds": 5,
        "data": "real",
        "note": "",
        "fixed": None,
        "kind": "",
        "ways": {"as printed": verdict},
        "rerun": [RERUN],
    }
    return {**told, **changes}


RECORD = {
    "problem": "abalone",
    "curve": "BKB",
    "names": "BKB",
    "algorithm": "bkb.BKB",
    "budget": 100,
    "status": "complete",
    "digest": "d1",
    "cpu_seconds": 120.0,
    "peak_mib": 300,
    "data": "real",
    "commit": "c0",
    "machine": "M",
    "libraries": "numpy 2",
    "rerun": RERUN,
}
RECORDS = [
    {**RECORD, "seed": 0, "trace_sha256": "t0", "code_path": "Haswell + AVX2"},
    {**RECORD, "seed": 1, "trace_sha256": "t1", "code_path": "SkylakeX + AVX512"},
]


def write(folder, claims, appendix=(), others=(), mixed=()):
    """A report; `others` are (claim, setting, outcome, same_runs)."""
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = {
        "paper": "bkb",
        "scale": "paper",
        "partial": True,
        "mixed": list(mixed),
        "claims": claims,
        "appendix": list(appendix),
        "published": {},
        "readings": {setting: "it says <something>" for _, setting, *_ in others},
        "errata": [],
        "assumptions": [],
    }
    (folder / "verdicts.json").write_text(json.dumps(verdicts))
    rows = [(one["id"], "as printed", one["verdict"], 0) for one in [*claims, *appendix]]
    table = pd.DataFrame(
        [*rows, *others], columns=["claim", "setting", "outcome", "same_runs"]
    ).assign(runs=1, control=False, reasons="", comparison="A < B on p")
    table = table.assign(observed=table["outcome"]).reindex(columns=settings.COLUMNS)
    table.to_parquet(folder / "verdicts.parquet")
    pd.DataFrame(columns=seed_table.COLUMNS).to_parquet(folder / "seeds.parquet")
    pd.DataFrame(RECORDS)[record_table.COLUMNS].to_parquet(folder / "runs.parquet")
    (folder / "regret.png").write_bytes(PNG)
    (folder / "regret.json").write_text('{"title": "t", "panels": []}')
    (folder / "known-norm-end.md").write_text("# T\n\n| a |\n| --- |\n| 1 |\n")
    return folder.parent


CLAIMS = [
    claim(
        "thm2-bound",
        "reproduced",
        comparisons=[COMPARISON, {**COMPARISON, "what": "A < C on p", "holds": False, "p": 0.9}],
    ),
    claim("regressors-starve", "contradicted"),
    claim(
        "thm2-regret-ratio",
        "not decided",
        reasons=["2 seeds, 5 are needed"],
        observed="direction only",
    ),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write(tmp_path_factory.mktemp("reports") / "bkb", CLAIMS)


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    made = tmp_path_factory.mktemp("made") / "site"
    build.build(source, made)
    return made


def test_a_claim_shows_its_weakest_comparison_beside_its_figure(site):
    page = (site / "bkb/index.html").read_text()
    shown = page.partition('id="known-norm-end"')[2].partition("</section>")[0]
    assert 'id="claim-thm2-bound"' in shown
    assert "A &lt; C on p: <strong>difference -0.25 [-0.5, -]</strong>" in shown
    assert "the weakest of 2 comparisons" in shown
    assert "thm2-bound &lt;says&gt;" in shown
    assert 'alt="' in page
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
    assert first.count(">-</td>") == 4  # nearest, public code, any reading, headlines
    assert "none tried" in first
    counts = re.findall(r'data-label="([^"]*)">(?:<a href="([^"]*)">)?(\d+)<', outcome)
    link = "find.html?paper=bkb&amp;outcome="
    assert counts[:5] == [
        ("reproduced", f"{link}reproduced", "1"),
        ("direction only", "", "0"),
        ("inconclusive", "", "0"),
        ("contradicted", f"{link}contradicted", "1"),
        ("not decided", f"{link}not%20decided", "1"),
    ]
    assert ("records", "", "2") in counts
    assert "data: real" in (site / "bkb" / "index.html").read_text()


def test_the_appendix_is_a_table_of_its_own_and_each_line_keeps_its_page(tmp_path):
    line = claim("sublinear-regret", "reproduced", kind="outside")
    line["qualifiers"] = ["outside the theorem: observed reproduced"]
    build.build(write(tmp_path / "reports/bkb", CLAIMS, [line]), tmp_path / "site")
    index = (tmp_path / "site/bkb/index.html").read_text()
    (row,) = re.findall(r'<tr id="appendix-sublinear-regret">.*?</tr>', index)
    assert 'href="claims/sublinear-regret.html"' in row and ">outside the theorem</td>" in row
    assert 'id="claim-sublinear-regret"' not in index
    page = (tmp_path / "site/bkb/claims/sublinear-regret.html").read_text()
    assert "no claim of the paper's" in page
    assert "sublinear-regret" not in (tmp_path / "site/find.html").read_text()


def test_headline_claims_stand_on_the_first_page_on_that_of_the_paper_and_on_the_summary(tmp_path):
    claims = [*CLAIMS, claim("near-constant-step", "contradicted")]
    build.build(write(tmp_path / "reports/bkb", claims), tmp_path / "site")
    first = (tmp_path / "site/index.html").read_text()
    (cell,) = re.findall(r'<td class="main".*?</td>', first)
    assert cell.count('class="verdict') == 1 and "contradicted" in cell
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


def test_mixed_code_paths_are_named_on_the_page_of_their_paper(site, tmp_path):
    assert "mixed here" not in (site / "bkb/index.html").read_text()
    mixed = ["Records of 2 code paths of the CPU are <mixed> here."]
    build.build(write(tmp_path / "reports/bkb", CLAIMS, mixed=mixed), tmp_path / "site")
    page = (tmp_path / "site/bkb/index.html").read_text()
    assert page.count("Records of 2 code paths of the CPU are &lt;mixed&gt; here.") == 1


def test_runs_have_their_provenance(site):
    page = (site / "bkb/runs-abalone.html").read_text()
    assert "<code>t1</code>" in page and "Haswell + AVX2; SkylakeX + AVX512" in page
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


def test_the_page_shows_claims_under_all_settings(tmp_path):
    """Of a claim that no setting changes there is no line."""
    others = [
        ("regressors-starve", "code", "reproduced", 0),
        ("thm2-regret-ratio", "code", "contradicted", 1),
    ]
    source = write(tmp_path / "reports/bkb", CLAIMS, others=others)
    (source / "bkb/claims-by-settings.png").write_bytes(PNG)
    build.build(source, tmp_path / "site")
    page = (tmp_path / "site/bkb/index.html").read_text()
    part = page.partition('id="under-all-settings"')[2].partition("</table>")[0]
    assert "1 of 2 as printed" in part and 'src="claims-by-settings.webp"' in part
    assert ">✓<" in part and ">=<" in part and "thm2-bound" not in part
    assert "Contradicted as printed; holds under code (reproduced)" in part
    assert "it says &lt;something&gt;" in page
    assert (tmp_path / "site/bkb/claims-by-settings.webp").exists()
    claim_page = (tmp_path / "site/bkb/claims/thm2-regret-ratio.html").read_text()
    assert "the same run" in claim_page.partition('id="robust"')[2]
    first = (tmp_path / "site/index.html").read_text().partition("</tbody>")[0]
    assert "<strong>0</strong> of 1" in first and "1 not tried" in first


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
        report = Report("toy", tmp_path, {}, {}, pd.DataFrame())
        vars(report)["runs"] = [*usual, run]
        assert report.is_same_run(run) is same


def test_every_outcome_has_a_style_and_a_symbol():
    style = (Path(build.STATIC) / "site.css").read_text(encoding="utf-8")
    for name in outcomes.ORDER:
        assert re.search(rf"\.verdict\.{build.slug(name)}\b", style), name
    assert outcomes.SYMBOLS.keys() >= {*outcomes.ORDER} - {outcomes.UNDECIDED}
