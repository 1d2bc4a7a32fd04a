"""`workflow.publish` adds finished, current records and overwrites nothing unasked."""

import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.workflow.synthetic import Toy
from workflow.judge import claims
from workflow.operate import publish
from workflow.operate.publish import ADDED, DAMAGED, OTHER, REPLACED, THERE, UNFINISHED
from workflow.plan import reader, resolve
from workflow.plan.exhibits import lines_of
from workflow.plan.expand import load
from workflow.plan.resolve import ROOT
from workflow.trace import curve_file, record
from workflow.trace.curves import PUBLISHED

# published once, and planned still; no exhibit and no claim reads them
UNREAD = {f"paper/bkb/{problem}/uniform.parquet" for problem in ("abalone", "cadata")}


def climbing(seed):
    return {"true": np.linspace(0.1, 0.9, 60) - 0.01 * seed}


@pytest.fixture
def toy(tmp_path):
    toy = Toy(tmp_path, seeds=3)
    toy.add("A", climbing)
    toy.add("B", climbing, reading="code", variant="b-1")
    toy.study("theory", lambda seed: {"t": [1, 2], "ratio": [0.5, seed]})
    return toy


def made(toy, **how):
    return publish.publish(toy.paper, toy.root / "results", toy.root, **how)


def test_every_finished_record_is_published_once(toy):
    first = made(toy)
    assert (first.counts, first.errors) == ({ADDED: 9}, [])
    folder = toy.root / "figures" / "reference" / "records" / "paper" / "toy"
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert files == ["p/A.parquet", "p/B@code+b-1.parquet", "studies/theory.parquet"]
    assert publish.size(toy.root)[0] == 3 and publish.size(toy.root)[1] > 0
    assert made(toy).counts == {THERE: 9}
    kept = curve_file.read(folder / "p" / "A.parquet")
    assert sorted(kept) == [0, 1, 2]
    np.testing.assert_array_equal(kept[2].columns["true"], climbing(2)["true"])


def test_what_is_unfinished_damaged_or_of_other_code_is_counted_and_left_out(toy):
    curve = toy.curves["p", "A"]
    toy.write(curve, 0, climbing(0), status="cutoff")
    toy.write(curve, 1, climbing(1), digest="f" * 64)
    (toy.root / curve.record(2)).write_bytes(b"no record")
    found = made(toy)
    assert found.counts == {UNFINISHED: 1, OTHER: 1, DAMAGED: 1, ADDED: 6}
    assert len(found.errors) == 1 and "2.parquet" in found.errors[0]
    assert not (toy.root / curve.published).exists()


def test_a_copy_of_another_seed_and_a_run_cut_short_are_refused(toy):
    run = toy.curves["p", "A"]
    digest = record.read(toy.root / run.record(0)).header["digest"]  # the same for all seeds
    shutil.copy(toy.root / run.record(0), toy.root / run.record(1))
    toy.write(replace(run, budget=30), 2, {"true": np.linspace(0.1, 0.9, 30)}, digest=digest)
    found = made(toy)
    assert found.counts == {ADDED: 7, DAMAGED: 2}
    assert "expected toy seed 1, found toy seed 0: a copy of another record" in found.errors[0]
    assert "expected 60 evaluations, found 30" in found.errors[1]
    assert sorted(curve_file.read(toy.root / run.published)) == [0]


def test_columns_that_make_no_table_are_told_and_the_other_runs_are_published(toy, monkeypatch):
    merge = curve_file.merge

    def picky(path, labels, found, **how):
        if path.stem == "A":
            raise pa.ArrowInvalid("only handle 1-dimensional arrays")
        return merge(path, labels, found, **how)

    monkeypatch.setattr(curve_file, "merge", picky)
    found = made(toy)
    assert found.counts == {ADDED: 6}
    assert "A.parquet: expected columns of one kind in all seeds, got: only" in found.errors[0]


def test_a_record_that_differs_from_the_published_one_is_an_error_unless_it_is_to_replace(toy):
    made(toy)
    curve = toy.curves["p", "A"]
    content = (toy.root / curve.published).read_bytes()
    toy.write(curve, 1, {"true": np.full(60, 0.5)})
    found = made(toy)
    assert found.counts == {THERE: 8}
    (error,) = found.errors
    assert "expected seeds 1 with the digest and trace" in error
    assert (toy.root / curve.published).read_bytes() == content
    assert made(toy, replace=True).counts == {THERE: 8, REPLACED: 1}
    assert (curve_file.read(toy.root / curve.published)[1].columns["true"] == 0.5).all()


def test_records_are_published_where_their_data_are_not(toy):
    shutil.rmtree(toy.root / "data")
    assert made(toy).counts == {OTHER: 9}  # these do not say of which data they are
    for curve in toy.curves.values():
        for seed in curve.seeds:
            toy.write(curve, seed, climbing(seed), data_sha256="0" * 64)
    assert made(toy).counts == {OTHER: 3, ADDED: 6}


def test_the_command_says_what_it_did_and_how_large_it_is(toy, monkeypatch, capsys):
    monkeypatch.chdir(toy.root)
    monkeypatch.setattr(publish, "chosen_papers", lambda names: ["toy"])
    monkeypatch.setattr(publish, "load", lambda name, scale: toy.paper)
    assert publish.main([]) == 0
    out = capsys.readouterr().out
    assert "toy: 9 published\n" in out and "3 files, 0.0" in out
    toy.write(toy.curves["p", "A"], 1, {"true": np.full(60, 0.5)})
    elsewhere = toy.root / "elsewhere"
    shutil.move(toy.root / "results", elsewhere)
    assert publish.main(["--from", str(elsewhere)]) == 1
    said = capsys.readouterr()
    assert "8 published before" in said.out and "say --replace" in said.err
    assert publish.main(["--from", str(elsewhere), "--replace"]) == 0
    monkeypatch.setattr(publish, "MOST", 1)
    assert publish.main(["--from", str(elsewhere)]) == 1
    assert "expected at most 1 bytes" in capsys.readouterr().err
    assert publish.main(["--from", "nowhere"]) == 1
    assert "nowhere: expected a folder of records, paper/PAPER/..., fo" in capsys.readouterr().err
    (toy.root / toy.curves["p", "A"].published).write_bytes(b"PAR1")
    assert publish.main(["--from", str(elsewhere)]) == 1
    assert "A.parquet: expected published records, found a file that" in capsys.readouterr().err


def read_at(scale):
    """The published files of the runs that an exhibit or a claim reads, of all that is planned."""
    files = set()
    for name in resolve.planned():
        if scale not in reader.read(name)["scales"]:
            continue
        plan = load(name, scale)
        runs = claims.runs(plan)
        for kind, line in lines_of(plan.entry):
            runs += kind.runs(plan, line.id)
        files |= {run.published for run in runs}
    return files


def test_what_this_repository_publishes_is_small_whole_planned_and_read():
    """Of the files in figures/reference/records, if there are any yet."""
    files, total, largest = publish.size(ROOT)
    assert total <= publish.MOST and largest <= curve_file.LARGEST
    assert files == len(list((ROOT / PUBLISHED).rglob("*.*")))
    planned = {}
    for path in sorted((ROOT / PUBLISHED).rglob("*.parquet")):
        scale, name = path.relative_to(ROOT / PUBLISHED).parts[:2]
        if (name, scale) not in planned:
            planned[name, scale] = {run.published: run for run in load(name, scale).every_curve}
        run = planned[name, scale].get(path.relative_to(ROOT))
        kept = curve_file.read(path)
        assert run is not None, path
        assert {one.header["paper"] for one in kept.values()} == {run.paper}
    there = {path.relative_to(ROOT) for path in (ROOT / PUBLISHED).rglob("*.parquet")}
    read = set().union(*map(read_at, {scale for _, scale in planned}))
    unread = {str(path.relative_to(PUBLISHED)) for path in there - read}
    assert unread <= UNREAD
