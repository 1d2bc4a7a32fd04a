"""Some records are made again: what agrees, what differs and where, what is damaged, stale or too
dear; nothing is written.
"""

import platform
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.workflow import checkout, synthetic
from workflow.measure import condense
from workflow.operate import archive, verify
from workflow.operate.verify import Candidate
from workflow.trace import one_path, record
from workflow.trace.cells import with_data
from workflow.trace.record import Record

STUDY = """
studies:
  - {id: lemma, is: lemma3.run, problem: abalone, seeds: 1, parameters: {instances: 3, arms: [5,
       9], dimensions: [1, 2],
     batch: [1, 3], bandwidth: [0.3, 3], lam: [1.0e-3, 10]}}
"""
MADE = {
    "python": "3.11.7",
    "libraries": {"numpy": "2.4.6"},
    "machine": "Linux, another CPU",
    "threads": 1,
    "commit": "abc",
}
HEADER = {
    "best": 1.5,
    "recommendation": {"query": [0.25, 0.5], "true": 0.125, "true_g": []},
    "digest": "d",
    "provenance": MADE,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the repository in which two seeds of a cell and a study were
    run.
    """
    copy = checkout.make(tmp_path_factory.mktemp("verify"))
    with (copy / "papers" / "mini.yaml").open("a") as paper:
        paper.write(STUDY)
    calls = [["workflow.fetch", "abalone", "--substitutes", "allowed"]]
    calls += [
        ["workflow.run", "mini", *names, "--scale", "smoke"]
        for names in (
            ("abalone", "uniform", "0"),
            ("abalone", "uniform", "1"),
            ("studies", "lemma", "0"),
        )
    ]
    for call in calls:
        found = checkout.run(copy, *call)
        assert found.returncode == 0, found.stderr
    return copy


@pytest.fixture
def copy(made):
    """The same; what a test does to its records is undone."""
    shutil.copytree(made / "results", made / "kept")
    yield made
    shutil.rmtree(made / "results", ignore_errors=True)
    (made / "kept").rename(made / "results")


def rewrite(path, columns=None, **header):
    found = record.read(path)
    record.write(path, {**found.header, **header}, {**found.columns, **(columns or {})})


def state(copy):
    return {
        path: (path.stat().st_mtime_ns, path.is_dir() or path.read_bytes())
        for path in copy.rglob("*")
        if path.suffix != ".pyc"
    }


def test_cells_designs_and_studies_are_made_again_and_nothing_is_written(copy):
    before = state(copy)
    found = checkout.run(copy, "workflow.verify", "--share", "1")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "checking 3 of 3 records, chosen by seed 1" in found.stdout
    for name in ("abalone/uniform/0", "abalone/uniform/1", "studies/lemma/0"):
        assert f"agrees   results/smoke/mini/{name}.parquet" in found.stdout
    assert found.stdout.endswith("\n3 of 3 records agree bit for bit\n")
    assert state(copy) == before


def test_a_changed_a_damaged_and_a_stale_record_are_told_apart(copy):
    place = copy / "results" / "smoke" / "mini"
    changed = place / "abalone" / "uniform" / "0.parquet"
    y = record.read(changed).columns["y"]
    rewrite(changed, {"y": np.nextafter(y, 9)})
    shutil.copytree(place / "abalone" / "uniform", place / "abalone" / "gone")
    (place / "studies" / "lemma" / "0.parquet").write_bytes(b"PAR1 half a file")
    found = checkout.run(copy, "workflow.verify", "--share", "1")
    assert found.returncode == 1
    assert (
        "2 records were made by other code, parameters, data or library versions: not made again"
        in found.stdout
    )
    assert "results/smoke/mini/abalone/gone (2)" in found.stdout
    assert "agrees   results/smoke/mini/abalone/uniform/1.parquet" in found.stdout
    assert "differs  results/smoke/mini/abalone/uniform/0.parquet" in found.stdout
    assert f"begins in column y, row 0: {np.nextafter(y, 9)[0]!s} became {y[0]!s}" in found.stdout
    assert "damaged  results/smoke/mini/studies/lemma/0.parquet" in found.stdout
    assert found.stdout.endswith("\n1 of 2 records agree bit for bit; 1 differs; 1 damaged\n")


def test_the_records_of_an_archive_are_made_again_without_results(copy):
    archive.write(copy / "made.zip", root=copy)
    shutil.rmtree(copy / "results")
    found = checkout.run(copy, "workflow.verify", "--archive", "made.zip", "--records", "1")
    (copy / "made.zip").unlink()
    assert found.returncode == 0, found.stdout + found.stderr
    assert "checking 1 of 3 records, chosen by seed 1" in found.stdout
    assert not (copy / "results").exists()


def test_published_records_are_made_again_where_results_has_none(copy):
    """One of them was changed before it was published, in a column that is kept; one in one that
    is not.
    """
    place = copy / "results" / "smoke" / "mini" / "abalone" / "uniform"
    for seed, name in ((0, "true"), (1, "y")):
        values = record.read(place / f"{seed}.parquet").columns[name]
        rewrite(place / f"{seed}.parquet", {name: np.nextafter(values, 9)})
    assert checkout.run(copy, "workflow.publish", "--scale", "smoke").returncode == 0
    shutil.rmtree(copy / "results")
    before = state(copy)
    found = checkout.run(copy, "workflow.verify", "--share", "1")
    assert state(copy) == before
    shutil.rmtree(copy / "figures")
    folder = "figures/reference/records/smoke/mini"
    assert found.returncode == 1, found.stdout + found.stderr
    assert "checking 3 of 3 records" in found.stdout
    assert f"agrees   {folder}/studies/lemma.parquet seed 0" in found.stdout
    assert f"differs  {folder}/abalone/uniform.parquet seed 0" in found.stdout
    assert "begins in column true, row 0" in found.stdout
    assert f"differs  {folder}/abalone/uniform.parquet seed 1" in found.stdout
    assert "the trace differs in what is not published" in found.stdout


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A plan of one cell with three seeds on real data and of a study, all current;
    `verify` reads that plan.
    """
    made = synthetic.Toy(tmp_path, seeds=3, budget=8)
    cell = made.add("A", synthetic.noisy(0.5))
    cell = replace(cell, problem_entry={**cell.problem_entry, "budget": 8})
    made.cells["p", "A"] = cell
    for seed in cell.seeds:
        sha = {
            "digest": with_data(cell.digest, synthetic.SHA),
            "data_sha256": synthetic.SHA,
            "cpu_seconds": 10.0 * seed,
        }
        made.write(cell, seed, {"true": 0.5}, **sha)
    study = made.study("lemma", lambda seed: {"t": np.arange(3)}, seeds=1)
    rewrite(tmp_path / study.record(0), data_sha256=synthetic.SHA, cpu_seconds=1.0)
    monkeypatch.setattr(verify.resolve, "planned", lambda: ["toy"])
    monkeypatch.setattr(verify.reader, "read", lambda name: {"scales": {"paper": {}}})
    monkeypatch.setattr(verify, "load", lambda name, scale: made.paper)
    monkeypatch.chdir(tmp_path)
    return made


def surveyed():
    return verify.survey(Path(), archive.record_paths(Path()))


def test_the_present_records_are_found_with_their_commands_and_costs(toy):
    found = surveyed()
    assert found.other == [] and found.damaged == []
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
    cell = toy.cells["p", "A"]
    rewrite(cell.record(0), digest="of other code")
    rewrite(cell.record(1), status="cutoff")
    for folder in ("results/paper/toy/p/B", "results/smoke/toy/p/A", "results/paper/other/p/A"):
        shutil.copytree(cell.folder, folder)
    found = surveyed()
    assert [each.path.name for each in found.candidates if each.path.parent == cell.folder] == [
        "2.parquet"
    ]
    assert {
        path.as_posix().removeprefix("results/").removesuffix(".parquet") for path in found.other
    } == {
        "paper/toy/p/A/0",
        "paper/toy/p/B/0",
        "paper/toy/p/B/2",
        "smoke/toy/p/A/0",
        "smoke/toy/p/A/2",
        "paper/other/p/A/0",
        "paper/other/p/A/2",
    }


def test_what_was_made_from_substituted_data_is_made_from_such_again(toy, monkeypatch, tmp_path):
    for seed in range(3):
        rewrite(toy.cells["p", "A"].record(seed), data="substitute: made up")
    assert [each.substitute for each in surveyed().candidates] == [True] * 3 + [False]
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
    for number, (substitute, wish) in enumerate(((True, "preferred"), (False, "None"))):
        (tmp_path / f"empty-{number}").mkdir()
        with pytest.raises(ChildProcessError) as failed:
            verify.rerun(Candidate(Path("x"), (), 1.0, substitute), tmp_path / f"empty-{number}")
        assert str(failed.value) == f"[PosixPath('data')] {wish} {tmp_path / 'data'}"


def test_the_draw_is_the_same_for_the_same_seed_and_a_larger_one_contains_it():
    candidates = [Candidate(Path(str(i)), (), 1.0, False) for i in range(50)]
    drawn = verify.sample(candidates, seed=1, many=5)
    assert (
        drawn
        == verify.sample(candidates, seed=1, many=5)
        != verify.sample(candidates, seed=2, many=5)
    )
    assert [each.path.name for each in drawn] == [
        str(i) for i in sorted(int(each.path.name) for each in drawn)
    ]
    assert set(drawn) < set(verify.sample(candidates, seed=1, many=9))
    assert verify.sample(candidates, seed=3, many=99) == candidates
    assert (
        len({each for seed in range(40) for each in verify.sample(candidates, seed=seed, many=5)})
        > 45
    )


def verified(monkeypatch, capsys, *arguments, rerun=None):
    """The exit status and the output of a call in which a record is made again by reading it, or by
    `rerun`.
    """
    monkeypatch.setattr(
        verify, "rerun", rerun or (lambda candidate, folder: record.read(candidate.path))
    )
    return verify.main(list(arguments)), capsys.readouterr().out


def test_share_number_and_cost_decide_how_many_are_drawn(toy, monkeypatch, capsys):
    status, said = verified(monkeypatch, capsys)
    # at least one
    assert (status, said.splitlines()[-1]) == (0, "1 of 1 records agree bit for bit")
    assert "checking 2 of 4 records" in verified(monkeypatch, capsys, "--share", "0.4")[1]
    status, said = verified(monkeypatch, capsys, "--records", "9", "--most-seconds", "10")
    assert "left out: 1 records of more than 10 CPU seconds each" in said
    assert "checking 3 of 3 records, chosen by seed 1: they took 0.2 CPU minutes" in said
    assert "A/2.parquet" not in said


def test_a_run_that_fails_is_told_and_is_no_agreement(toy, monkeypatch, capsys):
    def rerun(candidate, folder):
        if candidate.path.parent.name != "lemma":
            raise ChildProcessError("camb: expected 2.0.5, found none: install it")
        return record.read(candidate.path)

    status, said = verified(monkeypatch, capsys, "--share", "1", rerun=rerun)
    assert status == 1
    assert "could not be made again: camb: expected 2.0.5, found none: install it" in said
    assert said.endswith("1 of 1 records agree bit for bit; 3 could not be made again\n")
    shutil.rmtree(toy.studies["lemma"].folder)
    # nothing was compared
    assert verified(monkeypatch, capsys, "--share", "1", rerun=rerun)[0] == 2


def test_a_run_on_other_data_is_not_compared(toy, monkeypatch, capsys):
    def rerun(candidate, folder):
        found = record.read(candidate.path)
        return replace(found, header={**found.header, "digest": "of other data"})

    status, said = verified(monkeypatch, capsys, "--records", "1", rerun=rerun)
    assert status == 2
    assert said.endswith(
        "0 of 0 records agree bit for bit; 1 made by other code, parameters, data or library"
        " versions\n"
    )


def test_nothing_to_compare_and_wrong_arguments_are_sentences(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert verify.main([]) == 2
    assert "nothing to compare: run the workflow, name an --archive" in capsys.readouterr().out
    assert verify.main(["--papers", "nobody"]) == 2
    assert "unknown paper 'nobody'" in capsys.readouterr().err
    assert verify.main(["--archive", "none.zip"]) == 1
    assert "none.zip: expected an archive" in capsys.readouterr().err
    for wrong in (["--share", "0"], ["--share", "1.5"], ["--records", "0"]):
        with pytest.raises(SystemExit, match="2"):
            verify.main(wrong)
        assert "expected a share in (0, 1] and at least one record" in capsys.readouterr().err


def compared(changes=None, **header):
    """The lines about a record of three rows and what it became."""
    columns = {
        "evaluation": np.arange(3),
        "query": np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
        "y": np.array([1.0, np.nan, 0.0]),
        "timing.ask": np.ones(3),
    }
    return verify.differences(
        Record(HEADER, columns), Record({**HEADER, **header}, {**columns, **(changes or {})})
    )


def test_an_outcome_that_differs_under_an_equal_trace_is_told():
    columns = {name: np.arange(3) for name in ("evaluation", "batch", "true")}
    columns["query"] = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    columns |= {name: np.zeros(3) for name in ("timing.ask", "timing.tell")}
    said = {**HEADER, "rows": 3, "trace_sha256": record.trace_hash(columns), "status": "complete"}
    kept = condense.condensed(Record(said, columns))
    assert verify.from_kept(kept, Record({**said, "cpu_seconds": 9.0}, columns)) == []
    moved = {"recommendation": {"query": [0.5, 0.5], "true": 0.125, "true_g": []}}
    (line,) = verify.from_kept(kept, Record({**said, **moved}, columns))
    assert line == "the trace is the same, its outcome is not: traces of the header"
    lines = verify.from_kept(kept, Record({**said, "best": 1.25}, columns))
    assert lines[0] == "begins in header best, row 0: 1.5 became 1.25, 0.25 apart (relative 0.167)"


def test_equal_bytes_agree_and_times_do_not_count():
    assert (
        compared(
            {"timing.ask": np.zeros(3), "timing.tell": np.zeros(3)},
            cpu_seconds=9.0,
            provenance={**MADE, "machine": "m"},
        )
        == []
    )


def test_a_difference_is_told_where_it_begins_where_it_is_largest_and_between_which_machines():
    query = np.array([[0.1, 0.2], [0.3, 0.5], [0.5, 0.9]])
    lines = compared(
        {"query": query, "y": np.array([1.0, np.nan, 4.0])},
        provenance={**MADE, "machine": "this CPU"},
    )
    assert lines == [
        "begins in column query, row 1: 0.4 became 0.5, 0.1 apart (relative 0.2)",
        "largest difference of query: row 2, 0.6 became 0.9, 0.3 apart (relative 0.333)",
        "largest difference of y: row 2, 0.0 became 4.0, 4 apart (relative 1)",
        "recorded: Linux, another CPU; unnamed code path; python 3.11.7, numpy 2.4.6; commit abc",
        "now:      this CPU; unnamed code path; python 3.11.7, numpy 2.4.6; commit abc",
        "the record does not name the code path of its CPU: whether another one explains the"
        " difference cannot be told; make it again on the machine that it names to compare bits",
    ]


def path(architecture, capability, version="0.3"):
    blas = {
        "library": "numpy",
        "name": "openblas",
        "version": version,
        "architecture": architecture,
        "threads": 1,
    }
    torch = {"capability": capability, "threads": 1, "mkl": "2024.2", "maker": "Intel", "asked": {}}
    return {"blas": [blas], "torch": torch}


def with_path(code_path, **libraries):
    return {**MADE, "libraries": {**MADE["libraries"], **libraries}, "code_path": code_path}


def test_another_code_path_explains_a_difference_and_says_how_to_take_it():
    made = with_path(path("Haswell", "AVX2"), pyarrow="1")
    here = with_path(path("SkylakeX", "AVX512"), pyarrow="2")
    assert verify.explained(made, here) == (
        "made under Haswell + AVX2 with numpy 2.4.6; here SkylakeX + AVX512 with numpy 2.4.6"
        " (openblas of numpy Haswell, here SkylakeX; PyTorch AVX2, here AVX512): that explains last"
        " digits; make it again under NOREGRET_CODE_PATH='OPENBLAS_CORETYPE=Haswell"
        " ATEN_CPU_CAPABILITY=avx2' to compare bits"
    )


def test_other_versions_explain_a_difference():
    here = with_path(path("Haswell", "AVX2", version="0.4"), numpy="2.5.0", torch="2")
    found = verify.explained(with_path(path("Haswell", "AVX2"), torch="1"), here)
    assert "made under Haswell + AVX2 with numpy 2.4.6, torch 1; here Haswell + AVX2" in found
    assert "version of openblas of numpy 0.3, here 0.4" in found
    assert "numpy 2.4.6, here 2.5.0" in found and "torch 1, here 2" in found
    assert found.endswith("make it again with numpy==2.4.6 torch==1 to compare bits")


def test_where_nothing_explains_it_the_run_does_not_reproduce():
    made = with_path(path("Haswell", "AVX2"), pyarrow="1")
    found = verify.explained(made, with_path(path("Haswell", "AVX2"), pyarrow="2"))
    assert "are the same: this run does not reproduce" in found


def test_a_record_of_another_code_path_is_verified_by_taking_it(copy, monkeypatch):
    """A real one: the oldest kernels of OpenBLAS have other last digits than those of all runs."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("kernels of x86")
    place = Path("results", "quick", "mini", "abalone", "GP-UCB", "0.parquet")
    shutil.rmtree(copy / "results")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv(one_path.INSTEAD, "OPENBLAS_CORETYPE=Prescott")
        made = checkout.run(
            copy, "workflow.run", "mini", "abalone", "GP-UCB", "0", "--scale", "quick"
        )
        assert made.returncode == 0, made.stderr
    provenance = record.read(copy / place).header["provenance"]
    assert provenance["kernels"] == "asked for by NOREGRET_CODE_PATH"
    named = provenance["code_path"]["blas"][0]["architecture"]
    found = checkout.run(copy, "workflow.verify", "--records", "9")
    assert found.returncode == 0, found.stdout
    assert f"agrees   {place}" in found.stdout
    assert f"under NOREGRET_CODE_PATH=OPENBLAS_CORETYPE={named}, for its code path" in found.stdout
    assert ", 1 of them under the code path that made them" in found.stdout
    monkeypatch.setenv(one_path.INSTEAD, f"OPENBLAS_CORETYPE={named}")
    found = checkout.run(copy, "workflow.verify", "--records", "9")
    assert found.returncode == 0, found.stdout
    assert f"agrees   {place}" in found.stdout and "for its code path" not in found.stdout


def test_another_code_path_is_taken_by_variables_alone_or_not_at_all(monkeypatch):
    monkeypatch.setattr(one_path, "features", list)
    made, here = path("Haswell", "AVX2"), path("SkylakeX", "AVX512")
    asked = {one_path.INSTEAD: "OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2"}
    assert verify._its_path(with_path(made), with_path(here)) == asked
    assert verify._its_path(with_path(here), with_path(here)) == {}
    # other versions, another maker of the processor
    assert verify._its_path(with_path(made), with_path(here, numpy="2.5.0")) == {}
    other = {**here, "torch": {**here["torch"], "maker": "AMD"}}
    assert verify._its_path(with_path(made), with_path(other)) == {}
    assert verify._its_path({}, with_path(here)) == {}
    # what NumPy alone lacks does not keep it from being tried
    made, here = ({**one, "numpy": {"baseline": [], "found": []}} for one in (made, here))
    made["numpy"]["found"] = ["AVX512_SPR"]
    assert verify._its_path(with_path(made), with_path(here)) == asked


def test_a_flipped_bit_is_found_whichever_records_are_drawn(toy, monkeypatch, capsys):
    """All are read in full, also those that are not made again."""
    damaged = toy.cells["p", "A"].record(2)
    content = bytearray(damaged.read_bytes())
    content[20] ^= 1
    damaged.write_bytes(content)
    assert record.read_header(damaged)["seed"] == 2
    for seed in range(3):
        status, said = verified(monkeypatch, capsys, "--records", "1", "--seed", str(seed))
        assert status == 1 and f"damaged  {damaged}" in said
        assert said.endswith("1 of 1 records agree bit for bit; 1 damaged\n")


@pytest.mark.parametrize(
    ("y", "begins"),
    [
        (
            [np.nextafter(1.0, 2), np.nan, 0.0],
            "row 0: 1.0 became 1.0000000000000002, 2.22e-16 apart (relative 2.22e-16)",
        ),
        ([1.0, np.nan, -0.0], "row 2: 0.0 became -0.0, 0 apart (relative 0)"),
        ([1.0, 0.0, 0.0], "row 1: nan became 0.0, not both finite"),
        ([np.inf, np.nan, 0.0], "row 0: 1.0 became inf, not both finite"),
    ],
)
def test_one_bit_is_a_difference(y, begins):
    assert compared({"y": np.array(y)})[0] == f"begins in column y, {begins}"


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"y": np.zeros(2)}, "column y: expected float64 (3,), got float64 (2,)"),
        (
            {"evaluation": np.arange(3, dtype=np.int32)},
            "column evaluation: expected int64 (3,), got int32 (3,)",
        ),
        ({"report.beta": np.zeros(3)}, "column report.beta: expected none, got float64 (3,)"),
    ],
)
def test_another_shape_type_or_column_is_a_difference(changes, first):
    assert compared(changes)[0] == first


def test_the_outcome_in_the_header_is_compared_as_far_as_the_record_has_it():
    moved = {**HEADER["recommendation"], "query": [0.25, 0.75]}
    assert (
        compared(recommendation=moved)[0]
        == "begins in header recommended query, row 1: 0.5 became 0.75, 0.25 apart (relative 0.333)"
    )
    assert compared(best=None)[0] == "header best: expected float64 (1,), got none"
    assert compared(best=1.25)[0].startswith("begins in header best, row 0: 1.5 became 1.25")
    assert compared(recommendation={**HEADER["recommendation"], "new": 1.0}) == []
    assert (
        compared(recommendation={"query": [0.25, 0.5], "true": 0.125})[0]
        == "header recommended true_g: expected float64 (0,), got none"
    )
