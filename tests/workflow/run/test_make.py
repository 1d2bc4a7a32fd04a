"""Runs as a user makes them: interrupted, repeated, shortened, and met by others' files."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from algorithms.random_search import RandomSearch
from tests.faults import steep
from tests.workflow import checkout, supervised
from workflow.plan import expand
from workflow.run import job as runner
from workflow.run import make
from workflow.run.boundary import BadAnswer
from workflow.run.lease import Failed
from workflow.run.target import Target
from workflow.trace import by_digest, curves, one_path, record

SLOWED = """
import time
real = time.process_time
time.process_time = lambda: (time.sleep(0.1), real())[1]
"""


LONG = ("BKB", "0", "--scale", "short", "--checkpoint-every", "0")
PLACE = Path("results", "short", "mini", "abalone", "BKB", "0.parquet")
SMOKE = ("uniform", "0", "--scale", "smoke")
MADE = Path("results", "smoke", "mini", "abalone", "uniform", "0.parquet")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """One copy with its substitute data prepared; each test uses its own output files or scale."""
    copy = checkout.make(tmp_path_factory.mktemp("run"))
    checkout.succeed(copy, "workflow.fetch", "abalone", "--substitutes", "allowed")
    return copy


def run(copy, *arguments):
    return checkout.run(copy, "workflow.run", "mini", "abalone", *arguments)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The folder of this user's checkpoints, of which there are none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "noregret" / "checkpoints"


@pytest.fixture
def copy(prepared, tmp_path):
    return shutil.copytree(prepared, tmp_path / "copy", ignore=shutil.ignore_patterns("results"))


def begun(copy, folder):
    """A run, slowed, that has saved itself once."""
    command = [sys.executable, "-m", "workflow.run", "mini", "abalone", *LONG]
    slow = {**checkout.offline(copy), "PYTHONPATH": f"{folder}{os.pathsep}{copy}"}
    (folder / "sitecustomize.py").write_text(SLOWED)
    how = {"cwd": copy, "env": slow, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(command, **how, preexec_fn=steep.hear_interrupts)
    state = folder / "state" / "noregret" / "checkpoints"
    steep.until(lambda: checkpoints(state) or running.poll() is not None)
    return running


def checkpoints(state):
    return list(state.glob("*.checkpoint"))


def trace(path):
    return record.read(path).header["trace_sha256"]


def test_the_same_seed_gives_the_same_bits_a_longer_run_goes_on_and_another_seed_differs(
    prepared, tmp_path
):
    places = {name: str(tmp_path / name) for name in "abcd"}
    for seeds, scale, names in (("0-1", "smoke", "ac"), ("0", "smoke", "b"), ("0", "short", "d")):
        given = [places[name] for name in names]
        done = run(prepared, "BKB", seeds, "--scale", scale, "-o", *given)
        assert done.returncode == 0, done.stderr
    assert trace(tmp_path / "a") == trace(tmp_path / "b") != trace(tmp_path / "c")
    short, long = (record.read(tmp_path / name).columns for name in "ad")
    assert set(short) == set(long)
    for name in short:
        if not name.startswith("timing."):
            np.testing.assert_array_equal(short[name], long[name][:30], err_msg=name)


def test_kill_in_the_middle_and_resume_gives_the_identical_trace(prepared, copy, tmp_path, state):
    whole, resumed = tmp_path / "whole.parquet", copy / PLACE
    assert run(prepared, *LONG, "-o", str(whole)).returncode == 0
    running = begun(copy, tmp_path)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert checkpoints(state)
    assert not resumed.exists()
    # nobody could remove it, and it keeps nobody away
    assert resumed.with_suffix(".running").exists()
    resumed.with_name(".0.parquet.killed.part").write_text("half of it")
    again = run(copy, *LONG)
    assert again.returncode == 0
    assert "continues after evaluation" in again.stderr
    assert trace(resumed) == trace(whole)
    assert [path.name for path in resumed.parent.iterdir()] == ["0.parquet"]
    assert not checkpoints(state)


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)]
)
def test_who_may_not_wait_is_refused_and_a_process_that_is_ended_leaves_no_lease(
    copy, tmp_path, state, sent, status
):
    running = begun(copy, tmp_path)
    refused = run(copy, *LONG, "--wait", "0")
    assert running.poll() is None, "it ended before it was met"
    assert refused.returncode == 1
    assert f"error: {PLACE}: process {running.pid} on " in refused.stderr
    assert "wait for it or cancel it" in refused.stderr
    running.send_signal(sent)
    assert running.wait() == status
    # no lease, no failure, no record
    assert list((copy / PLACE).parent.iterdir()) == []
    assert len(checkpoints(state)) == 1


def test_a_stale_record_is_kept_in_the_store_and_in_a_file_of_the_users_refused(prepared, tmp_path):
    path = tmp_path / "run.parquet"
    header = {"digest": "of other code", "status": "complete", "seed": 0}
    record.write(path, header, {"evaluation": np.arange(3)})
    content = path.read_bytes()
    refused = run(prepared, *SMOKE, "-o", str(path))
    assert refused.returncode == 1 and "name another file, or move it away" in refused.stderr
    assert path.read_bytes() == content
    place = prepared / MADE
    place.parent.mkdir(parents=True)
    shutil.copy(path, place)
    assert run(prepared, *SMOKE).returncode == 0
    assert record.read(place).rows == 30
    assert record.read(by_digest.place(prepared, header)).rows == 3


def test_a_record_of_another_seed_is_another_record(copy, tmp_path):
    path, other = tmp_path / "run.parquet", [*SMOKE[:1], "1", *SMOKE[2:]]
    assert run(copy, *SMOKE, "-o", str(path)).returncode == 0
    refused = run(copy, *other, "-o", str(path))
    assert refused.returncode == 1 and "found another record" in refused.stderr
    place = copy / MADE
    place.parent.mkdir(parents=True, exist_ok=True)
    assert run(copy, *other).returncode == 0
    shutil.copy(place.with_name("1.parquet"), place)
    assert run(copy, *SMOKE).returncode == 0
    assert record.read(place).header["seed"] == 0


def test_what_is_damaged_in_the_store_is_not_handed_out(tmp_path, caplog):
    place = tmp_path / "results" / "0.parquet"
    header = {"digest": "d", "seed": 0, "status": "complete"}
    columns = {"evaluation": np.arange(300)}
    by_digest.write(place, tmp_path, header, columns)
    content = bytearray(place.read_bytes())
    content[40] ^= 1
    place.write_bytes(content)
    place.unlink()  # as Snakemake does before it makes a record again
    by_digest.write(place, tmp_path, header, columns)
    assert record.read(place).rows == 300 and "it is kept as" in caplog.text
    assert by_digest.place(tmp_path, header).with_name("0.parquet.damaged").exists()


def test_what_the_store_has_is_handed_out_unless_it_is_asked_for_again(copy, monkeypatch):
    place, other = copy / MADE, copy / PLACE.parents[1] / "uniform" / "0.parquet"
    assert run(copy, *SMOKE).returncode == 0
    before, content = place.stat().st_ino, place.read_bytes()
    place.unlink()
    # another scale with the same budget has the same digest
    checkout.edit(copy / "papers" / "mini.yaml", "budget: 60", "budget: 30")
    for path, scale in ((place, "smoke"), (other, "short")):
        handed = run(copy, "uniform", "0", "--scale", scale)
        assert handed.returncode == 0 and "30 evaluations" not in handed.stderr
        assert path.stat().st_ino == before
    monkeypatch.setenv("NOREGRET_AGAIN", "1")
    again = run(copy, *SMOKE)
    assert again.returncode == 0 and "30 evaluations, complete" in again.stderr
    assert place.read_bytes() == content  # the times of the first


def test_a_run_that_is_made_again_with_another_trace_keeps_both(copy, monkeypatch):
    place = copy / MADE
    assert run(copy, *SMOKE).returncode == 0
    header = record.read(place).header
    kept = by_digest.place(copy, header)
    for path in (place, kept):
        path.unlink()
    other = record.write(kept, header, {"evaluation": np.arange(3)})
    monkeypatch.setenv("NOREGRET_AGAIN", "1")
    again = run(copy, *SMOKE)
    assert again.returncode == 0 and "the first is kept as" in again.stderr
    assert record.read(kept.with_name(f"0.parquet.{other[:8]}")).rows == 3
    assert trace(place) == trace(kept) == header["trace_sha256"]


def test_where_there_are_no_hard_links_a_record_is_copied(tmp_path, monkeypatch):
    def refuse(one, other):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    place = tmp_path / "results" / "0.parquet"
    header = {"digest": "d", "seed": 0, "status": "complete"}
    by_digest.write(place, tmp_path, header, {"evaluation": np.arange(3)})
    kept = by_digest.place(tmp_path, header)
    assert trace(place) == trace(kept) and not place.samefile(kept)


@pytest.fixture
def sequential(tmp_path, monkeypatch):
    """A curve that makes its five evaluations one by one, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    curve = expand.load("dumbo", "smoke").curve("six-hump-camel", "random-search")
    return replace(curve, seeds=(0,), problem_entry={**curve.problem_entry, "room": 1})


def test_an_error_that_nobody_expected_is_told_and_the_run_goes_on_where_it_was(
    sequential, monkeypatch
):
    real = make._step

    def step(curve, seed, problem, progress):
        if progress.rows == 3:
            raise KeyError("lost")
        real(curve, seed, problem, progress)

    monkeypatch.setattr(make, "_step", step)
    for _ in range(2):  # the second finds the checkpoint of the first
        with pytest.raises(Failed, match="dumbo/six-hump-camel/random-search seed 0: KeyError"):
            supervised.make(replace(supervised.run(sequential), checkpoint_every=0))
    monkeypatch.setattr(make, "_step", real)
    supervised.make(supervised.run(sequential))
    assert [path.name for path in sequential.folder.iterdir()] == ["0.parquet"]


def test_a_failure_before_the_first_evaluation_is_told_too(sequential, monkeypatch):
    def build(curve, seed, root):
        raise ImportError("pip install it")

    study = replace(expand.load("dumbo", "smoke").study("recovery-camel"), seeds=(0,))
    monkeypatch.setattr(make, "build_problem", build)
    for target in (supervised.run(sequential), Target(study, 0, study.record(0))):
        with pytest.raises(Failed, match=f"{target.who}: pip install it"):
            supervised.make(target)


def test_an_optimizer_that_could_not_be_saved_is_refused_at_its_first_step(sequential, monkeypatch):
    """Whatever the scale, and although it would have been over before its first checkpoint."""
    steps = []

    def step(curve, seed, problem, progress):
        steps.append(progress.rows)
        progress.optimizer.kept = lambda y: y
        real(curve, seed, problem, progress)

    real = make._step
    monkeypatch.setattr(make, "_step", step)
    with pytest.raises(TypeError, match=r"expected an optimizer that can be pickled.*lambda"):
        make.make(supervised.run(sequential))
    assert len(steps) == 1 and not sequential.record(0).exists()


def test_a_recommendation_that_is_no_query_makes_no_record(sequential, monkeypatch):
    for answer, what in [
        (np.array([[0.5, np.nan]]), "expected queries inside the domain"),
        (np.full((2, 2), 0.5), "expected 1 to 1 queries"),
    ]:
        monkeypatch.setattr(RandomSearch, "recommend", lambda self, answer=answer: answer)
        with pytest.raises(BadAnswer, match=rf"RandomSearch.recommend: {what}"):
            make.make(supervised.run(sequential))
        assert not sequential.record(0).exists()


def test_files_that_no_record_can_have_are_refused(capsys, sequential, tmp_path):
    """Other mistakes of a command line: tests/faults/test_command_lines.py."""
    two = ["bkb", "abalone", "BKB", "0-1", "-o", "x.parquet"]
    assert runner.main(two) == 1
    assert "-o: expected a file for each of 2 seeds, got 1" in capsys.readouterr().err
    given = curves.hand_over(sequential, tmp_path)
    assert runner.main([*two, "y.parquet", "--given", given]) == 1
    assert "-o: expected FOLDER/results/SCALE/PAPER/" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ImportError("pip install it"), "pip install it"),
        (MemoryError(), "MiB: give it more (snakemake --set-resources RULE:mem_mb=8000, with"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "make room on the disk, then run again: it goes on from its last checkpoint",
        ),
        (OSError(errno.EFBIG, "File too large"), "raise the limit on the size of files (`ulimit"),
        (OSError(errno.EROFS, "Read-only file system"), "work in another folder"),
        (PermissionError(errno.EACCES, "Permission denied"), "change its mode"),
        (ArithmeticError("got nan: look at its data"), "got nan: look at its data"),
        (SystemExit(0), "SystemExit: 0: correct its"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_what_fails_is_a_sentence_that_names_the_run_and_the_other_seeds_are_made(
    sequential, monkeypatch, capfd, error, sentence
):
    def fail(curve, seed, problem, progress):
        if seed == 0:
            raise error
        progress.rows = curve.budget

    monkeypatch.setattr(make, "_step", fail)
    monkeypatch.setattr(one_path, "take", lambda: None)  # this process has loaded its libraries
    found = runner.main(["dumbo", "six-hump-camel", "random-search", "0-1", "--scale", "smoke"])
    assert found == 1
    told = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]
    (line,) = told
    assert line.startswith("error: dumbo/six-hump-camel/random-search seed 0: ")
    assert sentence in line
    left = sorted(path.name for path in sequential.folder.iterdir())
    is_full = getattr(error, "errno", None) == errno.ENOSPC  # which ends the job
    assert left == ([] if is_full else ["1.parquet"])


TRUSS = """
paper: {key: tiny, title: A tiny constrained paper, venue: nowhere}
scales: {smoke: {seeds: 1, after_init: 4}, short: {}, paper: {}}
seeds: 1
problems:
  truss: {is: structures.truss25, load: official, alpha: 20, noise: 0.1, budget: 50,
    room: unlimited,
          init: {design: uniform, n: 3}}
algorithms:
  uniform: {is: random_search.RandomSearch}
readings:
  exact: {says: existing data without noise, problems: {truss: {init: {design: uniform, n: 3,
  noise: false}}}}
runs: [{}, {readings: [exact]}]
"""


@pytest.fixture(scope="module")
def made(prepared, tmp_path_factory):
    """made(problem) -> the record of a short run on a problem with two constraints."""
    (prepared / "papers" / "tiny.yaml").write_text(TRUSS)
    folder, records = tmp_path_factory.mktemp("truss"), {}

    def run_on(problem):
        if problem not in records:
            path = folder / f"{problem}.parquet"
            command = ("tiny", problem, *SMOKE, "-o", str(path))
            checkout.succeed(prepared, "workflow.run", *command)
            records[problem] = record.read(path)
        return records[problem]

    return run_on


def test_a_recommendation_comes_with_its_true_constraints(made, sequential):
    found = made("truss")
    recommended = found.header["recommendation"]
    # random search returns a query
    (row,) = np.flatnonzero((found.columns["query"] == recommended["query"]).all(axis=1))
    assert recommended["true_g"] == found.columns["true_g"][row].tolist()
    assert recommended["true"] == found.columns["true"][row]
    assert len(recommended["true_g"]) == 2
    assert (found.columns["g"][row] != recommended["true_g"]).all()
    make.make(supervised.run(sequential))
    assert record.read(sequential.record(0)).header["recommendation"]["true_g"] == []


def test_a_design_without_noise_is_told_as_it_is_and_what_follows_is_not(made, prepared):
    noisy, exact = made("truss"), made("truss@exact")
    assert noisy.rows == exact.rows == 3 + 4
    assert noisy.header["digest"] != exact.header["digest"]
    design = exact.columns["batch"] == 0
    assert design.tolist() == [True] * 3 + [False] * 4
    for seen, true in (("y", "true"), ("g", "true_g")):
        same = exact.columns[seen] == exact.columns[true]
        assert same[design].all() and not same[~design].any()
        assert not (noisy.columns[seen] == noisy.columns[true]).any()
        np.testing.assert_array_equal(exact.columns[true], noisy.columns[true])
        # the streams are the same
        np.testing.assert_array_equal(exact.columns[seen][~design], noisy.columns[seen][~design])


def test_runs_of_other_names_have_other_places_in_the_store(tmp_path):
    """Their random streams differ, though no digest has the names."""
    header = {"paper": "a", "problem": "p", "algorithm": "x", "digest": "d", "seed": 0}
    places = {by_digest.place(tmp_path, {**header, name: "y"}) for name in by_digest.NAMES}
    assert len({by_digest.place(tmp_path, header), *places}) == 1 + len(by_digest.NAMES)


def test_libraries_that_a_method_names_are_imported_before_its_seconds_count(prepared, monkeypatch):
    part = expand.load("mini", "short", root=prepared).curves[0]
    entry = {**part.algorithm_entry, "libraries": ["colorsys", "no-such-library"]}
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    make.load(replace(part, algorithm_entry=entry))
    assert "colorsys" in sys.modules
