"""The typed model of a paper: what it refuses and how, that it is documented, and its page."""

import json
import re
from typing import get_args

import pytest

from tests.workflow import checkout
from workflow.judge import checks
from workflow.measure import metrics
from workflow.plan import manual, reader, resolve, sections, statements, vocabulary
from workflow.plan.exhibits import REGISTRY
from workflow.plan.model import Paper, hints, tags
from workflow.plan.resolve import ROOT

MODELS = dict.fromkeys([Paper, *(model for model, _ in manual._models(Paper, "paper"))])
STUDY = "studies: [{id: s, is: lemma3.run, problem: abalone}]\n"


def refused(text):
    """The sentences that a paper's text is answered with."""
    entry, source = reader.load(text)
    try:
        reader.check("papers/mini.yaml", entry, source)
    except resolve.PlanError as error:
        return str(error).splitlines()
    return []


def changed(old, new):
    assert old in checkout.MINI
    return checkout.MINI.replace(old, new)


def check(text, more=""):
    old = "check: {test: less, metric: cumulative_regret, left: [BKB], right: [uniform]}"
    return changed(old, f"check: {text}") + more


# documentation


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_property_has_a_meaning_and_a_default(model):
    assert model.__doc__
    for key, (name, _) in hints(model).items():
        info = model.model_fields[name]
        assert len(info.description) > 3, key
        assert info.is_required() or info.json_schema_extra["default"], key


def test_a_paper_uses_every_property():
    """On the line itself, or in a reading, whose parameters have no examples."""
    cells = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", (ROOT / manual.PAGE).read_text(), re.M)
    papers = "".join(path.read_text() for path in (ROOT / "papers").glob("*.yaml"))
    unused = {key for key, example in cells if not example and f"{key}: " not in papers}
    assert unused == {"timeout"}  # whose default is enough for all


def test_a_stale_page_is_told(tmp_path, capsys):
    assert manual.main(["--root", str(tmp_path)]) == 0
    assert manual.main(["--root", str(tmp_path), "--check"]) == 0
    page = tmp_path / manual.PAGE
    page.write_text(page.read_text().replace("seeds", "seats", 1))
    assert manual.main(["--root", str(tmp_path), "--check"]) == 1
    assert "papers/README.md is not what the model" in capsys.readouterr().err


def test_the_page_names_every_key_and_defines_the_words():
    page = (ROOT / manual.PAGE).read_text()
    for model in MODELS:
        assert all(f"| `{key}` |" in page for key in hints(model))
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    words = re.findall(r"\[(.+?)\]\(#", glossary.partition("\n## ")[0])
    assert len(words) == 24 and all(f"\n## {word}\n" in glossary for word in words)
    assert all(f"`{metric}`" in page for metric in vocabulary.METRICS)


# one place for each fact


def test_the_code_knows_exactly_the_checks_and_metrics_of_the_model():
    models = get_args(get_args(statements.AnyCheck)[0])
    assert {tags(model, "test")[0] for model in models} == set(checks.TESTS)
    assert set(vocabulary.METRICS) == set(metrics.METRICS)


def test_reserved_keys_are_those_of_the_models_of_problems_and_algorithms():
    keys = {*hints(sections.ProblemEntry), *hints(sections.AlgorithmEntry)}
    assert keys == resolve.RESERVED
    assert {"is", "data", "budget", "seeds", "init", "timeout"} < resolve.RESERVED


def test_every_name_that_a_line_mentions_is_looked_up():
    text = check("{test: less, study: t, left: exact, right: bound, rows: {qbar: 3}}", STUDY)
    text = text.replace("curves: [BKB, GP-UCB, uniform]", "curves: [BKB@wide], relative_to: unifor")
    unknown = {line.partition(": unknown ")[2].partition(";")[0] for line in refused(text)}
    assert unknown == {"algorithm 'unifor'", "reading 'wide'", "study 't'"}


# sentences


# a check => what is said of it; then a line of the tiny paper => another one => what is said
CHECKS = """
{test: less, metric: seconds, left: [BKB], right: [BKB]} => two different curves to compare, got BKB
{test: spread, metric: seconds, left: [BKB], right: [uniform, BKB]} => got BKB on both sides
{test: bound, study: s, left: exact, right: exact} => two things to compare, got exact on both sides
{test: less, study: s, left: [BKB], right: exact} => expected a column of the study or a number
{test: less, metric: seconds, left: exact, right: [BKB]} => 'exact': a column needs a `study`
{test: less, study: s, metric: seconds, left: a, right: b} => keys that a check of a study reads
{test: band, metric: seconds, column: a, at_most: 1} => expected `column` beside a `study`
{test: band, metric: seconds, curvs: [BKB], at_most: 1} => mean 'curves'? known: study, rows
{test: band, study: s, column: a} => expected `at_least`, `at_most` or both, got neither
{test: equivalent, metric: seconds, left: [BKB], right: [uniform]} => `tolerance` and `absolute`
{test: less, metric: seconds, variants: all, left: [BKB], right: 3} => `variants` and `across`
{test: passes, metric: seconds, left: [BKB], right: [uniform]} => check: expected a key `at_most`
{test: passes, at_most: 3, left: [BKB], right: [uniform]} => a `metric` of runs, or a `study`
{test: spread, metric: seconds, where_defined: true, left: [BKB], right: [uniform]} => unknown key
{test: less, metric: seconds, left: [BKB], right: 3}, requires: [{curve: BKB, qbar: 2}] => [0].qbar:
{test: band, study: s, column: a, at_most: 1}, cases: [{name: one}] => cases[0]: expected
{test: band, study: s, column: a, at_most: 1}, cases: [{name: x, metric: seconds}] => 'x'
"""
ELSEWHERE = r"""
claims:\n  - {id => appendix:\n  - {kind: fun, id => of control, trivial, outside, got 'fun'
claims:\n  - {id => appendix:\n  - {kind: control, headline: true, id => expected no `headline`
runs: [{}] => runs: [{}]\nuse: [bkb] => line 17, use: unknown key 'use'; known: paper, borrows
is: tables.abalone, => is: tables.abalone, seeds: 3, => expected keys that something reads
is: random_search.RandomSearch => is: random_search.RandomSearch, data: x => uniform: expected keys
runs: [{}] => runs: [{}]\ntables: [{id: t, kind: published, errata: [x]}] => unknown erratum 'x'
runs: [{}] => runs: [{}]\ntables: [{id: t, kind: feasable}] => did you mean 'feasible'?
runs: [{}] => runs: [{}]\ntables: [{id: t, kind: study, study: s, columns: [a], by: []}] => t, by:
title: A}] => title: A, shortest: 3}] => panels[0].shortest: expected true, or no such line, got 3
title: A}] => title: A, lines: {best: {study: s, column: a, at: 1}}}] => panels[0].lines.best:
title: Regret, => title: Regret, scales: paper, => scales: expected a list, got 'paper'
title: A}] => title: A, fit: {from: 3}}] => keys that a panel of runs reads, got fit in panel 1
title: A}] => title: A}, {study: s, x: t, y: a, to: 3}] => a panel of a study reads
{problem: abalone, title: A} => {title: A} => expected problem in panel 1 or in the figure, got none
title: Regret, => title: Regret, readings: [default], => `readings` beside `kind: dots`
title: Regret, => title: Regret, kind: dots, reading: default, => keys that dots read, got reading
"""


def test_what_compares_nothing_or_is_read_by_nothing_is_refused_in_one_sentence():
    checks_, others = (table.strip().splitlines() for table in (CHECKS, ELSEWHERE))
    slips = [one.split(" => ") for one in checks_]
    told = [(words, refused(check(text, STUDY))) for text, words in slips]
    for line in others:
        old, new, words = line.replace(r"\n", "\n").split(" => ")
        told.append((words, refused(changed(old, new) + STUDY)))
    assert [one for one in told if len(one[1]) != 1 or one[0] not in one[1][0]] == []


def test_the_abstract_makes_at_most_three_claims():
    line = (
        "  - {id: h@, where: w, says: BKB beats uniform, headline: true,"
        " check: {test: less, metric: seconds, left: [BKB], right: [uniform]}}\n"
    )
    several = "".join(line.replace("@", str(n)) for n in range(4))
    (said,) = refused(changed("  - {id: better,", f"{several}  - {{id: better,"))
    assert "expected `headline` on at most 3 claims" in said and "on h0, h1, h2, h3" in said


@pytest.mark.parametrize(
    "text",
    [
        check("{test: less, metric: seconds, left: [BKB], right: [BKB], against: abalone}"),
        check("{test: less, metric: seconds, left: [BKB], right: 3}"),
        check("{test: bound, study: s, left: exact, right: 3}", STUDY),
        check("{test: exponent, study: s, column: a, x: t, from: 3, at_most: 1}", STUDY),
    ],
)
def test_what_compares_two_things_is_accepted(text):
    assert refused(text) == []


def test_a_sentence_has_the_line_even_behind_an_anchor():
    text = (ROOT / "papers" / "bkb.yaml").read_text()
    number = next(n for n, line in enumerate(text.splitlines(), 1) if "budget: 10000" in line)
    found = refused(text.replace("budget: 10000", "budget: many", 1))
    assert len(found) == 2  # of the problem, and of the one that merges it
    assert all(f"line {number}, problem " in line for line in found)


def test_at_most_ten_sentences_are_said():
    wrong = "\n".join(f"  A{n}: {{is: wrong, room: 0}}" for n in range(9))
    found = refused(changed("  uniform: {", wrong + "\n  uniform: {"))
    assert len(found) == reader.MOST + 1
    assert found[-1] == "papers/mini.yaml: 8 more mistakes"
    assert all(re.match(r"papers/mini\.yaml, line \d+, ", line) for line in found[:-1])


def test_a_template_is_no_paper(tmp_path):
    (tmp_path / "papers").mkdir()
    for name in ("_template", "mini"):
        (tmp_path / "papers" / f"{name}.yaml").touch()
    assert resolve.papers(tmp_path) == ["mini"]


# exhibits

KIND = '''
from workflow.plan.vocabulary import Problem, Words, said


class NoteLine(ExhibitLine):
    """A note: one sentence on a problem."""

    problem: Problem = said("on which problem")
    says: Words = said("the sentence")


REGISTRY["notes"] = Exhibit(
    section="notes",
    one="note",
    says="one sentence",
    line=NoteLine,
    program="draw.tabulate",
    ends=("md",),
    runs=lambda paper, name: paper.curves,
)
'''
PROBE = """
import json
from pathlib import Path
import pandas as pd
from workflow.judge.record_table import COLUMNS
from workflow.plan import expand, reader
from workflow.plan.exhibits import REGISTRY, lines_of
from workflow.site import folder
plan = expand.load("mini", "smoke")
Path("shown").mkdir()
Path("shown/small.md").write_text("| a |\\\\n|---|\\\\n| 1 |\\\\n")
verdicts, records = {"scale": "smoke", "claims": []}, pd.DataFrame(columns=COLUMNS)
report = folder.Report("mini", Path("shown"), plan.entry, verdicts, records)
print(json.dumps({
    "sections": list(REGISTRY),
    "shown": [[each.id, each.kind, each.table is not None] for each in report.shown],
}))
"""


@pytest.mark.slow
def test_a_new_kind_is_one_entry(tmp_path):
    copied = checkout.make(tmp_path)
    line = "notes:\n  - {id: small, problem: abalone, says: it is small}\n"
    paper = copied / "papers" / "mini.yaml"
    with (copied / "workflow" / "plan" / "exhibits.py").open("a") as file:
        file.write(KIND)
    paper.write_text(checkout.MINI + line)
    # the reference page
    checkout.succeed(copied, "workflow.schema", "--root", str(copied))
    assert "`notes[]`" in (copied / manual.PAGE).read_text()
    # the plan and the rules
    planned = checkout.made(copied, "-n")
    assert re.search(r"^note +1$", planned.stdout + planned.stderr, re.MULTILINE)
    # the reference, and the site
    (copied / "probe.py").write_text(PROBE.replace("\\\\n", "\\n"))
    probed = checkout.succeed(copied, "probe")
    found = json.loads(probed.stdout.splitlines()[-1])
    assert found["sections"] == [*REGISTRY, "notes"]
    assert found["shown"] == [["small", "notes", True]]
    # names, ids and keys
    paper.write_text(checkout.MINI + line.replace("abalone, says", "abalon, says"))
    refusal = checkout.run(copied, "workflow.status", "--scale", "smoke")
    assert refusal.returncode == 1, refusal.stderr
    assert "note small: unknown problem 'abalon'" in refusal.stderr
