"""Records made again: what agrees, differs, is damaged, stale or too dear; nothing is written."""

import datetime
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.workflow import checkout, synthetic
from tests.workflow.synthetic import rewrite
from workflow.measure import condense
from workflow.operate import verify
from workflow.trace import one_path, record
from workflow.trace.curves import installed
from workflow.trace.record import Record

STUDY = """
studies:
  - {id: lemma, is: lemma3.run, problem: abalone, seeds: 1, parameters: {instances: 3, arms: [5,
       9], dimensions: [1, 2],
     batch: [1, 3], bandwidth: [0.3, 3], lam: [1.0e-3, 10]}}
"""
MADE = {"python": "3.11.7", "libraries": {"numpy": installed("numpy")}, "kernels": one_path.LEVEL}
MADE |= {"machine": "Linux, another CPU", "threads": 1, "commit": "abc"}
RECOMMENDED = {"query": [0.25, 0.5], "true": 0.125, "true_g": []}
HEADER = {"best": 1.5, "recommendation": RECOMMENDED, "digest": "d", "provenance": MADE}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the repository in which two seeds of a curve and a study were run."""
    copy = checkout.make(tmp_path_factory.mktemp("verify"))
    with (copy / "papers" / "mini.yaml").open("a") as paper:
        paper.write(STUDY)
    for call in (
        ("workflow.fetch", "abalone", "--substitutes", "allowed"),
        ("workflow.run", "mini", "abalone", "uniform", "0-1", "--scale", "smoke"),
        ("workflow.run", "mini", "studies", "lemma", "0", "--scale", "smoke"),
    ):
        checkout.succeed(copy, *call)
    return copy


@pytest.fixture
def copy(made):
    """The same; what a test does to its records is undone."""
    shutil.copytree(made / "results", made / "kept")
    yield made
    shutil.rmtree(made / "results", ignore_errors=True)
    (made / "kept").rename(made / "results")


def state(copy):
    return {
        path: (path.stat().st_mtime_ns, path.is_dir() or path.read_bytes())
        for path in copy.rglob("*")
        if path.suffix != ".pyc"
    }


@pytest.mark.slow
def test_cells_designs_and_studies_are_made_again_and_nothing_is_written(copy):
    before = state(copy)
    found = checkout.succeed(copy, "workflow.verify", "--minutes", "9")
    today = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d")
    assert f"making 3 of 3 records again, drawn by seed {today}, in some 0.2 CPU" in found.stdout
    assert found.stdout.endswith("\n3 of 3 records agree bit for bit\n")
    assert state(copy) == before


@pytest.mark.slow
def test_published_records_are_made_again_where_results_has_none(copy):
    """One was changed before in a column that is kept, one in a column that is not."""
    place = copy / "results" / "smoke" / "mini" / "abalone" / "uniform"
    for seed, name in ((0, "true"), (1, "y")):
        values = record.read(place / f"{seed}.parquet").columns[name]
        rewrite(place / f"{seed}.parquet", {name: np.nextafter(values, 9)})
    checkout.succeed(copy, "workflow.publish", "--scale", "smoke")
    shutil.rmtree(copy / "results")
    before = state(copy)
    found = checkout.run(copy, "workflow.verify", "--minutes", "9")
    assert state(copy) == before
    shutil.rmtree(copy / "figures")
    folder = "figures/reference/records/smoke/mini"
    assert found.returncode == 1, found.stdout + found.stderr
    assert "making 3 of 3 records again" in found.stdout
    place = f"differs: {folder}/abalone/uniform.parquet"
    assert f"{place} seed 0: from evaluation 0 on: true" in found.stdout
    assert "; better stays not decided\n" in found.stdout
    assert f"{place} seed 1: queries or observed values differ, which are not" in found.stdout
    assert found.stdout.endswith("\n1 of 3 records agree bit for bit; 2 differ\n")


@pytest.fixture
def toy(tmp_path, monkeypatch, plan_of):
    """The plan that `verify` reads: three seeds on real data and a study, all current."""
    made = synthetic.Toy(tmp_path, seeds=3, budget=8)
    said = {"data_sha256": synthetic.SHA, "provenance": MADE}
    curve = made.add("A", synthetic.noisy(0.5))
    for seed in curve.seeds:
        made.write(curve, seed, {"true": 0.5}, cpu_seconds=10.0 * seed, **said)
    study = made.study("lemma", lambda seed: {"t": np.arange(3)}, seeds=1)
    rewrite(tmp_path / study.record(0), cpu_seconds=1.0, **said)
    plan_of(made)
    monkeypatch.setattr(verify.one_path, "kernels_here", lambda: one_path.LEVEL)
    monkeypatch.setattr(verify, "_table_here", lambda *_, **__: synthetic.SHA)
    return made


def surveyed():
    return verify.survey(Path())


def test_the_present_records_are_found_with_their_commands_and_costs(toy):
    found = surveyed()
    assert not found.left_out and not found.damaged
    place = Path("results", "paper", "toy")
    assert [
        (each.path.relative_to(place).as_posix(), each.command) for each in found.candidates
    ] == [
        ("p/A/0.parquet", ("toy", "p", "A", "0", "--scale", "paper")),
        ("p/A/1.parquet", ("toy", "p", "A", "1", "--scale", "paper")),
        ("p/A/2.parquet", ("toy", "p", "A", "2", "--scale", "paper")),
        ("studies/lemma/0.parquet", ("toy", "studies", "lemma", "0", "--scale", "paper")),
    ]
    assert [each.seconds for each in found.candidates[:3]] == [0.0, 10.0, 20.0]


def test_stale_unplanned_and_unfinished_records_are_no_candidates(toy):
    curve = toy.curves["p", "A"]
    rewrite(curve.record(0), digest="of other code")
    rewrite(curve.record(1), status="cutoff")
    for folder in ("results/paper/toy/p/B", "results/smoke/toy/p/A", "results/paper/other/p/A"):
        shutil.copytree(curve.folder, folder)
    found = surveyed()
    (left,) = [each.path for each in found.candidates if each.path.parent == curve.folder]
    assert left.name == "2.parquet"
    assert found.left_out == {verify.OTHER_CODE: 7}


def test_what_was_made_from_substituted_data_is_made_from_such_again(toy, monkeypatch, tmp_path):
    rewrite(toy.curves["p", "A"].record(0), data="substitute: made up")
    first, other, *_ = surveyed().candidates
    said = (
        "import os, pathlib, sys; print([*pathlib.Path().iterdir()],"
        " os.environ.get('NOREGRET_SUBSTITUTES'), file=sys.stderr);"
        " sys.exit(os.environ['NOREGRET_DATA'])"
    )
    monkeypatch.setenv("NOREGRET_DATA", "data")
    monkeypatch.delenv("NOREGRET_SUBSTITUTES", raising=False)
    run = verify.subprocess.run
    monkeypatch.setattr(
        verify.subprocess, "run", lambda command, **how: run([sys.executable, "-c", said], **how)
    )
    for one, wish in ((first, "preferred"), (other, "None")):
        (tmp_path / wish).mkdir()
        with pytest.raises(ChildProcessError) as failed:
            verify.rerun(one, tmp_path / wish)
        assert str(failed.value) == f"[PosixPath('data')] {wish} {tmp_path / 'data'}"


def test_the_draw_is_the_same_for_the_same_seed_and_a_larger_one_contains_it():
    candidates = list(range(50))
    drawn = verify.sample(candidates, seed=1, many=5)
    assert drawn == verify.sample(candidates, seed=1, many=5)
    assert drawn == sorted(drawn)
    assert set(drawn) < set(verify.sample(candidates, seed=1, many=9))
    assert verify.sample(candidates, seed=3, many=99) == candidates
    samples = [verify.sample(candidates, seed=seed, many=5) for seed in range(40)]
    assert len(set().union(*samples)) > 45


def verified(monkeypatch, capsys, *arguments, rerun=None):
    """Exit status and output of a call where records are made again by reading or by `rerun`."""
    monkeypatch.setattr(
        verify, "rerun", rerun or (lambda candidate, folder: record.read(candidate.path))
    )
    return verify.main(list(arguments)), capsys.readouterr().out


def test_minutes_decide_how_many_of_each_paper_are_drawn(toy, monkeypatch, capsys):
    status, said = verified(monkeypatch, capsys, "--minutes", "inf")
    assert status == 0 and "making 4 of 4 records again" in said
    # one that took 0, 10 or 20 seconds, and 3 to start
    status, said = verified(monkeypatch, capsys, "--minutes", "0.075", "--seed", "1")
    assert status == 0 and "making 1 of 4 records again, drawn by seed 1, in some 0.1" in said
    assert said.endswith("1 of 1 records agree bit for bit\n")
    status, said = verified(monkeypatch, capsys, "--minutes", "0.01")
    assert status == 2 and said.endswith("give more --minutes, or another --only\n")


def test_so_many_records_can_be_drawn_whatever_they_take(toy, monkeypatch, capsys):
    status, said = verified(monkeypatch, capsys, "--many", "3")
    assert status == 0 and said.endswith("3 of 3 records agree bit for bit\n")
    for refused in (["--many", "0"], ["--many", "3", "--minutes", "9"]):
        with pytest.raises(SystemExit):
            verify.main(refused)


def test_one_run_or_all_of_a_problem_can_be_made_again(toy, monkeypatch, capsys):
    every = verify.survey(Path()).candidates
    one = f"{every[0].curve.paper}/{every[0].place}"
    status, said = verified(monkeypatch, capsys, "--only", one)
    assert status == 0 and f"making 1 of {len(every)} records again, {one}, in some" in said
    problem = one.rsplit("/", 2)[0]
    many = sum(f"{each.curve.paper}/{each.place}".startswith(f"{problem}/") for each in every)
    assert f"making {many} of" in verified(monkeypatch, capsys, "--only", problem)[1] and many > 1
    assert verified(monkeypatch, capsys, "--only", f"{one}0")[0] == 2
    assert verified(monkeypatch, capsys, "--only", f"{one}/")[0] == 0
    assert verify.main(["--only", "tou/hills"]) == 2
    assert "unknown paper 'tou'; did you mean 'toy'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("made", "entry", "reason"),
    [
        ({"kernels": "others"}, {}, "their kernels are others, runs here take x86-64-v3"),
        (
            {"kernels": None},
            {},
            "their kernels are unnamed, before x86-64-v3, runs here take x86-64-v3",
        ),
        ({"libraries": {"numpy": "1.0"}}, {}, "other versions made them: numpy 1.0, here "),
        ({}, {"libraries": ["no-such"]}, "their problem needs no-such, which is not installed"),
        ({}, {"data": "nobody"}, "nobody of that version is not on this machine (data/README.md)"),
    ],
)
def test_what_cannot_be_made_here_is_left_out_with_its_reason(
    toy, monkeypatch, made, entry, reason
):
    here = {"abalone": synthetic.SHA}
    monkeypatch.setattr(verify, "_table_here", lambda name, **_: here.get(name, ""))
    curve = toy.curves["p", "A"]
    curve = replace(curve, problem_entry={**curve.problem_entry, **entry})
    provenance = {name: value for name, value in {**MADE, **made}.items() if value}
    header = {"provenance": provenance, "data_sha256": synthetic.SHA}
    assert verify.lacking(curve, header).startswith(reason)
    assert verify.lacking(toy.curves["p", "A"], {**header, "provenance": MADE}) == ""


def test_a_record_on_a_substitute_is_made_again_on_that_substitute_alone(toy, monkeypatch):
    asked = []

    def here(name, *, substitutes):
        asked.append(substitutes)
        return synthetic.SHA

    monkeypatch.setattr(verify, "_table_here", here)
    curve = toy.curves["p", "A"]
    header = {"provenance": MADE, "data_sha256": synthetic.SHA, "data": "substitute: drawn"}
    entry = {**curve.problem_entry, "data": "abalone"}
    curve = replace(curve, problem_entry=entry, scale="paper")
    assert verify.lacking(curve, header) == "" and asked == [True]
    other = {**header, "data_sha256": "1" * 64}
    assert verify.lacking(curve, other).startswith("abalone of that version is not on this machine")
    assert verify.lacking(curve, {**header, "data": "real"}) == "" and asked[-1] is False


def test_a_run_that_fails_is_told_and_is_no_agreement(toy, monkeypatch, capsys):
    def rerun(candidate, folder):
        if candidate.path.parent.name != "lemma":
            raise ChildProcessError("camb: expected 2.0.5, found none: install it")
        return record.read(candidate.path)

    status, said = verified(monkeypatch, capsys, "--minutes", "9", rerun=rerun)
    assert status == 1
    assert "could not be made again: camb: expected 2.0.5, found none: install it" in said
    assert said.endswith("1 of 1 records agree bit for bit; 3 could not be made again\n")
    shutil.rmtree(toy.studies["lemma"].folder)
    assert verified(monkeypatch, capsys, "--minutes", "9", rerun=rerun)[0] == 1


def test_a_difference_says_what_becomes_of_the_verdicts_that_read_it(toy, monkeypatch, capsys):
    check = {"test": "band", "problems": ["p"], "curves": ["A"], "metric": "simple_regret"}
    said = {"where": "Fig. 1", "says": "A has little regret", "deterministic": True}
    toy.entry["claims"] = [
        {"id": name, **said, "check": {**check, "at_most": most}}
        for name, most in (("loose", 0.95), ("strict", 0.6))
    ]
    changed = toy.curves["p", "A"].record(1)

    def rerun(candidate, folder):
        found = record.read(candidate.path)
        columns = {**found.columns, "true": np.full(8, 0.1)}
        return replace(found, columns=columns) if candidate.path == changed else found

    status, said = verified(monkeypatch, capsys, "--minutes", "9", rerun=rerun)
    assert status == 1 and f"differs: {changed}: from evaluation 0 on: true 0.5 became 0.1" in said
    assert "; loose stays reproduced; strict becomes contradicted, was reproduced\n" in said


def test_a_run_on_other_data_is_not_compared(toy, monkeypatch, capsys):
    def rerun(candidate, folder):
        found = record.read(candidate.path)
        return replace(found, header={**found.header, "digest": "of other data"})

    status, said = verified(monkeypatch, capsys, "--minutes", "0.075", rerun=rerun)
    assert status == 1 and "was made again by other code or data: expected digest" in said
    assert said.endswith("0 of 0 records agree bit for bit; 1 could not be made again\n")


def compared(changes=None, **header):
    """What is said of a record of three rows and what it became."""
    columns = {
        "evaluation": np.arange(3),
        "query": np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
        "y": np.array([1.0, np.nan, 0.0]),
        "timing.ask": np.ones(3),
    }
    other = Record({**HEADER, **header}, {**columns, **(changes or {})})
    return verify.differences(Record(HEADER, columns), other)


def test_an_outcome_that_differs_under_an_equal_trace_is_told():
    columns = {name: np.arange(3) for name in ("evaluation", "batch", "true")}
    columns["query"] = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    columns |= {name: np.zeros(3) for name in ("timing.ask", "timing.tell")}
    said = {**HEADER, "rows": 3, "trace_sha256": record.trace_hash(columns), "status": "complete"}
    kept = condense.condensed(Record(said, columns))
    assert verify.from_kept(kept, Record({**said, "cpu_seconds": 9.0}, columns)) == ""
    moved = {"recommendation": {"query": [0.5, 0.5], "true": 0.125, "true_g": []}}
    line = verify.from_kept(kept, Record({**said, **moved}, columns))
    assert line == "the trace is the same, its outcome is not: traces of the header"
    line = verify.from_kept(kept, Record({**said, "best": 1.25}, columns))
    assert line == "the trace is the same, its outcome is not: best of the header"


def test_equal_bytes_agree_and_times_do_not_count():
    times = {"timing.ask": np.zeros(3), "timing.tell": np.zeros(3)}
    assert compared(times, cpu_seconds=9.0, provenance={**MADE, "machine": "m"}) == ""


def test_one_bit_is_a_difference_and_told_where_it_begins():
    query = np.array([[0.1, 0.2], [0.3, 0.5], [0.5, 0.9]])
    moved = {"query": query, "y": np.array([1.0, np.nan, 4.0])}
    said = "from evaluation 1 on: query 0.4 became 0.5, 0.1 apart (relative 0.2)"
    assert compared(moved) == said
    one_bit, more = np.nextafter(1.0, 2), "1.0000000000000002, 2.22e-16 apart (relative 2.22e-16)"
    for y, said in [
        ([one_bit, np.nan, 0.0], f"0 on: y 1.0 became {more}"),
        ([1.0, np.nan, -0.0], "2 on: y 0.0 became -0.0, 0 apart (relative 0)"),
        ([1.0, 0.0, 0.0], "1 on: y nan became 0.0, not both finite"),
    ]:
        assert compared({"y": np.array(y)}) == f"from evaluation {said}"


def test_another_shape_type_or_column_is_a_difference():
    integers = np.arange(3, dtype=np.int32)
    for changes, said in [
        ({"y": np.zeros(2)}, "y: expected float64 (3,), got float64 (2,)"),
        ({"evaluation": integers}, "evaluation: expected int64 (3,), got int32 (3,)"),
        ({"report.beta": np.zeros(3)}, "report.beta: expected none, got float64 (3,)"),
    ]:
        assert compared(changes) == said


def test_a_flipped_bit_is_found_whichever_records_are_drawn(toy, monkeypatch, capsys):
    """All are read in full, also those that are not made again."""
    damaged = toy.curves["p", "A"].record(2)
    content = bytearray(damaged.read_bytes())
    content[20] ^= 1
    damaged.write_bytes(content)
    assert record.read_header(damaged)["seed"] == 2
    for seed in range(3):
        status, said = verified(monkeypatch, capsys, "--minutes", "0.075", "--seed", str(seed))
        assert status == 1 and f"damaged: {damaged}: " in said
        assert said.endswith("1 of 1 records agree bit for bit; 1 damaged\n")


def test_the_outcome_in_the_header_is_compared_as_far_as_the_record_has_it():
    moved = {**HEADER["recommendation"], "query": [0.25, 0.75]}
    for name, value in (("recommendation", moved), ("best", 1.25), ("best", None)):
        said = f"the trace is the same, its outcome is not: {name} of the header"
        assert compared(**{name: value}) == said
    assert compared(status="complete") == ""  # which the record does not have
