"""Slips in papers/*.yaml stop before any job and name file, place, expected, got and known."""

from pathlib import Path

import pytest
import yaml

from tests.faults import steep
from workflow.plan import expand
from workflow.trace.curves import PlanError, parse_seeds

MINI = (
    steep.checkout.MINI
    + "readings: {wide: {says: a wider kernel, algorithms: {BKB: {bandwidth: 9}}}}\n"
)
CLAIM = (
    "  - {id: better, where: nowhere, says: BKB is the best, check: {test: less,"
    " metric: seconds, left: [BKB], right: [uniform]}}\n"
)


PLACES = {  # where a name stands
    "algorithms": ("  uniform:", "  NAME:"),
    "problems": ("  abalone: {is", "  NAME: {is"),
    "scales": ("short: {", "NAME: {"),
    "variants": ("readings: {", "variants: {NAME: {qbar: 3}}\nreadings: {"),
    "readings": ("wide: {", "NAME: {"),
}


@pytest.fixture
def root(tmp_path):
    """A repository whose code is the real one and whose one paper may be spoiled."""
    return steep.checkout.linked(tmp_path)


def refusal(root, text, **options):
    (root / "papers" / "mini.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PlanError) as caught:
        expand.load("mini", "smoke", root=root, **options)
    assert str(caught.value).startswith("papers/mini.yaml")
    assert len(str(caught.value)) < 1200
    return str(caught.value)


def changed(old, new):
    assert old in MINI
    return MINI.replace(old, new)


def test_without_a_slip_it_is_a_plan(root):
    (root / "papers" / "mini.yaml").write_text(MINI)
    assert len(expand.load("mini", "smoke", root=root).curves) == 3


NO_KEYS = "line 1: expected keys such as paper, scales and runs, got"
ALIAS = "expected an alias of something else, got one of what contains it"
NO_PAPER = [
    (b"", f"{NO_KEYS} nothing"),
    (b"# nothing but a remark\n", f"{NO_KEYS} nothing"),
    (b"- a\n- list\n", f"{NO_KEYS} a list"),
    (
        MINI.replace("A tiny", "Une tr\u00e8s petite").encode("latin-1"),
        "line 2: expected text in UTF-8, got the byte 0xe8",
    ),
    (MINI.encode("utf-16"), "got the byte 0xff: save the file as UTF-8"),
    (MINI.replace("tiny", "ti\0ny"), "control characters are not allowed"),
    (MINI[:400], "did not find expected ',' or '}'"),
    (changed("problems:\n  abalone", "problems:\n\tabalone"), "character that cannot start any"),
    (MINI + "---\n" + MINI, "expected a single document in the stream"),
    (MINI + "seeds: 3\n", "key given twice: seeds"),
    (MINI + "errata: *nobody\n", "found undefined alias"),
    (
        MINI + "errata: !!python/object/apply:os.system ['touch pwned']\n",
        "got a python/object/apply:os.system: quote it",
    ),
    (
        changed("qbar: 2", "qbar: 2020-01-01"),
        "expected text, a number, a list or a mapping, got a timestamp: quote it",
    ),
    (changed("qbar: 2", "qbar: !!binary aGVsbG8="), "got a binary: quote it"),
    (changed("  uniform:", "  no:"), "expected a name as key, got no (bool): quote it"),
    (changed("  uniform:", "  ? [1, 2]\n  :"), "a name as key, got a list or a mapping"),
    (changed("uniform: {is", "uniform: &u {x: *u, is"), ALIAS),
    (changed("uniform: {is", "uniform: &u {<<: *u, is"), ALIAS),
    (
        changed("tiny paper, venue", "a, note: " + "[" * 2000 + "]" * 2000 + ", venue"),
        "got brackets nested too deep",
    ),
]


def test_what_is_no_yaml_or_no_paper_is_told_with_its_line(root):
    said = [(refusal(root, text), message) for text, message in NO_PAPER]
    assert [(found, message) for found, message in said if message not in found] == []
    assert not Path("pwned").exists()


def test_aliases_of_aliases_are_not_written_out(root):
    """Ten to the tenth values in a few lines."""
    bomb = (
        "studies:\n  - {id: s, is: lemma3.run, problem: abalone, parameters: {a0: &a0 [x, x, x, x,"
        " x, x, x, x, x, x],"
    )
    bomb += (
        ", ".join(f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 10))
        + "}}\n"
    )
    said = "expected at most 1000000 values, got aliases of aliases that stand for more"
    assert said in refusal(root, MINI + bomb)


# in the place of => stands => what is said; \n is the end of a line
RUN = r"""
problems:\n => problem:\n => line 5, problem: unknown key 'problem'; did you mean 'problems'?
budget: 120 => budget: -1 => line 7, problem abalone, budget: expected a whole number from 1 to
budget: 120 => budget: 1e3 => problem abalone, budget: expected a whole number from 1 to
\nseeds: 2 => \nseeds: 0 => line 4, seeds: expected a whole number from 1 to 1000000, got 0
\nseeds: 2 => \nseeds: ten => line 4, seeds: expected a whole number from 1 to 1000000, got
, paper: {}} => } => line 3, scales: expected the scales smoke, paper, which are asked of all
smoke: {seeds: 2,  => smoke: {seeds: 2, variants: [thin],  => scale smoke: unknown variant
\nseeds: 2 =>  => line 2, the whole file: expected a key `seeds`, got none
qbar: 2, =>  => BKB on abalone: missing parameter qbar of bkb.BKB
qbar: 2, => qbar: 2, qbarr: 2, => unknown parameter qbarr of bkb.BKB; known: bandwidth, beta
delta: 1/T, qbar => delta: {x: 1}, qbar => delta of bkb.BKB: expected float, got {'x': 1}
noise: 0.01 => nois: 0.01 => unknown parameter nois of tables.abalone; known: data, features,
is: bkb.BKB => is: bkbb.BKB => no file algorithms/bkbb.py; known:
is: bkb.BKB => is: bkb.BKBB => no BKBB in algorithms/bkb.py
is: tables.abalone => is: tables.abalon => no abalon in problems/tables.py
data: abalone, =>  => reads a data set: add a line `data: NAME`
is: bkb.BKB => is: api.Optimizer => algorithm BKB, is: expected module.Class or module.function,
data: abalone => data: abalon => problem abalone: unknown data 'abalon'; did you mean 'abalone'?
data: abalone => data: ../../secret => problem abalone, data: expected the name of a data set:
room: unlimited => room: unlimited, execution: async => expected a number of workers as `room`
uniform: {is: => uniform: {execution: async, is: => uniform on abalone: expected a number of workers
unlimited, init => unlimited, given: {x: noise}, init => names noise; tables.abalone reveals nothing
unlimited, init => unlimited, substitute: {data: x}, init => expected `libraries` beside
unlimited, => unlimited, libraries: [numpy], substitute: {}, => substitute: expected at least one
noise: 0.01, => noise: 0.01, libraries: [numpy], substitute: {x: 1, budget: 3}, => budget, x of
features: z-scored => libraries: [numpy], substitute: {features: raw} => missing parameter features
runs: [{}] => runs: [{scales: [large]}] => run number 1: unknown scale 'large'; known: smoke, short
runs: [{}] => runs: [] => line 16, runs: expected at least one entry, got []
runs: [{}] => runs: [{}]\ntables: 3 => line 17, tables: expected a list, got 3
runs: [{}] => runs: => line 16, runs: expected a list, got nothing
runs: [{}] => runs: [{algorithms: [BKBB]}] => unknown algorithm 'BKBB'; did you mean 'BKB'?
runs: [{}] => runs: [{problems: [abalon]}] => unknown problem 'abalon'; did you mean 'abalone'?
runs: [{}] => runs: [{readings: [mine]}] => unknown reading 'mine'; known: wide
runs: [{}] => runs: [{}, {budget: 29}] => one run abalone/BKB at scale smoke, got two, of 29 and 30
runs: [{}] => runs: [{variants: [narrow]}] => unknown variant 'narrow'; known:
{BKB: {bandwidth: 9}} => {BKBB: {bandwidth: 9}} => reading wide: unknown algorithm 'BKBB'
{BKB: {bandwidth: 9}} => {BKB: {bandwith: 9}} => reading wide, BKB: unknown parameter bandwith;
readings: { => variants: {thin: {bandwith: 9}}\nreadings: { => variant thin: unknown parameter
"""
DRAWN_OR_CLAIMED = r"""
curves: [BKB, GP-UCB, uniform] => curves: [BKB, GP-UC] => figure regret: unknown algorithm
curves: [BKB, GP-UCB, uniform] => curves: [BKB@narrow] => figure regret: unknown reading
curves: [BKB, GP-UCB, uniform] => curves: [BKB+thin] => figure regret: unknown variant 'thin';
{problem: abalone, title => {problem: abalon, title => figure regret: unknown problem 'abalon';
{problem: abalone, title: A} => {study: lemma, x: a, y: b} => figure regret: unknown study
metric: cumulative_regret, curves => metric: regret, curves => line 18, figure regret, metric:
title: Regret => relative_to: unifrm, title: Regret => figure regret: unknown algorithm 'unifrm'
{id: regret, => {id: ../regret, => figure ../regret, id: expected an id of at most 64 letters,
{id: regret, => {id: verdicts, => 'verdicts' twice or the name of a report: rename one
{id: regret, => {id: regret, scales: [huge], => unknown scale 'huge'; known: smoke, short, paper
left: [BKB] => left: [BKBB] => claim better: unknown algorithm 'BKBB'; did you mean 'BKB'?
left: [BKB] => left: [BKB@narrow] => claim better: unknown reading 'narrow'; known: wide
left: [BKB] => problems: [abalon], left: [BKB] => claim better: unknown problem 'abalon'
left: [BKB] => lft: [BKB] => line 22, claim better, check.lft: unknown key 'lft'; did you mean
test: less => test: lesser => claim better, check.test: expected one of less, more, passes,
says: BKB beats => readings: [narrow], says: BKB beats => claim better: unknown reading 'narrow';
"""


@pytest.mark.parametrize("table", [RUN, DRAWN_OR_CLAIMED], ids=["run", "drawn or claimed"])
def test_a_slip_is_named_with_its_place_and_what_is_known_before_anything_runs(root, table):
    slips = [line.replace("\\n", "\n").split(" => ") for line in table.strip().splitlines()]
    said = {(old, new): refusal(root, changed(old, new)) for old, new, _ in slips}
    assert [slip for slip in slips if slip[2] not in said[*slip[:2]]] == []


def test_names_of_claims_are_used_once_and_those_of_withdrawn_ones_lead_somewhere(root):
    once = "expected every id once in claims, appendix, withdrawn, got 'better'"
    gone = "withdrawn: [{ids: [better], why: it has another name}]\nclaims:\n"
    nowhere = "withdrawn: [{ids: [best], why: it has another name, instead: beter}]\nclaims:\n"
    for stands, said in (
        (f"claims:\n{CLAIM}", once),
        (gone, f"line of withdrawn claims number 1: {once}"),
        (
            nowhere,
            "line of withdrawn claims number 1: unknown claim 'beter'; did you mean 'better'?",
        ),
    ):
        assert said in refusal(root, changed("claims:\n", stands))


NAMES = ["../BKB", "..", ".hidden", "a/b", "a\\b", "a b", '"a\\nb"', '"a\\n"', "a@b", "a+b"]
NAMES += ['"a,b"', '"{x}"', '"a\'b"', "-x", "store", "default", "'*'", "u" * 100, "''", "CON:"]


@pytest.mark.parametrize("section", PLACES)
def test_a_name_that_would_be_no_folder_is_refused(root, section):
    """Names become folders, wildcards and words of a command line."""
    old, new = PLACES[section]
    for name in NAMES:
        message = refusal(root, changed(old, new.replace("NAME", name)))
        plain = yaml.safe_load(name) if name.startswith(("'", '"')) else name
        of = f"{section.removesuffix('s')} {plain}: expected a name of at most 64 letters"
        assert of in message or "is no valid YAML" in message


def test_a_simulator_is_named_never_a_path(root):
    """Although its source is there: what is named would be compiled and run."""
    (root / "simulators" / "build").mkdir(parents=True)
    for place in (root / "evil.cc", root / "simulators" / "evil.cc"):
        place.write_text("int main() {}\n", encoding="utf-8")
    for name in ("../evil", "/evil", "build/../../evil", "..", "a b"):
        message = refusal(root, changed("  abalone: {is", f"  abalone: {{simulator: {name}, is"))
        assert "problem abalone, simulator: expected an id of at most 64 letters" in message


def test_seeds_that_nobody_planned_are_no_first_seed(root, caplog):
    for seeds in ("5-9", "2"):
        said = f"expected some of the seeds 0-1 of scale smoke, got {seeds}"
        assert said in refusal(root, MINI, seeds=seeds)
    assert expand.load("mini", "smoke", root=root, seeds="0-1").curves[0].seeds == (0, 1)
    assert caplog.text == ""
    assert expand.load("mini", "smoke", root=root, seeds="1-9").curves[0].seeds == (1,)
    assert "expected some of the seeds 0-1 of scale smoke, got 1-9: those beyond" in caplog.text


def test_seeds_that_are_no_range_are_refused():
    for seeds in ["", "-1", "1-", "0-99999999999", "\u0661", "1 2", "0..3", "1-0"]:
        with pytest.raises(PlanError, match=r"seeds: expected a (number|rising range)"):
            parse_seeds(seeds)


def test_a_paper_is_named_never_a_path(root):
    (root / "papers" / "mini.yaml").write_text(MINI)
    said = r"unknown paper (.|\n)*(; did you mean 'mini'.|;) known: mini$"
    for name in ("../papers/mini", "/etc/passwd", "mini.yaml", "", "costs", "mini\n", "MINI"):
        with pytest.raises(PlanError, match=said):
            expand.load(name, "smoke", root=root)
