"""The command itself: turns, rows, exponents, tables, `make bench`, and one family at its least."""

import itertools
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from benchmarks import bench, curves, ledger, race
from benchmarks.effort import Effort
from benchmarks.machine import Machine, measured
from benchmarks.race import FEWEST, MOST, SHORT, Spread, Task, Work, once
from benchmarks.steps import FAMILIES, works
from tests.faults.test_command_lines import make
from tests.workflow.checkout import ROOT

HERE = Machine("a machine", "abc", 1, 100.0, 10.0, {"numpy": "2"})
WORK = Work(
    family="arms",
    name="a refit",
    axis="n",
    sizes=[{"n": 10, "d": 2}, {"n": 20, "d": 2}],
    full=[],
    ours=lambda size: Task(once(lambda: None), Effort(10.0, 1.0)),
    exponents=(3, 2),
    same="same data",
    below="it is slow",
    peer="Somebody",
    module="no_such_module",
    theirs=lambda size: once(lambda: None),
)


def a_row(n=10, ours=1.0, theirs=3.0, effort=Effort(10.0, 1.0), work=WORK):
    spreads = [Spread(ours, 0.5 * ours, 2 * ours, 4)]
    if theirs is not None:
        spreads.append(Spread(theirs, theirs, theirs, 4))
    return ledger.row(work, {"n": n, "d": 2}, Task(once(lambda: None), effort), spreads, HERE)


def busy(seconds):
    began = time.process_time()
    while time.process_time() - began < seconds:
        pass


def test_sides_take_turns_and_preparing_is_not_timed():
    order = []

    def side(name, seconds):
        def turn():
            busy(0.02)

            def run():
                order.append(name)
                busy(seconds)

            return run

        return turn

    spreads = race.race([side("A", 2 * SHORT), side("B", SHORT)], seconds=0.0)
    assert order == ["A", "B"] * (1 + FEWEST)  # the first turns are not counted
    assert [spread.turns for spread in spreads] == [FEWEST, FEWEST]
    assert spreads[0].median == pytest.approx(2 * SHORT, rel=0.3)
    assert spreads[0].low <= spreads[0].median <= spreads[0].high


def test_a_short_side_is_repeated_within_a_turn_and_no_side_beyond_its_seconds():
    calls = itertools.count()
    many = race.race([once(lambda: next(calls))], seconds=10.0)[0]
    assert many.turns == MOST
    assert next(calls) > 100 * MOST
    assert many.median < 1e-4


@pytest.mark.parametrize("slope", [0.0, 1.0, 3.0])
def test_an_exponent_is_the_slope_of_the_last_points(slope):
    x = np.array([1.0, 2.0, 10.0, 20.0, 40.0])
    seconds = 0.3 * x**slope
    seconds[:2] = 7.0  # where another term led
    assert ledger.exponent(x, seconds) == pytest.approx(slope, abs=1e-9)
    order = [3, 0, 4, 2, 1]
    assert ledger.exponent(x[order], seconds[order]) == pytest.approx(slope, abs=1e-9)


def test_one_point_has_no_exponent_and_missing_ones_do_not_count():
    assert np.isnan(ledger.exponent([3.0], [1.0]))
    assert ledger.exponent([1.0, 2.0, 4.0], [1.0, 2.0, np.nan]) == pytest.approx(1.0)


def test_a_row_has_ratio_limit_and_share():
    row = a_row(ours=0.4, theirs=1.0)
    assert (row.ratio, row.limit, row.limit_share) == pytest.approx((2.5, 0.1, 0.25))
    assert a_row(effort=Effort(1000.0, 1.0)).bound == "flops"
    assert a_row(effort=Effort(1.0, 100.0)).bound == "bytes"
    assert a_row(effort=Effort(1.0, 100.0)).limit == 10.0
    alone = a_row(theirs=None)
    assert np.isnan(alone.ratio) and alone.theirs_turns == 0


def test_a_table_that_was_written_is_read_again(tmp_path):
    rows = [a_row(10), a_row(20, theirs=None)]
    ledger.write_csv(tmp_path / "bench.csv", rows)
    again = ledger.read_csv(tmp_path / "bench.csv")
    assert again[0] == rows[0]
    assert repr(again[1]) == repr(rows[1])  # nan is not equal to itself


def test_the_page_has_rows_exponents_words_and_what_is_missing():
    rows = [a_row(10, ours=1.0, theirs=3.0), a_row(20, ours=8.0, theirs=12.0)]
    page = ledger.markdown(rows, [WORK], HERE, bench.missing([WORK]), "A note")
    assert "**A note**" in page and "a machine" in page and "numpy 2" in page
    assert "| n = 20, d = 2 | 8 (4 to 16) | 12 (12 to 12) | 1.50 |" in page
    assert "Exponent in n at the last points: ours 3.0, in theory 3" in page
    assert "theirs 2.0, in theory 2" in page
    assert "- Somebody: not installed, its column is empty: make env" in page
    assert "Same data." in page and "At 0 of 2 sizes" in page and "It is slow." in page
    assert "## Posteriors over arms" in page and "## Thompson" not in page


def test_where_half_of_the_limit_is_reached_no_excuse_is_made():
    rows = [a_row(10, ours=0.12), a_row(20, ours=0.15)]
    page = ledger.markdown(rows, [WORK], HERE, {}, "")
    assert "At 2 of 2 sizes we reach half of the limit or more." in page
    assert "It is slow" not in page
    page = ledger.markdown([a_row(10, ours=0.19), a_row(20, ours=0.21)], [WORK], HERE, {}, "")
    assert "At 1 of 2 sizes we reach half of the limit or more. Where not: It is slow." in page


def test_a_peer_that_is_not_installed_is_known_and_another_one_is():
    assert not WORK.peer_is_here
    assert replace(WORK, module="numpy").peer_is_here
    assert not replace(WORK, theirs=None, module="numpy").peer_is_here
    assert bench.missing([replace(WORK, module="numpy")]) == {}


def test_a_figure_has_a_panel_for_each_work_with_rows(tmp_path):
    rows = [a_row(10), a_row(20, ours=4.0)]
    path = tmp_path / "arms.png"
    curves.draw(rows, [WORK, replace(WORK, name="another")], path)
    one = Image.open(path).size
    other = [replace(row, work="another", theirs=np.nan) for row in rows]
    curves.draw([*rows, *other], [WORK, replace(WORK, name="another")], path)
    assert Image.open(path).size == (2 * one[0], pytest.approx(one[1], rel=0.1))


def test_the_rates_of_a_machine_are_plausible():
    here = measured(side=256, length=2**16)
    assert 1e8 < here.flops_per_second < 1e13
    assert 1e8 < here.bytes_per_second < 1e13
    assert here.versions["numpy"] == np.__version__


def test_one_family_at_its_least(tmp_path):
    command = [sys.executable, "-m", "benchmarks.bench", "--only", "evidence", "--scale", "tiny"]
    done = subprocess.run(
        [*command, "--into", str(tmp_path), "--note", "A trial"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = ledger.read_csv(tmp_path / "bench.csv")
    assert len(rows) == 3 and {row.family for row in rows} == {"evidence"}
    assert all(row.ours > 0 and row.theirs > 0 and row.limit_share > 0 for row in rows)
    assert "at most 1 thread" in (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bench.csv",
        "bench.md",
        "evidence.png",
    ]


def test_an_unknown_family_is_refused_before_anything_is_measured(capsys, monkeypatch, tmp_path):
    for name in bench.THREADS:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr("benchmarks.machine.measured", lambda: pytest.fail("was measured"))
    assert bench.main(["--only", "arms,box", "--into", str(tmp_path)]) == 2
    assert "got box" in capsys.readouterr().err


def test_the_committed_report_is_of_the_works_that_there_are():
    rows = ledger.read_csv(bench.REPORT / "bench.csv")
    every = [work for family in FAMILIES for work in works(family)]
    sizes = {
        (work.family, work.name, work.peer, work.axis): {
            float(size[work.axis]) for size in [*work.sizes, *work.full]
        }
        for work in every
    }
    timed = {(work.family, work.name, work.peer, work.axis) for work in every if work.sizes}
    assert {row.curve for row in rows} >= timed
    assert all(row.value in sizes[row.curve] for row in rows)
    page = (bench.REPORT / "bench.md").read_text(encoding="utf-8")
    assert all(f"]({family}.png)" in page for family in FAMILIES)
    assert all((bench.REPORT / f"{family}.png").is_file() for family in FAMILIES)


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["bench"], "-m benchmarks.bench"),
        (["bench", "ONLY=arms, boxes"], '-m benchmarks.bench --only "arms, boxes"'),
        (["bench", "FULL=1"], "-m benchmarks.bench  --scale full"),
    ],
    ids=" ".join,
)
def test_make_hands_on_what_it_was_given(arguments, command):
    made = make(*arguments)
    assert made.returncode == 0, made.stderr
    assert command in made.stdout


def test_make_bench_reads_nothing_else():
    refused = make("bench", "SCALE=smoke", dry=False)
    assert refused.returncode == 2
    assert "make bench reads no SCALE" in refused.stderr
