"""What is done, what it has cost and what is still to be made, from plans and files alone."""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import asdict

import pytest

from tests.workflow import checkout
from tests.workflow.synthetic import Toy, noisy
from workflow.measure.store import BadRecords
from workflow.operate import publish, status
from workflow.plan import expand
from workflow.plan.costs import Cost
from workflow.run import lease
from workflow.trace import listing, record


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path, budget=3, seeds=4)


@pytest.fixture
def cell(toy):
    """Four records that took 10, 20, 30 and 40 seconds."""
    made = toy.add("A", noisy(0.5))
    for seed in made.seeds:
        change(toy, made, seed, cpu_seconds=10.0 * (seed + 1))
    return made


def change(toy, part, number, **header):
    path = toy.root / part.record(number)
    found = record.read(path)
    record.write(path, {**found.header, **header}, found.columns)


def unmade(toy, part, seed):
    """The place of a record that was taken away."""
    path = toy.root / part.record(seed)
    path.unlink()
    return path


def fail(path, sentence="it was in vain", **told):
    lease.failed(path).write_text(
        json.dumps(asdict(lease.Failure(sentence, "ValueError", "then", **told)))
    )


LOCKS = []  # open files, whose locks their end would free


def hold(path, *, lives=True, age=0.0):
    """The lease of a process that lives, or has died."""
    place = lease.running(path)
    place.write_text(f"{os.getpid()}\na machine\n")
    os.utime(place, (time.time() - age,) * 2)
    if lives:
        LOCKS.append(place.open())
        fcntl.flock(LOCKS[-1], fcntl.LOCK_EX)


def states(toy):
    return [run.state for run in status.Results([toy.paper], toy.root).runs()]


def total(toy):
    return status.tally(status.Results([toy.paper], toy.root).runs())


def lines(toy, **options):
    results = status.Results([toy.paper], toy.root)
    return status.failures(
        [*results.initial_failures(), *results.runs()], everything=False, **options
    )


def test_records_of_this_code_these_parameters_and_these_data_are_done(toy, cell):
    toy.study("s", lambda seed: {"gap": [0.1]}, seeds=2)
    assert states(toy) == ["done"] * 6
    toy.store().check([cell])  # a report says the same


def test_what_is_published_is_counted_apart_unless_it_is_to_be_made_anew(toy, cell):
    for seed in cell.seeds:
        change(toy, cell, seed, cpu_seconds=2.0)
    assert publish.publish(toy.paper, toy.root / "results", toy.root).errors == []
    assert states(toy) == ["done"] * 4
    unmade(toy, cell, 0)
    change(toy, cell, 1, digest="of other code")
    found = total(toy)
    assert states(toy) == ["published", "published", "done", "done"]
    assert (found.spent, found.remaining) == (8.0, 0.0)
    assert "4 runs: 2 done, 2 published" in status.line(found, 1)
    results = status.Results([toy.paper], toy.root, fresh=True)
    assert [run.state for run in results.runs()] == ["missing", "stale", "done", "done"]


@pytest.mark.parametrize("wrong", [{"digest": "of other code"}, {"seed": 7}, {"paper": "another"}])
def test_what_a_report_would_refuse_is_stale(toy, cell, wrong):
    change(toy, cell, 2, **wrong)
    assert states(toy) == ["done", "done", "stale", "done"]
    with pytest.raises(BadRecords):
        toy.store().check([cell])


def test_records_of_other_data_are_stale_and_without_data_the_code_alone_decides(toy, cell):
    path = toy.root / "data/prepared/abalone.parquet"
    table = record.pq.read_table(path)
    for seed in cell.seeds:
        change(toy, cell, seed, data_sha256="0" * 64)
    record.pq.write_table(
        table.replace_schema_metadata(
            {
                record.KEY: json.dumps(
                    {"name": "abalone", "data": "real", "content_sha256": "1" * 64}
                )
            }
        ),
        path,
    )
    assert states(toy) == ["stale"] * 4
    path.unlink()
    results = status.Results([toy.paper], toy.root)
    assert [run.state for run in results.runs()] == ["done"] * 4
    (note,) = results.notes
    assert (
        "compared by code and parameters alone" in note
        and "python -m workflow.fetch abalone" in note
    )
    change(toy, cell, 0, digest="of other code")
    assert states(toy)[0] == "stale"


def test_a_foreign_file_is_damaged_and_a_file_that_is_not_there_missing(toy, cell):
    (toy.root / cell.record(0)).write_text("somebody's notes")
    unmade(toy, cell, 3)
    assert states(toy) == ["damaged", "done", "done", "missing"]
    assert total(toy).spent == 20 + 30


def listed(toy, cell):
    """The list of finished records that a job leaves, of every record that is there."""
    for marker, job in toy.paper.jobs.items():
        traces = {
            part.curve: {
                str(seed): record.read(toy.root / part.record(seed)).header["trace_sha256"]
                for seed in job.seeds
            }
            for part in job.parts
        }
        said = {"trace_sha256": traces, "files": listing.files(toy.root / marker, traces)}
        (toy.root / marker).write_text(json.dumps(said))


def flip(toy, cell, seed):
    """Change one bit of the rows of a record: its header stays as it was."""
    path = toy.root / cell.record(seed)
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    assert record.read_header(path)["seed"] == seed
    return path


def test_a_flipped_bit_is_told_as_a_report_tells_it(toy, cell, monkeypatch):
    listed(toy, cell)
    with monkeypatch.context() as patch:
        patch.setattr(record, "read", lambda path: pytest.fail(f"{path} is as it was listed"))
        assert states(toy) == ["done"] * 4
    path = flip(toy, cell, 1)
    results = status.Results([toy.paper], toy.root)
    runs = results.runs()
    assert [run.state for run in runs] == ["done", "damaged", "done", "done"]
    with pytest.raises(BadRecords) as refused:
        toy.store().check([cell])
    (empty, head, sentence) = status.damages(runs, everything=False)
    assert (empty, head) == ("", "damaged:")
    assert sentence.strip() in str(refused.value)
    assert sentence.startswith(f"  {path}: expected") and sentence.endswith("run again")
    monkeypatch.setattr(record, "read", lambda path: pytest.fail(f"{path} was read before"))
    assert [run.state for run in results.runs()] == ["done", "damaged", "done", "done"]


def test_a_damaged_record_that_somebody_makes_is_under_way_and_one_that_failed_is_damaged(
    toy, cell
):
    listed(toy, cell)
    fail(flip(toy, cell, 1))
    assert states(toy)[1] == "damaged"
    hold(toy.root / cell.record(1))
    assert states(toy)[1] == "running"


def test_damaged_initial_designs_are_told_and_are_no_runs(toy, cell):
    path = toy.root / cell.initial_folder / "2.parquet"
    path.parent.mkdir()
    path.write_text("somebody's notes")
    marker = toy.root / toy.paper.initial_marker("p")
    marker.write_text(json.dumps({"trace_sha256": {"initial": {"2": "0" * 64}}}))
    os.utime(marker, (0, 0))
    results = status.Results([toy.paper], toy.root)
    assert [run.state for run in results.runs()] == ["done"] * 4
    (run,) = results.initial_damages()
    assert run.name == "toy/p/initial seed 2" and run.damage.startswith(f"{path}: expected")


def test_a_run_that_was_cut_is_no_done_one_and_costs_the_rest(toy, cell):
    change(toy, cell, 3, status="cutoff", cpu_seconds=5.0)
    assert states(toy) == ["done", "done", "done", "cut"]
    assert (total(toy).spent, total(toy).remaining) == (65.0, 20.0 - 5.0)


def test_a_failure_counts_until_there_is_a_record(toy, cell):
    fail(toy.root / cell.record(0))
    assert states(toy)[0] == "done"
    unmade(toy, cell, 0)
    assert states(toy)[0] == "failed"
    change(toy, cell, 1, digest="of other code")
    fail(toy.root / cell.record(1))
    assert states(toy)[1] == "failed"  # it could not be made anew


def test_a_living_lease_is_a_run_under_way_and_a_dead_one_a_failure(toy, cell):
    hold(unmade(toy, cell, 0))
    hold(unmade(toy, cell, 1), age=1e6)
    hold(unmade(toy, cell, 2), lives=False)
    hold(toy.root / cell.record(3), lives=False)
    assert states(toy) == ["running", "running", "failed", "done"]
    assert any(
        f"process {os.getpid()} on a machine" in text and "was it killed, or out of memory?" in text
        for text in lines(toy)
    )
    busy, *_ = status.under_way(status.Results([toy.paper], toy.root).runs())[2:]
    assert busy.startswith("  toy/p/A seed 0: ") and f" s, process {os.getpid()} on " in busy
    fail(toy.root / cell.record(0))
    assert states(toy)[0] == "running"  # a second attempt


def test_what_is_missing_costs_the_mean_of_its_cell_or_what_the_plan_says(toy, cell, monkeypatch):
    monkeypatch.setattr(expand.Cell, "cost", Cost(100.0, 120.0, 500, measured=False))
    other = toy.add("B", noisy(0.5), seeds=2)
    unmade(toy, cell, 3)
    for seed in other.seeds:
        unmade(toy, other, seed)
    found = total(toy)
    assert found.spent == 10 + 20 + 30
    assert found.remaining == 20 + 2 * 100
    assert found.longest == 100


def test_stale_records_have_cost_nothing_that_counts(toy, cell):
    change(toy, cell, 3, digest="of other code")
    assert (total(toy).spent, total(toy).remaining) == (60.0, 20.0)


def test_a_run_under_way_costs_what_its_time_leaves(toy, cell):
    hold(unmade(toy, cell, 3), age=15.0)
    assert total(toy).remaining == pytest.approx(20 - 15, abs=2)


def test_more_cores_help_up_to_the_longest_run():
    found = status.Tally({"missing": 3}, spent=0.0, remaining=120.0, longest=60.0)
    assert [found.wait(cores) for cores in (1, 2, 8)] == [120, 60, 60]


def test_the_table_is_aligned_and_sums(toy, cell):
    toy.study("s", lambda seed: {"gap": [0.1]}, seeds=2)
    unmade(toy, cell, 3)
    text = status.table(status.Results([toy.paper], toy.root).runs(), cores=2)
    head, problem, studies, summed, empty, sentence = text
    assert len({len(row) for row in (head, problem, studies, summed)}) == 1
    assert problem.split() == ["toy", "p", "4", "3", "-", "-", "-", "-", "1", "1.00", "0.33"]
    assert studies.split()[:4] == ["toy", "studies", "2", "2"]
    assert summed.split() == ["total", "6", "5", "-", "-", "-", "-", "1", "1.00", "0.33"]
    assert "core-min spent" in head and not empty
    assert sentence == "6 runs: 5 done, 1 missing; about 20 s to go on 2 cores"


def test_a_failure_comes_with_the_command_that_repeats_it(toy, cell):
    study = toy.study("s", lambda seed: {"gap": [0.1]}, seeds=1)
    fail(unmade(toy, cell, 1), "first\nsecond", evaluations=7)
    fail(unmade(toy, study, 0))
    design = toy.root / cell.initial_folder / "2.parquet"
    design.parent.mkdir()
    fail(design, "no data")
    assert (
        "\n".join(lines(toy))
        == """
failed:
  toy/p/initial seed 2: ValueError: no data
    python -m workflow.run toy p initial 2 --scale paper
  toy/p/A seed 1, after 7 evaluations: ValueError: first
    second
    python -m workflow.run toy p A 1 --scale paper
  toy/studies/s seed 0: ValueError: it was in vain
    python -m workflow.run toy studies s 0 --scale paper"""
    )


def test_equal_errors_are_told_once_unless_all_are_asked_for(toy, cell):
    for seed in cell.seeds:
        fail(unmade(toy, cell, seed))
    runs = status.Results([toy.paper], toy.root).runs()
    assert (
        status.failures(runs, everything=False)[2]
        == "  toy/p/A seed 0 (and 3 more): ValueError: it was in vain"
    )
    assert len(status.failures(runs, everything=True)) == 2 + 2 * 4


def test_few_of_many_errors_are_shown(toy):
    cell = toy.add("A", noisy(0.5), seeds=8)
    for seed in cell.seeds:
        fail(unmade(toy, cell, seed), f"error {seed}")
    assert lines(toy)[-1] == "  ... and 3 more errors: --failures lists all"


@pytest.fixture
def command(toy, monkeypatch):
    """command(arguments) -> exit status, on the toy alone."""
    monkeypatch.chdir(toy.root)
    monkeypatch.setattr(status, "chosen_papers", lambda names: ["toy"])
    monkeypatch.setattr(status, "load", lambda name, scale, *, seeds: toy.paper)
    return lambda *arguments: status.main([*arguments, "--scale", "paper"])


def test_programs_read_the_same(toy, cell, command, capsys):
    fail(unmade(toy, cell, 3))
    hold(unmade(toy, cell, 2))
    assert command("--json", "--cores", "4") == 0
    found = json.loads(capsys.readouterr().out)
    assert (
        found["total"]["done"] == 2
        and found["total"]["failed"] == 1
        and found["total"]["spent_seconds"] == 30
    )
    assert found["total"]["wait_seconds"] == pytest.approx(15, abs=1) and found["cores"] == 4
    (row,) = found["problems"]
    assert (row["paper"], row["problem"], row["runs"], row["running"]) == ("toy", "p", 4, 1)
    assert found["running"][0]["pid"] == os.getpid()
    assert found["failures"][0]["command"] == "python -m workflow.run toy p A 3 --scale paper"
    (toy.root / cell.record(0)).write_text("somebody's notes")
    assert command("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["total"]["damaged"] == 1
    (damaged,) = found["damaged"]
    assert damaged["run"] == "toy/p/A seed 0" and "move it away" in damaged["error"]


def test_to_watch_is_a_line_for_every_change_until_all_is_done_or_failed(
    toy, cell, command, capsys, monkeypatch
):
    paths = [unmade(toy, cell, seed) for seed in (2, 3)]
    header = record.read_header(toy.root / cell.record(0))
    events = [
        lambda: None,
        lambda: hold(paths[0]),
        lambda: record.write(
            paths[0], {**header, "seed": 2}, record.read(toy.root / cell.record(0)).columns
        ),
        lambda: fail(paths[1]),
    ]
    monkeypatch.setattr(status.time, "sleep", lambda seconds: events.pop(0)())
    assert command("--watch", "5") == 0
    told = [text.split(" ", 1)[1].split(";")[0] for text in capsys.readouterr().out.splitlines()]
    assert told == [
        "4 runs: 2 done, 2 missing",
        "4 runs: 2 done, 1 running, 1 missing",
        "4 runs: 3 done, 1 missing",
        "4 runs: 3 done, 1 failed",
    ]
    assert events == []


def test_a_terminal_shows_one_live_table(cell, command, capsys, monkeypatch):
    monkeypatch.setattr(status.sys.stdout, "isatty", lambda: True, raising=False)
    assert command("--watch", "5") == 0
    out = capsys.readouterr().out
    assert out.startswith(status.CLEAR + "paper ")
    assert out.count(status.CLEAR) == 1


def test_a_pipe_is_not_cleared(cell, command, capsys):
    assert command() == 0
    assert "\033" not in capsys.readouterr().out


def test_ctrl_c_ends_a_watch_quietly(toy, cell, command, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    unmade(toy, cell, 0)
    monkeypatch.setattr(status.time, "sleep", interrupt)
    assert command("--watch", "1") == 0


def test_a_record_is_read_again_only_where_it_has_changed(toy, cell, monkeypatch):
    results = status.Results([toy.paper], toy.root)
    results.runs()
    monkeypatch.setattr(record, "read_header", lambda path: pytest.fail(f"{path} has not changed"))
    assert [run.state for run in results.runs()] == ["done"] * 4
    monkeypatch.undo()
    change(toy, cell, 0, digest="of other code")
    assert results.runs()[0].state == "stale"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--papers", "nobody"], "unknown paper 'nobody'; known: bbkb"),
        (["--scale", "huge"], "unknown scale 'huge'"),
        (["--seeds", "1-0"], "expected a rising range"),
    ],
)
def test_wrong_input_is_a_sentence(capsys, arguments, message):
    assert status.main(["--papers", "bkb", *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--cores", "0"], ["--watch", "0"], ["--watch", "nan"]])
def test_a_number_that_makes_no_sense_is_refused(capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        status.main(arguments)
    assert "expected a positive number" in capsys.readouterr().err


def test_runs_as_a_user_makes_them(tmp_path):
    copy = checkout.make(tmp_path)
    assert (
        checkout.run(copy, "workflow.fetch", "abalone", "--substitutes", "allowed").returncode == 0
    )
    made = checkout.run(
        copy, "workflow.run", "mini", "abalone", "uniform", "0-1", "--scale", "smoke"
    )
    assert made.returncode == 0, made.stderr
    path = copy / "results/smoke/mini/abalone/BKB/0.parquet"
    path.parent.mkdir()
    path.write_text("somebody's notes")
    refused = checkout.run(copy, "workflow.run", "mini", "abalone", "BKB", "0", "--scale", "smoke")
    assert refused.returncode == 1
    found = checkout.run(copy, "workflow.status", "--scale", "smoke", "--cores", "2")
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[1].split()[:9] == [
        "mini",
        "abalone",
        "6",
        "2",
        "-",
        "-",
        "-",
        "-",
        "1",
    ]
    assert (
        "\ndamaged:\n  results/smoke/mini/abalone/BKB/0.parquet: expected a record" in found.stdout
    )
    assert "results/smoke/mini/abalone/BKB/0.parquet: expected a record" in refused.stderr
    one = checkout.run(
        copy, "workflow.status", "--scale", "smoke", "--seeds", "1", "--papers", "mini", "--json"
    )
    assert json.loads(one.stdout)["total"]["runs"] == 3
