"""The command itself: turns, the page, `make bench`, and one family at its least."""

import itertools
import sys
import time

import pytest

from benchmarks import bench, race
from benchmarks.race import FEWEST, MOST, SHORT, Spread, Work, along, once

NOTHING = once(lambda: None)
SIZES = along("n", (10, 20), d=2)
WORK = Work("a refit", SIZES, lambda _: NOTHING, "same data", "Somebody", lambda _: NOTHING)


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

    ours, theirs = race.race([side("A", 2 * SHORT), side("B", SHORT)], seconds=0.0)
    assert order == ["A", "B"] * (1 + FEWEST)  # the first turns are not counted
    assert ours.median == pytest.approx(2 * SHORT, rel=0.3)
    assert ours.low <= ours.median <= ours.high and theirs.median < ours.median


def test_a_short_side_is_repeated_within_a_turn_and_no_side_beyond_its_seconds():
    calls = itertools.count()
    (many,) = race.race([once(lambda: next(calls))], seconds=10.0)
    assert next(calls) > 10 * MOST
    assert many.median < 1e-4


def test_a_section_has_spreads_the_ratio_and_words():
    rows = [("n = 10, d = 2", [Spread(8, 4, 16), Spread(12, 12, 12)])]
    section = bench.section(WORK, rows)
    assert "### a refit beside Somebody" in section and "The same work? Same data." in section
    assert "| n = 10, d = 2 | 8 (4 to 16) | 12 (12 to 12) | 1.50 |" in section


def test_one_family_at_its_least(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "PARTS", tmp_path)
    assert bench.main(["--only", "evidence", "--quick"]) == 0
    page = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert f"Python {sys.version.split()[0]}" in page or "Machine: " in page
    assert "## Evidence with its gradient" in page and "## Posteriors" not in page
    assert page.count("| n = 125") == 2 and "n = 250" not in page


def test_the_committed_report_is_of_the_works_that_there_are():
    page = (bench.REPORT / "bench.md").read_text(encoding="utf-8")
    for family, heading in bench.FAMILIES.items():
        part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        sections = part.split("\n### ")[1:]
        for work, written in zip(bench.works(family), sections, strict=True):
            rows = [line.split(" | ")[0] for line in written.splitlines() if " = " in line[:20]]
            known = [size.items() for size in work.sizes]
            sizes = [{f"{letter} = {value}" for letter, value in size} for size in known]
            assert [set(row.strip("| ").split(", ")) for row in rows] == sizes, work.name
            assert written.strip().endswith(bench.section(work, []).splitlines()[-1])
