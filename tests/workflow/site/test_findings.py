"""The findings name what exists, say it without typed measurements, and every mistake in their file
is told.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from workflow.plan import expand
from workflow.plan.exhibits import lines_of
from workflow.plan.reads import stated
from workflow.site import findings
from workflow.trace.cells import PlanError

ROOT = Path(__file__).resolve().parents[3]
TOY = """
paper: {key: toy, title: A toy, venue: nowhere}
scales: {smoke: {}, short: {}, paper: {}}
seeds: 5
problems: {p: {is: tables.abalone, budget: 10, room: 1, init: {design: uniform, n: 1}}}
algorithms: {A: {is: random_search.RandomSearch}, B: {is: random_search.RandomSearch}}
readings: {code: {says: as the code, algorithms: {A: {k: 1}}}}
runs: [{}]
figures:
  - {id: fig1, title: Regret, metric: cumulative_regret, curves: [A], panels: [{problem: p,
       title: P}]}
  - {id: short, title: Regret, scales: [short], metric: cumulative_regret, curves: [A],
       panels: [{problem: p, title: P}]}
tables:
  - {id: ends, title: How runs ended, kind: diagnostics, problems: [p], curves: [A]}
claims:
  - {id: better, where: nowhere, says: A ends with less regret than B,
     check: {test: less, metric: cumulative_regret, left: [A], right: [B]}}
errata:
  - {id: slip, where: eq. (1), says: plus, instead: minus}
"""
GOOD = {
    "id": "one",
    "paper": "toy",
    "title": "A title.",
    "says": "What was seen.",
    "figure": "fig1",
    "claims": ["better"],
}
# printed in the papers, or settings of a comparison
EXACT = {"1e-11", "1e-4", "2000", "0.001", "10.5364", "110", "300"}
REFERENCES = re.compile(
    r"(?:App|Secs?|Theorem|Lemma|Corollary|Head et al)\.?,? \(?[A-Z0-9][0-9.]*(?: and"
    r" [0-9.]+)?|defaults of 2022|`[^`]*`"
)


@pytest.fixture
def written(tmp_path):
    """A function that writes a toy paper and findings, and gives their root."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "toy.yaml").write_text(TOY)

    def write(content):
        (tmp_path / "papers" / "findings.yaml").write_text(
            content if isinstance(content, str) else yaml.safe_dump(content)
        )
        return tmp_path

    return write


@pytest.fixture(scope="module")
def papers():
    return {name: expand.load(name, "paper") for name in expand.papers()}


COMMITTED = findings.load(ROOT)


def typed(words):
    """The numbers in a text that look measured: of three digits or more, broken, or per cent."""
    numbers = re.findall(r"[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?|%", REFERENCES.sub("", words))
    return [
        number
        for number in numbers
        if number not in EXACT and not re.fullmatch("[0-9]{1,2}", number)
    ]


def test_findings_are_no_paper():
    assert "findings" not in expand.papers()
    assert {finding.paper for finding in COMMITTED} <= set(expand.papers())


def test_what_a_finding_shows_is_offered_and_was_judged(papers):
    for finding in COMMITTED:
        entry = papers[finding.paper].entry
        assert finding.figure in {line["id"] for _, line in lines_of(entry)}
        reference = ROOT / "figures" / "reference" / finding.paper
        assert any(
            (reference / f"{finding.figure}{ending}").exists() for ending in (".png", ".gif", ".md")
        )
        judged = {
            claim["id"] for claim in stated(json.loads((reference / "verdicts.json").read_text()))
        }
        assert set(finding.claims) <= judged


def test_the_commands_of_a_finding_name_planned_runs(papers):
    for finding in COMMITTED:
        for command in finding.runs:
            _, _, module, paper, problem, curve, seeds = command.split()
            assert (module, paper) == ("workflow.run", finding.paper)
            assert set(expand.parse_seeds(seeds)) <= set(papers[paper].cell(problem, curve).seeds)


def test_a_finding_is_read_as_it_is_written(written):
    full = {
        **GOOD,
        "errata": ["slip"],
        "reading": "code",
        "runs": ["python -m workflow.run toy p A 0"],
        "figure": "ends",
    }
    assert findings.load(written([GOOD, {**full, "id": "two"}])) == (
        findings.Finding("one", "toy", "A title.", "What was seen.", "fig1", ("better",)),
        findings.Finding(
            "two",
            "toy",
            "A title.",
            "What was seen.",
            "ends",
            ("better",),
            ("slip",),
            "code",
            ("python -m workflow.run toy p A 0",),
        ),
    )


def test_an_erratum_alone_bears_a_finding_out(written):
    entry = {key: value for key, value in GOOD.items() if key != "claims"}
    assert findings.load(written([{**entry, "errata": ["slip"]}]))[0].claims == ()


def test_a_mistake_is_told(written):
    for changes, message in [
        ({"paper": "toi"}, "one: unknown paper toi; known: toy"),
        ({"figure": "fig2"}, "one: unknown figure, table or picture fig2; known: fig1, ends"),
        ({"figure": "short"}, "one: unknown figure, table or picture short"),
        ({"claims": ["better", "worse"]}, "one: unknown claim worse; known: better"),
        ({"errata": ["slips"]}, "one: unknown erratum slips; known: slip"),
        ({"reading": "cod"}, "one: unknown reading cod; known: code"),
        ({"numbers": [1]}, "entry 1 (one): unknown numbers; known: id, paper"),
        ({"claims": []}, "at least one of claims and errata"),
        ({"claims": "better"}, "claims: expected a list, got 'better'"),
        ({"claims": [3]}, "claims: expected words, got 3"),
        ({"says": " "}, "says: expected words"),
        ({"title": None}, "title: expected words, got None"),
    ]:
        with pytest.raises(PlanError, match=re.escape(message)):
            findings.load(written([{**GOOD, **changes}]))


def test_a_missing_key_is_told(written):
    for key in ["id", "paper", "title", "says", "figure"]:
        with pytest.raises(PlanError, match=rf"entry 1.*: missing {key}"):
            findings.load(written([{name: value for name, value in GOOD.items() if name != key}]))


def test_a_file_that_is_no_list_of_findings_is_refused(written):
    for content, message in [
        ([GOOD, GOOD], "id given twice: one"),
        (["one"], "entry 1: expected a mapping, got str"),
        ({"one": GOOD}, "expected a list of findings, got dict"),
        ("- {id: one", "no valid YAML"),
    ]:
        with pytest.raises(PlanError, match=re.escape(message)):
            findings.load(written(content))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(PlanError, match="no such file"):
        findings.load(tmp_path)


def test_no_numerical_library_is_imported():
    code = "import sys; import workflow.site.findings as f; f.load(); print('numpy' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
        ).stdout
        == "False\n"
    )
